package store

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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
	torn  map[os.FileInfo][]byte // with the names, of what was written since the last sync: half, and zeros
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
	torn := map[os.FileInfo][]byte{}
	filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			if n, list := d.list(path); list != nil {
				im.live[n] = list
			}
		} else if err == nil {
			d.tear(path, torn)
		}
		return nil
	})
	d.images = append(d.images, im)
	im.torn = torn
	d.images = append(d.images, im)
}

// tear notes what a file may hold when only some of its bytes reached the disk.
func (d *fakeDisk) tear(path string, torn map[os.FileInfo][]byte) {
	fi, err := os.Lstat(path)
	if err != nil || fi.Size() > 64<<10 {
		return
	}
	now, err := os.ReadFile(path)
	n := d.node(path, fi)
	was := d.files[n].data
	if err != nil || bytes.Equal(now, was) {
		return
	}
	half := bytes.Clone(now)
	if bytes.HasPrefix(now, was) { // appended to, or new: the end is zeros
		clear(half[len(was)+(len(now)-len(was))/2:])
	} else { // written over: the end is what it was
		copy(half[len(half)/2:], was[min(len(was), len(half)/2):])
	}
	torn[n] = half
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
		if half, ok := im.torn[n]; ok {
			was.data = half
		}
		if err := os.WriteFile(path, was.data, 0o644); err != nil {
			d.t.Fatal(err)
		}
		if was.perm != 0 {
			os.Chmod(path, was.perm)
			os.Chtimes(path, was.when, was.when)
		}
	}
}
