package install

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/share"
)

// A parcel is a bundle that arrived: its members, and its version in the lock.
type parcel struct {
	*space.Package
	members []*objects.Item
	was     *space.Package // nil where the lock pins no package, or an unreadable one
}

// unpack verifies a bundle and everything in it, and refuses one that would take the place of
// something else.
func (in *installation) unpack(ctx context.Context, a *arrival, id string) error {
	repo, tree, err := a.content.Files()
	if err != nil {
		return err
	}
	e := a.release.Entry
	p := space.OpenPackage(in.Stack, e.Ref, space.Pin{Registry: id, Commit: e.Commit, Path: e.Path, Sum: e.Sum}, a.content.Raw, repo, tree)
	if err := p.VerifyMembers(in.Stack); err != nil {
		return err
	}
	a.parcel = &parcel{Package: p, members: p.Members()}
	if was := in.Stack.LockedPackage(e.Ref); was != nil && was.Err == nil {
		a.parcel.was = was
	}
	meta, err := share.PackageMeta(p.Manifest(), a.parcel.members)
	if err != nil {
		return err
	}
	if meta.Caps != e.Meta.Caps || !maps.Equal(meta.Deps, e.Meta.Deps) {
		return fault.New(fault.Integrity, "%s: its members have other dependencies or permissions than the registry lists", e.Name())
	}
	a.verified, a.item = p.Proof(), a.parcel.whole(meta)
	return in.free(ctx, a)
}

// whole is the manifest as one item, with the combined metadata of all members.
func (p *parcel) whole(meta oplog.Meta) *objects.Item {
	it := *p.Proof().Item()
	it.Meta.Deps, it.Meta.Description = meta.Deps, meta.Description
	for _, m := range p.members {
		it.Meta.Permissions = append(it.Meta.Permissions, m.Meta.Permissions...)
		if m.Ref.Kind != objects.Tool {
			continue
		}
		n := describedNeeds(m)
		all := &it.Meta.Needs
		all.Declared = true
		all.Read, all.Write = append(all.Read, n.Read...), append(all.Write, n.Write...)
		all.Net, all.Listen, all.Rye = append(all.Net, n.Net...), append(all.Listen, n.Listen...), append(all.Rye, n.Rye...)
	}
	for _, list := range []*[]string{&it.Meta.Permissions, &it.Meta.Needs.Read, &it.Meta.Needs.Write, &it.Meta.Needs.Net, &it.Meta.Needs.Listen, &it.Meta.Needs.Rye} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return &it
}

// describedNeeds is the access that a registry's tool gets: without a declaration it reads the
// project.
func describedNeeds(it *objects.Item) objects.Needs {
	if it.Meta.Needs.Declared {
		return it.Meta.Needs
	}
	return objects.Needs{Declared: true, Read: []string{"."}}
}

// free refuses a bundle with a ref that the project, the lock or another arrival has. It also
// refuses an item that is a member of a bundle.
func (in *installation) free(ctx context.Context, a *arrival) error {
	ref := a.release.Entry.Ref
	taken := func(ref objects.Ref, by string) error {
		return fault.New(fault.Conflict, "add %s: it brings %s, which %s has already", a.release.Name(), ref, by).Mend("rye rm %s", ref)
	}
	for _, b := range in.arrivals {
		if b.parcel != nil && slices.ContainsFunc(b.parcel.members, func(m *objects.Item) bool { return m.Ref == ref }) {
			return comesWith(ref, b.parcel.Package, nil)
		}
	}
	if a.parcel == nil {
		if p, err := space.PackageOf(in.Stack, ref); err != nil || p != nil {
			return comesWith(ref, p, err)
		}
		return nil
	}
	if in.Stack.Project.IsFolder(ref.PackageDir()) {
		return fault.New(fault.Conflict, "add %s: the project has its own bundle of this name", a.release.Name()).Mend("rye rm %s", ref)
	}
	for _, m := range a.parcel.members {
		for _, b := range in.arrivals {
			if b.item.Ref == m.Ref {
				return taken(m.Ref, b.release.Name())
			}
		}
		if by, err := in.Stack.Occupied(ctx, m.Ref); err != nil || by != "" {
			if err != nil {
				return err
			}
			return taken(m.Ref, by)
		}
	}
	return nil
}

func comesWith(ref objects.Ref, p *space.Package, err error) error {
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "add %s: it is part of bundle %s, which the project has", ref.Published(), p.Ref.Published()).Advise("rye show %s", ref)
}

// shown is the number of members, and of files, that a question names one by one.
const shown = 100

// lines describes a bundle in a question: its members and their permissions, its executables,
// and the differences from the previous version.
func (p *parcel) lines() (all []string) {
	m := p.Manifest()
	size := int64(0)
	for _, f := range m.Files {
		size += f.Size
	}
	all = append(all, fmt.Sprintf("holds    %s; %d bytes", share.CountMembers(m, p.members), size))
	var members, runs []string
	for _, it := range p.members {
		members = append(members, "  "+describeMember(it))
	}
	programs := false
	for _, b := range look.ProgramsOf(p.Package) {
		runs = append(runs, "runs     "+words.Clip(words.Quote(b.Path)+"  "+b.Kind+": "+b.Why, rye.MaxLineBytes/8))
		programs = programs || b.Run != "" && b.Kind != rye.ToolOfBundle
	}
	if programs {
		needs := m.Needs
		needs.Declared = true // without any, a program has none
		runs = append(runs, "programs "+words.Clip(describeNeeds(needs), rye.MaxLineBytes/8)+"; without limits where another program runs a copy")
	}
	all = append(append(all, few(members)...), few(runs)...)
	if p.was == nil {
		return all
	}
	var files []string
	for _, c := range m.Since(p.was.Manifest()) {
		files = append(files, fmt.Sprintf("%-8s %s", c.Change, c.Path))
	}
	return append(all, few(files)...)
}

// few is the first of many lines, and the number of further ones.
func few(lines []string) []string {
	if len(lines) <= shown {
		return lines
	}
	return append(slices.Clip(lines[:shown]), fmt.Sprintf("         and %d more", len(lines)-shown))
}

// describeMember describes in one line a member and its permissions.
func describeMember(it *objects.Item) string {
	text := it.Ref.String()
	if it.Ref.Kind == objects.Tool {
		text += "  needs " + describeNeeds(it.Meta.Needs)
		if l := it.Meta.Limits.String(); l != "" {
			text += "; limits " + l
		}
	}
	if len(it.Meta.Permissions) > 0 {
		text += "  asks for " + strings.Join(it.Meta.Permissions, ", ")
	}
	return words.Clip(text, rye.MaxLineBytes/8)
}

// wider lists a bundle's permissions that the locked version lacks: a new program, a new tool,
// further needs of the programs, and further needs or capabilities of a member.
func (p *parcel) wider() (all []string) {
	if p.was == nil {
		return nil
	}
	old, then := p.was.Manifest(), map[objects.Ref]*objects.Item{}
	for _, it := range p.was.Members() {
		then[it.Ref] = it
	}
	ran := map[string]string{}
	for _, b := range look.ProgramsOf(p.was) {
		ran[b.Path] = b.Kind
	}
	for _, b := range look.ProgramsOf(p.Package) {
		f, _ := p.Manifest().File(b.Path)
		was, _ := old.File(b.Path)
		switch {
		case b.Kind == rye.ToolOfBundle && (!f.Executable || was.Executable): // among the members below
		case f.Executable && !was.Executable, ran[b.Path] != b.Kind:
			all = append(all, "brings a NEW PROGRAM, "+words.Quote(b.Path)+" ("+b.Kind+": "+b.Why+")")
		}
	}
	for _, text := range policy.Wider(programNeeds(p.Manifest()), programNeeds(old)) {
		all = append(all, "has programs of which each "+text)
	}
	for _, it := range p.members {
		was := then[it.Ref]
		switch {
		case was == nil && it.Ref.Kind == objects.Tool:
			all = append(all, "brings a new tool, "+it.Ref.String())
		case was == nil && len(it.Meta.Permissions) > 0:
			all = append(all, "brings "+it.Ref.String()+", which asks for "+strings.Join(it.Meta.Permissions, ", "))
		case was != nil:
			for _, text := range policy.Wider(fromRegistry(it), fromRegistry(was)) {
				all = append(all, "has "+it.Ref.String()+", which "+text)
			}
		}
	}
	for i := range all {
		all[i] = words.Clip(all[i], rye.MaxLineBytes/8)
	}
	return few(all)
}

// programNeeds is an item with the needs of a manifest's programs, to compare them.
func programNeeds(m *objects.Manifest) *objects.Item {
	it := &objects.Item{Ref: objects.Ref{Kind: objects.Tool}, Meta: objects.Meta{Needs: m.Needs}}
	it.Meta.Needs.Declared = true
	return it
}

// fromRegistry is an item with its needs as they apply to a registry's tool.
func fromRegistry(it *objects.Item) *objects.Item {
	other := *it
	if it.Ref.Kind == objects.Tool {
		sandbox := other.Meta.Needs.Sandbox
		other.Meta.Needs = describedNeeds(it)
		other.Meta.Needs.Sandbox = sandbox
	}
	return &other
}

// Bring is Install with advice for an unpublished name: the item may come with a bundle.
func Bring(ctx context.Context, s *custody.Desk, q rye.InstallRequest) (*rye.InstallReport, error) {
	rep, err := Install(ctx, s, q)
	if !fault.Is(err, fault.NotFound) {
		return rep, err
	}
	for _, name := range q.Names {
		name, _, _ = strings.Cut(name, "@")
		ref, bad := objects.ParseRef(name)
		if of, in := ref.Package(); bad == nil && in && brings(ctx, s, of) {
			return rep, fault.New(fault.NotFound, "add %s: %w", ref.Published(), err).
				Advise("it may be part of bundle %s: rye add %[1]s", of.Published())
		}
	}
	return rep, err
}

// brings reports whether a registry of the project has published a bundle, as last synced.
func brings(ctx context.Context, s *custody.Desk, ref objects.Ref) bool {
	ns := ref.ID.Namespace()
	name, _, err := s.Project.RegistryFor(ns)
	if err != nil {
		return false
	}
	reg, err := share.Open(s, name, nil)
	if err != nil {
		return false
	}
	defer reg.Close()
	if err := reg.Look(ctx, ns, ref); err != nil {
		return false
	}
	st, err := reg.View(ns)
	if err != nil {
		return false
	}
	list, err := st.Versions(ref)
	return err == nil && len(list) > 0
}
