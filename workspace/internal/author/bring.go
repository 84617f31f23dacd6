package author

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/unpack"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Files made for other programs come from folders, archives and repositories. They are read
// within limits, and interpreted by objects/foreign.

// maxShown bounds the items that a question lists by name.
const maxShown = 200

// Add takes in a path: a file, a folder or an archive from outside .ai, in rye's form or
// another program's. A path below .ai is recorded where it is. It hands the tree of a folder or an
// archive to take.
func Add(ctx context.Context, s *custody.Desk, q rye.AddRequest, take func(context.Context, *custody.Desk, rye.AddRequest, foreign.Tree) ([]rye.AddReport, error)) ([]rye.AddReport, error) {
	l, err := session.LayerOf(s.Session, q.Space)
	if err != nil {
		return nil, err
	}
	if _, inside := session.Below(l.Dir, q.Path); inside || q.Text != nil {
		return addItems(ctx, s, q)
	}
	st, err := os.Stat(q.Path)
	if err != nil {
		return addItems(ctx, s, q) // which reports the problem
	}
	rules, err := s.Acting(q.DryRun)
	if err != nil {
		return nil, err
	}
	if filepath.Base(q.Path) == objects.SkillFile {
		q.Path = filepath.Dir(q.Path)
	}
	if st.IsDir() || filepath.Base(q.Path) != filepath.Base(st.Name()) {
		if err := session.AdmitSource(rules.Demands, "file:"); err != nil {
			return nil, fault.Wrap(err, "add %s", q.Path)
		}
		t, err := folder(ctx, q.Path)
		if err != nil {
			return nil, err
		}
		return take(ctx, s, q, t)
	}
	data, err := place.Read(q.Path, unpack.MaxArchive)
	if err != nil {
		return nil, err
	}
	if unpack.Is(data) {
		if err := session.AdmitSource(rules.Demands, "file:"); err != nil {
			return nil, fault.Wrap(err, "add %s", q.Path)
		}
		t, err := archive(q.Path, data)
		if err != nil {
			return nil, fault.Wrap(err, "add %s", q.Path)
		}
		return take(ctx, s, q, t)
	}
	return lone(ctx, s, q, data)
}

func agreed([]rye.AddReport) error { return nil }

// FetchedFrom takes in a tree from elsewhere, whose Origin is set. A question shows the facts about the
// source, and nothing is written before the answer; without facts there is no question. It also returns
// the bundles that were to come in, with their origins; some may have been refused.
func FetchedFrom(ctx context.Context, s *custody.Desk, q rye.AddRequest, t foreign.Tree, facts []string) ([]rye.AddReport, []Package, error) {
	return every(ctx, s, q, t, asking(ctx, s, q, facts))
}

// asking returns the consent to what comes in: a question that shows the facts; none without facts.
func asking(ctx context.Context, s *custody.Desk, q rye.AddRequest, facts []string) func([]rye.AddReport) error {
	if facts == nil {
		return agreed
	}
	return func(come []rye.AddReport) error {
		ask := question(source(q), facts, come)
		if !q.Unpinned.IsZero() {
			ask.Flags = []string{"--sha256 " + q.Unpinned.String()}
			ask.Mend = fault.CommandOf("rye", "add", q.URL, "--sha256", q.Unpinned.String(), "--yes")
		}
		return s.Ask(ctx, ask)
	}
}

// Bundles returns the bundles that an import of a tree would make. Nothing is written or asked.
func Bundles(s *custody.Desk, q rye.AddRequest, t foreign.Tree) ([]Package, error) {
	found, _, err := foreign.Read(t, wish(s, q))
	if err != nil {
		return nil, err
	}
	_, packages, err := packagesOf(found)
	return packages, err
}

// Refusals returns the parts of a tree that an import could not take in, although they should come
// in.
func Refusals(s *custody.Desk, q rye.AddRequest, t foreign.Tree) []foreign.Passed {
	_, passed, err := foreign.Read(t, wish(s, q))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(passed, func(p foreign.Passed) bool { return p.Code == "" })
}

func wish(s *custody.Desk, q rye.AddRequest) foreign.Wish {
	return foreign.Wish{Namespace: s.Project.Namespace, As: q.As, Kind: q.Kind, Entry: filepath.ToSlash(q.Entry), Skills: q.Skills, Windows: runtime.GOOS == "windows"}
}

// lone takes in one file.
func lone(ctx context.Context, s *custody.Desk, q rye.AddRequest, data []byte) ([]rye.AddReport, error) {
	switch {
	case q.Folder != "":
		return nil, fault.New(fault.Usage, "add %s: it is no archive, so it has no folder %s", words.Quote(q.Path), words.Quote(q.Folder))
	case q.NoVendor:
		return nil, fault.New(fault.Usage, "add %s: --no-vendor is for bundles from a source that other machines reach", words.Quote(q.Path)).Advise("leave it out")
	case q.Entry != "" || len(q.Skills) > 0:
		return nil, fault.New(fault.Usage, "add %s: --entry and --skill are for a folder", q.Path)
	}
	abs, err := filepath.Abs(q.Path)
	if err != nil {
		return nil, err
	}
	t := foreign.Tree{Name: filepath.Base(filepath.Dir(abs)), At: filepath.ToSlash(filepath.Dir(abs)), Files: []foreign.File{{Path: filepath.Base(abs), Data: data}}}
	found, ok, err := foreign.Lone(t, wish(s, q))
	if err != nil {
		return nil, err
	}
	if !ok {
		return addItems(ctx, s, q)
	}
	return take(ctx, s, q, []foreign.Found{found}, nil, agreed)
}

// every takes in the parts of a tree, and returns the bundles that were to come in. A part that cannot
// come in is named and stops nothing else. The error is then that of the first one.
func every(ctx context.Context, s *custody.Desk, q rye.AddRequest, t foreign.Tree, agree func([]rye.AddReport) error) ([]rye.AddReport, []Package, error) {
	found, passed, err := foreign.Read(t, wish(s, q))
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return skipped(passed), nil, nothing(q, passed)
	}
	return takeAll(ctx, s, q, found, passed, agree)
}

// source returns the words for where a request's files are.
func source(q rye.AddRequest) string {
	if q.URL != "" {
		return q.URL
	}
	return q.Path
}

// nothing explains why a path has no items to take in.
func nothing(q rye.AddRequest, passed []foreign.Passed) error {
	from := source(q)
	for _, p := range passed {
		if p.Code != "" {
			return fault.New(p.Code, "add %s: %s: %s", from, words.Brief(p.Path), p.Why)
		}
	}
	for _, p := range passed {
		if p.Source != "" {
			return fault.New(fault.NotFound, "add %s: its plugins lie in other places", from).Mend("rye add %s", p.Source)
		}
	}
	why := ""
	for i, p := range passed[:min(len(passed), 3)] {
		why += []string{"; skipped: ", ", ", ", "}[i] + strconv.Quote(words.Brief(p.Path)) + " (" + p.Why + ")"
	}
	if len(passed) > 3 {
		why += fmt.Sprintf(" and %d more", len(passed)-3)
	}
	return fault.New(fault.NotFound, "add %s: no item, skill, command, rule or script there%s", from, why).
		Advise("a program with many files needs --entry <its main file>; a text needs --kind knowledge and its own path")
}

// take passes on what was found, and reports the rest.
func take(ctx context.Context, s *custody.Desk, q rye.AddRequest, found []foreign.Found, passed []foreign.Passed, agree func([]rye.AddReport) error) ([]rye.AddReport, error) {
	reports, _, err := takeAll(ctx, s, q, found, passed, agree)
	return reports, err
}

func takeAll(ctx context.Context, s *custody.Desk, q rye.AddRequest, found []foreign.Found, passed []foreign.Passed, agree func([]rye.AddReport) error) ([]rye.AddReport, []Package, error) {
	of := map[string]foreign.Found{}
	for _, f := range found {
		of[f.Ref.String()] = f
	}
	items, packages, err := packagesOf(found)
	if err != nil {
		return nil, nil, err
	}
	come, err := TakeIn(ctx, s, q, items, packages, func(come []rye.AddReport) error { return agree(reports(come, of, passed)) })
	if err != nil {
		return nil, nil, err
	}
	out := reports(come, of, passed)
	if err = failures(source(q), out); err != nil {
		for i, rep := range out { // none of these commands mends what failed
			if rep.Code == "" && rep.Next.IsCommand() {
				out[i].Next = fault.Advice("%s", rep.Next)
			}
		}
	}
	return out, packages, err
}

// packagesOf separates single items and bundles.
func packagesOf(found []foreign.Found) (items []*objects.Item, packages []Package, err error) {
	for _, f := range found {
		if f.Dir == "" {
			it, err := objects.Parse(f.Files[0].Path, f.Files[0].Data)
			if err != nil {
				return nil, nil, err
			}
			items = append(items, it)
			continue
		}
		p, err := packageOf(f)
		if err != nil {
			return nil, nil, err
		}
		packages = append(packages, p)
	}
	return items, packages, nil
}

// packageOf returns a bundle as it is written.
func packageOf(f foreign.Found) (Package, error) {
	p := Package{Ref: f.Ref, Dir: f.Dir, Origin: f.Origin, Left: f.Left}
	for _, file := range f.Files {
		p.Files = append(p.Files, store.Change{Path: file.Path, Data: file.Data, Mode: space.ModeOf(objects.File{Executable: file.Executable})})
	}
	var err error
	p.Manifest, err = manifestOf(p, f)
	return p, err
}

// failures returns the error for what should have come in and did not: the code of the first.
func failures(from string, all []rye.AddReport) error {
	n, first := 0, rye.AddReport{}
	for _, rep := range all {
		if rep.Code == "" {
			continue
		}
		if n++; n == 1 {
			first = rep
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return fault.New(first.Code, "add %s: %s did not come in: %s", from, words.Brief(first.Path), words.Brief(first.Why)).With(first.Next)
	}
	return fault.New(first.Code, "add %s: %d parts did not come in, the first is %s: %s", from, n, words.Brief(first.Path), words.Brief(first.Why)).With(first.Next)
}

// reports completes the reports of taken items, and adds those of the skipped files.
func reports(come []rye.AddReport, of map[string]foreign.Found, passed []foreign.Passed) []rye.AddReport {
	out := make([]rye.AddReport, 0, len(come)+len(passed))
	for _, rep := range come {
		f, ok := of[rep.Ref]
		if !ok {
			f = of[entryOf(rep.Ref, of)]
		}
		rep.What, rep.Lost, rep.Name, rep.About, rep.Plugin, rep.From = f.What, f.Lost, f.Name, f.About, f.Plugin, f.From
		for _, ref := range f.Holds {
			rep.Holds = append(rep.Holds, ref.String())
		}
		out = append(out, rep)
	}
	return append(out, skipped(passed)...)
}

// entryOf returns the ref of the entry of a bundle that was there already, whose report has the
// bundle's own ref.
func entryOf(ref string, of map[string]foreign.Found) string {
	for name, f := range of {
		if f.Dir != "" && objects.BundleRef(bundleIn(f.Dir)).String() == ref {
			return name
		}
	}
	return ""
}

func bundleIn(dir string) objects.ID {
	id, err := objects.BundleID(dir)
	if err != nil {
		return ""
	}
	return id
}

func skipped(passed []foreign.Passed) (out []rye.AddReport) {
	for _, p := range passed {
		rep := rye.AddReport{Path: p.Path, Why: p.Why, Code: p.Code, Rule: p.Rule, Expected: p.Want, Found: p.Got}
		if p.Source != "" {
			rep.Next = fault.CommandOf("rye", "add", p.Source)
		}
		out = append(out, rep)
	}
	return out
}

func question(url string, facts []string, come []rye.AddReport) rye.Question {
	n := 0
	for _, rep := range come {
		if rep.Why == "" {
			n++
		}
	}
	q := rye.Question{Topic: "add from " + url, Text: "Add " + words.Plural(n, "item") + "?",
		Lines: slices.Clone(facts), Mend: fault.Command("rye add %s --yes", url)}
	for i, rep := range come {
		if i == maxShown {
			q.Lines = append(q.Lines, "... and "+words.Plural(len(come)-i, "more line"))
			break
		}
		line := rep.Ref + "  " + string(rep.State)
		switch {
		case rep.Why != "":
			line = "skipped " + words.Quote(words.Brief(rep.Path)) + ": " + words.Brief(rep.Why)
		case rep.Signer != "":
			line += "  signed by " + rep.Signer
		case len(rep.Holds) > 0:
			line += "  " + words.Plural(len(rep.Holds), "item")
		}
		q.Lines = append(q.Lines, line)
	}
	q.Lines = append(q.Lines, programsCome(come)...)
	return q
}

// manifestOf lists the files of a bundle in an unsigned manifest.
func manifestOf(p Package, f foreign.Found) ([]byte, error) {
	id, err := objects.BundleID(p.Dir)
	if err != nil {
		return nil, err
	}
	m := &objects.Manifest{ID: id, Version: "0.1.0", Origin: f.Origin}
	if v, err := objects.ParseVersion(f.Version); err == nil {
		m.Version = v.String()
	}
	for _, c := range p.Files {
		m.Files = append(m.Files, objects.File{Path: c.Path[len(p.Dir)+1:], Executable: c.Mode == store.ModeExec,
			Size: int64(len(c.Data)), Sum: objects.DigestOf(c.Data)})
		if ref, _, err := objects.RefOfPath(c.Path); err != nil || ref != p.Ref {
			continue
		}
		if it, err := objects.Parse(c.Path, c.Data); err == nil {
			if v, err := objects.ParseVersion(it.Meta.Version); err == nil {
				m.Version = v.String()
			}
		}
	}
	slices.SortFunc(m.Files, func(a, b objects.File) int { return strings.Compare(a.Path, b.Path) })
	return m.Encode()
}
