package thread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/internal/strict"
)

// maxUncertain is how many calls of one step may end without anybody knowing what they cost:
// each is charged as if it had cost the most.
const maxUncertain = 2

// asker puts questions to models.
type asker struct {
	*thread
	*purse
	prov     *provider.Provider
	model    *provider.Model
	ask      *provider.Client
	rendered *rendering // the newest; of the turn's own goroutine
}

// question is one call of a model: the request, as often as it takes to be answered.
type question struct {
	step  string
	model *provider.Model // whose turn it is
	req   *provider.Request
	apart bool   // not part of the conversation
	raw   []byte // the request as it is sent
	sum   string

	first     *provider.Model   // whom it is for
	whole     *provider.Request // before an answer was made shorter, for others
	begun     time.Time
	uncertain int // attempts of which nobody knows what they cost
	next      following
}

// encode makes what is sent, where it is not there yet.
func (q *question) encode(p *provider.Provider) (err error) {
	if q.raw == nil {
		if q.raw, err = p.Encode(q.model, q.req); err != nil {
			return err
		}
	}
	sum := sha256.Sum256(q.raw)
	q.sum = hex.EncodeToString(sum[:])
	return nil
}

// answerTo puts a question to the model and returns its answer, which is recorded and paid.
// A question that was answered before is not put again. Failures that remain are a
// *provider.Error.
func (p *asker) answerTo(ctx context.Context, q *question) (*answer, error) {
	if a, ok := p.h.answers[q.step]; ok {
		return a, nil
	}
	if err := p.begin(q); err != nil {
		return nil, err
	}
	for {
		key := p.d.ID + "/" + q.step + "/" + strconv.Itoa(p.h.tries[q.step]+1)
		a, failed, err := p.attempt(ctx, q, key)
		if err != nil || a != nil {
			return a, err
		}
		if q.next.model == nil {
			return nil, p.gaveUp(q, failed)
		}
		if err := sleep(ctx, q.next.wait); err != nil {
			return nil, err
		}
		if err := q.turnTo(p.prov, q.next.model); err != nil {
			return nil, err
		}
		if err := q.encode(p.prov); err != nil {
			return nil, err
		}
	}
}

// attempt is one exchange: hold, intent, send, outcome, settle, in this order. It returns an
// answer, or how the model's side failed.
func (p *asker) attempt(ctx context.Context, q *question, key string) (*answer, *provider.Error, error) {
	hold, err := p.hold(ctx, q, key)
	if err != nil {
		return nil, nil, err
	}
	err = p.append("model_intent", map[string]any{"key": key, "model": q.model.ID, "provider": p.d.Provider, "request": q.sum,
		"prompt_bytes": len(q.raw), "max_output": q.req.MaxOutput, "view": map[string]any{"apart": q.apart}}, true)
	if err != nil {
		return nil, nil, err
	}
	out := &speech{p: p.thread}
	resp, err := p.send(ctx, q, out.delta)
	out.end()
	if err != nil {
		failed, err := p.failed(ctx, q, key, hold, err)
		return nil, failed, err
	}
	cost, known := p.tariff.cost(q.model, resp)
	parts, leftOut := bounded(p.black.parts(resp.Parts))
	text, calls, stored := store(q.step, parts)
	payload := map[string]any{"key": key, "text": text, "model": resp.Model, "is_partial": false, "truncated": resp.Stop == provider.StopLength,
		"stop": resp.Stop, "calls": calls, "parts": stored, "usage": resp.Usage, "cost": cost, "cost_known": known, "request_id": resp.RequestID}
	if most := p.tariff.plausible(q.model, int64(len(q.raw)), q.req.MaxOutput); cost > most.Money || resp.Usage.Total() > most.Tokens {
		payload["error"] = implausible{"implausible", min(cost, most.Money), min(resp.Usage.Total(), most.Tokens)}
	}
	if err := p.append("cognition_out", payload, true); err != nil {
		return nil, nil, err
	}
	if leftOut > 0 {
		note := map[string]any{"role": "user", "source": "law", "text": fmt.Sprintf("A note of rye's: an answer may ask for %d calls; %d more were left out.", maxCalls, leftOut)}
		if err := p.append("cognition_in", note, false); err != nil {
			return nil, nil, err
		}
	}
	a := p.h.answers[q.step]
	return a, nil, p.settle(ctx, key, a, hold)
}

// MaxName bounds the name of a called tool in bytes: formats allow 64.
const maxName = 128

// bounded keeps of an answer what a thread can carry: so many calls, and each of a size that
// a tool's name and arguments can have.
func bounded(parts []provider.Part) (kept []provider.Part, leftOut int) {
	calls := 0
	for _, part := range parts {
		if part.Call != nil {
			if calls++; calls > maxCalls {
				leftOut++
				continue
			}
			c := *part.Call
			if len(c.Name) > maxName {
				c.Name = strings.ToValidUTF8(c.Name[:maxName], "")
			}
			var read map[string]any
			if err := strict.Decode(c.Args, maxArgs, &read); c.Bad == "" && err != nil { // a key twice, too: no service takes that back
				c.Args, c.Bad = json.RawMessage("{}"), err.Error()
			}
			part.Call = &c
		}
		kept = append(kept, part)
	}
	return kept, leftOut
}

// testOnlyCallLasts is how long one exchange may take in all. A host that says nothing ends
// by the times of its provider's item; one that says nothing of use, again and again, by this.
var testOnlyCallLasts = time.Hour

// send is one exchange with the model's side, bounded in time.
func (p *asker) send(ctx context.Context, q *question, on func(provider.Delta)) (*provider.Response, error) {
	whole, cancel := context.WithTimeout(ctx, testOnlyCallLasts)
	defer cancel()
	resp, err := p.ask.Send(whole, p.prov, q.model, q.req, q.raw, on)
	var f *provider.Error
	if whole.Err() != nil && ctx.Err() == nil && errors.As(err, &f) {
		f.Class, f.Message = provider.Timeout, "the answer took longer than "+testOnlyCallLasts.String()
	}
	return resp, err
}

// implausible is what a call is charged whose bill nobody can believe (error of cognition_out).
type implausible struct {
	Class  string     `json:"class"`
	Money  rye.Micros `json:"money"`
	Tokens int64      `json:"tokens"`
}

// due is what an answer is charged.
func (a *answer) due() ledger.Amount {
	if a.unlikely != nil {
		return ledger.Amount{Money: a.unlikely.Money, Tokens: a.unlikely.Tokens}
	}
	return ledger.Amount{Money: a.cost, Tokens: a.usage.Total()}
}

// failed closes an attempt of which no answer came, pays what it may have cost, and records
// what follows.
func (p *asker) failed(ctx context.Context, q *question, key string, hold ledger.Amount, err error) (*provider.Error, error) {
	var f *provider.Error
	if !errors.As(err, &f) {
		f = &provider.Error{Class: provider.Transient, Message: p.black.text(err.Error()), Sent: true}
	}
	if ctx.Err() != nil {
		f.Class = provider.Cancelled
	}
	// Nothing was sent, or the answer was an error that was never billed: nothing is owed.
	free := !f.Sent || f.Status >= 300 && !f.Streamed
	if err := p.bill(context.WithoutCancel(ctx), key, hold, free); err != nil {
		return nil, err
	}
	rec := map[string]any{"error_code": f.Class, "category": f.Class, "retryable": f.Retryable(), "key": key, "wait_ms": f.After.Milliseconds()}
	if q.next = p.follow(q, f); q.next.model != nil && q.next.model.ID != q.model.ID {
		rec["fallback"] = q.next.model.ID
	}
	if err := p.append("error_classified", rec, true); err != nil {
		return nil, err
	}
	for _, why := range q.next.passed {
		if err := p.append("warning", map[string]any{"text": p.black.text(why), "code": "fallback"}, false); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f, nil
}

// hold reserves the most that a call can cost, at the thread and all above it. Where that does
// not fit, a shorter answer is asked for; where that does not either, the limit is reached.
func (p *asker) hold(ctx context.Context, q *question, key string) (ledger.Amount, error) {
	for {
		a := p.tariff.worst(q.model, int64(len(q.raw)), q.req.MaxOutput)
		err := p.book.Hold(ctx, p.d.ID, key, a, p.epoch)
		var full *ledger.Exceeded
		if !errors.As(err, &full) {
			if err != nil {
				return a, err
			}
			return a, p.append("budget_held", map[string]any{"key": key, "money": a.Money, "tokens": a.Tokens, "epoch": p.epoch}, false)
		}
		if q.req.MaxOutput/2 < leastOutput {
			return a, &stop{reason: "limit", detail: limitName(full) + ": " + full.Error(), used: full.Spent + full.Held, most: full.Cap}
		}
		shorter := *q.req
		shorter.MaxOutput /= 2
		q.req, q.raw = &shorter, nil
		if err := q.encode(p.prov); err != nil {
			return a, err
		}
	}
}

// leastOutput is the shortest answer, in tokens, that is worth a call.
const leastOutput = 256

// limitName is what a person knows the limit as.
func limitName(e *ledger.Exceeded) string {
	name := "tokens"
	if e.What == "money" {
		name = "spend"
	}
	if e.Kind != ledger.Thread {
		name += " of the " + e.Kind
	}
	return name
}

// usedUp is how a limit ends a turn of which nothing is left.
func usedUp(name string, n int64) *stop {
	return &stop{reason: "limit", detail: fmt.Sprintf("%s: %d of %d used", name, n, n), used: n, most: n}
}

// request renders a view for a model.
func (p *asker) request(v excerpt, m *provider.Model, maxOutput int64) *provider.Request {
	q := &provider.Request{Model: m.ID, System: systemText, Messages: p.h.messages(v), Tools: offered(p.d), MaxOutput: p.limit.Output}
	if m.MaxOutput > 0 {
		q.MaxOutput = min(q.MaxOutput, m.MaxOutput)
	}
	if maxOutput > 0 {
		q.MaxOutput = min(q.MaxOutput, maxOutput)
	}
	if !m.Supports.Tools {
		q.Tools = nil
	}
	return q
}

// rendering is a view as a request, and its bytes. A turn asks for the same one several times:
// how large it is, what it costs at most, and the answer.
type rendering struct {
	v     excerpt
	model *provider.Model
	max   int64
	shown int // state of the history
	req   *provider.Request
	raw   []byte
}

// render is request with its bytes, made once while nothing changes.
func (p *asker) render(v excerpt, m *provider.Model, maxOutput int64) (*rendering, error) {
	if r := p.rendered; r != nil && r.v == v && r.model == m && r.max == maxOutput && r.shown == p.h.shown {
		return r, nil
	}
	p.rendered = nil // a large one is not kept beside the next
	r := &rendering{v: v, model: m, max: maxOutput, shown: p.h.shown, req: p.request(v, m, maxOutput)}
	var err error
	if r.raw, err = p.prov.Encode(m, r.req); err == nil {
		p.rendered = r
		if p.o.Prompt != nil {
			p.o.Prompt(len(r.raw))
		}
	}
	return r, err
}

// speech passes on what a model says while it says it, without secrets.
type speech struct {
	p     *thread
	n     int
	text  holdback
	think holdback
}

func (s *speech) delta(d provider.Delta) {
	s.n++
	if d.Reasoning != "" {
		s.say("cognition_reasoning", s.think.add(s.p.black, d.Reasoning), map[string]any{"chunk_index": s.n})
	}
	if d.Text != "" {
		s.say("cognition_out_delta", s.text.add(s.p.black, d.Text), map[string]any{"chunk_index": s.n, "is_final": false})
	}
}

func (s *speech) say(typ, text string, more map[string]any) {
	if text != "" {
		more["text"] = text
		s.p.live(typ, more)
	}
}

func (s *speech) end() {
	s.say("cognition_out_delta", s.text.rest(s.p.black), map[string]any{"chunk_index": s.n + 1, "is_final": true})
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
