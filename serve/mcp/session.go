package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rye-os/rye/internal/words"
)

// session is mcp-go's view of the client during one request, and the destination of the request's
// notifications and questions. The client's description of itself at initialization is in the conn.
// From 2026-07-28 on, each request has its own description, which is in its context.
type session struct {
	c         *conn
	out       outlet
	turn      *turn
	handshake bool // the request is initialize
	notes     chan mcp.JSONRPCNotification
	patience  time.Duration // limit for the next question; 0: the constant patience

	id           string                           // "": the conn's
	subscription json.RawMessage                  // id of the subscribing request
	filter       guarded[*mcp.SubscriptionFilter] // its subscriptions
}

var (
	_ server.SessionWithClientInfo         = (*session)(nil)
	_ server.SessionWithElicitation        = (*session)(nil)
	_ server.SessionWithProtocolVersion    = (*session)(nil)
	_ server.SessionWithLogging            = (*session)(nil)
	_ server.SessionWithSubscriptionFilter = (*session)(nil)
)

// The methods that mcp-go calls.

func (s *session) SessionID() string {
	if s.id != "" {
		return s.id
	}
	return s.c.id
}

func (s *session) Initialize() {
	if s.handshake {
		s.c.ready.Store(true)
	}
}

// Initialized reports whether the session receives broadcasts, as every subscription does.
func (s *session) Initialized() bool { return s.subscription != nil || s.c.ready.Load() }

func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notes }

func (s *session) GetClientInfo() mcp.Implementation             { return s.c.info.get() }
func (s *session) GetClientCapabilities() mcp.ClientCapabilities { return s.c.can.get() }
func (s *session) ProtocolVersion() string                       { return s.c.protocol.get() }

func (s *session) SetClientInfo(info mcp.Implementation) {
	if s.handshake {
		s.c.info.set(info)
	}
}

func (s *session) SetClientCapabilities(can mcp.ClientCapabilities) {
	if s.handshake {
		s.c.can.set(can)
	}
}

// mcp-go finds SetProtocolVersion although its interface is not exported.
func (s *session) SetProtocolVersion(v string) { s.c.protocol.set(v) }

func (s *session) SetLogLevel(l mcp.LoggingLevel) { s.c.level.set(l) }
func (s *session) GetLogLevel() mcp.LoggingLevel  { return s.c.level.get() }

// RequestElicitation lets the client ask its person, and waits, but not forever: a question without
// an answer ends as cancelled. With too many open questions, it is cancelled at once.
func (s *session) RequestElicitation(ctx context.Context, q mcp.ElicitationRequest) (res *mcp.ElicitationResult, err error) {
	aside := &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionCancel}}
	most := patience
	if s.patience > 0 {
		most = s.patience
	}
	asked := s.turn.rest(func() {
		wait, stop := context.WithTimeout(ctx, most)
		defer stop()
		var e *envelope
		if e, err = s.c.ask(wait, s.out, string(mcp.MethodElicitationCreate), q.Params); err != nil {
			if ctx.Err() == nil && wait.Err() != nil {
				res, err = aside, nil
			}
			return
		}
		if e == nil {
			res = aside
			return
		}
		res = &mcp.ElicitationResult{}
		if err = json.Unmarshal(e.result, res); err != nil {
			err = fmt.Errorf("read the person's answer: %w", err)
		}
	})
	if !asked {
		return aside, nil
	}
	return res, err
}

// notify reports a call's progress to the client before anything that is written later.
func (s *session) notify(method string, params map[string]any) {
	if raw, err := encode(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method, "params": params}); err == nil {
		s.out.tell(raw)
	}
}

// forward writes mcp-go's own notifications to the client.
func (s *session) forward(n mcp.JSONRPCNotification) {
	if s.subscription != nil {
		meta := map[string]any{}
		maps.Copy(meta, n.Params.Meta) // mcp-go shares it among all subscribers
		meta[mcp.MetaKeySubscriptionID] = s.subscription
		n.Params.Meta = meta
	}
	raw, err := encode(n)
	if err != nil {
		s.c.s.log.Printf("encode a notification: %s", words.Line(err.Error()))
		return
	}
	s.out.tell(raw)
}

// Subscriptions, from 2026-07-28 on: a request stays open, and its session receives the
// notifications that it asked for.

// SetSubscriptionFilter sets the notifications that the client wants.
func (s *session) SetSubscriptionFilter(f mcp.SubscriptionFilter) { s.filter.set(&f) }

// SubscriptionFilter returns the notifications that the client wants, if this is a subscription.
func (s *session) SubscriptionFilter() (mcp.SubscriptionFilter, bool) {
	if f := s.filter.get(); f != nil {
		return *f, true
	}
	return mcp.SubscriptionFilter{}, false
}

// subscribe registers the session for broadcasts, until end is called.
func (s *session) subscribe(ctx context.Context, e *envelope) (end func()) {
	s.subscription, s.id = e.id, s.c.id+" "+randomID()
	s.SetSubscriptionFilter(mcp.SubscriptionFilter{}) // it wants nothing until mcp-go sets the filter
	if err := s.c.s.rpc.RegisterSession(ctx, s); err != nil {
		s.c.s.log.Printf("subscribe: %s", words.Line(err.Error()))
		return func() {}
	}
	return func() { s.c.s.rpc.UnregisterSession(context.WithoutCancel(ctx), s.id) }
}

// listen forwards broadcasts to the client after its initialization, until stop is called.
func (c *conn) listen(ctx context.Context) (stop func(), err error) {
	s := &session{c: c, out: c.out, notes: make(chan mcp.JSONRPCNotification, 16)}
	if err := c.s.rpc.RegisterSession(ctx, s); err != nil {
		return nil, fmt.Errorf("begin an MCP session: %w", err)
	}
	ctx, end := context.WithCancel(ctx)
	c.others.Go(func() {
		for {
			select {
			case n := <-s.notes:
				s.forward(n)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		end()
		c.s.rpc.UnregisterSession(context.WithoutCancel(ctx), c.id)
	}, nil
}
