package transport

import (
	"context"
	"io"
	"time"

	"github.com/rye-os/rye/fault"
)

// stall ends an operation when one wait for the remote takes too long. The time between reads
// is ours and does not count.
type stall struct {
	after time.Duration
	abort context.CancelCauseFunc
}

type stallKey struct{}

// watch runs f, one blocking read or write, under the operation's stall limit.
func watch(ctx context.Context, f func() (int, error)) (int, error) {
	s, _ := ctx.Value(stallKey{}).(*stall)
	if s == nil || s.after <= 0 {
		return f()
	}
	t := time.AfterFunc(s.after, func() { s.abort(errStalled) })
	defer t.Stop()
	return f()
}

// boundedReader reads from r under the stall limit, and at most left bytes.
type boundedReader struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fault.New(fault.Limit, "remote sent more than allowed")
	}
	p = p[:min(int64(len(p)), b.left)]
	n, err := watch(b.ctx, func() (int, error) { return b.r.Read(p) })
	b.left -= int64(n)
	return n, err
}

// watchedWriter writes to w under the stall limit.
type watchedWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) { // in pieces, so that a slow connection does not stall
		part := p[n:min(len(p), n+32<<10)]
		m, err := watch(w.ctx, func() (int, error) { return w.w.Write(part) })
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
