package export

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/author"
)

// take brings edits of copies into their bundles. The result is unsigned: the person who reads the
// difference signs it.
func (x *exporting) take(ctx context.Context) error {
	all, err := x.compare(ctx)
	if err != nil {
		return err
	}
	edits := map[objects.Ref]map[string]store.Change{} // by the path in the bundle
	for _, g := range all {
		if err := x.editsOf(g, edits); err != nil {
			return err
		}
		if !g.Fits() {
			x.rep.Copies = append(x.rep.Copies, g.ClientCopy)
		}
	}
	if len(edits) == 0 {
		return fault.New(fault.NotFound, "export --take: no copy was edited").Advise("rye export --check shows every difference")
	}
	var packages []author.Package
	for i := range x.plan.sources {
		src := &x.plan.sources[i]
		if len(edits[src.ref]) == 0 {
			continue
		}
		p, err := edited(src, edits[src.ref])
		if err != nil {
			return err
		}
		packages = append(packages, p)
	}
	q := rye.AddRequest{Space: x.q.Space, Force: true, DryRun: x.q.DryRun}
	x.rep.Taken, err = author.TakeIn(ctx, x.Desk, q, nil, packages, func(come []rye.AddReport) error {
		ask := rye.Question{Topic: "take " + copies(len(packages)), Text: "Bring these edits into the items?", Mend: fault.Command("rye export --take --yes")}
		for _, g := range x.rep.Copies {
			ask.Lines = append(ask.Lines, g.Diff...)
			for _, p := range g.Extra {
				ask.Lines = append(ask.Lines, "+++ "+p)
			}
		}
		return x.Ask(ctx, ask)
	})
	return err
}

// editsOf gathers the changed and new files of one copy. Two copies of one item that were edited in
// different ways are a conflict.
func (x *exporting) editsOf(g *group, edits map[objects.Ref]map[string]store.Change) error {
	note := func(ref objects.Ref, from, p string) error {
		is, err := x.disk.read(p)
		if err != nil {
			return err
		}
		if is.none || is.link != "" {
			return fault.New(fault.Malformed, "export --take: %s is a link or gone", p).Advise("remove the link, then write the copy again: rye export")
		}
		mode := store.ModeFile
		if is.exec {
			mode = store.ModeExec
		}
		if edits[ref] == nil {
			edits[ref] = map[string]store.Change{}
		}
		if old, ok := edits[ref][from]; ok && string(old.Data) != string(is.data) {
			return fault.New(fault.Conflict, "export --take: two copies of %s in %s were edited in different ways", from, ref).Advise("make them equal, or remove one of the copies")
		}
		edits[ref][from] = store.Change{Path: from, Data: is.data, Mode: mode}
		return nil
	}
	for _, c := range g.copies {
		if !slices.Contains(g.Changed, c.path) {
			continue
		}
		if c.from == "" {
			return fault.New(fault.Usage, "export --take: %s is written anew for this client, so an edit has no place in the item", c.path).Advise("edit the item, then rye sign and rye export")
		}
		if err := note(c.ref, c.from, c.path); err != nil {
			return err
		}
	}
	if len(g.copies) == 0 || len(g.Extra) == 0 || g.copies[0].ref == (objects.Ref{}) {
		return nil
	}
	for _, p := range g.Extra {
		if err := note(g.copies[0].ref, strings.TrimPrefix(p, g.Path+"/"), p); err != nil {
			return err
		}
	}
	return nil
}

// edited returns a bundle with edits: its other files are the verified ones. The signed manifest stays,
// so that rye sign shows what changed.
func edited(src *source, edits map[string]store.Change) (author.Package, error) {
	p := author.Package{Dir: src.dir, Ref: src.ref}
	if src.dir == "" {
		return p, fault.New(fault.Usage, "export --take: %s comes from a registry, and is not edited here", src.ref).Advise("rye add %s --as <id> makes a bundle of your own", src.ref)
	}
	m := src.bundle.Manifest()
	err := src.bundle.Read(func(f objects.File, data []byte) error {
		if _, ok := edits[f.Path]; !ok {
			edits[f.Path] = store.Change{Path: f.Path, Data: slices.Clone(data), Mode: space.ModeOf(f)}
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	for _, c := range edits {
		p.Files = append(p.Files, store.Change{Path: src.dir + "/" + c.Path, Data: c.Data, Mode: c.Mode})
	}
	slices.SortFunc(p.Files, func(a, b store.Change) int { return cmp.Compare(a.Path, b.Path) })
	p.Manifest, p.Ref = m.Item().Raw, entryOf(src.ref, m)
	return p, nil
}

// entryOf returns the ref of a bundle's entry, by which it is taken in.
func entryOf(ref objects.Ref, m *objects.Manifest) objects.Ref {
	for _, f := range m.Files {
		if r, _, err := objects.RefOfPath(ref.PackageDir() + "/" + f.Path); err == nil && r.ID == ref.ID {
			return r
		}
	}
	return ref
}
