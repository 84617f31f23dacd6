package share

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// pushed holds the items and packages to publish.
type pushed struct {
	refs     []objects.Ref // items with a signature line of their own
	packages []string      // directories below .ai
	passed   []string      // refs of bundles outside of bundles/
}

func (p *pushed) all() []objects.Ref {
	all := slices.Clone(p.refs)
	for _, dir := range p.packages {
		if id, err := objects.BundleID(dir); err == nil {
			all = append(all, objects.BundleRef(id))
		}
	}
	return all
}

// named sorts the targets into items and bundles. A bundle's members are published with it,
// whatever signature lines they have.
func named(ctx context.Context, s *custody.Desk, q rye.PushRequest) (what pushed, err error) {
	targets := q.Targets
	if q.All {
		targets = nil
	}
	n, err := look.ItemsAndBundles(ctx, s.Session, s.Stack.Project, targets, q.All)
	if err != nil {
		return what, err
	}
	left := func(id objects.ID) bool { return q.All && id.Namespace() != s.Project.Namespace } // All is limited to the project's own namespace
	for _, ref := range n.Refs {
		if left(ref.ID) {
			continue
		}
		if dir, in := objects.InBundles(n.Path(ref)); in {
			n.Bundles = append(n.Bundles, dir)
			continue
		}
		what.refs = append(what.refs, ref)
	}
	slices.Sort(n.Bundles)
	for _, dir := range slices.Compact(n.Bundles) {
		id, err := objects.BundleID(dir)
		if err == nil && left(id) {
			continue
		}
		if _, is := objects.InBundles(dir); !is && q.All {
			if err == nil {
				what.passed = append(what.passed, look.BundleRef(id))
			}
			continue
		}
		what.packages = append(what.packages, dir)
	}
	return what, nil
}

func publishablePackages(ctx context.Context, s *custody.Desk, dirs []string) (all []*registry.Item, err error) {
	for _, dir := range dirs {
		item, err := publishablePackage(ctx, s, dir)
		if err != nil {
			return nil, fault.Wrap(err, "push .ai/%s", dir)
		}
		all = append(all, item)
	}
	return all, nil
}

// publishablePackage verifies a bundle of the project with everything in it.
func publishablePackage(ctx context.Context, s *custody.Desk, dir string) (*registry.Item, error) {
	l, p := s.Stack.Project, dir+"/"+objects.ManifestName
	c, err := s.Stack.Cover(ctx, l, p, nil)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return nil, fault.New(fault.Untrusted, "it is not signed yet").Mend("rye sign .ai/%s", dir)
	case c.Past != nil:
		return nil, fault.New(fault.Rollback, "its manifest is older than the recorded one").Mend("rye sign .ai/%s", dir)
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	raw, err := l.Read(p)
	if err != nil {
		return nil, err
	}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	if err := m.CheckPackage(); err != nil {
		return nil, err
	}
	members, err := m.Members(c.File)
	if err != nil {
		return nil, err
	}
	for _, it := range members {
		if err := ownLine(s, it); err != nil {
			return nil, err
		}
	}
	v, err := trust.Verify(m.Item(), s.Stack.Scope(l), s.Trust)
	if err != nil {
		return nil, err
	}
	meta, err := PackageMeta(m, members)
	if err != nil {
		return nil, err
	}
	return registry.NewItem(v, meta, func(file string) ([]byte, error) {
		if file == p {
			return l.Read(p)
		}
		return c.File(strings.TrimPrefix(file, dir+"/"))
	})
}

// ownLine verifies a member's own signature line. A line of RYE OS covers too little to be
// published.
func ownLine(s *custody.Desk, it *objects.Item) error {
	switch {
	case it.Legacy != nil:
		return fault.New(fault.Untrusted, "%s: it has a signature line of RYE OS, which registries refuse", it.Ref).Mend("rye sign --upgrade %s", it.Ref)
	case it.Signature == nil:
		return nil
	}
	_, err := trust.Verify(it, s.Stack.Scope(s.Stack.Project), s.Trust)
	return err
}

// PackageMeta is a bundle's metadata in the catalogue. It is derived from the bundle's bytes,
// so every receiver derives it again and compares.
func PackageMeta(m *objects.Manifest, members []*objects.Item) (oplog.Meta, error) {
	deps, err := m.Uses(members, published)
	return oplog.Meta{Description: describePackage(m, members), Deps: deps, Caps: chain.PackageDigest(members)}, err
}

// published reports whether an item has to come from a registry.
func published(ref objects.Ref) bool {
	ns := ref.ID.Namespace()
	return ref.Published() != "" && ns != objects.LocalNamespace && !trust.Reserved(ns)
}

// describePackage describes a bundle: by its entry's description, else by its contents.
func describePackage(m *objects.Manifest, members []*objects.Item) string {
	if e := m.Entry(members); e != nil {
		if text := oplog.Plain(e.Meta.Description, oplog.MaxDescription); text != "" {
			return text
		}
	}
	return CountMembers(m, members)
}

// CountMembers counts the items of each kind in a bundle.
func CountMembers(m *objects.Manifest, members []*objects.Item) (text string) {
	for _, k := range objects.Kinds {
		n := 0
		for _, it := range members {
			if it.Ref.Kind == k {
				n++
			}
		}
		switch {
		case n > 0 && (k == objects.Knowledge || k == objects.Config):
			text += words.Plural(n, string(k)+" item") + ", "
		case n > 0:
			text += words.Plural(n, string(k)) + ", "
		}
	}
	if n := len(m.Files) - len(members); n > 0 {
		text += words.Plural(n, "data file") + ", "
	}
	return text[:len(text)-2]
}
