package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// lose removes the file of an object.
func lose(t testing.TB, r *Repo, id OID) {
	t.Helper()
	must(t, os.Remove(looseFile(r, id)))
}

// fileOf returns the id of a file in the tree of a commit.
func fileOf(t testing.TB, r *Repo, commit OID, path string) OID {
	t.Helper()
	tree, err := r.treeOf(commit)
	must(t, err)
	e, err := r.Lookup(tree, path)
	must(t, err)
	return e.ID
}

// wantMended mends everything and looks whether rye and git are content then. The file of
// emptied, if there is such an object, is to be there still.
func wantMended(t *testing.T, r *Repo, emptied OID, want map[string]OID) {
	t.Helper()
	must(t, os.Chtimes(filepath.Join(r.Dir(), "objects/pack"), testTime, testTime)) // nobody repacks: not waited for
	r = reopen(t, r)
	all, err := BrokenRefs(t.Context(), r)
	must(t, err)
	got := map[string]OID{}
	for _, b := range all {
		if got[b.Name] = b.To; b.Why == nil {
			t.Errorf("%s: nothing is wrong with it", b.Name)
		}
		must(t, r.MendRef(t.Context(), b))
	}
	for name, id := range want {
		if got[name] != id {
			t.Errorf("%s goes back to %v, want %v", name, got[name], id)
		}
		if at, err := r.Ref(name); name != "HEAD" && (err != nil || at != id) {
			t.Errorf("%s is at %v, %v; want %v", name, at, err, id)
		}
	}
	if len(got) != len(want) {
		t.Errorf("broken: %v, want %v", got, want)
	}
	must(t, whole(r, nil))
	wantNoLocks(t, r)
	wantLogs(t, r)
	if rotten := looseFile(r, emptied); emptied.IsZero() || os.Remove(rotten) == nil { // no object is ever deleted
		fsck(t, r.Dir())
	}
	if again, err := BrokenRefs(t.Context(), r); err != nil || len(again) > 0 {
		t.Errorf("after that: %+v, %v", again, err)
	}
	mustEdit(t, r, "after", put("after", "1"))
}

// A ref goes back to the newest position in its log that is whole, whatever is missing.
func TestMendRef(t *testing.T) {
	build := func(t *testing.T) (r *Repo, ids []OID) {
		r = newRepo(t)
		for _, text := range []string{"1", "2", "3"} {
			ids = append(ids, mustEdit(t, r, "version "+text, put("d/f", text), put("e/g", "same")))
		}
		return r, ids
	}
	testOnlyNoSync = true
	defer func() { testOnlyNoSync = false }()
	for name, tc := range map[string]struct {
		harm func(t *testing.T, r *Repo, ids []OID)
		to   int
	}{
		"the commit":          {func(t *testing.T, r *Repo, ids []OID) { lose(t, r, ids[2]) }, 1},
		"two commits":         {func(t *testing.T, r *Repo, ids []OID) { lose(t, r, ids[2]); lose(t, r, ids[1]) }, 0},
		"the one before":      {func(t *testing.T, r *Repo, ids []OID) { lose(t, r, ids[1]) }, 0},
		"a file of the tip":   {func(t *testing.T, r *Repo, ids []OID) { lose(t, r, fileOf(t, r, ids[2], "d/f")) }, 1},
		"a folder of the tip": {func(t *testing.T, r *Repo, ids []OID) { lose(t, r, fileOf(t, r, ids[2], "d")) }, 1},
		"a file of the middle": {func(t *testing.T, r *Repo, ids []OID) {
			lose(t, r, fileOf(t, r, ids[1], "d/f"))
		}, 0},
		"an emptied file": {func(t *testing.T, r *Repo, ids []OID) {
			file := looseFile(r, ids[2])
			must(t, os.Chmod(file, 0o644))
			must(t, os.WriteFile(file, nil, 0o644))
		}, 1},
		"the ref's file": {func(t *testing.T, r *Repo, ids []OID) {
			must(t, os.Remove(filepath.Join(r.Dir(), filepath.FromSlash(testHead))))
		}, 2},
		"the ref's file, and its commit": {func(t *testing.T, r *Repo, ids []OID) {
			must(t, os.Remove(filepath.Join(r.Dir(), filepath.FromSlash(testHead))))
			lose(t, r, ids[2])
		}, 1},
		"junk in the ref's file": {func(t *testing.T, r *Repo, ids []OID) {
			must(t, os.WriteFile(filepath.Join(r.Dir(), filepath.FromSlash(testHead)), []byte("junk"), 0o644))
		}, 2},
		"a ref that names itself": {func(t *testing.T, r *Repo, ids []OID) {
			must(t, os.WriteFile(filepath.Join(r.Dir(), filepath.FromSlash(testHead)), []byte("ref: "+testHead+"\n"), 0o644))
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, ids := build(t)
			tc.harm(t, r, ids)
			want := map[string]OID{testHead: ids[tc.to]}
			if tc.to < 2 {
				want["HEAD"] = ids[tc.to]
			}
			before := logFile(t, r, testHead)
			emptied := OID{}
			if name == "an emptied file" {
				emptied = ids[2]
			}
			wantMended(t, r, emptied, want)
			kept, _ := os.ReadFile(filepath.Join(r.Dir(), lostName))
			for line := range strings.Lines(before) {
				if now := logFile(t, r, testHead); !strings.Contains(now, line) && !strings.Contains(string(kept), line) {
					t.Errorf("neither the log nor %s has %q", lostName, line)
				}
			}
		})
	}
}

// Nothing whole is left: that is said, and nothing is done.
func TestMendRefHasNowhereToGo(t *testing.T) {
	r := newRepo(t)
	first := mustEdit(t, r, "first", put("f", "1"))
	mustEdit(t, r, "second", put("f", "2"))
	lose(t, r, fileOf(t, r, first, "f"))
	all, err := BrokenRefs(t.Context(), r)
	must(t, err)
	i := slices.IndexFunc(all, func(b BrokenRef) bool { return b.Name == testHead })
	if i < 0 || !all[i].To.IsZero() || !strings.Contains(all[i].Why.Error(), "f: object") {
		t.Fatalf("BrokenRefs = %+v", all)
	}
	before := logFile(t, r, testHead)
	if err := r.MendRef(t.Context(), all[i]); !fault.Is(err, fault.Integrity) {
		t.Errorf("MendRef = %v", err)
	}
	if logFile(t, r, testHead) != before {
		t.Error("the log was changed")
	}
}

// A ref that moved since it was looked at is left alone, and a file that may not be read
// is no reason to move anything.
func TestMendRefIsCareful(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "first", put("f", "1"))
	second := mustEdit(t, r, "second", put("f", "2"))
	lost := fileOf(t, r, second, "f")
	raw, err := os.ReadFile(looseFile(r, lost))
	must(t, err)
	lose(t, r, lost)
	all, err := BrokenRefs(t.Context(), r)
	must(t, err)
	must(t, os.WriteFile(looseFile(r, lost), raw, 0o444))
	third := mustEdit(t, r, "third", put("g", "3"))
	for _, b := range all {
		if b.Name != testHead {
			continue
		}
		var said *fault.Error
		if err := r.MendRef(t.Context(), b); !errors.As(err, &said) || said.Code != fault.Conflict {
			t.Errorf("MendRef of what moved = %v", err)
		}
	}
	if at := mustRef(t, r, testHead); at != third {
		t.Errorf("the ref is at %v, want %v", at, third)
	}
	if all, err := BrokenRefs(t.Context(), r); err != nil || len(all) > 0 {
		t.Errorf("a copy came back: %+v, %v", all, err)
	}
	ref := filepath.Join(r.Dir(), filepath.FromSlash(testHead))
	must(t, os.Remove(ref))
	must(t, os.Mkdir(ref+".away", 0o755))
	must(t, os.Symlink(ref+".away", ref))
	if all, err := BrokenRefs(t.Context(), r); err != nil || len(all) != 1 || all[0].To != third {
		t.Errorf("a link in the place of a ref: %+v, %v", all, err)
	}
}

// The log of a ref that was lost is all that is known of it: a writer that comes to
// nothing leaves it.
func TestLogOfALostRefStays(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "first", put("f", "1"))
	tip := mustEdit(t, r, "second", put("f", "2"))
	must(t, os.Remove(filepath.Join(r.Dir(), filepath.FromSlash(testHead))))
	var moved *ConflictError
	if err := r.Swap(t.Context(), testHead, tip, OID{}, ""); !errors.As(err, &moved) {
		t.Errorf("Swap of a ref that is gone = %v", err)
	}
	if moves, err := r.RefLog(testHead); err != nil || len(moves) != 2 {
		t.Errorf("its log: %v, %v", moves, err)
	}
}

// Mending that comes to nothing at any step, for want of room, can be called again.
func TestMendRefAtEveryStep(t *testing.T) {
	testOnlyNoSync = true
	defer func() { testOnlyNoSync, testOnlyStep = false, nil }()
	for at, done := 1, false; !done; at++ {
		r := newRepo(t)
		first := mustEdit(t, r, "first", put("f", "1"))
		second := mustEdit(t, r, "second", put("f", "2"))
		lose(t, r, second)
		must(t, os.Remove(filepath.Join(r.Dir(), filepath.FromSlash(testHead))))
		must(t, os.Chtimes(filepath.Join(r.Dir(), "objects/pack"), testTime, testTime))
		all, err := BrokenRefs(t.Context(), r)
		must(t, err)
		steps := 0
		testOnlyStep = func() error {
			if steps++; steps < at {
				return nil
			}
			return errors.New("no room")
		}
		for _, b := range all {
			if err := r.MendRef(t.Context(), b); err == nil && steps < at {
				done = true
			}
		}
		testOnlyStep = nil
		done = done && steps < at
		r.Close()
		r = reopen(t, r)
		all, err = BrokenRefs(t.Context(), r)
		must(t, err)
		for _, b := range all {
			if err := r.MendRef(t.Context(), b); err != nil {
				t.Fatalf("step %d, once more: %v", at, err)
			}
		}
		if got := mustRef(t, r, testHead); got != first {
			t.Fatalf("step %d: the ref is at %v, want %v", at, got, first)
		}
		if at%5 == 0 || done {
			fsck(t, r.Dir())
		}
		r.Close()
	}
}
