package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Info shows a registry's answer about an item, a namespace or itself: asked now or, where the
// registry cannot be asked, as verified here before. The trust store stays as it is.
func Info(ctx context.Context, s *custody.Desk, q rye.PublishedRequest) (*rye.Published, error) {
	if _, err := namesOf(s, q.Registry); err != nil {
		return nil, err
	}
	if s.Project.Registries[q.Name].ID != "" && q.Registry == "" {
		return infoOfRegistry(ctx, s, q.Name)
	}
	name, text, ranged := strings.Cut(q.Name, "@")
	if ns, ok := namespaceOf(name); ok && !ranged {
		return infoOfNamespace(ctx, s, q, ns)
	}
	ref, err := session.RefOf(ctx, s.Session, name)
	if fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if _, short := objects.ParseID(name); err != nil && short == nil { // it fits two items
		return nil, err
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "info %q: not an item, namespace or registry", words.Brief(q.Name)).
			Advise("rye show acme/tool/hello, rye show acme, or the name of a registry from rye registry list")
	}
	rng, err := objects.ParseRange(cmp.Or(text, "*"))
	if err != nil {
		return nil, err
	}
	return infoOfItem(ctx, s, q, ref, rng, text)
}

// namespaceOf parses a namespace. It may end in a slash, which excludes a registry with that
// name.
func namespaceOf(text string) (string, bool) {
	ns := strings.TrimSuffix(text, "/")
	return ns, oplog.CheckNamespace(ns) == nil
}

// asking is one question to one registry.
type asking struct {
	*custody.Desk
	reg  *registry.Registry
	root oplog.Root
	rep  *rye.Published
}

// ask opens a registry and updates a namespace; "" is none. A registry that cannot be asked is
// opened as verified before, and the report has the reason.
func ask(ctx context.Context, s *custody.Desk, name, ns string) (*asking, error) {
	c := s.Project.Registries[name]
	a := &asking{Desk: s, rep: &rye.Published{Registry: name, URL: c.URL, ID: c.ID, Namespace: ns, Accepted: ns != "" && accepted(s, name, ns)}}
	why := a.contact(ctx, name, ns)
	if why != nil {
		if !away(why) && !fault.Is(why, fault.NotFound) && !agreeable(why) {
			return nil, why
		}
		if err := a.here(ctx, name, ns); err != nil {
			return nil, because(why, err)
		}
		if !s.Offline {
			a.rep.Warnings = append(a.rep.Warnings, "the registry was not asked: "+why.Error())
		}
	}
	root, err := a.reg.Root(ctx)
	if err != nil {
		a.reg.Close()
		return nil, because(why, err)
	}
	a.root = root
	a.rep.Verified, a.rep.Contacted = timeText(a.reg.AskedAt(ns)), why == nil && !s.Offline
	return a, nil
}

// agreeable reports whether a registry only lacks the user's consent to ask it.
func agreeable(err error) bool {
	return fault.Is(err, fault.Untrusted) && fault.HintOf(err).String() == "rye trust"
}

// because returns the error to report: why, if the registry could not be asked and nothing is
// known here.
func because(why, err error) error {
	if why != nil && fault.Is(err, fault.NotFound) {
		return why
	}
	return err
}

func (a *asking) contact(ctx context.Context, name, ns string) error {
	reg, err := Open(a.Desk, name, nil)
	if err != nil {
		return err
	}
	list := []string{ns}
	if ns == "" {
		list = nil
	}
	if err := reg.Sync(ctx, list...); err != nil {
		reg.Close()
		var owners *registry.OwnerError
		if errors.As(err, &owners) {
			err = fault.New(fault.Untrusted, "%w", err).Mend("rye fetch")
		}
		return err
	}
	a.reg = reg
	return nil
}

// here opens the earlier verified state.
func (a *asking) here(ctx context.Context, name, ns string) (err error) {
	if a.reg, err = openHere(a.Desk, name); err != nil {
		return err
	}
	if ns != "" {
		_, err = a.reg.View(ns)
	} else {
		_, err = a.reg.Root(ctx)
	}
	if err != nil {
		a.reg.Close()
	}
	return err
}

// state is the present state of the namespace; doubts about it go into the report.
func (a *asking) state(ns string) (oplog.State, error) {
	st, err := a.reg.View(ns)
	if err != nil {
		return st, err
	}
	if st.Seq == 0 {
		return st, fault.New(fault.NotFound, "namespace %s: it has no published versions in registry %s", ns, a.rep.Registry).
			Advise("rye show %s lists its namespaces", a.rep.Registry)
	}
	a.rep.Seq, a.rep.Dated = st.Seq, timeText(st.Time)
	if g := a.root.Grant(ns); g != nil {
		a.rep.Fresh = timeText(g.FreshUntil)
	}
	doubts, err := Newest(a.Desk, a.reg, a.root, ns)
	a.rep.Warnings = append(a.rep.Warnings, doubts...)
	return st, err
}

// registryFor returns the registry to ask about a namespace. It is the named one, the project's
// registry for it, or the only one that is known to grant it.
func registryFor(ctx context.Context, s *custody.Desk, only, ns string) (string, error) {
	if only != "" {
		return only, nil
	}
	name, _, err := s.Project.RegistryFor(ns)
	if err == nil {
		return name, nil
	}
	var grant []string
	for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
		if grants(ctx, s, name, ns) && !elsewhere(s, name, ns) {
			grant = append(grant, name)
		}
	}
	switch {
	case len(grant) == 1:
		return grant[0], nil
	case len(grant) > 1:
		return "", fault.New(fault.Conflict, "namespace %s: %s have it, and no scope of this project selects one", ns, strings.Join(grant, " and ")).Advise("name one: --name %s", grant[0])
	case ns == objects.LocalNamespace:
		return "", fault.New(fault.NotFound, "local/ is never in a registry")
	}
	return "", err
}

// grants reports whether a registry, as last verified here, grants a namespace.
func grants(ctx context.Context, s *custody.Desk, name, ns string) bool {
	reg, err := openHere(s, name)
	if err != nil {
		return false
	}
	defer reg.Close()
	root, err := reg.Root(ctx)
	return err == nil && root.Grant(ns) != nil
}

func infoOfItem(ctx context.Context, s *custody.Desk, q rye.PublishedRequest, ref objects.Ref, rng objects.Range, text string) (*rye.Published, error) {
	ns := ref.ID.Namespace()
	name, err := registryFor(ctx, s, q.Registry, ns)
	if err != nil {
		return nil, mendByShow(ctx, s, ref, err)
	}
	a, err := ask(ctx, s, name, ns)
	if err != nil {
		return nil, err
	}
	defer a.reg.Close()
	st, err := a.state(ns)
	if err != nil {
		return nil, err
	}
	if err := a.reg.Look(ctx, ns, ref); err != nil && !away(err) {
		return nil, err
	} else if err != nil && a.rep.Contacted {
		return nil, err // the registry hides entries that its log promises
	}
	list, err := st.Versions(ref)
	if err != nil {
		return nil, err
	}
	a.rep.Item, a.rep.Complete = ref.Published(), true
	a.rep.Locked, a.rep.Range = lockedVersion(s.Session, ref), s.Project.Deps[ref.Published()]
	if err := a.versions(list, rng, text); err != nil {
		return nil, err
	}
	return a.rep, nil
}

// mendByShow adds advice for an item without a registry: rye show describes it.
func mendByShow(ctx context.Context, s *custody.Desk, ref objects.Ref, err error) error {
	if _, ferr := s.Stack.Find(ctx, ref); ferr == nil {
		return fault.New(fault.NotFound, "info %s: it is not from a registry", ref).Advise("rye show %s", ref)
	}
	return err
}

// versions describes each version that a range allows, the newest first.
func (a *asking) versions(list []oplog.Entry, rng objects.Range, text string) error {
	asked, err := objects.ParseRange(cmp.Or(a.rep.Range, "*"))
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(list) {
		v, err := objects.ParseVersion(e.Version)
		if err != nil || text != "" && !rng.Allows(v) {
			continue
		}
		p := versionOf(&e)
		p.Locked, p.InRange = e.Version == a.rep.Locked, a.rep.Range != "" && asked.Allows(v)
		a.rep.Versions = append(a.rep.Versions, p)
	}
	switch {
	case len(list) == 0:
		return fault.New(fault.NotFound, "%s: no published item of namespace %s has this name", a.rep.Item, a.rep.Namespace).Advise("rye show %s", a.rep.Namespace)
	case len(a.rep.Versions) == 0:
		return fault.New(fault.Conflict, "%s: no version fits %s; the newest is %s", a.rep.Item, text, list[len(list)-1].Version).Advise("rye show %s --published", a.rep.Item)
	}
	return nil
}

func versionOf(e *oplog.Entry) rye.PublishedVersion {
	p := rye.PublishedVersion{Version: e.Version, Status: string(e.Status), Reason: words.Printable(e.Reason), Time: timeText(e.Time),
		Description: words.Printable(e.Meta.Description), Author: e.Author.String(), Publisher: e.Publisher.String(), Seq: e.Seq,
		Size: e.Size, SHA256: e.Sum.String(), Commit: e.Commit.String(), Deps: e.Meta.Deps}
	if !e.Meta.Needs.IsZero() {
		p.Needs = e.Meta.Needs.String()
	}
	if !e.Meta.Caps.IsZero() {
		p.Caps = e.Meta.Caps.String()
	}
	return p
}

// mostItems bounds the number of listed items of a namespace.
const mostItems = 10_000

func infoOfNamespace(ctx context.Context, s *custody.Desk, q rye.PublishedRequest, ns string) (*rye.Published, error) {
	name, err := registryFor(ctx, s, q.Registry, ns)
	if err != nil {
		return nil, err
	}
	a, err := ask(ctx, s, name, ns)
	if err != nil {
		return nil, err
	}
	defer a.reg.Close()
	st, err := a.state(ns)
	if err != nil {
		return nil, err
	}
	if a.rep.Contacted {
		if _, err := a.reg.Whole(ctx, ns, mostBytes, nil); err != nil {
			return nil, err
		}
	}
	m := &maker{}
	c, err := a.reg.Offers(ctx, ns, m.add)
	if err != nil {
		return nil, err
	}
	m.end()
	slices.SortFunc(m.lines, func(a, b []byte) int { return strings.Compare(string(itemOf(a)), string(itemOf(b))) })
	for _, line := range m.lines[:min(len(m.lines), mostItems)] {
		o := parseOffer(line)
		it := rye.PublishedItem{Item: o.item, Version: o.version, Status: o.status, Reason: words.Printable(o.reason), Versions: o.versions, Description: words.Printable(o.description)}
		if ref, err := objects.ParseRef(o.item); err == nil {
			it.Locked = lockedVersion(s.Session, ref)
		}
		a.rep.Items = append(a.rep.Items, it)
	}
	a.rep.Complete = c.Complete() && len(a.rep.Items) == len(m.lines)
	for _, k := range st.Keys() {
		a.rep.Members = append(a.rep.Members, rye.Member{Fingerprint: k.Public.Fingerprint().String(), SSH: k.Public.String(), State: string(k.State),
			Added: k.Added, By: k.By.String(), Own: s.Trust.IsOwn(k.Public)})
	}
	return a.rep, nil
}

func infoOfRegistry(ctx context.Context, s *custody.Desk, name string) (*rye.Published, error) {
	a, err := ask(ctx, s, name, "")
	if err != nil {
		return nil, err
	}
	defer a.reg.Close()
	a.rep.Seq, a.rep.Claims, a.rep.Threshold = a.root.Seq, string(a.root.Claims), a.root.Threshold
	a.rep.Roots = Texts(a.root.Keys)
	known, err := a.reg.Verified()
	if err != nil {
		return nil, err
	}
	list := a.root.Namespaces()
	for ns := range known {
		if ns != "" && !slices.Contains(list, ns) {
			list = append(list, ns)
		}
	}
	slices.Sort(list)
	have, notes := shelves(s, name)
	a.rep.Warnings = append(a.rep.Warnings, notes...)
	for _, ns := range list {
		p := rye.PublishedNamespace{Namespace: ns, Seq: known[ns].Seq, Accepted: accepted(s, name, ns), Verified: timeText(a.reg.AskedAt(ns))}
		for _, sh := range have {
			if sh.namespace == ns {
				p.Items, p.Complete = len(sh.lines), sh.complete()
			}
		}
		a.rep.Namespaces = append(a.rep.Namespaces, p)
	}
	return a.rep, nil
}

// Show is look.Show that adds the other versions of dependencies.
func Show(ctx context.Context, s *custody.Desk, q rye.ShowRequest) ([]rye.ItemInfo, error) {
	items, err := look.Show(ctx, s.Session, q)
	addPublished(s, items)
	return items, err
}

// addPublished adds the other known versions to registries' items. It uses no network, and adds
// nothing where no version is known.
func addPublished(s *custody.Desk, items []rye.ItemInfo) {
	for i := range items {
		ref, err := objects.ParseRef(items[i].Ref)
		if err != nil || s.Project == nil || items[i].Origin == "" || lockedVersion(s.Session, ref) == "" {
			continue
		}
		reg, err := openHere(s, s.Lock.Items[ref].From)
		if err != nil {
			continue
		}
		if st, err := reg.View(ref.ID.Namespace()); err == nil {
			list, _ := st.Versions(ref)
			items[i].Published = otherVersions(list, items[i].Version)
		}
		reg.Close()
	}
}

// mostPublished bounds the number of versions named beside an item.
const mostPublished = 10

func otherVersions(list []oplog.Entry, but string) (all []string) {
	for _, e := range slices.Backward(list) {
		if e.Version == but {
			continue
		}
		if len(all) == mostPublished {
			return append(all, fmt.Sprintf("and %d more", len(list)-1-mostPublished))
		}
		text := e.Version
		if e.Status != oplog.StatusOK {
			text += " (" + string(e.Status) + ")"
		}
		all = append(all, text)
	}
	return all
}
