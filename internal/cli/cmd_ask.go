package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// askDirective is the directive in the library that answers a question.
const askDirective = "directive:rye/agent/ask"

func askCommand() *spec {
	q := rye.StartRequest{Limits: &rye.ThreadLimits{}}
	var spend string
	return &spec{
		name: "ask", args: "<prompt>", group: "Run", engine: true, min: 1, max: many,
		short: "Ask a model that can read and search the project's items",
		long: `Starts a thread of ` + askDirective + `, and waits for it. The answer goes to
standard output; the calls and the cost go to standard error. With - the question
is read from standard input. Ctrl-C cancels the thread.`,
		examples: "rye ask 'which tool resizes pictures?'\nrye ask --model high --spend 0.05 'explain directive:acme/review'",
		exits:    threadExits,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Destination: &q.Model, Usage: "a tier or `name` of a model"},
			&cli.StringFlag{Name: "provider", Destination: &q.Provider, Usage: "`id` of a provider item"},
			&cli.StringFlag{Name: "spend", Destination: &spend, Usage: "spend at most this many `dollars`"},
		},
		run: func(t *task) (err error) {
			if q.Limits.Spend, err = dollars(spend); err != nil {
				return err
			}
			q.Ref, err = objects.ParseRef(askDirective)
			if err != nil {
				return err
			}
			if q.Prompt, err = t.prompt(); err != nil {
				return err
			}
			return t.ask(q)
		},
	}
}

// maxPrompt bounds a question in bytes.
const maxPrompt = 1 << 20

// prompt returns the question: the arguments or, with -, standard input.
func (t *task) prompt() (string, error) {
	if len(t.args) != 1 || t.args[0] != "-" {
		return strings.Join(t.args, " "), nil
	}
	raw, err := io.ReadAll(io.LimitReader(t.screen.In, maxPrompt+1))
	if err == nil && len(raw) > maxPrompt {
		err = fault.New(fault.Limit, "ask: more than %d bytes", maxPrompt)
	}
	if err == nil && strings.TrimSpace(string(raw)) == "" {
		err = fault.New(fault.Usage, "ask: standard input is empty")
	}
	return string(raw), err
}

func (t *task) ask(q rye.StartRequest) error {
	info, err := t.threads.Start(t.ctx, t.env.Caller, q)
	if err != nil {
		return err
	}
	err = t.threads.Follow(t.ctx, t.env.Caller, rye.FollowRequest{ID: info.ID, Follow: true}, t.askedFor)
	if t.ctx.Err() != nil { // the user no longer wants the answer
		stop, cancel := afterwards(t.ctx)
		defer cancel()
		if _, serr := t.threads.Stop(stop, t.env.Caller, rye.StopRequest{ID: info.ID}); serr == nil {
			t.out.infof("rye: cancelled thread %s", info.ID)
		}
		return fault.New(fault.Interrupt, "ask: interrupted")
	}
	if err != nil {
		return err
	}
	if info, err = t.threads.Thread(t.ctx, t.env.Caller, info.ID); err != nil {
		return err
	}
	if err := t.out.show(info, func() { t.out.content(ensureNewline(info.Text)) }); err != nil {
		return err
	}
	t.out.infof("rye: %s, %d tokens, thread %s", info.Spent, info.Usage.Total(), info.ID)
	return ended(info)
}

// askedFor shows the user the steps of the model on the way to its answer.
func (t *task) askedFor(e rye.Event) error {
	var d payload
	if err := json.Unmarshal(e.Payload, &d); err != nil {
		return nil // from a newer rye
	}
	switch e.Type {
	case "tool_call_start":
		t.out.infof("rye: %s", prose(d.call()))
	case "tool_call_result":
		if d.Error != "" {
			t.out.infof("rye: failed: %s", prose(words.Clip(words.LastLine(d.Error), 200)))
		}
	case "approval_requested":
		t.out.infof("rye: waits for: rye approve %s", d.Question)
	}
	return nil
}
