package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// examine replays a namespace with every change list, and trusts no stated state or catalogue line.
// It begins at the claim, or after known, a point up to which this machine has examined the log. s
// must be synced.
func (r *Registry) examine(ctx context.Context, s oplog.State, known oplog.Point) (oplog.Examined, error) {
	return r.examineAs(ctx, s, known, s.Keys())
}

// examineAs is examine with the keys after planned operations: it does not derive what they drop.
func (r *Registry) examineAs(ctx context.Context, s oplog.State, known oplog.Point, keys []oplog.Key) (oplog.Examined, error) {
	if s.Seq == 0 {
		return oplog.Examined{State: s}, nil
	}
	if s.WithKeys(keys).Unsettled(known.Effective().Seq) { // operations before this point were dropped since
		known = oplog.Point{}
	}
	x, err := r.examineFrom(ctx, s, known, keys)
	if fault.Is(err, fault.Offline) && x.Since > 0 { // a cache may be deleted at any time, also in part
		return r.examineFrom(ctx, s, oplog.Point{}, keys)
	}
	return x, err
}

func (r *Registry) examineFrom(ctx context.Context, s oplog.State, known oplog.Point, keys []oplog.Key) (oplog.Examined, error) {
	base, raws, err := r.logSince(ctx, s, known)
	if err != nil {
		return oplog.Examined{}, err
	}
	x := oplog.Examined{State: base, Since: base.Seq, Before: base.Kept, Keys: keys}
	from := r.cached()
	_, done, err := oplog.Replay(ctx, base, raws, r.o.Now())
	if err != nil {
		return x, err
	}
	if err := r.bringChanges(ctx, s, slices.DeleteFunc(slices.Clone(done.Ops), x.NeedsNone)); err != nil {
		return x, err
	}
	x.Skipped = done.Skipped
	if err := x.Replay(ctx, from, done.Ops); err != nil {
		return x, err
	}
	x.Pass(s.Seq)
	if x.Tip != s.Tip {
		return x, fault.New(fault.Integrity, "namespace %s: its log ends in %s, the verified log in %s", s.Namespace, x.Tip, s.Tip)
	}
	if err := r.saveCatalogue(ctx, x.State); err != nil {
		return x, err
	}
	x.State = x.State.From(from)
	judged := x.State.WithKeys(keys) // lines dropped by these keys may be gone
	return x, r.noteShards(ctx, judged, oplog.EveryShard())
}

// logSince returns the state at an examined point, and the operations after it up to s. If the
// cache does not reach back that far, it begins at the claim.
func (r *Registry) logSince(ctx context.Context, s oplog.State, known oplog.Point) (oplog.State, [][]byte, error) {
	repo, err := r.writing()
	if err != nil {
		return oplog.State{}, nil, err
	}
	if known.Seq > 0 && known.Seq <= s.Seq {
		base, err := loadState(repo, r.cached(), r.o.ID, s.Namespace, known)
		if err == nil {
			if raws, met, err := oplog.ReadLine(ctx, &repo.Reader, s.At, known.Tip); err == nil && met {
				return base.WithRoot(s.Under()), raws, nil
			}
		}
	}
	raws, err := r.wholeLog(ctx, s)
	return oplog.NewState(s.Under(), s.Namespace), raws, err
}

// bringChanges fetches the change lists of operations up to s. If one is missing, it halves the
// list until it finds the first missing one.
func (r *Registry) bringChanges(ctx context.Context, s oplog.State, ops []oplog.Op) error {
	var lists []oplog.Address
	var kept []store.OID
	for i := range ops {
		lists, kept = append(lists, ops[i].Changes.Address), append(kept, ops[i].Kept)
	}
	err := r.bringBlobs(ctx, s.Namespace, "change list", kept, lists)
	switch {
	case err == nil || ctx.Err() != nil || r.o.Offline:
		return err
	case len(ops) == 1:
		return ops[0].Blocked(err)
	}
	half := len(ops) / 2
	if err := r.bringChanges(ctx, s, ops[:half]); err != nil {
		return err
	}
	return r.bringChanges(ctx, s, ops[half:])
}

// wholeLog returns every operation up to s, from the cache or the registry.
func (r *Registry) wholeLog(ctx context.Context, s oplog.State) ([][]byte, error) {
	repo, err := r.writing()
	if err != nil {
		return nil, err
	}
	raws, _, err := oplog.ReadLine(ctx, &repo.Reader, s.At, store.OID{})
	if !oplog.CutOff(err) || r.o.Offline {
		return raws, err
	}
	q, err := r.fetch(ctx, s.Namespace, repo, []store.OID{s.At}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", s.Namespace, err)
	}
	defer q.Discard()
	if raws, _, err = oplog.ReadLine(ctx, &q.Reader, s.At, store.OID{}); err != nil {
		return nil, err
	}
	if err := q.Accept(ctx, s.At); err != nil {
		return nil, err
	}
	q.Release()
	return raws, nil
}

// saveCatalogue puts all derived parts of a state into the cache, so that none needs to be fetched.
func (r *Registry) saveCatalogue(ctx context.Context, s oplog.State) error {
	repo, err := r.writing()
	if err != nil {
		return err
	}
	release, err := saveTree(ctx, repo, func(_ store.Format, put oplog.Sink) (store.OID, error) {
		return store.OID{}, s.Catalogue().PutNew(nil, put)
	})
	if err != nil {
		return err
	}
	release()
	return nil
}

// Examine replays a namespace from its claim and applies every change list, so that it trusts no
// statement by an owner just for its signature. The namespace must be synced.
func (r *Registry) Examine(ctx context.Context, namespace string) (oplog.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.current(ctx, namespace)
	if err != nil {
		return s, err
	}
	x, err := r.examine(ctx, s, oplog.Point{})
	return x.State, err
}
