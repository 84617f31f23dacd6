package parallel

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

func TestEachCallsEveryIndexOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 1000} {
		for _, chunk := range []int{1, 4, 8, 5000} {
			calls := make([]atomic.Int32, n)
			if err := Chunks(t.Context(), n, chunk, func(i int) error { calls[i].Add(1); return nil }); err != nil {
				t.Fatalf("Chunks(%d, %d): %v", n, chunk, err)
			}
			for i := range calls {
				if got := calls[i].Load(); got != 1 {
					t.Errorf("Chunks(%d, %d) called f(%d) %d times, want 1", n, chunk, i, got)
				}
			}
		}
	}
}

// Two calls that wait for one another end only where both run at once.
func TestEachUsesEveryProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	meet := make(chan int)
	err := Each(t.Context(), 2, func(i int) error {
		select {
		case meet <- i:
		case <-meet:
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// What fills one chunk runs in its order, on one processor.
func TestOneChunkRunsInOrder(t *testing.T) {
	var got []int
	if err := Chunks(t.Context(), 4, 4, func(i int) error { got = append(got, i); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("called with %v, want %v", got, want)
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	bad := errors.New("bad")
	var calls atomic.Int64
	err := Each(t.Context(), 1_000_000, func(i int) error {
		calls.Add(1)
		if i == 3 {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
	if n := calls.Load(); n == 1_000_000 {
		t.Errorf("all %d calls were made after one had failed", n)
	}
}

func TestEachStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	var calls atomic.Int64
	err := Each(ctx, 1_000_000, func(int) error {
		if calls.Add(1) == 10 {
			cancel(enough)
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("got %v, want %v", err, enough)
	}
	if n := calls.Load(); n == 1_000_000 {
		t.Errorf("all %d calls were made after the end", n)
	}
	if err := Each(ctx, 0, nil); !errors.Is(err, enough) {
		t.Errorf("Each of nothing, when all is over: got %v, want %v", err, enough)
	}
}
