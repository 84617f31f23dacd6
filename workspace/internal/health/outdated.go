// Package health shows the state of a project's dependencies: outdated ones, the reason
// for each, and the parts that deserve a look.
package health

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Outdated compares every dependency with its registry: as it is now, or offline as this
// machine last saw it. Where a registry cannot be asked, the report has its last known state,
// beside the error.
func Outdated(ctx context.Context, d *custody.Desk, _ struct{}) (*rye.OutdatedReport, error) {
	d = d.Looking()
	rep := &rye.OutdatedReport{Dependencies: []rye.Dependency{}}
	var faults error
	byRegistry := dependencies(d.Session)
	for _, name := range slices.Sorted(maps.Keys(byRegistry)) {
		deps := byRegistry[name]
		if !d.Offline {
			warnings, err := ask(ctx, d, name, deps)
			rep.Warnings = append(rep.Warnings, warnings...)
			faults = errors.Join(faults, err)
		}
		found, err := compare(ctx, d.Session, name, deps)
		if err != nil {
			return nil, err
		}
		rep.Dependencies = append(rep.Dependencies, found...)
	}
	slices.SortFunc(rep.Dependencies, func(a, b rye.Dependency) int { return cmp.Compare(a.Name, b.Name) })
	return rep, faults
}

// dependency is an item of a registry, with its entries in the project.
type dependency struct {
	ref   objects.Ref
	pin   chain.Pin // zero when it is not locked
	asked string    // range in rye.yaml
}

// dependencies returns the project's requested and locked items of registries, by the name of
// the registry; "" is for items without a registry.
func dependencies(s *session.Session) map[string][]dependency {
	all := map[objects.Ref]dependency{}
	for name, rng := range s.Project.Deps {
		if ref, err := objects.ParseRef(name); err == nil {
			all[ref] = dependency{ref: ref, asked: rng}
		}
	}
	if s.Lock != nil {
		for ref, pin := range s.Lock.Items {
			if pin.From != "" {
				all[ref] = dependency{ref: ref, pin: pin, asked: all[ref].asked}
			}
		}
	}
	by := map[string][]dependency{}
	for _, d := range all {
		from := d.pin.From
		if name, _, err := s.Project.RegistryFor(d.ref.ID.Namespace()); err == nil && from == "" {
			from = name
		}
		by[from] = append(by[from], d)
	}
	return by
}

// ask updates this machine's knowledge of one registry, as rye fetch does, and also of items
// that are not locked yet.
func ask(ctx context.Context, d *custody.Desk, name string, deps []dependency) (warnings []string, err error) {
	if name == "" {
		return nil, nil
	}
	infos, err := share.Sync(ctx, d, rye.RegistryRequest{Registry: name})
	for _, i := range infos {
		warnings = append(warnings, i.Warnings...)
	}
	if err != nil {
		return warnings, err
	}
	by := map[string][]objects.Ref{}
	for _, dep := range deps {
		if dep.pin.From == "" {
			by[dep.ref.ID.Namespace()] = append(by[dep.ref.ID.Namespace()], dep.ref)
		}
	}
	if len(by) == 0 {
		return warnings, nil
	}
	reg, err := share.OpenSynced(ctx, d, name, slices.Sorted(maps.Keys(by))...)
	if err != nil {
		return warnings, err
	}
	defer reg.Close()
	for ns, refs := range by {
		if err := reg.Look(ctx, ns, refs...); err != nil && !fault.Is(err, fault.NotFound) {
			return warnings, err
		}
	}
	return warnings, nil
}

// compare compares dependencies with their registry's catalogue as it was last verified here.
func compare(ctx context.Context, s *session.Session, name string, deps []dependency) (all []rye.Dependency, err error) {
	reg, err := openKnown(s, name)
	if err != nil {
		return nil, err
	}
	if reg != nil {
		defer reg.Close()
	}
	states := map[string]oplog.State{}
	for _, d := range deps {
		r := rye.Dependency{Name: d.ref.Published(), Registry: name, Range: d.asked, Pinned: d.pin.Version, State: "unknown"}
		if reg != nil {
			ns := d.ref.ID.Namespace()
			st, ok := states[ns]
			if !ok {
				if st, err = reg.View(ns); err != nil {
					st = oplog.State{} // never seen
				}
				states[ns] = st
			}
			versions, err := st.Versions(d.ref)
			if err != nil && !fault.Is(err, fault.Offline) && !fault.Is(err, fault.NotFound) {
				return nil, err
			}
			d.stand(&r, versions)
			if n, err := s.NotedOf(reg.ID(), ns); err == nil && !n.At.IsZero() && len(versions) > 0 {
				r.Known = n.At.UTC().Format(time.RFC3339)
			}
		}
		all = append(all, r)
	}
	return all, ctx.Err()
}

// openKnown opens a registry as this machine last saw it; nil for one without a pin.
func openKnown(s *session.Session, name string) (*registry.Registry, error) {
	id := s.Project.Registries[name].ID
	if s.Lock != nil && id == "" && name != "" {
		id = s.Lock.Registries[name].ID.String()
	}
	digest, err := objects.ParseDigest(id)
	if err != nil {
		return nil, nil
	}
	cache, state := s.Registries()
	return registry.Open(registry.Options{ID: digest, CacheDir: cache, StateDir: state, Offline: true, Now: s.Now})
}

// stand compares one dependency with the registry's versions of it.
func (d dependency) stand(r *rye.Dependency, versions []oplog.Entry) {
	if len(versions) == 0 {
		return
	}
	r.Newest = memory.NewestGood(versions).Version
	rng, err := objects.ParseRange(cmp.Or(d.asked, "*"))
	for _, e := range versions { // from the oldest on
		v, bad := objects.ParseVersion(e.Version)
		if bad == nil && err == nil && e.Status == oplog.StatusOK && rng.Allows(v) {
			r.InRange = e.Version
		}
		if e.Version == d.pin.Version {
			r.State, r.Reason = string(e.Status), e.Reason
		}
	}
	if d.pin.Version == "" {
		r.State = "absent"
		r.Instead = fault.Command("rye add %s", r.Name)
		return
	}
	switch r.Outdated = newer(r.Newest, d.pin.Version); {
	case newer(r.InRange, d.pin.Version):
		r.Instead = fault.Command("rye update %s", r.Name)
	case r.Outdated, r.State != string(oplog.StatusOK) && r.Newest != "" && r.Newest != d.pin.Version:
		r.Instead = fault.Command("rye add %s@%s", r.Name, r.Newest)
	}
}

func newer(a, b string) bool {
	v, err := objects.ParseVersion(a)
	w, err2 := objects.ParseVersion(b)
	return err == nil && err2 == nil && v.Compare(w) > 0
}
