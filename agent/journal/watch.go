package journal

import (
	"context"
	"time"
)

const (
	pollEvery = 20 * time.Millisecond // where the system does not report changes
	lookEvery = 2 * time.Second       // where it does, because some file systems miss changes
)

// testOnlyLookEvery is lookEvery, except in tests, which must not pass because of it.
var testOnlyLookEvery = lookEvery

// changes sends a call whenever something in a directory may have changed.
type changes struct {
	C    <-chan struct{} // holds one call
	stop func()
}

// poll sends calls at a fixed interval.
func poll(every time.Duration) *changes {
	c, ctx, done := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				call(c)
			case <-ctx:
				return
			}
		}
	}()
	return &changes{c, func() { close(ctx); <-done }}
}

func call(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // a call is waiting already and covers this change
	}
}

// Watch returns a channel that gets a call at once, and whenever a message may have arrived in the
// inbox of the thread in dir. The receiver then reads Journal.Inbox. The channel holds one call. It
// is closed when ctx is done, and nothing is left running.
func Watch(ctx context.Context, dir string) (<-chan struct{}, error) {
	root, err := openSub(dir, inboxDir)
	if err != nil {
		return nil, err
	}
	w := watch(root.Name())
	root.Close()
	c := make(chan struct{}, 1)
	call(c)
	go func() {
		defer close(c)
		defer w.stop()
		for {
			select {
			case <-w.C:
				call(c)
			case <-ctx.Done():
				return
			}
		}
	}()
	return c, nil
}
