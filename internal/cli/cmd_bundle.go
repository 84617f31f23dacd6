package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace"
)

func bundleCommand() *spec {
	return &spec{
		name: "bundle", group: "Items",
		short: "Cover a whole directory by one signed manifest",
		long: `A bundle is for what cannot carry a signature line, such as JSON, images and data,
and for files that must not change alone. rye.bundle.yaml lists every file of the
directory, and nothing may be missing, changed or extra when something in it runs.
A listed file with a signature line of its own has to satisfy both. add, sign,
adopt, remove and restore take the directory of a bundle as one.`,
		examples: "rye bundle create acme/bundle/report .ai/tools/acme/report\nrye bundle verify acme/bundle/report",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Malformed},
		subs:     []*spec{bundleCreate(), bundleVerify(), bundleInspect(), bundleList()},
	}
}

func bundleCreate() *spec {
	var q rye.BundleRequest
	return &spec{
		name: "create", args: "[id] <directory>",
		short: "List the files of a directory below .ai, sign the list and record all of them",
		long: `Run it again after a change. The id follows from the directory: tools/acme/report
is acme/bundle/report, knowledge/acme/guide is acme/bundle/knowledge/guide.`,
		examples: "rye bundle create acme/bundle/report .ai/tools/acme/report\nrye bundle create acme/bundle/report --version 1.1.0 .ai/tools/acme/report",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback,
			fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Destination: &q.Version, Usage: "`version` of the bundle (default: as it was, or 0.1.0)"},
			dryRun(&q.DryRun),
		},
		min: 1, max: 2,
		run: func(t *task) error {
			if len(t.args) == 2 {
				q.ID = t.args[0]
			}
			a, err := t.env()
			if err != nil {
				return err
			}
			q.Dir = a.Path(t.args[len(t.args)-1])
			b, err := call(t, func(w *workspace.Workspace) (*rye.BundleInfo, error) {
				return w.Bundles().Create(t.ctx, rye.Terminal(), q)
			})
			if err != nil {
				return err
			}
			return t.out.show(b, func() {
				did := "signed"
				if q.DryRun {
					did = "would-sign"
				}
				t.out.didf(q.DryRun, "%s  bundle:%s %s  %s\n", good(did), b.ID, b.Version, words.Plural(len(b.Files), "file"))
			})
		},
	}
}

func bundleVerify() *spec {
	return &spec{
		name: "verify", args: "<id | path>",
		short:    "Check a bundle's signature and every file of its directory",
		long:     "A path may lie outside .ai: a bundle that was unpacked somewhere.",
		examples: "rye bundle verify acme/bundle/report\nrye bundle verify ./unpacked",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback,
			fault.Malformed, fault.Limit},
		min: 1, max: 1,
		run: func(t *task) error {
			b, err := lookIntoBundle(t)
			if b == nil {
				return err
			}
			if err := t.out.show(b, func() { printBundleVerdict(t.out, b) }); err != nil {
				return err
			}
			if err != nil {
				return firstCode(orFailed(b.Code), 1, 1, "failed verification")
			}
			return nil
		},
	}
}

func bundleInspect() *spec {
	return &spec{
		name: "inspect", args: "<id | path>",
		short:    "Show what a bundle says about itself, believed or not",
		examples: "rye bundle inspect acme/bundle/report\nrye bundle inspect rye/bundle/stdlib",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		min:      1, max: 1,
		run: func(t *task) error {
			b, err := lookIntoBundle(t)
			if b == nil {
				return err
			}
			return t.out.show(b, func() { printBundle(t.out, b) }) // what is wrong with it is part of it
		},
	}
}

// lookIntoBundle returns the description also of a bundle that may not be used;
// the error says why not.
func lookIntoBundle(t *task) (*rye.BundleInfo, error) {
	return call(t, func(w *workspace.Workspace) (*rye.BundleInfo, error) {
		return w.Bundles().Verify(t.ctx, rye.Terminal(), rye.BundleVerifyRequest{Target: t.target(t.args[0])})
	})
}

func bundleList() *spec {
	return &spec{
		name: "list", aliases: []string{"ls"},
		short:    "List the bundles of the project and the user space",
		examples: "rye bundle list\nrye bundle list --json",
		exits:    []fault.Code{fault.Usage, fault.Malformed},
		run: func(t *task) error {
			all, err := call(t, func(w *workspace.Workspace) ([]rye.BundleInfo, error) { return w.Bundles().List(t.ctx, rye.Terminal()) })
			if err != nil {
				return err
			}
			err = rows(t.out, all, func(b rye.BundleInfo) []any {
				return []any{stateStyle(b.State), b.ID, b.Version, words.Plural(len(b.Files), "file"), b.Path}
			})
			t.out.notef("%s", words.Plural(len(all), "bundle"))
			return err
		},
	}
}

func printBundleVerdict(p *printer, b *rye.BundleInfo) {
	if b.Error == "" {
		p.didf(false, "%s    bundle:%s %s  %s\n", good("ok"), b.ID, b.Version, faint(b.Signer))
		return
	}
	p.printf("%s  bundle:%s: %s\n", bad("FAIL"), b.ID, b.Error)
	printBundleDifferences(p, b)
	if !b.Hint.IsZero() {
		p.notef("rye: hint: %s", b.Hint)
	}
}

func printBundleDifferences(p *printer, b *rye.BundleInfo) {
	for _, l := range [...]struct {
		word  string
		paths []string
	}{{"changed", b.Changed}, {"missing", b.Missing}, {"extra", b.Extra}} {
		for _, path := range l.paths {
			p.printf("      %s  %s\n", bad(l.word), path)
		}
	}
}

func printBundle(p *printer, b *rye.BundleInfo) {
	p.printf("%s  %s\n", bold("bundle:"+b.ID), stateStyle(b.State))
	for _, f := range [...]struct{ name, value string }{
		{"why", b.Error}, {"version", b.Version}, {"space", b.Space}, {"path", b.Path},
		{"signer", b.Signer}, {"signed at", b.SignedAt}, {"sha256", b.SHA256},
	} {
		if f.value != "" {
			p.printf("  %s  %s\n", faint(fmt.Sprintf("%-9s", f.name)), f.value)
		}
	}
	printBundleDifferences(p, b)
	var rows [][]any
	for _, f := range b.Files {
		what := ""
		if f.Executable {
			what = "executable"
		}
		if f.Signed {
			what = strings.TrimPrefix(what+", signed", ", ")
		}
		rows = append(rows, []any{"  " + f.Path, strconv.FormatInt(f.Size, 10), f.SHA256, what})
	}
	p.table(rows)
	p.notef("%s, %s", words.Plural(len(b.Files), "file"), words.Plural(int(b.Bytes), "byte"))
}
