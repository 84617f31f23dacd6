package primitive

import (
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// configuration is where the system keeps files that only some may read.
const configuration = "/etc"

// disown gives the view, where the superuser made it, files of the system's configuration
// that belong to nobody, so that permissions hold for a tool of the superuser's as they do
// for everybody's: also for what the system puts there while it runs. It returns the tree,
// nil where rules must do (see secrets): some file systems cannot, and what is writable there
// is the superuser's.
func disown(view []cage.Mount) *os.File {
	i := slices.IndexFunc(view, func(m cage.Mount) bool { return m.Path == configuration && m.Kind == cage.Shown })
	if i < 0 || unix.Geteuid() != 0 || slices.ContainsFunc(view, func(m cage.Mount) bool { return m.Kind == cage.Given && within(m.Path, configuration) }) {
		return nil
	}
	ns := nobody()
	if ns < 0 {
		return nil
	}
	tree, err := cage.Disown(configuration, ns)
	if err != nil {
		return nil
	}
	view[i].Kind = cage.Handed
	return os.NewFile(uintptr(tree), configuration)
}

// nobody is what cage.Nobody returned; -1 where it does not help.
var nobody = sync.OnceValue(func() int {
	ns, err := cage.Nobody()
	if err != nil {
		return -1
	}
	tree, err := cage.Disown(configuration, ns)
	if err != nil {
		unix.Close(ns)
		return -1
	}
	unix.Close(tree)
	return ns
})
