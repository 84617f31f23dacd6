package mcp

import (
	"context"
	"crypto/sha256"
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

// A person approves over MCP in two rounds. The first round of a call stops at the question and
// returns it to the client, with a name for it. The second round does everything again; at the very
// same question, the answer counts. So a file that changes while the person reads leads to a new
// question. For clients from before 2026-07-28, whose calls wait meanwhile, mcp-go translates the
// rounds into elicitation requests.

// answerID names the question of a round.
const answerID = "approval"

// patience bounds how long a question is open; mostAnswers bounds the questions of one call.
const (
	patience    = time.Hour
	mostAnswers = 16
)

// approval is one round of one call.
type approval struct {
	possible bool   // the client can ask its person
	client   string // its own name for itself
	mu       sync.Mutex
	answers  map[[32]byte]bool // to the questions of earlier rounds
	aside    [32]byte          // the question that was cancelled or not answered in time
	asked    *rye.Question     // where this round stopped
}

type approvalKey struct{}

// errAsked stops a verb at its question. It never reaches a client.
var errAsked = errors.New("a person must be asked")

// Consent is the Consent of a served workspace. It returns the answer that the client's person gave
// to this very question in this very call, or stops the call at the question.
func Consent(ctx context.Context, q rye.Question) (bool, error) {
	a, _ := ctx.Value(approvalKey{}).(*approval)
	if a == nil {
		return false, noWay(q, "rye cannot ask here")
	}
	if !a.possible || !slices.Contains(q.Clients, a.client) {
		return false, a.notAskable(q)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if yes, ok := a.answers[digest(q)]; ok {
		if digest(q) == a.aside {
			return false, fault.New(fault.Denied, "%w", &rye.Unagreed{How: rye.Late, Err: fmt.Errorf("%s: no answer", q.Topic)}).With(q.Mend)
		}
		return yes, nil
	}
	if a.asked == nil {
		a.asked = &q
	}
	return false, errAsked
}

// notAskable refuses to let this client ask. A client may answer by itself, so its answers count
// only if the user listed it as showing questions to a person.
func (a *approval) notAskable(q rye.Question) error {
	why := "this MCP client cannot ask people"
	if a.possible {
		why = fmt.Sprintf("the client %q is not listed as one that shows questions to a person (elicitation in policy.yaml)", words.Brief(a.client))
	}
	return noWay(q, why)
}

// noWay refuses a request that needs a person's consent if no person can be asked.
func noWay(q rye.Question, why string) error {
	err := &rye.Unagreed{How: rye.NoWay, Err: fmt.Errorf("%s: a person must agree, and %s", q.Topic, why)}
	return fault.New(fault.Denied, "%w", err).With(q.Mend)
}

func digest(q rye.Question) [32]byte {
	raw, _ := json.Marshal([]any{q.Topic, q.Text, q.Lines}) // only strings: cannot fail
	return sha256.Sum256(raw)
}

// pending travels with the client to the next round, sealed: the account, the stopped call, the
// question, and earlier answers.
type pending struct {
	Who     string    `json:"who"`  // name of the account
	Call    [32]byte  `json:"call"` // which tool with which arguments
	Asked   [32]byte  `json:"asked"`
	Answers []answer  `json:"answers,omitempty"`
	Until   time.Time `json:"until"`
}

// answer is a person's answer to a question.
type answer struct {
	Asked [32]byte `json:"asked"`
	Yes   bool     `json:"yes"`
}

// begin returns the approval round of a request.
func (s *Server) begin(ctx context.Context, req mcp.CallToolRequest) (*approval, error) {
	a := &approval{possible: canElicit(ctx), client: clientInfo(ctx).Name, answers: map[[32]byte]bool{}}
	if req.Params.RequestState == "" {
		return a, nil
	}
	q, err := s.states.open(req.Params.RequestState, time.Now())
	if err != nil || q.Who != accountName(ctx) || q.Call != callDigest(req) {
		return nil, fault.New(fault.Denied, "%w", errState).Advise("call the tool again")
	}
	for _, one := range q.Answers {
		a.answers[one.Asked] = one.Yes
	}
	said := server.ElicitationResponse(req.Params.InputResponses, answerID)
	if a.answers[q.Asked] = agreed(said); said == nil || said.Action == mcp.ElicitationResponseActionCancel {
		a.aside = q.Asked
	}
	return a, nil
}

// ask returns a result that asks the client the question at which a stopped.
func (s *Server) ask(ctx context.Context, a *approval, req mcp.CallToolRequest) *mcp.CallToolResult {
	q := pending{Who: accountName(ctx), Call: callDigest(req), Asked: digest(*a.asked), Until: time.Now().Add(wait(*a.asked))}
	for asked, yes := range a.answers {
		q.Answers = append(q.Answers, answer{asked, yes})
	}
	state, err := s.states.seal(q)
	if err == nil && len(q.Answers) >= mostAnswers {
		err = errors.New("it needs too many answers")
	}
	if err != nil {
		return failed(fault.New(fault.Limit, "ask a person: %w", err))
	}
	if s, ok := server.ClientSessionFromContext(ctx).(*session); ok {
		s.patience = wait(*a.asked)
	}
	return server.NewInputRequestBuilder(state).Elicit(answerID, mcp.ElicitationParams{
		Message:         questionText(*a.asked),
		RequestedSchema: json.RawMessage(approvalSchema),
	}).ToolResult()
}

// accountName returns the account of a request; "" for none.
func accountName(ctx context.Context) string {
	if s, ok := server.ClientSessionFromContext(ctx).(*session); ok {
		return s.c.who.name
	}
	return ""
}

// wait returns how long a question of this server waits for its answer.
func wait(q rye.Question) time.Duration {
	if q.Wait > 0 && q.Wait < patience {
		return q.Wait
	}
	return patience
}

// approvalSchema has no default: consent takes a deliberate yes.
const approvalSchema = `{"type":"object","properties":{"approve":{"type":"boolean","title":"Approve","description":"Yes, do exactly this"}},"required":["approve"]}`

func agreed(r *mcp.ElicitationResult) bool {
	if r == nil || r.Action != mcp.ElicitationResponseActionAccept {
		return false
	}
	content, _ := r.Content.(map[string]any)
	yes, _ := content["approve"].(bool)
	return yes
}

// questionText returns all of a question, without characters that could hide or reorder the rest.
func questionText(q rye.Question) string {
	var b strings.Builder
	b.WriteString(words.Line(q.Topic) + ": " + words.Line(q.Text))
	for _, l := range q.Lines {
		b.WriteString("\n" + words.Line(l))
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

// canElicit reports whether the client declared that it can ask its person: in this request, or,
// before 2026-07-28, at initialization.
func canElicit(ctx context.Context) bool {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		return info.ClientCapabilities != nil && info.ClientCapabilities.Elicitation != nil
	}
	s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	return ok && s.GetClientCapabilities().Elicitation != nil
}

// clientInfo returns the client's name for itself.
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

// caller returns the client for which a call acts.
func (s *Server) caller(ctx context.Context) rye.Caller {
	info, c := clientInfo(ctx), s.o.Caller
	if name := accountName(ctx); name != "" {
		c = rye.ClientNamed(name)
	}
	return c.Calling(words.Clip(strings.TrimSpace(info.Name+" "+info.Version), 100))
}
