// Package parallel does one thing to many, on every processor.
package parallel

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls f for every index below n, on all processors at once, until one call fails
// or ctx ends. It returns after all calls have ended, with the first error or the
// context's cause. f is called at most once for an index, so it can store a result in a
// slice at this index without a lock.
func Each(ctx context.Context, n int, f func(i int) error) error {
	return Chunks(ctx, n, 1, f)
}

// Chunks is Each for short calls: a processor takes chunk consecutive calls at a time. If
// n is not more than chunk, one processor makes all calls.
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
