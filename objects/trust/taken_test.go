package trust

import (
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// takeBack returns the line by which k takes an item back.
func takeBack(t *testing.T, k *FileKey, it *objects.Item) objects.Taken {
	t.Helper()
	l, err := TakeBack(t.Context(), k, it.Ref, it.Sum, inA.Project, noon)
	must(t, err)
	return l
}

// TestWhoTakesBack: an item is taken back by the key that signed it, and by a key that the
// registry of its namespace lists as current: one that is retired or revoked takes nothing
// back of others.
func TestWhoTakesBack(t *testing.T) {
	me, publisher, other := newKey(t), newKey(t), newKey(t)
	it := sign(t, publisher, tool, inA)
	for name, tt := range map[string]struct {
		by   *FileKey
		keys []BoundKey
		code fault.Code
	}{
		"its signer":    {publisher, nil, fault.Revoked},
		"a current key": {other, []BoundKey{{Key: other.Public(), State: Current}}, fault.Revoked},
		"a retired key": {other, []BoundKey{{Key: other.Public(), State: Retired}}, ""},
		"a revoked key": {other, []BoundKey{{Key: other.Public(), State: Revoked}}, ""},
		"a stranger":    {other, nil, ""},
		"the user":      {me, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			st := bound(t, me, append(tt.keys, BoundKey{Key: publisher.Public(), State: Current})...)
			v, err := Verify(it, inA, st)
			must(t, err)
			if err := NewTaken([]objects.Taken{takeBack(t, tt.by, it)}).Denies(v, st); fault.CodeOf(err) != tt.code {
				t.Errorf("Denies = %v, want %q", err, tt.code)
			}
			if may := MayTakeBack(tt.by.Public(), v, st); may != (tt.code != "") {
				t.Errorf("MayTakeBack = %t", may)
			}
		})
	}
}

// TestGenuine: a line is worth keeping when a key that is known here signed it as it stands,
// and for this project where it is of a local item.
func TestGenuine(t *testing.T) {
	me, stranger := newKey(t), newKey(t)
	st := storeOf(t, me)
	it := sign(t, me, tool, inA)
	good := takeBack(t, me, it)
	forged, moved := takeBack(t, stranger, it), good
	forged.Key = good.Key
	local := takeBack(t, me, sign(t, me, "tools/local/scratch_own.py", inA))
	moved.Ref.ID = "acme/other"
	for name, tt := range map[string]struct {
		line    objects.Taken
		project string
		want    int
	}{
		"as it was signed":                {good, inA.Project, 1},
		"of a stranger":                   {takeBack(t, stranger, it), inA.Project, 0},
		"under the name of a known":       {forged, inA.Project, 0},
		"of another item":                 {moved, inA.Project, 0},
		"a local item":                    {local, inA.Project, 1},
		"a local item of another project": {local, projectB, 0},
	} {
		if got := Genuine([]objects.Taken{tt.line}, tt.project, st); len(got) != tt.want {
			t.Errorf("%s: Genuine = %v, want %d lines", name, got, tt.want)
		}
	}
}
