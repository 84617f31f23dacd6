package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func outdatedCommand() *spec {
	var exitCode bool
	return &spec{
		name: "outdated", offers: true, group: "Share",
		short: "Show which dependencies have newer versions, or are yanked or deprecated",
		long: `Lists every item that rye.yaml asks for or that the lock pins from a registry: the pinned
version, the newest in the range, the newest of all, and any mark on the pinned one. Bundles
from other sources follow: their commit, the commit there now, and the branch or tag. rye
asks the registries and sources; with --offline it shows their last known state. Yanked,
deprecated and revoked versions are never shown as newest. Nothing in the project changes.`,
		examples: "rye outdated\nrye --offline outdated\nrye outdated --exit-code",
		exits:    append([]fault.Code{fault.Failed}, sharing...),
		flags:    []cli.Flag{&cli.BoolFlag{Name: "exit-code", Usage: "exit with 1 if a dependency is outdated or has a problem", Destination: &exitCode}},
		run: func(t *task) error {
			rep, err := t.w.Upkeep().Outdated(t.ctx, t.env.Caller)
			if rep == nil {
				return err
			}
			t.out.warn(rep.Warnings...)
			perr := rows(t.out, rep.Dependencies, dependencyRow)
			if perr == nil {
				perr = rows(t.out, rep.Origins, originRow)
			}
			if perr != nil || err != nil {
				return cmp.Or(err, perr)
			}
			n := 0
			for _, o := range rep.Origins {
				if o.Outdated || o.State != "ok" && o.State != "pinned" {
					n++
					t.out.next(o.Instead)
				}
			}
			for _, d := range rep.Dependencies {
				if d.Outdated || d.State != "ok" {
					n++
					t.out.next(d.Instead)
				}
			}
			all := dependencies(len(rep.Dependencies))
			if len(rep.Origins) > 0 {
				all += ", " + words.Plural(len(rep.Origins), "bundle") + " with an origin"
			}
			t.out.infof("%s, %d with a newer version or a problem%s", prose(all), n, prose(knownSince(rep)))
			if exitCode && n > 0 {
				t.exit = fault.Failed.Exit()
			}
			return nil
		},
	}
}

func dependencyRow(d rye.Dependency) []any {
	state := warning(d.State)
	switch {
	case d.State == "ok" && d.Outdated:
		state = warning("outdated")
	case d.State == "ok":
		state = good("ok")
	case d.State == "revoked", d.State == "redacted":
		state = bad(d.State)
	}
	return []any{d.Name, cmp.Or(d.Pinned, "-"), cmp.Or(d.InRange, "-"), cmp.Or(d.Newest, "-"), state, prose(d.Reason)}
}

func originRow(o rye.OriginInfo) []any {
	state := warning(o.State)
	switch o.State {
	case "ok", "pinned":
		state = good(o.State)
	case "moved", "rewritten", "signer", "gone":
		state = bad(o.State)
	}
	return []any{o.Name, cmp.Or(commitName(o.Commit), "-"), cmp.Or(commitName(o.Now), "-"), cmp.Or(strings.TrimPrefix(strings.TrimPrefix(o.Ref, "refs/heads/"), "refs/tags/"), "-"), state,
		prose(cmp.Or(o.Reason, o.Source))}
}

// commitName shortens the id of a commit as git does.
func commitName(id string) string { return id[:min(len(id), 9)] }

// knownSince returns the oldest time at which a registry or a source was asked; "" when one of the
// times is not known.
func knownSince(rep *rye.OutdatedReport) string {
	var times []string
	for _, d := range rep.Dependencies {
		times = append(times, d.Known)
	}
	for _, o := range rep.Origins {
		if o.State != "pinned" {
			times = append(times, o.Known)
		}
	}
	if len(times) == 0 {
		return ""
	}
	oldest := slices.Min(times)
	if oldest == "" {
		return ""
	}
	return prefixed(", as of ", oldest)
}

func treeCommand() *spec {
	var q rye.TreeRequest
	return &spec{
		name: "tree", slow: true, args: "[ref]", group: "Look",
		short: "Show the dependencies of the project or an item, or with --invert its users",
		long: `Dependencies are executors, declared dependencies (deps), the entries of rye.yaml, and the
members of bundles. (*) marks an item that is already in the tree; it is not expanded
again. An item that leads back to itself is marked and not expanded.`,
		examples: "rye tree\nrye tree tool:acme/hello\nrye tree tool:rye/core/runtimes/bash_runtime --invert --depth 1",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "invert", Aliases: []string{"i"}, Destination: &q.Invert, Usage: "show the items that use it"},
			&cli.IntFlag{Name: "depth", Destination: &q.Depth, Usage: "at most `n` levels below the first; 0 is all"},
		},
		max: 2, ref: &q.Ref,
		run: func(t *task) error {
			rep, err := t.w.Upkeep().Tree(t.ctx, t.env.Caller, q)
			if err != nil {
				return err
			}
			if t.out.json {
				return each(t.out, rep.Lines, nil)
			}
			t.out.printTree(rep.Lines, q.Invert)
			if rep.More {
				t.out.infof("there are more levels below")
			}
			return nil
		},
	}
}

// twigs are the symbols of a tree.
type twigs struct{ on, last, down, none string }

var (
	drawn   = twigs{"├─ ", "└─ ", "│  ", "   "}
	written = twigs{"|- ", "`- ", "|  ", "   "}
)

// printTree draws lines as a tree, with ASCII outside a terminal. It cuts long lines, because
// wrapping would break the tree.
func (p *printer) printTree(lines []rye.TreeLine, invert bool) {
	tw := written
	if p.tty {
		tw = drawn
	}
	last := lastOfAll(lines)
	var open []bool // by depth: more lines follow
	for i, l := range lines {
		open = append(open[:min(l.Depth, len(open))], !last[i])
		var b strings.Builder
		for d := 1; d < l.Depth && d < len(open); d++ {
			if open[d] {
				b.WriteString(tw.down)
			} else {
				b.WriteString(tw.none)
			}
		}
		if l.Depth > 0 && last[i] {
			b.WriteString(tw.last)
		} else if l.Depth > 0 {
			b.WriteString(tw.on)
		}
		text := b.String() + treeText(l)
		if invert {
			text += prefixed("  ", words.Quote(l.How))
		}
		if p.columns > 0 && words.Width(text) > p.columns {
			text = words.Fold(text, p.columns)[0]
		}
		p.exactf("%s\n", prose(text))
	}
}

// lastOfAll reports for each line whether it is the last one of its depth below its parent.
func lastOfAll(lines []rye.TreeLine) []bool {
	last := make([]bool, len(lines))
	var seen []bool // by depth, from the end on
	for i := len(lines) - 1; i >= 0; i-- {
		d := lines[i].Depth
		for len(seen) <= d {
			seen = append(seen, false)
		}
		last[i] = !seen[d]
		seen[d] = true
		seen = seen[:d+1]
	}
	return last
}

func treeText(l rye.TreeLine) string {
	text := words.Quote(l.Name) + prefixed(" ", words.Quote(l.Version))
	switch {
	case l.Cycle:
		text += "  (leads back to itself)"
	case l.Again:
		text += "  (*)"
	case l.Missing:
		text += "  (not here)"
	}
	return text
}
