package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rye-os/rye/internal/words"
)

// session is what mcp-go knows of the client, and the way by which the server
// asks the client something.
type session struct {
	c             *conn
	ready         atomic.Bool
	notifications chan mcp.JSONRPCNotification

	info     guarded[mcp.Implementation]
	can      guarded[mcp.ClientCapabilities]
	protocol guarded[string]

	waits sync.Map // how long a question, by its text, waits for its answer

	mu     sync.Mutex
	lastID int64
	asked  map[string]chan envelope // questions without an answer, by id
}

func newSession(c *conn) *session {
	return &session{c: c, notifications: make(chan mcp.JSONRPCNotification, 16), asked: map[string]chan envelope{}}
}

var (
	_ server.SessionWithClientInfo      = (*session)(nil)
	_ server.SessionWithElicitation     = (*session)(nil)
	_ server.SessionWithProtocolVersion = (*session)(nil)
)

// The methods that mcp-go calls.

func (s *session) SessionID() string { return "stdio" }
func (s *session) Initialize()       { s.ready.Store(true) }
func (s *session) Initialized() bool { return s.ready.Load() }

func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) GetClientInfo() mcp.Implementation                { return s.info.get() }
func (s *session) SetClientInfo(info mcp.Implementation)            { s.info.set(info) }
func (s *session) GetClientCapabilities() mcp.ClientCapabilities    { return s.can.get() }
func (s *session) SetClientCapabilities(can mcp.ClientCapabilities) { s.can.set(can) }
func (s *session) ProtocolVersion() string                          { return s.protocol.get() }

// SetProtocolVersion is found by mcp-go although its interface is not exported.
func (s *session) SetProtocolVersion(v string) { s.protocol.set(v) }

// guarded is a value that goroutines share.
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

// forward writes what mcp-go itself wants to tell the client.
func (s *session) forward(ctx context.Context) {
	for {
		select {
		case n := <-s.notifications:
			s.c.write(n)
		case <-ctx.Done():
			return
		}
	}
}

// RequestElicitation asks the client to ask its person, and waits, but not for ever: a
// question that nobody answers ends as one that was put aside.
func (s *session) RequestElicitation(ctx context.Context, q mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	answer := make(chan envelope, 1)
	over := time.NewTimer(s.patienceFor(q.Params.Message))
	defer over.Stop()
	s.mu.Lock()
	s.lastID++
	id := strconv.FormatInt(s.lastID, 10)
	s.asked[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.asked, id)
		s.mu.Unlock()
	}()
	s.c.write(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": json.RawMessage(id), "method": mcp.MethodElicitationCreate, "params": q.Params})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-over.C:
		return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionCancel}}, nil
	case e := <-answer:
		if e.Error != nil {
			return nil, fmt.Errorf("the client did not ask its person: %s", words.Clip(string(e.Error), 200))
		}
		var r mcp.ElicitationResult
		if err := json.Unmarshal(e.Result, &r); err != nil {
			return nil, fmt.Errorf("read the person's answer: %w", err)
		}
		return &r, nil
	}
}

// patienceFor is how long a question waits, by its text.
func (s *session) patienceFor(message string) time.Duration {
	if d, ok := s.waits.LoadAndDelete(message); ok {
		return d.(time.Duration)
	}
	return patience
}

// answer hands a response of the client to the call that asked. One that answers no
// question is dropped.
func (s *session) answer(e envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := s.asked[string(e.ID)]; to != nil {
		select {
		case to <- e:
		default: // answered twice
		}
	}
}

// notify tells the client how far a call is, before anything that is written later.
func (c *conn) notify(method string, params map[string]any) {
	c.write(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method, "params": params})
}
