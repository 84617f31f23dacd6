package transport

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/rye-os/rye/fault"
)

// request is what one round sends: packets, and behind them perhaps a pack.
type request struct {
	head  bytes.Buffer
	pack  func(io.Writer) error // writes the same objects each time; nil = none
	limit int64                 // bytes that the answer may have; 0 = the session's own
}

func (q *request) packets() *pktWriter { return &pktWriter{w: &q.head} }

// bodyMemory is the size up to which a body is sent with its length from
// memory, in bytes: git's http.postBuffer.
const bodyMemory = 1 << 20

// body is what one POST sends. size is -1 while it is still being made.
type body struct {
	io.Reader
	size  int64
	whole atomic.Bool  // it was read to its end
	end   func() error // stops making it and returns the error of doing so
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.whole.Store(true)
	}
	return n, err
}

// errBodyUnused stops making a body that nobody reads further.
var errBodyUnused = errors.New("body is not read further")

// stream returns the body while the pack is being made. A small one is made
// completely first, so that its size is known.
func (q *request) stream() (*body, error) {
	if q.pack == nil {
		return q.inMemory(nil), nil
	}
	pr, pw := io.Pipe()
	made := make(chan error, 1)
	go func() {
		err := q.pack(pw)
		pw.CloseWithError(err)
		made <- err
	}()
	end := func() error {
		pr.CloseWithError(errBodyUnused)
		if err := <-made; !errors.Is(err, errBodyUnused) {
			return err
		}
		return nil
	}
	first, err := io.ReadAll(io.LimitReader(pr, bodyMemory))
	if err != nil || len(first) < bodyMemory {
		return q.inMemory(first), errors.Join(err, end())
	}
	return &body{Reader: io.MultiReader(bytes.NewReader(q.head.Bytes()), bytes.NewReader(first), pr), size: -1, end: end}, nil
}

func (q *request) inMemory(pack []byte) *body {
	return &body{
		Reader: io.MultiReader(bytes.NewReader(q.head.Bytes()), bytes.NewReader(pack)),
		size:   int64(q.head.Len() + len(pack)),
		end:    func() error { return nil },
	}
}

// spool returns the body with its size, through a temporary file, for servers
// that take no body of unknown size.
func (q *request) spool() (*body, error) {
	f, err := os.CreateTemp("", "rye-push-*.pack")
	if err != nil {
		return nil, fault.New(fault.Failed, "keep pack for sending: %w", err)
	}
	end := func() error {
		f.Close()
		return os.Remove(f.Name())
	}
	var size int64
	if err = q.pack(f); err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &body{
		Reader: io.MultiReader(bytes.NewReader(q.head.Bytes()), io.NewSectionReader(f, 0, size)),
		size:   int64(q.head.Len()) + size, end: end,
	}, nil
}
