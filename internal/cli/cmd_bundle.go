package cli

import (
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

func bundleCommand() *spec {
	return &spec{
		name: "bundle", group: "Items",
		short: "Inspect bundles: directories under one signed manifest",
		long: `A bundle is a tool or a skill of many files: a directory .ai/bundles/<namespace>/<name>
with a signed manifest, rye.bundle.yaml, that lists every other file. A missing, changed
or extra file stops everything in it from running. SKILL.md, main.md or main.<extension>
is its entry, and has the name of the bundle. rye sign writes the manifest and keeps it up
to date; add, remove and restore treat the directory as one. A directory of one kind can
be a bundle too: .ai/tools/acme/report.`,
		examples: "rye sign .ai/bundles/acme/report\nrye bundle verify acme/bundle/report",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Malformed},
		subs:     []*spec{bundleVerify(), bundleInspect(), bundleList()},
	}
}

func bundleVerify() *spec {
	return &spec{
		name: "verify", args: "<id | path>",
		short:    "Check a bundle's signature and every file of its directory",
		long:     "A path may lie outside .ai, to check an unpacked bundle.",
		examples: "rye bundle verify acme/bundle/report\nrye bundle verify ./unpacked",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Rollback,
			fault.Malformed, fault.Limit},
		min: 1, max: 1,
		run: func(t *task) error {
			b, refused := t.w.Bundles().Verify(t.ctx, t.env.Caller, rye.BundleVerifyRequest{Target: t.target(t.args[0])})
			if b == nil {
				return refused
			}
			err := t.out.show(b, func() { t.out.printBundleVerdict(b) })
			if err == nil && refused != nil {
				err = someFailed(b.Code, 1, 1, "failed verification")
			}
			return err
		},
	}
}

func bundleInspect() *spec {
	return &spec{
		name: "inspect", args: "<id | path>",
		short:    "Show a bundle's manifest, trusted or not",
		examples: "rye bundle inspect acme/bundle/report\nrye bundle inspect rye/bundle/stdlib",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Malformed},
		min:      1, max: 1,
		run: func(t *task) error {
			b, refused := t.w.Bundles().Verify(t.ctx, t.env.Caller, rye.BundleVerifyRequest{Target: t.target(t.args[0])})
			if b == nil {
				return refused
			}
			return t.out.show(b, func() { t.out.printBundle(b) }) // the report includes the reason of a refusal
		},
	}
}

func bundleList() *spec {
	return &spec{
		name: "list", aliases: []string{"ls"},
		short:    "List the bundles of the project and the user space",
		examples: "rye bundle list\nrye bundle list --json",
		exits:    []fault.Code{fault.Usage, fault.Malformed},
		run: func(t *task) error {
			return answerRows(t, bare(t.w.Bundles().List), none, "bundle", func(b rye.BundleInfo) []any {
				return []any{stateStyle(b.State), b.ID, b.Version, words.Plural(len(b.Files), "file"), b.Path}
			})
		},
	}
}

func (p *printer) printBundleVerdict(b *rye.BundleInfo) {
	if b.Error == "" {
		p.resultf(false, "%s    %s %s  %s\n", good("ok"), refOfBundle(b.ID), b.Version, faint(b.Signer))
		return
	}
	p.printf("%s  %s: %s\n", bad("FAIL"), refOfBundle(b.ID), prose(b.Error))
	p.printBundleDifferences(b)
	p.hint(b.Hint)
}

func (p *printer) printBundleDifferences(b *rye.BundleInfo) {
	for _, l := range [...]struct {
		word  string
		paths []string
	}{{"changed", b.Changed}, {"missing", b.Missing}, {"extra", b.Extra}} {
		for _, path := range l.paths {
			p.printf("      %s  %s\n", bad(l.word), path)
		}
	}
}

func (p *printer) printBundle(b *rye.BundleInfo) {
	p.printf("%s  %s\n", bold(refOfBundle(b.ID)), stateStyle(b.State))
	p.fields(9, "why", prose(b.Error), "version", b.Version, "space", b.Space, "path", b.Path,
		"signer", b.Signer, "signed at", b.SignedAt, "sha256", b.SHA256)
	p.printBundleDifferences(b)
	var rows [][]any
	for _, f := range b.Files {
		what := ""
		if f.Executable {
			what = "executable"
		}
		if f.Signed {
			what = strings.TrimPrefix(what+", signed", ", ")
		}
		rows = append(rows, []any{prose("  " + words.Quote(f.Path)), strconv.FormatInt(f.Size, 10), f.SHA256, what})
	}
	p.table(rows)
	p.infof("%s, %s", words.Plural(len(b.Files), "file"), words.Plural(int(b.Bytes), "byte"))
}

// refOfBundle returns the ref of a bundle: bundle:acme/report for acme/bundle/report.
func refOfBundle(id string) string { return objects.BundleRef(objects.ID(id)).String() }
