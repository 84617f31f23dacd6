package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// A person approves over MCP in two rounds. The first round of a call stops at
// the question and returns it to the client, together with a name for what was
// asked. The second round does everything again; when it comes to the very same
// question, the answer counts. So a file that changes while the person reads is
// asked about anew. mcp-go translates the rounds into elicitation requests for
// clients from before 2026-07-28, whose calls wait meanwhile.

// answerID names the question of a round.
const answerID = "approval"

// maxQuestions bounds how many unanswered questions a server remembers; how long
// it does is patience.
const (
	maxQuestions = 64
	patience     = time.Hour
)

// approval is one round of one call.
type approval struct {
	possible bool   // the client can ask its person
	client   string // as it calls itself
	mu       sync.Mutex
	answers  map[[32]byte]bool // to the questions of earlier rounds
	asked    *rye.Question     // where this round stopped
}

type approvalKey struct{}

// errAsked stops a verb at its question. It never reaches a client.
var errAsked = errors.New("a person has to be asked")

// Consent is the Consent of a workspace that is served here: it answers from what the
// client's person said to this very question in this very call, else it stops
// the call there.
func Consent(ctx context.Context, q rye.Question) (bool, error) {
	a, _ := ctx.Value(approvalKey{}).(*approval)
	if a == nil {
		return false, fault.New(fault.Denied, "%s: a person has to agree, and nobody can be asked here", q.Topic).With(q.Mend)
	}
	if !a.possible || !slices.Contains(q.Clients, a.client) {
		return false, a.notAskable(q)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if yes, ok := a.answers[digest(q)]; ok {
		return yes, nil
	}
	if a.asked == nil {
		a.asked = &q
	}
	return false, errAsked
}

// notAskable refuses to let this client ask. A client may answer by itself, so that its
// answer counts only where the user said that it shows the question to a person.
func (a *approval) notAskable(q rye.Question) error {
	why := "this MCP client cannot ask one"
	if a.possible {
		why = fmt.Sprintf("the client %q is not among those that the user listed as showing a question to a person (elicitation in policy.yaml)", words.Brief(a.client))
	}
	return fault.New(fault.Denied, "%s: a person has to agree, and %s", q.Topic, why).With(q.Mend)
}

func digest(q rye.Question) [32]byte {
	raw, _ := json.Marshal([]any{q.Topic, q.Text, q.Lines}) // of strings: cannot fail
	return sha256.Sum256(raw)
}

// approvals remembers the questions that clients were given.
type approvals struct {
	mu   sync.Mutex
	open map[string]pending
}

type pending struct {
	call    [32]byte // which tool with which arguments
	asked   [32]byte
	answers map[[32]byte]bool
	until   time.Time
}

// begin returns the round that a request is.
func (p *approvals) begin(ctx context.Context, req mcp.CallToolRequest) (*approval, error) {
	a := &approval{possible: canElicit(ctx), client: clientInfo(ctx).Name, answers: map[[32]byte]bool{}}
	if req.Params.RequestState == "" {
		return a, nil
	}
	p.mu.Lock()
	q, ok := p.open[req.Params.RequestState]
	delete(p.open, req.Params.RequestState) // an answer counts once
	p.mu.Unlock()
	if !ok || q.call != callDigest(req) || time.Now().After(q.until) {
		return nil, fault.New(fault.Denied, "the answer belongs to no question that is open").Advise("call the tool again")
	}
	a.answers = q.answers
	a.answers[q.asked] = agreed(server.ElicitationResponse(req.Params.InputResponses, answerID))
	return a, nil
}

// ask returns the result that gives the client the question where a stopped.
func (p *approvals) ask(ctx context.Context, a *approval, req mcp.CallToolRequest) *mcp.CallToolResult {
	var nonce [16]byte
	rand.Read(nonce[:])
	state := hex.EncodeToString(nonce[:])
	p.mu.Lock()
	p.makeRoom()
	p.open[state] = pending{call: callDigest(req), asked: digest(*a.asked), answers: a.answers, until: time.Now().Add(wait(*a.asked))}
	p.mu.Unlock()
	message := questionText(*a.asked)
	if s, ok := server.ClientSessionFromContext(ctx).(*session); ok {
		s.waits.Store(message, wait(*a.asked))
	}
	return server.NewInputRequestBuilder(state).Elicit(answerID, mcp.ElicitationParams{
		Message:         message,
		RequestedSchema: json.RawMessage(approvalSchema),
	}).ToolResult()
}

// makeRoom drops what is over, and the oldest question when there are too many.
func (p *approvals) makeRoom() {
	if p.open == nil {
		p.open = map[string]pending{}
	}
	now, oldest := time.Now(), ""
	for k, q := range p.open {
		if now.After(q.until) {
			delete(p.open, k)
		} else if oldest == "" || q.until.Before(p.open[oldest].until) {
			oldest = k
		}
	}
	if len(p.open) >= maxQuestions {
		delete(p.open, oldest)
	}
}

// wait is how long a question of this server waits for its answer.
func wait(q rye.Question) time.Duration {
	if q.Wait > 0 && q.Wait < patience {
		return q.Wait
	}
	return patience
}

// approvalSchema has no default: agreeing takes a deliberate yes.
const approvalSchema = `{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Yes, do exactly this"}},"required":["approve"]}`

func agreed(r *mcp.ElicitationResult) bool {
	if r == nil || r.Action != mcp.ElicitationResponseActionAccept {
		return false
	}
	content, _ := r.Content.(map[string]any)
	yes, _ := content["approve"].(bool)
	return yes
}

// questionText shows all of a question, with nothing in it that could hide or
// reorder the rest.
func questionText(q rye.Question) string {
	var b strings.Builder
	b.WriteString(words.Printable(q.Topic) + ": " + words.Printable(q.Text))
	for _, l := range q.Lines {
		b.WriteString("\n" + words.Printable(l))
	}
	return b.String()
}

func callDigest(req mcp.CallToolRequest) [32]byte {
	raw, _ := json.Marshal(struct {
		Name string
		Args any
	}{req.Params.Name, req.Params.Arguments})
	return sha256.Sum256(raw)
}

// canElicit reports whether the client said that it can ask its person: for this
// request, or, before 2026-07-28, when it introduced itself.
func canElicit(ctx context.Context) bool {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		return info.ClientCapabilities != nil && info.ClientCapabilities.Elicitation != nil
	}
	s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	return ok && s.GetClientCapabilities().Elicitation != nil
}

// clientInfo is what the client calls itself.
func clientInfo(ctx context.Context) mcp.Implementation {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		if info.ClientInfo != nil {
			return *info.ClientInfo
		}
		return mcp.Implementation{}
	}
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return s.GetClientInfo()
	}
	return mcp.Implementation{}
}

// caller is the client on whose behalf a call acts.
func (s *Server) caller(ctx context.Context) rye.Caller {
	info := clientInfo(ctx)
	return s.o.Caller.Calling(words.Clip(strings.TrimSpace(info.Name+" "+info.Version), 100))
}
