package primitive

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A run that ended is awaited by its own call: the sweep of one that ends at the same time,
// and looks for orphans among the children, does not take it.
func TestEndedRunIsNoOrphan(t *testing.T) {
	if err := AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		adopting.Store(false)
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}()
	first, last := begun(t, `exit 3`), begun(t, `exit 3`)
	<-first.ended()
	<-last.ended()
	first.sweep()
	last.sweep()
	for name, p := range map[string]process{"first": first, "last": last} {
		if exit, _, err := p.reap(); err != nil || exit != 3 {
			t.Errorf("the %s run ended with %d, %v; want 3", name, exit, err)
		}
		pid := p.(*linuxProcess).pid
		runs.Lock()
		if _, leads := runs.leaders[pid]; leads || runs.ended[pid] {
			t.Errorf("the %s run is over, and still remembered", name)
		}
		runs.Unlock()
	}
}

// begun starts a script, whose output nobody reads.
func begun(t *testing.T, script string) process {
	t.Helper()
	c := outside(bash(t, script))
	env, err := environment(&c)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, _, err := start(&c, env, []*os.File{null, null, null})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
