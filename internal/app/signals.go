package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that the first Ctrl-C (or SIGTERM) cancels. The
// second one ends the process in the system's own way: somebody insists. So does the
// first in the moment before anybody listens; waiting for that would cost each start
// 0.2 ms, which is a twentieth of it.
func Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt, syscall.SIGTERM)
		select {
		case <-c:
			signal.Stop(c)
			cancel()
		case <-ctx.Done():
			signal.Stop(c)
		}
	}()
	return ctx, cancel
}
