package thread

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust/token"
)

// tether holds what one run of a tool asks of rye, for the thread whose call it is: it narrows
// the thread's token once more for the tool, and records each call. What such a call executes
// has a tether of its own, which begins where this one ended.
type tether struct {
	*thread
	call string // the model's, in which all of this happens
	at   string // which call of a tool it is about: "2", and "2.1" within that; "" for the model's own

	mu    sync.Mutex
	held  token.Grant // by the thread, then by the tool
	whose string      // held's last thread
}

var _ rye.Callback = (*tether)(nil)

// tether is of a call of the model's.
func (p *hands) tether(c call) *tether {
	return &tether{thread: p.thread, call: c.ID, held: p.grant, whose: p.d.ID}
}

// grantOf is what a process was handed of its thread's token. Whether it counts Caller says.
func grantOf(h Handed) (token.Grant, error) {
	t, err := token.Parse([]byte(h.Token))
	return token.Grant{Token: t, Key: h.Holder}, err
}

// Grant narrows the token for a tool. Its key stays here: that the tool has the connection is
// what it has, and the text alone is worth nothing.
func (t *tether) Grant(tool rye.Ref, needs []string, until time.Time) (*rye.CallbackGrant, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	parent, whose := t.whose, toolOf(t.whose, tool)
	g, err := t.held.Token.Narrow(t.held.Key, token.Block{ID: newToolID(t.o.Now()), Thread: whose, Expires: until, Do: needs, Delegate: needs}, rand.Reader)
	if err != nil {
		return nil, err
	}
	v, err := t.verified(g, parent, whose)
	if err != nil {
		return nil, err
	}
	t.held, t.whose = g, whose
	grant := &rye.CallbackGrant{Caller: rye.Thread(toolToken{v, t.d.Parent}), Token: string(g.Token.Encode()), Denied: []string{}}
	for _, one := range g.Taken {
		if one.Of == "do" {
			grant.Denied = append(grant.Denied, one.Asked)
		}
	}
	if len(grant.Denied) == 0 {
		return grant, nil
	}
	return grant, t.append("narrowed", map[string]any{"asked": needs, "allowed": append([]string{}, v.Do()...), "denied": grant.Denied, "child_thread_id": whose}, false)
}

// verified is a token as everybody who takes one for something verifies it.
func (t *tether) verified(g token.Grant, parent, whose string) (token.Verified, error) {
	nonce := make([]byte, token.MinNonce)
	rand.Read(nonce)
	proof, err := g.Token.Prove(g.Key, nonce)
	if err != nil {
		return token.Verified{}, err
	}
	return token.Verify(g.Token, token.Want{Now: t.o.Now(), Thread: whose, Parent: parent, Project: nodeOf(t.dir), Audience: audience, Nonce: nonce, Proof: proof,
		Root: func(k ed25519.PublicKey) bool { return t.d.names(k) }})
}

// toolToken is a token of a tool of a thread. To the policy the tool is its thread: a child
// where that is one.
type toolToken struct {
	token.Verified
	parent string
}

func (t toolToken) Parent() string { return t.parent }

// toolOf names a tool of a thread, or of another tool of it. The name is the same in every run:
// by it a question is asked, and its answer found. It is never the thread's own.
func toolOf(whose string, tool rye.Ref) string {
	name := whose + "/" + tool.String()
	if len(name) <= token.MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return whose[:26] + "/" + hex.EncodeToString(sum[:])
}

func newToolID(now time.Time) string {
	var random [10]byte
	rand.Read(random[:])
	return journal.NewID(now, random)
}

// index is the number of a call within those that it lies in.
func (t *tether) index(c rye.CalledBack) string {
	n := strconv.Itoa(c.Index)
	if t.at == "" {
		return n
	}
	return t.at + "." + n
}

// Begin records that a call is about to have its effect, and returns the tether of what it
// executes.
func (t *tether) Begin(c rye.CalledBack) (rye.Callback, error) {
	rec := map[string]any{"call_id": t.call, "index": t.index(c), "verb": c.Verb, "params": c.Params}
	if c.Item != "" {
		rec["item"] = c.Item
	}
	if err := t.append("callback_start", rec, true); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return &tether{thread: t.thread, call: t.call, at: t.index(c), held: t.held, whose: t.whose}, nil
}

// End records what came of a call.
func (t *tether) End(c rye.CalledBack, took time.Duration, result error) error {
	rec := map[string]any{"call_id": t.call, "index": t.index(c), "code": "ok", "duration_ms": took.Milliseconds()}
	if result != nil {
		rec["code"] = string(fault.CodeOf(result))
	}
	if open, ok := errors.AsType[*rye.Unanswered](result); ok {
		rec["question"] = open.ID
	}
	return t.append("callback_result", rec, false)
}
