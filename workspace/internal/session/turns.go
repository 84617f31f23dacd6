package session

import (
	"context"
	"runtime"

	"github.com/rye-os/rye/fault"
)

// Turns lets only so many executions go on at once; who comes later waits in line. Each
// execution holds file descriptors, processes and the verified bytes of a chain, so ten
// thousand that are asked for at once must not all begin.
type Turns chan struct{}

// NewTurns returns n turns; 0 is four for each processor, because tools wait more than
// they compute, and never fewer than eight.
func NewTurns(n int) Turns {
	if n <= 0 {
		n = max(8, 4*runtime.GOMAXPROCS(0))
	}
	return make(Turns, n)
}

type turnKey struct{}

// Take waits for a turn, in the order of asking: a channel serves who waited longest.
// Questions asked under the context that it returns let others go on meanwhile. The turn
// is given back by Give.
func (t Turns) Take(ctx context.Context) (context.Context, error) {
	select {
	case t <- struct{}{}:
		return context.WithValue(ctx, turnKey{}, t), nil
	case <-ctx.Done():
		return ctx, fault.New(fault.Interrupt, "wait for a turn to execute: %w", context.Cause(ctx))
	}
}

// Give ends a turn.
func (t Turns) Give() { <-t }

// aside calls f, which waits for a person, and lets others go on meanwhile.
func aside(ctx context.Context, f func() (bool, error)) (bool, error) {
	t, ok := ctx.Value(turnKey{}).(Turns)
	if !ok {
		return f()
	}
	t.Give()
	yes, err := f()
	// Whatever the answer, the turn is given back by who took it. Waiting for it
	// needs no context: those before go on and end.
	t <- struct{}{}
	return yes, err
}
