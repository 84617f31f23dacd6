package script

import (
	"context"
	"io"
	"time"
)

// A body is the body of an answer. It stalls or breaks off where the entry says so.
type body struct {
	ctx    context.Context // of the request, and ended by Close
	stop   context.CancelFunc
	pieces [][]byte // that were not read
	pace   time.Duration
	begun  bool  // a piece was read whole
	left   int64 // bytes until the end that the script wants; -1 for none
	stalls bool  // at that end, instead of breaking off
}

// Read returns a part of the piece whose time has come.
func (b *body) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.left == 0 || len(b.pieces) == 0 && b.left > 0 { // an answer shorter than the script's end stops here
		return 0, b.halt()
	}
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	if b.begun {
		b.begun = false
		if err := wait(b.ctx, b.pace); err != nil {
			return 0, err
		}
	}
	if b.left > 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n := copy(p, b.pieces[0])
	if b.left > 0 {
		b.left -= int64(n)
	}
	if b.pieces[0] = b.pieces[0][n:]; len(b.pieces[0]) == 0 {
		b.pieces, b.begun = b.pieces[1:], true
	}
	return n, nil
}

// Close ends a Read that waits, in another goroutine.
func (b *body) Close() error {
	b.stop()
	return nil
}

// halt sends nothing more: it waits for the client to go, or breaks off.
func (b *body) halt() error {
	if !b.stalls {
		return io.ErrUnexpectedEOF
	}
	<-b.ctx.Done()
	return b.ctx.Err()
}

// wait returns when d has passed, or with an error when ctx ends earlier.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
