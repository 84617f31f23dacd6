package rye

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store/space"
)

// Status reports every item of the project with its state, sorted by ref. Files
// that have not changed since they were last verified are answered from the
// catalogue in the cache directory; nothing else is written.
func (r *Rye) Status(ctx context.Context) (items []ItemInfo, err error) {
	s, err := r.openLook(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer s.stack.Guard()(&err)
	k, err := s.look(ctx, objects.Project)
	if err != nil {
		return nil, err
	}
	return describeTwins(k.Rows()), nil
}

// Survey counts the items of the project by state, and returns, sorted by ref, those
// that there is something to do about or to know of. What is signed, recorded and
// alone at its name is counted only, so that a clean project of ten thousand items
// takes as long as git status takes there. Otherwise it is Status.
func (r *Rye) Survey(ctx context.Context) (sum *Survey, err error) {
	s, err := r.openLook(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer s.stack.Guard()(&err)
	k, err := s.look(ctx, objects.Project)
	if err != nil {
		return nil, err
	}
	sum = &Survey{Count: map[State]int{}}
	var rest []space.Row
	clean := 0
	for i := range k.Len() {
		if k.Clean(i) {
			clean++
			continue
		}
		row := k.Row(i)
		sum.Count[row.State]++
		rest = append(rest, row)
	}
	if clean > 0 {
		sum.Count[space.Signed] += clean
	}
	sum.Items = describeTwins(rest)
	return sum, nil
}

// describeTwins is describeAll for rows sorted by ref, and says where two files are
// one item.
func describeTwins(rows []space.Row) []ItemInfo {
	all := describeAll(rows)
	for i := range rows {
		if twin := twinOf(rows, i); twin != "" {
			all[i].Why = strings.TrimPrefix(all[i].Why+"; "+twin+" is this item too: keep one of them", "; ")
		}
	}
	return all
}

// describeAll is describe for many, on every processor: most of it is spelling
// digests.
func describeAll(rows []space.Row) []ItemInfo {
	all := make([]ItemInfo, len(rows))
	var g errgroup.Group
	rest := all
	for part := range slices.Chunk(rows, 1024) {
		into := rest[:len(part)]
		rest = rest[len(part):]
		g.Go(func() error {
			for i := range part {
				into[i] = describe(&part[i])
			}
			return nil
		})
	}
	g.Wait()
	return all
}

// twinOf returns the path of another file for the ref of row i, in rows sorted by
// ref. Both may be loaded by a tool that they lie beside; neither can be asked for.
func twinOf(rows []space.Row, i int) string {
	for _, j := range [...]int{i - 1, i + 1} {
		if j >= 0 && j < len(rows) && rows[j].Ref == rows[i].Ref && rows[i].Ref.Kind != "" && rows[j].State != space.Deleted && rows[i].State != space.Deleted {
			return rows[j].Path
		}
	}
	return ""
}

// List reports the items of a space, or of all when space is "", each ref once
// with the spaces that it shadows.
func (r *Rye) List(ctx context.Context, kind, spaceName string) ([]ItemInfo, error) {
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if kind != "" {
		if _, err := objects.ParseKind(kind); err != nil {
			return nil, err
		}
	}
	if _, err := s.extractors(ctx); err != nil {
		return nil, err // what they would have shown cannot be told
	}
	all, err := s.catalogue(ctx, spaceName)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, it := range all {
		if kind == "" || it.Kind == kind {
			kept = append(kept, it)
		}
	}
	return kept, nil
}

// Show describes one item: the one that would be used, or with all every space's.
func (r *Rye) Show(ctx context.Context, ref string, all bool) ([]ItemInfo, error) {
	s, rf, err := r.openFor(ref)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	set, err := s.extractors(ctx)
	if _, is := extract.KindOf(rf); err != nil && !is {
		return nil, err
	}
	var shown []ItemInfo
	for sp := objects.Project; sp >= objects.System; sp-- {
		f, ok, err := s.stack.In(ctx, sp, rf)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if len(shown) > 0 {
			shown[0].Shadows = append(shown[0].Shadows, sp.String())
		}
		if len(shown) == 0 || all {
			r := f.Row(set)
			i := describe(&r)
			if f.Item != nil {
				i.Executor, i.Params = string(f.Item.Meta.Executor), parameters(f.Item)
			}
			shown = append(shown, i)
		}
	}
	if len(shown) == 0 {
		return nil, fault.New(fault.NotFound, "%s: in no space", rf).Mend("rye search %s", rf.ID.Name())
	}
	return shown, nil
}

// parameters lists what an item takes: a directive's inputs, or the properties of
// a tool's schema.
func parameters(it *objects.Item) []ParamInfo {
	var all []ParamInfo
	for _, in := range it.Meta.Inputs {
		all = append(all, ParamInfo{Name: in.Name, Type: in.Type, Required: in.Required, Default: in.Default, Description: in.Description})
	}
	props, _ := it.Meta.Schema["properties"].(map[string]any)
	required, _ := it.Meta.Schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p := ParamInfo{Name: name, Required: slices.Contains(required, any(name))}
		if m, ok := props[name].(map[string]any); ok {
			p.Type, _ = m["type"].(string)
			p.Description, _ = m["description"].(string)
			if d, ok := m["default"]; ok {
				p.Default = inputText(d)
			}
		}
		all = append(all, p)
	}
	return all
}

// ref reads what a person typed: a ref, a published name, or the path of an
// item's file.
func (s *session) ref(arg string) (objects.Ref, error) {
	ref, err := objects.ParseRef(arg)
	if err == nil {
		return ref, nil
	}
	for _, l := range s.stack.Layers() {
		if p, ok := below(l.Dir, arg); ok {
			ref, _, err := objects.RefOfPath(p)
			if err == nil {
				err = objects.CheckExtension(p)
			}
			return ref, err
		}
	}
	return objects.Ref{}, err
}

// below returns the slash path of file below dir, when it lies there.
func below(dir, file string) (string, bool) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		// The directory may be reached by another name (a link to /tmp, say).
		real, err1 := filepath.EvalSymlinks(filepath.Dir(abs))
		realDir, err2 := filepath.EvalSymlinks(dir)
		if err1 != nil || err2 != nil {
			return "", false
		}
		rel, err = filepath.Rel(realDir, filepath.Join(real, filepath.Base(abs)))
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return "", false
		}
	}
	return filepath.ToSlash(rel), true
}

// scan judges everything in one space.
func (s *session) scan(ctx context.Context, sp objects.Space) ([]space.Finding, error) {
	if sp == objects.System {
		return s.stack.ScanSystem()
	}
	l, err := s.stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	found, err := s.stack.Scan(ctx, l)
	if err != nil || sp != objects.Project || s.lock == nil {
		return found, err
	}
	own := map[objects.Ref]bool{}
	for _, f := range found {
		own[f.Ref] = true
	}
	return append(found, s.lockedBeside(func(ref objects.Ref) bool { return own[ref] })...), nil
}

// lockedBeside returns the items of registries that no own file stands before.
func (s *session) lockedBeside(own func(objects.Ref) bool) []space.Finding {
	var refs []objects.Ref
	for ref, it := range s.lock.Items {
		if it.From != "" && !own(ref) {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b objects.Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return s.stack.ScanLock(refs)
}

// look is scan for lists: files that have not changed are not read again.
func (s *session) look(ctx context.Context, sp objects.Space) (k *space.Look, err error) {
	defer s.stack.Guard()(&err)
	if sp == objects.System {
		set, err := s.extractors(ctx) // none where they cannot be used, as in Look
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		found, err := s.stack.ScanSystem()
		return space.LookAt(space.RowsOf(found, set)), err
	}
	l, err := s.stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	k, err = s.stack.Look(ctx, l)
	if err == nil && sp == objects.Project && s.lock != nil {
		set, _ := s.extractors(ctx) // that Look asked for
		k.Add(space.RowsOf(s.lockedBeside(k.Holds), set))
	}
	return k, err
}

// looks returns what each of the spaces holds, highest first. only is the name of
// one, or "" or "all".
func (s *session) looks(ctx context.Context, only string) ([]*space.Look, error) {
	if only != "" && only != "all" {
		if _, err := objects.ParseSpace(only); err != nil {
			return nil, err
		}
	}
	var all []*space.Look
	for sp := objects.Project; sp >= objects.System; sp-- {
		if only != "" && only != "all" && only != sp.String() {
			continue
		}
		if sp != objects.System {
			if _, err := s.stack.Layer(sp); err != nil {
				continue
			}
		}
		k, err := s.look(ctx, sp)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// catalogue lists spaces, highest first, each ref once; the zero ref of foreign
// files is left out.
func (s *session) catalogue(ctx context.Context, only string) (all []ItemInfo, err error) {
	defer s.stack.Guard()(&err)
	looks, err := s.looks(ctx, only)
	if err != nil {
		return nil, err
	}
	at := map[objects.Ref]int{}
	for _, k := range looks {
		rows := k.Rows()
		for i, it := range describeAll(rows) {
			ref := rows[i].Ref
			if ref.Kind == "" {
				continue
			}
			if j, ok := at[ref]; !ok {
				at[ref] = len(all)
				all = append(all, it)
			} else if sp := it.Space; all[j].Space != sp && !slices.Contains(all[j].Shadows, sp) {
				all[j].Shadows = append(all[j].Shadows, sp)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ItemInfo) int { return cmp.Compare(a.Ref, b.Ref) })
	return all, nil
}

// info describes a finding for people and programs.
func info(f space.Finding) ItemInfo {
	r := f.Row(nil)
	return describe(&r)
}

func describe(r *space.Row) ItemInfo {
	i := ItemInfo{
		Kind: string(r.Ref.Kind), ID: string(r.Ref.ID), Space: r.Space.String(), State: r.State, Recorded: r.Recorded,
		Path: r.Path, Locked: r.Registry != "",
		Name: r.Name, Title: r.Title, Version: r.Version, Description: r.Description, Category: r.Category, Tags: r.Tags,
	}
	if r.Ref.Kind != "" {
		i.Ref = r.Ref.String()
	}
	if i.Bundle = string(r.Bundle); r.Manifest {
		i.Ref, i.Kind, i.ID = bundleRef(r.Bundle), "bundle", i.Bundle
	}
	i.Covers = r.Covers
	if r.Why != "" {
		// The list names item and space already.
		i.Why = strings.TrimPrefix(strings.TrimPrefix(r.Why, "verify "+i.Ref+" in the "+i.Space+" space: "), i.Ref+": ")
	}
	for _, t := range r.More {
		if i.Fields == nil {
			i.Fields = make(map[string]string, len(r.More))
		}
		i.Fields[t.Name] = t.Value
	}
	if r.Sum != (objects.Digest{}) {
		i.SHA256 = r.Sum.String()
	}
	if !r.SignedAt.IsZero() {
		i.Signer, i.SignedAt = r.Signer.String(), r.SignedAt.Format(time.RFC3339)
	}
	return i
}

// targets turns what a person typed into the refs of working files: refs, paths,
// or patterns in which * stands for any text and ? for one character.
func (s *session) targets(ctx context.Context, l *space.Layer, args []string, all bool) ([]objects.Ref, error) {
	var refs []objects.Ref
	seen := map[objects.Ref]bool{}
	add := func(ref objects.Ref) {
		if !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	if all {
		args = append(args[:len(args):len(args)], "*")
	}
	for _, arg := range args {
		if !strings.ContainsAny(arg, "*?") {
			ref, err := s.ref(arg)
			if err != nil {
				return nil, err
			}
			add(ref)
			continue
		}
		n := len(refs)
		_, err := l.Files(ctx, func(_ string, ref objects.Ref) error {
			if glob(arg, ref.String()) || glob(arg, string(ref.ID)) {
				add(ref)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(refs) == n && !all {
			return nil, fault.New(fault.NotFound, "%q matches no item of the %s space", arg, l.Space).Mend("rye list")
		}
	}
	return refs, nil
}

// glob matches s against a pattern in which * spans everything, slashes too.
// It takes time proportional to the product of the lengths at the worst.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p, i = p+1, i+1
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// draft returns the working item for a ref, as it is.
func draft(l *space.Layer, ref objects.Ref) (*objects.Item, error) { return draftBy(l, ref, l.Draft) }

func draftBy(l *space.Layer, ref objects.Ref, read func(objects.Ref) (*objects.Item, error)) (*objects.Item, error) {
	it, err := read(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "%s: not in the %s space", ref, l.Space).Mend("rye new %s %s", ref.Kind, ref.ID)
	}
	return it, err
}
