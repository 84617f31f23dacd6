package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// listenAfter is how long a run takes before it listens for signals.
const listenAfter = 5 * time.Millisecond

// Context returns a context that the first Ctrl-C (or SIGTERM) cancels. The
// second one ends the process in the system's own way: somebody insists. So does the
// first before anybody listens: what has just begun has nothing to tell, and to listen
// takes two threads, which is a tenth of all that a short command does.
func Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	listening := time.AfterFunc(listenAfter, func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt, syscall.SIGTERM)
		select {
		case <-c:
			signal.Stop(c)
			cancel()
		case <-ctx.Done():
			signal.Stop(c)
		}
	})
	return ctx, func() { listening.Stop(); cancel() }
}
