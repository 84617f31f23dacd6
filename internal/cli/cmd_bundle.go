package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// A bundle is a directory .ai/bundles/<namespace>/<name>, or of one kind, such as
// .ai/tools/acme/report, under one signed manifest. The general commands take bundles, too.

// isBundle reports whether a target is a bundle: by its ref, or a directory with a manifest.
func (t *task) isBundle(target rye.Target) bool {
	if strings.HasPrefix(string(target), "bundle:") || strings.Contains(string(target), "/bundle/") && isName(string(target)) {
		return true
	}
	if !filepath.IsAbs(string(target)) {
		return false
	}
	_, err := os.Stat(filepath.Join(string(target), objects.ManifestName))
	return err == nil
}

// isUnpacked reports whether a target is the directory of a bundle outside of an .ai.
func (t *task) isUnpacked(target rye.Target) bool {
	return filepath.IsAbs(string(target)) && t.isBundle(target) && !slices.Contains(strings.Split(filepath.ToSlash(string(target)), "/"), ".ai")
}

func (t *task) verifyBundle(target rye.Target) error {
	b, refused := t.w.Bundles().Verify(t.ctx, t.env.Caller, rye.BundleVerifyRequest{Target: target})
	if b == nil {
		return refused
	}
	err := t.out.show(b, func() { t.out.printBundleVerdict(b) })
	if err == nil && refused != nil {
		err = someFailed(b.Code, 1, 1, "failed verification")
	}
	return err
}

// showDifferences prints the files by which a bundle differs from its manifest.
func (t *task) showDifferences(target rye.Target) {
	b, _ := t.w.Bundles().Verify(t.ctx, t.env.Caller, rye.BundleVerifyRequest{Target: target})
	if b != nil && !t.out.json {
		t.out.printBundleDifferences(b)
	}
}

func (t *task) showBundle(target rye.Target) error {
	b, refused := t.w.Bundles().Verify(t.ctx, t.env.Caller, rye.BundleVerifyRequest{Target: target})
	if b == nil {
		return refused
	}
	return t.out.show(b, func() { t.out.printBundle(b) }) // the report includes the reason of a refusal
}

func (t *task) listBundles(space string) error {
	all, err := t.w.Bundles().List(t.ctx, t.env.Caller)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(b rye.BundleInfo) bool { return space != "" && b.Space != space })
	err = rows(t.out, all, func(b rye.BundleInfo) []any {
		return []any{stateStyle(b.State), b.ID, b.Version, words.Plural(len(b.Files), "file"), b.Path}
	})
	if err == nil {
		t.out.infof("%s", words.Plural(len(all), "bundle"))
	}
	return err
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
		"origin", originOf(b), "uses", prose(usesOf(b.Deps)), "signer", b.Signer, "signed at", b.SignedAt, "sha256", b.SHA256, "needs", b.Needs)
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
	p.printRunNames(b.Programs)
	p.infof("%s, %s", words.Plural(len(b.Files), "file"), words.Plural(int(b.Bytes), "byte"))
}

// originOf shows where a bundle came from.
func originOf(b *rye.BundleInfo) string {
	if b.Origin == nil {
		return ""
	}
	return originText(b.Origin)
}

// originText returns an origin as a source with its commit.
func originText(o *rye.BundleOrigin) string {
	return (&objects.Origin{Source: o.Source, Ref: o.Ref, Commit: o.Commit, Path: o.Path}).String()
}

func usesOf(deps map[string]string) string {
	var all []string
	for _, name := range sortedKeys(deps) {
		all = append(all, name+" "+deps[name])
	}
	return strings.Join(all, ", ")
}

// refOfBundle returns the ref of a bundle: bundle:acme/report for acme/bundle/report.
func refOfBundle(id string) string { return objects.BundleRef(objects.ID(id)).String() }
