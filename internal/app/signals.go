package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// listenAfter is the time until a command listens for signals.
const listenAfter = 10 * time.Millisecond

// Context returns a context that the first Ctrl-C (or SIGTERM) cancels. The second one
// ends the process in the system's own way. So does the first one within listenAfter: a new
// command has nothing to clean up, and listening takes two threads, a tenth of the time of a
// short command. Call Listen before starting another program.
func Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	begin := sync.OnceFunc(func() {
		c := notified()
		go cancelBy(c, ctx, cancel)
	})
	listening := time.AfterFunc(listenAfter, begin)
	return context.WithValue(ctx, listener{}, begin), func() { listening.Stop(); cancel() }
}

// listener is the key, in a Context, of the function that begins to listen.
type listener struct{}

// Listen makes a context from Context listen for signals at once, even on a busy machine.
// Otherwise a signal could leave a program running that is started next.
func Listen(ctx context.Context) {
	if begin, ok := ctx.Value(listener{}).(func()); ok {
		begin()
	}
}

// ServerContext is Context for a server, which runs until a signal ends it. It listens from
// the beginning.
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

// cancelBy waits for a signal or for the end of ctx. The system handles the next signal.
func cancelBy(c chan os.Signal, ctx context.Context, cancel context.CancelFunc) {
	select {
	case <-c:
	case <-ctx.Done():
	}
	signal.Stop(c)
	cancel()
}
