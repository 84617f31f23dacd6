package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// A registry has one identity and may have several addresses. Any address may be asked: its answers
// prove themselves and must follow from what was verified before. Operations are written to the
// first address, or, for a namespace that the root locates elsewhere, to that repository.

// MaxMirrors bounds the addresses of one registry, without the first.
const MaxMirrors = 16

// patience bounds how long an address may take to list its branches if there is another one to ask.
const patience = 10 * time.Second

// A mirror is one address of a registry, or of some of its namespaces.
type mirror struct {
	url     string
	remote  *transport.Remote
	down    bool                 // it did not answer: other mirrors are asked first
	content map[string]store.OID // where it showed the content branches: a hint
	was     map[string]store.OID // where it showed them one listing earlier
	lines   map[string]uint64    // number of catalogue lines in its logs: a hint
}

func dialMirror(url string, o transport.Options) (*mirror, error) {
	remote, err := transport.Dial(url, o)
	if err != nil {
		return nil, err
	}
	return &mirror{url: url, remote: remote, content: map[string]store.OID{}, was: map[string]store.OID{}, lines: map[string]uint64{}}, nil
}

// dialAll dials the addresses of a registry, each once. The address to write to comes first.
func dialAll(o Options) (all []*mirror, err error) {
	if len(o.Mirrors) > MaxMirrors {
		return nil, fault.New(fault.Limit, "registry %s: %d mirrors, at most %d", words.Brief(o.URL), len(o.Mirrors), MaxMirrors)
	}
	if o.Copy != "" {
		m, err := dialMirror(o.Copy, o.Transport)
		return []*mirror{m}, err
	}
	for _, url := range append([]string{o.URL}, o.Mirrors...) {
		if slices.ContainsFunc(all, func(m *mirror) bool { return m.url == url }) {
			continue
		}
		m, err := dialMirror(url, o.Transport)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if i := slices.IndexFunc(all, func(m *mirror) bool { return m.url == o.To }); i > 0 {
		to := all[i]
		all = slices.Insert(slices.Delete(all, i, i+1), 0, to)
	} else if i < 0 && o.To != "" {
		return nil, fault.New(fault.Untrusted, "write to %s: it is not an address of this registry", words.Brief(o.To)).Advise("rye registry mirror add <registry> <url>")
	}
	return all, nil
}

// mirrorsOf returns the mirrors to ask about a namespace ("": the root), in this order: the one
// that showed it last, the one where the root locates it, the registry's addresses. Mirrors that
// did not answer come last.
func (r *Registry) mirrorsOf(ctx context.Context, namespace string) ([]*mirror, error) {
	all := slices.Clone(r.mirrors)
	first, err := r.writtenAt(ctx, namespace)
	if err != nil {
		return nil, err
	}
	for _, m := range []*mirror{first, r.shown[namespace]} {
		if i := slices.Index(all, m); i >= 0 {
			all = slices.Delete(all, i, i+1)
		}
		if m != nil {
			all = slices.Insert(all, 0, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *mirror) int { return btoi(a.down) - btoi(b.down) })
	return all, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fetch fetches objects and their dependencies into a quarantine of the cache, from the first
// mirror that has them, and counts fetches and bytes.
func (r *Registry) fetch(ctx context.Context, namespace string, repo *store.Repo, want, have []store.OID, o transport.FetchOptions) (*store.Quarantine, error) {
	all, err := r.mirrorsOf(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var first error
	for _, m := range all {
		q, err := r.fetchFrom(ctx, m, repo, want, have, o)
		if err == nil || ctx.Err() != nil || !gone(err) {
			return q, err
		}
		m.down = m.down || fault.Is(err, fault.Network) && len(all) > 1
		if first == nil || fault.Is(err, fault.NotFound) && !fault.Is(first, fault.NotFound) {
			first = err
		}
	}
	return nil, first
}

// fetchFrom is fetch from one address.
func (r *Registry) fetchFrom(ctx context.Context, m *mirror, repo *store.Repo, want, have []store.OID, o transport.FetchOptions) (*store.Quarantine, error) {
	q, st, err := m.remote.Fetch(ctx, repo, want, have, o)
	if err != nil {
		return nil, err
	}
	r.stats.Fetches++
	r.stats.Bytes += st.Bytes
	return q, nil
}

// branchesAt lists the branches of the root and of namespaces at an address. If there are others to
// ask, it must answer within patience.
func (r *Registry) branchesAt(ctx context.Context, m *mirror, namespaces []string, others bool, to purpose) (map[string]store.OID, error) {
	if others {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	r.stats.Listings++
	refs, err := refsAt(ctx, m, to, prefixesOf(namespaces))
	if err != nil {
		return nil, err
	}
	for _, ns := range namespaces {
		m.was[ns], m.content[ns] = m.content[ns], refs[contentOf(ns)]
	}
	return refs, nil
}

// refsAt lists branches. A writer lists for a push, which saves one request. A user who may only
// read learns that from the push.
func refsAt(ctx context.Context, m *mirror, to purpose, prefixes []string) (map[string]store.OID, error) {
	if to == toWrite {
		refs, err := m.remote.RefsToPush(ctx, prefixes...)
		if err == nil || !fault.Is(err, fault.Auth) && !fault.Is(err, fault.Denied) && !fault.Is(err, fault.NotFound) {
			return refs, err
		}
	}
	return m.remote.Refs(ctx, prefixes...)
}

// manyPrefixes is the number of namespaces from which on a listing asks for all branches, because
// hosts bound the number of prefixes.
const manyPrefixes = 100

// prefixesOf returns the ref prefixes for a listing.
func prefixesOf(namespaces []string) []string {
	if len(namespaces) >= manyPrefixes {
		return []string{mainBranch, branchPrefix, contentOf("")}
	}
	all := []string{mainBranch}
	for _, ns := range namespaces {
		all = append(all, branchOf(ns), contentOf(ns))
	}
	return all
}

// contentTip returns where the content branch of a namespace was last seen.
func (r *Registry) contentTip(namespace string) store.OID {
	if m := r.shown[namespace]; m != nil {
		return m.content[namespace]
	}
	return store.OID{}
}

// passable reports whether another address may help: this one does not answer, lacks an object,
// refuses access, or is behind. A contradiction to verified data cannot be helped.
func passable(err error) bool {
	return gone(err) || fault.Is(err, fault.Auth) || fault.Is(err, fault.Rollback)
}

// note records, for people, that an address was skipped.
func (r *Registry) note(m *mirror, err error) {
	m.down = m.down || !fault.Is(err, fault.Rollback)
	r.notes = append(r.notes, fmt.Sprintf("%s was skipped: %v", m.remote, err))
}

// Notes describes, for people, problems with addresses since Open that are no errors.
func (r *Registry) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// A BehindError reports that an address shows an older log than the known one (code Rollback).
type BehindError struct {
	Log   string // for people
	Shown uint64 // operations shown
	Known uint64 // operations known
	Who   string // who knew them: this machine or another mirror
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("%s: shows %d operations, %s saw %d: it was rolled back", e.Log, e.Shown, e.Who, e.Known)
}
