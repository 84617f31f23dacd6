package space

import (
	"context"
	"io/fs"
	"os"
	"path"
	"sync/atomic"
	"syscall"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Limits for reading a working tree, whatever its origin. Beyond them reading ends with
// fault.Limit, in bounded time and memory. Ignored names do not count.
const (
	MaxFiles = 1 << 17 // files and folders that items may be in
	MaxBytes = 1 << 29 // of files that are small enough to be items
)

// room counts against these limits for one read of a tree. It is safe for concurrent use.
type room struct {
	ctx   context.Context
	space objects.Space
	names atomic.Int64
	bytes atomic.Int64
}

func newRoom(ctx context.Context, s objects.Space) *room { return &room{ctx: ctx, space: s} }

// take counts one more name, of a file with size bytes. It returns false beyond the limits, or
// when ctx has ended.
func (r *room) take(size int64) bool {
	if size > MaxItem {
		size = 0 // refused by its size, before it is read
	}
	n, bytes := r.names.Add(1), r.bytes.Add(size)
	return n <= MaxFiles && bytes <= MaxBytes && (n%256 != 0 || r.ctx.Err() == nil)
}

// full returns the error once take has returned false; nil before.
func (r *room) full() error {
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case r.names.Load() > MaxFiles:
		return fault.New(fault.Limit, "the %s space holds more than %d files and folders", r.space, MaxFiles).
			Advise("move files that are not items out of .ai")
	case r.bytes.Load() > MaxBytes:
		return fault.New(fault.Limit, "the files of the %s space have more than %d MiB", r.space, MaxBytes>>20).
			Advise("move files that are not items out of .ai")
	}
	return nil
}

// openFolder opens a folder without links on its path. It does not block on a pipe in its
// place.
func openFolder(root *os.Root, dir string) (*os.File, error) {
	if err := noLinks(root, dir); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	return f, nil
}

// noLinks refuses a path below root with a link in it: the target of a link is not the
// requested file, even within the root. A missing component is no link.
func noLinks(root *os.Root, p string) error {
	for at := p; at != "." && at != "/"; at = path.Dir(at) {
		if st, err := root.Lstat(at); err == nil && st.Mode()&os.ModeSymlink != 0 {
			if at == p {
				return irregular(p)
			}
			return fault.New(fault.Malformed, "%s: a link is in its path, .ai/%s", p, at).
				Advise("replace .ai/%s by a folder", at)
		}
	}
	return nil
}
