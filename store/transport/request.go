package transport

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/rye-os/rye/fault"
)

// request is the data of one round: packets, perhaps followed by a pack.
type request struct {
	head  bytes.Buffer
	pack  func(io.Writer) error // writes the same objects each time; nil = none
	limit int64                 // most bytes of the answer; 0 = the session's own limit
}

func (q *request) packets() *pktWriter { return &pktWriter{w: &q.head} }

// bodyMemory is the largest body, in bytes, that is sent from memory with its length: the
// default of git's http.postBuffer.
const bodyMemory = 1 << 20

// body is the body of one POST. size is -1 while it is still being made.
type body struct {
	io.Reader
	size  int64
	whole atomic.Bool  // it was read to its end
	end   func() error // stops making it and returns the error of making it
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.whole.Store(true)
	}
	return n, err
}

// errBodyUnused stops making a body that is not read any further.
var errBodyUnused = errors.New("body is not read further")

// stream returns the body while the pack is being made. A small pack is made completely first,
// so that its size is known.
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

// spool returns the body with its size, by way of a temporary file, for servers that accept no
// body of unknown size.
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
