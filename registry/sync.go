package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// An OwnerError reports that the owners of a namespace changed, by the root's decision or their own
// (code Untrusted). Show Keys to a person; with consent, open the registry with
// AcceptOwners[Namespace] = Seq.
type OwnerError struct {
	Namespace string
	Seq       uint64            // the operation of its log that changed them
	Keys      []trust.PublicKey // active keys of the namespace now
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("namespace %s: it has other owners (since operation %d)", e.Namespace, e.Seq)
}

// Sync verifies and records what is new in the root and in these namespaces. If nothing is new,
// that takes one listing of refs. A refused log changes nothing: no ref, no memory. An unclaimed
// namespace is no error. A namespace that fails does not stop the others; the error is then a
// SyncError.
//
// Codes: Rollback if the registry shows less than before; Fork if it shows another history (both
// tips are kept as evidence); Untrusted if its identity or a namespace's owners changed; other
// codes of Apply; Network; Offline if offline and a namespace was never synced.
func (r *Registry) Sync(ctx context.Context, namespaces ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sync(ctx, namespaces...)
}

func (r *Registry) sync(ctx context.Context, namespaces ...string) error {
	failed := SyncError{}
	err := r.syncFrom(ctx, toRead, namespaces, func(ns string, err error) error {
		if err != nil {
			failed[ns] = err
		}
		return nil
	})
	if err == nil && len(failed) > 0 {
		return failed
	}
	return err
}

// A SyncError holds the errors of namespaces that failed. The others were verified and recorded.
type SyncError map[string]error

func (e SyncError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the errors in the order of their namespaces.
func (e SyncError) Unwrap() (all []error) {
	for _, ns := range slices.Sorted(maps.Keys(e)) {
		all = append(all, e[ns])
	}
	return all
}

// SyncEach is Sync for many namespaces. It passes the result for each to judge, nil for success,
// and goes on if judge returns nil. An error of the root or of the connection ends it.
func (r *Registry) SyncEach(ctx context.Context, namespaces []string, judge func(namespace string, err error) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.syncFrom(ctx, toRead, namespaces, judge)
}

// allMust is a judge for which any failed namespace is an error.
func allMust(_ string, err error) error { return err }

// purpose decides which addresses a sync asks.
type purpose int

const (
	toRead  purpose = iota // every address, in turn
	toTry                  // only the address to write to
	toWrite                // the same, and a push follows
)

// syncFrom is SyncEach for a purpose.
func (r *Registry) syncFrom(ctx context.Context, to purpose, namespaces []string, judge func(string, error) error) error {
	return r.syncRound(ctx, &round{r: r, to: to, namespaces: namespaces}, judge)
}

// syncRound is syncFrom with a prepared round.
func (r *Registry) syncRound(ctx context.Context, y *round, judge func(string, error) error) error {
	to, namespaces := y.to, y.namespaces
	for _, ns := range namespaces {
		if err := oplog.CheckNamespace(ns); err != nil {
			return fault.New(fault.Usage, "sync: %w", err)
		}
	}
	m, err := r.mem.Recall()
	if err != nil {
		return err
	}
	if r.o.Offline {
		return r.syncOffline(ctx, m, namespaces, judge)
	}
	defer func(before int) {
		if r.repo != nil && r.stats.Fetches > before {
			r.repo.Tidy(ctx, store.CompactOptions{Packs: true})
		}
	}(r.stats.Fetches)
	y.m, y.listed = m, map[*mirror]map[string]store.OID{}
	if r.ahead.refs != nil && to == toRead && slices.Equal(r.ahead.namespaces, namespaces) {
		y.listed[r.mirrors[0]] = r.ahead.refs
	}
	r.ahead = ahead{}
	if err := y.one(ctx, ""); err != nil {
		return err
	}
	r.mem.NoteChecked("")
	for _, ns := range namespaces {
		err := y.one(ctx, ns)
		if ctx.Err() != nil {
			return cmp.Or(err, context.Cause(ctx))
		}
		if err == nil {
			r.mem.NoteChecked(ns)
		}
		if err := judge(ns, err); err != nil {
			return err
		}
	}
	return nil
}

// round is one sync of several logs with any addresses that answer.
type round struct {
	r          *Registry
	to         purpose
	m          memory.Points
	namespaces []string
	moved      bool                             // the root has news
	listed     map[*mirror]map[string]store.OID // refs of each address that was asked
	beyond     func(oplog.State)                // receives an unreadable state, which is then no error
}

// one syncs one log ("": the root) with the first address that shows no less than is known.
func (y *round) one(ctx context.Context, ns string) error {
	all, err := y.r.mirrorsOf(ctx, ns)
	if err == nil && y.to != toRead {
		all, err = y.r.toThis(ctx, ns)
	}
	if err != nil {
		return err
	}
	var first error
	for i, m := range all {
		y.r.shown[ns] = m // missing parts of the state are fetched from other mirrors
		err := y.with(ctx, m, ns, len(all) > 1)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || !passable(err) || len(all) == 1 {
			return err
		}
		if first == nil || fault.Is(err, fault.Rollback) && !fault.Is(first, fault.Rollback) {
			first = err
		}
		if i+1 < len(all) {
			y.r.note(m, err)
		}
	}
	return first
}

func (r *Registry) toThis(ctx context.Context, ns string) ([]*mirror, error) {
	m, err := r.writtenAt(ctx, ns)
	return []*mirror{m}, err
}

// with syncs one log with one address. A host that serves only objects below a ref may have moved a
// branch since listing it; then it is asked again.
func (y *round) with(ctx context.Context, m *mirror, ns string, others bool) error {
	for try := 1; ; try++ {
		err := y.once(ctx, m, ns, others)
		if !errors.Is(err, transport.ErrNamedOnly) || try > maxLost {
			return err
		}
		if err := pause(ctx, try, leastPause); err != nil {
			return err
		}
		delete(y.listed, m)
		if ns != "" { // new operations of the namespace may depend on a newer root
			if err := y.with(ctx, m, "", others); err != nil {
				return err
			}
		}
	}
}

func (y *round) once(ctx context.Context, m *mirror, ns string, others bool) error {
	refs, ok := y.listed[m]
	if !ok {
		to := y.purposeAt(ctx, m)
		var beside sync.WaitGroup
		beside.Go(func() { y.load(ctx) }) // while waiting for the host
		var err error
		refs, err = y.r.branchesAt(ctx, m, y.namespaces, others, to)
		if beside.Wait(); err != nil {
			return err
		}
		y.listed[m] = refs
	}
	at := &syncing{r: y.r, m: y.m, from: m, moved: y.moved, writes: y.to == toWrite, beyond: y.beyond}
	if ns == "" {
		err := at.syncRoot(ctx, refs[mainBranch])
		y.moved = y.moved || at.moved
		return err
	}
	return at.syncNamespace(ctx, ns, refs[branchOf(ns)])
}

// purposeAt returns the purpose for an address: if the namespace lies elsewhere than its root, the
// root is only read.
func (y *round) purposeAt(ctx context.Context, m *mirror) purpose {
	if y.to == toWrite && len(y.namespaces) > 0 {
		if at, err := y.r.writtenAt(ctx, y.namespaces[0]); err != nil || at != m {
			return toRead
		}
	}
	return y.to
}

// load reads the local state ahead, for a writer with the lists, which it needs to name the next
// state. Later readers report its errors.
func (y *round) load(ctx context.Context) {
	_, _ = y.r.loadRoot(ctx, y.m)
	for _, ns := range y.namespaces {
		if s, err := y.r.load(ns, y.m); err == nil && y.to == toWrite {
			s.Catalogue().Load()
		}
	}
}

// syncOffline checks that everything is in the cache.
func (r *Registry) syncOffline(ctx context.Context, m memory.Points, namespaces []string, judge func(string, error) error) error {
	if _, err := r.loadRoot(ctx, m); err != nil {
		return notAtHand(err)
	}
	for _, ns := range namespaces {
		_, err := r.load(ns, m)
		if err != nil {
			err = notAtHand(err)
		}
		if err := judge(ns, err); err != nil {
			return err
		}
	}
	return nil
}

func notAtHand(err error) error {
	return fault.New(fault.Offline, "offline: %w", err).Advise("rye fetch, once with network")
}

// syncing is one sync with one address under way.
type syncing struct {
	r     *Registry
	m     memory.Points
	from  *mirror
	moved bool // the root has news

	writes bool              // a push follows
	beyond func(oplog.State) // as in round
}

// bring fetches tip and its log, without the parts in the cache. It returns a reader for them. q is
// nil if the cache had everything.
func (y *syncing) bring(ctx context.Context, repo *store.Repo, tip store.OID, have ...store.OID) (*store.Reader, *store.Quarantine, error) {
	if repo.Has(tip) {
		return &repo.Reader, nil, nil
	}
	have = slices.DeleteFunc(have, func(id store.OID) bool { return id.IsZero() || !repo.Has(id) })
	q, err := y.r.fetchFrom(ctx, y.from, repo, []store.OID{tip}, have, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, nil, err
	}
	return &q.Reader, q, nil
}

// accept adds fetched and verified objects to the cache.
func accept(ctx context.Context, q *store.Quarantine, tip store.OID) (release func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	if err := q.Accept(ctx, tip); err != nil {
		return nil, err
	}
	return q.Release, nil
}

func discard(q *store.Quarantine) {
	if q != nil {
		q.Discard()
	}
}

func (y *syncing) syncRoot(ctx context.Context, tip store.OID) error {
	r, p := y.r, y.m[""]
	if tip.IsZero() {
		if p.Seq > 0 {
			return fault.New(fault.Rollback, "registry %s at %s: its root is gone", r.o.ID, y.from.remote)
		}
		return noRegistry(y.from.remote.String())
	}
	if tip == p.Tip {
		if repo := r.reading(); repo != nil && repo.Has(tip) {
			return nil
		}
	}
	repo, err := r.writing()
	if err != nil {
		return err
	}
	rd, q, err := y.bring(ctx, repo, tip, p.Tip)
	if err != nil {
		return err
	}
	defer discard(q)
	base, err := r.loadRoot(ctx, y.m)
	if err != nil {
		base = oplog.Root{} // the cache is missing or broken: verify everything anew
	}
	raws, met, err := oplog.ReadLine(ctx, rd, tip, base.At)
	if err != nil {
		return err
	}
	if !met {
		base = oplog.Root{}
	}
	if base.Seq == 0 && objects.DigestOf(raws[0]) != r.o.ID {
		return fault.New(fault.Untrusted, "registry at %s: its identity changed: it was pinned as %s and is %s now", y.from.remote, r.o.ID, objects.DigestOf(raws[0])).
			Advise("ask its owner; rye registry remove, then add, trusts the new one")
	}
	root, _, err := oplog.ReplayRoot(base, raws, r.o.Now(), repo.Format())
	if err != nil {
		return err
	}
	v := view{r: r, rd: rd, base: base.Point(), raws: raws, end: root.Point()}
	if err := v.passes(ctx, p); err != nil {
		return err
	}
	if y.moved = root.Tip != p.Sum; !y.moved && met {
		return nil
	}
	y.m[""] = root.Point()
	release, err := accept(ctx, q, tip)
	if err != nil {
		return err
	}
	defer release()
	return r.keepRoot(ctx, repo, root)
}

func (y *syncing) syncNamespace(ctx context.Context, ns string, tip store.OID) error {
	r := y.r
	p, seen := y.m[ns]
	if tip.IsZero() {
		return y.absent(ctx, ns, seen)
	}
	base, baseErr := r.load(ns, y.m)
	root, err := r.loadRoot(ctx, y.m)
	if err != nil {
		return err
	}
	if baseErr == nil && tip == p.Tip && !y.moved && !root.Grant(ns).Contradicts(p) {
		if err := r.checkOwners(root, base, p); err != nil {
			return err
		}
		return r.noteRevoked(ctx, ns, nil)
	}
	repo, err := r.writing()
	if err != nil {
		return err
	}
	if baseErr != nil {
		if base, err = y.fromCheckpoint(ctx, repo, root, ns); err != nil {
			return err
		}
	}
	got, err := y.read(ctx, repo, base.WithRoot(root), tip)
	if err != nil {
		return err
	}
	defer discard(got.q)
	s := got.s
	if seen && p.Genesis != s.Genesis {
		return fault.New(fault.Untrusted, "namespace %s: its identity changed: its log began with %s and begins with %s now", ns, p.Genesis, s.Genesis)
	}
	v := view{r: r, rd: got.rd, namespace: ns, base: got.base.Point(), raws: got.raws, end: s.Point()}
	if err := v.passes(ctx, p, root.Grant(ns).Points()...); err != nil {
		return err
	}
	if err := r.checkOwners(root, s, p); err != nil {
		return err
	}
	if len(got.raws) == 0 && s.Point() == p {
		r.spaces[ns] = s
		return nil
	}
	y.from.lines[ns] = base.Published
	for _, op := range got.Ops {
		y.from.lines[ns] += uint64(op.Changes.Count)
	}
	if y.writes {
		if err := y.bringNews(ctx, repo, &got); err != nil {
			return err
		}
	}
	if err := r.noteRevoked(ctx, ns, got.Ops); err != nil { // before anything in the state can fail
		return err
	}
	// A log with an unreadable state does not become a floor. Otherwise one member could block all
	// later operations, and the host could not set the branch back.
	if err := r.bringRoot(ctx, s); err != nil {
		if y.beyond == nil || ctx.Err() != nil {
			return err
		}
		y.beyond(s)
		_, err := accept(ctx, got.q, tip) // the log is good; it is read again before anything is recorded
		return err
	}
	if err := r.mem.NoteSkipped(ctx, ns, got.rd, got.base.Point(), got.Replayed); err != nil {
		return err
	}
	r.noteDrops(got.Ops)
	r.first[ns] = r.first[ns] || !seen
	if !got.accepted {
		if _, err := accept(ctx, got.q, tip); err != nil {
			return err
		}
	}
	if got.q != nil {
		defer got.q.Release()
	}
	return r.keepState(ctx, repo, s)
}

// absent judges a namespace without a branch.
func (y *syncing) absent(ctx context.Context, ns string, seen bool) error {
	root, err := y.r.loadRoot(ctx, y.m)
	if err != nil {
		return err
	}
	if g := root.Grant(ns); seen || g != nil && (!g.Genesis.IsZero() || g.Checkpoint != nil) {
		return fault.New(fault.Rollback, "namespace %s: its branch is gone from %s", ns, y.from.remote)
	}
	y.r.spaces[ns] = y.r.unclaimed(root, ns)
	return nil
}

// beyond returns a namespace after a sync as far as its log alone determines it, even if its state
// cannot be read. Such a state is not recorded.
func (r *Registry) beyond(ctx context.Context, to purpose, ns string) (oplog.State, error) {
	var s oplog.State
	y := &round{r: r, to: to, namespaces: []string{ns}, beyond: func(unread oplog.State) { s = unread }}
	err := r.syncRound(ctx, y, allMust)
	if err != nil || s.Seq > 0 {
		return s, err
	}
	return r.current(ctx, ns)
}

// shown is a log as the registry shows it: valid in itself, not yet compared with the verified one.
type shown struct {
	s, base        oplog.State // base was verified before; raws lead from it to s
	raws           [][]byte
	oplog.Replayed // of raws
	rd             *store.Reader
	q              *store.Quarantine // nil if the cache had everything

	accepted bool // q is already in the cache
}

// read fetches and verifies the operations after base. If the log does not pass through base, read
// fetches and verifies all of it. So it does if the log ends before base and the cache does not
// reach back that far.
func (y *syncing) read(ctx context.Context, repo *store.Repo, base oplog.State, tip store.OID) (shown, error) {
	got := shown{base: base}
	var err error
	if got.q = y.bringAll(ctx, repo, base, tip); got.q != nil {
		got.rd = &got.q.Reader
	} else {
		got.rd, got.q, err = y.bring(ctx, repo, tip, base.At)
	}
	if err == nil {
		err = y.verify(ctx, &got, tip)
	}
	short := fault.Is(err, fault.Malformed) && oplog.CutOff(err) && (base.Seq > 0 || got.q == nil)
	if short || base.Seq > 0 && got.rd == nil && fault.Is(err, fault.Integrity) {
		discard(got.q)
		got.base = y.r.unclaimed(base.Under(), base.Namespace)
		if got.q, err = y.r.fetchFrom(ctx, y.from, repo, []store.OID{tip}, nil, transport.FetchOptions{Filter: commitsOnly}); err != nil {
			return got, err
		}
		got.rd = &got.q.Reader
		err = y.verify(ctx, &got, tip)
	}
	if err != nil {
		discard(got.q)
	}
	return got, err
}

// verify reads the line down to got.base, or to its beginning, and applies it.
func (y *syncing) verify(ctx context.Context, got *shown, tip store.OID) error {
	raws, met, err := oplog.ReadLine(ctx, got.rd, tip, got.base.At)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", got.base.Namespace, err)
	}
	if !met {
		got.base = y.r.unclaimed(got.base.Under(), got.base.Namespace)
	}
	got.raws = raws
	got.s, got.Replayed, err = oplog.Replay(ctx, got.base, raws, y.r.o.Now())
	return err
}

// checkOwners refuses a log whose claim the root does not accept, and a log with new owners until
// these are accepted.
func (r *Registry) checkOwners(root oplog.Root, s oplog.State, p oplog.Point) error {
	if err := root.Admits(s.Namespace, s.Genesis, s.Claimant()); err != nil {
		return err
	}
	if p.Seq > 0 && p.Owners != s.Owners && r.o.AcceptOwners[s.Namespace] != s.Owners {
		e := &OwnerError{Namespace: s.Namespace, Seq: s.Owners}
		for _, k := range s.Keys() {
			if k.State == oplog.KeyActive {
				e.Keys = append(e.Keys, k.Public)
			}
		}
		return fault.New(fault.Untrusted, "%w", e).Advise("ask the owners of the registry, then accept the new owners")
	}
	return nil
}

// unclaimed returns NewState with the cache as its source.
func (r *Registry) unclaimed(root oplog.Root, namespace string) oplog.State {
	return oplog.NewState(root, namespace).From(r.cached())
}
