package registry

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// View returns the state of a namespace as last synced, without network. A namespace that was never
// synced is NotFound (Offline when offline).
func (r *Registry) View(namespace string) (oplog.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.mem.Recall()
	if err != nil {
		return oplog.State{}, err
	}
	s, err := r.load(namespace, m)
	if err != nil && r.o.Offline {
		err = notAtHand(err)
	}
	return s, err
}

// Root returns the root as last synced, without network.
func (r *Registry) Root(ctx context.Context) (oplog.Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, root, err := r.known(ctx)
	return root, err
}

// Select returns the newest version of an item that a range allows, as last synced. It skips yanked
// and revoked versions, and pre-releases unless the range names one. An item without versions is
// NotFound. If all fitting versions are revoked, the code is Revoked, otherwise Conflict.
func (r *Registry) Select(ref objects.Ref, want objects.Range) (oplog.Release, error) {
	s, err := r.View(ref.ID.Namespace())
	if err != nil {
		return oplog.Release{}, err
	}
	return s.Select(ref, want)
}

// Release returns one version of an item in any status, as a lock needs it.
func (r *Registry) Release(ref objects.Ref, version string) (oplog.Release, error) {
	s, err := r.View(ref.ID.Namespace())
	if err != nil {
		return oplog.Release{}, err
	}
	e, err := s.Entry(ref, version)
	return s.Release(e), err
}

// Binding holds the keys of a namespace. The caller passes them to trust.Store.BindNamespace.
type Binding struct {
	Keys []oplog.Key // in the order in which they were added
}

// Binding returns the keys of a namespace as last synced.
func (r *Registry) Binding(namespace string) (Binding, error) {
	s, err := r.View(namespace)
	if err != nil {
		return Binding{}, err
	}
	return Binding{Keys: s.Keys()}, nil
}

// Bound returns the keys in the terms of the trust store, which has no positions. A key revoked
// from some position on may have published good items before. It is bound as retired, so it is
// accepted only for content that the log confirms; its later items are in Revoked, to be denied by
// digest. A key without good items is bound as revoked.
func (b Binding) Bound() []trust.BoundKey {
	out := make([]trust.BoundKey, len(b.Keys))
	for i, k := range b.Keys {
		state := trust.Current
		switch {
		case k.State == oplog.KeyRevoked && k.BadFrom <= k.Added+1:
			state = trust.Revoked
		case k.State != oplog.KeyActive:
			state = trust.Retired
		}
		out[i] = trust.BoundKey{Key: k.Public, State: state}
	}
	return out
}

// Fetched is the file of a release (for a bundle its manifest), checked against the log. It is not
// trusted yet: its author's signature is for trust.Verify, with the scope's Pinned set to the
// release's Sum.
type Fetched struct {
	oplog.Release
	Raw []byte // read-only

	repo *store.Repo
}

// Fetch returns the file of a release, from the cache or by one fetch of its version. Codes:
// Revoked if it was revoked; Network if the registry lacks bytes that its log promises; Offline if
// it is not in the cache; Integrity or Malformed if it differs from the log.
func (r *Registry) Fetch(ctx context.Context, rel oplog.Release) (*Fetched, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rel.Registry != r.o.ID {
		return nil, fault.New(fault.Integrity, "fetch %s: it is a release from registry %s, not from %s", rel.Name(), rel.Registry, r.o.ID)
	}
	if rel.Status.Gone() {
		return nil, fault.New(fault.Revoked, "fetch %s: was %s: %s", rel.Name(), rel.Status, rel.Reason)
	}
	if repo := r.reading(); repo != nil && repo.Has(rel.Commit) {
		raw, err := oplog.ReadContent(&repo.Reader, &rel.Entry)
		if err == nil {
			err = r.vouch(ctx, &rel)
		}
		if err == nil || !fault.Is(err, fault.NotFound) {
			return &Fetched{rel, raw, repo}, err
		}
		// A filtered fetch got the commit without its tree.
	}
	if r.o.Offline {
		return nil, fault.New(fault.Offline, "offline: %s (content %s, %s) is not on this machine", rel.Name(), rel.Commit, rel.Sum).
			Advise("rye fetch, once with network")
	}
	return r.download(ctx, rel)
}

func (r *Registry) download(ctx context.Context, rel oplog.Release) (*Fetched, error) {
	repo, err := r.writing()
	if err != nil {
		return nil, err
	}
	rd, q, err := r.fetchKept(ctx, repo, rel.Namespace, nil, []store.OID{rel.Commit}, transport.FetchOptions{Limits: limitsOf(&rel.Entry)})
	if err != nil {
		return nil, promised(err, "content of "+rel.Name())
	}
	defer discard(q)
	raw, err := oplog.ReadContent(rd, &rel.Entry)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.Network, "fetch %s: the registry sent less than its log names: %w", rel.Name(), err)
	}
	if err != nil {
		return nil, err
	}
	if err := r.vouch(ctx, &rel); err != nil {
		return nil, err
	}
	release, err := accept(ctx, q, rel.Commit)
	if err != nil {
		return nil, err
	}
	defer repo.Tidy(ctx, store.CompactOptions{Packs: true})
	defer release()
	if err := moveRef(ctx, repo, contentRef(rel.Sum), rel.Commit); err != nil {
		return nil, err
	}
	return &Fetched{rel, raw, repo}, nil
}

// vouch checks the signers of a release against the log as last synced.
func (r *Registry) vouch(ctx context.Context, rel *oplog.Release) error {
	m, err := r.mem.Recall()
	if err != nil {
		return err
	}
	s, err := r.load(rel.Namespace, m)
	if err != nil {
		return err
	}
	if err := s.CheckLine(&rel.Entry); err != nil {
		return err
	}
	return r.vouched(ctx, s, &rel.Entry)
}

// contentRef protects fetched content from garbage collection.
func contentRef(sum objects.Digest) string { return "refs/rye/content/" + sum.Hex() }

// CopyTo copies the version into a repository, points ref at it, and returns the commit's id. It
// also writes objects that are there already, because a running git repack may be about to drop
// them.
func (f *Fetched) CopyTo(ctx context.Context, repo *store.Repo, ref string) (store.OID, error) {
	b := repo.NewBatch()
	defer b.Discard()
	_, id, err := oplog.CopyContent(&f.repo.Reader, &f.Entry, b.Add)
	if err != nil {
		return store.OID{}, err
	}
	if id != f.Commit {
		return store.OID{}, fault.New(fault.Conflict, "copy %s: the repository names objects by %s, the registry does not", f.Name(), repo.Format())
	}
	if err := b.Flush(ctx); err != nil {
		return store.OID{}, err
	}
	defer b.Release()
	return id, moveRef(ctx, repo, ref, id)
}

// MayPush asks the host whether it would accept a push to a namespace's branch, as far as the host
// answers that without receiving anything: access and capabilities. The namespace must be synced.
func (r *Registry) MayPush(ctx context.Context, namespace string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Offline {
		return fault.New(fault.Offline, "push to namespace %s: offline", namespace)
	}
	s, err := r.current(ctx, namespace)
	if err != nil {
		return err
	}
	repo, err := r.writing()
	if err != nil {
		return err
	}
	to, err := r.writtenAt(ctx, namespace)
	if err != nil {
		return err
	}
	err = to.remote.DryRun(ctx, repo, []transport.Update{{Name: branchOf(namespace), Old: s.At, New: s.Under().At}})
	if fault.Is(err, fault.Conflict) {
		return nil // another publisher was faster: the push itself looks again
	}
	return err
}

// Files returns the verified repository and the tree with the files of a fetched version, at their
// paths below .ai.
func (f *Fetched) Files() (*store.Repo, store.OID, error) {
	c, err := f.repo.Commit(f.Commit)
	if err != nil {
		return nil, store.OID{}, err
	}
	return f.repo, c.Tree, nil
}
