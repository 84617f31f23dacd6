//go:build !linux

package space

import (
	"io/fs"
	"os"
)

// beneath does nothing here that os.Root would not do as well.
type beneath struct{ root *os.Root }

func newBeneath(root *os.Root) (*beneath, error) { return &beneath{root}, nil }

func (x *beneath) close() error { return nil }

// has reports whether there is something at p; sure is false where somebody else
// has to look.
func (x *beneath) has(string) (yes, sure bool) { return false, false }

// read returns the bytes of a regular file of at most limit bytes; done is false
// where somebody else has to look.
func (x *beneath) read(string, int64) (raw []byte, done bool, err error) { return nil, false, nil }

// list calls visit for each name in the folder dir, which is visit's until it returns.
// Regular files come with their stamp, zero for one that was gone at once. The list ends
// when visit has seen enough.
func (x *beneath) list(dir string, visit func(name []byte, typ fs.FileMode, st stamp) (more bool)) error {
	return listSlowly(x.root, dir, visit)
}

// names calls visit for each name in the folder dir, but for those that are left out;
// done is false where somebody else has to look.
func (x *beneath) names(string, func(name []byte, typ fs.FileMode) (more bool)) (done bool, err error) {
	return false, nil
}
