package primitive

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Ahead starts the slow preparations of a run early, beside the caller's other work: it starts a
// rye-cage, which waits for its orders. An unused one ends after a few seconds, or with this
// process.
func Ahead() {
	go func() {
		realPaths()
		if unix.Geteuid() == 0 && nobody() < 0 {
			unreadable()
		}
	}()
	ahead.Lock()
	defer ahead.Unlock()
	if ahead.coming != nil || ahead.cage != nil || best() < S2 || cageProgram() == "" {
		return
	}
	coming := make(chan struct{})
	ahead.coming = coming
	go func() {
		defer close(coming)
		var cp *cagedProcess
		if NoNamespaces() == "" {
			cp, _ = startCage(unix.Getuid(), unix.Getgid()) // the run that needs one reports the error
		}
		ahead.Lock()
		defer ahead.Unlock()
		ahead.coming = nil
		if cp != nil {
			cp.early = true
			ahead.cage = cp
			time.AfterFunc(unwanted, func() { cp.dismiss() })
		}
	}()
}

// unwanted is how long an unused rye-cage waits.
const unwanted = 5 * time.Second

// ahead is the rye-cage that waits, or is being started.
var ahead struct {
	sync.Mutex
	coming chan struct{} // closed when it is started
	cage   *cagedProcess
}

// dismiss ends an unused rye-cage.
func (cp *cagedProcess) dismiss() {
	ahead.Lock()
	mine := ahead.cage == cp
	if mine {
		ahead.cage = nil
	}
	ahead.Unlock()
	if mine {
		cp.end()
	}
}

// cageFor returns a rye-cage for a call: the waiting one, or a new one.
func (c *Call) cageFor() (*cagedProcess, error) {
	uid, gid := actor(&c.Sandbox)
	if uid != unix.Getuid() || c.fresh {
		return startCage(uid, gid)
	}
	ahead.Lock()
	coming := ahead.coming
	ahead.Unlock()
	if coming != nil {
		<-coming
	}
	ahead.Lock()
	cp := ahead.cage
	ahead.cage = nil
	ahead.Unlock()
	if cageUsed().Keep {
		Ahead()
	}
	if cp != nil {
		return cp, nil
	}
	return startCage(uid, gid)
}
