package cli

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

func verifyCommand() *spec {
	var q rye.VerifyRequest
	return &spec{
		name: "verify", slow: true, aliases: []string{"validate"}, args: "[ref | path…]", group: "Look",
		short:    "Check signatures, digests and trust; write nothing",
		long:     "Without arguments, rye checks every item that the project could use. The exit status is\nthat of the first item that fails. Mistakes in your items' text, by the rules of their\nkind and the project's extractors, are only shown and do not fail. Of a bundle, rye checks\nevery file; its directory may lie outside of .ai.",
		examples: "rye verify\nrye verify tool:acme/hello --explain\nrye verify bundle:acme/report\nrye verify ./unpacked",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback, fault.Malformed},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "explain", Destination: &q.Explain, Usage: "show each check"}},
		max:      many,
		run: func(t *task) error {
			collectFrom(amongGarbage)
			q.Targets = t.refs()
			if len(q.Targets) == 1 && t.isUnpacked(q.Targets[0]) {
				return t.verifyBundle(q.Targets[0])
			}
			res, err := t.w.Verify(t.ctx, t.env.Caller, q)
			if t.offered(err) {
				res, err = t.w.Verify(t.ctx, t.env.Caller, q)
			}
			if err != nil && len(q.Targets) == 1 && t.isBundle(q.Targets[0]) {
				if len(res) == 0 {
					return t.verifyBundle(q.Targets[0]) // its manifest cannot be read
				}
				defer t.showDifferences(q.Targets[0])
			}
			if err != nil && len(res) == 0 {
				return err
			}
			// err is the first of their errors.
			if perr := verdicts(t.out, res, printVerdict, func(v rye.VerifyResult) (bool, fault.Code) { return v.OK, v.Code }, "failed verification"); perr != nil {
				return perr
			}
			t.out.infof("%s verified", words.Plural(len(res), "item"))
			return err
		},
	}
}

func printVerdict(p *printer, v rye.VerifyResult) {
	if v.OK {
		more := len(v.Checks)+len(v.Mistakes) > 0 // more lines follow this one
		what := faint(v.Signer)
		if v.State == objects.Legacy {
			what = warning(prose("legacy, covers " + v.Covers))
		}
		p.resultf(more, "%s    %s  %s%s\n", good("ok"), v.Ref, what, older(v.State))
	} else {
		p.printf("%s  %s: %s\n", bad("FAIL"), cmp.Or(v.Ref, v.Path), prose(v.Error))
	}
	for _, c := range v.Checks {
		p.printf("      %s  %s: %s\n", checkMark(c), c.Name, prose(c.Text))
	}
	p.printMistakes(v.Mistakes)
	p.hint(v.Hint)
	p.warn(v.Warning)
}

// older returns a word to print after the name of an item that is older than its record.
func older(s rye.State) prose {
	if s == objects.Older {
		return prose("  " + s)
	}
	return ""
}

func statusCommand() *spec {
	var all bool
	return &spec{
		name: "status", slow: true, group: "Look",
		short:    "Show the items of the project that need attention",
		long:     "Items that are signed and recorded are only counted; --all lists them too, and recorded\nitems of other branches. Other states: modified, unsigned, untrusted, older, returned,\ndrift, absent, denied, legacy, malformed, merged, conflict, patched, revoked. The exit status\nis always 0; rye verify fails on these states.",
		examples: "rye status\nrye status --all\nrye status --json",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Destination: &all, Usage: "every item, the signed and recorded ones too"}},
		run: func(t *task) error {
			collectFrom(untilGarbage)
			sum, err := t.survey(all)
			if err != nil {
				return err
			}
			if t.out.json {
				return each(t.out, sum.Items, nil)
			}
			t.out.printStatus(sum, all)
			return nil
		},
	}
}

// survey returns the Survey. With all it has every item.
func (t *task) survey(all bool) (*rye.Survey, error) {
	if !all {
		return t.w.Survey(t.ctx, t.env.Caller)
	}
	items, err := t.w.Status(t.ctx, t.env.Caller)
	sum := &rye.Survey{Count: map[rye.State]int{}, Items: items}
	for i := range items {
		sum.Count[items[i].State]++
	}
	return sum, err
}

func (p *printer) printStatus(sum *rye.Survey, all bool) {
	rows := statusRows(sum.Items, all)
	if len(rows) > firstSight && !sum.Accepted && !all {
		rows = rows[:firstSight] // a clone decides how many reasons there are
		defer p.infof("and more: rye status --all")
	}
	p.table(rows)
	n, parts := 0, []string(nil)
	for _, s := range slices.Sorted(maps.Keys(sum.Count)) {
		n += sum.Count[s]
		parts = append(parts, fmt.Sprintf("%d %s", sum.Count[s], s))
	}
	p.infof("%s%s", words.Plural(n, "item"), prose(prefixed(": ", strings.Join(parts, ", "))))
	p.next(sum.Next)
	p.printDependencies(sum)
	for _, text := range sum.Ignored {
		p.infof("%s", text)
	}
	if sum.OldRecord != "" {
		p.infof("rye: %s is ignored: a record of rye 0.1, or from a clone; rm -r %s", sum.OldRecord, sum.OldRecord)
	}
}

// firstSight is how many rows rye shows of the items of a directory that the user has not accepted.
const firstSight = 8

// fewAlike is how many items with one state for one reason have lines of their own.
const fewAlike = 4

// statusRows returns the rows of a status. Without all, many items with one state for one reason
// are one row: a new clone is not read item by item.
func statusRows(items []rye.ItemInfo, all bool) (rows [][]any) {
	type reason struct {
		state rye.State
		note  string
	}
	alike := map[reason][]string{}
	for i := range items {
		it := &items[i]
		r := reason{it.State, notes(it)}
		alike[r] = append(alike[r], cmp.Or(it.Ref, it.Path)) // a file that cannot be an item has no ref
	}
	for i := range items {
		r := reason{items[i].State, notes(&items[i])}
		names := alike[r]
		name := cmp.Or(items[i].Ref, items[i].Path)
		switch {
		case all || len(names) <= fewAlike:
		case name != names[0]:
			continue
		default:
			name = fmt.Sprintf("%d items: %s, %s …", len(names), names[0], names[1])
		}
		rows = append(rows, []any{stateStyle(r.state), name, prose(r.note)})
	}
	return rows
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func stateStyle(s rye.State) style {
	switch s {
	case "signed":
		return good(string(s))
	case "unsigned", "legacy", "older", "drift", "merged":
		return warning(string(s))
	}
	return bad(string(s))
}

// notes returns the remarks of rye status about an item.
func notes(it *rye.ItemInfo) string {
	var n []string
	if it.Why != "" && it.Why != string(it.State) && !strings.HasSuffix(it.Why, ": "+string(objects.Unsigned)) {
		n = append(n, it.Why)
	}
	switch it.State {
	case objects.Merged:
		n = append(n, "next: rye sign "+it.Ref+", then git add, commit and push")
	case objects.Conflict:
		n = append(n, "next: rye resolve, then sign, git add, commit and push; a web site cannot merge it")
	}
	if it.Covers != "" && !strings.Contains(it.Why, it.Covers) {
		n = append(n, "legacy, covers "+it.Covers)
	}
	if it.Bundle != "" && it.Kind != "bundle" {
		n = append(n, "in bundle "+words.Quote(it.Bundle))
	}
	if it.State == "signed" && !it.Recorded {
		n = append(n, "not recorded yet")
	}
	if it.Locked {
		n = append(n, "locked")
	}
	if len(it.Shadows) > 0 {
		n = append(n, "shadows "+string(listed(it.Shadows)))
	}
	return strings.Join(n, "; ")
}

func listCommand() *spec {
	var q rye.ListRequest
	var all bool
	return &spec{
		name: "list", slow: true, aliases: []string{"ls"}, args: "[kind]", group: "Look",
		short:    "List the items of the project and of your user space",
		long:     "The standard library is the system space. Its items are only counted; --all lists them\ntoo, also with --json. In a new clone with many items, rye shows a summary and what to do\nfirst; --all lists the items.",
		examples: "rye list\nrye list tool --all\nrye list bundle",
		exits:    []fault.Code{fault.Usage, fault.Integrity, fault.Untrusted, fault.Malformed},
		flags: []cli.Flag{kindFlag(&q.Kind), spaceFlag(&q.Space),
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Destination: &all, Usage: "every item, those of the standard library too"}},
		max: 1,
		run: func(t *task) error {
			if len(t.args) == 1 {
				q.Kind = t.args[0]
				if one, ok := strings.CutSuffix(q.Kind, "s"); ok && (one == "bundle" || slices.Contains(objects.Kinds, objects.Kind(one))) {
					q.Kind = one // people type rye list tools
				}
			}
			if q.Kind == "bundle" {
				return t.listBundles(q.Space)
			}
			collectFrom(untilGarbage)
			return t.list(q, all || q.Space != "")
		},
	}
}

// list prints items. Unless all is set, it counts those of the library, and sums up a directory
// that the user has not accepted.
func (t *task) list(q rye.ListRequest, all bool) error {
	items, err := t.w.List(t.ctx, t.env.Caller, q)
	if err != nil {
		return err
	}
	found := len(items)
	if !all {
		items = slices.DeleteFunc(items, func(it rye.ItemInfo) bool { return it.Space == objects.System.String() })
	}
	count := words.Plural(len(items), "item")
	if more := found - len(items); more > 0 {
		count += fmt.Sprintf(", and %d of the library: rye list --all", more)
	}
	if sum, err := t.unaccepted(items, all); err != nil {
		return err
	} else if sum != nil {
		rows := statusRows(items, false)
		t.out.table(rows[:min(len(rows), firstSight)])
		t.out.infof("%s", count)
		t.out.next(sum.Next)
		return nil
	}
	err = rows(t.out, items, func(it rye.ItemInfo) []any {
		t.out.warn(it.Warning)
		return itemRow(it)
	})
	if err != nil {
		return err
	}
	t.out.infof("%s", count)
	return nil
}

// unaccepted returns the survey of a directory that the user has not accepted, if items are so
// many that only their sum is shown; otherwise nil.
func (t *task) unaccepted(items []rye.ItemInfo, all bool) (*rye.Survey, error) {
	untrusted := func(it rye.ItemInfo) bool { return it.State == objects.Untrusted }
	if all || t.out.json || len(items) <= firstSight || !slices.ContainsFunc(items, untrusted) {
		return nil, nil
	}
	sum, err := t.survey(false)
	if err != nil || sum.Accepted {
		return nil, err
	}
	return sum, nil
}

func itemRow(it rye.ItemInfo) []any {
	return []any{it.Ref, it.Space, it.Version, stateStyle(it.State), it.Description}
}

func showCommand() *spec {
	q := shown{}
	return &spec{
		name: "show", aliases: []string{"view"}, args: "<ref> | <bundle> | <item>@<range> | <namespace> | <registry>", group: "Look",
		short: "Show the details of an item, a bundle, a namespace or a registry",
		long: `Of an item here, rye shows its source, its needs and its users; of a bundle, its manifest,
trusted or not. rye load prints the text of an item.

Of an item that is not here, with a version, or with --published, rye shows what its
registry offers: every version with its marks, signer, publisher and dependencies, the
locked one, and the one that the range in rye.yaml allows. Of a namespace it shows the items
and keys, of a registry the namespaces. rye asks the registry; if that fails, it shows the
last verified state and its age.

--resolved merges a configuration from every space, the project over the user over the
system, and the configurations that it extends. If one of them may not be used, rye
refuses the whole.`,
		examples: "rye show tool:acme/hello\nrye show tool:acme/hello --all    # and the items that it shadows\nrye show bundle:acme/report\nrye show acme/tool/hello@^1.0\nrye show tool:acme/hello --published\nrye show acme\nrye show main --json\nrye show config:rye/agent --resolved",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback, fault.Stale,
			fault.Fork, fault.Denied, fault.Offline, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Destination: &q.all, Usage: "in every space, not only the first that has it"},
			&cli.BoolFlag{Name: "resolved", Destination: &q.resolved, Usage: "a configuration, merged from every space"},
			&cli.BoolFlag{Name: "published", Destination: &q.published, Usage: "what the registry offers, also of an item that is here"},
			registryOnly(&q.registry),
		},
		min: 1, max: 2,
		run: func(t *task) error { return t.show(q) },
	}
}

// shown is what the user of rye show asks for.
type shown struct {
	all, resolved, published bool
	registry                 string
}

func (t *task) show(q shown) error {
	targets := t.refs()
	if len(targets) != 1 {
		return fault.New(fault.Usage, "show: want one name, got %d", len(targets)).Advise("rye show <name>")
	}
	name := string(targets[0])
	if q.published || q.registry != "" || strings.Contains(name, "@") {
		return t.showPublished(rye.PublishedRequest{Name: name, Registry: q.registry})
	}
	if t.isBundle(targets[0]) {
		if err := t.showBundle(targets[0]); !fault.Is(err, fault.NotFound) {
			return err
		}
		name, _ = strings.CutPrefix(name, "bundle:")
	}
	ref, err := t.w.Ref(t.ctx, t.env.Caller, name)
	if err == nil {
		err = t.showItem(rye.ShowRequest{Ref: ref, All: q.all}, q.resolved)
	}
	if !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Usage) || q.all || q.resolved || filepath.IsAbs(name) || t.env.Back != nil {
		return err
	}
	if perr := t.showPublished(rye.PublishedRequest{Name: name}); !fault.Is(perr, fault.NotFound) && !fault.Is(perr, fault.Usage) {
		return perr
	}
	return err
}

func (t *task) showItem(q rye.ShowRequest, resolved bool) error {
	if resolved {
		return t.showResolved(q)
	}
	if t.env.Back != nil && !q.All {
		return answer(t, t.env.Back.Load, rye.LoadRequest{Ref: q.Ref}, func(p *printer, res *rye.LoadResult) { p.printItem(res.ItemInfo) })
	}
	n := 0
	return answerEach(t, t.w.Show, q, func(p *printer, it rye.ItemInfo) {
		if n++; n > 1 {
			p.printf("\n")
		}
		p.printItem(it)
	})
}

// showResolved prints a configuration after merging, with a comment for each item in it.
func (t *task) showResolved(q rye.ShowRequest) error {
	if q.Ref.Kind != objects.Config || q.All {
		return fault.New(fault.Usage, "show %s --resolved: want one configuration, without --all", q.Ref)
	}
	res, err := t.w.Record().Config(t.ctx, t.env.Caller, string(q.Ref.ID))
	if err != nil {
		return err
	}
	var text []byte
	if !t.out.json {
		if text, err = yamlOf(res.Value); err != nil {
			return fault.Wrap(err, "show %s", q.Ref)
		}
	}
	return t.out.show(res, func() {
		for _, s := range res.Sources {
			t.out.printf("# %-7s  %s  %s\n", s.Space, s.Ref, s.SHA256)
		}
		t.out.content(string(text))
	})
}

// yamlOf writes a value as YAML, and refuses a value that would not read back the same: the
// library writes some keys without the quotes that they need.
func yamlOf(v map[string]any) ([]byte, error) {
	text, err := objects.EncodeYAML(v)
	if err != nil {
		return nil, err
	}
	var back map[string]any
	if err := objects.DecodeYAML(text, len(text), &back); err != nil {
		return nil, fault.New(fault.Malformed, "rye cannot print it as YAML: %w", err).Advise("show it with --json")
	}
	return text, nil
}

func (p *printer) printItem(it rye.ItemInfo) {
	p.printf("%s  %s\n", bold(it.Ref), stateStyle(it.State))
	path := it.Path
	if it.Origin != "" {
		path = "" // the item is only in the record, not in the working tree
	}
	p.fields(11, "why", prose(it.Why), "space", it.Space, "origin", cmp.Or(it.Origin, it.Source), "path", path, "version", it.Version, "asked for", it.Range, "published", listed(it.Published),
		"description", it.Description, "category", it.Category, "tags", listed(it.Tags),
		"covers", prose(it.Covers), "bundle", it.Bundle, "executor", it.Executor, "part", map[bool]string{true: "other tools load it, and nothing runs it"}[it.Part], "needs", prose(it.Needs), "limits", prose(it.Limits), "model", it.Model, "signer", it.Signer, "signed at", it.SignedAt,
		"sha256", it.SHA256, "shadows", listed(it.Shadows), "used by", listed(it.UsedBy))
	p.printList("examples", it.Examples)
	for _, name := range sortedKeys(it.Fields) {
		p.field(11, name, it.Fields[name])
	}
	p.printParams("parameters", it.Params)
	p.printParams("outputs", it.Outputs)
	p.printRunNames(it.Programs)
	p.printList("permissions", it.Permissions)
	p.printList("hooks", it.Hooks)
	p.warn(it.Warning)
}

// printList prints texts under one heading, one on each line.
func (p *printer) printList(head string, all []string) {
	for _, text := range all {
		p.field(11, head, text)
		head = ""
	}
}

// printParams prints the inputs or outputs of an item, one on each line.
func (p *printer) printParams(head string, params []rye.ParamInfo) {
	for i, x := range params {
		if i > 0 {
			head = ""
		}
		text := words.Quote(x.Name)
		for _, w := range []string{x.Type, map[bool]string{true: "required"}[x.Required], x.Description, prefixed("default ", x.Default)} {
			text += prefixed(", ", words.Quote(w))
		}
		p.field(11, head, prose(text))
	}
}

func loadCommand() *spec {
	var q rye.LoadRequest
	return &spec{
		name: "load", aliases: []string{"cat"}, offers: true, args: "<ref>", group: "Look",
		short:    "Print the text of an item, byte for byte",
		long:     "Prints the item itself, for reading or for a pipe; rye show prints its details. An item\nthat fails verification is not printed.",
		examples: "rye load directive:acme/review\nrye load tool:rye/core/system/info --space system",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback, fault.Malformed},
		flags:    []cli.Flag{spaceFlag(&q.Space)},
		min:      1, max: 2, ref: &q.Ref,
		run: func(t *task) error {
			return answer(t, t.verbs().Load, q, func(p *printer, res *rye.LoadResult) {
				p.content(res.Content)
				p.warn(res.Warning)
			})
		},
	}
}

func kindFlag(into *string) cli.Flag {
	return &cli.StringFlag{Name: "kind", Destination: into, Usage: "only this `kind`: directive, tool, knowledge, config or bundle"}
}

func spaceFlag(into *string) cli.Flag {
	return &cli.StringFlag{Name: "space", Destination: into, Usage: "only this `space`: project, user or system"}
}

// spaceOf is the flag --space for commands that look at the record.
func spaceOf(into *string) cli.Flag {
	return &cli.StringFlag{Name: "space", Destination: into, Usage: "`space` of the items: project (default) or user"}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// checkMark returns the mark for the result of a check.
func checkMark(c rye.Check) style {
	switch {
	case c.OK:
		return good("ok")
	case c.Skipped:
		return faint("--")
	}
	return bad("no")
}
