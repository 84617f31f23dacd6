package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// MaxRequest bounds the bytes of a request.
const MaxRequest = 64 << 20

// outcomeUnknown is the result that a model gets for a call without one.
const outcomeUnknown = "The outcome of this call is unknown: it was interrupted. It may have run, or not. Check before you call again."

// Encode writes the body of a request, and gives equal requests equal bytes. The messages are at
// its end, so that the bytes of one turn begin the bytes of the next (docs/format/provider.md says
// exactly how far). A request that no provider could answer is fault.Usage: tools or a temperature
// for a model that takes none, or a name that is not allowed. A request beyond MaxRequest is
// fault.Limit.
func (p *Provider) Encode(m *Model, q *Request) ([]byte, error) {
	e, err := p.encoding(m, q)
	if err != nil {
		return nil, err
	}
	w := &writer{b: make([]byte, 0, e.room())}
	w.open('{')
	switch p.request.encoder {
	case anthropicMessages:
		e.anthropic(w)
	default:
		e.openai(w)
	}
	w.close('}')
	if len(w.b) > MaxRequest {
		return nil, fault.New(fault.Limit, "request to %s: %d bytes, at most %d are allowed", m.ID, len(w.b), MaxRequest)
	}
	return w.b, nil
}

// room estimates the size of the request in bytes, so that a large one is not copied as it grows.
func (e *encoding) room() int {
	n := 4096 + len(e.q.System)
	for _, t := range e.tools {
		n += 128 + len(t.Description) + len(t.Schema)
	}
	for _, msg := range e.messages {
		for _, part := range msg.Parts {
			n += 128 + len(part.Text)
			switch {
			case part.Call != nil:
				n += len(part.Call.Args)
			case part.Result != nil:
				n += len(part.Result.Text)
			case part.Opaque != nil:
				n += len(part.Opaque.Raw)
			}
		}
	}
	return n + n/16 // for escapes
}

// encoding is one request, checked and paired, ready for either format.
type encoding struct {
	p        *Provider
	m        *Model
	q        *Request
	max      int64
	effort   members
	tools    []Tool // sorted; schemas canonical
	messages []Message
}

func (p *Provider) encoding(m *Model, q *Request) (*encoding, error) {
	e := &encoding{p: p, m: m, q: q, max: q.MaxOutput}
	bad := func(format string, args ...any) error {
		return fault.New(fault.Usage, "request to "+m.ID+": "+format, args...)
	}
	if m.MaxOutput > 0 {
		e.max = min(e.max, m.MaxOutput)
	}
	if e.max < 1 {
		return nil, bad("at most %d tokens of output, want at least 1", q.MaxOutput)
	}
	if t := q.Temperature; t != nil {
		if slices.Contains(m.forbid, "temperature") {
			return nil, bad("the model takes no temperature")
		}
		if math.IsNaN(*t) || *t < 0 || *t > 2 {
			return nil, bad("temperature %v, want 0 to 2", *t)
		}
	}
	if q.Effort != "" {
		effort, ok := m.efforts[q.Effort]
		if !ok {
			return nil, bad("effort %q, want one of %s", words.Brief(q.Effort), listed(m.Efforts()))
		}
		if fits(effort, e.max) {
			e.effort = effort
		}
	}
	if err := e.takeTools(bad); err != nil {
		return nil, err
	}
	var err error
	if e.messages, err = pair(e.p, e.m, q.Messages); err != nil {
		return nil, bad("%w", err)
	}
	if len(e.messages) == 0 {
		return nil, bad("it has no message")
	}
	if e.messages[len(e.messages)-1].Role == Assistant && !m.prefill {
		return nil, bad("its last message is the assistant's, and this model cannot continue an answer")
	}
	return e, nil
}

// fits reports whether a thinking budget is below the limit of the whole output, which Anthropic
// requires. The caller leaves out a budget that does not fit.
func fits(effort members, most int64) bool {
	for _, x := range effort {
		var t struct {
			Budget int64 `json:"budget_tokens"`
		}
		if x.name == "thinking" && json.Unmarshal(x.raw, &t) == nil && t.Budget >= most {
			return false
		}
	}
	return true
}

func (e *encoding) takeTools(bad func(string, ...any) error) error {
	if len(e.q.Tools) > 0 && !e.m.Supports.Tools {
		return bad("the model takes no tools")
	}
	e.tools = slices.Clone(e.q.Tools)
	slices.SortFunc(e.tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	for i := range e.tools {
		t := &e.tools[i]
		if !e.m.toolName.MatchString(t.Name) {
			return bad("tool %q: want a name that matches %s", words.Brief(t.Name), e.m.toolName)
		}
		if i > 0 && e.tools[i-1].Name == t.Name {
			return bad("tool %q is given twice", t.Name)
		}
		if len(t.Schema) == 0 {
			t.Schema = json.RawMessage(`{"properties":{},"type":"object"}`)
		}
		raw, err := canonical(t.Schema)
		if err != nil {
			return bad("tool %q: schema: %w", t.Name, err)
		}
		t.Schema = raw
	}
	return nil
}

// pair returns the messages in the form that a provider accepts. The sides take turns. The results
// follow their calls at once, in the order of the calls. A call without a result gets an unknown
// one, and a result without a call is left out. Opaque parts go back only to the provider and model
// that sent them. The history itself does not change.
func pair(p *Provider, m *Model, history []Message) ([]Message, error) {
	turns, err := takeTurns(p, m, history)
	if err != nil {
		return nil, err
	}
	var out []Message
	var open []*Call // of the previous message
	for _, t := range turns {
		if t.Role == Assistant {
			if open != nil {
				out = append(out, Message{User, results(open, nil)})
			}
			open = calls(t.Parts)
			out = append(out, t)
			continue
		}
		parts := results(open, t.Parts)
		open = nil
		for _, part := range t.Parts {
			if part.Result == nil {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			out = append(out, Message{User, parts})
		}
	}
	if open != nil {
		out = append(out, Message{User, results(open, nil)})
	}
	// Parts that were left out may have made two messages of one side adjacent.
	return takeTurns(p, m, out)
}

// takeTurns merges consecutive messages of one side and drops empty parts.
func takeTurns(p *Provider, m *Model, in []Message) ([]Message, error) {
	var out []Message
	for i, msg := range in {
		if msg.Role != User && msg.Role != Assistant {
			return nil, fault.New(fault.Usage, "message %d: role %q", i, words.Brief(msg.Role))
		}
		var parts []Part
		for j, part := range msg.Parts {
			keep, err := part.check(p, m, msg.Role)
			if err != nil {
				return nil, fault.New(fault.Usage, "message %d, part %d: %w", i, j, err)
			}
			if keep {
				parts = append(parts, part)
			}
		}
		switch last := len(out) - 1; {
		case len(parts) == 0:
		case last >= 0 && out[last].Role == msg.Role:
			out[last].Parts = append(slices.Clip(out[last].Parts), parts...)
		default:
			out = append(out, Message{msg.Role, parts})
		}
	}
	return out, nil
}

// check reports whether a part is sent.
func (part *Part) check(p *Provider, m *Model, role string) (bool, error) {
	set := 0
	for _, is := range []bool{part.Text != "", part.Call != nil, part.Result != nil, part.Opaque != nil} {
		if is {
			set++
		}
	}
	switch {
	case set > 1:
		return false, fault.New(fault.Usage, "more than one of text, call, result and opaque")
	case part.Call != nil && role != Assistant, part.Opaque != nil && role != Assistant, part.Result != nil && role != User:
		return false, fault.New(fault.Usage, "a message of the %s cannot have this part", role)
	case part.Call != nil:
		if _, err := compact(part.Call.Args); err != nil {
			return false, fault.New(fault.Usage, "arguments of %s: %w", words.Brief(part.Call.Name), err)
		}
		return true, nil
	case part.Opaque != nil:
		o := part.Opaque
		if o.Provider != p.ID || o.Model != m.ID {
			return false, nil
		}
		if _, err := compact(o.Raw); err != nil {
			return false, fault.New(fault.Usage, "opaque: %w", err)
		}
		return true, nil
	}
	return part.Result != nil || strings.TrimSpace(part.Text) != "", nil
}

func calls(parts []Part) (out []*Call) {
	for _, part := range parts {
		if part.Call != nil {
			out = append(out, part.Call)
		}
	}
	return out
}

// results returns one result from parts for each call, in the order of the calls.
func results(open []*Call, parts []Part) (out []Part) {
	used := make([]bool, len(parts))
next:
	for _, c := range open {
		for i, part := range parts {
			if part.Result != nil && !used[i] && part.Result.CallID == c.ID {
				used[i] = true
				out = append(out, part)
				continue next
			}
		}
		out = append(out, Part{Result: &Result{CallID: c.ID, Name: c.Name, Text: outcomeUnknown, Error: true}})
	}
	return out
}

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// callID returns an id that every provider accepts: OpenAI takes at most 40 characters, Anthropic
// only those in plainID.
func callID(id string) string {
	if plainID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// callName returns the name of a call from the history in a form that the model accepts: the
// provider that made the call may allow other names.
func (e *encoding) callName(name string) string {
	if e.m.toolName.MatchString(name) {
		return name
	}
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
	plain = plain[:min(len(plain), 64)]
	if !e.m.toolName.MatchString(plain) {
		return "unknown"
	}
	return plain
}

// head writes the members before the growing ones: the model and its options.
func (e *encoding) head(w *writer) {
	w.textMember("model", e.m.ID)
	w.member(e.p.request.maxTokens, strconv.AppendInt(nil, e.max, 10))
	if e.q.Temperature != nil {
		w.member("temperature", strconv.AppendFloat(nil, *e.q.Temperature, 'g', -1, 64))
	}
	w.members(e.p.request.extra)
	w.members(e.effort)
}

func (e *encoding) streamed() bool { return e.p.request.streamed && e.m.Supports.Streaming }
