package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// conn is one client: its requests in flight and its one ordered output.
type conn struct {
	s       *Server
	session *session
	slots   chan struct{} // one per worker
	wait    chan struct{} // one per call that runs or waits

	mu      sync.Mutex
	running map[string]*inflight // by the raw JSON of the request's id
	calls   sync.WaitGroup       // tools/call
	others  sync.WaitGroup       // every other request, and the session's writer

	writing sync.Mutex
	out     io.Writer
	broken  context.CancelCauseFunc // ends the connection when out does
}

// inflight is a request that has not been answered.
type inflight struct {
	cancel    context.CancelFunc
	cancelled bool
}

func newConn(s *Server, out io.Writer) *conn {
	c := &conn{
		s: s, out: out,
		slots:   make(chan struct{}, s.o.Workers),
		wait:    make(chan struct{}, s.o.Workers+s.o.Queue),
		running: map[string]*inflight{},
	}
	c.session = newSession(c)
	return c
}

// errEOF ends a connection whose client closed its side.
var errEOF = errors.New("end of input")

func (c *conn) serve(ctx context.Context, in io.Reader) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c.broken = end
	if err := c.s.rpc.RegisterSession(ctx, c.session); err != nil {
		return fmt.Errorf("begin an MCP session: %w", err)
	}
	defer c.s.rpc.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())
	ctx = c.s.rpc.WithContext(ctx, c.session)
	c.others.Go(func() { c.session.forward(ctx) })

	lines := make(chan line)
	go readLines(ctx, in, c.s.o.MaxMessage, lines)
	err := c.receive(ctx, lines)
	if errors.Is(err, errEOF) {
		c.drain()
		err = nil
	}
	end(err)
	c.calls.Wait()
	c.others.Wait()
	return err
}

// receive takes messages until the input or ctx ends.
func (c *conn) receive(ctx context.Context, lines <-chan line) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l := <-lines:
			switch {
			case l.tooLong:
				c.refuse(nil, mcp.INVALID_REQUEST, fmt.Sprintf("the request is longer than %d bytes", c.s.o.MaxMessage))
			case len(bytes.TrimSpace(l.text)) > 0:
				c.dispatch(ctx, l.text)
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

// drain gives running calls time to answer: a script that pipes its requests in
// closes its side at once and still wants the answers.
func (c *conn) drain() {
	answered := make(chan struct{})
	go func() {
		c.calls.Wait()
		close(answered)
	}()
	timer := time.NewTimer(c.s.o.Drain)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C: // serve cancels what still runs, and then waits for it
	}
}

// envelope is what of a message decides where it goes.
type envelope struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (c *conn) dispatch(ctx context.Context, message []byte) {
	var e envelope
	if err := json.Unmarshal(message, &e); err != nil {
		c.refuse(nil, mcp.PARSE_ERROR, "this is no JSON-RPC message")
		return
	}
	noID := len(e.ID) == 0 || string(e.ID) == "null"
	switch {
	case e.Method == "" && (e.Result != nil || e.Error != nil):
		c.session.answer(e)
	case noID && e.Method == string(mcp.MethodNotificationCancelled):
		c.cancel(message)
	case noID, e.Method == string(mcp.MethodInitialize):
		// These are quick, and what comes after them relies on them.
		c.handle(ctx, e.ID, message)
	default:
		c.start(ctx, e, message)
	}
}

// start serves a request on its own goroutine, once there is room for it.
func (c *conn) start(ctx context.Context, e envelope, message []byte) {
	if !scalar(e.ID) {
		c.refuse(nil, mcp.INVALID_REQUEST, "an id is a string or a number")
		return
	}
	key := string(e.ID)
	ctx, cancel := context.WithCancel(ctx)
	if why := c.admit(key, cancel); why != "" {
		cancel()
		c.refuse(e.ID, mcp.INVALID_REQUEST, why)
		return
	}
	group, slots := &c.others, chan struct{}(nil)
	if e.Method == string(mcp.MethodToolsCall) {
		group, slots = &c.calls, c.slots
	}
	group.Go(func() {
		defer cancel()
		c.run(ctx, key, e.ID, slots, message)
	})
}

// admit notes a request that may begin, or says why it may not.
func (c *conn) admit(key string, cancel context.CancelFunc) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.running[key]; twice {
		return "a request with this id is not answered yet"
	}
	select {
	case c.wait <- struct{}{}:
		c.running[key] = &inflight{cancel: cancel}
		return ""
	default:
		return "too many requests are waiting"
	}
}

func scalar(id json.RawMessage) bool { return len(id) > 0 && id[0] != '{' && id[0] != '[' }

func (c *conn) run(ctx context.Context, key string, id json.RawMessage, slots chan struct{}, message []byte) {
	if slots != nil {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
		}
	}
	var answer any
	if ctx.Err() == nil {
		answer = c.process(ctx, id, message)
	}
	c.mu.Lock()
	f := c.running[key]
	delete(c.running, key)
	c.mu.Unlock()
	<-c.wait
	if answer != nil && !f.cancelled { // the protocol wants no answer to what was cancelled
		c.write(answer)
	}
}

// handle processes a message that gets no answer.
func (c *conn) handle(ctx context.Context, id json.RawMessage, message []byte) {
	if answer := c.process(ctx, id, message); answer != nil {
		c.write(answer)
	}
}

// process lets mcp-go answer a message. A panic ends neither the process nor the
// connection.
func (c *conn) process(ctx context.Context, id json.RawMessage, message []byte) (answer any) {
	defer func() {
		if r := recover(); r != nil {
			c.s.log.Printf("panic: %v\n%s", r, debug.Stack())
			answer = rpcError(id, mcp.INTERNAL_ERROR, "internal error; the server's standard error has more")
		}
	}()
	if m := c.s.rpc.HandleMessage(ctx, message); m != nil {
		return m
	}
	return nil
}

// cancel stops the request that a notification names.
func (c *conn) cancel(message []byte) {
	var n struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &n) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.running[string(n.Params.RequestID)]; f != nil {
		f.cancelled = true
		f.cancel()
	}
}

func (c *conn) refuse(id json.RawMessage, code int, why string) { c.write(rpcError(id, code, why)) }

func rpcError(id json.RawMessage, code int, why string) any {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "error": map[string]any{"code": code, "message": why}}
}

// write sends one message as one line. When the client is gone, so is the connection.
func (c *conn) write(message any) {
	raw, err := json.Marshal(message)
	if err != nil {
		c.s.log.Printf("encode an answer: %v", err)
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(raw, '\n')); err != nil {
		c.broken(fmt.Errorf("write to the MCP client: %w", err))
	}
}

// line is one message as read; err comes with the last one.
type line struct {
	text    []byte
	tooLong bool
	err     error
}

// readLines sends each line of in. One that is longer than limit is skipped
// without being held in memory.
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
	for {
		part, err := r.ReadSlice('\n')
		if int64(len(l.text)+len(part)) > limit {
			l.text, l.tooLong = nil, true
		}
		if !l.tooLong {
			l.text = append(l.text, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		l.err = err
		return l
	}
}
