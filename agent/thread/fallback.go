package thread

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/provider"
)

// A provider's item may name other models of its own to ask when one fails with some class of
// failure. Which are asked, and in which order, follows from the item and the journal alone: a
// process that takes a thread up in the middle goes on with the model whose turn it was.

// course is how a question fared so far, by the journal.
type course struct {
	model string         // whose turn it is; "" for the one that the question names
	class string         // of the failure for which others are asked; "" while none is
	after time.Duration  // how long the provider asked to wait then
	tries map[string]int // by model
}

// courses are those of all questions, by step.
type courses map[string]*course

func (all courses) of(step string) *course {
	c := all[step]
	if c == nil {
		c = &course{tries: map[string]int{}}
		all[step] = c
	}
	return c
}

// turned takes in that another model is asked.
func (c *course) turned(model, class string, after time.Duration) {
	if c.class == "" {
		c.class, c.after = class, after
	}
	c.model = model
}

// failed closes an intent of which nothing came.
func (h *history) failed(r journal.Record) error {
	var key, class, other string
	var wait int64
	if err := h.members(r, map[string]any{"key": &key, "category": &class, "fallback": &other, "wait_ms": &wait}); err != nil {
		return err
	}
	delete(h.open, key)
	if other != "" {
		h.courses.of(stepOf(key)).turned(other, class, time.Duration(wait)*time.Millisecond)
	}
	return nil
}

// patienceWithOne is how long a model that fails is tried again while another could be asked.
const patienceWithOne = 10 * time.Second

// following is what follows a failed attempt: the end, unless there is a model to ask.
type following struct {
	model  *provider.Model
	wait   time.Duration
	passed []string // why others are passed over
}

// follow decides what follows a failure. A model is tried again as its provider's item says.
// Where that names others for the failure, its own attempts end after a few seconds, and each
// of the others is asked once; then the first has what is left of its attempts.
func (p *asker) follow(q *question, f *provider.Error) (next following) {
	if f.Sent && (f.Streamed || f.Status == 0) {
		q.uncertain++
	}
	c := p.h.courses.of(q.step)
	others := c.class != ""
	if q.uncertain >= maxUncertain || f.Class == provider.Cancelled || others && f.Class == provider.Auth {
		return next
	}
	class := cmp.Or(c.class, f.Class)
	why := f
	if others && q.model.ID != q.first.ID { // what the first waits for
		why = &provider.Error{Class: c.class, After: c.after}
	}
	wait, again := p.prov.Wait(why, c.tries[q.first.ID], chance())
	begins := time.Since(q.begun) + wait
	again = again && begins <= max(p.prov.Retry().Elapsed, time.Second)
	if again && !others && begins <= patienceWithOne {
		return following{model: q.first, wait: wait}
	}
	if next = p.another(q, class, c); next.model == nil && again {
		next.model, next.wait = q.first, wait
	}
	return next
}

// another finds the next model that the item names for a class of failures, was not asked yet,
// and can answer this question.
func (p *asker) another(q *question, class string, c *course) (next following) {
	for _, name := range p.prov.Fallback(class) {
		m, err := p.prov.Model(name)
		if err != nil || m.ID == q.first.ID || c.tries[m.ID] > 0 {
			continue
		}
		if why := p.unfit(q, m, class); why != "" {
			next.passed = append(next.passed, fmt.Sprintf("%s was skipped as a fallback for %s: %s", m.ID, q.first.ID, why))
			continue
		}
		next.model = m
		break
	}
	return next
}

// unfit says why a model cannot answer a question; "" where it can.
func (p *asker) unfit(q *question, m *provider.Model, class string) string {
	if len(q.whole.Tools) > 0 && !m.Supports.Tools {
		return "it takes no tools"
	}
	if class == provider.ContextOverflow && m.Context > 0 && m.Context <= q.first.Context {
		return "its context window is not larger"
	}
	req, raw, err := q.as(p.prov, m)
	if err != nil {
		return err.Error()
	}
	if m.Context > 0 && tokensOf(raw)+req.MaxOutput > m.Context {
		return "its context window is too small"
	}
	return ""
}

// as is a question for another model. What only the first can read is left out by the encoder.
func (q *question) as(p *provider.Provider, m *provider.Model) (*provider.Request, []byte, error) {
	req := *q.whole
	req.Model = m.ID
	if m.MaxOutput > 0 {
		req.MaxOutput = min(req.MaxOutput, m.MaxOutput)
	}
	raw, err := p.Encode(m, &req)
	return &req, raw, err
}

// turnTo makes it the turn of another model.
func (q *question) turnTo(p *provider.Provider, m *provider.Model) (err error) {
	if m.ID == q.model.ID {
		return nil
	}
	q.model = m
	q.req, q.raw, err = q.as(p, m)
	return err
}

// begin makes a question ready to be put: to the model whose turn it is.
func (p *asker) begin(q *question) error {
	q.begun, q.first, q.whole = time.Now(), q.model, q.req
	if turn := p.h.courses.of(q.step).model; turn != "" {
		m, err := p.prov.Model(turn)
		if err != nil {
			return err
		}
		if err := q.turnTo(p.prov, m); err != nil {
			return err
		}
	}
	return q.encode(p.prov)
}

// gaveUp is the failure that a question ends with. Where others were asked, what the first
// failed with counts: it says what can be done.
func (p *asker) gaveUp(q *question, f *provider.Error) *provider.Error {
	c := p.h.courses.of(q.step)
	if c.class == "" || q.model.ID == q.first.ID || f.Class == provider.Auth {
		return f
	}
	return &provider.Error{Class: c.class, Message: fmt.Sprintf("%s failed, and so did its fallbacks; the last one, %s: %s", q.first.ID, q.model.ID, f.Error())}
}
