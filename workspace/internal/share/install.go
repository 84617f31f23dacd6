package share

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
)

// Install brings registry items into the project: it selects a version, verifies
// it through its namespace's log, keeps its content in the project's store and
// pins it in the lock. Without names it brings everything that rye.yaml asks for
// to where the lock says. A new or changed item is shown and agreed to first.
func Install(ctx context.Context, s *Desk, q rye.InstallRequest) (*rye.InstallReport, error) {
	in := &installation{Desk: *s, q: q, registries: map[string]*registry.Registry{}, deps: map[string]string{}}
	defer in.close()
	wants, err := in.wanted()
	if err != nil {
		return nil, err
	}
	for len(wants) > 0 {
		more, err := in.one(ctx, wants[0])
		if err != nil {
			return nil, err
		}
		wants = append(wants[1:], more...)
	}
	rep := &rye.InstallReport{DryRun: q.DryRun, Warnings: in.warnings}
	for _, reg := range in.registries {
		rep.Bytes += reg.Stats().Bytes
	}
	if !q.DryRun {
		return rep, in.pin(ctx, rep)
	}
	for i := range in.arrivals {
		in.arrivals[i].note(rep, in.Lock, in.arrivals[i].pinned(in.Lock))
	}
	return rep, nil
}

// installation is one Install. Nothing of the project changes before pin.
type installation struct {
	Desk // its own: registry replaces the Session after it has read a log, so what follows sees that
	q    rye.InstallRequest

	registries map[string]*registry.Registry // opened, by registry and namespace
	arrivals   []arrival
	deps       map[string]string // ranges for rye.yaml, by published name
	warnings   []string
}

// want is an item and the versions that will do.
type want struct {
	ref    objects.Ref
	rng    objects.Range
	text   string // the range as written
	direct bool   // asked for by name, or listed in rye.yaml
}

func (in *installation) close() {
	for _, reg := range in.registries {
		reg.Close()
	}
}

// wanted reads the names asked for, or else the project's dependencies.
func (in *installation) wanted() ([]want, error) {
	names := in.q.Names
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(in.Project.Deps))
	}
	var all []want
	for _, arg := range names {
		name, text, ok := strings.Cut(arg, "@")
		if !ok {
			text = in.Project.Deps[name]
		}
		text = cmp.Or(text, "*")
		ref, err := objects.ParseRef(name)
		if err != nil {
			return nil, err
		}
		rng, err := objects.ParseRange(text)
		if err != nil {
			return nil, err
		}
		all = append(all, want{ref: ref, rng: rng, text: text, direct: true})
	}
	return all, nil
}

// one selects, verifies and asks about one item, and returns what it needs besides.
func (in *installation) one(ctx context.Context, w want) ([]want, error) {
	if slices.ContainsFunc(in.arrivals, func(a arrival) bool { return a.item.Ref == w.ref }) {
		return nil, nil
	}
	if f, ok, err := in.Stack.In(ctx, objects.Project, w.ref); err != nil {
		return nil, err
	} else if ok && f.Registry == "" {
		return nil, fault.New(fault.Conflict, "add %s: the project has an item of its own by this name", w.ref).Mend("rye rm %s", w.ref)
	}
	name, _, err := in.Project.RegistryFor(w.ref.ID.Namespace())
	if err != nil {
		return nil, err
	}
	reg, err := in.registry(ctx, name, w.ref.ID.Namespace())
	if err != nil {
		return nil, err
	}
	rel, err := in.choose(ctx, reg, w)
	if err != nil {
		return nil, err
	}
	if err := in.learn(ctx, reg, rel); err != nil {
		return nil, err
	}
	a, err := in.fetch(ctx, reg, name, rel)
	if err != nil {
		return nil, err
	}
	if !in.q.DryRun && !a.pinned(in.Lock) {
		if err := in.Ask(ctx, a.question(in.Lock)); err != nil {
			return nil, err
		}
	}
	if w.direct {
		in.deps[w.ref.Published()] = w.dependency(rel)
	}
	in.arrivals = append(in.arrivals, *a)
	return in.needs(ctx, a.item)
}

// dependency is the range for rye.yaml: the one asked for, or a caret on what came.
func (w want) dependency(rel registry.Release) string {
	if w.text != "*" {
		return w.text
	}
	return "^" + rel.Entry.Version
}

// registry opens a registry and reads the log of a namespace, once. What follows sees
// what the log says of keys and revoked versions.
func (in *installation) registry(ctx context.Context, name, ns string) (*registry.Registry, error) {
	key := name + "\x00" + ns
	if reg, ok := in.registries[key]; ok {
		return reg, nil
	}
	in.Say("reading " + ns + " from " + name)
	reg, err := OpenSynced(ctx, &in.Desk, name, ns)
	if err != nil {
		return nil, err
	}
	in.registries[key] = reg
	if !in.q.Update { // which takes what the registry shows now
		if err := lockFault(ctx, &in.Desk, reg, ns); err != nil {
			return nil, err
		}
	}
	if err := UpdateTrust(ctx, &in.Desk, reg, ns); err != nil {
		return nil, err
	}
	root, err := reg.Root(ctx)
	if err != nil {
		return nil, err
	}
	warnings, err := newest(&in.Desk, reg, root, ns)
	if err != nil {
		return nil, err
	}
	in.warnings = append(in.warnings, warnings...)
	in.Session, err = in.WithTrust()
	return reg, err
}

// choose returns the pinned version where it is still in the range and no update was
// asked for, or else the newest in the range.
func (in *installation) choose(ctx context.Context, reg *registry.Registry, w want) (registry.Release, error) {
	if err := registry.Look(ctx, reg, w.ref.ID.Namespace(), w.ref); err != nil {
		return registry.Release{}, err
	}
	if !in.q.Update { // which takes what the registry shows now
		if err := asLocked(&in.Desk, reg, w.ref); err != nil {
			return registry.Release{}, err
		}
	}
	if pin, ok := pinOf(in.Lock, w.ref); ok && pin.From != "" && !in.q.Update {
		if v, err := objects.ParseVersion(pin.Version); err == nil && w.rng.Allows(v) {
			return reg.Release(w.ref, pin.Version)
		}
	}
	return reg.Select(w.ref, w.rng)
}

// pinOf returns what a lock, which may be nil, says of an item.
func pinOf(l *chain.Lock, ref objects.Ref) (chain.Pin, bool) {
	if l == nil {
		return chain.Pin{}, false
	}
	pin, ok := l.Items[ref]
	return pin, ok
}

// needs returns the executor of a tool, unless it is in a space already or in a namespace
// that is reserved.
func (in *installation) needs(ctx context.Context, it *objects.Item) ([]want, error) {
	if it.Ref.Kind != objects.Tool || it.Meta.Executor == "" {
		return nil, nil
	}
	ref := objects.Ref{Kind: objects.Tool, ID: it.Meta.Executor}
	if _, err := in.Stack.Find(ctx, ref); err == nil || !fault.Is(err, fault.NotFound) || trust.Reserved(ref.ID.Namespace()) {
		return nil, nil
	}
	rng, err := objects.ParseRange("*")
	return []want{{ref: ref, rng: rng, text: "*"}}, err
}
