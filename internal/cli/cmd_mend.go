package cli

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/build"
)

func mcpCommand() *spec {
	var projects []string
	var listen app.Reach
	list := func() []cli.Flag {
		return append(listenFlags(&listen), repeated("project", &projects, "`directory` of another project that calls may name; repeatable"))
	}
	serve := func(t *task) (err error) {
		args := []string{"mcp", "--dir", t.env.Dir}
		for _, dir := range projects {
			args = append(args, "--project", dir)
		}
		if t.env.Offline {
			args = append(args, "--offline")
		}
		more, err := t.listenArgs(&listen)
		if err != nil {
			return err
		}
		t.exit, err = t.env.Handoff(append(args, more...)...)
		return err
	}
	return &spec{
		name: "mcp", group: "Serve and maintain",
		short: "Serve search, load, execute and sign to an MCP client",
		long: `Speaks the Model Context Protocol on standard input and output until the input ends. -C
names the default project, for calls without project_path. Calls can name that project and
those of --project, and no others; the policy of the default project applies to all.

With --http it serves any number of clients at http://<address>/mcp until it is stopped
(Ctrl-C, SIGTERM). Each client needs a token (rye mcp token add). If other machines can
reach the address, it needs TLS (--tls-cert and --tls-key) or a proxy with TLS in front
(--behind-proxy), and the host name that clients use (--host).`,
		examples: "rye mcp\nrye mcp -C ./project     # what a client's configuration runs\nrye mcp -C ./project --project ../website\nrye mcp serve --http 127.0.0.1:8765",
		exits:    mcpExits,
		flags:    list(),
		run:      serve,
		subs: []*spec{{
			name: "serve", short: "The same as rye mcp",
			examples: "rye mcp serve\nrye mcp serve --http 127.0.0.1:8765",
			exits:    mcpExits,
			flags:    list(),
			run:      serve,
		}, tokenCommand(), installCommand(), uninstallCommand()},
	}
}

var mcpExits = []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Denied, fault.Malformed, fault.Interrupt}

func doctorCommand() *spec {
	var fix bool
	return &spec{
		name: "doctor", group: "Serve and maintain",
		short: "Check this machine and project for problems",
		long: `With --fix rye corrects a project's .ai/.gitattributes if git could merge
.ai/allowed_signers by itself. rye shows the change and asks first.`,
		examples: "rye doctor\nrye doctor --json\nrye doctor --fix",
		exits:    []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Denied},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "fix", Destination: &fix, Usage: "make the corrections that rye can make, after asking; then check"}},
		run: func(t *task) error {
			if fix {
				written, err := t.w.Upkeep().Fix(t.ctx, t.env.Caller)
				for _, file := range written {
					t.out.infof("wrote %s", file)
				}
				if err != nil {
					return err
				}
			}
			checks, err := t.w.Upkeep().Doctor(t.ctx, t.env.Caller)
			if err != nil {
				return err
			}
			return t.printChecks(append(checks, t.env.Checks(t.ctx)...), fault.Failed)
		},
	}
}

func fsckCommand() *spec {
	var q rye.FsckRequest
	return &spec{
		name: "fsck", slow: true, group: "Serve and maintain",
		short: "Check every object, ref and signature of the stores",
		long: `Reads every object that the refs of the project's and the user's record reach, and reports
the limit if the record or the working tree holds more than rye reads.

A ref can lead to missing or damaged objects, for example after git gc --prune=now in a
record that rye writes to. --repair moves such a ref back to the newest whole position in
its log. rye shows the losses and asks first. No object is deleted and no working file is
changed; entries removed from a log are kept in rye.lost in the record. The next rye sign
records signed working files again.`,
		examples: "rye fsck\nrye fsck --repair --dry-run\nrye fsck --repair",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Denied, fault.Limit},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "repair", Destination: &q.Repair, Usage: "move damaged refs back to a whole position, after asking"},
			&cli.BoolFlag{Name: "dry-run", Destination: &q.DryRun, Usage: "with --repair: show the repairs, make none"},
		},
		run: func(t *task) error {
			if q.DryRun && !q.Repair {
				return fault.New(fault.Usage, "fsck: --dry-run needs --repair").Advise("add --repair; without --repair fsck changes nothing")
			}
			rep, err := t.w.Upkeep().Fsck(t.ctx, t.env.Caller, q)
			if perr := each(t.out, rep.Repairs, printRepair); perr != nil || err != nil && len(rep.Checks) == 0 {
				return cmp.Or(err, perr)
			}
			if q.DryRun {
				return nil
			}
			return t.printChecks(rep.Checks, fault.CodeOf(err)) // err is the first of their errors
		},
	}
}

// printRepair prints the repair of one ref, and the losses.
func printRepair(p *printer, r rye.RefRepair) {
	if r.To != "" {
		p.resultf(r.DryRun, "%s  %s: %s to %s\n", returned.mark(r.DryRun), r.Place, r.Ref, r.To)
	} else {
		p.resultf(r.DryRun, "%s  %s: the log of %s\n", shortened.mark(r.DryRun), r.Place, r.Ref)
	}
	p.resultf(r.DryRun, "      %s\n", prose(r.Why))
	for _, m := range r.Lost {
		p.resultf(r.DryRun, "      lost: %s  %s  %s\n", m.Commit, m.At, prose(m.Why))
	}
}

func gcCommand() *spec {
	var q rye.GCRequest
	return &spec{
		name: "gc", slow: true, group: "Serve and maintain",
		short: "Pack the stores' objects, and delete leftovers",
		long: `Puts the loose objects and small packs of the project's and the user's stores, and the
packs of the caches of registries, into one pack each. It drops moves older than 90 days
from the logs of refs, and removes leftovers of killed processes: directories of runs,
quarantines, temporary files. No object of a store is lost, and other rye and git
processes can go on working. rye packs by itself when there are many files. Records of
missing directories are counted, and removed only with --gone.`,
		examples: "rye gc\nrye gc --dry-run",
		exits:    []fault.Code{fault.Failed, fault.Usage, fault.Conflict, fault.Integrity, fault.Malformed},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Destination: &q.DryRun, Usage: "show the changes, make none"},
			&cli.BoolFlag{Name: "gone", Destination: &q.Gone, Usage: "remove records of missing directories, after asking"},
		},
		run: func(t *task) error {
			list, err := t.w.Upkeep().GC(t.ctx, t.env.Caller, q)
			perr := each(t.out, list, func(p *printer, g rye.GCReport) { p.resultf(q.DryRun, "%s: %s\n", prose(g.Place), prose(g.Text)) })
			return cmp.Or(perr, err)
		},
	}
}

func (t *task) printChecks(checks []rye.DoctorCheck, code fault.Code) error {
	print := func(p *printer, c rye.DoctorCheck) {
		if c.OK {
			p.resultf(false, "%s  %s: %s\n", good("ok"), prose(c.Name), prose(c.Text))
			return
		}
		p.printf("%s  %s: %s\n", bad("no"), prose(c.Name), prose(c.Text))
		if !c.Mend.IsZero() {
			p.printf("      %s\n", c.Mend)
		}
	}
	verdict := func(c rye.DoctorCheck) (bool, fault.Code) { return c.OK, code }
	return verdicts(t.out, checks, print, verdict, "with a problem")
}

func versionCommand() *spec {
	return &spec{
		name: "version", group: "Serve and maintain",
		short:    "Show the version of rye",
		examples: "rye version\nrye version --json",
		exits:    []fault.Code{fault.Usage},
		alone:    true,
		run: func(t *task) error {
			if !t.out.json {
				t.out.printf("rye %s\n", build.Version())
				return nil
			}
			return t.out.object(build.This())
		},
	}
}
