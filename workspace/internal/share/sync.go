package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Sync updates this machine's knowledge of the project's registries: of one, or without a name
// of all. It fetches, replays and verifies the new operations of their logs. It refuses any
// that contradict earlier ones. It changes nothing in the project.
func Sync(ctx context.Context, s *custody.Desk, q rye.RegistryRequest) ([]rye.RegistryInfo, error) {
	names, faults := slices.Sorted(maps.Keys(s.Project.Registries)), error(nil)
	if q.Registry != "" {
		if !slices.Contains(names, q.Registry) {
			return nil, unknownRegistry(q.Registry)
		}
		names = []string{q.Registry}
	}
	var all []rye.RegistryInfo
	for _, name := range names {
		info, err := syncRegistry(ctx, s, name, namespacesOf(s, name))
		if ctx.Err() != nil {
			return all, err
		}
		faults = errors.Join(faults, err) // no registry waits for another
		all = append(all, info)
	}
	return all, faults
}

// syncRegistry brings namespaces of one registry up to date. A failed one does not stop the
// verification of the others, nor the use of their revocations and keys.
func syncRegistry(ctx context.Context, s *custody.Desk, name string, namespaces []string) (rye.RegistryInfo, error) {
	info, err := syncNamespaces(ctx, s, name, namespaces)
	var failed registry.SyncError
	if !errors.As(err, &failed) {
		return info, err
	}
	good := slices.DeleteFunc(slices.Clone(namespaces), func(ns string) bool { return failed[ns] != nil })
	if len(good) == 0 || len(good) == len(namespaces) {
		return info, err
	}
	info, more := syncRegistry(ctx, s, name, good)
	return info, errors.Join(err, more)
}

func syncNamespaces(ctx context.Context, s *custody.Desk, name string, namespaces []string) (rye.RegistryInfo, error) {
	info := registryInfo(s, name)
	what, err := settledBy(s, name, namespaces)
	if err != nil {
		return info, err
	}
	reg, err := openAgreed(s, name, namespaces)
	if err != nil {
		return info, err
	}
	if info.Seen, err = asSettled(ctx, reg, what, namespaces); err != nil || info.Seen != nil {
		reg.Close()
		return info, err
	}
	reg, standings, mirrors, err := openSurveyed(ctx, s, name, namespaces, reg)
	if err != nil {
		return info, err
	}
	defer reg.Close()
	root, err := reg.Root(ctx)
	if err != nil {
		return info, err
	}
	if err := UpdateRoots(s, reg.ID(), root); err != nil {
		return info, err
	}
	info.Seen = map[string]uint64{}
	var faults error
	var known []string // the namespaces that were brought up to date
	for _, ns := range namespaces {
		st, err := reg.View(ns)
		if fault.Is(err, fault.NotFound) {
			continue // not claimed yet
		}
		if err == nil {
			looked := lookAtLocked(ctx, s, reg, ns) // entries missing from a catalogue do not stop a key's revocation
			err = errors.Join(UpdateTrust(ctx, s, reg, ns), looked)
		}
		if err != nil {
			faults = errors.Join(faults, err)
			continue
		}
		info.Seen[ns] = st.Seq
		known = append(known, ns)
	}
	faults = errors.Join(faults, tellSkipped(&info, reg, namespaces))
	doubts, err := Newest(s, reg, root, known...)
	if err != nil {
		return info, errors.Join(faults, err)
	}
	doubts = append(doubts, reg.Drops()...)
	info.Warnings = append(append(info.Warnings, doubts...), standings...)
	missing, err := unread(reg, namespaces)
	if err != nil {
		return info, errors.Join(faults, err)
	}
	info.Warnings = append(info.Warnings, missing...)
	if err = errors.Join(faults, mirrors, LockFault(ctx, s, reg, namespaces...)); err == nil && len(info.Warnings) == 0 {
		reg.Settle(what, freshUntil(root, namespaces), namespaces...)
	}
	return info, err
}

// unread warns of namespaces with revocations that no host served.
func unread(reg *registry.Registry, namespaces []string) (warnings []string, err error) {
	for _, ns := range namespaces {
		n, err := reg.Unread(ns)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			warnings = append(warnings, fmt.Sprintf("%s/: the registry does not serve %s from its log; the next rye fetch asks again", ns, words.Plural(n, "revocation")))
		}
	}
	return warnings, nil
}

// mostSkipped bounds the number of listed malformed operations of a registry.
const mostSkipped = 64

// tellSkipped adds the malformed operations of namespaces to the report on their registry.
func tellSkipped(info *rye.RegistryInfo, reg *registry.Registry, namespaces []string) error {
	for _, ns := range namespaces {
		all, err := reg.SkippedOf(ns)
		if err != nil {
			return err
		}
		info.Warnings = append(info.Warnings, session.SkippedLines(ns, all)...)
		info.SkippedMore += all.More
		for _, s := range all.Open() {
			if len(info.Skipped) >= mostSkipped {
				info.SkippedMore++
				continue
			}
			info.Skipped = append(info.Skipped, rye.SkippedOperation{Namespace: ns, Seq: s.Seq, Commit: s.ID.String(),
				SHA256: s.Sum.String(), Author: s.By.String(), Why: s.Why})
		}
	}
	return nil
}

// asSettled returns the position of each namespace, if nothing is new since all of them were
// settled; nil if something is, or may be.
func asSettled(ctx context.Context, reg *registry.Registry, what objects.Digest, namespaces []string) (map[string]uint64, error) {
	same, err := reg.Unchanged(ctx, what, namespaces...)
	if err != nil || !same {
		return nil, err
	}
	known, err := reg.Verified()
	seen := map[string]uint64{}
	for _, ns := range namespaces {
		if p, ok := known[ns]; ok {
			seen[ns] = p.Seq
		}
	}
	return seen, err
}

// settledBy digests the inputs of a registry's fetch other than the registry. These are the trust
// store, the addresses and mirrors in the project, and the pins and namespaces in the lock. When
// one of them changes, a settled registry is asked again.
func settledBy(s *custody.Desk, name string, namespaces []string) (objects.Digest, error) {
	epoch, err := s.Trust.Epoch()
	lines := []string{epoch.String()}
	for _, at := range append([]string{s.Project.Registries[name].URL}, s.Project.Registries[name].Mirrors...) {
		lines = append(lines, "at "+at)
	}
	for _, ns := range namespaces {
		for _, ref := range lockedOf(s, ns) {
			pin := s.Lock.Items[ref]
			lines = append(lines, ref.Published()+"@"+pin.Version+" "+pin.SHA256.String())
		}
		if s.Lock != nil {
			at := s.Lock.Namespaces[ns]
			lines = append(lines, fmt.Sprint(ns, " ", s.Lock.Registries[at.Registry].ID, " ", at.Seq, " ", at.SHA256))
		}
	}
	slices.Sort(lines)
	return objects.DigestOf([]byte(strings.Join(lines, "\n"))), err
}

// freshUntil is the earliest time at which the root no longer calls one of these namespaces
// fresh; zero for never.
func freshUntil(root oplog.Root, namespaces []string) (until time.Time) {
	for _, ns := range namespaces {
		if g := root.Grant(ns); g != nil && !g.FreshUntil.IsZero() && (until.IsZero() || g.FreshUntil.Before(until)) {
			until = g.FreshUntil
		}
	}
	return until
}

// namespacesOf returns the project's namespaces from a registry: its own, and those in its scopes
// and its dependencies.
func namespacesOf(s *custody.Desk, name string) []string {
	names := slices.Collect(maps.Keys(s.Project.Scopes))
	for dep := range s.Project.Deps {
		if ref, err := objects.ParseRef(dep); err == nil {
			names = append(names, ref.ID.Namespace())
		}
	}
	if s.Project.Namespace != objects.LocalNamespace {
		names = append(names, s.Project.Namespace)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(ns string) bool {
		from, _, err := s.Project.RegistryFor(ns)
		return ns == "*" || err != nil || from != name
	})
}

// UpdateTrust writes the owners' keys in the verified log of a namespace into the trust store, so
// that they hold offline too. Revoked versions are remembered by registry, which the trust store
// consults. The session still has the old state of both; see Session.WithTrust.
func UpdateTrust(ctx context.Context, s *custody.Desk, reg *registry.Registry, ns string) error {
	b, err := reg.Binding(ns)
	if err != nil {
		return err
	}
	keys, logged := boundKeys(ctx, s, reg, ns, b)
	if err := agreeToBind(ctx, s, reg, ns, keys); err != nil {
		return errors.Join(err, logged)
	}
	err = s.Trust.Ensure(func(t *trust.Store) error {
		if err := mayBind(s, t, reg.ID().String(), ns); err != nil {
			return err
		}
		return t.BindNamespace(ns, reg.ID().String(), keys...)
	})
	return errors.Join(err, logged)
}

// boundKeys returns the keys of a namespace in the trust store's form. For retired keys it adds
// their items in the verified log. Only the log is evidence for these, since the holder of such
// a key can write a lock, too. Without the log the present lists stay, and the error says so.
func boundKeys(ctx context.Context, s *custody.Desk, reg *registry.Registry, ns string, b registry.Binding) ([]trust.BoundKey, error) {
	keys := b.Bound()
	if !slices.ContainsFunc(keys, func(k trust.BoundKey) bool { return k.State == trust.Retired }) {
		return keys, nil
	}
	logged, err := reg.Logged(ctx, ns)
	had, _ := s.Trust.Binding(ns)
	for i := range keys {
		if keys[i].State != trust.Retired {
			continue
		}
		keys[i].Logged = had.Logged(keys[i].Key)
		if err != nil {
			continue
		}
		var list objects.Digest
		if list, err = trust.KeepLogged(s.TrustPath(), logged[keys[i].Key.Fingerprint()]); err == nil {
			keys[i].Logged = list
		}
	}
	return keys, err
}

// lockedOf returns the items of a namespace that the lock pins from a registry.
func lockedOf(s *custody.Desk, ns string) (refs []objects.Ref) {
	if s.Lock == nil {
		return nil
	}
	for ref, pin := range s.Lock.Items {
		if pin.From != "" && ref.ID.Namespace() == ns {
			refs = append(refs, ref)
		}
	}
	return refs
}

// lookAtLocked fetches the catalogue's entries of the locked items.
func lookAtLocked(ctx context.Context, s *custody.Desk, reg *registry.Registry, ns string) error {
	refs := lockedOf(s, ns)
	if len(refs) == 0 {
		return nil
	}
	return reg.Look(ctx, ns, refs...)
}

// AsLocked compares an item's pin with its line in the catalogue. Where they differ one of the two
// is wrong, and neither is used.
func AsLocked(s *custody.Desk, reg *registry.Registry, ref objects.Ref) error {
	pin, ok := PinOf(s.Lock, ref)
	if !ok || pin.From == "" {
		return nil
	}
	rel, err := reg.Release(ref, pin.Version)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Offline):
		return nil // the lock's positions in the log are compared separately
	case err == nil && rel.Sum != pin.SHA256:
		return fault.New(fault.Integrity, "%w", &lockError{line: fmt.Sprintf("%s: it pins %s@%s as %s, but its registry has %s, and a version never changes",
			shownLock, ref.Published(), pin.Version, pin.SHA256, rel.Sum)}).
			Advise("ask the author of the lock and the owners of %s about it", ref.ID.Namespace())
	}
	return err
}

// UpdateRoots writes a registry's root keys into the trust store, after a verification of its log,
// which begins at the pinned genesis.
func UpdateRoots(s *custody.Desk, id objects.Digest, root oplog.Root) error {
	pinned, ok := s.Trust.Registry(id.String())
	now := fingerprints(root.Keys)
	other := func(fp objects.Fingerprint) bool { return !slices.Contains(pinned.Roots, fp) }
	if !ok || len(now) == len(pinned.Roots) && !slices.ContainsFunc(now, other) {
		return nil
	}
	return trust.Update(s.TrustPath(), func(st *trust.Store) error { return st.SetRoots(id.String(), now...) })
}

func fingerprints(keys []trust.PublicKey) []objects.Fingerprint {
	var all []objects.Fingerprint
	for _, k := range keys {
		all = append(all, k.Fingerprint())
	}
	return all
}
