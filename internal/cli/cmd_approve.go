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
		short: "List the questions that wait for you, or approve one",
		long: `A question waits here when rye could not ask you directly: when an MCP client wants to
run a tool or to have an item signed, for example. Without an id, rye lists the open
questions of all projects. With an id, it shows the whole question and asks you. After a
yes, the client repeats the call and it goes through, once. No flag says yes, because a
program could type it.

A yes covers exactly the request that you saw: the caller, the tool with its runtimes and
the files that it can load, the parameters, the directory. Any difference is asked about
again. An unanswered question expires.`,
		examples: "rye approve\nrye approve 01kdyq3v8zj4w2n6p0r5s7t9ax\nrye approve --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied},
		max:      1,
		run:      func(t *task) error { return t.answerQuestion(false) },
	}
}

func denyCommand() *spec {
	return &spec{
		name: "deny", args: "[id]", group: "Run",
		short:    "Refuse a question that waits for you",
		long:     "Without an id, rye lists the open questions, as rye approve does. Until that question\nexpires, identical requests are refused without asking.",
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
