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

// A registry is one identity and may have several addresses. Whoever answers is asked: what
// it shows must follow from what was verified before, and proves itself, so it does not
// matter who that is. Operations are written to the first address, or, for a namespace that
// the root locates in another repository, there.

// MaxMirrors bounds the addresses of one registry besides its first.
const MaxMirrors = 16

// patience bounds how long an address may take to say which branches it has, where there is
// another one to ask.
const patience = 10 * time.Second

// A mirror is one address at which a registry, or some namespaces of it, may be asked.
type mirror struct {
	url     string
	remote  *transport.Remote
	down    bool                 // it did not answer: the others are asked first
	content map[string]store.OID // where it showed the branches of content: a hint
	was     map[string]store.OID // where it showed them the time before
	lines   map[string]uint64    // how many lines of the catalogue its logs speak of: a hint
}

func dialMirror(url string, o transport.Options) (*mirror, error) {
	remote, err := transport.Dial(url, o)
	if err != nil {
		return nil, err
	}
	return &mirror{url: url, remote: remote, content: map[string]store.OID{}, was: map[string]store.OID{}, lines: map[string]uint64{}}, nil
}

// dialAll dials the addresses of a registry, each once, the one to write to first.
func dialAll(o Options) (all []*mirror, err error) {
	if len(o.Mirrors) > MaxMirrors {
		return nil, fault.New(fault.Limit, "registry %s: %d mirrors, at most %d", words.Brief(o.URL), len(o.Mirrors), MaxMirrors)
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
		return nil, fault.New(fault.Untrusted, "write to %s: it is no address of this registry", words.Brief(o.To)).Advise("rye registry mirror add <registry> <url>")
	}
	return all, nil
}

// mirrorsOf returns whom to ask about a namespace ("": the root), in this order: who showed
// it last, where the root says that it lies, the addresses of the registry. Those that did
// not answer come last.
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

// fetch brings objects and what they need into a quarantine of the cache, from whoever has
// them, and counts.
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

// branchesAt returns the branches that an address has of the root and of namespaces. With
// others to ask it may not take long.
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

// refsAt lists branches. A writer asks where it is going to write: that is one question
// for the listing and the push. Who may only read finds out by the push.
func refsAt(ctx context.Context, m *mirror, to purpose, prefixes []string) (map[string]store.OID, error) {
	if to == toWrite {
		refs, err := m.remote.RefsToPush(ctx, prefixes...)
		if err == nil || !fault.Is(err, fault.Auth) && !fault.Is(err, fault.Denied) && !fault.Is(err, fault.NotFound) {
			return refs, err
		}
	}
	return m.remote.Refs(ctx, prefixes...)
}

// manyPrefixes is from how many namespaces on a listing asks for all branches: hosts bound how
// many prefixes they take.
const manyPrefixes = 100

// prefixesOf returns what a listing asks for.
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

// contentTip returns where the branch of the content of a namespace was last seen.
func (r *Registry) contentTip(namespace string) store.OID {
	if m := r.shown[namespace]; m != nil {
		return m.content[namespace]
	}
	return store.OID{}
}

// passable reports whether another address may make good what is wrong with one: it does not
// answer, has not got it, does not let us in, or is behind. What contradicts what was
// verified nothing makes good.
func passable(err error) bool {
	return gone(err) || fault.Is(err, fault.Auth) || fault.Is(err, fault.Rollback)
}

// note remembers, for people, that an address was passed over.
func (r *Registry) note(m *mirror, err error) {
	m.down = m.down || !fault.Is(err, fault.Rollback)
	r.notes = append(r.notes, fmt.Sprintf("%s was passed over: %v", m.remote, err))
}

// Notes returns what was noticed about the addresses of a registry since Open and is no
// error, for people.
func (r *Registry) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// A BehindError says that an address shows an older log than what is known (code Rollback).
type BehindError struct {
	Log   string // for people
	Shown uint64 // operations that it shows
	Known uint64 // operations that are known
	Who   string // who knows them
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("%s: shows %d operations, %s saw %d: it was set back", e.Log, e.Shown, e.Who, e.Known)
}
