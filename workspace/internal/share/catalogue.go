package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Bounds of one call of Catalogues.
const (
	mostBytes      = 512 << 20
	mostNamespaces = 2000 // of one registry
	mostInARow     = 3    // network failures in a row after which a host is not asked again
)

// Catalogues fetches the whole catalogues of namespaces: named ones, or all that the project's
// registries grant. It verifies each as an install would, and does not fetch present parts
// again. The trust store stays as it is. A namespace's problem is in its report, and does not
// stop the others; the error is the first of these.
func Catalogues(ctx context.Context, s *custody.Desk, q rye.CatalogueRequest) ([]rye.CatalogueInfo, error) {
	names, err := namesOf(s, q.Registry)
	if err != nil {
		return nil, err
	}
	if err := s.NeedCache(); err != nil {
		return nil, err
	}
	b := &bringing{Desk: s, left: cmp.Or(q.MaxBytes, mostBytes), wanted: q.Namespaces}
	for _, name := range names {
		if err := b.registry(ctx, name); err != nil {
			if ctx.Err() != nil || len(names) == 1 {
				return b.all, err
			}
			b.all = append(b.all, told(rye.CatalogueInfo{Registry: name}, err))
			b.first = cmp.Or(b.first, err)
		}
	}
	for _, ns := range q.Namespaces {
		if !slices.ContainsFunc(b.all, func(i rye.CatalogueInfo) bool { return i.Namespace == ns }) {
			b.first = cmp.Or[error](b.first, fault.New(fault.NotFound, "catalogue of %q: no registry of this project has this namespace", words.Brief(ns)).Advise("rye registry list"))
		}
	}
	return b.all, b.first
}

// bringing is one call of Catalogues.
type bringing struct {
	*custody.Desk
	left   int64 // bytes that it may still receive
	wanted []string
	all    []rye.CatalogueInfo
	first  error
}

// told adds an error to a report.
func told(i rye.CatalogueInfo, err error) rye.CatalogueInfo {
	i.Error, i.Code, i.Hint = err.Error(), fault.CodeOf(err), fault.HintOf(err)
	return i
}

// registry fetches the catalogues of one registry.
func (b *bringing) registry(ctx context.Context, name string) error {
	reg, err := Open(b.Desk, name, nil)
	if err != nil {
		return err
	}
	defer reg.Close()
	if err := reg.Sync(ctx); err != nil {
		return err
	}
	root, err := reg.Root(ctx)
	if err != nil {
		return err
	}
	list, err := b.namespaces(name, root)
	if err != nil || len(list) == 0 {
		return err
	}
	wrong, inARow := map[string]error{}, 0
	err = reg.SyncEach(ctx, list, func(ns string, err error) error {
		if err == nil {
			inARow = 0
			return nil
		}
		if inARow++; fault.Is(err, fault.Network) && inARow == mostInARow {
			return err
		}
		wrong[ns] = err
		return nil
	})
	if err != nil {
		return err
	}
	for n, ns := range list {
		b.Say(fmt.Sprintf("catalogue of %s from %s, %d of %d", ns, name, n+1, len(list)))
		info, err := b.one(ctx, reg, name, ns, wrong[ns])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			info, b.first = told(info, err), cmp.Or(b.first, err)
		}
		b.all = append(b.all, info)
	}
	return b.doubts(reg, root, list)
}

// namespaces returns the selected namespaces of a registry.
func (b *bringing) namespaces(name string, root oplog.Root) ([]string, error) {
	var list []string
	for _, ns := range b.wanted {
		if err := oplog.CheckNamespace(ns); err != nil {
			return nil, fault.New(fault.Usage, "catalogue of %q: %w", words.Brief(ns), err)
		}
		if elsewhere(b.Desk, name, ns) {
			continue
		}
		if root.Grant(ns) != nil || root.Claims == oplog.ClaimsOpen || accepted(b.Desk, name, ns) {
			list = append(list, ns)
		}
	}
	if len(b.wanted) == 0 {
		list = slices.DeleteFunc(root.Namespaces(), func(ns string) bool { return elsewhere(b.Desk, name, ns) })
		for ns, to := range b.Project.Scopes { // an open registry grants nothing
			if to == name && ns != "*" && !slices.Contains(list, ns) {
				list = append(list, ns)
			}
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > mostNamespaces {
		return nil, fault.New(fault.Limit, "registry %s: it has %d namespaces, and rye fetches at most %d at once", name, len(list), mostNamespaces).
			Advise("rye fetch --catalogue <namespace>, for each namespace that you need")
	}
	return list, nil
}

// one fetches one catalogue, and keeps the parts that a search needs. After a refusal the
// earlier catalogue stays.
func (b *bringing) one(ctx context.Context, reg *registry.Registry, name, ns string, wrong error) (rye.CatalogueInfo, error) {
	info := rye.CatalogueInfo{Registry: name, Namespace: ns, Accepted: accepted(b.Desk, name, ns), Contacted: !b.Offline && wrong == nil}
	if wrong != nil {
		var owners *registry.OwnerError
		if errors.As(wrong, &owners) {
			wrong = fault.New(fault.Untrusted, "%w", wrong).Advise("rye fetch asks whether to follow them, if you accepted the namespace")
		}
		return info, wrong
	}
	c, err := b.bring(ctx, reg, ns)
	if err != nil {
		return info, err
	}
	if c.Seq == 0 {
		return info, dropShelf(b.Desk, reg, ns) // granted, and no one has claimed it
	}
	m := &maker{}
	info.Received = c.Received
	if c, err = reg.Offers(ctx, ns, m.add); err != nil {
		return info, err
	}
	st := shelfState{namespace: ns, seq: c.Seq, brought: reg.AskedAt(ns), published: c.Published, have: c.Have, parts: c.Shards, dated: c.Time}
	if err := m.keep(shelfPath(b.Desk, reg.ID().String(), ns), st); err != nil {
		return info, err
	}
	info.Seq, info.Dated, info.Versions, info.Items = c.Seq, timeText(c.Time), c.Published, len(m.lines)
	info.Parts, info.Have, info.Complete = c.Shards, c.Have, c.Complete()
	return info, nil
}

// bring fetches a catalogue, as far as the bytes reach; offline it uses the present part.
func (b *bringing) bring(ctx context.Context, reg *registry.Registry, ns string) (registry.Coverage, error) {
	if b.Offline {
		st, err := reg.View(ns)
		return registry.Coverage{State: st}, err
	}
	c, err := reg.Whole(ctx, ns, b.left, func(done, all int) {
		if done < all {
			b.Say(fmt.Sprintf("catalogue of %s, %d%%", ns, 100*done/all))
		}
	})
	b.left -= c.Received
	return c, err
}

// dropShelf removes the shelf of a namespace that is empty now.
func dropShelf(s *custody.Desk, reg *registry.Registry, ns string) error {
	if err := os.Remove(shelfPath(s, reg.ID().String(), ns)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// doubts warns of namespaces that the root no longer calls fresh, or refuses them by policy.
func (b *bringing) doubts(reg *registry.Registry, root oplog.Root, list []string) error {
	known := slices.DeleteFunc(slices.Clone(list), func(ns string) bool { _, err := reg.View(ns); return err != nil })
	warnings, err := Newest(b.Desk, reg, root, known...)
	for _, w := range warnings[:min(len(warnings), 3)] {
		b.Tell(w)
	}
	if n := len(warnings) - 3; n > 0 {
		b.Tell(fmt.Sprintf("and %d more of these", n))
	}
	return err
}
