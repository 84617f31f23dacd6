package cli

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// threadExits are the codes that a thread, or starting one, can end with.
var threadExits = []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Integrity, fault.Untrusted,
	fault.Denied, fault.Drift, fault.Malformed, fault.Limit, fault.Interrupt}

func threadCommand() *spec {
	return &spec{
		name: "thread", group: "Run",
		short: "Let a model follow a directive, within its limits",
		long: `A thread is a running directive: a process with a model, a budget and capabilities. The
model works through search, load, execute and sign, and every call passes the same checks
as yours. The thread is recorded as a branch of the project's record: git log threads/<id>.`,
		examples: "rye thread start directive:acme/review -p file=main.go --follow\nrye thread list\nrye thread show 01k9\nrye thread resume 01k9",
		exits:    []fault.Code{fault.Usage},
		subs: []*spec{threadStart(), threadList(), threadShow(), threadLog(), threadFollow(), threadWait(),
			threadSend(), threadStop("cancel", false), threadStop("kill", true), threadResume(), threadExport(), threadCollect()},
	}
}

func threadStart() *spec {
	q := rye.StartRequest{Limits: &rye.ThreadLimits{}}
	var params, spend string
	var pairs cli.StringSlice
	var follow, wait bool
	return &spec{
		name: "start", engine: true, offers: true, args: "<ref>",
		short: "Start a thread of a directive",
		long: `Returns as soon as the thread's process runs; --follow shows its work until it ends.
Ctrl-C then stops the display, not the thread: rye thread cancel ends the thread.
A limit given here can only narrow the limits of the directive and the configuration.`,
		examples: "rye thread start directive:acme/review -p file=main.go --follow\nrye thread start directive:acme/review --spend 0.25 --turns 8 --dry-run",
		exits:    threadExits,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "params", Destination: &params, Usage: "inputs as a JSON `object`, @file, or - for standard input"},
			&cli.StringSliceFlag{Name: "param", Aliases: []string{"p"}, Destination: &pairs, Usage: "one input, `name=value`; repeatable"},
			&cli.StringFlag{Name: "prompt", Destination: &q.Prompt, Usage: "also send this `text` to the model"},
			&cli.StringFlag{Name: "model", Destination: &q.Model, Usage: "a tier or `name` of a model"},
			&cli.StringFlag{Name: "provider", Destination: &q.Provider, Usage: "`id` of a provider item"},
			&cli.StringFlag{Name: "spend", Destination: &spend, Usage: "spend at most this many `dollars`"},
			count("turns", &q.Limits.Turns, "at most `n` turns"),
			count("tokens", &q.Limits.Tokens, "at most `n` tokens, of all kinds"),
			count("seconds", &q.Limits.Duration, "at most `n` seconds"),
			repeated("allow", &q.Allow, "allow only this `capability`; repeatable"),
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Destination: &follow, Usage: "follow its work until it ends"},
			&cli.BoolFlag{Name: "wait", Destination: &wait, Usage: "wait until it ends, and print its result"},
			dryRun(&q.DryRun),
		},
		min: 1, max: 2, ref: &q.Ref,
		run: func(t *task) (err error) {
			if q.Params, err = t.parameters(params, pairs.Value()); err != nil {
				return err
			}
			if q.Limits.Spend, err = dollars(spend); err != nil {
				return err
			}
			return t.startThread(q, follow, wait)
		},
	}
}

func (t *task) startThread(q rye.StartRequest, follow, wait bool) error {
	info, err := t.threads.Start(t.ctx, t.env.Caller, q)
	if err != nil {
		return err
	}
	switch {
	case follow && !q.DryRun:
		return t.followThread(rye.FollowRequest{ID: info.ID, Live: true, Follow: true})
	case wait && !q.DryRun:
		t.out.infof("rye: thread %s", info.ID)
		return t.waitThread(rye.WaitRequest{ID: info.ID})
	}
	return t.out.show(info, func() {
		if q.DryRun {
			t.out.printf("would start %s with %s (%s)\n", bold(info.Directive), info.Model, info.Provider)
		} else {
			t.out.printf("%s  %s\n", good("started"), info.ID)
		}
		t.out.printAllowed(info)
	})
}

// count is a flag for a whole number above zero.
func count(name string, into *int64, usage string) cli.Flag {
	return &cli.Int64Flag{Name: name, Destination: into, Usage: usage, Action: func(_ *cli.Context, n int64) error {
		if n <= 0 {
			return fault.New(fault.Usage, "--%s %d: want 1 or more", name, n)
		}
		return nil
	}}
}

// printAllowed prints the capabilities and the limits of a thread.
func (p *printer) printAllowed(info *rye.ThreadInfo) {
	l := info.Limits
	p.printf("  at most      %s, %d tokens, %s, %s\n", l.Spend.String(), l.Tokens, words.Plural(int(l.Turns), "turn"), time.Duration(l.Duration*int64(time.Second)).String())
	for i, c := range info.Allowed {
		p.printf("  %-11s  %s\n", []string{"may", ""}[min(i, 1)], prose(c))
	}
	if len(info.Allowed) == 0 {
		p.printf("  may          nothing: the directive declares no permissions\n")
	}
	for _, c := range info.Denied {
		p.printf("  %-11s  %s\n", "may not", prose(c))
	}
	for _, ref := range info.Patched {
		p.printf("  %-11s  %s\n", "patched", prose(ref))
	}
}

// dollars reads an amount of money; "" gives 0.
func dollars(text string) (rye.Micros, error) {
	if text == "" {
		return 0, nil
	}
	whole, part, _ := strings.Cut(strings.TrimPrefix(text, "$"), ".")
	n, err := strconv.ParseUint(cmp.Or(whole, "0")+(part + "000000")[:6], 10, 62)
	if err != nil || len(part) > 6 || n == 0 {
		return 0, fault.New(fault.Usage, "--spend %q: want dollars, such as 0.25", text)
	}
	return rye.Micros(n), nil
}

func threadList() *spec {
	var q rye.ThreadListRequest
	return &spec{
		name: "list", aliases: []string{"ls"}, engine: true,
		short:    "List threads, the newest first",
		examples: "rye thread list\nrye thread list --all --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Destination: &q.All, Usage: "also threads that ended long ago"},
			&cli.StringFlag{Name: "under", Destination: &q.Under, Usage: "only thread `id` and its children"},
			&cli.IntFlag{Name: "limit", Destination: &q.Limit, Usage: "at most `n` (default: 100)"},
		},
		run: func(t *task) error {
			return answerRows(t, t.threads.List, q, "thread", func(i rye.ThreadInfo) []any {
				return []any{i.ID, statusStyle(i.Status), i.Directive, words.Plural(int(i.Turns), "turn"), i.Spent.String(), localTime(i.Started)}
			})
		},
	}
}

func statusStyle(status string) style {
	switch status {
	case "completed":
		return good(status)
	case "running", "created":
		return bold(status)
	case "waiting", "suspended", "interrupted":
		return warning(status)
	}
	return bad(status)
}

func threadShow() *spec {
	return &spec{
		name: "show", args: "<id>", engine: true, min: 1, max: 1,
		short:    "Show one thread: its state, cost and limits",
		examples: "rye thread show 01k9\nrye thread show 01k9 --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Denied},
		run:      func(t *task) error { return answer(t, t.threads.Thread, t.args[0], printThread) },
	}
}

func printThread(p *printer, i *rye.ThreadInfo) {
	p.printf("%s  %s  %s\n", i.ID, statusStyle(i.Status), bold(i.Directive))
	if i.Why != "" {
		p.printf("  why          %s\n", prose(i.Why))
	}
	if i.Question != "" {
		p.printf("  asks         rye approve %s\n", i.Question)
	}
	p.printf("  model        %s (%s)\n", i.Model, i.Provider)
	p.printf("  began        %s\n", localTime(i.Started))
	if i.Ended != "" {
		p.printf("  %-11s  %s\n", map[bool]string{true: "stopped", false: "ended"}[i.Status == "suspended"], localTime(i.Ended))
	}
	p.printf("  used         %s, %d tokens, %s\n", i.Spent.String(), i.Usage.Total(), words.Plural(int(i.Turns), "turn"))
	if i.Uncertain > 0 {
		p.printf("  of that      %s for calls of unknown cost\n", i.Uncertain.String())
	}
	p.printAllowed(i)
	if i.Branch != "" {
		p.printf("  branch       %s\n", i.Branch)
	}
	for _, name := range sortedNames(i.Outputs) {
		p.printf("  %-11s  %s\n", name, i.Outputs[name])
	}
	if i.Text != "" {
		p.printf("\n")
		p.block(i.Text)
	}
}

func threadLog() *spec {
	var q rye.FollowRequest
	return &spec{
		name: "log", args: "<id>", engine: true, min: 1, max: 1,
		short:    "Print the events of a thread",
		long:     "With --events or --json, each record is a line of JSON (docs/format/transcript.md).",
		examples: "rye thread log 01k9\nrye thread log 01k9 --events | jq -r .event_type",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Denied},
		flags:    eventFlags(&q),
		run: func(t *task) error {
			q.ID = t.args[0]
			return t.followThread(q)
		},
	}
}

func threadFollow() *spec {
	q := rye.FollowRequest{Live: true, Follow: true}
	return &spec{
		name: "follow", args: "<id>", engine: true, min: 1, max: 1,
		short:    "Follow the work of a thread until it ends",
		examples: "rye thread follow 01k9\nrye thread follow 01k9 --events",
		exits:    threadExits,
		flags:    eventFlags(&q),
		run: func(t *task) error {
			q.ID = t.args[0]
			return t.followThread(q)
		},
	}
}

func eventFlags(q *rye.FollowRequest) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "events", Destination: &q.Events, Usage: "print records as JSON, one a line"},
		&cli.Int64Flag{Name: "from", Destination: &q.From, Usage: "start at record `n`"},
	}
}

func (t *task) followThread(q rye.FollowRequest) error {
	visit := t.out.newThreadView().event
	if t.out.json || q.Events {
		q.Events = true
		visit = func(e rye.Event) error {
			if err := t.out.object(e); err != nil {
				return err
			}
			return t.out.flush()
		}
	}
	if err := t.threads.Follow(t.ctx, t.env.Caller, q, visit); err != nil {
		return t.leftAlone(q.ID, err)
	}
	if !q.Follow {
		return nil
	}
	info, err := t.threads.Thread(t.ctx, t.env.Caller, q.ID)
	if err != nil {
		return err
	}
	return ended(info)
}

// leftAlone reports that a thread continues, when the user stops watching it.
func (t *task) leftAlone(id string, err error) error {
	if t.ctx.Err() == nil {
		return err
	}
	t.out.infof("rye: thread %s goes on; to end it: rye thread cancel %s", id, id)
	return fault.New(fault.Interrupt, "thread %s: interrupted", id)
}

func threadWait() *spec {
	var q rye.WaitRequest
	return &spec{
		name: "wait", args: "<id>", engine: true, min: 1, max: 1,
		short:    "Wait until a thread ends, or waits for you",
		examples: "rye thread wait 01k9 --seconds 600 --json",
		exits:    threadExits,
		flags:    []cli.Flag{&cli.Float64Flag{Name: "seconds", Destination: &q.Seconds, Usage: "wait at most `n` seconds"}},
		run: func(t *task) error {
			q.ID = t.args[0]
			return t.waitThread(q)
		},
	}
}

func (t *task) waitThread(q rye.WaitRequest) error {
	if q.Seconds < 0 {
		return fault.New(fault.Usage, "--seconds %v: want 0 or more", q.Seconds)
	}
	info, err := t.threads.Wait(t.ctx, t.env.Caller, q)
	if err != nil {
		return t.leftAlone(q.ID, err)
	}
	if err := t.out.show(info, func() { printThread(t.out, info) }); err != nil {
		return err
	}
	return ended(info)
}

// suspensions maps the reason of a suspension to a code. Any other reason is fault.Failed.
var suspensions = map[string]fault.Code{"limit": fault.Limit, "auth": fault.Auth, "quota": fault.Auth, "network": fault.Network,
	"approval": fault.Denied, "damage": fault.Integrity}

// ended turns the status of a thread into the error of a command that waited for it.
func ended(i *rye.ThreadInfo) error {
	switch i.Status {
	case "completed", "running", "waiting", "created":
		return nil
	}
	reason, _, _ := strings.Cut(i.Why, ":")
	code := cmp.Or(suspensions[reason], fault.Failed)
	if i.Status != "suspended" {
		code = fault.Failed
	}
	if i.Status == "cancelled" || i.Status == "killed" {
		code = fault.Interrupt
	}
	err := fault.New(code, "thread %s is %s: %s", i.ID, i.Status, cmp.Or(i.Why, "see rye thread log"))
	switch {
	case i.Status == "interrupted", i.Status == "suspended" && code != fault.Limit:
		return err.Mend("rye thread resume %s", i.ID)
	case i.Status == "suspended":
		return err.Advise("raise it, as in: rye thread send %s --turns 5; then rye thread resume %s", i.ID, i.ID)
	}
	return stopped{err}
}

// stopped is the error of a thread that another command stopped. Its message is shown, because
// the waiting command itself was not interrupted.
type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

func threadSend() *spec {
	q := rye.SendRequest{Kind: "message"}
	var spend string
	return &spec{
		name: "send", args: "<id> [text]", engine: true, min: 1, max: 2,
		short:    "Send a message to a thread, or raise its limits",
		long:     "The thread reads the message before its next call of the model. --spend, --turns and\n--tokens add to its limits.",
		examples: "rye thread send 01k9 'look at the tests, too'\nrye thread send 01k9 --spend 0.50",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Denied},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "spend", Destination: &spend, Usage: "add this many `dollars`"},
			count("turns", &q.Limits.Turns, "add `n` turns"),
			count("tokens", &q.Limits.Tokens, "add `n` tokens"),
		},
		run: func(t *task) (err error) {
			if q.Limits.Spend, err = dollars(spend); err != nil {
				return err
			}
			q.ID, q.Text = t.args[0], t.arg(1)
			if q.Limits != (rye.ThreadLimits{}) {
				q.Kind = "raise"
			} else if q.Text == "" {
				return fault.New(fault.Usage, "thread send: no text and no limit").Advise("rye thread send %s 'text'", q.ID)
			}
			if err := t.threads.Send(t.ctx, t.env.Caller, q); err != nil {
				return err
			}
			return t.out.show(sent{q.ID, q.Kind}, func() { t.out.resultf(false, "%s  %s\n", good("sent"), q.Kind) })
		},
	}
}

// sent is the output of rye thread send --json.
type sent struct {
	ID   string `json:"thread_id"`
	Kind string `json:"kind"`
}

func threadStop(name string, kill bool) *spec {
	short := "End a thread and its running calls"
	if kill {
		short = "End a thread by killing its process"
	}
	return &spec{
		name: name, args: "<id>", engine: true, min: 1, max: 1,
		short:    short,
		examples: "rye thread " + name + " 01k9",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Denied},
		run: func(t *task) error {
			return answer(t, t.threads.Stop, rye.StopRequest{ID: t.args[0], Kill: kill}, func(p *printer, i *rye.ThreadInfo) {
				p.resultf(false, "%s  %s\n", statusStyle(i.Status), i.ID)
				if i.Status == "running" || i.Status == "waiting" {
					p.infof("rye: it ends as soon as its running calls can end; at once: rye thread kill %s", i.ID)
				}
			})
		},
	}
}

func threadResume() *spec {
	var q rye.ResumeRequest
	var follow bool
	return &spec{
		name: "resume", args: "<id>", engine: true, min: 1, max: 1,
		short: "Resume a thread that was interrupted or suspended",
		long: `Only the interrupted turn is repeated, from its records: nothing that had an effect is done
twice. If the result of a tool call is unknown, the model is shown that it is unknown.`,
		examples: "rye thread resume 01k9 --follow\nrye thread resume 01k9 --message 'try the other file'",
		exits:    threadExits,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Destination: &q.Message, Usage: "first send this `text` to the model"},
			&cli.BoolFlag{Name: "loop", Destination: &q.Loop, Usage: "use the present loop, not the loop of its start"},
			&cli.BoolFlag{Name: "accept-damage", Destination: &q.Accept, Usage: "resume although its records are damaged"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Destination: &follow, Usage: "follow its work until it ends"},
		},
		run: func(t *task) error {
			q.ID = t.args[0]
			info, err := t.threads.Resume(t.ctx, t.env.Caller, q)
			if err != nil {
				return err
			}
			if follow {
				return t.followThread(rye.FollowRequest{ID: info.ID, From: info.Seq + 1, Live: true, Follow: true})
			}
			return t.out.show(info, func() { t.out.resultf(false, "%s  %s\n", statusStyle(info.Status), info.ID) })
		},
	}
}

func threadExport() *spec {
	q := rye.ExportRequest{Form: "markdown"}
	var canonical, jsonl bool
	var k knowledgeFlags
	return &spec{
		name: "export", args: "<id>", engine: true, min: 1, max: 1,
		short: "Print a thread in another format, or make a knowledge entry from it",
		long: `Prints Markdown for people; --jsonl, or --json, prints the records; --canonical prints only
the calls, parameters, results and outputs, which are equal for two equal runs.
--knowledge writes an entry with the question, the actions and the findings, and signs it
with your key. Read it first (--dry-run prints it), because models then trust it as yours.`,
		examples: "rye thread export 01k9 > review.md\nrye thread export 01k9 --canonical\nrye thread export 01k9 --knowledge acme/what-review-found",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Untrusted, fault.Denied,
			fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "knowledge", Destination: &k.id, Usage: "write it as the signed knowledge entry `id`, such as acme/findings"},
			&cli.BoolFlag{Name: "force", Destination: &k.force, Usage: "with --knowledge: replace an existing entry; its history stays"},
			dryRun(&k.dry),
			&cli.BoolFlag{Name: "jsonl", Destination: &jsonl, Usage: "the records"},
			&cli.BoolFlag{Name: "canonical", Destination: &canonical, Usage: "calls, parameters, results and outputs, without times, ids and costs"},
		},
		run: func(t *task) error {
			q.ID = t.args[0]
			if err := k.check(canonical || jsonl); err != nil {
				return err
			}
			switch {
			case k.id != "":
				return t.exportKnowledge(q, k)
			case canonical && jsonl:
				return fault.New(fault.Usage, "thread export: --canonical or --jsonl, not both")
			case canonical:
				q.Form = "canonical"
			case jsonl, t.out.json:
				q.Form = "jsonl"
			}
			raw, err := t.threads.Export(t.ctx, t.env.Caller, q)
			if err != nil {
				return err
			}
			t.out.content(string(raw))
			return nil
		},
	}
}

func threadCollect() *spec {
	var q rye.CollectRequest
	days := 30
	return &spec{
		name: "gc", engine: true,
		short:    "Remove the journals of threads that ended long ago",
		long:     "Their branches and transcripts stay.",
		examples: "rye thread gc --days 7 --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Denied},
		flags: []cli.Flag{
			&cli.IntFlag{Name: "days", Destination: &days, Usage: "only threads that ended more than `n` days ago"},
			dryRun(&q.DryRun),
		},
		run: func(t *task) error {
			if days < 0 {
				return fault.New(fault.Usage, "thread gc: --days %d: want 0 or more", days)
			}
			q.Older = int64(days) * 24 * 3600
			return answer(t, t.threads.Collect, q, func(p *printer, rep *rye.CollectReport) {
				for _, id := range rep.Removed {
					p.resultf(q.DryRun, "%s  %s\n", removed.mark(q.DryRun), id)
				}
				p.infof("%s, %d bytes", words.Plural(len(rep.Removed), "thread"), rep.Bytes)
			})
		},
	}
}
