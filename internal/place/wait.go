package place

import (
	"sync/atomic"
	"time"
)

// patience is how long a process waits for a lock without a notice.
const patience = time.Second

var notice atomic.Pointer[func(string)]

// OnWait sets the function that gets a notice, one line of text, after this process has
// waited a second for a lock. A program calls OnWait once, before anything else; without
// it there are no notices. f may be called on any goroutine.
func OnWait(f func(text string)) { notice.Store(&f) }

// Waiting sends the notice "waiting for" holder to the function of OnWait, unless stop is
// called within a second.
func Waiting(holder string) (stop func()) {
	f := notice.Load()
	if f == nil {
		return func() {}
	}
	t := time.AfterFunc(patience, func() { (*f)("waiting for " + holder) })
	return func() { t.Stop() }
}

// waitingFor is Waiting for the process that holds the lock at path.
func waitingFor(path string) (stop func()) { return Waiting("another rye process that holds " + path) }
