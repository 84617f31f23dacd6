package session

import (
	"context"
	"runtime"

	"github.com/rye-os/rye/fault"
)

// Turns limits the executions at once; later ones wait in line. Each execution holds file
// descriptors, processes and the verified bytes of a chain, so ten thousand requests at once
// must not all begin.
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

// Take waits for a turn, in the order of calls: a channel serves the longest waiting one.
// Questions asked under the returned context let others go on meanwhile. The returned function
// gives the turn back. A context that ends first is fault.Interrupt.
//
// Calls by an execution go on in its turn: with a turn of its own, such a call could wait for
// an execution that waits for it.
func (t Turns) Take(ctx context.Context) (_ context.Context, give func(), err error) {
	if held, ok := ctx.Value(turnKey{}).(Turns); ok && held == t {
		return ctx, func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return context.WithValue(ctx, turnKey{}, t), func() { <-t }, nil
	case <-ctx.Done():
		return ctx, nil, fault.New(fault.Interrupt, "wait for a turn to execute: %w", context.Cause(ctx))
	}
}

// yieldTurn calls f, which waits for a person, and gives the turn of ctx, if it has one, to
// others meanwhile. f has no turn to give away, and may ask, too.
func yieldTurn(ctx context.Context, f func(context.Context) (bool, error)) (bool, error) {
	t, ok := ctx.Value(turnKey{}).(Turns)
	if !ok || t == nil {
		return f(ctx)
	}
	<-t
	// The turn is taken back even when f failed, because the holder of the turn gives it back.
	// Waiting for it needs no context: the executions before it end.
	defer func() { t <- struct{}{} }()
	return f(context.WithValue(ctx, turnKey{}, Turns(nil)))
}
