// Package parallel does one thing to many, on every processor.
package parallel

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls f for every index below n, on all processors at once, until one call
// fails or ctx ends. It returns when no call runs any more, with the first error, or
// the context's cause. f is called for no index twice; results belong into a slice, each at
// its own index, which needs no lock.
func Each(ctx context.Context, n int, f func(i int) error) error {
	return Chunks(ctx, n, 1, f)
}

// Chunks is Each for calls that are soon done: a processor takes chunk of them, which
// follow one another, at a time. What fills no second chunk is done on one processor.
func Chunks(ctx context.Context, n, chunk int, f func(i int) error) error {
	g, within := errgroup.WithContext(ctx)
	var next atomic.Int64
	work := func() error {
		for {
			from := int(next.Add(int64(chunk))) - chunk
			if from >= n {
				return nil
			}
			for i := from; i < min(n, from+chunk); i++ {
				if within.Err() != nil {
					return nil // another call failed, or ctx has ended
				}
				if err := f(i); err != nil {
					return err
				}
			}
		}
	}
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		g.Go(work)
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}
