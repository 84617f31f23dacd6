package author

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Files made for other programs come from folders, archives and repositories. They are read
// within limits, and interpreted by objects/foreign.

// maxShown bounds the items that a question lists by name.
const maxShown = 200

// Add takes in a path: a file, a folder or an archive from outside .ai, in rye's form or
// another program's. A path below .ai is recorded where it is.
func Add(ctx context.Context, s *custody.Desk, q rye.AddRequest) ([]rye.AddReport, error) {
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
	if filepath.Base(q.Path) == objects.SkillFile {
		q.Path = filepath.Dir(q.Path)
	}
	if st.IsDir() || filepath.Base(q.Path) != filepath.Base(st.Name()) {
		t, err := folder(ctx, q.Path)
		if err != nil {
			return nil, err
		}
		return all(ctx, s, q, t, agreed)
	}
	data, err := place.Read(q.Path, unpack.MaxArchive)
	if err != nil {
		return nil, err
	}
	if unpack.Is(data) {
		t, err := archive(q.Path, data)
		if err != nil {
			return nil, fault.Wrap(err, "add %s", q.Path)
		}
		return all(ctx, s, q, t, agreed)
	}
	return lone(ctx, s, q, data)
}

func agreed([]rye.AddReport) error { return nil }

// Fetched takes in the tree of a repository at a commit. It shows the user the new items, and
// writes nothing before they agreed.
func Fetched(ctx context.Context, s *custody.Desk, q rye.AddRequest, commit store.OID, t foreign.Tree) ([]rye.AddReport, error) {
	return all(ctx, s, q, t, func(come []rye.AddReport) error { return s.Ask(ctx, question(q.URL, commit, come)) })
}

func wish(s *custody.Desk, q rye.AddRequest) foreign.Wish {
	return foreign.Wish{Namespace: s.Project.Namespace, As: q.As, Kind: q.Kind, Entry: filepath.ToSlash(q.Entry)}
}

// lone takes in one file.
func lone(ctx context.Context, s *custody.Desk, q rye.AddRequest, data []byte) ([]rye.AddReport, error) {
	if q.Entry != "" {
		return nil, fault.New(fault.Usage, "add %s: --entry is for a folder", q.Path)
	}
	abs, err := filepath.Abs(q.Path)
	if err != nil {
		return nil, err
	}
	t := foreign.Tree{Name: filepath.Base(filepath.Dir(abs)), Files: []foreign.File{{Path: known(filepath.ToSlash(abs)), Data: data}}}
	found, ok, err := foreign.Lone(t, wish(s, q))
	if err != nil {
		return nil, err
	}
	if !ok {
		return addItems(ctx, s, q)
	}
	return take(ctx, s, q, []foreign.Found{found}, nil, agreed)
}

// known keeps the part of a path that identifies a command of Claude Code or a rule of Cursor.
func known(p string) string {
	for _, dir := range []string{"/.claude/", "/.cursor/"} {
		if i := strings.LastIndex(p, dir); i >= 0 {
			return p[i+1:]
		}
	}
	return p[strings.LastIndexByte(p, '/')+1:]
}

// all takes in the items of a tree.
func all(ctx context.Context, s *custody.Desk, q rye.AddRequest, t foreign.Tree, agree func([]rye.AddReport) error) ([]rye.AddReport, error) {
	found, passed, err := foreign.Read(t, wish(s, q))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, nothing(q, passed)
	}
	return take(ctx, s, q, found, passed, agree)
}

// nothing explains why a path has no items to take in.
func nothing(q rye.AddRequest, passed []foreign.Passed) error {
	from := q.Path
	if q.URL != "" {
		from = q.URL
	}
	for _, p := range passed {
		if strings.HasSuffix(p.Path, objects.SkillFile) || strings.HasSuffix(p.Path, "skill.toml") {
			return fault.New(fault.Malformed, "add %s: %s: %s", from, p.Path, p.Why)
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

// take passes on the interpreted files, and reports the skipped ones.
func take(ctx context.Context, s *custody.Desk, q rye.AddRequest, found []foreign.Found, passed []foreign.Passed, agree func([]rye.AddReport) error) ([]rye.AddReport, error) {
	var items []*objects.Item
	var packages []Package
	of := map[string]foreign.Found{}
	for _, f := range found {
		of[f.Ref.String()] = f
		if f.Dir == "" {
			it, err := objects.Parse(f.Files[0].Path, f.Files[0].Data)
			if err != nil {
				return nil, err
			}
			items = append(items, it)
			continue
		}
		p := Package{Ref: f.Ref, Dir: f.Dir}
		for _, file := range f.Files {
			p.Files = append(p.Files, store.Change{Path: file.Path, Data: file.Data})
		}
		var err error
		if p.Manifest, err = manifestOf(p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	come, err := TakeIn(ctx, s, q, items, packages, func(come []rye.AddReport) error { return agree(reports(come, of, passed)) })
	if err != nil {
		return nil, err
	}
	return reports(come, of, passed), nil
}

// reports adds the lost parts to the reports of taken items, and reports the skipped files.
func reports(come []rye.AddReport, of map[string]foreign.Found, passed []foreign.Passed) []rye.AddReport {
	out := make([]rye.AddReport, 0, len(come)+len(passed))
	for _, rep := range come {
		f := of[rep.Ref]
		rep.What, rep.Lost = f.What, f.Lost
		out = append(out, rep)
	}
	for _, p := range passed {
		out = append(out, rye.AddReport{Path: p.Path, Why: p.Why})
	}
	return out
}

func question(url string, commit store.OID, come []rye.AddReport) rye.Question {
	n := 0
	for _, rep := range come {
		if rep.Why == "" {
			n++
		}
	}
	q := rye.Question{Topic: "add from " + url, Text: "Add " + words.Plural(n, "item") + "?",
		Lines: []string{"commit   " + commit.String()}, Mend: fault.Command("rye add %s --yes", url)}
	for i, rep := range come {
		if i == maxShown {
			q.Lines = append(q.Lines, "... and "+words.Plural(len(come)-i, "more line"))
			break
		}
		line := rep.Ref + "  " + string(rep.State)
		switch {
		case rep.Why != "":
			line = "skipped " + words.Brief(rep.Path) + ": " + words.Brief(rep.Why)
		case rep.Signer != "":
			line += "  signed by " + rep.Signer
		}
		q.Lines = append(q.Lines, line)
	}
	q.Lines = append(q.Lines, programsCome(come)...)
	return q
}

// manifestOf lists the files of a bundle in an unsigned manifest.
func manifestOf(p Package) ([]byte, error) {
	id, err := objects.BundleID(p.Dir)
	if err != nil {
		return nil, err
	}
	m := &objects.Manifest{ID: id, Version: "0.1.0"}
	for _, c := range p.Files {
		m.Files = append(m.Files, objects.File{Path: c.Path[len(p.Dir)+1:], Executable: bytes.HasPrefix(c.Data, []byte("#!")),
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
	slices.SortFunc(m.Files, func(a, b objects.File) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return m.Encode()
}
