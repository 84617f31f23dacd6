package share

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Push publishes items of one namespace: verified here, one signed operation of up to 256 items,
// one ref update. It skips items that are published already, byte for byte.
func Push(ctx context.Context, s *custody.Desk, q rye.PushRequest) (*rye.PushReport, error) {
	rep, err := push(ctx, s, q)
	var lies *registry.LocatedError
	if !errors.As(err, &lies) {
		return rep, err
	}
	name, _, err := s.Project.RegistryFor(lies.Namespace)
	if err != nil {
		return nil, err
	}
	if s, err = agreeToPlace(ctx, s, name, lies); err != nil {
		return nil, err
	}
	return push(ctx, s, q)
}

func push(ctx context.Context, s *custody.Desk, q rye.PushRequest) (*rye.PushReport, error) {
	var user func() (name, email string)
	if !q.DryRun {
		var err error
		if user, err = gitUser(s); err != nil {
			return nil, err
		}
	}
	what, ns, err := pushTargets(ctx, s, q)
	if err != nil {
		return nil, err
	}
	items, err := toPush(ctx, s, q, &what)
	if err != nil {
		return nil, err
	}
	name, err := pushRegistry(s, ns, q)
	if err != nil {
		return nil, err
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	if !q.DryRun {
		if err := askAuthor(ctx, s, user); err != nil {
			return nil, err
		}
	}
	reg, err := openTo(s, name, q.To)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	s.Say(fmt.Sprintf("publishing %s to %s", words.Plural(len(items), "item"), name))
	p := &pushing{s: s, reg: reg, name: name, key: key, ns: ns}
	done, err := p.publish(ctx, items, q.DryRun)
	if err != nil {
		return nil, err
	}
	rep := &rye.PushReport{Registry: name, Namespace: ns, Seq: done.Tip.Seq, DryRun: q.DryRun, Granted: p.granted,
		Published: releaseNames(done.Published), Unchanged: releaseNames(done.Unchanged), PassedOver: what.passed}
	if !done.Tip.Tip.IsZero() {
		rep.Tip = done.Tip.Tip.String()
	}
	if q.DryRun {
		return rep, reg.MayPush(ctx, ns)
	}
	if err := UpdateTrust(ctx, s, reg, ns); err != nil { // tried before anything was sent: a failure now is the disk, or another process
		rep.Warning = "published, but your own trust in " + ns + "/ could not be updated: " + err.Error()
	}
	return rep, nil
}

// toPush returns the items and bundles of a request. It refuses an item of several files, and passes
// it over if the request is for all.
func toPush(ctx context.Context, s *custody.Desk, q rye.PushRequest, what *pushed) ([]*registry.Item, error) {
	items, apart, err := publishable(ctx, s, what.refs)
	switch {
	case err != nil:
		return nil, err
	case len(apart) > 0 && !q.All:
		return nil, severalFiles(apart[0])
	}
	for _, t := range apart {
		what.passed = append(what.passed, t.ref.String())
	}
	packages, err := publishablePackages(ctx, s, what.packages)
	return append(items, packages...), err
}

// pushTargets returns the items to push, and their one namespace.
func pushTargets(ctx context.Context, s *custody.Desk, q rye.PushRequest) (what pushed, ns string, err error) {
	if what, err = named(ctx, s, q); err != nil {
		return what, "", err
	}
	all := what.all()
	if len(all) == 0 {
		return what, "", fault.New(fault.Usage, "push: nothing named").Advise("rye push <ref>, or rye push --all")
	}
	ns = all[0].ID.Namespace()
	for _, ref := range all {
		if ref.ID.Namespace() != ns {
			return what, "", fault.New(fault.Usage, "push: %s and %s are in different namespaces", all[0], ref).Advise("push one namespace at a time")
		}
	}
	if ns == objects.LocalNamespace {
		return what, "", fault.New(fault.Usage, "push: items of the namespace %q belong to this project and are never published", ns).
			Advise("rye mv %s <your namespace>/%s, then push it", all[0], all[0].ID.Name())
	}
	return what, ns, nil
}

// several is an item that one file is not enough for: a tool that loads a part, or a part.
type several struct {
	ref  objects.Ref
	part string // the path of the part, below .ai
}

func severalFiles(t several) error {
	return fault.New(fault.Usage, "push %s: readers would get one file, and tools load .ai/%s by name", t.ref, t.part).
		Advise("publish a bundle of the tool and its parts: rye help bundles")
}

// publishable verifies the project's own items, and keeps their metadata without their bytes:
// there may be many. Items that need a question come last, one by one. Items of several files are
// returned apart.
func publishable(ctx context.Context, s *custody.Desk, refs []objects.Ref) (items []*registry.Item, apart []several, err error) {
	l := s.Stack.Project
	beside := chain.NewBeside(space.Working(s.Stack, l))
	parts := make([]string, len(refs))
	items, errs, past := make([]*registry.Item, len(refs)), make([]error, len(refs)), make([]*space.Finding, len(refs))
	take := func(i int, f space.Finding) {
		if it := f.Item; f.Err == nil && it != nil && it.Ref.Kind == objects.Tool {
			if parts[i], errs[i] = beside.Part(ctx, it); it.Meta.Part {
				parts[i] = it.Path
			}
			if parts[i] != "" || errs[i] != nil {
				return
			}
		}
		items[i], errs[i] = toPublish(l, f, refs[i])
	}
	err = s.Stack.OwnAll(ctx, l, refs, func(i int, f space.Finding) {
		if f.Past != nil {
			past[i] = &f
			return
		}
		take(i, f)
	})
	if err != nil {
		return nil, nil, err
	}
	for i, f := range past {
		if f != nil {
			take(i, space.Admit(ctx, s.Stack, *f))
		}
	}
	for i, part := range parts {
		if part != "" {
			apart = append(apart, several{refs[i], part})
		}
	}
	return slices.DeleteFunc(items, func(it *registry.Item) bool { return it == nil }), apart, errors.Join(errs...)
}

// toPublish converts a verified item of the project for publication.
func toPublish(l *space.Layer, f space.Finding, ref objects.Ref) (*registry.Item, error) {
	switch {
	case f.State == "":
		return nil, fault.New(fault.NotFound, "push %s: this project holds no such item of its own", ref).Advise("rye list --space project")
	case f.Err != nil:
		return nil, f.Err
	}
	return registry.NewItem(f.Verified, oplog.Meta{
		Description: oplog.Plain(f.Item.Meta.Description, oplog.MaxDescription), Deps: f.Item.Meta.Deps, Caps: chain.CapabilityDigest(f.Item)}, l.Read)
}

// pushRegistry returns the registry of a namespace; q may name no other.
func pushRegistry(s *custody.Desk, ns string, q rye.PushRequest) (string, error) {
	name, _, err := s.Project.RegistryFor(ns)
	if err == nil && q.Registry != "" && q.Registry != name {
		err = fault.New(fault.Conflict, "push %s: the scope of namespace %q is registry %q, not %q", ns, ns, name, q.Registry).Mend("rye push")
	}
	if err == nil {
		err = mayDecide(s, name, ns)
	}
	return name, err
}

func releaseNames(all []oplog.Release) []string {
	names := make([]string, 0, len(all))
	for _, rel := range all {
		names = append(names, rel.Name())
	}
	return names
}
