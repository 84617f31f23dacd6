package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// check lays an image out and does what the next process does: everything that was
// acknowledged is there, everything that refs lead to is whole, the next edit works
// at once.
func (d *fakeDisk) check(n int, im image, useGit bool) {
	dir := filepath.Join(d.t.TempDir(), fmt.Sprint("power", n))
	rootInfo, _ := os.Stat(d.root)
	d.layOut(im, d.node(d.root, rootInfo), dir)
	defer os.RemoveAll(dir)
	r, err := Open(dir)
	if err != nil {
		d.t.Fatalf("state %d: %v", n, err)
	}
	defer r.Close()
	if err := whole(r, im.acked); err != nil {
		d.t.Fatalf("state %d (names %v): %v", n, im.names, err)
	}
	if err := logsTell(r, im.acked); err != nil {
		d.t.Fatalf("state %d (names %v): %v", n, im.names, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience/2)
	defer cancel()
	if _, err := r.Edit(ctx, testHead, []Change{put("after", "the power came back")}, opts("after")); err != nil {
		d.t.Fatalf("state %d (names %v): the next edit: %v", n, im.names, err)
	}
	if err := touchAll(r); err != nil {
		d.t.Fatalf("state %d (names %v): move every ref: %v", n, im.names, err)
	}
	if err := whole(r, im.acked); err != nil {
		d.t.Fatalf("state %d (names %v), after an edit: %v", n, im.names, err)
	}
	wantLogs(d.t, r)
	wantNoLocks(d.t, r)
	if useGit {
		fsckRefs(d.t, dir)
	}
}

// logsTell looks for the last acknowledged commit of the branch in its logs.
func logsTell(r *Repo, acked []OID) error {
	tip, err := r.Ref(testHead)
	if isMissing(err) || !slices.Contains(acked, tip) {
		return nil // it was not acknowledged yet
	}
	for _, name := range []string{"HEAD", testHead} {
		moves, err := r.RefLog(name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(moves, func(m Move) bool { return m.New == tip }) {
			return fmt.Errorf("the log of %s does not tell of the acknowledged commit %s", name, tip)
		}
	}
	return nil
}

// touchAll deletes and makes again every ref but the branch: none is locked.
func touchAll(r *Repo) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience/2)
	defer cancel()
	refs, err := r.Refs("refs/")
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.Name == testHead {
			continue
		}
		if err := r.Swap(ctx, ref.Name, ref.ID, OID{}, "away"); err != nil {
			return err
		}
		if err := r.Swap(ctx, ref.Name, OID{}, ref.ID, "back"); err != nil {
			return err
		}
	}
	return nil
}

// wantNoLocks fails for lock files of git.
func wantNoLocks(t testing.TB, r *Repo) {
	t.Helper()
	if l := refLocks(t, r); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}

// fsckRefs is fsck for what refs lead to: objects whose bytes did not reach the
// disk, and to which nothing leads, are no damage.
func fsckRefs(t testing.TB, dir string) {
	if gitBin != "" {
		git(t, dir, "fsck", "--strict", "--connectivity-only", "--no-dangling")
		git(t, dir, "rev-list", "--objects", "--all")
	}
}

// whole reads everything that refs lead to, and looks for commits.
func whole(r *Repo, acked []OID) error {
	reached, err := r.reachable(context.Background(), nil)
	if err != nil {
		return err
	}
	for id := range reached {
		if _, _, err := r.Object(id, 0); err != nil {
			return err
		}
	}
	for _, id := range acked {
		if !reached[id] {
			return fmt.Errorf("acknowledged commit %s is lost", id)
		}
	}
	return nil
}

// powerWork is every way of writing, each step of which the power may fail in.
func powerWork(t testing.TB, r *Repo, ack func(OID)) {
	ctx := context.Background()
	for i := range 3 {
		ack(mustEdit(t, r, fmt.Sprint("edit ", i), put(fmt.Sprintf("d%d/f", i), fmt.Sprint("text ", i))))
	}
	var many []Change
	for i := range maxLooseEdit + 1 {
		many = append(many, put(fmt.Sprintf("many/%d", i), fmt.Sprint(i)))
	}
	ack(mustEdit(t, r, "through a pack", many...))
	for i := range 2 {
		b := r.NewBatch()
		tree, err := b.EditTree(OID{}, []Change{put("b", fmt.Sprint("batch ", i))})
		must(t, err)
		id, err := b.Commit(ctx, tree, nil, opts("batch"))
		must(t, err)
		must(t, b.Flush(ctx))
		must(t, r.SwapAll(ctx, []Update{{fmt.Sprintf("refs/heads/b%d/x", i), OID{}, id}, {fmt.Sprintf("refs/heads/c%d", i), OID{}, id}}, ""))
		ack(id)
		b.Release()
		must(t, r.Swap(ctx, fmt.Sprintf("refs/heads/c%d", i), id, OID{}, ""))
	}
	from := newRepo(t)
	defer from.Close()
	id := mustEdit(t, from, "outside", put("o", "utside"))
	var stream bytes.Buffer
	must(t, from.PackFor(ctx, &stream, []OID{id}, nil))
	q, err := r.Import(ctx, &stream, Limits{})
	must(t, err)
	must(t, q.Accept(ctx, id))
	must(t, r.Swap(ctx, "refs/heads/outside", OID{}, id, ""))
	q.Release()
	ack(id)
	_, err = r.Compact(ctx, CompactOptions{})
	must(t, err)
	ack(mustEdit(t, r, "last", put("last", "1")))
	powerKeep(t, r, ack)
}

// powerKeep is what keeps a repository in order.
func powerKeep(t testing.TB, r *Repo, ack func(OID)) {
	ctx := context.Background()
	tip := mustRef(t, r, testHead)
	must(t, r.Swap(ctx, "refs/heads/gone/x", OID{}, tip, "to be packed"))
	packByHand(t, r)
	id := mustEdit(t, r, "after pack-refs", put("p", "1"))
	ack(id)
	must(t, r.SwapAll(ctx, []Update{{"refs/heads/gone/x", tip, OID{}}, {"refs/heads/on", OID{}, id}}, "packed"))
	durably(t, r, "logs/HEAD", strings.Replace(logFile(t, r, "HEAD"), "> 1", "> 0", 1))
	dead := filepath.Join(r.Dir(), tempName, "0123456789abcdef")
	must(t, os.MkdirAll(filepath.Join(dead, "q-1"), 0o755))
	must(t, os.WriteFile(filepath.Join(dead, pinName), nil, 0o644))
	n, err := r.Sweep(ctx, false)
	if must(t, err); n != 1 {
		t.Errorf("Sweep removed %d", n)
	}
	unlock, err := r.lock(ctx) // what an edit does when there are many files
	must(t, err)
	_, err = r.compact(ctx, CompactOptions{}, true)
	unlock()
	must(t, err)
	ack(mustEdit(t, r, "very last", put("last", "2")))
	_, err = r.Compact(ctx, CompactOptions{})
	must(t, err)
}

func mustRef(t testing.TB, r *Repo, name string) OID {
	t.Helper()
	id, err := r.Ref(name)
	must(t, err)
	return id
}

// durably writes a file as git does that waits for the disk.
func durably(t testing.TB, r *Repo, name, text string) {
	t.Helper()
	must(t, waiting{}.writeDurable(r.files, name+".by-git", name, []byte(text)))
	must(t, waiting{}.syncDir(r.files, path.Dir(name)))
}

// packByHand is git pack-refs --all --prune, whose steps are seen here.
func packByHand(t testing.TB, r *Repo) {
	t.Helper()
	refs, err := r.Refs("refs/")
	must(t, err)
	text := "# pack-refs with: peeled fully-peeled sorted \n"
	for _, ref := range refs {
		text += ref.ID.String() + " " + ref.Name + "\n"
	}
	durably(t, r, packedRefsName, text)
	for _, ref := range refs {
		must(t, r.files.remove(ref.Name))
		must(t, waiting{}.syncDir(r.files, path.Dir(ref.Name)))
	}
}

var must = testkit.Must // for short

// TestPowerLoss: the power fails before each change to the disk and each sync, and
// what was not synced is gone, or gone but for its name.
func TestPowerLoss(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be synced there")
	}
	rounds, every := 1, 17 // not a multiple of 3: what is kept are three states for each moment
	if soak() {
		rounds, every = 2, 1
	}
	states := 0
	first := rand.Intn(every) // other ones each time
	for range rounds {
		r := newRepo(t)
		d := newFakeDisk(t, r.Dir())
		powerWork(t, r, d.ack)
		d.snapshot()
		d.stop()
		for n := first; n < len(d.images); n += every {
			d.check(n, d.images[n], states%10 == 0)
			states++
		}
	}
	if min := 40; states < min || soak() && states < 2000 {
		t.Errorf("only %d states", states)
	}
	t.Logf("%d states, each %d from %d on", states, every, first)
}

// TestDiskFull: there is no room from one step on. The work fails or is done, what
// was there before is whole, and when there is room again the next edit works.
func TestDiskFull(t *testing.T) {
	every := 9
	if soak() {
		every = 1
	}
	defer func() { testOnlyStep = nil }()
	for at := 1; ; at += every {
		r := newRepo(t)
		first := mustEdit(t, r, "start", put("start", "1"))
		var mu sync.Mutex
		steps := 0
		testOnlyStep = func() error {
			mu.Lock()
			defer mu.Unlock()
			if steps++; steps < at {
				return nil
			}
			return &os.PathError{Op: "write", Path: r.Dir(), Err: syscall.ENOSPC}
		}
		acked := []OID{first}
		err := fullWork(r, func(id OID) { acked = append(acked, id) })
		testOnlyStep = nil
		if e := whole(r, acked); e != nil {
			t.Fatalf("step %d: %v (%v)", at, e, err)
		}
		next := reopen(t, r)
		ctx, cancel := context.WithTimeout(t.Context(), lockPatience/2)
		if _, e := next.Edit(ctx, testHead, []Change{put("after", "room")}, opts("after")); e != nil {
			t.Fatalf("step %d: the next edit: %v (%v)", at, e, err)
		}
		cancel()
		if e := whole(next, acked); e != nil {
			t.Fatalf("step %d, after an edit: %v", at, e)
		}
		next.Close()
		fsck(t, r.Dir())
		r.Close()
		if steps < at {
			if err != nil {
				t.Errorf("with room for all: %v", err)
			}
			break
		}
	}
}

// fullWork is powerWork that returns its errors.
func fullWork(r *Repo, ack func(OID)) error {
	ctx := context.Background()
	for i := range 2 {
		id, err := r.Edit(ctx, testHead, []Change{put("x", fmt.Sprint(i))}, opts("edit"))
		if err != nil {
			return err
		}
		ack(id)
	}
	b := r.NewBatch()
	defer b.Discard()
	tree, err := b.EditTree(OID{}, []Change{put("b", "batch")})
	if err != nil {
		return err
	}
	id, err := b.Commit(ctx, tree, nil, opts("batch"))
	if err != nil {
		return err
	}
	if err := b.Flush(ctx); err != nil {
		return err
	}
	if err := r.Swap(ctx, "refs/heads/b", OID{}, id, ""); err != nil {
		return err
	}
	ack(id)
	q, err := comeBack(ctx, r, id)
	if err != nil {
		return err
	}
	defer q.Discard()
	_, err = r.Compact(ctx, CompactOptions{})
	return err
}
