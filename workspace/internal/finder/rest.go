package finder

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// restAfter is how long after the last search a program that stays gives back what it keeps for
// the next: the next one then takes as long as the first.
const restAfter = 30 * time.Second

// rest is the timer of that.
type rest struct {
	mu    sync.Mutex
	timer *time.Timer
	busy  int
}

// begin is for a search that begins; its end is what it returns.
func (r *rest) begin(rest func()) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy++
	if r.timer == nil {
		r.timer = time.AfterFunc(restAfter, rest)
	}
	r.timer.Stop()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.busy--; r.busy == 0 {
			r.timer.Reset(restAfter)
		}
	}
}

// Rest gives back the memory and the files that searches keep for the next one.
func (f *Finder) Rest() {
	f.watched.forget()
	f.shapes.forget()
	f.words.forget()
	f.system.forget()
	if f.index != nil {
		f.index.Rest()
	}
	runtime.GC() // what is pooled goes at the second collection
	debug.FreeOSMemory()
}
