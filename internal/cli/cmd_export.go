package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func exportCommand() *spec {
	var q rye.ClientExport
	var to []string
	var plain, list, brief bool
	var plugin, as, site string
	return &spec{
		name: "export", args: "[<bundle | pattern>…] [--to <client>…] | --plugin <folder> | --site <folder> | --plain <folder>", group: "Items",
		short: "Write verified skills where clients read them, and keep them in step",
		long: `Copies verified skills byte for byte, and the commands, agents and rules of plugins in each
client's form, into the directories of the clients of --to. A person agrees once to each client
and to each set of programs: clients run programs without the limits of rye. With --confined a
stub that calls rye stands in the place of each program. Without --to, rye renews the clients
that were agreed to before; in a clone, rye.yaml may propose some.

rye replaces only files that it wrote itself, or that equal an export of a version that
verifies. It shows any other difference, and writes nothing in that folder. --take brings such
edits into the bundles, unsigned. --check compares and writes nothing; it exits with 18 if a
copy differs. --remove deletes the copies for --to. --hook also writes a hook for Claude Code: it
runs rye export --check --brief when a session starts. Its question shows the command, and
--remove --hook deletes it.

--plugin writes one folder that is a plugin by Agent Plugins 1.0 and for Claude Code, and a
marketplace that Claude Code, Codex and Copilot take it from.
--site writes the skills into the root of a web site, with an index that other tools find
(/.well-known/agent-skills/index.json): archives of regular files, and their digests.
--plain writes all verified items into a new folder, without signature lines and manifests:
files that need no rye.`,
		examples: "rye export --clients\nrye export --to claude-code,codex\nrye export 'acme/*' --to kiro --dry-run\nrye export --check\nrye export --take\nrye export --plugin ../acme-plugin\nrye export --site ../www\nrye export --plain ../files\nrye export skill knowledge:acme/pdf ./pdf",
		exits:    append([]fault.Code{fault.Drift, fault.Denied}, exportSkill().exits...),
		flags: []cli.Flag{
			repeated("to", &to, "`client` to write for; several with commas, or repeated"),
			&cli.BoolFlag{Name: "check", Destination: &q.Check, Usage: "compare the copies with the items, and write nothing"},
			&cli.BoolFlag{Name: "brief", Destination: &brief, Usage: "with --check: one line with counts, for a hook of a client"},
			&cli.BoolFlag{Name: "take", Destination: &q.Take, Usage: "bring edits of copies into the bundles, unsigned"},
			&cli.BoolFlag{Name: "remove", Destination: &q.Remove, Usage: "delete the copies for the clients of --to"},
			&cli.BoolFlag{Name: "confined", Destination: &q.Confined, Usage: "write stubs that call rye in the place of programs"},
			&cli.BoolFlag{Name: "link", Destination: &q.Link, Usage: "write one copy of each skill, and links to it elsewhere"},
			&cli.BoolFlag{Name: "hook", Destination: &q.Hook, Usage: "also write a hook that prints the counts when a session of the client starts"},
			&cli.BoolFlag{Name: "clients", Destination: &list, Usage: "list the clients and their directories"},
			&cli.StringFlag{Name: "plugin", Destination: &plugin, Usage: "write a plugin into a new `folder`"},
			&cli.StringFlag{Name: "site", Destination: &site, Usage: "write a site with an index of skills into a `folder`"},
			&cli.StringFlag{Name: "as", Destination: &as, Usage: "with --plugin: its `name`"},
			&cli.BoolFlag{Name: "plain", Destination: &plain, Usage: "write all items as plain files, without signature lines"},
			changedSpace(&q.Space),
			dryRun(&q.DryRun),
		},
		max:  many,
		subs: []*spec{exportSkill()},
		run: func(t *task) error {
			switch {
			case list:
				return answerRows(t, func(ctx context.Context, c rye.Caller, _ struct{}) ([]rye.ExportClient, error) {
					return t.w.Bundles().Clients(ctx, c)
				}, struct{}{}, "", clientRow)
			case plain:
				return t.exportPlain()
			case site != "":
				return t.exportSite(rye.SiteExport{Dir: t.path(site), Targets: t.refs(), Check: q.Check, DryRun: q.DryRun})
			case plugin != "":
				return t.exportPlugin(rye.PluginExport{Dir: t.path(plugin), Name: as, Targets: t.refs()})
			}
			for _, names := range to {
				q.To = append(q.To, strings.FieldsFunc(names, func(c rune) bool { return c == ',' || c == ' ' })...)
			}
			if q.Remove && len(q.To) == 0 && !q.Hook {
				return fault.New(fault.Usage, "export --remove: for which client?").Advise("rye export --remove --to <client>")
			}
			q.Targets = t.refs()
			return answerAlways(t, t.w.Bundles().ToClients, q, func(p *printer, rep *rye.ClientExported, _ bool) { p.printExport(rep, q.Check, brief) })
		},
	}
}

func clientRow(c rye.ExportClient) []any {
	how := "by documents"
	if c.Tried {
		how = "tried, " + c.With
	}
	return []any{c.Name, c.Title, c.Skills, c.Commands, c.Agents, c.Rules, faint(how)}
}

func (t *task) exportPlain() error {
	if len(t.args) != 1 {
		return fault.New(fault.Usage, "export --plain: want one folder").Advise("rye export --plain <folder>")
	}
	return answerAlways(t, t.w.Bundles().ExportPlain, rye.PlainExport{Dir: t.path(t.args[0])}, func(p *printer, rep *rye.PlainExported, _ bool) {
		p.resultf(false, "exported %s to %s\n", words.Plural(len(rep.Files), "file"), rep.Dir)
		for _, r := range rep.Refused {
			p.printf("%s  .ai/%s  %s\n", bad("refused"), r.Path, prose(r.Error))
		}
	})
}

func (t *task) exportPlugin(q rye.PluginExport) error {
	return answer(t, t.w.Bundles().Plugin, q, func(p *printer, rep *rye.PluginExported) {
		p.resultf(false, "exported the plugin %s to %s, %s\n", rep.Name, rep.Dir, words.Plural(len(rep.Files), "file"))
		p.printLeft(rep.Left)
	})
}

// printExport prints one line for each folder that changed or differs, and counts.
func (p *printer) printExport(rep *rye.ClientExported, check, brief bool) {
	count := map[string]int{}
	for i := range rep.Copies {
		c := &rep.Copies[i]
		count[c.State]++
		if brief || c.State == "unchanged" && len(c.Endings) == 0 {
			continue
		}
		state := good(c.State)
		if c.State != "written" && c.State != "removed" && c.State != "unchanged" {
			state = bad(c.State)
		}
		p.resultf(rep.DryRun, "%s  %s%s\n", state, c.Path, faint(prose(prefixed("  ", c.Ref))))
		for _, l := range []struct {
			word  string
			paths []string
		}{{"missing", c.Missing}, {"behind", c.Behind}, {"changed", c.Changed}, {"extra", c.Extra}, {"line endings", c.Endings}} {
			if (check || l.word == "changed" || l.word == "extra") && len(l.paths) > 0 {
				p.infof("  %s: %s", l.word, prose(few(l.paths)))
			}
		}
		for _, line := range c.Diff {
			p.printf("  %s\n", words.Quote(line))
		}
	}
	if !brief {
		p.printLeft(rep.Left)
		for i := range rep.Taken {
			p.printAdded(added, rep.DryRun, &rep.Taken[i])
		}
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[state], state))
	}
	if len(parts) == 0 {
		return
	}
	counts := fmt.Sprintf("rye: copies for %s: %s", strings.Join(rep.Clients, ", "), strings.Join(parts, ", "))
	if brief { // the only result
		p.resultf(false, "%s\n", counts)
		return
	}
	p.infof("%s", counts)
}

func (p *printer) printLeft(all []rye.ClientLeft) {
	for _, l := range all {
		p.infof("left out %s: %s", l.Ref, prose(l.Why))
	}
}

// few names the first of many paths.
func few(paths []string) string {
	if len(paths) <= 3 {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:3], ", "), len(paths)-3)
}

func exportSkill() *spec {
	return &spec{
		name: "skill", args: "<ref> <folder>",
		short: "Write a skill's files to a new folder, byte for byte",
		long: `The folder must not exist, or be empty. Every file is verified first; the manifest is not
copied. If the folder is named like the skill, any client of Agent Skills can use it.`,
		examples: "rye export skill knowledge:acme/pdf ~/.claude/skills/pdf",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Untrusted, fault.Revoked,
			fault.Malformed, fault.Limit},
		min: 2, max: 2,
		run: func(t *task) error {
			ref, err := t.w.Ref(t.ctx, t.env.Caller, t.args[0])
			if err != nil {
				return err
			}
			q := rye.SkillExport{Ref: ref, Dir: t.path(t.args[1])}
			return answer(t, t.w.Bundles().Export, q, func(p *printer, rep *rye.SkillExported) {
				p.resultf(false, "exported %s to %s, %s\n", rep.Ref, rep.Dir, words.Plural(len(rep.Files), "file"))
			})
		},
	}
}
