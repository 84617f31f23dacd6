package place

import (
	"sync/atomic"
	"time"
)

// patience is how long a process waits for a lock in silence.
const patience = time.Second

var notice atomic.Pointer[func(string)]

// OnWait sets the function that is told, in one line, when this process has waited for a
// lock for a second. A program calls it once, before it begins; without it waiting is
// silent. f may be called on any goroutine.
func OnWait(f func(text string)) { notice.Store(&f) }

// Waiting tells who called OnWait that this process waits for holder, unless stop is
// called within a second.
func Waiting(holder string) (stop func()) {
	f := notice.Load()
	if f == nil {
		return func() {}
	}
	t := time.AfterFunc(patience, func() { (*f)("waiting for " + holder) })
	return func() { t.Stop() }
}

// waitingFor is Waiting for who holds the lock at path.
func waitingFor(path string) (stop func()) { return Waiting("another rye process that holds " + path) }
