//go:build !linux

package space

import (
	"io/fs"
	"os"
)

// beneath leaves all work to os.Root on these systems.
type beneath struct{ root *os.Root }

func newBeneath(root *os.Root) (*beneath, error) { return &beneath{root}, nil }

func (x *beneath) close() error { return nil }

// has reports whether p exists; sure is false if the caller must ask os.Root.
func (x *beneath) has(string) (yes, sure bool) { return false, false }

// read returns the bytes of a regular file of at most limit bytes; done is false if the caller
// must use os.Root.
func (x *beneath) read(string, int64) (raw []byte, done bool, err error) { return nil, false, nil }

// list calls visit for each name in the folder dir. The name is valid until visit returns.
// Regular files come with their stamp, which is zero for a file that was just removed. The
// list ends when visit returns false.
func (x *beneath) list(dir string, visit func(name []byte, typ fs.FileMode, st stamp) (more bool)) error {
	return listSlowly(x.root, dir, visit)
}

// names calls visit for each name in the folder dir, without ignored names; done is false if
// the caller must use os.Root.
func (x *beneath) names(string, bool, func(name []byte, typ fs.FileMode, st stamp) (more bool)) (done bool, err error) {
	return false, nil
}
