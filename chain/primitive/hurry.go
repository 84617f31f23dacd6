package primitive

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Hurry is the word of somebody who does not want to wait for tools to end by themselves. It kills
// the tools of the runs in progress. What follows a run, such as the check of its files, goes on.
// It is safe for concurrent use.
type Hurry struct {
	once sync.Once
	said chan struct{}
	runs atomic.Int32

	begin func() // called before each run
}

type hurryKey struct{}

// WithHurry returns a context whose runs obey a new Hurry. begin is called before each run.
func WithHurry(ctx context.Context, begin func()) (context.Context, *Hurry) {
	h := &Hurry{said: make(chan struct{}), begin: begin}
	return context.WithValue(ctx, hurryKey{}, h), h
}

func hurryOf(ctx context.Context) *Hurry {
	h, _ := ctx.Value(hurryKey{}).(*Hurry)
	return h
}

// Now kills the tools, those of later runs too. It reports whether a run is in progress.
func (h *Hurry) Now() bool {
	h.once.Do(func() { close(h.said) })
	return h.Busy()
}

// HurryNow is Now for the Hurry of a context, if it has one.
func HurryNow(ctx context.Context) {
	if h := hurryOf(ctx); h != nil {
		h.Now()
	}
}

// Busy reports whether a run is in progress, from its preparation to the check of its files.
func (h *Hurry) Busy() bool { return h.runs.Load() > 0 }

// AtWork marks the time of a run, with what follows it. The caller calls end.
func AtWork(ctx context.Context) (end func()) {
	h := hurryOf(ctx)
	if h == nil {
		return func() {}
	}
	h.runs.Add(1)
	h.begin()
	return func() { h.runs.Add(-1) }
}

// hurried is closed when there is a hurry; nil where there is none.
func hurried(ctx context.Context) <-chan struct{} {
	if h := hurryOf(ctx); h != nil {
		return h.said
	}
	return nil
}
