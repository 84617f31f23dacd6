package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/fault"
)

// prune does what git prune --expire=now does to loose objects: those that no ref and no
// log leads to are removed, however young they are.
func prune(t testing.TB, dir string) {
	t.Helper()
	r, err := Open(dir)
	must(t, err)
	defer r.Close()
	keep, err := r.reachable(context.Background(), nil)
	must(t, err)
	all, err := r.disk.looseIDs()
	must(t, err)
	for _, id := range all {
		if !keep[id] {
			must(t, os.Remove(looseFile(r, id)))
		}
	}
}

// TestPruneAtEveryStep is git gc --prune=now beside rye: before each change that an edit
// makes on disk, everything to which nothing leads yet is removed.
func TestPruneAtEveryStep(t *testing.T) {
	tools := map[string]func(t testing.TB, dir string){"by hand": prune}
	if gitBin != "" {
		tools["git prune"] = func(t testing.TB, dir string) { git(t, dir, "prune", "--expire=now") }
		if soak() {
			tools["git gc"] = func(_ testing.TB, dir string) {
				tryGit(dir, nil, "gc", "--prune=now", "--quiet") // gives up at the lock of a ref
			}
		}
	}
	testOnlyNoSync = true // the disk is asked for nothing here
	defer func() { testOnlyNoSync = false }()
	for name, tool := range tools {
		t.Run(name, func(t *testing.T) {
			for at, done := 1, false; !done; at++ {
				done = pruneAt(t, at, tool)
			}
		})
	}
}

// pruneAt has a tool run before one step of an edit. It reports whether the edit had ended
// before.
func pruneAt(t *testing.T, at int, tool func(testing.TB, string)) bool {
	r := newRepo(t)
	mustEdit(t, r, "start", put("a/start", "1"))
	must(t, os.Chtimes(filepath.Join(r.Dir(), "objects/pack"), testTime, testTime)) // nobody repacks: not waited for
	steps := 0
	testOnlyStep = func() error {
		if steps++; steps == at {
			tool(t, r.Dir())
		}
		return nil
	}
	defer func() { testOnlyStep = nil }()
	id, err := r.Edit(t.Context(), testHead, []Change{put("a/new", "2"), put("b/new", "3")}, opts("edit"))
	testOnlyStep = nil
	if err != nil {
		t.Fatalf("step %d: %v", at, err)
	}
	next := reopen(t, r)
	if err := whole(next, []OID{id}); err != nil {
		t.Fatalf("step %d: an acknowledged commit: %v", at, err)
	}
	next.Close()
	r.Close()
	if steps < at && at < 12 {
		t.Fatalf("only %d steps: this looks at too few of them", steps)
	}
	return steps < at
}

// What a ref is to name is looked for under its lock: in the directory, not in memory.
func TestSwapLooksForTheNewValue(t *testing.T) {
	for _, f := range []Format{SHA1, SHA256} {
		r := newRepoFormat(t, f)
		tip := mustEdit(t, r, "start", put("a", "1"))
		blob, err := r.Put(t.Context(), TypeBlob, []byte("a blob"))
		must(t, err)
		tree, err := r.treeOf(tip)
		must(t, err)
		for name, u := range map[string]Update{
			"nothing on a branch":      {testHead, tip, f.Hash(TypeCommit, []byte("nowhere"))},
			"nothing elsewhere":        {"refs/rye/lock/x", OID{}, f.Hash(TypeBlob, []byte("nowhere"))},
			"a blob on a branch":       {testHead, tip, blob},
			"a tree on a new branch":   {"refs/heads/threads/x", OID{}, tree},
			"nothing on a thread's":    {"refs/heads/threads/y", OID{}, f.Hash(TypeTree, []byte("x"))},
			"a blob on one, with more": {"refs/heads/zz", OID{}, blob},
		} {
			all := []Update{u}
			if name == "a blob on one, with more" {
				all = append(all, Update{"refs/heads/aa", OID{}, tip})
			}
			if err := r.SwapAll(t.Context(), all, ""); !fault.Is(err, fault.Integrity) || isMissing(err) {
				t.Errorf("%s: %v, want it refused as not whole", name, err)
			}
		}
		must(t, r.Swap(t.Context(), "refs/rye/lock/blob", OID{}, blob, "")) // git allows it, and so does rye
		wantRefs(t, r, map[string]OID{testHead: tip, "refs/rye/lock/blob": blob})
		wantNoLocks(t, r)
		wantLogs(t, r)
	}
}

// A pack that is open can still be read when it is gone from disk.
func TestSwapIsNotDeceivedByAnOpenPack(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "start", put("a", "1"))
	ids := someCommits(t, r, 40)
	for _, id := range ids { // it is open, and its index in memory
		_, err := r.Commit(id)
		must(t, err)
	}
	packs, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/pack-*"))
	for _, p := range packs {
		must(t, os.Remove(p))
	}
	if err := r.Swap(t.Context(), "refs/heads/b", OID{}, ids[0], ""); !fault.Is(err, fault.Integrity) {
		t.Errorf("Swap to what is gone = %v", err)
	}
	wantLogs(t, r)
}

// TestGitPrunesMeanwhile has git gc --prune=now run without a pause beside edits. What that
// takes away is noticed, and what is left is mended: in the end all is whole, for git too.
func TestGitPrunesMeanwhile(t *testing.T) {
	needGit(t)
	edits := 40
	if soak() {
		edits = 2000
	}
	r := newRepo(t)
	mustEdit(t, r, "start", put("a/start", "1"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			tryGit(r.Dir(), nil, "gc", "--prune=now", "--quiet") // refuses a record that is broken, and a ref that is locked
		}
		ended <- n
	}()
	mended, refused := 0, 0
	for i := range edits {
		changes := []Change{put(fmt.Sprintf("a/%d", i%7), fmt.Sprint(i)), put("b/last", fmt.Sprint(i))}
		id, err := r.Edit(t.Context(), testHead, changes, opts(fmt.Sprint("edit ", i)))
		if err == nil {
			if got := mustRef(t, r, testHead); got != id {
				t.Errorf("edit %d: the ref is at %v, not %v", i, got, id)
			}
			continue
		}
		refused++
		if fault.CodeOf(err) == fault.Failed || fault.CodeOf(err) == "" {
			t.Errorf("edit %d: %v (%s)", i, err, fault.CodeOf(err))
		}
		mended += mendAll(t, r)
	}
	stop()
	gcs := <-ended
	mended += mendAll(t, r)
	must(t, whole(reopen(t, r), nil))
	wantNoLocks(t, r)
	wantLogs(t, r)
	// git gc writes a graph of the commits, and one that it took away then may be in it.
	for _, name := range []string{"commit-graph", "commit-graphs"} {
		must(t, os.RemoveAll(filepath.Join(r.Dir(), "objects", "info", name)))
	}
	fsck(t, r.Dir())
	t.Logf("%d edits, %d of them refused; git gc ran %d times; %d refs and logs mended", edits, refused, gcs, mended)
}

// mendAll does what rye fsck --repair does.
func mendAll(t *testing.T, r *Repo) int {
	t.Helper()
	all, err := BrokenRefs(t.Context(), r)
	must(t, err)
	for _, b := range all {
		if !b.Mendable() {
			t.Fatalf("%s: %v, and no position is whole", b.Name, b.Why)
		}
		must(t, r.MendRef(t.Context(), b))
	}
	return len(all)
}
