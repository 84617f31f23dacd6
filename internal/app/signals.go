package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/rye-os/rye/chain/primitive"
)

// listenAfter is the time until a command listens for signals.
const listenAfter = 10 * time.Millisecond

// Context returns a context that the first Ctrl-C cancels, or another signal that asks a program to
// end (SIGTERM, SIGHUP, SIGQUIT). The second one ends the process in the system's own way. While a
// tool runs it instead kills the tool, and what follows the run goes on: the check of its files. So
// does output that nobody reads any more (SIGPIPE).
//
// The first signal within listenAfter ends the process, too: a new command has nothing to clean up,
// and listening takes two threads, a tenth of the time of a short command. A run of a tool listens at
// once.
func Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &ender{cancel: cancel, over: make(chan struct{})}
	begin := sync.OnceFunc(e.listen)
	ctx, e.hurry = primitive.WithHurry(ctx, func() { begin(); e.pipes() })
	listening := time.AfterFunc(listenAfter, begin)
	return context.WithValue(ctx, listener{}, begin), func() { listening.Stop(); e.end() }
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
// the beginning. Output that nobody reads is an error of the write, and no signal.
func ServerContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &ender{cancel: cancel, over: make(chan struct{}), server: true}
	ctx, e.hurry = primitive.WithHurry(ctx, func() {})
	e.listen()
	e.pipes()
	return ctx, e.end
}

// Hurry returns what kills the tools that run in a context of this package.
func Hurry(ctx context.Context) func() { return func() { primitive.HurryNow(ctx) } }

// An ender ends the work of a process by signals.
type ender struct {
	cancel context.CancelFunc
	hurry  *primitive.Hurry
	server bool

	ended sync.Once
	over  chan struct{} // closed when the work is done
	once  sync.Once
}

func (e *ender) end() {
	e.ended.Do(func() { close(e.over) })
	e.cancel()
}

func (e *ender) listen() {
	c := make(chan os.Signal, 1)
	for _, sig := range endings {
		if !nohup(sig) {
			signal.Notify(c, sig)
		}
	}
	go e.obey(c)
}

func (e *ender) obey(c chan os.Signal) {
	for again := false; ; again = true {
		select {
		case sig := <-c:
			e.cancel()
			if again && !e.hurry.Now() {
				signal.Stop(c)
				raise(sig)
				return
			}
		case <-e.over:
			signal.Stop(c)
			return
		}
	}
}

// pipes makes a write to output that nobody reads an error. Without it the process would end there,
// with a tool at work. The signal comes for every pipe and socket, and those of a tool are its own affair.
func (e *ender) pipes() {
	e.once.Do(func() {
		if closedPipe == nil {
			return
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, closedPipe)
		go func() {
			for {
				select {
				case <-c:
				case <-e.over:
					signal.Stop(c)
					return
				}
				switch {
				case e.server, !unread():
				case e.hurry.Busy():
					e.cancel()
				default:
					signal.Stop(c)
					raise(closedPipe)
					return
				}
			}
		}()
	})
}

// nohup reports whether whoever started this process wants it to survive a signal.
func nohup(sig os.Signal) bool { return sig == hangup && signal.Ignored(sig) }
