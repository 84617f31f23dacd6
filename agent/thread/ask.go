package thread

import (
	"context"
	"errors"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// A loop asks a person one thing: whether the thread may go on. A yes lets it; with a no it has
// failed, whatever the loop wants.

// declined is how a thread ends that a person does not let go on.
var declined = failing("declined", "a person was asked whether to continue, and said no")

// doubt is such a question: what an answer is for, and why it is asked.
type doubt struct{ subject, because string }

// ask puts the question. There is one at a time.
func (h *host) ask(ctx context.Context, k int, text string) (any, error) {
	p := h.p
	if p.h.question != "" {
		return map[string]any{"id": p.h.question, "error": nil}, nil
	}
	d := doubt{because: words.Printable(p.black.text(clip(text, 2000)))}
	d.subject = sumOf([]byte(p.d.ID + "/" + stepKey(p.h.turn, k) + "\n" + d.because))
	open, yes, err := p.put(ctx, d)
	if yes { // to what an earlier process asked, and did not record: it is asked again
		open, _, err = p.put(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	if open == "" {
		return map[string]any{"id": nil, "error": map[string]any{"class": "unasked", "message": "no person could be asked, or one said no"}}, nil
	}
	return map[string]any{"id": open, "error": nil}, p.asked(open, d)
}

// put asks, or finds the answer. A yes counts once.
func (p *thread) put(ctx context.Context, d doubt) (open string, yes bool, err error) {
	err = p.o.Record.Approve(ctx, rye.Program("thread "+p.d.ID, "rye.thread.start"), d.subject, rye.Question{Topic: "go on", Text: "May the thread go on?",
		Lines: []string{"thread     " + p.d.ID, "directive  " + p.d.Directive, "because    " + d.because}})
	var q *rye.Unanswered
	switch {
	case err == nil:
		return "", true, nil
	case errors.As(err, &q):
		return q.ID, false, nil
	case fault.Is(err, fault.Denied):
		return "", false, nil
	}
	return "", false, err
}

func (p *thread) asked(open string, d doubt) error {
	return p.append("approval_requested", map[string]any{"question": open, "topic": "go on", "text": d.because, "digest": d.subject}, true)
}

// decided takes in what a person said to the question that was open. Where that cannot be
// found any more, because a process died that had found it, it is asked again.
func (p *process) decided(ctx context.Context, question string) error {
	open, yes, err := p.put(ctx, p.h.doubt)
	if err != nil {
		return err
	}
	if open != "" {
		if err := p.asked(open, p.h.doubt); err != nil {
			return err
		}
		return p.wait(ctx)
	}
	word := "no"
	if yes {
		word = "yes"
	}
	return p.append("approval_answered", map[string]any{"question": question, "answer": word}, true)
}

// failing and ending are ends of a thread as a loop would say them.
func failing(code, message string) loop.Next {
	return loop.Next{Kind: loop.Fail, Detail: map[string]any{"code": code, "message": message}}
}

func ending(text string) loop.Next {
	return loop.Next{Kind: loop.Done, Detail: map[string]any{"text": text}}
}
