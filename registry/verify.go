package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// Checked is the result of asking a registry for all objects in a namespace's log.
type Checked struct {
	Namespace  string
	Operations uint64   // replayed with their change lists
	Versions   uint64   // published so far
	Threshold  int      // keys that must agree to operations in Governs
	Fetched    int      // versions fetched and compared, without those that an earlier Verify had
	Redacted   int      // versions whose bytes are removed or to be removed
	Pruned     int      // states that the host no longer keeps, and need not keep
	Missing    []string // objects that the log promises and the host lacks
}

// Verify replays a namespace from its claim, applies every change list, and asks the registry for
// every object in its log: the last state, the state of the root's checkpoint, and every version
// that is not redacted. For objects that an earlier Verify on this machine had, it only checks that
// the content branch names them; with whole it fetches them again. Missing objects are in the
// report, and no error. The namespace must be synced.
func (r *Registry) Verify(ctx context.Context, namespace string, whole bool) (Checked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.verify(ctx, namespace, whole)
}

func (r *Registry) verify(ctx context.Context, namespace string, whole bool) (Checked, error) {
	c := Checked{Namespace: namespace, Threshold: 1}
	if r.o.Offline {
		return c, fault.New(fault.Offline, "verify namespace %s: this asks the host for every object", namespace).Advise("leave out --offline")
	}
	s, err := r.current(ctx, namespace)
	if err != nil || s.Seq == 0 {
		return c, err
	}
	var had memory.Had
	if !whole {
		had = r.mem.Had(s)
	}
	all, err := r.mirrorsOf(ctx, namespace)
	if err != nil {
		return c, err
	}
	v := verification{r: r, m: all[0], had: had, c: &c}
	if v.x, err = r.examine(ctx, s, had.At); err != nil {
		return c, err
	}
	c.Operations, c.Versions, c.Threshold = v.x.Seq, v.x.Published, v.x.Threshold
	if err := v.run(ctx); err != nil {
		return c, err
	}
	if len(c.Missing) > 0 {
		return c, nil
	}
	return c, v.remember()
}

// verification is one Verify under way.
type verification struct {
	r   *Registry
	m   *mirror // the mirror under verification: the one that showed the log
	had memory.Had
	x   oplog.Examined // the log, replayed since had
	c   *Checked
}

func (v *verification) run(ctx context.Context) error {
	if v.x.Since != v.had.At.Seq { // the cache does not reach back, so nothing is known
		v.had = memory.Had{}
	}
	named, err := v.named(ctx)
	if err != nil {
		return err
	}
	v.c.Redacted, v.c.Pruned = v.had.Redacted+v.x.Redacted, v.had.Pruned
	if named.anew {
		if err := v.again(ctx, named); err != nil {
			return err
		}
	}
	for _, k := range v.x.States {
		v.state(k, named)
	}
	if err := v.lastState(ctx); err != nil {
		return err
	}
	var ask []*oplog.Entry
	for _, ver := range v.x.Versions {
		e, err := v.x.Lookup(ver.Ref, ver.Name)
		if err != nil {
			return err
		}
		if e.Status != oplog.StatusRedacted {
			ask = append(ask, e)
		}
	}
	for _, some := range together(ask, 500) {
		if err := v.versions(ctx, some); err != nil {
			return err
		}
	}
	slices.Sort(v.c.Missing)
	return nil
}

func (v *verification) miss(what string) { v.c.Missing = append(v.c.Missing, what) }

// named holds the commits on the content branch: those since the earlier Verify, or all if the
// branch was rebuilt.
type named struct {
	anew bool
	ids  map[store.OID]bool
}

// named fetches the content branch, only commits.
func (v *verification) named(ctx context.Context) (n named, err error) {
	tip, old := v.m.content[v.x.Namespace], v.had.Content
	if tip.IsZero() {
		v.miss("branch " + contentOf(v.x.Namespace))
		return n, nil
	}
	if tip == old {
		return n, nil
	}
	if !old.IsZero() {
		if n.ids, err = v.commits(ctx, tip, old); err == nil && n.ids != nil {
			return n, nil
		}
	}
	n.anew = !old.IsZero()
	n.ids, err = v.commits(ctx, tip, store.OID{})
	return n, err
}

// commits returns the commits of a branch after an older tip; nil if the branch does not continue
// that tip.
func (v *verification) commits(ctx context.Context, tip, old store.OID) (map[store.OID]bool, error) {
	repo, err := v.r.writing()
	if err != nil {
		return nil, err
	}
	var have []store.OID
	if !old.IsZero() {
		have = append(have, old)
	}
	q, err := v.r.fetchFrom(ctx, v.m, repo, []store.OID{tip}, have, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, err
	}
	defer q.Discard()
	ids := map[store.OID]bool{}
	for _, id := range q.Objects() {
		ids[id] = true
	}
	for at := tip; !old.IsZero() && at != old; {
		if !ids[at] {
			return nil, nil
		}
		if _, at, err = oplog.ReadCommit(&q.Reader, at); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// again checks that the rebuilt branch names everything that an earlier Verify had.
func (v *verification) again(ctx context.Context, named named) error {
	raws, err := v.r.wholeLog(ctx, v.x.State)
	if err != nil {
		return err
	}
	v.c.Pruned = 0
	_, had, err := oplog.Replay(ctx, oplog.NewState(v.x.Under(), v.x.Namespace), raws[:v.had.At.Seq], v.r.o.Now())
	if err != nil {
		return err
	}
	for _, op := range had.Ops {
		v.state(oplog.KeptState{Seq: op.Seq, At: op.Kept}, named)
	}
	return v.x.Entries(func(e oplog.Entry) error {
		if e.Seq <= v.had.At.Seq && e.Status != oplog.StatusRedacted && !named.ids[e.Commit] {
			v.miss("version " + e.Name())
		}
		return nil
	})
}

// state reports a missing state if the root's checkpoint needs it, and counts the others as pruned.
func (v *verification) state(k oplog.KeptState, named named) {
	vouched := uint64(0)
	if g := v.x.Under().Grant(v.x.Namespace); g != nil && g.Checkpoint != nil {
		vouched = g.Checkpoint.Seq
	}
	switch {
	case k.Seq == v.x.Last().Seq || named.ids[k.At]:
	case k.Seq == vouched:
		v.miss(stateName(k.Seq))
	default:
		v.c.Pruned++
	}
}

func stateName(seq uint64) string { return fmt.Sprintf("state after operation %d", seq) }

// lastState fetches the last state, without the parts of the state at the earlier Verify.
func (v *verification) lastState(ctx context.Context) error {
	if v.x.Last().Seq == v.had.At.Seq {
		return nil
	}
	repo, err := v.r.writing()
	if err != nil {
		return err
	}
	var have []store.OID
	if !v.x.Before.IsZero() {
		have = append(have, v.x.Before)
	}
	q, err := v.r.fetchFrom(ctx, v.m, repo, []store.OID{v.x.Kept}, have, transport.FetchOptions{})
	if errors.Is(err, transport.ErrNamedOnly) {
		return v.lastWhole(ctx, repo)
	}
	if gone(err) {
		v.miss(stateName(v.x.Last().Seq))
		return nil
	}
	if err != nil {
		return err
	}
	defer q.Discard()
	if err := q.Connected(ctx, v.x.Kept); err != nil {
		v.miss(stateName(v.x.Last().Seq))
	}
	return nil
}

// gone reports whether an error may mean that the host lacks an object: some hosts report that,
// some end the connection.
func gone(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Network) }

// versions fetches versions and compares them. If that fails for several, it tries halves until it
// has found the missing ones.
func (v *verification) versions(ctx context.Context, list []*oplog.Entry) error {
	repo, err := v.r.writing()
	if err != nil {
		return err
	}
	ids := make([]store.OID, len(list))
	for i, e := range list {
		ids[i] = e.Commit
	}
	q, err := v.r.fetchFrom(ctx, v.m, repo, ids, nil, transport.FetchOptions{})
	if errors.Is(err, transport.ErrNamedOnly) {
		return v.versionsWhole(ctx, repo, list)
	}
	if gone(err) && len(list) > 1 {
		half := len(list) / 2
		return cmp.Or(v.versions(ctx, list[:half]), v.versions(ctx, list[half:]))
	}
	if gone(err) && ctx.Err() == nil && v.answers(ctx) {
		v.miss("version " + list[0].Name())
		return nil
	}
	if err != nil {
		return err
	}
	defer q.Discard()
	in := map[store.OID]bool{}
	for _, id := range q.Objects() {
		in[id] = true
	}
	for _, e := range list {
		_, err := oplog.ReadContent(&q.Reader, e)
		switch {
		case fault.Is(err, fault.NotFound), err == nil && !in[e.Commit]:
			v.miss("version " + e.Name())
		case err != nil:
			return err
		default:
			v.c.Fetched++
		}
	}
	return nil
}

// fetchAll fetches the content branch from a host that serves only objects named by refs, and
// returns its commits.
func (v *verification) fetchAll(ctx context.Context, repo *store.Repo) (map[store.OID]bool, error) {
	if err := v.r.fetchWhole(ctx, repo, v.x.Namespace); err != nil {
		return nil, err
	}
	tip := v.m.content[v.x.Namespace]
	if tip.IsZero() {
		return nil, nil
	}
	return v.commits(ctx, tip, store.OID{})
}

// lastWhole looks for the last state on the content branch.
func (v *verification) lastWhole(ctx context.Context, repo *store.Repo) error {
	ids, err := v.fetchAll(ctx, repo)
	if err == nil && (!ids[v.x.Kept] || !repo.Has(v.x.Kept)) {
		v.miss(stateName(v.x.Last().Seq))
	}
	return err
}

// versionsWhole compares versions with the content branch.
func (v *verification) versionsWhole(ctx context.Context, repo *store.Repo, list []*oplog.Entry) error {
	ids, err := v.fetchAll(ctx, repo)
	if err != nil {
		return err
	}
	for _, e := range list {
		_, err := oplog.ReadContent(&repo.Reader, e)
		switch {
		case fault.Is(err, fault.NotFound), !ids[e.Commit]:
			v.miss("version " + e.Name())
		case err != nil:
			return err
		default:
			v.c.Fetched++
		}
	}
	return nil
}

// answers reports whether the host answers at all, so that it only lacks an object.
func (v *verification) answers(ctx context.Context) bool {
	_, err := v.m.remote.Refs(ctx, mainBranch)
	return err == nil
}

// remember records how far everything was verified.
func (v *verification) remember() error {
	return v.r.mem.NoteHad(v.x.Namespace, memory.Had{At: oplog.Point{Seq: v.x.Last().Seq, Tip: v.x.Last().ID, Sum: v.x.Last().Sum},
		Content: v.m.content[v.x.Namespace], Redacted: v.c.Redacted, Pruned: v.c.Pruned})
}
