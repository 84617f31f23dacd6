package finder

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// restAfter is the time after the last search until a long-lived program releases the data
// kept for the next one. The next search then takes as long as the first.
const restAfter = 30 * time.Second

// rest is the timer for this.
type rest struct {
	mu    sync.Mutex
	timer *time.Timer
	busy  int
}

// begin marks the beginning of a search; the returned function marks its end.
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

// Rest releases the memory and the files that searches keep for the next one.
func (f *Finder) Rest() {
	f.watched.forget()
	f.shapes.forget()
	f.words.forget()
	f.system.forget()
	if f.index != nil {
		f.index.Rest()
	}
	runtime.GC() // pooled objects go at the second collection
	debug.FreeOSMemory()
}
