package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/records"
)

func lineOf(key byte, n int, genuine bool) objects.Taken {
	l := objects.Taken{Ref: objects.Ref{Kind: objects.Tool, ID: "acme/x"}, Digest: objects.DigestOf(fmt.Append(nil, n)), At: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	l.Key[0] = key
	if genuine {
		l.Sig[0] = 1
	}
	return l
}

// TestKeep: what somebody wrote in a signer's name never takes the room of a genuine line,
// nor does another signer; what does not fit is counted, and what was kept stays.
func TestKeep(t *testing.T) {
	d := records.Open(filepath.Join(t.TempDir(), "data"))
	at, err := d.At(nil, t.TempDir(), "3f0c9a1b8c2d4e5f60718293a4b5c6d7")
	if err != nil {
		t.Fatal(err)
	}
	verified := 0
	keep := func(lines ...objects.Taken) int {
		t.Helper()
		by := map[objects.Fingerprint][]objects.Taken{}
		for _, l := range lines {
			by[l.Key] = append(by[l.Key], l)
		}
		left, err := DeniedOf(at).Keep(t.Context(), by, func(objects.Taken) bool { return true }, func(l objects.Taken) bool { verified++; return l.Sig[0] == 1 })
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	has := func(l objects.Taken) bool {
		t.Helper()
		all, err := DeniedOf(at).Find(l.Key, l.Digest)
		if err != nil {
			t.Fatal(err)
		}
		return len(all) == 1 && all[0] == l
	}
	var false1, more []objects.Taken
	for i := range objects.MaxTakenLines {
		false1, more = append(false1, lineOf(1, i, false)), append(more, lineOf(1, 1e6+i, true))
	}
	other, first := lineOf(2, 1, true), lineOf(1, 1, true)
	if left := keep(append(false1, other)...); left != 0 || verified != 0 || !has(other) {
		t.Fatalf("%d left, %d verified", left, verified)
	}
	// A genuine line takes the place of a false one that takes the same back; not the other way.
	keep(first)
	keep(false1[1])
	later := false1[3]
	later.At = later.At.Add(time.Second)
	if keep(later); !has(false1[3]) {
		t.Error("a false line takes the place of another")
	}
	if !has(first) {
		t.Error("the genuine line is not kept")
	}
	// Where there is no room, false lines make it.
	if left := keep(more[1:]...); left != 0 || !has(first) || !has(more[1]) || has(false1[2]) {
		t.Errorf("%d left of what fits", left)
	}
	if left := keep(more[0]); left != 1 || has(more[0]) || !has(first) {
		t.Errorf("%d left of what does not fit", left)
	}
	if full, err := DeniedOf(at).Full(more[0]); err != nil || !full {
		t.Errorf("Full: %v, %v", full, err)
	}
	if had, err := DeniedOf(at).Forget(t.Context(), first.Digest, true); err != nil || !had || has(first) {
		t.Errorf("Forget: %v, %v", had, err)
	}
	// A damaged file refuses.
	k := DeniedOf(at)
	if err := os.WriteFile(k.file(first.Key), []byte("# a note\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Find(first.Key, more[1].Digest); !fault.Is(err, fault.Integrity) {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestOlderIsMoved: what rye 0.2 kept of one directory has its effect, and is moved.
func TestOlderIsMoved(t *testing.T) {
	d := records.Open(filepath.Join(t.TempDir(), "data"))
	at, err := d.At(nil, t.TempDir(), "3f0c9a1b8c2d4e5f60718293a4b5c6d7")
	if err != nil {
		t.Fatal(err)
	}
	mine, foreign := lineOf(1, 1, true), lineOf(2, 2, true)
	if err := os.MkdirAll(at.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(at.Dir, "denied")
	if err := os.WriteFile(old, objects.AddTaken(objects.AddTaken(nil, mine), foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"before", "after"} {
		for _, l := range []objects.Taken{mine, foreign} {
			if all, err := DeniedOf(at).Find(l.Key, l.Digest); err != nil || len(all) != 1 {
				t.Errorf("%s: %v, %v", when, all, err)
			}
		}
		if when == "before" {
			isMine := func(l objects.Taken) bool { return l == mine }
			if _, err := DeniedOf(at).Keep(t.Context(), map[objects.Fingerprint][]objects.Taken{mine.Key: {mine}}, isMine, isMine); err != nil {
				t.Fatal(err)
			}
		}
	}
	if raw, _ := os.ReadFile(old); string(raw) != foreign.Line()+"\n" {
		t.Errorf("left of it: %q", raw)
	}
}
