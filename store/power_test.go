package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A fakeDisk notes what is durable while a real repository is written: the bytes
// that a file had when it was last synced, and the names that a directory had. What
// it would hold if the power failed now can be laid out at any moment.
type fakeDisk struct {
	t    testing.TB
	root string

	mu      sync.Mutex
	dirs    map[os.FileInfo]map[string]os.FileInfo // not shared once it is in here
	files   map[os.FileInfo]synced
	known   []os.FileInfo // one per file or directory, whatever it is called
	held    []*os.File    // so that no inode is used twice
	images  []image
	acked   []OID
	stopped bool
}

type synced struct {
	data []byte
	when time.Time
	perm fs.FileMode
}

// image is what survives.
type image struct {
	dirs  map[os.FileInfo]map[string]os.FileInfo
	files map[os.FileInfo]synced
	acked []OID
	names bool // every name reached the disk, of its own accord, and no more bytes
	live  map[os.FileInfo]map[string]os.FileInfo
}

// newFakeDisk takes what lies below root for durable and watches from then on.
func newFakeDisk(t testing.TB, root string) *fakeDisk {
	d := &fakeDisk{t: t, root: root, dirs: map[os.FileInfo]map[string]os.FileInfo{}, files: map[os.FileInfo]synced{}}
	d.sync(nil, "")
	testOnlyStep = func() error { d.snapshot(); return nil }
	testOnlySync = func(f *os.File, dir string) { d.snapshot(); d.sync(f, dir) }
	t.Cleanup(func() {
		d.stop()
		for _, f := range d.held {
			f.Close()
		}
	})
	return d
}

func (d *fakeDisk) stop() { testOnlyStep, testOnlySync = nil, nil }

// node returns the one name for a file or directory.
func (d *fakeDisk) node(path string, fi os.FileInfo) os.FileInfo {
	for _, k := range d.known {
		if os.SameFile(k, fi) {
			return k
		}
	}
	if f, err := os.Open(path); err == nil {
		d.held = append(d.held, f)
	}
	d.known = append(d.known, fi)
	return fi
}

func (d *fakeDisk) sync(f *os.File, dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case f != nil:
		d.syncFile(f)
	case dir != "":
		if n, list := d.list(dir); list != nil {
			d.dirs[n] = list
		}
	default: // at the beginning: everything
		filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				d.t.Fatal(err)
			}
			if e.IsDir() {
				n, list := d.list(path)
				d.dirs[n] = list
				return nil
			}
			f, err := os.Open(path)
			if err != nil {
				d.t.Fatal(err)
			}
			defer f.Close()
			d.syncFile(f)
			return nil
		})
	}
}

func (d *fakeDisk) syncFile(f *os.File) {
	fi, err := f.Stat()
	if err != nil {
		return
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, fi.Size()))
	if err != nil {
		d.t.Error(err)
	}
	d.files[d.node(f.Name(), fi)] = synced{data, fi.ModTime(), fi.Mode().Perm()}
}

// list reads the names in a directory; nil when it is gone.
func (d *fakeDisk) list(dir string) (os.FileInfo, map[string]os.FileInfo) {
	fi, err := os.Stat(dir)
	if err != nil {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil
	}
	list := map[string]os.FileInfo{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if fi, err := os.Lstat(path); err == nil {
			list[e.Name()] = d.node(path, fi)
		}
	}
	return d.node(dir, fi), list
}

// snapshot keeps what would survive now: only what was synced; and that with every
// name that there is, for file systems write names when they like.
func (d *fakeDisk) snapshot() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	im := image{dirs: copyMap(d.dirs), files: copyMap(d.files), acked: d.acked}
	d.images = append(d.images, im)
	im.live, im.names = map[os.FileInfo]map[string]os.FileInfo{}, true
	filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			if n, list := d.list(path); list != nil {
				im.live[n] = list
			}
		}
		return nil
	})
	d.images = append(d.images, im)
}

func copyMap[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func (d *fakeDisk) ack(id OID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acked = append(d.acked[:len(d.acked):len(d.acked)], id)
}

// layOut makes the files of an image below dir. A name whose file was never synced
// leads to an empty file.
func (d *fakeDisk) layOut(im image, node os.FileInfo, dir string) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	list := im.dirs[node]
	if im.names {
		list = im.live[node]
	}
	for name, n := range list {
		path := filepath.Join(dir, name)
		if n.IsDir() {
			d.layOut(im, n, path)
			continue
		}
		was := im.files[n]
		if err := os.WriteFile(path, was.data, 0o644); err != nil {
			d.t.Fatal(err)
		}
		if was.perm != 0 {
			os.Chmod(path, was.perm)
			os.Chtimes(path, was.when, was.when)
		}
	}
}

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
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience/2)
	defer cancel()
	if _, err := r.Edit(ctx, testHead, []Change{put("after", "the power came back")}, opts("after")); err != nil {
		d.t.Fatalf("state %d (names %v): the next edit: %v", n, im.names, err)
	}
	if err := whole(r, im.acked); err != nil {
		d.t.Fatalf("state %d (names %v), after an edit: %v", n, im.names, err)
	}
	if useGit {
		fsckRefs(d.t, dir)
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
	reached, err := r.reachable(context.Background(), false)
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
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPowerLoss: the power fails before each change to the disk and each sync, and
// what was not synced is gone, or gone but for its name.
func TestPowerLoss(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories cannot be synced there")
	}
	rounds, every := 1, 7
	if soak() {
		rounds, every = 4, 1
	}
	states := 0
	for range rounds {
		r := newRepo(t)
		d := newFakeDisk(t, r.Dir())
		powerWork(t, r, d.ack)
		d.snapshot()
		d.stop()
		for n := 0; n < len(d.images); n += every {
			d.check(n, d.images[n], n%(10*every) == 0)
			states++
		}
	}
	if min := 40; states < min || soak() && states < 2000 {
		t.Errorf("only %d states", states)
	}
	t.Logf("%d states", states)
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
	var stream bytes.Buffer
	if err := b.Flush(ctx); err != nil {
		return err
	}
	if err := r.Swap(ctx, "refs/heads/b", OID{}, id, ""); err != nil {
		return err
	}
	ack(id)
	if err := r.PackFor(ctx, &stream, []OID{id}, nil); err != nil {
		return err
	}
	q, err := r.Import(ctx, &stream, Limits{})
	if err != nil {
		return err
	}
	defer q.Discard()
	if err := q.Accept(ctx, id); err != nil {
		return err
	}
	_, err = r.Compact(ctx, CompactOptions{})
	return err
}
