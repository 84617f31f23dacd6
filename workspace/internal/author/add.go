package author

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Add takes files into the project and records them as they are, signed or not,
// in one commit. A path below .ai stays where it is; another is copied in under
// q.As and q.Kind. Recording an item does not make it trusted.
func Add(ctx context.Context, s *Desk, q rye.AddRequest) ([]rye.AddReport, error) {
	bundles, err := incomingBundles(ctx, s, q)
	if err != nil {
		return nil, err
	}
	in, err := incoming(ctx, s, q, bundles)
	if err != nil {
		return nil, err
	}
	if len(in)+len(bundles) == 0 {
		return nil, fault.New(fault.NotFound, "add %s: no items there", q.Path).Advise("rye new tool <id>")
	}
	reports, old, err := weigh(ctx, s, in, q.Force)
	if err != nil {
		return nil, err
	}
	refs := refsOf(in)
	var beside []store.Change
	for _, dir := range bundles {
		rep, files, err := addBundle(ctx, s, s.Stack.Project, dir)
		if err != nil {
			return nil, err
		}
		beside, reports = append(beside, files...), append(reports, rep)
		id, _ := objects.BundleID(dir) // addBundle compared it
		refs = append(refs, objects.Ref{Kind: objects.Config, ID: id})
	}
	if q.DryRun {
		return reports, nil
	}
	if err := keepOld(ctx, s, s.Stack.Project, refsOf(in), old); err != nil {
		return nil, err
	}
	return reports, takeIn(ctx, s, in, refs, beside, reports)
}

// weigh judges what would come in, and returns what must be recorded of the files that
// it replaces.
func weigh(ctx context.Context, s *Desk, items []*objects.Item, force bool) ([]rye.AddReport, []store.Change, error) {
	l := s.Stack.Project
	recorded := map[string]store.OID{}
	if err := l.Recorded(func(p string, blob store.OID) error { recorded[p] = blob; return nil }); err != nil {
		return nil, nil, err
	}
	reports, old := make([]rye.AddReport, len(items)), make([][]store.Change, len(items))
	err := parallel.Each(ctx, len(items), func(i int) (err error) {
		reports[i], old[i], err = checkIncoming(ctx, s, l, items[i], recorded[items[i].Path], force)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return reports, slices.Concat(old...), nil
}

// takeIn writes the items' files where they differ, and records them and the changes
// beside them under the names of refs.
func takeIn(ctx context.Context, s *Desk, items []*objects.Item, refs []objects.Ref, beside []store.Change, reports []rye.AddReport) error {
	l := s.Stack.Project
	var changes []store.Change
	for _, it := range items {
		changes = append(changes, store.Change{Path: it.Path, Data: it.Raw})
		if have, err := l.Read(it.Path); err == nil && bytes.Equal(have, it.Raw) {
			continue
		}
		if err := l.Write(it.Path, it.Raw, len(items) == 1); err != nil {
			return err
		}
	}
	commit, err := record(ctx, s, l, "add", refs, append(changes, beside...))
	for i := range reports {
		reports[i].Commit = commit
	}
	return err
}

// keepOld records files that are about to be replaced, in a commit of its own: in that of
// what replaces them they would not be part of history.
func keepOld(ctx context.Context, s *Desk, l *space.Layer, refs []objects.Ref, old []store.Change) error {
	if len(old) == 0 {
		return nil
	}
	_, err := record(ctx, s, l, "keep", refs, old)
	return err
}

// incomingBundles returns the directories of the bundles that the request names,
// or whose files it names: a bundle is taken in whole.
func incomingBundles(ctx context.Context, s *Desk, q rye.AddRequest) ([]string, error) {
	p, inside := session.Below(s.Stack.Project.Dir, q.Path)
	if !inside {
		return nil, nil
	}
	return look.BundlesAt(ctx, s.Session, s.Stack.Project, p)
}

// incoming reads what the request names: one file, or every item of a folder
// below .ai, without what the bundles hold.
func incoming(ctx context.Context, s *Desk, q rye.AddRequest, bundles []string) ([]*objects.Item, error) {
	st, err := os.Stat(q.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "add %s: no such file, and no published name (acme/tool/hello)", q.Path)
	}
	if err != nil {
		return nil, err
	}
	l := s.Stack.Project
	p, inside := session.Below(l.Dir, q.Path)
	if inside && look.InAny(bundles, p) {
		return nil, nil
	}
	if !st.IsDir() {
		it, err := readIncoming(s, p, inside, q)
		if err != nil {
			return nil, err
		}
		return []*objects.Item{it}, nil
	}
	if !inside {
		return nil, fault.New(fault.Usage, "add %s: folders are taken in only below .ai", q.Path).
			Advise("name the files; items of a git repository come with rye add file://<its absolute path>")
	}
	var paths []string
	_, err = l.Files(ctx, func(f string, ref objects.Ref) error {
		if (p == "." || f == p || strings.HasPrefix(f, p+"/")) && !look.InAny(bundles, f) {
			paths = append(paths, f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]*objects.Item, len(paths))
	return all, parallel.Each(ctx, len(paths), func(i int) error {
		raw, err := l.Read(paths[i])
		if err == nil {
			all[i], err = objects.Parse(paths[i], raw)
		}
		return err
	})
}

func readIncoming(s *Desk, p string, inside bool, q rye.AddRequest) (*objects.Item, error) {
	if inside {
		if q.As != "" || q.Kind != "" {
			return nil, fault.New(fault.Usage, "add %s: it lies below .ai already, so its place says what it is", q.Path).Advise("leave out --as and --kind")
		}
		raw, err := s.Stack.Project.Read(p)
		if err != nil {
			return nil, err
		}
		return objects.Parse(p, raw)
	}
	raw, err := look.ReadBounded(q.Path)
	if err != nil {
		return nil, err
	}
	ext := filepath.Ext(q.Path)
	stem := strings.TrimSuffix(filepath.Base(q.Path), ext)
	kind, err := incomingKind(q.Kind, ext, raw)
	if err != nil {
		return nil, err
	}
	id := q.As
	if id == "" {
		id = s.Project.Namespace + "/" + strings.ToLower(stem)
	}
	ref, err := objects.ParseRef(string(kind) + ":" + id)
	if err != nil {
		return nil, err
	}
	return objects.Parse(ref.Path(ext), raw)
}

// incomingKind takes the kind that was said, or the only one that fits.
func incomingKind(said, ext string, raw []byte) (objects.Kind, error) {
	switch {
	case said != "":
		return objects.ParseKind(said)
	case ext == ".md" && bytes.Contains(raw, []byte("<directive")):
		return objects.Directive, nil
	case ext == ".md":
		return objects.Knowledge, nil
	case ext == ".yaml" || ext == ".yml":
		return "", fault.New(fault.Usage, "a %s file may be a tool, knowledge or config", ext).Advise("rye add --kind tool ...")
	}
	return objects.Tool, nil
}

// checkIncoming refuses to lose anything: a different file of the same name stays,
// unless force, which records it first. It never takes a replayed item for new.
func checkIncoming(ctx context.Context, s *Desk, l *space.Layer, it *objects.Item, was store.OID, force bool) (rye.AddReport, []store.Change, error) {
	rep := rye.AddReport{Ref: it.Ref.String(), Path: ".ai/" + it.Path, SHA256: it.Sum.String()}
	problems, err := look.Problems(ctx, s.Session, l.Space, it)
	if err != nil {
		return rep, nil, err
	}
	for _, p := range problems {
		rep.Problems = append(rep.Problems, p)
	}
	old, err := l.There(it)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !fault.Is(err, fault.Malformed) {
		return rep, nil, err
	}
	var keep []store.Change
	if old != nil && old.Sum != it.Sum {
		if !force {
			return rep, nil, fault.New(fault.Conflict, "add %s: .ai/%s is already there and differs", it.Ref, old.Path).
				Advise("rye add --force replaces it, and records the old file first")
		}
		keep = append(keep, store.Change{Path: old.Path, Data: old.Raw})
	}
	f, err := s.Stack.JudgeBytes(ctx, l, it.Path, it.Ref, it.Raw, was)
	if err != nil {
		return rep, nil, err
	}
	rep.State = f.State
	if f.State == objects.Older {
		return rep, nil, f.Err
	}
	switch {
	case f.Bundle != "" && f.Err != nil:
		rep.Next = fault.HintOf(f.Err)
	case f.State != objects.Signed:
		rep.Next = fault.Command("rye sign %s", it.Ref)
	}
	return rep, keep, nil
}

func refsOf(items []*objects.Item) []objects.Ref {
	refs := make([]objects.Ref, len(items))
	for i, it := range items {
		refs[i] = it.Ref
	}
	return refs
}

// record commits changes with a subject that says what was done to what.
func record(ctx context.Context, s *Desk, l *space.Layer, verb string, refs []objects.Ref, changes []store.Change) (string, error) {
	o, err := s.Keys.CommitOptions(ctx, subject(verb, refs))
	if err != nil {
		return "", err
	}
	if changes, err = l.WithoutOld(changes); err != nil {
		return "", err
	}
	id, err := l.Record(ctx, changes, o)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

func subject(verb string, refs []objects.Ref) string {
	if len(refs) == 1 {
		return verb + " " + refs[0].String() + "\n"
	}
	var b strings.Builder
	b.WriteString(verb + " " + words.Plural(len(refs), "item") + "\n\n")
	for i, ref := range refs {
		if i == 100 {
			b.WriteString("... and " + words.Plural(len(refs)-i, "more item") + "\n")
			break
		}
		b.WriteString(ref.String() + "\n")
	}
	return b.String()
}

// typed is Stack.In for what a person typed: a path means this very file, also where
// another is the same item.
func typed(ctx context.Context, s *Desk, arg string, ref objects.Ref) (space.Finding, bool, error) {
	l := s.Stack.Project
	p, is := session.Below(l.Dir, arg)
	if _, err := objects.ParseRef(arg); err == nil || !is {
		return s.Stack.In(ctx, objects.Project, ref)
	}
	f, ok, err := s.Stack.At(ctx, objects.Project, ref, p)
	if ok || err != nil {
		return f, ok, err
	}
	was, err := l.RecordedBlob(p)
	f.Ref, f.Path = ref, p
	return f, err == nil && !was.IsZero(), err
}
