package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
)

// someCommits makes n unrelated commits.
func someCommits(t testing.TB, r *Repo, n int) []OID {
	t.Helper()
	b := r.NewBatch()
	defer b.Discard()
	tree, err := b.EditTree(OID{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []OID
	for i := range n {
		id, err := b.Commit(t.Context(), tree, nil, opts(fmt.Sprint("commit ", i)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ids
}

func swap(t testing.TB, r *Repo, name string, old, new OID) {
	t.Helper()
	if err := r.Swap(t.Context(), name, old, new, "test"); err != nil {
		t.Fatal(err)
	}
}

// wantRefs compares what we list with what git lists.
func wantRefs(t testing.TB, r *Repo, want map[string]OID) {
	t.Helper()
	refs, err := r.Refs("refs/")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, ref := range refs {
		if want[ref.Name] != ref.ID {
			t.Errorf("%s is %v, want %v", ref.Name, ref.ID, want[ref.Name])
		}
		if id, err := r.Ref(ref.Name); err != nil || id != ref.ID {
			t.Errorf("Ref(%s) = %v, %v, Refs says %v", ref.Name, id, err, ref.ID)
		}
		lines = append(lines, ref.ID.String()+" "+ref.Name)
	}
	if len(refs) != len(want) {
		t.Errorf("%d refs, want %d: %v", len(refs), len(want), refs)
	}
	if gitBin != "" {
		if got := git(t, r.Dir(), "for-each-ref", "--format=%(objectname) %(refname)"); got != strings.Join(lines, "\n") {
			t.Errorf("git lists\n%s\nwe list\n%s", got, strings.Join(lines, "\n"))
		}
	}
	if locks, _ := filepath.Glob(filepath.Join(r.Dir(), "refs/*/*.lock")); len(locks) > 0 {
		t.Errorf("locks left: %v", locks)
	}
}

func TestSwap(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 3)
	name := "refs/heads/x/y"
	swap(t, r, name, OID{}, c[0])
	swap(t, r, name, c[0], c[1])
	wantRefs(t, r, map[string]OID{name: c[1]})
	for _, u := range []Update{{name, OID{}, c[2]}, {name, c[0], c[2]}, {name, c[0], OID{}}, {"refs/heads/none", c[0], c[1]}, {name, OID{}, OID{}}} {
		err := r.Swap(t.Context(), u.Name, u.Old, u.New, "why not")
		var ce *ConflictError
		if !errors.As(err, &ce) || !fault.Is(err, fault.Conflict) || ce.Name != u.Name || ce.Want != u.Old {
			t.Errorf("Swap(%v) = %v", u, err)
		}
		if err != nil && !strings.Contains(err.Error(), "why not") {
			t.Errorf("error without reason: %v", err)
		}
	}
	swap(t, r, name, c[1], c[1])
	wantRefs(t, r, map[string]OID{name: c[1]})
	swap(t, r, name, c[1], OID{})
	wantRefs(t, r, map[string]OID{})
	if _, err := r.Ref(name); !fault.Is(err, fault.NotFound) || !isMissing(err) {
		t.Errorf("deleted ref: %v", err)
	}
	swap(t, r, "refs/heads/x", OID{}, c[0]) // where an empty directory may be left
	for _, bad := range []string{"HEAD", "refs/../config", "refs/heads/a.lock", "config"} {
		if err := r.Swap(t.Context(), bad, OID{}, c[0], ""); !fault.Is(err, fault.Usage) {
			t.Errorf("Swap(%q) = %v", bad, err)
		}
	}
	if len(leftovers(t, r)) > 0 {
		t.Errorf("left in the nest: %v", leftovers(t, r))
	}
}

func TestSwapAllIsAllOrNothing(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 2)
	swap(t, r, "refs/heads/b", OID{}, c[0])
	err := r.SwapAll(t.Context(), []Update{{"refs/heads/a", OID{}, c[1]}, {"refs/heads/b", c[1], c[0]}, {"refs/heads/c", OID{}, c[1]}}, "")
	var ce *ConflictError
	if !errors.As(err, &ce) || ce.Name != "refs/heads/b" {
		t.Errorf("SwapAll = %v", err)
	}
	wantRefs(t, r, map[string]OID{"refs/heads/b": c[0]})
	err = r.SwapAll(t.Context(), []Update{{"refs/heads/c", OID{}, c[1]}, {"refs/heads/b", c[0], OID{}}, {"refs/heads/a", OID{}, c[1]}}, "")
	if err != nil {
		t.Fatal(err)
	}
	wantRefs(t, r, map[string]OID{"refs/heads/a": c[1], "refs/heads/c": c[1]})
	for _, us := range [][]Update{
		{{"refs/heads/a", c[1], c[0]}, {"refs/heads/a", c[1], c[0]}},
		{{"refs/heads/n", OID{}, c[0]}, {"refs/heads/n/m", OID{}, c[0]}},
	} {
		if err := r.SwapAll(t.Context(), us, ""); err == nil {
			t.Errorf("SwapAll(%v) accepted", us)
		}
	}
	wantRefs(t, r, map[string]OID{"refs/heads/a": c[1], "refs/heads/c": c[1]})
	if err := r.SwapAll(t.Context(), nil, ""); err != nil {
		t.Error(err)
	}
}

func TestDirectoryFileConflicts(t *testing.T) {
	for _, packed := range []bool{false, true} {
		r := newRepo(t)
		c := someCommits(t, r, 1)
		swap(t, r, "refs/heads/a/b", OID{}, c[0])
		swap(t, r, "refs/heads/f", OID{}, c[0])
		if packed {
			needGit(t)
			git(t, r.Dir(), "pack-refs", "--all", "--prune")
		}
		for _, name := range []string{"refs/heads/a", "refs/heads/a/b/c", "refs/heads/a/b/c/d", "refs/heads/f/g"} {
			if err := r.Swap(t.Context(), name, OID{}, c[0], ""); !fault.Is(err, fault.Conflict) {
				t.Errorf("packed %v: Swap(%s) = %v", packed, name, err)
			}
		}
		wantRefs(t, r, map[string]OID{"refs/heads/a/b": c[0], "refs/heads/f": c[0]})
		swap(t, r, "refs/heads/a/b", c[0], OID{})
		swap(t, r, "refs/heads/a", OID{}, c[0])
		wantRefs(t, r, map[string]OID{"refs/heads/a": c[0], "refs/heads/f": c[0]})
	}
}

// TestPackedRefsAreInTheWay: a ref that only packed-refs has is a file and no directory, as one
// of its own is, and nothing on the disk would say so.
func TestPackedRefsAreInTheWay(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 1)
	swap(t, r, "refs/heads/x", OID{}, c[0])
	swap(t, r, "refs/heads/d/e", OID{}, c[0])
	packByHand(t, r)
	must(t, os.RemoveAll(filepath.Join(r.Dir(), "refs", "heads", "d")))
	for _, name := range []string{"refs/heads/x/y", "refs/heads/d"} {
		if err := r.Swap(t.Context(), name, OID{}, c[0], "beside"); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s beside what is packed: %v", name, err)
		}
	}
}

func TestPackedRefs(t *testing.T) {
	needGit(t)
	r := newRepo(t)
	c := someCommits(t, r, 2)
	want := map[string]OID{}
	var us []Update
	for i := range 500 {
		name := fmt.Sprintf("refs/heads/threads/%03d-%s", i, strings.Repeat("x", i%60))
		want[name] = c[i%2]
		us = append(us, Update{name, OID{}, c[i%2]})
	}
	if err := r.SwapAll(t.Context(), us, ""); err != nil {
		t.Fatal(err)
	}
	git(t, r.Dir(), "tag", "-a", "-m", "m", "v1", c[0].String())
	tag, err := r.Ref("refs/tags/v1")
	if err != nil {
		t.Fatal(err)
	}
	want["refs/tags/v1"] = tag
	git(t, r.Dir(), "pack-refs", "--all", "--prune")
	wantRefs(t, r, want)
	for _, no := range []string{"refs/heads/a", "refs/heads/threads/250", "refs/zzz", "refs/heads/threads/499-z"} {
		if _, err := r.Ref(no); !isMissing(err) {
			t.Errorf("Ref(%s) = %v", no, err)
		}
	}
	// A loose ref covers the packed one; deleting removes both.
	first, second := us[0].Name, us[77].Name
	swap(t, r, first, c[0], c[1])
	want[first] = c[1]
	wantRefs(t, r, want)
	if err := r.SwapAll(t.Context(), []Update{{first, c[1], OID{}}, {second, c[1], OID{}}}, ""); err != nil {
		t.Fatal(err)
	}
	delete(want, first)
	delete(want, second)
	wantRefs(t, r, want)
	swap(t, r, "refs/tags/v1", tag, OID{})
	delete(want, "refs/tags/v1")
	wantRefs(t, r, want)
	swap(t, r, second, OID{}, c[0])
	want[second] = c[0]
	wantRefs(t, r, want)
	fsck(t, r.Dir())
}

// TestFindPackedRef bisects files of awkward shapes.
func TestFindPackedRef(t *testing.T) {
	for _, sorted := range []bool{true, false} {
		var sb strings.Builder
		if sorted {
			sb.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
		}
		var names []string
		for i := range 700 {
			name := fmt.Sprintf("refs/heads/%04d%s", i*2, strings.Repeat("/"+strings.Repeat("d", 200), i%4))
			names = append(names, name)
			fmt.Fprintf(&sb, "%040x %s\n", i+1, name)
			if i%3 == 0 {
				fmt.Fprintf(&sb, "^%s\n", oidA)
			}
		}
		f := strings.NewReader(sb.String())
		for i, name := range names {
			id, err := findPackedRef(f, f.Size(), name)
			if want := fmt.Sprintf("%040x", i+1); err != nil || id.String() != want {
				t.Fatalf("sorted %v: %s = %v, %v, want %s", sorted, name, id, err, want)
			}
			if id, err := findPackedRef(f, f.Size(), name+"x"); err != nil || !id.IsZero() {
				t.Fatalf("sorted %v: %sx = %v, %v", sorted, name, id, err)
			}
		}
	}
}

func TestBrokenRefFiles(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 1)
	path := filepath.Join(r.Dir(), "refs/heads/x")
	for _, text := range []string{"", "\n", "garbage", oidA[:39], strings.Repeat("0", 40), oidA + oidA, "ref: ../../etc/passwd", "ref: HEAD", oidA + " x"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if id, err := r.Ref("refs/heads/x"); err == nil || isMissing(err) {
			t.Errorf("a ref holding %q is %v, %v", text, id, err)
		}
		if err := r.Swap(t.Context(), "refs/heads/x", OID{}, c[0], ""); err == nil {
			t.Errorf("a ref holding %q was taken for absent", text)
		}
	}
	os.Remove(path)
	if err := os.Symlink("../../config", path); err == nil {
		if _, err := r.Ref("refs/heads/x"); !fault.Is(err, fault.Integrity) {
			t.Errorf("a symlink as ref: %v", err)
		}
		os.Remove(path)
	}
	os.WriteFile(path, []byte("ref: refs/heads/y\n"), 0o644)
	swap(t, r, "refs/heads/y", OID{}, c[0])
	if id, err := r.Ref("refs/heads/x"); err != nil || id != c[0] {
		t.Errorf("a symbolic ref: %v, %v", id, err)
	}
	if err := r.Swap(t.Context(), "refs/heads/x", c[0], OID{}, ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("moving a symbolic ref: %v", err)
	}
	os.WriteFile(filepath.Join(r.Dir(), "refs/heads/y"), []byte("ref: refs/heads/x\n"), 0o644)
	if _, err := r.Ref("refs/heads/x"); !fault.Is(err, fault.Integrity) {
		t.Errorf("a ring of symbolic refs: %v", err)
	}
}

func TestForeignLockIsWaitedForAndNeverTaken(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 2)
	lock := filepath.Join(r.Dir(), "refs/heads/x.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := r.Swap(ctx, "refs/heads/x", OID{}, c[0], ""); err == nil {
		t.Error("moved under a lock of git")
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("git's lock is gone: %v", err)
	}
	swap(t, r, "refs/heads/other", OID{}, c[0]) // others are not held up
	done := make(chan error, 1)
	go func() { done <- r.Swap(t.Context(), "refs/heads/x", OID{}, c[0], "") }()
	os.Remove(lock) // git is done
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestStaleLockOfADeadRye: the record in rye.lock lets the next writer remove
// exactly the lock that a dead process left.
func TestStaleLockOfADeadRye(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 2)
	swap(t, r, "refs/heads/x", OID{}, c[0])
	dead := reopen(t, r)
	die := func(name string) {
		unlock, err := dead.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tx := &refTx{r: dead, updates: []Update{{name, c[0], OID{}}}}
		if err := tx.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := tx.lockAll(); err != nil {
			t.Fatal(err)
		}
		unlock() // as the kernel does when a process dies
	}
	die("refs/heads/x")
	if _, err := os.Stat(filepath.Join(r.Dir(), "refs/heads/x.lock")); err != nil {
		t.Fatal(err)
	}
	swap(t, r, "refs/heads/x", c[0], c[1])
	wantRefs(t, r, map[string]OID{"refs/heads/x": c[1]})
	if _, err := os.Stat(filepath.Join(r.Dir(), "packed-refs.lock")); !isMissing(err) {
		t.Errorf("packed-refs.lock: %v", err)
	}
	// The same, but somebody removed the stale lock and git holds it now.
	swap(t, r, "refs/heads/x", c[1], c[0])
	die("refs/heads/x")
	lock := filepath.Join(r.Dir(), "refs/heads/x.lock")
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(lock)
	if err := os.WriteFile(lock, text, 0o644); err != nil { // same text, another file
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := r.Swap(ctx, "refs/heads/x", c[0], c[1], ""); err == nil {
		t.Error("took a lock that is not the recorded one")
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("the live lock is gone: %v", err)
	}
}

// TestHostileRecord: rye.lock is only ever a reason to remove lock files of refs
// that match it.
func TestHostileRecord(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 1)
	victim := filepath.Join(r.Dir(), "config")
	fi, _ := os.Stat(victim)
	text, _ := os.ReadFile(victim)
	outside := filepath.Join(filepath.Dir(r.Dir()), "x.lock")
	os.WriteFile(outside, []byte("x"), 0o644)
	ofi, _ := os.Stat(outside)
	for _, body := range []string{
		fmt.Sprintf("%d %q %q\n", fi.ModTime().UnixNano(), text, "config"),
		fmt.Sprintf("%d %q %q\n", ofi.ModTime().UnixNano(), "x", "../x.lock"),
		"garbage\n", "1 2 3\n", "9999999999999999999999 \"a\" \"b\"\n", strings.Repeat("x", 10000),
	} {
		record := fmt.Sprintf("rye ref locks %010d\n%s", len(body), body)
		if err := os.WriteFile(filepath.Join(r.Dir(), lockName), []byte(record), 0o644); err != nil {
			t.Fatal(err)
		}
		n := reopen(t, r)
		unlock, err := n.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	for _, f := range []string{victim, outside} {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	swap(t, reopen(t, r), "refs/heads/z", OID{}, c[0])
}

func TestLeftoversOfTheDeadAreCleaned(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "one", put("a", "1"))
	_, err := r.Put(t.Context(), TypeBlob, []byte("in a nest"))
	must(t, err)
	top := filepath.Join(r.Dir(), tempName)
	half := filepath.Join(top, "0123456789abcdef") // of one that died holding the write lock
	must(t, os.WriteFile(half, []byte("x"), 0o444))
	dead := filepath.Join(top, "dead")
	os.MkdirAll(filepath.Join(dead, "q-1"), 0o755)
	os.WriteFile(filepath.Join(dead, pinName), nil, 0o644)
	os.WriteFile(filepath.Join(dead, "q-1", "x.pack"), []byte("x"), 0o444)
	keepDead := filepath.Join(r.dir, "objects", "pack", "pack-1.keep")
	keepUser := filepath.Join(r.dir, "objects", "pack", "pack-2.keep")
	keepLive := filepath.Join(r.dir, "objects", "pack", "pack-3.keep")
	os.WriteFile(keepDead, []byte("rye dead\n"), 0o644)
	os.WriteFile(keepUser, []byte("because\n"), 0o644)
	os.WriteFile(keepLive, []byte("rye "+filepath.Base(r.nest)+"\n"), 0o644)
	n := reopen(t, r)
	if _, err := n.Put(t.Context(), TypeBlob, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{half: false, dead: false, keepDead: false, keepUser: true, keepLive: true, r.files.path(r.nest): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want there %v", path, err, want)
		}
	}
	n.Close()
	r.Close()
	if left, _ := os.ReadDir(top); len(left) != 0 {
		t.Errorf("left in %s: %v", top, left)
	}
}

func TestLockHonoursContext(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "one", put("a", "1"))
	other := reopen(t, r)
	unlock, err := other.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Edit(ctx, testHead, []Change{put("a", "2")}, opts("two")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Edit under another's lock: %v", err)
	}
	unlock()
	mustEdit(t, r, "two", put("a", "2"))
}
