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
		name: "mcp", group: "Serve and mend",
		short: "Serve search, load, execute and sign to an MCP client",
		long: `Speaks the Model Context Protocol on standard input and output until the input
ends. -C names the project that calls without project_path are about. Calls can name that
one and those of --project, and nothing else; the policy of the first holds in all.

With --http it serves any number of clients at http://<address>/mcp until it is told to end
(Ctrl-C, SIGTERM). Each needs a token (rye mcp token add). An address that other machines
reach needs TLS (--tls-cert and --tls-key), or a proxy in front that has it (--behind-proxy),
and the name by which clients reach it (--host).`,
		examples: "rye mcp\nrye mcp -C ./project     # what a client's configuration runs\nrye mcp -C ./project --project ../website\nrye mcp serve --http 127.0.0.1:8765",
		exits:    mcpExits,
		flags:    list(),
		run:      serve,
		subs: []*spec{{
			name: "serve", short: "The same, spelled out",
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
		name: "doctor", group: "Serve and mend",
		short: "Look for what could go wrong on this machine",
		long: `With --fix a project's .ai/.gitattributes is changed where it lets git merge
.ai/allowed_signers by itself. The change is shown, and asked about, first.`,
		examples: "rye doctor\nrye doctor --json\nrye doctor --fix",
		exits:    []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Denied},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "fix", Destination: &fix, Usage: "write what rye can mend, after asking; then look"}},
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
		name: "fsck", slow: true, group: "Serve and mend",
		short: "Check every object, ref and signature of the stores",
		long: `Reads everything that the refs of the project's and the user's record lead to, and
reports the limit where the record or the working tree holds more than rye reads.

With --repair a ref that leads to something missing or damaged, which is what
git gc --prune=now can make of a record that rye writes to, returns to the newest position
in its log that is whole. What is lost by that is shown, and asked about, first. No object
is deleted and no working file is touched; what was taken out of a log is kept in rye.lost
in the record. What stands in the working tree and is signed is recorded again by the
next rye sign.`,
		examples: "rye fsck\nrye fsck --repair --dry-run\nrye fsck --repair",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Integrity, fault.Denied, fault.Limit},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "repair", Destination: &q.Repair, Usage: "return refs to where they were whole, after asking"},
			&cli.BoolFlag{Name: "dry-run", Destination: &q.DryRun, Usage: "with --repair: say what would be done, and do nothing"},
		},
		run: func(t *task) error {
			if q.DryRun && !q.Repair {
				return fault.New(fault.Usage, "fsck: --dry-run says what --repair would do").Advise("give --repair as well; without both nothing is changed anyway")
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
		name: "gc", slow: true, group: "Serve and mend",
		short: "Put the stores' objects into few files, and sweep up leftovers",
		long: `Puts loose objects and small packs of the project's and the user's stores, and the
packs of the caches of registries, into one pack each, drops moves older than 90 days
from the logs of refs, and removes what killed processes left: directories of runs,
quarantines, temporary files. No object that a store holds is lost, and other rye and
git processes may go on working. rye does the first by itself when many files have
come together. Records of directories that are gone are counted, and removed only with
--gone.`,
		examples: "rye gc\nrye gc --dry-run",
		exits:    []fault.Code{fault.Failed, fault.Usage, fault.Conflict, fault.Integrity, fault.Malformed},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Destination: &q.DryRun, Usage: "say what would be done, and do nothing"},
			&cli.BoolFlag{Name: "gone", Destination: &q.Gone, Usage: "remove records of directories that are gone, after asking"},
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
	return verdicts(t.out, checks, print, verdict, "not as it should be")
}

func versionCommand() *spec {
	return &spec{
		name: "version", group: "Serve and mend",
		short:    "Show which program this is",
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
