package rye

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// Add takes files into the project and records them as they are, signed or not,
// in one commit. A path below .ai stays where it is; another is copied in under
// q.As and q.Kind. Recording an item does not make it trusted.
func (r *Rye) Add(ctx context.Context, c Caller, q AddRequest) ([]AddReport, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	bundles, err := s.incomingBundles(ctx, q)
	if err != nil {
		return nil, err
	}
	in, err := s.incoming(ctx, q, bundles)
	if err != nil {
		return nil, err
	}
	if len(in)+len(bundles) == 0 {
		return nil, fault.New(fault.NotFound, "add %s: no items there", q.Path).Advise("rye new tool <id>")
	}
	reports, old, err := s.weigh(ctx, in, q.Force)
	if err != nil {
		return nil, err
	}
	refs := refsOf(in)
	var beside []store.Change
	for _, dir := range bundles {
		rep, files, err := s.addBundle(ctx, s.stack.Project, dir)
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
	if err := s.keepOld(ctx, s.stack.Project, refsOf(in), old); err != nil {
		return nil, err
	}
	return reports, s.takeIn(ctx, in, refs, beside, reports)
}

// weigh judges what would come in, and returns what must be recorded of the files that
// it replaces.
func (s *session) weigh(ctx context.Context, items []*objects.Item, force bool) ([]AddReport, []store.Change, error) {
	l := s.stack.Project
	recorded := map[string]store.OID{}
	if err := l.Recorded(func(p string, blob store.OID) error { recorded[p] = blob; return nil }); err != nil {
		return nil, nil, err
	}
	reports, old := make([]AddReport, len(items)), make([][]store.Change, len(items))
	err := each(ctx, len(items), func(i int) (err error) {
		reports[i], old[i], err = s.checkIncoming(ctx, l, items[i], recorded[items[i].Path], force)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return reports, slices.Concat(old...), nil
}

// takeIn writes the items' files where they differ, and records them and the changes
// beside them under the names of refs.
func (s *session) takeIn(ctx context.Context, items []*objects.Item, refs []objects.Ref, beside []store.Change, reports []AddReport) error {
	l := s.stack.Project
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
	commit, err := s.record(ctx, l, "add", refs, append(changes, beside...))
	for i := range reports {
		reports[i].Commit = commit
	}
	return err
}

// keepOld records files that are about to be replaced, in a commit of its own: in that of
// what replaces them they would not be part of history.
func (s *session) keepOld(ctx context.Context, l *space.Layer, refs []objects.Ref, old []store.Change) error {
	if len(old) == 0 {
		return nil
	}
	_, err := s.record(ctx, l, "keep", refs, old)
	return err
}

// incomingBundles returns the directories of the bundles that the request names,
// or whose files it names: a bundle is taken in whole.
func (s *session) incomingBundles(ctx context.Context, q AddRequest) ([]string, error) {
	p, inside := below(s.stack.Project.Dir, q.Path)
	if !inside {
		return nil, nil
	}
	return s.bundlesAt(ctx, s.stack.Project, p)
}

// incoming reads what the request names: one file, or every item of a folder
// below .ai, without what the bundles hold.
func (s *session) incoming(ctx context.Context, q AddRequest, bundles []string) ([]*objects.Item, error) {
	st, err := os.Stat(q.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "add %s: no such file, and no published name (acme/tool/hello)", q.Path)
	}
	if err != nil {
		return nil, err
	}
	l := s.stack.Project
	p, inside := below(l.Dir, q.Path)
	if inside && inAny(bundles, p) {
		return nil, nil
	}
	if !st.IsDir() {
		it, err := s.readIncoming(p, inside, q)
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
		if (p == "." || f == p || strings.HasPrefix(f, p+"/")) && !inAny(bundles, f) {
			paths = append(paths, f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]*objects.Item, len(paths))
	return all, each(ctx, len(paths), func(i int) error {
		raw, err := l.Read(paths[i])
		if err == nil {
			all[i], err = objects.Parse(paths[i], raw)
		}
		return err
	})
}

// each calls f for every index below n, on all processors, until one fails.
func each(ctx context.Context, n int, f func(i int) error) error {
	g, stop := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := stop.Err(); err != nil {
					return err
				}
				if err := f(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *session) readIncoming(p string, inside bool, q AddRequest) (*objects.Item, error) {
	if inside {
		if q.As != "" || q.Kind != "" {
			return nil, fault.New(fault.Usage, "add %s: it lies below .ai already, so its place says what it is", q.Path).Advise("leave out --as and --kind")
		}
		raw, err := s.stack.Project.Read(p)
		if err != nil {
			return nil, err
		}
		return objects.Parse(p, raw)
	}
	raw, err := readBounded(q.Path)
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
		id = s.project.Namespace + "/" + strings.ToLower(stem)
	}
	ref, err := objects.ParseRef(string(kind) + ":" + id)
	if err != nil {
		return nil, err
	}
	return objects.Parse(ref.Path(ext), raw)
}

func readBounded(path string) ([]byte, error) {
	return place.Read(path, space.MaxItem)
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
func (s *session) checkIncoming(ctx context.Context, l *space.Layer, it *objects.Item, was store.OID, force bool) (AddReport, []store.Change, error) {
	rep := AddReport{Ref: it.Ref.String(), Path: ".ai/" + it.Path, SHA256: it.Sum.String()}
	problems, err := s.problems(ctx, l.Space, it)
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
				Mend("rye add --force (records the old file first)")
		}
		keep = append(keep, store.Change{Path: old.Path, Data: old.Raw})
	}
	f, err := s.stack.JudgeBytes(ctx, l, it.Path, it.Ref, it.Raw, was)
	if err != nil {
		return rep, nil, err
	}
	rep.State = f.State
	if f.State == space.Older {
		return rep, nil, f.Err
	}
	switch {
	case f.Bundle != "" && f.Err != nil:
		rep.Next = fault.HintOf(f.Err)
	case f.State != space.Signed:
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
func (s *session) record(ctx context.Context, l *space.Layer, verb string, refs []objects.Ref, changes []store.Change) (string, error) {
	o, err := s.r.commitOptions(subject(verb, refs))
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
	b.WriteString(verb + " " + plural(len(refs), "item") + "\n\n")
	for i, ref := range refs {
		if i == 100 {
			b.WriteString("... and " + plural(len(refs)-i, "more item") + "\n")
			break
		}
		b.WriteString(ref.String() + "\n")
	}
	return b.String()
}

// Remove takes a working item, or a dependency, out of the project. A working
// file's bytes are recorded before it goes, so that nothing is lost.
func (r *Rye) Remove(ctx context.Context, arg string, dryRun bool) (*AddReport, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if dir, ok := s.bundleTarget(s.stack.Project, arg); ok {
		return s.removeBundle(ctx, s.stack.Project, dir, dryRun)
	}
	ref, err := s.ref(arg)
	if err != nil {
		return nil, err
	}
	f, ok, err := s.typed(ctx, arg, ref)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.NotFound, "remove %s: not in this project", arg).Mend("rye list --space project")
	}
	rep := &AddReport{Ref: ref.String(), Path: ".ai/" + f.Path, State: space.Deleted, Next: fault.Command("rye restore %s", ref)}
	if dryRun {
		return rep, nil
	}
	if f.Registry != "" {
		rep.Path, rep.Next = "", fault.Command("rye add %s", ref.Published())
		return rep, s.dropDependency(ref)
	}
	l := s.stack.Project
	// What is no regular file, a link for one, holds nothing that could be lost.
	if err := s.keep(ctx, l, ref, f.Path, nil); err != nil && fault.CodeOf(err) != fault.Malformed {
		return nil, err
	}
	rep.Commit, err = s.record(ctx, l, "remove", []objects.Ref{ref}, []store.Change{{Path: f.Path, Delete: true}})
	if err != nil {
		return nil, err
	}
	if err := l.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return rep, nil
}

// typed is Stack.In for what a person typed: a path means this very file, also where
// another is the same item.
func (s *session) typed(ctx context.Context, arg string, ref objects.Ref) (space.Finding, bool, error) {
	l := s.stack.Project
	p, is := below(l.Dir, arg)
	if _, err := objects.ParseRef(arg); err == nil || !is {
		return s.stack.In(ctx, objects.Project, ref)
	}
	f, ok, err := s.stack.At(ctx, objects.Project, ref, p)
	if ok || err != nil {
		return f, ok, err
	}
	was, err := l.RecordedBlob(p)
	f.Ref, f.Path = ref, p
	return f, err == nil && !was.IsZero(), err
}
