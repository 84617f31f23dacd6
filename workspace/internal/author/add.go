package author

import (
	"bytes"
	"cmp"
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
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// addItems takes files into the project and records them as they are, signed or not, in one
// commit. A path below .ai stays where it is; another is copied in under q.As and q.Kind.
// A bundle is taken in whole. Recording an item does not make it trusted.
func addItems(ctx context.Context, s *custody.Desk, q rye.AddRequest) ([]rye.AddReport, error) {
	var bundles []string
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, err
	}
	p, inside := session.Below(l.Dir, q.Path)
	if q.Text != nil {
		p, inside = "", false
	}
	if inside {
		if bundles, err = look.BundlesAt(ctx, l, p); err != nil {
			return nil, err
		}
	}
	items, err := itemsAt(ctx, s, l, q, p, bundles)
	if err != nil {
		return nil, err
	}
	if len(items)+len(bundles) == 0 {
		return nil, fault.New(fault.NotFound, "add %s: no items there", q.Path).Advise("rye new tool <id>")
	}
	in, err := checkAddition(ctx, s, l, items, q.Force)
	if err != nil {
		return nil, err
	}
	for _, dir := range bundles {
		if err := in.addBundle(ctx, s, dir); err != nil {
			return nil, err
		}
	}
	if q.DryRun {
		return in.preview(), nil
	}
	return in.reports, in.record(ctx, s)
}

// preview returns the reports without next commands: nothing is added yet.
func (in *addition) preview() []rye.AddReport {
	for i := range in.reports {
		in.reports[i].Next = fault.Hint{}
	}
	return in.reports
}

// itemsAt reads the items of a request: one file, or every item of a folder below .ai except
// the members of bundles. p is the path below .ai, "" for a path elsewhere.
func itemsAt(ctx context.Context, s *custody.Desk, l *space.Layer, q rye.AddRequest, p string, bundles []string) ([]*objects.Item, error) {
	if q.Text != nil {
		it, err := itemIn(s, l, q, "")
		return []*objects.Item{it}, err
	}
	st, err := os.Stat(q.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "add %s: no such file, and no published name (acme/tool/hello)", q.Path)
	case err != nil || look.InAny(bundles, p):
		return nil, err
	case !st.IsDir():
		it, err := itemIn(s, l, q, p)
		return []*objects.Item{it}, err
	}
	var paths []string
	_, err = l.Files(ctx, func(f string, ref objects.Ref) error {
		if (p == "." || strings.HasPrefix(f, p+"/")) && !look.InAny(bundles, f) {
			paths = append(paths, f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]*objects.Item, len(paths))
	return all, parallel.Each(ctx, len(paths), func(i int) (err error) {
		all[i], err = parseFile(l, paths[i])
		return err
	})
}

func parseFile(l *space.Layer, p string) (*objects.Item, error) {
	raw, err := l.Read(p)
	if err != nil {
		return nil, err
	}
	return objects.Parse(p, raw)
}

// itemIn reads the item in one file, at p below .ai or, with "", elsewhere.
func itemIn(s *custody.Desk, l *space.Layer, q rye.AddRequest, p string) (*objects.Item, error) {
	if p != "" {
		if q.As != "" || q.Kind != "" {
			return nil, fault.New(fault.Usage, "add %s: it lies below .ai already, so its path gives its kind and id", q.Path).Advise("leave out --as and --kind")
		}
		return parseFile(l, p)
	}
	raw, err := q.Text, error(nil)
	if raw == nil {
		raw, err = place.Read(q.Path, space.MaxItem)
	}
	if err != nil {
		return nil, err
	}
	ext := filepath.Ext(q.Path)
	kind, err := kindOf(q.Kind, ext, raw)
	if err != nil {
		return nil, err
	}
	stem := strings.TrimSuffix(filepath.Base(q.Path), ext)
	ref, err := objects.ParseRef(string(kind) + ":" + cmp.Or(q.As, namespaceOf(s)+"/"+strings.ToLower(stem)))
	if err != nil {
		return nil, err
	}
	return objects.Parse(ref.Path(ext), raw)
}

// kindOf returns the kind that the user named, or the only one that fits the file.
func kindOf(named, ext string, raw []byte) (objects.Kind, error) {
	switch {
	case named != "":
		return objects.ParseKind(named)
	case ext == ".md" && bytes.Contains(raw, []byte("<directive")):
		return objects.Directive, nil
	case ext == ".md":
		return objects.Knowledge, nil
	case ext == ".yaml" || ext == ".yml":
		return "", fault.New(fault.Usage, "a %s file may be a tool, knowledge or config", ext).Advise("rye add --kind tool ...")
	}
	return objects.Tool, nil
}

// addition holds the changes that come into the project in one commit.
type addition struct {
	layer    *space.Layer
	items    []*objects.Item
	replaced [][]store.Change // for each item, the different file that it replaces, if any
	reports  []rye.AddReport  // of the items, then of the bundles
	refs     []objects.Ref    // of the items, then of the bundles
	beside   []store.Change   // the files of the bundles, which are in place already
	kept     []store.Change   // files of bundles that are replaced
	written  []store.Change   // files of new bundles, and removals of the files that they replace
}

// checkAddition judges items before they come into the project. It writes nothing.
func checkAddition(ctx context.Context, s *custody.Desk, l *space.Layer, items []*objects.Item, force bool) (*addition, error) {
	in := &addition{layer: l, items: items, reports: make([]rye.AddReport, len(items)), replaced: make([][]store.Change, len(items))}
	recorded, err := recordedBlobs(ctx, l, len(items))
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		in.refs = append(in.refs, it.Ref)
	}
	return in, parallel.Each(ctx, len(items), func(i int) error {
		blob, err := recorded(items[i].Path)
		if err == nil {
			in.replaced[i], err = replacedBy(l, items[i], force)
		}
		if err == nil {
			in.reports[i], err = describeAdded(ctx, s, l, items[i], blob)
		}
		return err
	})
}

// replacedBy returns the working file that an item would replace. Without force a
// different file is refused, so that nothing is lost.
func replacedBy(l *space.Layer, it *objects.Item, force bool) ([]store.Change, error) {
	old, err := l.There(it)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !fault.Is(err, fault.Malformed):
		return nil, err
	case old == nil || old.Sum == it.Sum:
		return nil, nil
	case !force:
		return nil, fault.New(fault.Conflict, "add %s: %s is already there and differs", it.Ref, session.Shown(l, old.Path)).
			Advise("rye add --force replaces it, and records the old file first")
	}
	return []store.Change{{Path: old.Path, Data: old.Raw}}, nil
}

// describeAdded reports an item's state in the project. It refuses an item that is older than
// the recorded one, which has this blob.
func describeAdded(ctx context.Context, s *custody.Desk, l *space.Layer, it *objects.Item, recorded store.OID) (rye.AddReport, error) {
	rep := rye.AddReport{Ref: it.Ref.String(), Path: session.Shown(l, it.Path), SHA256: it.Sum.String()}
	if it.Signature != nil {
		rep.Signer = it.Signature.Key.String()
	}
	var err error
	if rep.Problems, err = look.Problems(ctx, s.Session, l.Space, it); err != nil {
		return rep, err
	}
	f, err := s.Stack.JudgeBytes(ctx, l, it.Path, it.Ref, it.Raw, recorded)
	rep.State = f.State
	switch {
	case err != nil:
	case f.Past != nil:
		err = f.Past.Refusal("%s, compared with the record", f.State)
	case f.State == objects.Older:
		err = f.Err
	case f.Bundle != "" && f.Err != nil:
		rep.Next = fault.HintOf(f.Err)
	case it.Legacy != nil:
		rep.Line = look.Replaced(s.Trust, it, s.Stack.Scope(l))
		rep.Next = fault.Command("rye sign --upgrade %s"+session.SpaceFlag(l), it.Ref)
	case f.State != objects.Signed:
		rep.Next = fault.Command("rye sign %s"+session.SpaceFlag(l), it.Ref)
	}
	return rep, err
}

// addBundle adds a bundle of the project as it is, signed or not.
func (in *addition) addBundle(ctx context.Context, s *custody.Desk, dir string) error {
	b, err := readBundle(ctx, in.layer, dir)
	if err != nil {
		return err
	}
	c, err := s.Stack.Cover(ctx, in.layer, manifestIn(dir), nil)
	if err != nil {
		return err
	}
	if c.Past != nil {
		return c.Past.Refusal("%s, compared with the record", c.State)
	}
	rep := rye.AddReport{Ref: look.BundleRef(b.manifest.ID), Path: session.Shown(in.layer, dir), SHA256: b.manifest.Item().Sum.String(), State: c.State}
	if c.State != objects.Signed {
		rep.Next = fault.Command("rye sign .ai/%s", dir)
	}
	in.reports, in.refs, in.beside = append(in.reports, rep), append(in.refs, b.manifest.Ref()), append(in.beside, b.changes...)
	return nil
}

// record writes the items' files where they differ, and records everything in one commit,
// after the files that they replace.
func (in *addition) record(ctx context.Context, s *custody.Desk) error {
	l := in.layer
	if err := ready(l); err != nil {
		return err
	}
	if err := keep(ctx, s, l, in.refs, append(slices.Concat(in.replaced...), in.kept...)); err != nil {
		return err
	}
	files := slices.Clone(in.written)
	for _, it := range in.items {
		files = append(files, store.Change{Path: it.Path, Data: it.Raw})
	}
	commit, err := change(ctx, s, l, "add", in.refs, files, in.beside...)
	for i := range in.reports {
		in.reports[i].Commit = commit
	}
	return err
}
