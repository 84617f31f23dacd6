package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// listenAfter is how long a command takes before it listens for signals.
const listenAfter = 10 * time.Millisecond

// Context returns a context that the first Ctrl-C (or SIGTERM) cancels. The
// second one ends the process in the system's own way. So does the first within
// listenAfter: a command that has just begun has nothing to tell, and to listen takes two
// threads, which is a tenth of all that a short command does. Who starts a program calls
// Listen before.
func Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	begin := sync.OnceFunc(func() {
		c := notified()
		go cancelBy(c, ctx, cancel)
	})
	listening := time.AfterFunc(listenAfter, begin)
	return context.WithValue(ctx, listener{}, begin), func() { listening.Stop(); cancel() }
}

// listener is the key of what begins to listen for a Context.
type listener struct{}

// Listen makes sure that a context of Context listens for signals from now on, however busy
// the machine is: what is started next must not be left behind.
func Listen(ctx context.Context) {
	if begin, ok := ctx.Value(listener{}).(func()); ok {
		begin()
	}
}

// ServerContext is Context for what runs until it is told to end: it listens from the
// beginning.
func ServerContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go cancelBy(notified(), ctx, cancel)
	return ctx, cancel
}

func notified() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c
}

// cancelBy waits for a signal, or for the end of ctx. The next signal is the system's.
func cancelBy(c chan os.Signal, ctx context.Context, cancel context.CancelFunc) {
	select {
	case <-c:
	case <-ctx.Done():
	}
	signal.Stop(c)
	cancel()
}
