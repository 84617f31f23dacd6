package mcp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
)

// changes notifies clients when a list that they saw has changed. It checks at most once a second,
// and only while a client listens: one that listed items or subscribed.
type changes struct {
	look  func(context.Context) (seen, bool)
	tell  func(method string)
	every time.Duration

	mu   sync.Mutex
	here map[string]bool // sessions, and whether they listen
	n    int             // how many of them listen
	stop context.CancelFunc
}

// seen holds digests of the items, one for each kind of list.
type seen struct{ resources, prompts [32]byte }

// Looking costs at most this part of the time.
const lookShare = 50

func (s *Server) newChanges(every time.Duration) *changes {
	return &changes{look: items{s}.see, every: every, here: map[string]bool{}, tell: func(method string) { s.rpc.SendNotificationToAllClients(method, nil) }}
}

// serveChanges registers sessions, and lets them listen from their subscription on.
func (s *Server) serveChanges(h *server.Hooks) {
	h.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, req *mcp.SubscriptionsListenRequest) {
		if n := req.Params.Notifications; n.ResourcesListChanged || n.PromptsListChanged {
			s.changes.add(ctx)
		}
	})
	h.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { s.changes.come(session.SessionID()) })
	h.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { s.changes.leave(session.SessionID()) })
}

// listen is called for a client that got a list. Up to version 2025-11-25, clients hear of changes
// without a subscription.
func (c *changes) listen(ctx context.Context) {
	if info := server.RequestProtocolInfoFromContext(ctx); info == nil || !info.Modern {
		c.add(ctx)
	}
}

// add records that the session of a request listens, unless it has ended.
func (c *changes) add(ctx context.Context) {
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := session.SessionID()
	if listens, here := c.here[id]; !here || listens {
		return
	}
	c.here[id] = true
	if c.n++; c.n == 1 {
		watch, stop := context.WithCancel(context.WithoutCancel(ctx))
		c.stop = stop
		last, known := c.look(watch) // before the client gets its list
		go c.watch(watch, last, known)
	}
}

func (c *changes) come(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.here[session] = false
}

func (c *changes) leave(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.here[session] {
		if c.n--; c.n == 0 {
			c.stop()
		}
	}
	delete(c.here, session)
}

// watch checks for changes until ctx ends, which happens when the last listener leaves.
func (c *changes) watch(ctx context.Context, last seen, known bool) {
	wait := c.every
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		begun := time.Now()
		now, ok := c.look(ctx)
		if wait = max(c.every, lookShare*time.Since(begun)); !ok || ctx.Err() != nil {
			continue
		}
		if known && now.resources != last.resources {
			c.tell(mcp.MethodNotificationResourcesListChanged)
		}
		if known && now.prompts != last.prompts {
			c.tell(mcp.MethodNotificationPromptsListChanged)
		}
		last, known = now, true
	}
}

// see returns digests of the items in the server's own project; false on failure.
func (s items) see(ctx context.Context) (now seen, ok bool) {
	verbs, err := s.verbs("")
	if err != nil {
		return now, false
	}
	found, err := verbs.Search(ctx, s.o.Caller, rye.SearchRequest{Query: "*", Limit: math.MaxInt32})
	if err != nil {
		return now, false
	}
	all, directives := sha256.New(), sha256.New()
	for _, h := range found.Results {
		line := fmt.Sprintf("%q %q %q %q\n", h.Ref, h.Space, h.State, h.SHA256)
		all.Write([]byte(line))
		if h.Kind == string(objects.Directive) {
			directives.Write([]byte(line))
		}
	}
	all.Sum(now.resources[:0])
	directives.Sum(now.prompts[:0])
	return now, true
}
