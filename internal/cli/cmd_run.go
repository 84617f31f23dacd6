package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

func runCommand() *spec {
	var q rye.ExecuteRequest
	var params string
	var pairs cli.StringSlice
	return &spec{
		name: "run", offers: true, aliases: []string{"execute", "exec"}, args: "<ref> [-- arguments…]", group: "Run",
		short: "Run a tool, or print the text of a directive or a knowledge entry",
		long: `rye first verifies everything that runs, down to the runtime. A tool's output appears at
once. With --json, one object describes the run at its end; its metadata.timings has the
time of each step in milliseconds. -p name=value passes text, -p name:=value passes JSON
(numbers, lists, …).

A program of a bundle runs by its path: rye run acme/tide/scripts/tide.py -- 2026-11-28. It
gets what stands behind --, and the standard input unless that is a terminal. It reaches
what the needs of its bundle name, and without them no file of the project and no host.`,
		examples: "rye run tool:acme/hello -p name=world\nrye run tool:acme/resize -p width:=640 --locked\nrye run tool:acme/hello --params '{\"name\":\"world\"}' --dry-run\nrye run tool:acme/hello --params @input.json --json\nrye run acme/tide/scripts/tide.py -- --port Bergen",
		exits: []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback,
			fault.Denied, fault.Offline, fault.Drift, fault.Malformed, fault.Limit, fault.Interrupt},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "params", Destination: &params, Usage: "parameters as a JSON `object`, @file, or - for standard input"},
			&cli.StringSliceFlag{Name: "param", Aliases: []string{"p"}, Destination: &pairs, Usage: "one parameter, `name=value`; repeatable"},
			dryRun(&q.DryRun),
			&cli.BoolFlag{Name: "locked", Destination: &q.Locked, Usage: "refuse to run if anything differs from .ai/rye.lock"},
			&cli.BoolFlag{Name: "frozen", Destination: &q.Frozen, Usage: "the same as --locked --offline"},
			&cli.BoolFlag{Name: "pinned", Destination: &q.Pinned, Usage: "run the bytes that .ai/rye.lock pins, not the working tree"},
		},
		min: 1, max: 2, ref: &q.Ref, passed: &q.Args,
		run: func(t *task) (err error) {
			if q.Params, err = t.parameters(params, pairs.Value()); err != nil {
				return err
			}
			if !t.screen.InTTY {
				q.Stdin = t.screen.In
			}
			return t.runExecute(q)
		},
	}
}

func (t *task) runExecute(q rye.ExecuteRequest) error {
	live := &liveOutput{out: t.out.stream(), err: t.out.streamErr()}
	if !t.out.json {
		q.Stdout, q.Stderr = live.stdout, live.stderr
	}
	app.Listen(t.ctx)
	res, err := t.verbs().Execute(t.ctx, t.env.Caller, q)
	live.flush()
	if res != nil {
		if perr := t.out.show(res, func() { t.out.printRun(res, live.any) }); perr != nil {
			return perr
		}
	}
	if err == nil && res.Status == "error" {
		err = fault.New(fault.Failed, "%s: %s", q.Ref, cmp.Or(words.LastLine(res.Error), "it failed"))
	}
	return err
}

// liveOutput prints a tool's output while the tool runs.
type liveOutput struct {
	out, err io.Writer
	any      bool // something was printed
}

func (l *liveOutput) stdout(b []byte) {
	l.any = l.any || len(b) > 0
	l.out.Write(b)
}

func (l *liveOutput) stderr(b []byte) { l.err.Write(b) }

func (l *liveOutput) flush() {
	for _, w := range []io.Writer{l.out, l.err} {
		if f, ok := w.(interface{ Flush() error }); ok {
			f.Flush()
		}
	}
}

// printTaken names the files that appeared during a run, and that other programs would run by
// themselves.
func (p *printer) printTaken(all []rye.TakenInfo, left []rye.LeftInfo) {
	for _, t := range all {
		need := prose("")
		if t.Need != "" {
			need = prose("; to allow it, declare in the tool: needs: {write: [" + words.Quote(t.Need) + "]}")
		}
		p.infof("rye: appeared during the run, and moved away: %s (%s: %s)%s", t.Path, prose(t.How), prose(t.Kind), need)
		if t.Where != "" {
			p.infof("rye:   it is now %s", t.Where)
		}
	}
	if len(all) > 0 {
		p.infof("rye:   to see it, and to put it back: %s", typed("rye", "restore", "--taken"))
	}
	for _, l := range left {
		p.infof("rye: appeared during the run, and stays: %s (%s); %s may write it, and runs at the same time", l.Path, prose(l.Kind), l.By)
	}
}

// printReach prints the files and hosts that a run could reach.
func (p *printer) printReach(r *rye.Reach) {
	for _, f := range [...]struct{ name, value string }{{"needs", r.Needs}, {"limits", r.Limits}, {"sandbox", r.Sandbox}} {
		if f.value != "" {
			p.printf("  %-11s  %s\n", f.name, prose(f.value))
		}
	}
	for _, u := range r.Unbound {
		p.printf("  not limited  %s\n", prose(u))
	}
}

// printRun prints the result of a run. shown is true if its output was shown already.
func (p *printer) printRun(res *rye.ExecuteResult, shown bool) {
	switch {
	case res.Status == "validation_passed":
		p.printf("%s:%s would run\n", res.Type, res.ItemID)
		for _, l := range res.Chain {
			p.printf("  %s  %s  %s\n", l.ItemID, l.Space, faint(l.Integrity))
		}
		if r := res.Metadata.Reach; r != nil {
			p.printReach(r)
		}
	case res.Type == "tool" && !shown:
		p.content(dataText(res.Data))
	case res.Type != "tool":
		p.content(itemText(res))
		if res.Instructions != "" {
			p.infof("%s", prose(res.Instructions))
		}
	}
	for _, d := range res.Metadata.Denied {
		line := "rye: the sandbox refused " + d.What
		if d.Need != "" {
			line += "; to allow it: " + d.Need
		}
		p.infof("%s", prose(line))
	}
	if d := res.Metadata.Drift; d != "" && len(res.Metadata.Patched) == 0 { // a lock takes no patch
		p.infof("rye: drift: %s; rye lock %s:%s pins it", prose(strings.TrimPrefix(d, "lock: ")), res.Type, res.ItemID)
	}
	if names := res.Metadata.Patched; len(names) > 0 {
		p.infof("rye: patched, so no owner signed it: %s", prose(strings.Join(names, ", ")))
	}
	for _, l := range res.Chain {
		if l.State != "" && l.State != objects.Patched {
			p.infof("rye: %s: %s", l.State, l.ItemID)
		}
	}
	p.warn(res.Metadata.Warnings...)
	p.printTaken(res.Metadata.Taken, res.Metadata.Left)
	for _, l := range res.Chain {
		if l.State == objects.Legacy {
			p.infof("rye: %s is legacy: RYE OS's signature covers only a part of it, and your policy accepts it", l.ItemID)
		}
	}
}

// dataText returns a tool's answer for a person: text as text, the output of a
// subprocess unchanged, anything else as indented JSON.
func dataText(data json.RawMessage) string {
	if len(data) == 0 || string(data) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return ensureNewline(text)
	}
	var proc struct {
		Stdout     *string `json:"stdout"`
		ReturnCode *int    `json:"return_code"`
		ExitCode   *int    `json:"exit_code"` // from rye/bash/bash
	}
	if json.Unmarshal(data, &proc) == nil && proc.Stdout != nil && (proc.ReturnCode != nil || proc.ExitCode != nil) {
		return *proc.Stdout
	}
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data) + "\n"
	}
	return b.String() + "\n"
}

// itemText returns the text of a directive or a knowledge entry: its body if the data
// has one, else the whole content.
func itemText(res *rye.ExecuteResult) string {
	var d struct {
		Body    string `json:"body"`
		Content string `json:"content"`
	}
	if json.Unmarshal(res.Data, &d) == nil {
		if d.Body != "" {
			return ensureNewline(d.Body)
		}
		if d.Content != "" {
			return ensureNewline(d.Content)
		}
	}
	return dataText(res.Data)
}

func ensureNewline(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// maxParams bounds the input of --params from a file or a pipe, in bytes.
const maxParams = 16 << 20

// parameters joins --params and every -p into one JSON object. It refuses a name that
// is given twice, because it is ambiguous.
func (t *task) parameters(given string, pairs []string) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if given != "" {
		raw, err := t.readParams(given)
		if err != nil {
			return nil, err
		}
		// Strict, because a repeated name would lose one of its values.
		if err := strict.Decode(raw, maxParams, &all); err != nil && json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			return nil, fault.New(fault.Usage, "--params: %w", err)
		} else if err != nil || all == nil {
			return nil, fault.New(fault.Usage, "--params %q: want a JSON object", words.Brief(given)).Advise(`rye run %s --params '{"name":"value"}'`, strings.Join(quoted(t.args), " "))
		}
	}
	for _, pair := range pairs {
		name, value, err := parsePair(pair)
		if err != nil {
			return nil, fault.Wrap(err, "run").With(t.rightPair(err, pair))
		}
		if _, twice := all[name]; twice {
			return nil, fault.New(fault.Usage, "parameter %q is given twice", words.Brief(name))
		}
		all[name] = value
	}
	return json.Marshal(all)
}

// rightPair returns the hint for a malformed parameter.
func (t *task) rightPair(err error, pair string) fault.Hint {
	if h := fault.HintOf(err); !h.IsZero() {
		return h
	}
	return fault.Advice("rye run %s -p %s=value", strings.Join(quoted(t.args), " "), strings.Trim(pair, "=:"))
}

func parsePair(pair string) (string, json.RawMessage, error) {
	name, value, ok := strings.Cut(pair, "=")
	if !ok || name == "" || name == ":" {
		return "", nil, fault.New(fault.Usage, "-p %q: want name=value, or name:=JSON", words.Brief(pair))
	}
	if typed, ok := strings.CutSuffix(name, ":"); ok {
		if !json.Valid([]byte(value)) {
			return "", nil, fault.New(fault.Usage, "-p %q: want JSON after :=", words.Brief(pair)).Advise("-p %s=%s for text", typed, value)
		}
		return typed, json.RawMessage(value), nil
	}
	text, err := json.Marshal(value)
	return name, text, err
}

func (t *task) readParams(given string) ([]byte, error) {
	name := given
	if file, ok := strings.CutPrefix(given, "@"); ok {
		name = t.path(file)
	} else if given != "-" {
		return []byte(given), nil
	}
	from, err := t.input(name)
	if err != nil {
		return nil, fault.New(fault.Usage, "--params: %w", err)
	}
	defer from.Close()
	raw, err := io.ReadAll(io.LimitReader(from, maxParams+1))
	if err != nil {
		return nil, fault.New(fault.Failed, "read --params %q: %w", words.Brief(given), err)
	}
	if len(raw) > maxParams {
		return nil, fault.New(fault.Limit, "--params %q: more than %d bytes", words.Brief(given), maxParams)
	}
	return raw, nil
}

func lockCommand() *spec {
	var vendor bool
	var q rye.VendorRequest
	return &spec{
		name: "lock", slow: true, offers: true, args: "[ref…]", group: "Run",
		short: "Pin tools and everything that they run",
		long: `Writes .ai/rye.lock, to be committed with the project. Without refs, every item of the
project is locked. If a pinned item is refused, its old pin stays and the exit status is
that of the refusal.

With --vendor rye pins nothing. It copies what the lock pins from registries into
.ai/vendor, to be committed too, and removes other files from there. A clone then needs
no network: rye trust, rye pull, and its locked items run.`,
		examples: "rye lock\nrye lock tool:acme/hello\nrye lock verify\nrye lock --vendor --dry-run",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback, fault.Fork,
			fault.Offline, fault.Drift, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "vendor", Destination: &vendor, Usage: "copy what the lock pins from registries into .ai/vendor"},
			dryRun(&q.DryRun),
		},
		max: many,
		run: func(t *task) error {
			switch {
			case !vendor && q.DryRun:
				return fault.New(fault.Usage, "lock: --dry-run needs --vendor").Advise("rye lock verify shows what differs from the lock")
			case !vendor:
				return answerLock(t, t.w.Locks().Lock, rye.LockRequest{Targets: t.refs()})
			case len(t.args) > 0:
				return fault.New(fault.Usage, "lock: --vendor takes no refs, because it copies all that the lock pins").Mend("rye lock --vendor")
			}
			return answer(t, t.w.Locks().Vendor, q, printVendor)
		},
		subs: []*spec{{
			name:     "verify",
			short:    "Compare the lock with the present items",
			examples: "rye lock verify",
			exits:    []fault.Code{fault.NotFound, fault.Drift, fault.Malformed},
			run:      func(t *task) error { return answerLock(t, bare(t.w.Locks().Verify), none) },
		}, lockMergeCommand(), lockImportCommand()},
	}
}

// printVendor prints the changes to .ai/vendor.
func printVendor(p *printer, rep *rye.VendorReport) {
	p.resultf(rep.DryRun, "%s: %s\n", rep.Path, words.Plural(rep.Files, "file"))
	for _, a := range rep.Added {
		p.resultf(rep.DryRun, "%s  %s\n", good("added"), prose(words.Quote(a)))
	}
	for _, c := range rep.Changed {
		p.resultf(rep.DryRun, "%s  %s\n", warning("changed"), prose(words.Quote(c)))
	}
	for _, r := range rep.Removed {
		p.resultf(rep.DryRun, "%s  %s\n", warning("removed"), prose(words.Quote(r)))
	}
}

// answerLock prints the changes to the lock, or the differences from it.
func answerLock[Q any](t *task, run verb[Q, *rye.LockReport], q Q) error {
	return answerAlways(t, run, q, func(p *printer, rep *rye.LockReport, _ bool) {
		p.resultf(false, "%s: %s\n", rep.Path, words.Plural(rep.Items, "item"))
		for _, a := range rep.Added {
			p.resultf(false, "%s  %s\n", good("added"), prose(a))
		}
		for _, c := range rep.Changed {
			text := c.Why
			if c.From != c.To {
				text = cmp.Or(c.From, "none") + " -> " + cmp.Or(c.To, "none")
			}
			p.resultf(false, "%s  %s  %s\n", warning("changed"), c.Ref, prose(text))
		}
		for _, r := range rep.Removed {
			p.resultf(false, "%s  %s\n", warning("removed"), prose(r))
		}
		for _, k := range rep.Kept {
			p.printf("%s  %s  its pin stays\n", bad("refused"), prose(k.Ref))
		}
		for _, d := range rep.Drift {
			p.printf("%s  %s\n", bad("drift"), prose(d))
		}
		p.warn(rep.Warnings...)
	})
}
