package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
	"github.com/rye-os/rye/workspace"
)

func mcpCommand() *spec {
	serve := func(t *task) error {
		a, err := t.env()
		if err != nil {
			return err
		}
		args := []string{"mcp", "--dir", a.Dir}
		if a.Offline {
			args = append(args, "--offline")
		}
		exit, err := a.Handoff(args...)
		t.exit = exit
		return err
	}
	return &spec{
		name: "mcp", group: "Serve and mend",
		short: "Serve search, load, execute and sign to an MCP client",
		long: `Speaks the Model Context Protocol on standard input and output until the input
ends. -C names the project that calls without project_path are about.`,
		examples: "rye mcp\nrye mcp -C ./project     # what a client's configuration runs",
		exits:    []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Conflict, fault.Interrupt},
		run:      serve,
		subs: []*spec{{
			name: "serve", short: "The same, spelled out",
			examples: "rye mcp serve",
			exits:    []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Conflict, fault.Interrupt},
			run:      serve,
		}},
	}
}

func doctorCommand() *spec {
	return &spec{
		name: "doctor", group: "Serve and mend",
		short:    "Look for what could go wrong on this machine",
		examples: "rye doctor\nrye doctor --json",
		exits:    []fault.Code{fault.Failed, fault.Usage},
		run: func(t *task) error {
			checks, err := call(t, func(w *workspace.Workspace) ([]rye.DoctorCheck, error) {
				return w.Upkeep().Doctor(t.ctx, rye.Terminal())
			})
			if err != nil {
				return err
			}
			a, err := t.env()
			if err != nil {
				return err
			}
			return printChecks(t, append(checks, a.Checks(t.ctx)...), fault.Failed)
		},
	}
}

func fsckCommand() *spec {
	return &spec{
		name: "fsck", group: "Serve and mend",
		short:    "Check every object, ref and signature of the stores",
		examples: "rye fsck",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity},
		run: func(t *task) error {
			checks, err := call(t, func(w *workspace.Workspace) ([]rye.DoctorCheck, error) { return w.Upkeep().Fsck(t.ctx, rye.Terminal()) })
			if err != nil && len(checks) == 0 {
				return err
			}
			return printChecks(t, checks, fault.Integrity) // err is the first of their errors
		},
	}
}

func gcCommand() *spec {
	var q rye.GCRequest
	return &spec{
		name: "gc", group: "Serve and mend",
		short: "Put the stores' objects into few files, and sweep up leftovers",
		long: `Puts loose objects and small packs of the project's and the user's stores, and the
packs of the caches of registries, into one pack each, drops moves older than 90 days
from the logs of refs, and removes what killed processes left: directories of runs,
quarantines, temporary files. No object that a store holds is lost, and other rye and
git processes may go on working. rye does the first by itself when many files have
come together.`,
		examples: "rye gc\nrye gc --dry-run",
		exits:    []fault.Code{fault.Failed, fault.Usage, fault.Conflict, fault.Integrity, fault.Malformed},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "dry-run", Destination: &q.DryRun, Usage: "say what would be done, and do nothing"}},
		run: func(t *task) error {
			list, err := call(t, func(w *workspace.Workspace) ([]rye.GCReport, error) { return w.Upkeep().GC(t.ctx, rye.Terminal(), q) })
			for _, g := range list {
				if err := t.out.show(g, func() { t.out.didf(q.DryRun, "%s: %s\n", g.Place, g.Text) }); err != nil {
					return err
				}
			}
			return err
		},
	}
}

func printChecks(t *task, checks []rye.DoctorCheck, code fault.Code) error {
	failed := 0
	for _, c := range checks {
		if !c.OK {
			failed++
		}
		err := t.out.show(c, func() {
			if c.OK {
				t.out.didf(false, "%s  %s: %s\n", good("ok"), c.Name, c.Text)
				return
			}
			t.out.printf("%s  %s: %s\n", bad("no"), c.Name, c.Text)
			if !c.Mend.IsZero() {
				t.out.printf("      %s\n", c.Mend)
			}
		})
		if err != nil {
			return err
		}
	}
	if failed > 0 {
		return firstCode(code, failed, len(checks), "not as it should be")
	}
	return nil
}

func versionCommand() *spec {
	return &spec{
		name: "version", group: "Serve and mend",
		short:    "Show which program this is",
		examples: "rye version\nrye version --json",
		exits:    []fault.Code{fault.Usage},
		run: func(t *task) error {
			if !t.out.json {
				t.out.printf("rye %s\n", build.Version())
				return nil
			}
			return t.out.object(build.This())
		},
	}
}
