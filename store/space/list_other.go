//go:build !linux

package space

import (
	"io/fs"
	"os"
)

// lister lists folders below a root. It is safe for concurrent use.
type lister struct{ root *os.Root }

func newLister(root *os.Root) (*lister, error) { return &lister{root}, nil }

func (x *lister) close() {}

// list calls visit for each name in the folder dir, which is visit's until it returns. Regular files come with their
// stamp, zero for one that was gone at once.
func (x *lister) list(dir string, visit func(name []byte, typ fs.FileMode, st stamp)) error {
	return listSlowly(x.root, dir, visit)
}
