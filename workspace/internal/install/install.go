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
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/resolve"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Install brings registry items into the project: it selects a version, verifies
// it through its namespace's log, keeps its content in the project's store and
// pins it in the lock. Without names it brings everything that rye.yaml asks for
// to where the lock says. What is new or changed is shown together, and agreed to first.
func Install(ctx context.Context, s *custody.Desk, q rye.InstallRequest) (*rye.InstallReport, error) {
	in := &installation{Desk: *s, q: q, registries: map[string]*registry.Registry{}, deps: map[string]string{}, asked: map[objects.Ref]bool{}, explicit: map[objects.Ref]bool{}, runs: map[string]objects.ID{}}
	defer in.close()
	if err := session.TellForks(s.Session); err != nil {
		return nil, err
	}
	wants, err := in.wanted()
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

// installation is one Install. Nothing of the project changes before pin.
type installation struct {
	custody.Desk // its own: registry replaces the Session after it has read a log, so what follows sees that
	q            rye.InstallRequest

	registries map[string]*registry.Registry // opened, by registry and namespace
	arrivals   []arrival
	deps       map[string]string // ranges for rye.yaml, by published name
	warnings   []string

	asked    map[objects.Ref]bool  // by name, or listed in rye.yaml where nothing is named
	explicit map[objects.Ref]bool  // with a range
	runs     map[string]objects.ID // what executes a version that arrived, where a registry has it
	open     bool                  // what was not asked for may move, too
	stayed   bool                  // something was kept where it is without a look at its registry
	gone     []objects.Ref         // pinned for the sake of what moved, and for nothing now
}

func (in *installation) close() {
	for _, reg := range in.registries {
		reg.Close()
	}
}

// byYou and byProject say who wants a range.
const (
	byYou     = "this command"
	byProject = "your rye.yaml"
)

// wanted reads what is asked for: the names, or else the project's dependencies; besides
// those what the project has and must keep, and its ranges for whatever comes along.
func (in *installation) wanted() (all []resolve.Want, err error) {
	names := in.q.Names
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(in.Project.Deps))
	}
	for _, arg := range names {
		w, err := in.want(arg)
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

// want reads a name with or without a range. A range that is given replaces the project's.
func (in *installation) want(arg string) (w resolve.Want, err error) {
	name, text, explicit := strings.Cut(arg, "@")
	if w.Item, err = objects.ParseRef(name); err != nil {
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
	case in.q.Update && pinned: // it came along with something, and goes on to
	default:
		in.deps[published] = "" // a caret on what comes
	}
	return w, nil
}

// choose selects versions and fetches what is not here, until everything is here that what
// comes needs: what executes a tool is known when its file is.
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

// resolve chooses versions. What was not asked for stays where it is, unless nothing fits then.
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
		return nil, err // what could be had without asking further
	}
	return wider, werr
}

// moving reports whether a pinned item shall be as new as its ranges allow.
func (in *installation) moving(ref objects.Ref) bool {
	return in.explicit[ref] || in.q.Update && (len(in.q.Names) == 0 || in.asked[ref])
}

// caret fills in the ranges of what was asked for without one.
func (in *installation) caret(sol *resolve.Solution) {
	for ref := range in.asked {
		name := ref.Published()
		if text, ok := in.deps[name]; ok && text == "" {
			in.deps[name] = "^" + sol.Chosen[ref].Entry.Version
		}
	}
}

// bring fetches and verifies what was chosen and is not here. It reports whether something
// turned out to need more.
func (in *installation) bring(ctx context.Context, sol *resolve.Solution) (more bool, err error) {
	old := in.arrivals
	in.arrivals = nil
	for _, ref := range slices.SortedFunc(maps.Keys(sol.Chosen), byPublished) {
		c := sol.Chosen[ref]
		if c.Seq < firstLine || !in.asked[ref] && in.stands(ctx, ref, c.Entry.Version) {
			continue // of the project itself, or where it was
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

// arrive fetches and verifies one version, which has to say what its registry says of it.
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
		err = fault.New(fault.Integrity, "%s: its registry says that it uses %s, the file says %s", rel.Name(), depsText(rel.Meta.Deps), depsText(a.item.Meta.Deps)).
			Advise("tell whoever published it; another version may be as its registry says")
	}
	return a, err
}

// executor returns what executes a tool, where that comes from a registry; "" otherwise.
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

// registryOf opens the registry that an item comes from and reads its line.
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

// maxNamespaces bounds how many logs are read because somebody's catalogue names items in them.
const maxNamespaces = 256

// registry opens a registry and reads the log of a namespace, once. What follows sees
// what the log says of keys and revoked versions.
func (in *installation) registry(ctx context.Context, name, ns string) (*registry.Registry, error) {
	key := name + "\x00" + ns
	if reg, ok := in.registries[key]; ok {
		return reg, nil
	}
	if len(in.registries) >= maxNamespaces {
		return nil, fault.New(fault.Limit, "add: what is wanted leads to more than %d namespaces", maxNamespaces).Advise("leave out the item that brings so many")
	}
	in.Say("reading " + ns + " from " + name)
	reg, err := share.OpenSynced(ctx, &in.Desk, name, ns)
	if err != nil {
		return nil, err
	}
	in.registries[key] = reg
	if !in.q.Update { // which takes what the registry shows now
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
