package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// signer asks as the facade does: with what it would sign, before it signs.
type signer struct {
	verbs
	text   atomic.Value // what the file holds
	signed atomic.Int32
}

func newSigner(text string) *signer {
	s := &signer{}
	s.text.Store(text)
	s.sign = func(ctx context.Context, _ rye.SignRequest) (*rye.SignReport, error) {
		q := rye.Question{Topic: "sign", Text: "mcp asks to sign 1 item", Lines: []string{"+ " + s.text.Load().(string)}, Mend: fault.Command("rye sign tool:a"), Clients: []string{"test", "t"}}
		switch yes, err := Consent(ctx, q); {
		case err != nil:
			return nil, fmt.Errorf("sign: %w", err)
		case !yes:
			return nil, fault.New(fault.Denied, "sign: not agreed to").With(q.Mend)
		}
		s.signed.Add(1)
		return &rye.SignReport{Signed: 1, Results: []rye.SignResult{{Ref: "tool:a", Status: "signed"}}}, nil
	}
	return s
}

func TestApprovalByElicitation(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer sdk.ElicitResult
		signed int32
		how    any // it ended without a yes, where the face knows
	}{
		{"yes", sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, 1, nil},
		{"accepted, but no", sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": false}}, 0, nil},
		{"declined", sdk.ElicitResult{Action: "decline"}, 0, nil},
		{"dismissed", sdk.ElicitResult{Action: "cancel"}, 0, "late"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newSigner("rm -rf \u202e/")
			var asked []string
			s := connect(t, options(t, v), &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked = append(asked, q.Params.Message)
				return &c.answer, nil
			}})
			got, isError := callTool(t, s, "sign", map[string]any{"item_type": "tool", "item_id": "a"})
			if v.signed.Load() != c.signed || isError != (c.signed == 0) {
				t.Errorf("signed %d times, answer %v; want %d", v.signed.Load(), got, c.signed)
			}
			if c.signed == 0 && (got["code"] != "denied" || got["approval"] != c.how) {
				t.Errorf("answer %v, want code denied", got)
			}
			if len(asked) != 1 || !strings.Contains(asked[0], `+ rm -rf \u202e/`) {
				t.Errorf("asked %q, want one question with the change, nothing hidden", asked)
			}
		})
	}
}

// TestOnlyListedClientsAsk: a client that the user did not list as showing a question to a
// person is not asked, because it may answer by itself; the person gets another way.
func TestOnlyListedClientsAsk(t *testing.T) {
	v := newSigner("x")
	asked := 0
	yes := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked++
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	}
	s := connectAs(t, "auto-yes", options(t, v), &sdk.ClientOptions{ElicitationHandler: yes})
	got, isError := callTool(t, s, "sign", map[string]any{"item_type": "tool", "item_id": "a"})
	if !isError || got["code"] != "denied" || asked != 0 || v.signed.Load() != 0 {
		t.Errorf("asked %d times, signed %d, answer %v", asked, v.signed.Load(), got)
	}
	if said := fmt.Sprint(got["message"]); !strings.Contains(said, `"auto-yes"`) || !strings.Contains(said, "elicitation in policy.yaml") {
		t.Errorf("it does not say how to list the client: %v", said)
	}
}

// TestQuestionsEndByThemselves: a client that never answers holds its worker no longer than
// the user's policy says.
func TestQuestionsEndByThemselves(t *testing.T) {
	v := &verbs{execute: func(ctx context.Context, _ rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		yes, err := Consent(ctx, rye.Question{Topic: "execute", Text: "Run it?", Clients: []string{"t"}, Wait: 100 * time.Millisecond})
		if err == nil && !yes {
			err = fault.New(fault.Denied, "not agreed to")
		}
		return nil, err
	}}
	r := newRaw(t, options(t, v))
	r.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	r.receive()
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"}}}`)
	if m := r.receive(); m.Method != "elicitation/create" {
		t.Fatalf("the question: %+v", m)
	}
	if m := r.receive(); string(m.ID) != "2" || m.Result.StructuredContent["code"] != "denied" { // nobody answered it
		t.Errorf("answer %+v, want denied", m)
	}
}

// TestQuestionsWaitAsThePolicySays: as long as the user's policy says, and never for ever.
func TestQuestionsWaitAsThePolicySays(t *testing.T) {
	for said, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, 0: patience, -time.Second: patience, 1000 * time.Hour: patience,
	} {
		if got := wait(rye.Question{Wait: said}); got != want {
			t.Errorf("a policy of %v: open for %v, want %v", said, got, want)
		}
	}
}

// TestApprovalIsForTheseBytes: what changes while the person reads is asked anew.
func TestApprovalIsForTheseBytes(t *testing.T) {
	v := newSigner("harmless")
	var asked []string
	s := connect(t, options(t, v), &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		asked = append(asked, q.Params.Message)
		yes := len(asked) == 1
		v.text.Store("harmful")
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": yes}}, nil
	}})
	got, isError := callTool(t, s, "sign", map[string]any{"item_type": "tool", "item_id": "a"})
	if !isError || v.signed.Load() != 0 || len(asked) != 2 || !strings.Contains(asked[1], "harmful") {
		t.Errorf("asked %q, signed %d, answer %v; want the second question refused", asked, v.signed.Load(), got)
	}
}

const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`

// TestApprovalInRounds is the protocol from 2026-07-28 on, with the attacks that
// it invites: the state is the client's to keep, so it may be changed, used for
// another call, and used again.
func TestApprovalInRounds(t *testing.T) {
	v := newSigner("x")
	r := newRaw(t, options(t, v))
	call := func(tool, id, extra, can string) message {
		t.Helper()
		r.next++
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"item_type":"tool","item_id":%q},%s%s}}`,
			r.next, tool, id, fmt.Sprintf(modern, can), extra))
		return r.receive()
	}
	answer := func(state string) string {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"approval":{"action":"accept","content":{"approve":true}}}`, state)
	}
	const can, cannot = `{"elicitation":{}}`, `{}`
	if m := call("sign", "a", "", cannot); !m.Result.IsError || m.Result.StructuredContent["code"] != "denied" {
		t.Fatalf("a client that cannot ask: %+v", m)
	}
	first := call("sign", "a", "", can)
	if first.Result.ResultType != "input_required" || first.Result.RequestState == "" || len(first.Result.InputRequests) != 1 {
		t.Fatalf("first round: %+v", first)
	}
	state := first.Result.RequestState
	if m := call("sign", "a", answer("0123"), can); !m.Result.IsError || v.signed.Load() != 0 {
		t.Errorf("an invented state: %+v", m)
	}
	if m := call("sign", "b", answer(state), can); !m.Result.IsError || v.signed.Load() != 0 {
		t.Errorf("the state of another call: %+v", m)
	}
	state = call("sign", "a", "", can).Result.RequestState
	if m := call("sign", "a", answer(state), can); m.Result.IsError || v.signed.Load() != 1 {
		t.Errorf("second round: %+v", m)
	}
	if m := call("sign", "a", answer(state), can); !m.Result.IsError || v.signed.Load() != 1 {
		t.Errorf("the same answer again: %+v", m)
	}
	state = call("sign", "a", "", can).Result.RequestState
	v.text.Store("y")
	if m := call("sign", "a", answer(state), can); m.Result.ResultType != "input_required" || v.signed.Load() != 1 {
		t.Errorf("an answer about other bytes: %+v", m)
	}
}

// TestStates: what a client cannot do with a state, whatever it tries.
func TestStates(t *testing.T) {
	a, b := newSealer(), newSealer()
	now := time.Now()
	q := pending{Who: "laptop", Asked: [32]byte{1}, Answers: []answer{{[32]byte{2}, true}}, Until: now.Add(time.Minute)}
	state, err := a.seal(q)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(state, "laptop") {
		t.Errorf("%s can be read", state)
	}
	for i := range state {
		changed := []byte(state)
		changed[i] ^= 1
		if _, err := a.open(string(changed), now); err == nil {
			t.Fatalf("a state with another byte %d is good", i)
		}
	}
	for name, try := range map[string]func() error{
		"of a server that was started anew": func() error { _, err := b.open(state, now); return err },
		"after its time":                    func() error { _, err := a.open(state, now.Add(time.Minute)); return err },
		"cut":                               func() error { _, err := a.open(state[:20], now); return err },
		"too long":                          func() error { _, err := a.open(state+strings.Repeat("A", maxState), now); return err },
	} {
		if try() == nil {
			t.Errorf("a state %s is good", name)
		}
	}
	if got, err := a.open(state, now); err != nil || got.Who != "laptop" || len(got.Answers) != 1 || got.Asked != q.Asked {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := a.open(state, now); err == nil {
		t.Error("a state is good twice")
	}
	for i := range maxUsed {
		a.used[[stateID]byte{1, byte(i), byte(i >> 8), byte(i >> 16)}] = now.Add(time.Second)
	}
	more, _ := a.seal(q)
	if _, err := a.open(more, now); err == nil {
		t.Error("more states were used than can be remembered, yet another one is good")
	}
	if _, err := a.open(more, now.Add(2*time.Second)); err != nil {
		t.Errorf("when they have ended: %v", err)
	}
}

// FuzzStates: no text but a sealed one is a state.
func FuzzStates(f *testing.F) {
	s := newSealer()
	good, _ := s.seal(pending{Until: time.Now().Add(time.Hour)})
	f.Add(good[:30])
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, state string) {
		if _, err := s.open(state, time.Now()); err == nil {
			t.Errorf("%q is a state", state)
		}
	})
}
