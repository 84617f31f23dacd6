package rye

import (
	"context"
	"runtime"

	"github.com/rye-os/rye/fault"
)

// A Rye executes only so many items at once; who comes later waits in line. Each
// execution holds file descriptors, processes and the verified bytes of a chain,
// so ten thousand that are asked for at once must not all begin.

// workers is the number of executions at once: four for each processor, because
// tools wait more than they compute, and never fewer than eight.
func workers(o Options) int {
	if o.Workers > 0 {
		return o.Workers
	}
	return max(8, 4*runtime.GOMAXPROCS(0))
}

type turnKey struct{}

// turn is one execution's place among those that go on.
type turn struct {
	line chan struct{}
}

// take waits for a turn, in the order of asking: a channel serves who waited
// longest. The context that it returns carries the turn to ask.
func (r *Rye) take(ctx context.Context) (context.Context, *turn, error) {
	t := &turn{r.turns}
	if err := t.wait(ctx); err != nil {
		return ctx, nil, err
	}
	return context.WithValue(ctx, turnKey{}, t), t, nil
}

func (t *turn) wait(ctx context.Context) error {
	select {
	case t.line <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Interrupt, "wait for a turn to execute: %w", context.Cause(ctx))
	}
}

func (t *turn) give() { <-t.line }

// aside calls f, which waits for a person, and lets others go on meanwhile.
func aside(ctx context.Context, f func() (bool, error)) (bool, error) {
	t, ok := ctx.Value(turnKey{}).(*turn)
	if !ok {
		return f()
	}
	t.give()
	yes, err := f()
	// Whatever the answer, the turn is given back by who took it. Waiting for it
	// needs no context: those before go on and end.
	t.line <- struct{}{}
	return yes, err
}
