package primitive

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Ahead begins what a run needs and takes a while, beside what else is done before it: a
// rye-cage is started and waits to be told what to run. One that nobody wants ends soon, or
// with this process.
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
			cp, _ = startCage(unix.Getuid(), unix.Getgid()) // the run that needs one says why there is none
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

// unwanted is how long a rye-cage waits.
const unwanted = 5 * time.Second

// ahead is the one that waits, or will.
var ahead struct {
	sync.Mutex
	coming chan struct{} // closed when it is there
	cage   *cagedProcess
}

// dismiss ends one that nobody wanted.
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

// cageFor returns a rye-cage for a call: the one that waits, or a new one.
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
