package journal

import (
	"context"
	"time"
)

const (
	pollEvery = 20 * time.Millisecond // where the system does not tell of changes
	lookEvery = 2 * time.Second       // where it does: some file systems forget to
)

// testOnlyLookEvery is lookEvery, but in tests, which must not pass because of it.
var testOnlyLookEvery = lookEvery

// changes calls for a look at a directory whenever something in it may have changed.
type changes struct {
	C    <-chan struct{} // holds one call
	stop func()
}

// poll calls by the clock.
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
	default: // somebody is called already, and will see this, too
	}
}

// Watch returns a channel that calls, at once and whenever something may have arrived in the
// inbox of the thread in dir, for a look at Journal.Inbox. It holds one call; it is closed when
// ctx is done, and nothing is left behind.
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
