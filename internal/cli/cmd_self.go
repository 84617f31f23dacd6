package cli

import (
	"context"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/clients/files"
	"github.com/rye-os/rye/internal/words"
)

func selfCommand() *spec {
	return &spec{
		name: "self", group: "Serve and maintain",
		short:    "Remove rye from this machine",
		examples: "rye self uninstall --dry-run",
		exits:    []fault.Code{fault.Usage},
		subs:     []*spec{selfUninstall()},
	}
}

func selfUninstall() *spec {
	var q rye.UninstallRequest
	return &spec{
		name:  "uninstall",
		short: "Remove rye from MCP clients and git repositories, with its caches",
		long: `Shows what goes, asks, and removes it: rye's entries in your own files of MCP clients, the
merge driver in the repository of each project that rye remembers, and the caches. An entry
or driver that rye did not write like that stays and is named, and so does a repository that
is missing or belongs to someone else.

Your keys stay, unless you name them with --keys: private keys, and secrets in the
configuration directory. Records stay unless you name them with --records: histories of
items, threads, trust, policy, and what rye knows of registries. To use them elsewhere, see
rye trust backup and rye key export. The .ai directory of a project always stays, as do files
that rye exported; they need no rye. rye export --plain writes items without signature lines.

rye does not delete its own programs, and shows the command that does. While a thread, server
or run of rye is at work, nothing is removed (4). After an interruption, or when a part could
not be removed, run the command again.`,
		examples: "rye self uninstall --dry-run\nrye self uninstall\nrye self uninstall --records --keys",
		exits:    []fault.Code{fault.Failed, fault.Usage, fault.Conflict, fault.Auth, fault.Denied},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "keys", Destination: &q.Keys, Usage: "also remove your private keys and secrets"},
			&cli.BoolFlag{Name: "records", Destination: &q.Records, Usage: "also remove records, trust, policy and the state of registries"},
			dryRun(&q.DryRun),
		},
		run: func(t *task) error {
			q.Programs, q.Clients = t.env.Programs(), t.leaveClients
			return answerAlways(t, t.w.Upkeep().Uninstall, q, printUninstall)
		},
	}
}

// leaveClients is the part of MCP clients in an uninstallation.
func (t *task) leaveClients(ctx context.Context, project string, dryRun bool) (all []rye.UninstallPart) {
	h := t.env.Clients()
	h.Ask = nil // one question was enough
	scope := clients.User
	if project != "" {
		scope, h.Project = clients.Project, project
	}
	seen := map[string]bool{} // several clients may read one file
	for _, c := range clients.All() {
		if !c.Has(scope) {
			continue
		}
		request := files.Request{Client: c, Scope: scope, DryRun: true}
		rep, err := files.Uninstall(ctx, t.env.Caller, h, request)
		if err == nil && !dryRun && project == "" && rep.Status == "removed" && rep.Reason == "" {
			request.DryRun = false
			if rep, err = files.Uninstall(ctx, t.env.Caller, h, request); err == nil && c.Calls != "" {
				_, err = t.w.Policy().Elicitation(ctx, t.env.Caller, rye.ElicitationRequest{Client: c.Calls, Forget: true})
			}
		}
		if part, ok := clientPart(c, project, rep, err); ok && !seen[part.Path] {
			all = append(all, part)
			seen[part.Path] = part.Path != ""
		}
	}
	return all
}

// clientPart describes one client's entry. ok is false where there is none.
func clientPart(c clients.Client, project string, rep *files.Report, err error) (p rye.UninstallPart, ok bool) {
	p = rye.UninstallPart{What: "client", Name: c.Name}
	if rep != nil {
		p.Path = rep.Path
	}
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && rep.Status == "absent":
		return p, false
	case fault.Is(err, fault.Malformed) || fault.Is(err, fault.Auth) || fault.Is(err, fault.Limit) || fault.Is(err, fault.Denied):
		p.Status, p.Text, p.Hint = rye.PartLeft, err.Error(), fault.HintOf(err)
	case err != nil:
		p.Status, p.Text, p.Hint, p.Err = rye.PartFailed, err.Error(), fault.HintOf(err), err
	case project != "":
		p.Status, p.Text = rye.PartLeft, "colleagues share this file"
		p.Hint = fault.Command("rye -C %s mcp uninstall %s --scope project", project, c.Name)
		if rep.Reason != "" {
			p.Text, p.Hint = rep.Reason, fault.Command("rye -C %s mcp uninstall %s --scope project --force", project, c.Name)
		}
	case rep.Reason != "":
		p.Status, p.Text, p.Hint = rye.PartLeft, rep.Reason, fault.Command("rye mcp uninstall %s --force", c.Name)
	default:
		p.Status = rye.PartRemoved
	}
	return p, true
}

func printUninstall(p *printer, rep *rye.UninstallReport, ok bool) {
	projects := 0
	for _, part := range rep.Parts {
		name := part.What
		if part.Name != "" {
			name += " " + part.Name
		}
		mark := removed.mark(rep.DryRun)
		switch part.Status {
		case rye.PartLeft:
			mark = warning(part.Status)
		case rye.PartFailed:
			mark = bad(part.Status)
		case rye.PartKept:
			if mark = faint(part.Status); part.What == "project" {
				projects++
				continue
			}
		}
		p.resultf(rep.DryRun, "%s  %s  %s%s\n", mark, prose(name), part.Path, prose(prefixed(": ", part.Text)))
		if !part.Hint.IsZero() {
			p.resultf(rep.DryRun, "      %s\n", part.Hint)
		}
	}
	if rep.Removes() == 0 && ok {
		p.infof("rye: nothing is left that rye removes by itself")
	}
	if projects > 0 {
		p.infof("rye: %s of yours kept, with .ai and rye.lock; exported files are yours, too", words.Plural(projects, "project"))
	}
	if len(rep.Programs) > 0 && ok {
		remove := "rm"
		if runtime.GOOS == "windows" {
			remove = "del"
		}
		p.infof("rye: the programs stay; if no package manager installed them: %s", typed(append([]string{remove}, rep.Programs...)...))
	}
}
