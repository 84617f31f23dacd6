package thread

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
)

// recover takes over from the process that ran the thread before: it says so, closes what was
// left open, pays what was not paid, and puts on the branch what is not there. It may be
// interrupted and done again.
func (p *process) recover(ctx context.Context) error {
	died, err := p.openMark()
	if err != nil {
		return err
	}
	if p.h.epoch == 0 {
		return p.start(ctx)
	}
	if err := p.book.Epoch(ctx, p.d.ID, p.epoch); err != nil {
		return err
	}
	resumed := map[string]any{"epoch": p.epoch, "boot_id": p.o.Boot}
	if p.accept {
		resumed["accepted"] = true
	}
	if err := p.append("thread_resumed", resumed, true); err != nil {
		return err
	}
	if p.h.deaths > 2 {
		return &stop{reason: "crash", detail: fmt.Sprintf("the process died %d times in turn %d", p.h.deaths-1, p.h.turn) + died}
	}
	if err := p.closeOpen(true); err != nil {
		return err
	}
	if err := p.payUnpaid(ctx); err != nil {
		return err
	}
	for _, f := range fieldsOf(&p.h.raised) {
		p.raiseLimit(f.name, *f.at)
	}
	for _, m := range slices.Clone(p.h.unheard) {
		if err := p.heed(ctx, m); err != nil {
			return err
		}
	}
	return p.capLedger(ctx)
}

// start is the first record of a thread.
func (p *process) start(ctx context.Context) error {
	if err := p.book.Epoch(ctx, p.d.ID, p.epoch); err != nil {
		return err
	}
	rec := map[string]any{"directive": p.d.Directive, "model": p.d.Model, "provider": p.d.Provider, "limits": p.d.Limits, "epoch": p.epoch,
		"loop": p.d.Loop, "capabilities": p.d.Capabilities, "boot_id": p.o.Boot}
	if p.d.Parent != "" {
		rec["parent_thread_id"] = p.d.Parent
	}
	if err := p.append("thread_started", rec, false); err != nil {
		return err
	}
	if len(p.d.Denied) > 0 {
		return p.append("narrowed", map[string]any{"asked": append(append([]string{}, p.d.Capabilities...), p.d.Denied...), "allowed": p.d.Capabilities, "denied": p.d.Denied}, false)
	}
	return nil
}

// closeOpen closes what the process before began and did not finish. Nobody knows what became
// of a call that ran: it is told to the model as unknown, and never repeated, but for one that
// only reads, where the thread goes on and asks for it again. A question to a model may have
// been billed: all that was held for it counts as spent.
func (p *process) closeOpen(again bool) error {
	for _, key := range slices.Sorted(maps.Keys(p.h.open)) {
		i := p.h.open[key]
		if i.call != nil && i.idempotent && again {
			delete(p.h.open, key)
			continue
		}
		if i.call != nil {
			r := result{Error: "interrupted: this may have been done or not; it was not done again", Unknown: true}
			if err := p.closeCall(*i.call, r, 0); err != nil {
				return err
			}
			continue
		}
		rec := map[string]any{"error_code": "interrupted", "category": "transient", "retryable": true, "key": key}
		if err := p.append("error_classified", rec, true); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long a process waits for a person. After that it ends, and the answer lets
// the thread be resumed.
const patience = 10 * time.Minute

// lookEvery is how often a question is looked at: people are slow.
const lookEvery = 300 * time.Millisecond

// wait waits until the questions of the turn are answered, and carries out what they were
// about. The journal says which question is open, not the loop.
func (p *process) wait(ctx context.Context) error {
	question := p.h.question
	if question == "" && !p.h.heard {
		return &stop{reason: "wait", detail: "the loop waits for an event that cannot come"}
	}
	if question == "" && p.h.whether { // an earlier process had the answer
		return nil
	}
	if question == "" {
		return p.finishCalls(ctx)
	}
	if err := p.commitAll(ctx); err != nil {
		return err
	}
	yes, err := p.answer(ctx, question)
	if err != nil {
		return err
	}
	return p.afterAnswer(ctx, question, yes)
}

// answer waits for a person's answer. However that ends, it costs no running time.
func (p *process) answer(ctx context.Context, question string) (yes bool, err error) {
	begun := p.o.Now()
	defer func() { p.began = p.began.Add(p.o.Now().Sub(begun)) }()
	for {
		answered, yes, err := p.o.Answered(ctx, question)
		if err != nil || answered {
			return yes, err
		}
		if p.o.Now().Sub(begun) > patience {
			return false, &stop{reason: "approval", detail: "no answer to question " + question, question: question}
		}
		if err := sleep(ctx, lookEvery); err != nil {
			return false, err
		}
	}
}

// afterAnswer carries out the calls that waited: those with the yes run, and the others are
// refused.
func (p *process) afterAnswer(ctx context.Context, question string, yes bool) error {
	if p.h.whether {
		return p.decided(ctx, question)
	}
	word := "no"
	if yes {
		word = "yes"
	}
	if err := p.append("approval_answered", map[string]any{"question": question, "answer": word}, true); err != nil {
		return err
	}
	return p.finishCalls(ctx)
}

// finishCalls carries out the calls of the newest answer that have no result, and waits again
// where another question comes of that.
func (p *process) finishCalls(ctx context.Context) error {
	questions, err := p.act(ctx, p.h.undone())
	if err != nil || len(questions) == 0 {
		return err
	}
	return p.wait(ctx)
}

// undone lists the calls of the newest answer without a result.
func (h *history) undone() (calls []call) {
	for i := len(h.said) - 1; i >= 0; i-- {
		if len(h.said[i].calls) == 0 {
			continue
		}
		for _, c := range h.said[i].calls {
			if _, ok := h.results[c.ID]; !ok {
				calls = append(calls, c)
			}
		}
		break
	}
	return calls
}

// finish writes the final record, puts everything on the branch, and throws the key away.
func (p *process) finish(ctx context.Context, next loop.Next) error {
	cost := p.cost()
	var err error
	if next.Kind == loop.Done {
		words, _ := next.Detail["text"].(string)
		if words == "" {
			words = p.h.text
		}
		rec := map[string]any{"cost": cost, "text": words}
		if out := p.h.returned(); out != nil {
			rec["outputs"] = out
		}
		err = p.append(journal.Completed, rec, true)
	} else {
		code, _ := next.Detail["code"].(string)
		message, _ := next.Detail["message"].(string)
		err = p.append(journal.Failed, map[string]any{"error_code": code, "message": message, "cost": cost}, true)
	}
	if err != nil {
		return p.halt(ctx, err)
	}
	return p.seal(ctx)
}

// cost is what final records say.
func (p *thread) cost() map[string]any {
	return map[string]any{"turns": max(p.h.turn-1, 0), "tokens": p.h.usage.Total(), "spend": p.h.spent, "uncertain": p.h.uncertain, "usage": p.h.usage, "elapsed_ms": p.running().Milliseconds()}
}

// seal is what is left to do after a final record; whoever finds it undone does it. The key
// goes last: while it is there, something may be left.
func (p *process) seal(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if err := p.commitAll(ctx); err != nil {
		return err
	}
	if err := p.book.End(ctx, p.d.ID); err != nil {
		return err
	}
	testOnlyStep("before key")
	err := dropKey(p.dir)
	testOnlyStep("after key")
	return err
}

// halt ends the process for a reason that is no end of the loop's: the law's, or something
// that broke. What a person can mend suspends the thread.
func (p *process) halt(ctx context.Context, why error) error {
	ctx = context.WithoutCancel(ctx)
	var s *stop
	if !errors.As(why, &s) {
		s = &stop{reason: "error", detail: why.Error()}
		if fault.Is(why, fault.Integrity) {
			s.reason = "damage"
		}
	}
	if s.reason == "disk" { // nothing more can be written; the next process finds what is there
		return fault.New(fault.Failed, "thread %s: %s", p.d.ID, s.detail)
	}
	if s.cancel {
		if err := p.inbox(ctx); err != nil {
			return err
		}
		if err := p.append(journal.Cancelled, map[string]any{"reason": s.detail, "cost": p.cost()}, true); err != nil {
			return err
		}
		return p.seal(ctx)
	}
	rec := map[string]any{"suspend_reason": s.reason, "detail": p.black.text(s.detail)}
	if s.question != "" {
		rec["question"] = s.question
	}
	if s.reason == "limit" {
		if err := p.append("limit_escalation_requested", map[string]any{"limit_code": limitCode(s.detail), "current_value": s.used, "current_max": s.most}, true); err != nil {
			return err
		}
		if ended, err := p.atLimit(ctx, s); ended || err != nil {
			return err
		}
		rec["detail"] = p.black.text(s.detail)
	}
	rec["running_ms"] = p.lap()
	if err := p.append(journal.Suspended, rec, true); err != nil {
		return err
	}
	return p.commitAll(ctx)
}

// limitCode is the word before the colon.
func limitCode(detail string) string {
	for i, r := range detail {
		if r == ':' {
			return detail[:i]
		}
	}
	return "limit"
}
