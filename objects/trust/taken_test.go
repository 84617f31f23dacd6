package trust

import (
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// takenBy returns the line in which a key takes an item back.
func takenBy(t *testing.T, k *FileKey, it *objects.Item) objects.Taken {
	t.Helper()
	l, err := TakeBack(t.Context(), k, it.Ref, it.Sum, inA.Project, noon)
	must(t, err)
	return l
}

// keptOf is what was kept: some lines.
type keptOf []objects.Taken

func (k keptOf) Signers() (all []objects.Fingerprint, err error) {
	for _, l := range k {
		all = append(all, l.Key)
	}
	return all, nil
}

func (k keptOf) Find(fp objects.Fingerprint, d objects.Digest) (all []objects.Taken, err error) {
	for _, l := range k {
		if l.Key == fp && l.Digest == d {
			all = append(all, l)
		}
	}
	return all, nil
}

func (k keptOf) Sum() (objects.Digest, error) {
	return objects.DigestOf(objects.EncodeTakenKept(k)), nil
}

// TestTakenBackIsOneItem: another item with the same text stays.
func TestTakenBackIsOneItem(t *testing.T) {
	k := newKey(t)
	st := storeOf(t, k)
	one := sign(t, k, "config/acme/settings.yaml", inA)
	raw, err := SignItem(t.Context(), k, parse(t, "config/acme/twin.yaml", one.Body), inA, noon)
	must(t, err)
	line, err := TakeBack(t.Context(), k, one.Ref, one.Digest, inA.Project, noon)
	must(t, err)
	for _, tt := range []struct {
		it   *objects.Item
		code fault.Code
	}{{one, fault.Revoked}, {parse(t, "config/acme/twin.yaml", raw), ""}} {
		v, err := Verify(tt.it, inA, st)
		must(t, err)
		if tt.it.Digest != one.Digest {
			t.Fatalf("%s has another text", tt.it.Ref)
		}
		if err := NewTaken([]byte(line.Line()+"\n"), nil).Denies(v, st); fault.CodeOf(err) != tt.code {
			t.Errorf("Denies(%s) = %v, want %q", tt.it.Ref, err, tt.code)
		}
	}
}

// TestOwnersOfDenials: a line has effect from a key that owns the namespace in this
// directory, or signed the item; and what was kept outlives the retirement of its key.
func TestOwnersOfDenials(t *testing.T) {
	me, other, old, gone, friend := newKey(t), newKey(t), newKey(t), newKey(t), newKey(t)
	inB := inA
	inB.Project = projectB
	free := func() *Store {
		st := storeOf(t, me)
		must(t, st.Grant(noon, inA.Site().Signer("acme", friend.Public()), inB.Site().Signer("acme", other.Public()), inB.Site().OwnKeys()))
		return st
	}
	registry := func(scope objects.Space) *Store {
		st := storeOf(t, me)
		must(t, st.PinRegistry(Registry{ID: regOne, URL: "https://one.example/r.git", Roots: []objects.Fingerprint{root}}))
		must(t, st.BindNamespace("acme", regOne, BoundKey{Key: other.Public(), State: Current}, BoundKey{Key: old.Public(), State: Retired},
			BoundKey{Key: gone.Public(), State: Revoked}, BoundKey{Key: me.Public(), State: Current}))
		in := inA.Site()
		if scope != objects.Project {
			in = inB.Site()
		}
		must(t, st.Grant(noon, in.Scope("acme", regOne)))
		return st
	}
	denied := free()
	must(t, denied.DenyKey(friend.Public().Fingerprint(), "lost"))
	it := sign(t, me, tool, inA)
	for _, c := range []struct {
		name       string
		st         *Store
		by         *FileKey
		here, kept bool
	}{
		{"its signer", free(), me, true, true},
		{"a signer granted here", free(), friend, true, true},
		{"a signer granted in another project", free(), other, false, false},
		{"a key that nobody knows", free(), old, false, false},
		{"a denied key", denied, friend, false, false},
		{"a current key of the registry", registry(objects.Project), other, true, true},
		{"a retired key of the registry", registry(objects.Project), old, false, true},
		{"a revoked key of the registry", registry(objects.Project), gone, false, false},
		{"a key of the registry of another directory", registry(objects.User), other, false, false},
	} {
		v, err := Verify(it, inA, c.st)
		must(t, err)
		l := takenBy(t, c.by, it)
		if got := NewTaken(objects.AddTaken(nil, l), nil).Denies(v, c.st) != nil; got != c.here {
			t.Errorf("%s: denies: %v", c.name, got)
		}
		if got := NewTaken(nil, keptOf{l}).Denies(v, c.st) != nil; got != c.kept {
			t.Errorf("%s: denies once kept: %v", c.name, got)
		}
		if got := MayTakeBack(c.by.Public(), v, c.st); got != c.here {
			t.Errorf("%s: may take it back: %v", c.name, got)
		}
		l.Sig[0] ^= 1
		if NewTaken(objects.AddTaken(nil, l), keptOf{l}).Denies(v, c.st) != nil {
			t.Errorf("%s: a signature that does not hold has effect", c.name)
		}
	}
}
