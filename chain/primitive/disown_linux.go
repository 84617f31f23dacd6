package primitive

import (
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

// configuration is the directory of the system's files that only some users may read.
const configuration = "/etc"

// disown applies to a view that the superuser made. It replaces the system's configuration by a
// tree whose files have an owner outside of the view. So permissions hold for a tool of the
// superuser as they do for other users, also for files that the system writes during the run.
// disown returns the tree. It returns nil if rules must do instead (see secrets). Some file
// systems cannot do this, and a writable path there needs the superuser as its owner.
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

// nobody holds the result of cage.Nobody; -1 if it does not help.
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
