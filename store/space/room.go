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

// What a look at a working tree bears, whoever made the tree: beyond that it ends with
// fault.Limit, in bounded time and memory. Names that are left out do not count.
const (
	MaxFiles = 1 << 17 // files and folders that items may lie in
	MaxBytes = 1 << 29 // of files that are small enough to be items
)

// room is what is left of that for one look. It is safe for concurrent use.
type room struct {
	ctx   context.Context
	space objects.Space
	names atomic.Int64
	bytes atomic.Int64
}

func newRoom(ctx context.Context, s objects.Space) *room { return &room{ctx: ctx, space: s} }

// take makes room for one more name, of a file with so many bytes. It returns false when
// there is none, or when the look was told to end.
func (r *room) take(size int64) bool {
	if size > MaxItem {
		size = 0 // refused by its size, before anything of it is read
	}
	n, bytes := r.names.Add(1), r.bytes.Add(size)
	return n <= MaxFiles && bytes <= MaxBytes && (n%256 != 0 || r.ctx.Err() == nil)
}

// full says why there is no more room, nil while there is.
func (r *room) full() error {
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case r.names.Load() > MaxFiles:
		return fault.New(fault.Limit, "the %s space holds more than %d files and folders", r.space, MaxFiles).
			Advise("move what are no items out of .ai")
	case r.bytes.Load() > MaxBytes:
		return fault.New(fault.Limit, "the files of the %s space have more than %d MiB", r.space, MaxBytes>>20).
			Advise("move what are no items out of .ai")
	}
	return nil
}

// openFolder opens a folder that no link leads to, without waiting for a pipe that stands
// in its place.
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

// noLinks refuses a path below root on which a link stands: what a link leads to is not
// what was asked for, be it within the root. What is not there is no link.
func noLinks(root *os.Root, p string) error {
	for at := p; at != "." && at != "/"; at = path.Dir(at) {
		if st, err := root.Lstat(at); err == nil && st.Mode()&os.ModeSymlink != 0 {
			if at == p {
				return irregular(p)
			}
			return fault.New(fault.Malformed, "%s: a link stands on the way, .ai/%s", p, at).
				Advise("put a folder in the place of .ai/%s", at)
		}
	}
	return nil
}
