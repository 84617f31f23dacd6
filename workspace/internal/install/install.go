package install

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/resolve"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Install brings registry items into the project. It selects a version, verifies it through
// its namespace's log, keeps its content in the project's store and pins it in the lock.
// Without names it installs everything that rye.yaml asks for, at the lock's versions. New
// and changed items are shown together, and agreed to first.
func Install(ctx context.Context, s *custody.Desk, q rye.InstallRequest) (*rye.InstallReport, error) {
	in := &installation{Desk: *s, q: q, registries: map[string]*registry.Registry{}, deps: map[string]string{}, asked: map[objects.Ref]bool{}, explicit: map[objects.Ref]bool{}, runs: map[string]objects.ID{}}
	defer in.close()
	if err := session.TellForks(s.Session); err != nil {
		return nil, err
	}
	rules, err := s.Acting(q.DryRun)
	if err != nil {
		return nil, err
	}
	in.demands = rules.Demands
	if len(q.Names) == 0 && !q.Update && !q.DryRun && s.Lock != nil {
		if rep, err := in.vendored(ctx); rep != nil || err != nil {
			return rep, err
		}
	}
	wants, err := in.wanted(ctx)
	if err != nil {
		return nil, err
	}
	sol, err := in.choose(ctx, wants)
	if err != nil {
		return nil, err
	}
	if err := in.leave(ctx, sol); err != nil {
		return nil, err
	}
	rep := &rye.InstallReport{DryRun: q.DryRun, Warnings: append(in.warnings, in.remarks(sol)...)}
	shown := review{in, sol}
	rep.Changes = shown.changes(ctx)
	for _, reg := range in.registries {
		rep.Bytes += reg.Stats().Bytes
	}
	if q.DryRun {
		for i := range in.arrivals {
			in.arrivals[i].note(rep, in.Lock, in.arrivals[i].pinned(in.Lock))
		}
		return rep, nil
	}
	if err := shown.agree(ctx, rep.Changes); err != nil {
		return nil, err
	}
	return rep, in.pin(ctx, rep)
}

// installation is one Install. It changes nothing in the project before pin.
type installation struct {
	custody.Desk // its own: registry replaces the Session after it has read a log, for all later steps
	q            rye.InstallRequest

	registries map[string]*registry.Registry // opened, by registry and namespace
	demands    policy.Demands
	arrivals   []arrival
	deps       map[string]string // ranges for rye.yaml, by published name
	warnings   []string

	asked    map[objects.Ref]bool  // by name, or all of rye.yaml where nothing is named
	explicit map[objects.Ref]bool  // with a range
	runs     map[string]objects.ID // the executors from registries, by version that arrived
	open     bool                  // other items than the asked ones may move, too
	stayed   bool                  // an item kept its version without a look at its registry
	gone     []objects.Ref         // pinned only for the old versions of items that moved
}

func (in *installation) close() {
	for _, reg := range in.registries {
		reg.Close()
	}
}

// byYou and byProject name the origin of a range.
const (
	byYou     = "this command"
	byProject = "your rye.yaml"
)

// wanted returns the requested items: the names, or else the project's dependencies. It adds
// the project's other dependencies, which must stay, with their ranges for indirect items.
func (in *installation) wanted(ctx context.Context) (all []resolve.Want, err error) {
	names := in.q.Names
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(in.Project.Deps))
	}
	for _, arg := range names {
		w, err := in.want(ctx, arg)
		if err != nil {
			return nil, err
		}
		if same := func(o resolve.Want) bool { return o.Item == w.Item && o.Range.String() == w.Range.String() }; slices.ContainsFunc(all, same) {
			continue
		}
		if in.asked[w.Item] {
			return nil, fault.New(fault.Usage, "%s: it is named twice, with different ranges", w.Item.Published())
		}
		in.asked[w.Item] = true
		all = append(all, w)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Project.Deps)) {
		ref, err := objects.ParseRef(name)
		if err != nil {
			return nil, err
		}
		if in.asked[ref] {
			continue
		}
		rng, err := objects.ParseRange(in.Project.Deps[name])
		if err != nil {
			return nil, err
		}
		_, pinned := in.fromRegistry(ref)
		all = append(all, resolve.Want{Item: ref, Range: rng, By: byProject, Limit: !pinned})
	}
	return all, nil
}

// named reads the name of an item. One that is new here has its full or its published name.
func (in *installation) named(ctx context.Context, name string) (objects.Ref, error) {
	if ref, err := objects.ParseRef(name); err == nil && !in.q.Update {
		return ref, nil
	}
	if id, err := objects.ParseID(name); err == nil && !in.q.Update {
		if _, bound := share.Bound(&in.Desk, id.Namespace()); bound {
			return in.ofAnyKind(ctx, id)
		}
	}
	return session.RefOf(ctx, in.Session, name)
}

// ofAnyKind finds the item that a registry has under a name without a kind.
func (in *installation) ofAnyKind(ctx context.Context, id objects.ID) (objects.Ref, error) {
	var refs, there []objects.Ref
	for _, kind := range append(slices.Clone(objects.Kinds), objects.Bundle) {
		refs = append(refs, objects.Ref{Kind: kind, ID: id})
	}
	name, _, err := in.Project.RegistryFor(id.Namespace())
	if err != nil {
		return refs[0], err
	}
	reg, err := in.registry(ctx, name, id.Namespace())
	if err != nil {
		return refs[0], err
	}
	if err := reg.Look(ctx, id.Namespace(), refs...); err != nil {
		return refs[0], err
	}
	var names []string
	for _, ref := range refs {
		all, err := reg.VersionsOf(ref)
		if err != nil {
			return ref, err
		}
		if len(all) > 0 {
			there, names = append(there, ref), append(names, ref.Published())
		}
	}
	switch len(there) {
	case 0:
		return refs[0], fault.New(fault.NotFound, "add %s: %s comes from the registry %s here, which has no such item", id, id.Namespace(), name).
			Advise("rye search --registry %s looks for items there; write https://github.com/%s for a repository of GitHub", id.Name(), id)
	case 1:
		return there[0], nil
	}
	return refs[0], fault.New(fault.Usage, "add %s: the registry %s has %d items of this name", id, name, len(there)).Advise("give the kind: %s", strings.Join(names, ", "))
}

// want parses a name with or without a range. A given range replaces the project's.
func (in *installation) want(ctx context.Context, arg string) (w resolve.Want, err error) {
	name, text, explicit := strings.Cut(arg, "@")
	if w.Item, err = in.named(ctx, name); err != nil {
		return w, err
	}
	published := w.Item.Published()
	stated, listed := in.Project.Deps[published]
	if w.By = byYou; !explicit {
		text = cmp.Or(stated, "*")
		if listed {
			w.By = byProject
		}
	}
	if w.Range, err = objects.ParseRange(text); err != nil {
		return w, err
	}
	in.explicit[w.Item] = explicit
	_, pinned := in.fromRegistry(w.Item)
	switch {
	case explicit || listed:
		in.deps[published] = text
	case in.q.Update && pinned: // it is an indirect item, and stays one
	default:
		in.deps[published] = "" // a caret on the chosen version
	}
	return w, nil
}

// choose selects versions and fetches missing ones, until nothing else is needed: the executor
// of a tool is known once its file is here.
func (in *installation) choose(ctx context.Context, wants []resolve.Want) (*resolve.Solution, error) {
	for {
		sol, err := in.resolve(ctx, wants)
		if err != nil {
			return nil, err
		}
		more, err := in.bring(ctx, sol)
		if err != nil {
			return nil, err
		}
		if !more {
			in.caret(sol)
			return sol, nil
		}
	}
}

// resolve chooses versions. Other items than the asked ones keep theirs, if a solution exists
// then.
func (in *installation) resolve(ctx context.Context, wants []resolve.Want) (*resolve.Solution, error) {
	rules, err := in.Rules()
	if err != nil {
		return nil, err
	}
	q := resolve.Request{Wants: wants, Pinned: map[objects.Ref]string{}, Moving: in.moving, MinAge: rules.MinAge, Now: in.Now(),
		Source: func(ref objects.Ref) ([]resolve.Version, error) { return in.versions(ctx, ref) }}
	if in.Lock != nil {
		for ref, pin := range in.Lock.Items {
			if pin.From != "" {
				q.Pinned[ref] = pin.Version
			}
		}
	}
	in.stayed = false
	sol, err := resolve.Resolve(q)
	var conflict *resolve.ConflictError
	if in.open || !in.stayed || !errors.As(err, &conflict) {
		return sol, err
	}
	in.open = true
	wider, werr := resolve.Resolve(q)
	if fault.Is(werr, fault.Offline) || fault.Is(werr, fault.Network) {
		return nil, err // the conflict without further requests to registries
	}
	return wider, werr
}

// moving reports whether a pinned item is to be as new as its ranges allow.
func (in *installation) moving(ref objects.Ref) bool {
	return in.explicit[ref] || in.q.Update && (len(in.q.Names) == 0 || in.asked[ref])
}

// caret fills in the ranges of items that were asked for without one.
func (in *installation) caret(sol *resolve.Solution) {
	for ref := range in.asked {
		name := ref.Published()
		if text, ok := in.deps[name]; ok && text == "" {
			in.deps[name] = "^" + sol.Chosen[ref].Entry.Version
		}
	}
}

// bring fetches and verifies the chosen versions that are missing. It reports whether one of
// them turned out to need more.
func (in *installation) bring(ctx context.Context, sol *resolve.Solution) (more bool, err error) {
	old := in.arrivals
	in.arrivals = nil
	for _, ref := range slices.SortedFunc(maps.Keys(sol.Chosen), byPublished) {
		c := sol.Chosen[ref]
		if c.Seq < firstLine || !in.asked[ref] && in.stands(ctx, ref, c.Entry.Version) {
			continue // the project's own item, or an unchanged one
		}
		if i := slices.IndexFunc(old, func(a arrival) bool { return a.item.Ref == ref && a.release.Version == c.Entry.Version }); i >= 0 {
			in.arrivals = append(in.arrivals, old[i])
			continue
		}
		a, err := in.arrive(ctx, ref, c.Entry.Version)
		if err != nil {
			return false, err
		}
		in.arrivals = append(in.arrivals, *a)
		if id := in.executor(ctx, a.item); id != "" {
			in.runs[a.release.Name()], more = id, true
		}
	}
	return more, nil
}

func byPublished(a, b objects.Ref) int { return strings.Compare(a.Published(), b.Published()) }

// arrive fetches and verifies one version, which has to match its entry in the registry.
func (in *installation) arrive(ctx context.Context, ref objects.Ref, version string) (*arrival, error) {
	reg, name, err := in.registryOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	rel, err := reg.Release(ref, version)
	if err != nil {
		return nil, err
	}
	if err := in.learn(ctx, reg, rel); err != nil {
		return nil, err
	}
	a, err := in.fetch(ctx, reg, name, rel)
	if err == nil && !maps.Equal(rel.Meta.Deps, a.item.Meta.Deps) {
		err = fault.New(fault.Integrity, "%s: the registry lists the dependencies %s, but the file lists %s", rel.Name(), depsText(rel.Meta.Deps), depsText(a.item.Meta.Deps)).
			Advise("report this to its publisher, or use another version")
	}
	return a, err
}

// executor returns the executor of a tool, if that comes from a registry; "" otherwise.
func (in *installation) executor(ctx context.Context, it *objects.Item) objects.ID {
	if it.Ref.Kind != objects.Tool || it.Meta.Executor == "" {
		return ""
	}
	ref := objects.Ref{Kind: objects.Tool, ID: it.Meta.Executor}
	if reserved(ref) {
		return ""
	}
	if _, pinned := in.fromRegistry(ref); pinned {
		return ref.ID
	}
	if _, err := in.Stack.Find(ctx, ref); !fault.Is(err, fault.NotFound) {
		return ""
	}
	return ref.ID
}

// registryOf opens the registry of an item and reads the item's catalogue lines.
func (in *installation) registryOf(ctx context.Context, ref objects.Ref) (*registry.Registry, string, error) {
	name, _, err := in.Project.RegistryFor(ref.ID.Namespace())
	if err != nil {
		return nil, "", err
	}
	reg, err := in.registry(ctx, name, ref.ID.Namespace())
	if err != nil {
		return nil, "", err
	}
	return reg, name, reg.Look(ctx, ref.ID.Namespace(), ref)
}

// maxNamespaces bounds the number of logs that other people's catalogues can make rye read.
const maxNamespaces = 256

// registry opens a registry and reads the log of a namespace, once. Later steps see the log's
// keys and revoked versions.
func (in *installation) registry(ctx context.Context, name, ns string) (*registry.Registry, error) {
	key := name + "\x00" + ns
	if reg, ok := in.registries[key]; ok {
		return reg, nil
	}
	if len(in.registries) >= maxNamespaces {
		return nil, fault.New(fault.Limit, "add: the dependencies lead to more than %d namespaces", maxNamespaces).Advise("leave out the item that brings so many")
	}
	if err := in.demands.Source(in.Project.Registries[name].URL); err != nil {
		return nil, fault.Wrap(err, "registry %s", name)
	}
	in.Say("reading " + ns + " from " + name)
	reg, err := share.OpenSynced(ctx, &in.Desk, name, ns)
	if err != nil {
		return nil, err
	}
	in.registries[key] = reg
	if !in.q.Update { // an update takes the registry's present versions
		if err := share.LockFault(ctx, &in.Desk, reg, ns); err != nil {
			return nil, err
		}
	}
	if err := share.UpdateTrust(ctx, &in.Desk, reg, ns); err != nil {
		return nil, err
	}
	root, err := reg.Root(ctx)
	if err != nil {
		return nil, err
	}
	warnings, err := share.Newest(&in.Desk, reg, root, ns)
	if err != nil {
		return nil, err
	}
	in.warnings = append(in.warnings, warnings...)
	in.Session, err = in.WithTrust()
	return reg, err
}

// fromRegistry returns the pin of an item that came from a registry.
func (in *installation) fromRegistry(ref objects.Ref) (chain.Pin, bool) {
	pin, ok := share.PinOf(in.Lock, ref)
	return pin, ok && pin.From != ""
}
