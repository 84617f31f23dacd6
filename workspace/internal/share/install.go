package share

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
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
	in := &installation{Desk: *s, q: q, rep: &rye.InstallReport{DryRun: q.DryRun}, regs: map[string]*registry.Registry{}, deps: map[string]string{}}
	defer in.close()
	wants, err := in.wanted()
	if err != nil {
		return nil, err
	}
	for len(wants) > 0 {
		w := wants[0]
		more, err := in.one(ctx, w)
		if err != nil {
			return nil, err
		}
		wants = append(wants[1:], more...)
	}
	if q.DryRun {
		in.preview()
		return in.rep, nil
	}
	return in.rep, in.finish(ctx)
}

// want is an item and the versions that will do.
type want struct {
	ref    objects.Ref
	rng    objects.Range
	text   string // the range as written
	direct bool   // asked for by name, or listed in rye.yaml
}

// installation is one Install on its way.
type installation struct {
	Desk // its own: what the log says is seen by what follows
	q    rye.InstallRequest
	rep  *rye.InstallReport
	regs map[string]*registry.Registry
	done []arrival
	deps map[string]string // for rye.yaml
}

// arrival is an item that was verified and waits to be pinned.
type arrival struct {
	release  registry.Release
	content  *registry.Fetched
	name     string // of the registry in this project
	item     *objects.Item
	verified trust.Verified
}

func (in *installation) close() {
	for _, reg := range in.regs {
		reg.Close()
	}
}

// wanted reads the names asked for, or the project's dependencies.
func (in *installation) wanted() ([]want, error) {
	var all []want
	add := func(name, text string) error {
		ref, err := objects.ParseRef(name)
		if err != nil {
			return err
		}
		rng, err := objects.ParseRange(text)
		all = append(all, want{ref: ref, rng: rng, text: text, direct: true})
		return err
	}
	for _, arg := range in.q.Names {
		name, text, ok := strings.Cut(arg, "@")
		if !ok {
			text = in.Project.Deps[name]
		}
		if err := add(name, cmp.Or(text, "*")); err != nil {
			return nil, err
		}
	}
	if len(in.q.Names) > 0 {
		return all, nil
	}
	for _, name := range slices.Sorted(maps.Keys(in.Project.Deps)) {
		if err := add(name, in.Project.Deps[name]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// one selects, verifies and asks about one item, and returns what it needs besides.
func (in *installation) one(ctx context.Context, w want) ([]want, error) {
	for _, a := range in.done {
		if a.item.Ref == w.ref {
			return nil, nil
		}
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
	rel, err := in.choose(reg, w)
	if err != nil {
		return nil, err
	}
	a, err := in.arrive(ctx, reg, name, rel)
	if err != nil {
		return nil, err
	}
	if w.direct {
		in.deps[w.ref.Published()] = in.constraint(w, rel)
	}
	if !in.unchanged(a) {
		if err := in.agree(ctx, a); err != nil {
			return nil, err
		}
	}
	in.done = append(in.done, *a)
	return in.needs(ctx, a.item), nil
}

// constraint is what rye.yaml shall say: what was asked for, or a caret on what came.
func (in *installation) constraint(w want, rel registry.Release) string {
	if w.text != "*" {
		return w.text
	}
	return "^" + rel.Entry.Version
}

// registry opens and syncs a registry once for each namespace.
func (in *installation) registry(ctx context.Context, name, ns string) (*registry.Registry, error) {
	key := name + "\x00" + ns
	if reg, ok := in.regs[key]; ok {
		return reg, nil
	}
	in.Say("reading " + ns + " from " + name)
	reg, err := sync(ctx, &in.Desk, name, ns)
	if err != nil {
		return nil, err
	}
	in.regs[key] = reg
	in.Session, err = bind(&in.Desk, reg, ns)
	return reg, err
}

// choose takes the pinned version where it still fits and nobody asked to move,
// else the newest that fits.
func (in *installation) choose(reg *registry.Registry, w want) (registry.Release, error) {
	if in.Lock != nil && !in.q.Update {
		if it, ok := in.Lock.Items[w.ref]; ok && it.From != "" {
			if v, err := objects.ParseVersion(it.Version); err == nil && w.rng.Allows(v) {
				return reg.Release(w.ref, it.Version)
			}
		}
	}
	return reg.Select(w.ref, w.rng)
}

// arrive fetches the content of a release and verifies it as a use of it would.
func (in *installation) arrive(ctx context.Context, reg *registry.Registry, name string, rel registry.Release) (*arrival, error) {
	e := rel.Entry
	in.Say("fetching " + e.Name())
	c, err := reg.Fetch(ctx, rel)
	if err != nil {
		return nil, err
	}
	it, err := objects.Parse(e.Path, c.Raw)
	if err != nil {
		return nil, err
	}
	scope := trust.Scope{Space: objects.Project, Project: in.Stack.Genesis, Registry: reg.ID().String(), Logged: e.Sum}
	v, err := trust.Verify(it, scope, in.Trust)
	if err != nil {
		return nil, err
	}
	if it.Ref != e.Ref || it.Meta.Version != e.Version {
		return nil, fault.New(fault.Integrity, "%s: the file says it is %s@%s", e.Name(), it.Ref, it.Meta.Version)
	}
	return &arrival{release: rel, content: c, name: name, item: it, verified: v}, nil
}

func (in *installation) unchanged(a *arrival) bool {
	if in.Lock == nil {
		return false
	}
	it, ok := in.Lock.Items[a.item.Ref]
	return ok && it.SHA256 == a.item.Sum && it.Author == a.item.Signature.Key
}

// agree shows what comes in: who signed it and what it may do.
func (in *installation) agree(ctx context.Context, a *arrival) error {
	if in.q.DryRun {
		return nil
	}
	it, e := a.item, a.release.Entry
	q := rye.Question{Topic: "add " + e.Name(), Text: "Add it?", Mend: fault.Command("rye add %s --yes", e.Name())}
	q.Lines = append(q.Lines,
		e.Name()+" from "+a.name+": "+it.Meta.Description,
		"author   "+it.Signature.Key.String(),
		"sha256   "+it.Sum.String())
	if it.Ref.Kind == objects.Tool {
		q.Lines = append(q.Lines, "needs    "+describeNeeds(it.Meta.Needs))
	}
	if len(it.Meta.Permissions) > 0 {
		q.Lines = append(q.Lines, "asks for "+strings.Join(it.Meta.Permissions, ", "))
	}
	if in.Lock != nil {
		if old, ok := in.Lock.Items[it.Ref]; ok {
			if old.Author != it.Signature.Key {
				q.Lines = append(q.Lines, fmt.Sprintf("SIGNER CHANGED: was %s", old.Author))
			}
			q.Lines = append(q.Lines, "replaces "+old.Version)
		}
	}
	return in.Ask(ctx, q)
}

// describeNeeds says in one line what a registry's tool asks of the sandbox, or
// what silence gives it.
func describeNeeds(n objects.Needs) string {
	if !n.Declared {
		return "says nothing: reads the project, no network"
	}
	var parts []string
	for _, p := range []struct {
		verb string
		what []string
	}{{"reads", n.Read}, {"writes", n.Write}, {"network", n.Net}} {
		if len(p.what) > 0 {
			parts = append(parts, p.verb+" "+strings.Join(p.what, ", "))
		}
	}
	if len(parts) == 0 {
		return "no files, no network"
	}
	return strings.Join(parts, "; ")
}

// needs lists what a tool runs on that is neither in the project nor below it.
func (in *installation) needs(ctx context.Context, it *objects.Item) []want {
	if it.Ref.Kind != objects.Tool || it.Meta.Executor == "" {
		return nil
	}
	ref := objects.Ref{Kind: objects.Tool, ID: it.Meta.Executor}
	if _, err := in.Stack.Find(ctx, ref); err == nil || !fault.Is(err, fault.NotFound) || trust.Reserved(ref.ID.Namespace()) {
		return nil
	}
	rng, err := objects.ParseRange("*")
	if err != nil {
		return nil
	}
	return []want{{ref: ref, rng: rng, text: "*"}}
}

func (a *arrival) installed() rye.Installed {
	e := a.release.Entry
	return rye.Installed{Name: e.Ref.Published(), Version: e.Version, Registry: a.name, SHA256: e.Sum.String(), Commit: e.Commit.String(),
		Author: e.Author.String(), Publisher: e.Publisher.String(), Seq: e.Seq}
}
