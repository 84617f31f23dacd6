package install

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/registry/resolve"
	"github.com/rye-os/rye/workspace/internal/share"
)

// firstLine is the position of the first operation of a namespace's log that can publish. A
// version with a lower position is local, and in no catalogue.
const firstLine = 2

// versions lists the versions of an item to choose from. These are the project's own item, the
// pinned version that stays because no one asked for the item, or else the registry's versions.
func (in *installation) versions(ctx context.Context, ref objects.Ref) ([]resolve.Version, error) {
	if mine, ok, err := in.own(ctx, ref); ok || err != nil {
		return mine, err
	}
	if it := in.kept(ctx, ref); in.stays(ref) && it != nil {
		in.stayed = true
		pin := in.Lock.Items[ref]
		return []resolve.Version{{Entry: oplog.Entry{Ref: ref, Version: pin.Version, Status: oplog.StatusOK,
			Meta: oplog.Meta{Deps: in.withExecutor(ctx, it.Meta.Deps, it)}}}}, nil
	}
	reg, _, err := in.registryOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !in.q.Update { // an update takes the registry's present versions
		if err := share.AsLocked(&in.Desk, reg, ref); err != nil {
			return nil, err
		}
	}
	all, err := in.listed(reg, ref)
	if err != nil {
		return nil, err
	}
	if it := in.kept(ctx, ref); it != nil {
		for i := range all {
			if all[i].Entry.Version == it.Meta.Version {
				all[i].Meta.Deps = in.withExecutor(ctx, all[i].Meta.Deps, it)
			}
		}
	}
	return all, in.takenBack(ref, all)
}

// takenBack refuses to move silently from a requested item's pinned version that was revoked.
func (in *installation) takenBack(ref objects.Ref, all []resolve.Version) error {
	pin, pinned := in.fromRegistry(ref)
	if !pinned || in.moving(ref) || !in.asked[ref] {
		return nil
	}
	i := slices.IndexFunc(all, func(v resolve.Version) bool { return v.Entry.Version == pin.Version })
	if i < 0 || !all[i].Status.Gone() {
		return nil
	}
	rng, err := objects.ParseRange(cmp.Or(in.deps[ref.Published()], "*"))
	v, verr := objects.ParseVersion(pin.Version)
	if err != nil || verr != nil || !rng.Allows(v) {
		return nil
	}
	return fault.New(fault.Revoked, "%s: was %s: %s", all[i].Name(), all[i].Status, all[i].Reason).Mend("rye update %s", ref.Published())
}

// listed reads an item's lines in the catalogue of its namespace.
func (in *installation) listed(reg *registry.Registry, ref objects.Ref) ([]resolve.Version, error) {
	entries, err := reg.VersionsOf(ref)
	if err != nil {
		return nil, err
	}
	since, err := reg.AgeOf(ref.ID.Namespace())
	if err != nil {
		return nil, err
	}
	all := make([]resolve.Version, len(entries))
	for i, e := range entries {
		if id, ok := in.runs[e.Name()]; ok {
			e.Meta.Deps = withDep(e.Meta.Deps, objects.Ref{Kind: objects.Tool, ID: id})
		}
		all[i] = resolve.Version{Entry: e, Since: since(&e)}
	}
	return all, nil
}

// own returns the project's own item, or the standard library's: these have one version. A
// request for such an item by name is refused.
func (in *installation) own(ctx context.Context, ref objects.Ref) ([]resolve.Version, bool, error) {
	space := objects.Project
	if reserved(ref) && !in.asked[ref] {
		space = objects.System
	}
	f, ok, err := in.Stack.In(ctx, space, ref)
	if err == nil && !ok && space == objects.System {
		err = fault.New(fault.NotFound, "%s: the standard library has no such item", ref.Published()).Advise("try another version of the item that needs it, or another version of rye")
	}
	if err != nil || !ok || f.Registry != "" {
		return nil, false, err
	}
	if in.asked[ref] {
		return nil, false, fault.New(fault.Conflict, "add %s: the project has its own item of this name", ref).Mend("rye mv %s %s-own", ref, ref.ID)
	}
	e := oplog.Entry{Ref: ref, Version: "0.0.0", Status: oplog.StatusOK}
	if f.Item != nil {
		e.Meta.Deps = f.Item.Meta.Deps
		if _, err := objects.ParseVersion(f.Item.Meta.Version); err == nil {
			e.Version = f.Item.Meta.Version
		}
	}
	return []resolve.Version{{Entry: e}}, true, nil
}

// reserved reports whether an item is in a namespace that no registry has.
func reserved(ref objects.Ref) bool { return trust.Reserved(ref.ID.Namespace()) }

// stays reports whether an item is pinned and keeps its version.
func (in *installation) stays(ref objects.Ref) bool {
	_, pinned := in.fromRegistry(ref)
	return pinned && !in.open && !in.asked[ref] && !in.moving(ref)
}

// stands reports whether the lock has a version of an item, and it is here.
func (in *installation) stands(ctx context.Context, ref objects.Ref, version string) bool {
	pin, pinned := in.fromRegistry(ref)
	return pinned && pin.Version == version && !in.q.Update && in.kept(ctx, ref) != nil
}

// kept returns the pinned item if its content is here; else nil.
func (in *installation) kept(ctx context.Context, ref objects.Ref) *objects.Item {
	if _, pinned := in.fromRegistry(ref); !pinned {
		return nil
	}
	if ref.Kind == objects.Bundle {
		return keptPackage(in, ref)
	}
	f, ok, err := in.Stack.In(ctx, objects.Project, ref)
	if err != nil || !ok || f.Registry == "" {
		return nil
	}
	return f.Item
}

// keptPackage is the pinned package as one item; nil where it cannot be read.
func keptPackage(in *installation, ref objects.Ref) *objects.Item {
	was := in.Stack.LockedPackage(ref)
	if was == nil || was.Err != nil {
		return nil
	}
	p := &parcel{Package: was, members: was.Members()}
	meta, err := share.PackageMeta(was.Manifest(), p.members)
	if err != nil {
		return nil
	}
	return p.whole(meta)
}

// withExecutor adds a pinned tool's executor to its dependencies.
func (in *installation) withExecutor(ctx context.Context, deps map[string]string, it *objects.Item) map[string]string {
	if id := in.executor(ctx, it); id != "" {
		return withDep(deps, objects.Ref{Kind: objects.Tool, ID: id})
	}
	return deps
}

// withDep adds an item, at any version, to dependencies that lack it.
func withDep(deps map[string]string, ref objects.Ref) map[string]string {
	if _, ok := deps[ref.Published()]; ok {
		return deps
	}
	all := map[string]string{ref.Published(): "*"}
	maps.Copy(all, deps)
	return all
}

// leave finds pins that only the old versions of moved items needed.
func (in *installation) leave(ctx context.Context, sol *resolve.Solution) error {
	var look []objects.Ref
	for i := range in.arrivals {
		look = append(look, in.arrivals[i].item.Ref)
	}
	for len(look) > 0 {
		old := in.kept(ctx, look[0])
		look = look[1:]
		if old == nil {
			continue
		}
		for name := range in.withExecutor(ctx, old.Meta.Deps, old) {
			ref, err := objects.ParseRef(name)
			if err != nil {
				return err
			}
			_, pinned := in.fromRegistry(ref)
			_, chosen := sol.Chosen[ref]
			if _, direct := in.Project.Deps[name]; pinned && !chosen && !direct && !executes(in, ref) && !slices.Contains(in.gone, ref) {
				in.gone = append(in.gone, ref)
				look = append(look, ref)
			}
		}
	}
	slices.SortFunc(in.gone, byPublished)
	return nil
}

// executes reports whether a tool of the project itself runs through an item.
func executes(in *installation, ref objects.Ref) bool {
	for _, pin := range in.Lock.Items {
		if pin.From == "" && slices.Contains(pin.Chain, ref) {
			return true
		}
	}
	return false
}

// remarks lists warnings about the chosen versions, and reasons for skipping others.
func (in *installation) remarks(sol *resolve.Solution) (all []string) {
	for _, ref := range slices.SortedFunc(maps.Keys(sol.Chosen), byPublished) {
		c := sol.Chosen[ref]
		if c.Status == oplog.StatusOK {
			continue
		}
		text := fmt.Sprintf("%s was %s: %s", c.Name(), c.Status, c.Reason)
		if to := in.instead(ref, c.Entry.Version); to != "" {
			text += fmt.Sprintf("; rye add %s@%s", ref.Published(), to)
		}
		all = append(all, text)
	}
	for _, p := range sol.Passed {
		text := fmt.Sprintf("%s@%s is skipped: %s", p.Item.Published(), p.Version, p.Why)
		if !p.Until.IsZero() {
			text += ", until " + p.Until.Format(time.RFC3339)
		}
		all = append(all, text)
	}
	return all
}

// instead returns the range to take in place of a version that is deprecated or yanked.
func (in *installation) instead(ref objects.Ref, version string) string {
	name, _, err := in.Project.RegistryFor(ref.ID.Namespace())
	reg := in.registries[name+"\x00"+ref.ID.Namespace()]
	if err != nil || reg == nil {
		return ""
	}
	all, err := in.listed(reg, ref)
	if err != nil {
		return ""
	}
	rules, err := in.Rules()
	return resolve.Instead(all, version, func(v resolve.Version) bool {
		age := rules.MinAge(ref)
		return err == nil && v.Status == oplog.StatusOK && (age == 0 || !in.Now().Before(v.Since.Add(age)))
	})
}

// depsText lists an item's declared dependencies.
func depsText(deps map[string]string) string {
	if len(deps) == 0 {
		return "nothing"
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(deps)) {
		all = append(all, name+" "+deps[name])
	}
	return strings.Join(all, ", ")
}
