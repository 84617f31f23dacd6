package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/view"
)

// Bounds of what one answer of a model may ask for.
const (
	maxCalls  = 64      // calls; the rest is left out
	maxAtOnce = 4       // calls that run at the same time
	maxResult = 8 << 20 // bytes of a result that is kept
	shownEnds = 6_000   // bytes of the beginning and of the end of one that is too long
	maxError  = 4_000   // bytes of why a call failed, which may quote all that was called
)

// pending is a call that waits for a person.
type pending struct{ question string }

func (p *pending) Error() string { return "question " + p.question + " is open" }

// hands carry out what a model asks for.
type hands struct{ *thread }

// act carries out the calls of an answer, several at once, each at most once. What of them
// waits for a person is returned by its question, by the call's id.
func (p *hands) act(ctx context.Context, calls []call) (questions map[string]string, err error) {
	questions = map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAtOnce)
	var first error
	begun := map[string]bool{}
	for _, c := range calls {
		if _, done := p.resultOf(c.ID); done || begun[c.ID] { // whoever asks for it twice
			continue
		}
		begun[c.ID] = true
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			err := p.one(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			var wait *pending
			if errors.As(err, &wait) {
				questions[c.ID] = wait.question
			} else if first == nil {
				first = err
			}
		}()
	}
	wg.Wait()
	return questions, first
}

func (p *thread) resultOf(id string) (*result, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.h.results[id]
	return r, ok
}

// namer reads every form of a name. The workspace is one.
type namer interface {
	Name(ctx context.Context, c rye.Caller, q rye.NameRequest) (rye.Ref, error)
}

// one carries out one call, and records what came of it.
func (p *hands) one(ctx context.Context, c call) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.Bad != "" {
		return p.closeCall(c, result{Error: "the arguments cannot be read: " + c.Bad}, 0)
	}
	a, err := parseAct(&provider.Call{ID: c.ID, Name: c.Name, Args: c.Args})
	if err != nil {
		return p.closeCall(c, result{Error: view.Told(err, toolPrefix)}, 0)
	}
	if a.name != "" {
		if n, ok := p.o.Verbs.(namer); ok {
			a.ref, err = n.Name(ctx, p.caller, rye.NameRequest{Name: a.name, Verb: a.verb})
		} else {
			a.ref, err = objects.ParseRef(a.name)
		}
		if err != nil {
			return p.closeCall(c, result{Error: view.Told(err, toolPrefix)}, 0)
		}
	}
	begun := time.Now()
	r, err := p.carryOut(ctx, c, a)
	var wait *pending
	var halt *stop
	switch {
	case errors.As(err, &wait), errors.As(err, &halt):
		return err
	case err != nil && ctx.Err() != nil:
		// What ran was told to end, and did: it is known that it did not finish.
		r = result{Error: "it was ended: " + context.Cause(ctx).Error()}
	case err != nil:
		r = result{Error: view.Told(err, toolPrefix)}
	}
	if err := p.closeCall(c, r, time.Since(begun)); err != nil {
		return err
	}
	return nil
}

// begin records that a call is about to have its effect.
func (p *hands) beginCall(c call, tool string, idempotent bool, digest string) error {
	rec := map[string]any{"tool": tool, "call_id": c.ID, "input": c.Args, "idempotent": idempotent}
	if digest != "" {
		rec["digest"] = digest
	}
	return p.append("tool_call_start", rec, true)
}

// closeCall records what came of a call.
func (p *thread) closeCall(c call, r result, took time.Duration) error {
	rec := map[string]any{"call_id": c.ID, "output": p.black.text(r.Text), "duration_ms": took.Milliseconds()}
	if r.Error != "" {
		rec["error"] = clip(p.black.text(strings.ToValidUTF8(r.Error, "\ufffd")), maxError)
	}
	if r.Unknown {
		rec["unknown"] = true
	}
	if r.Done != nil {
		rec["detail"] = map[string]any{"outputs": r.Done}
	}
	return p.append("tool_call_result", rec, true)
}

// carryOut does what a call asks for.
func (p *hands) carryOut(ctx context.Context, c call, a act) (result, error) {
	switch a.verb {
	case "return":
		return p.returned(c, a)
	case "search":
		if err := p.beginCall(c, "search", true, ""); err != nil {
			return result{}, err
		}
		res, err := p.o.Verbs.Search(ctx, p.caller, a.search)
		if err != nil {
			return result{}, err
		}
		return result{Text: p.black.text(view.Found(res, false, toolPrefix).String())}, nil
	case "load":
		if err := p.beginCall(c, "load "+a.ref.String(), true, ""); err != nil {
			return result{}, err
		}
		res, err := p.o.Verbs.Load(ctx, p.caller, rye.LoadRequest{Ref: a.ref})
		if err != nil {
			return result{}, err
		}
		if err := p.pinned(a.ref, res.SHA256); err != nil {
			return result{}, err
		}
		return p.shown(c, view.Loaded(res, false).String())
	case "sign":
		return p.sign(ctx, c, a)
	}
	return p.execute(ctx, c, a)
}

// pinned refuses what is not what the thread began with.
func (p *thread) pinned(ref rye.Ref, sum string) error {
	switch want, ok := p.pins[ref.String()]; {
	case !ok:
		return fault.New(fault.Drift, "%s was not there when this thread began", ref)
	case want != sum:
		return fault.New(fault.Drift, "%s changed since this thread began", ref)
	}
	return nil
}

// execute runs a tool, or reads a directive or an entry. Its intent is recorded when every
// gate has let it pass, and before it runs.
func (p *hands) execute(ctx context.Context, c call, a act) (result, error) {
	name := "execute " + a.ref.String()
	q := rye.ExecuteRequest{Ref: a.ref, Params: a.params, Pins: p.pins, Callback: p.tether(c)}
	begun := false
	q.Begin = func(plan *rye.ExecuteResult) error {
		begun = true
		if v := plan.Metadata.Verdict; v != nil {
			verdict := map[string]any{"verdict": v.Verdict, "subject": a.ref.String(), "call_id": c.ID, "tier": v.Tier, "rule": v.Rule}
			if names := plan.Metadata.Patched; len(names) > 0 {
				verdict["reason"] = "patched, so no owner signed it: " + strings.Join(names, ", ")
			}
			if err := p.append("gate_verdict", verdict, false); err != nil {
				return err
			}
		}
		digest := ""
		if len(plan.Chain) > 0 {
			digest = plan.Chain[0].Integrity
		}
		return p.beginCall(c, name, plan.Metadata.Reads, digest)
	}
	if a.ref.Kind != objects.Tool {
		q.Begin = nil
		if err := p.beginCall(c, name, true, ""); err != nil {
			return result{}, err
		}
	}
	q.Stdout = func(b []byte) { p.progress(c, b) }
	res, err := p.o.Verbs.Execute(ctx, p.caller, q)
	var open *rye.Unanswered
	if errors.As(err, &open) && !begun {
		return result{}, p.await(c, a.ref, open)
	}
	if err != nil {
		if !begun && a.ref.Kind == objects.Tool {
			verdict := map[string]any{"verdict": "deny", "subject": a.ref.String(), "call_id": c.ID, "reason": p.black.text(err.Error())}
			if rerr := p.append("gate_verdict", verdict, false); rerr != nil {
				return result{}, rerr
			}
		}
		return result{}, err
	}
	if a.ref.Kind != objects.Tool {
		if err := p.pinned(a.ref, res.Chain[0].Integrity); err != nil {
			return result{}, err
		}
	}
	text, data := view.Output(res)
	if a.ref.Kind != objects.Tool {
		text = view.Executed(res, false).String() // with whose it is
	}
	r, err := p.shown(c, cmp.Or(text, string(data)))
	if err == nil && res.Status == "error" {
		r.Error = "the tool failed"
		if e := strings.TrimSpace(res.Error); e != "" {
			r.Error += ": " + clip(e, 2000)
		}
		if res.Exit != 0 {
			r.Error += fmt.Sprintf(" (exit status %d)", res.Exit)
		}
	}
	return r, err
}

// await records that a person has to answer before a call can run.
func (p *hands) await(c call, ref rye.Ref, q *rye.Unanswered) error {
	p.mu.Lock()
	asked := p.h.question == q.ID
	p.mu.Unlock()
	if !asked {
		if err := p.append("approval_requested", map[string]any{"question": q.ID, "topic": "run", "text": ref.String(), "call_id": c.ID}, true); err != nil {
			return err
		}
	}
	return &pending{q.ID}
}

// sign asks a person to sign what was written.
func (p *hands) sign(ctx context.Context, c call, a act) (result, error) {
	if err := p.beginCall(c, "sign "+a.ref.String(), false, ""); err != nil {
		return result{}, err
	}
	target := rye.Target(a.ref.String())
	rep, err := p.o.Verbs.Sign(ctx, p.caller, rye.SignRequest{Targets: []rye.Target{target}})
	if err != nil {
		return result{}, err
	}
	return result{Text: view.Signed(target, rep, toolPrefix).String()}, nil
}

// returned takes the outputs of the directive, when none is missing.
func (p *hands) returned(c call, a act) (result, error) {
	if err := p.beginCall(c, toolReturn, true, ""); err != nil {
		return result{}, err
	}
	if missing := a.missing(p.d); len(missing) > 0 {
		return result{Error: "missing outputs: " + strings.Join(missing, ", ")}, nil
	}
	return result{Text: "accepted", Done: a.returns}, nil
}

// shown keeps what is too long for a model in an artifact, and shows its beginning and end.
func (p *hands) shown(c call, text string) (result, error) {
	text = p.black.text(text)
	if !view.Long(text) {
		return result{Text: text}, nil
	}
	a, err := p.j.Keep(strings.NewReader(text), maxResult)
	if err != nil && !fault.Is(err, fault.Limit) {
		return result{}, &stop{reason: "disk", detail: err.Error()}
	}
	note := "the rest was too long to be kept"
	if err == nil {
		note = "the whole is artifact " + a.SHA256
		if err := p.append("artifact", map[string]any{"sha256": a.SHA256, "bytes": len(text), "call_id": c.ID}, false); err != nil {
			return result{}, err
		}
	}
	return result{Text: view.Ends(text, shownEnds, note)}, nil
}

// progress tells who follows what a tool says.
func (p *hands) progress(c call, b []byte) {
	p.live("progress", map[string]any{"text": clip(p.black.text(strings.ToValidUTF8(string(b), "�")), 2000), "call_id": c.ID})
}
