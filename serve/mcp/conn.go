package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// conn is one connected client: its description of itself, its unanswered requests, and the
// server's unanswered questions. Messages come in through receive from any transport, and go out
// through outlets.
type conn struct {
	s   *Server
	who *account
	id  string
	out outlet // for messages that belong to no request

	calls  sync.WaitGroup // requests that end by themselves
	others sync.WaitGroup // subscriptions, and goroutines that forward broadcasts

	ready    atomic.Bool
	info     guarded[mcp.Implementation]
	can      guarded[mcp.ClientCapabilities]
	protocol guarded[string]
	level    guarded[mcp.LoggingLevel]

	mu      sync.Mutex
	running map[string]*inflight // by the id's key
	lastID  int64
	asked   map[string]chan *envelope // unanswered questions, by the id's key
	deaf    bool                      // no more answers can arrive
	left    time.Time                 // when the client closed its input; zero before
}

// inflight is an unanswered request.
type inflight struct {
	cancel    context.CancelFunc
	cancelled bool // by the client, which then wants no answer
	turn      *turn
}

func newConn(s *Server, who *account, id string, out outlet) *conn {
	c := &conn{s: s, who: who, id: id, out: out, running: map[string]*inflight{}, asked: map[string]chan *envelope{}}
	c.level.set(mcp.LoggingLevelInfo)
	return c
}

// guarded is a value shared by goroutines.
type guarded[T any] struct {
	mu    sync.Mutex
	value T
}

func (g *guarded[T]) get() T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.value
}

func (g *guarded[T]) set(v T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value = v
}

// receive takes a message or a batch. It reports whether out.answer will be called for it, once. It
// waits while the account has no room for another request, so that its caller stops reading from
// the client. The client's answers and cancellations need no room.
func (c *conn) receive(ctx context.Context, raw []byte, out outlet) (answers bool) {
	if messages, ok := batchOf(raw); ok {
		return c.receiveBatch(ctx, messages, out)
	}
	e, bad := parseEnvelope(raw)
	return c.dispatch(ctx, e, bad, out)
}

func (c *conn) receiveBatch(ctx context.Context, messages []json.RawMessage, out outlet) bool {
	why := ""
	switch v := c.protocol.get(); {
	case v != mcp.ProtocolVersion20250326:
		why = "a batch belongs to protocol version " + mcp.ProtocolVersion20250326 + ", which this client has not negotiated"
	case len(messages) == 0 || len(messages) > maxBatch:
		why = fmt.Sprintf("a batch has 1 to %d messages", maxBatch)
	}
	if why != "" {
		out.answer(rpcError(nil, mcp.INVALID_REQUEST, why))
		return true
	}
	all, bads, together := make([]*envelope, len(messages)), make([]*refusal, len(messages)), &batch{outlet: out}
	for i, raw := range messages {
		if all[i], bads[i] = parseEnvelope(raw); bads[i] == nil && all[i].method == string(mcp.MethodInitialize) {
			bads[i] = refused(all[i].id, mcp.INVALID_REQUEST, "initialize must be a request of its own")
		}
		if bads[i] != nil || all[i].id != nil && !all[i].isAnswer() {
			together.left++
		}
	}
	expected := together.left > 0
	for i := range all {
		c.dispatch(ctx, all[i], bads[i], together)
	}
	return expected
}

// dispatch handles one message by its kind.
func (c *conn) dispatch(ctx context.Context, e *envelope, bad *refusal, out outlet) (answers bool) {
	switch {
	case bad != nil:
		out.answer(rpcError(bad.id, bad.code, bad.why))
		return true
	case e.isAnswer():
		c.hear(e)
		return false
	case e.id == nil && e.method == string(mcp.MethodNotificationCancelled):
		c.cancel(e)
		return false
	case e.id == nil:
		c.process(ctx, e, out, nil) // quick, and later messages depend on it
		return false
	case e.method == string(mcp.MethodInitialize):
		out.answer(c.process(ctx, e, out, nil)) // as above
		return true
	}
	c.start(ctx, e, out)
	return true
}

// start queues a request for its turn.
func (c *conn) start(ctx context.Context, e *envelope, out outlet) {
	size := weight(len(e.raw))
	if c.who.room.Acquire(ctx, size) != nil {
		out.answer(response{}) // the client is gone
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	end := func() { cancel(); c.who.room.Release(size) }
	f, why := c.admit(e, cancel)
	if why != "" {
		end()
		out.answer(rpcError(e.id, mcp.INVALID_REQUEST, why))
		return
	}
	run := func(t *turn) {
		defer end()
		var answer response
		if ctx.Err() == nil {
			answer = c.process(ctx, e, out, t)
		}
		out.answer(c.leave(e, f, answer))
	}
	if e.method == string(mcp.MethodSubscriptionsListen) {
		c.others.Go(func() { defer c.who.opens.Release(1); run(nil) })
		return
	}
	t := &turn{who: c.who, lane: c.who.quick, bytes: size, came: time.Now()}
	c.mu.Lock()
	f.turn = t
	c.mu.Unlock()
	if e.method == string(mcp.MethodToolsCall) {
		t.lane = c.who.calls
	}
	c.calls.Add(1)
	t.lane.enter(func() {
		defer c.calls.Done()
		defer t.lane.leave()
		run(t)
	})
}

// admit registers a request, or returns why it may not begin.
func (c *conn) admit(e *envelope, cancel context.CancelFunc) (f *inflight, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[e.key] != nil {
		return nil, "an earlier request with this id is still open"
	}
	if e.method == string(mcp.MethodSubscriptionsListen) && !c.who.opens.TryAcquire(1) {
		return nil, fmt.Sprintf("%d subscriptions are open", mostOpen)
	}
	f = &inflight{cancel: cancel}
	c.running[e.key] = f
	return f, ""
}

// leave unregisters a request and returns its answer, which is empty if the client cancelled it.
func (c *conn) leave(e *envelope, f *inflight, answer response) response {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, e.key)
	if f.cancelled {
		return response{}
	}
	return answer
}

// busy reports whether the client has unanswered requests.
func (c *conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running) > 0
}

// cancel stops the request named in a notification.
func (c *conn) cancel(e *envelope) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(e.params, &p) != nil {
		return
	}
	key, ok := idKey(p.RequestID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.running[key]; ok && f != nil {
		f.cancelled = true
		f.cancel()
	}
}

// process lets mcp-go handle a message, and returns the answer to a request. It writes
// notifications from the handler before the answer, in one goroutine.
func (c *conn) process(ctx context.Context, e *envelope, out outlet, t *turn) response {
	s := &session{c: c, out: out, turn: t, handshake: e.method == string(mcp.MethodInitialize), notes: make(chan mcp.JSONRPCNotification, 16)}
	ctx = context.WithValue(c.s.rpc.WithContext(ctx, s), turnKey{}, t)
	if e.method == string(mcp.MethodSubscriptionsListen) {
		end := s.subscribe(ctx, e)
		defer end()
	}
	done := make(chan mcp.JSONRPCMessage, 1)
	go func() { done <- c.handle(ctx, e) }()
	for {
		select {
		case n := <-s.notes:
			s.forward(n)
		case m := <-done:
			for len(s.notes) > 0 {
				s.forward(<-s.notes)
			}
			return c.encoded(e, m)
		}
	}
}

// handle calls mcp-go. A panic ends neither the process nor the connection.
func (c *conn) handle(ctx context.Context, e *envelope) (answer mcp.JSONRPCMessage) {
	defer func() {
		if r := recover(); r != nil {
			c.s.log.Printf("panic: %s\n%s", words.Line(fmt.Sprint(r)), debug.Stack())
			answer = mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION,
				Error: mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: "internal error; the server's standard error has more"}}
		}
	}()
	return c.s.rpc.HandleMessage(ctx, e.raw)
}

// encoded returns an answer with the id as the client wrote it: mcp-go would round a large one.
func (c *conn) encoded(e *envelope, m mcp.JSONRPCMessage) response {
	code := 0
	switch a := m.(type) {
	case nil:
		return response{}
	case mcp.JSONRPCResponse:
		a.ID = mcp.NewRequestId(e.id)
		m = a
	case mcp.JSONRPCError:
		a.ID = mcp.NewRequestId(e.id)
		m, code = a, a.Error.Code
	}
	raw, err := encode(m)
	if err != nil {
		c.s.log.Printf("encode an answer: %s", words.Line(err.Error()))
		return rpcError(e.id, mcp.INTERNAL_ERROR, "internal error; the server's standard error has more")
	}
	return response{raw, code}
}

// ask sends the client a question on the outlet of the request that it belongs to, and waits for
// the answer until ctx ends. It returns nil if no answer can arrive any more.
func (c *conn) ask(ctx context.Context, out outlet, method string, params any) (*envelope, error) {
	answer := make(chan *envelope, 1)
	c.mu.Lock()
	c.lastID++
	id := intID(c.lastID)
	key, _ := idKey(id)
	c.asked[key] = answer
	if c.deaf {
		answer <- nil
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, key)
		c.mu.Unlock()
	}()
	raw, err := encode(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	out.tell(raw)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case e := <-answer:
		if e != nil && e.fault != nil {
			return nil, fmt.Errorf("the client did not ask a person: %s", words.Clip(string(e.fault), 200))
		}
		return e, nil
	}
}

// hear passes a client's answer to the call that asked. It drops answers to unknown or already
// answered questions.
func (c *conn) hear(e *envelope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := c.asked[e.key]; to != nil {
		delete(c.asked, e.key)
		to <- e // the channel has room for one
	}
}

// hearNoMore ends all questions: the client closed its side.
func (c *conn) hearNoMore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = true
	for key, to := range c.asked {
		delete(c.asked, key)
		to <- nil
	}
}

// piped is how long before the end of the input a call may come and still be answered. A script that
// pipes in its requests closes its side at once, while a client that goes away sent its call earlier.
const piped = 200 * time.Millisecond

// wanted reports whether somebody still waits for what a request runs.
func (c *conn) wanted(t *turn) bool { return c.left.IsZero() || c.left.Sub(t.came) < piped }

// leaves cancels the tools that run: the client closed its input. It reports whether there are any.
func (c *conn) leaves() (any bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = time.Now()
	for _, f := range c.running {
		if f.turn != nil && f.turn.began && !c.wanted(f.turn) {
			f.cancel()
			any = true
		}
	}
	return any
}

// begins notes that a tool is about to run for a request. It is an error if the client has gone.
func (c *conn) begins(t *turn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t == nil {
		return nil
	}
	if !c.wanted(t) {
		return fault.New(fault.Interrupt, "the client closed its input")
	}
	t.began = true
	return nil
}

// end cancels all running requests.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.running {
		f.cancel()
	}
}
