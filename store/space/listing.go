package space

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/objects"
)

// listing is the list of a working tree, with the moment of its start. Where Files stops at an
// unreadable folder, a listing has the folder among the foreign names.
type listing struct {
	began   int64 // nanoseconds since 1970
	folders []folder
	err     error
	done    chan struct{} // closed when folders and err are set
}

// folder is one directory of the working tree.
type folder struct {
	path    string
	found   []foundFile
	names   []byte // of found, one after another: most are never needed as separate strings
	files   []workFile
	dirs    []string
	foreign []foreignName
}

// foundFile is a regular file that was found in a folder.
type foundFile struct {
	end   int   // of its name
	stamp stamp // zero for a file that was just removed
}

// workFile is a regular file with a name that rye looks at.
type workFile struct {
	path  string
	stamp stamp
	ref   objects.Ref
	row   int // of the catalogue row with this path; -1 for none
}

// foreignName is a name that cannot be an item, with the reason.
type foreignName struct {
	path string
	why  error
}

// Begin starts to list the working tree for the next look, while the caller reads settings.
// Close waits for it.
func (l *Layer) Begin(ctx context.Context) {
	n := &listing{began: time.Now().UnixNano(), done: make(chan struct{})}
	if l.ahead.CompareAndSwap(nil, n) {
		go func() {
			defer close(n.done)
			n.folders, n.err = l.list(ctx)
		}()
	}
}

// listed returns the listing that Begin started, or a new one. Each listing is returned once.
func (l *Layer) listed(ctx context.Context) *listing {
	for {
		l.Begin(ctx)
		if n := l.ahead.Swap(nil); n != nil {
			<-n.done
			return n
		}
	}
}

// list lists the working tree without reading files or judging their names.
func (l *Layer) list(ctx context.Context) ([]folder, error) {
	if err := l.load(); err != nil || l.root == nil {
		return nil, err
	}
	room := newRoom(ctx, l.Space)
	var all []folder
	dirs := topFolders()
	for depth := 1; len(dirs) > 0; depth++ {
		level := make([]folder, len(dirs))
		err := parallel.Each(ctx, len(dirs), func(i int) error {
			level[i] = l.at.readFolder(dirs[i], depth, room)
			return room.full()
		})
		if err != nil {
			return nil, err
		}
		dirs = nil
		for i := range level {
			dirs = append(dirs, level[i].dirs...)
		}
		all = append(all, level...)
	}
	return all, nil
}

// readFolder lists one folder, within the limits of room. A missing folder is empty.
func (x *beneath) readFolder(dir string, depth int, room *room) folder {
	fd := folder{path: dir}
	err := x.list(dir, func(name []byte, typ fs.FileMode, st stamp) bool {
		if !room.take(st.size) {
			return false
		}
		if typ.IsRegular() {
			fd.names = append(fd.names, name...)
			fd.found = append(fd.found, foundFile{len(fd.names), st})
			return true
		}
		p := dir + "/" + string(name)
		if _, err := itemAt(p, typ, depth); err != nil {
			fd.foreign = append(fd.foreign, foreignName{p, err})
		} else {
			fd.dirs = append(fd.dirs, p)
		}
		return true
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fd.foreign = append(fd.foreign, foreignName{dir, unreadable(dir, err)})
	}
	return fd
}

// pick fills files with the found files that are not known with this stamp. With a nil known,
// all files are new.
func (fd *folder) pick(known func(path []byte, st stamp) bool) {
	fd.files = nil
	path := append([]byte(fd.path), '/')
	dir, from := len(path), 0
	for _, f := range fd.found {
		path = append(path[:dir], fd.names[from:f.end]...)
		if from = f.end; known == nil || !known(path, f.stamp) {
			fd.files = append(fd.files, workFile{path: string(path), stamp: f.stamp, row: -1})
		}
	}
}

// name gives each file its ref, and moves files without a ref to the foreign names. Files in
// the catalogue need none.
func (fd *folder) name() {
	kept := fd.files[:0]
	for _, f := range fd.files {
		if f.row < 0 {
			var err error
			if f.ref, _, err = objects.RefOfPath(f.path); err != nil {
				fd.foreign = append(fd.foreign, foreignName{f.path, err})
				continue
			}
		}
		kept = append(kept, f)
	}
	fd.files = kept
}

// listSlowly is beneath.list with only the standard library.
func listSlowly(root *os.Root, dir string, visit func(name []byte, typ fs.FileMode, st stamp) (more bool)) error {
	f, err := openFolder(root, dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(1024)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range list {
			if leftOut(e.Name()) {
				continue
			}
			var s stamp
			if e.Type().IsRegular() {
				if st, err := e.Info(); err == nil {
					s = stampOf(st)
				}
			}
			if !visit([]byte(e.Name()), e.Type(), s) {
				return nil
			}
		}
	}
}
