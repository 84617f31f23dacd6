package cli

import (
	"context"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func approveCommand() *spec {
	return &spec{
		name: "approve", args: "[id]", group: "Run",
		short: "Show the questions that wait for you, and say yes to one",
		long: `What needs your yes and could not ask you at its own place waits here: what an MCP client
wants to run or to have signed, say. Without an id all open questions are listed, of
every project. With one it is shown whole, and you are asked; then the same call, made
again, goes through, once. No flag says yes: a program that asks could type it.

A yes is for exactly what was shown: who asks, the tool with everything that it runs by
and can load, the parameters, the directory. Of what differs you are asked anew. A
question that nobody answers ends by itself.`,
		examples: "rye approve\nrye approve 01kdyq3v8zj4w2n6p0r5s7t9ax\nrye approve --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied},
		max:      1,
		run:      func(t *task) error { return t.answerQuestion(false) },
	}
}

func denyCommand() *spec {
	return &spec{
		name: "deny", args: "[id]", group: "Run",
		short:    "Say no to a question that waits for you",
		long:     "Without an id the open questions are listed, as rye approve does. Until a question that\nyou said no to would have ended, the same is refused unasked.",
		examples: "rye deny\nrye deny 01kdyq3v8zj4w2n6p0r5s7t9ax",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied},
		max:      1,
		run:      func(t *task) error { return t.answerQuestion(true) },
	}
}

func (t *task) answerQuestion(no bool) error {
	if len(t.args) == 0 {
		return answerRows(t, bare(t.openQuestions), none, "open question", func(q rye.OpenQuestion) []any {
			return []any{q.ID, q.Caller, bold(prose(q.Topic)), q.Directory, "until " + localTime(q.Expires)}
		})
	}
	return answer(t, t.w.Policy().Answer, rye.AnswerRequest{ID: t.args[0], No: no}, func(p *printer, q *rye.OpenQuestion) {
		word := good("approved")
		if q.Answer == "no" {
			word = bad("denied")
		}
		p.printf("%s  %s  %s\n", word, q.ID, prose(q.Topic))
	})
}

// openQuestions returns the unanswered questions.
func (t *task) openQuestions(ctx context.Context, c rye.Caller) ([]rye.OpenQuestion, error) {
	all, err := t.w.Policy().Questions(ctx, c)
	return slices.DeleteFunc(all, func(q rye.OpenQuestion) bool { return q.Answer != "" }), err
}

// localTime returns a time of a report in the local time zone.
func localTime(stamp string) string {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return stamp
	}
	return at.Local().Format("2006-01-02 15:04")
}
