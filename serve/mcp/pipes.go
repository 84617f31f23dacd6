package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Serve answers the messages on in until it ends or ctx is cancelled. When the input ends, tools that
// run are cancelled, unless their call came with the end of the input. It writes only protocol
// messages to out. It returns nil at the end of the input, otherwise the cause: cancellation or a
// broken stream. If ctx ends while in is silent, one goroutine remains in its Read.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	outer := ctx
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	to := &lines{to: out, broken: func(err error) { end(fmt.Errorf("write to the MCP client: %w", err)) }}
	c := newConn(s, newAccount("", &s.o), "stdio", to)
	stop, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer stop()

	read := make(chan line)
	go readLines(ctx, in, s.o.MaxMessage, read)
	err = c.receiveLines(ctx, read)
	if errors.Is(err, errEOF) {
		c.hearNoMore()
		defer s.hurry(outer, c.leaves())()
		c.drain(ctx, s.o.Drain)
		err = nil
	}
	end(err)
	c.calls.Wait()
	c.others.Wait()
	return err
}

// patienceAtEnd is how long a cancelled tool may take to end by itself after the client closed its
// input. Clients kill a server some seconds after that, and then nothing checks what the tool left.
const patienceAtEnd = time.Second

// hurry kills the tools of a client that has closed its input, after a while or with the first signal.
// cancelled says whether tools were told to end.
func (s *Server) hurry(ctx context.Context, cancelled bool) (stop func()) {
	if s.o.Hurry == nil {
		return func() {}
	}
	over, late := make(chan struct{}), time.NewTimer(patienceAtEnd)
	if !cancelled {
		late.Stop()
	}
	go func() {
		defer late.Stop()
		select {
		case <-ctx.Done():
			s.o.Hurry()
		case <-late.C:
			s.o.Hurry()
		case <-over:
		}
	}()
	return func() { close(over) }
}

// errEOF ends a connection whose client closed its side.
var errEOF = errors.New("end of input")

// receiveLines handles messages until the input or ctx ends.
func (c *conn) receiveLines(ctx context.Context, read <-chan line) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l := <-read:
			switch {
			case l.tooLong:
				c.out.answer(rpcError(l.id, mcp.INVALID_REQUEST, fmt.Sprintf("the request is longer than %d bytes", c.s.o.MaxMessage)))
			case len(bytes.TrimSpace(l.text)) > 0:
				c.receive(ctx, l.text, c.out)
			}
			if l.err == io.EOF {
				return errEOF
			}
			if l.err != nil {
				return fmt.Errorf("read from the MCP client: %w", l.err)
			}
		}
	}
}

// drain gives running calls time to answer: a script that pipes in its requests closes its side at
// once and still wants the answers.
func (c *conn) drain(ctx context.Context, most time.Duration) {
	answered := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(answered)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-answered:
	case <-ctx.Done():
	case <-timer.C: // Serve cancels the running calls, and waits for them
	}
}

// line is one message as read; err comes with the last one.
type line struct {
	text    []byte
	tooLong bool
	id      json.RawMessage // of a message that is too long, if found
	err     error
}

// readLines sends each line of in. It skips lines longer than limit without keeping them in memory.
func readLines(ctx context.Context, in io.Reader, limit int64, to chan<- line) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		l := readLine(r, limit)
		select {
		case to <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil {
			return
		}
	}
}

func readLine(r *bufio.Reader, limit int64) line {
	var l line
	var seeker idSeeker
	for {
		part, err := r.ReadSlice('\n')
		if !l.tooLong && int64(len(l.text)+len(part)) > limit {
			seeker.see(l.text)
			l.text, l.tooLong = nil, true
		}
		if l.tooLong {
			seeker.see(part)
		} else {
			l.text = append(l.text, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		l.id, l.err = seeker.found(), err
		return l
	}
}
