package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// View returns the state of a namespace as it was last synced, without network.
// Never synced: NotFound (Offline when offline).
func (r *Registry) View(namespace string) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := recall(r)
	if err != nil {
		return State{}, err
	}
	s, err := r.load(namespace, m)
	if err != nil && r.o.Offline {
		err = notAtHand(err)
	}
	return s, err
}

// Root returns the root as it was last synced, without network.
func (r *Registry) Root(ctx context.Context) (Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, root, err := r.known(ctx)
	return root, err
}

// Select returns the newest version of an item that a range allows, as last
// synced. Yanked and revoked versions are passed over, pre-releases too unless
// the range names one. What is there but may not be taken is told apart from
// what is not there (NotFound): only revoked (Revoked), else Conflict.
func (r *Registry) Select(ref objects.Ref, want objects.Range) (Release, error) {
	s, err := r.View(ref.ID.Namespace())
	if err != nil {
		return Release{}, err
	}
	return s.Select(ref, want)
}

// Release returns one version of an item whatever its status, as a lock needs it.
func (r *Registry) Release(ref objects.Ref, version string) (Release, error) {
	s, err := r.View(ref.ID.Namespace())
	if err != nil {
		return Release{}, err
	}
	e, err := s.Entry(ref, version)
	return s.release(e), err
}

// Select chooses among the versions of one state: see Registry.Select.
func (s State) Select(ref objects.Ref, want objects.Range) (Release, error) {
	list, err := s.Versions(ref)
	if err != nil {
		return Release{}, err
	}
	var refused Entry
	for _, e := range slices.Backward(list) {
		v, err := objects.ParseVersion(e.Version)
		if err != nil || !want.Allows(v) {
			continue
		}
		if e.Status == StatusOK || e.Status == StatusDeprecated {
			return s.release(e), nil
		}
		if refused.Version == "" || refused.Status.Gone() {
			refused = e
		}
	}
	switch {
	case len(list) == 0:
		return Release{}, fault.New(fault.NotFound, "%s: namespace %s has published nothing of this name", ref.Published(), s.Namespace).
			Advise("rye registry log %s", s.Namespace)
	case refused.Status.Gone():
		return Release{}, fault.New(fault.Revoked, "%s: was %s: %s", refused.Name(), refused.Status, refused.Reason)
	case refused.Status == StatusYanked:
		return Release{}, fault.New(fault.Conflict, "%s: was yanked: %s", refused.Name(), refused.Reason).
			Advise("ask for another range; locks that have it keep working")
	}
	return Release{}, fault.New(fault.Conflict, "%s: no version fits %s; the newest is %s", ref.Published(), want, list[len(list)-1].Version)
}

func (s State) release(e Entry) Release {
	return Release{Entry: e, Registry: s.Registry, Namespace: s.Namespace, Tip: s.point()}
}

// Binding says to whom a registry gives a namespace: what trust.Store.
// BindNamespace is to be told, by the caller.
type Binding struct {
	Keys []Key // in the order in which they were added
}

// Binding returns the keys of a namespace as last synced.
func (r *Registry) Binding(namespace string) (Binding, error) {
	s, err := r.View(namespace)
	if err != nil {
		return Binding{}, err
	}
	return Binding{Keys: s.Keys()}, nil
}

// Bound returns the keys in the terms of the trust store, which knows no
// positions. A key that was revoked from some position on may have published good
// items before it: then it is bound as retired, counting for content that the log
// vouches for and nothing else; what it published later is in Revoked, to be
// denied by digest. A key of which nothing counts is bound as revoked.
func (b Binding) Bound() []trust.BoundKey {
	out := make([]trust.BoundKey, len(b.Keys))
	for i, k := range b.Keys {
		state := trust.Current
		switch {
		case k.State == KeyRevoked && k.BadFrom <= k.Added+1:
			state = trust.Revoked
		case k.State != KeyActive:
			state = trust.Retired
		}
		out[i] = trust.BoundKey{Key: k.Public, State: state}
	}
	return out
}

// Fetched is the file of a release, of a package its manifest, checked against the log. It
// is not believed yet: its author's signature is for trust.Verify, with the scope's Pinned
// set to the release's Sum.
type Fetched struct {
	Release
	Raw []byte // read-only

	repo *store.Repo
}

// Fetch brings the file of a release: from the cache, else by one fetch of its
// version. Codes: Revoked when it was revoked, Network when the registry
// does not hold what its log promises, Offline when offline and not at hand,
// Integrity or Malformed when it is not what the log states.
func (r *Registry) Fetch(ctx context.Context, rel Release) (*Fetched, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rel.Registry != r.o.ID {
		return nil, fault.New(fault.Integrity, "fetch %s: it is a release of registry %s, not of %s", rel.Name(), rel.Registry, r.o.ID)
	}
	if rel.Status.Gone() {
		return nil, fault.New(fault.Revoked, "fetch %s: was %s: %s", rel.Name(), rel.Status, rel.Reason)
	}
	if repo := r.reading(); repo != nil && repo.Has(rel.Commit) {
		raw, err := readContent(&repo.Reader, &rel.Entry)
		if err == nil {
			err = vouch(ctx, r, &rel)
		}
		if err == nil || !fault.Is(err, fault.NotFound) {
			return &Fetched{rel, raw, repo}, err
		}
		// A filtered fetch brought the commit without its tree.
	}
	if r.o.Offline {
		return nil, fault.New(fault.Offline, "offline: %s (content %s, %s) is not at hand", rel.Name(), rel.Commit, rel.Sum).
			Advise("rye fetch, once with network")
	}
	return r.download(ctx, rel)
}

func (r *Registry) download(ctx context.Context, rel Release) (*Fetched, error) {
	repo, err := r.writing()
	if err != nil {
		return nil, err
	}
	rd, q, err := fetchKept(ctx, r, repo, rel.Namespace, nil, []store.OID{rel.Commit}, transport.FetchOptions{Limits: limitsOf(&rel.Entry)})
	if err != nil {
		return nil, promised(err, "content of "+rel.Name())
	}
	defer discard(q)
	raw, err := readContent(rd, &rel.Entry)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.Network, "fetch %s: the registry sent less than its log promises: %w", rel.Name(), err)
	}
	if err != nil {
		return nil, err
	}
	if err := vouch(ctx, r, &rel); err != nil {
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

// vouch judges the signers of a release by the log as it was last synced.
func vouch(ctx context.Context, r *Registry, rel *Release) error {
	m, err := recall(r)
	if err != nil {
		return err
	}
	s, err := r.load(rel.Namespace, m)
	if err != nil {
		return err
	}
	if err := sound(s, &rel.Entry); err != nil {
		return err
	}
	return vouched(ctx, r, s, &rel.Entry)
}

// contentRef keeps fetched content from being collected.
func contentRef(sum objects.Digest) string { return "refs/rye/content/" + sum.Hex() }

// CopyTo copies the version into a repository and points ref at it, when
// it does not already. It returns the commit's id. All of it is written, also what is there:
// a git repack that is under way may be about to drop that.
func (f *Fetched) CopyTo(ctx context.Context, repo *store.Repo, ref string) (store.OID, error) {
	b := repo.NewBatch()
	defer b.Discard()
	_, id, err := copyContent(&f.repo.Reader, &f.Entry, b.Add)
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

// MayPush asks the host whether it takes a push to a namespace's branch, as far as it tells
// without being sent anything: access, and what it can do. The namespace was synced.
func MayPush(ctx context.Context, r *Registry, namespace string) error {
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
	to, err := writtenAt(ctx, r, namespace)
	if err != nil {
		return err
	}
	err = to.remote.DryRun(ctx, repo, []transport.Update{{Name: branchOf(namespace), Old: s.At, New: s.root.At}})
	if fault.Is(err, fault.Conflict) {
		return nil // somebody is faster: the push itself looks again
	}
	return err
}

// History returns the operations of a namespace as last synced ("" for the
// root's), newest first, at most limit (0: all).
func (r *Registry) History(ctx context.Context, namespace string, limit int) ([]LogEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := recall(r)
	if err != nil {
		return nil, err
	}
	p := m[namespace]
	repo := r.reading()
	if p.Seq == 0 || repo == nil {
		return nil, fault.New(fault.NotFound, "history of the %s: was never synced, or nobody has claimed it", logName(namespace)).Advise("rye fetch shows what there is")
	}
	var skips Skips
	var keys []Key
	if namespace != "" {
		if skips, err = skipsOf(r, namespace); err != nil {
			return nil, err
		}
		s, err := r.load(namespace, m)
		if err != nil {
			return nil, err
		}
		keys = s.keys
	}
	var out []LogEntry
	want, seq := p.Sum, p.Seq
	for id := p.Tip; !id.IsZero() && (limit == 0 || len(out) < limit); {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		raw, parent, err := readCommit(&repo.Reader, id)
		if cutOff(err) && len(out) > 0 {
			break // the cache begins at a checkpoint
		}
		if err != nil {
			return nil, err
		}
		if objects.DigestOf(raw) != want {
			return nil, fault.New(fault.Integrity, "history of the %s: commit %s is not the one that was verified", logName(namespace), id)
		}
		e, prev, err := logEntry(namespace, raw)
		if err != nil && namespace != "" { // the log was verified, so it was skipped
			e.Text, e.Skipped, err = "malformed", whySkipped(err), nil
		}
		if i, skipped := skips.find(seq); skipped {
			k := &skips.List[i]
			e.Signer, e.Skipped, e.Voided = k.By, k.Why, k.Voided
		}
		if err != nil {
			return nil, fmt.Errorf("history of the %s: %w", logName(namespace), err)
		}
		if i := findKey(keys, e.Signer); i >= 0 && e.Skipped == "" && keys[i].within(seq) && e.wrote {
			e.Dropped = keys[i].Since
		}
		e.Seq = seq
		out = append(out, e)
		id, want, seq = parent, prev, seq-1
	}
	return out, nil
}

// logEntry reads an operation, and what it states of the one before it. Of one that is
// malformed it says when it was signed, beside the error.
func logEntry(namespace string, raw []byte) (e LogEntry, prev objects.Digest, err error) {
	c, err := store.ParseCommit(raw)
	if err != nil {
		return e, prev, err
	}
	if prev, err = prevOf(c); err != nil {
		return e, prev, err
	}
	e = LogEntry{Commit: commitID(c), Time: time.Unix(c.Committer.Unix, 0).UTC()}
	if namespace == "" {
		op, err := ParseRootOp(raw)
		if err == nil {
			e = op.entry(op.Seq, op.Subject())
		}
		return e, prev, err
	}
	op, err := ParseOp(raw)
	if err == nil {
		e = op.entry(op.Seq, op.Subject())
		e.Reason, e.wrote = op.Reason, op.Changes.Count > 0
	}
	return e, prev, err
}

func (e *Envelope) entry(seq uint64, text string) LogEntry {
	return LogEntry{Seq: seq, Time: e.Time, Signer: e.Signer.Fingerprint(), Text: text, Commit: e.ID}
}
