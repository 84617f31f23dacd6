package registry

import (
	"context"
	"fmt"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// examine replays a namespace from its claim with every change list, so that no state and
// no line of the catalogue is believed: the state that it returns follows from the
// operations alone. s was synced.
func examine(ctx context.Context, r *Registry, s State) (State, error) {
	if s.Seq == 0 {
		return s, nil
	}
	raws, err := wholeLog(ctx, r, s)
	if err != nil {
		return s, err
	}
	ops := make([]Op, len(raws))
	var lists []Address
	for i, raw := range raws {
		if ops[i], err = ParseOp(raw); err != nil {
			return s, err
		}
		if ops[i].Changes.Count > 0 {
			lists = append(lists, ops[i].Changes.Address)
		}
	}
	if err := bringBlobs(ctx, r, s.Namespace, "change list", lists); err != nil {
		return s, err
	}
	from := cached(r)
	all := NewState(s.root, s.Namespace)
	for i := range ops {
		if err := ctx.Err(); err != nil {
			return s, context.Cause(ctx)
		}
		var changes []byte
		if ops[i].Changes.Count > 0 {
			if changes, err = from.load(ops[i].Changes.Address, "change list"); err != nil {
				return s, err
			}
		}
		if all, err = ApplyAll(all, ops[i], changes); err != nil {
			return s, err
		}
	}
	if all.Tip != s.Tip {
		return s, fault.New(fault.Integrity, "namespace %s: its log ends in %s, what was verified is %s", s.Namespace, all.Tip, s.Tip)
	}
	if err := saveCatalogue(ctx, r, all); err != nil {
		return s, err
	}
	all.from = from
	return all, noteShards(ctx, r, all, everyShard)
}

// wholeLog returns every operation up to s, from the cache or the registry.
func wholeLog(ctx context.Context, r *Registry, s State) ([][]byte, error) {
	repo, err := r.writing()
	if err != nil {
		return nil, err
	}
	raws, _, err := readLine(ctx, &repo.Reader, s.At, store.OID{})
	if !cutOff(err) || r.remote == nil {
		return raws, err
	}
	q, err := r.fetch(ctx, repo, []store.OID{s.At}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", s.Namespace, err)
	}
	defer q.Discard()
	if raws, _, err = readLine(ctx, &q.Reader, s.At, store.OID{}); err != nil {
		return nil, err
	}
	if err := q.Accept(ctx, s.At); err != nil {
		return nil, err
	}
	q.Release()
	return raws, nil
}

// saveCatalogue puts the parts of a state that follow from the log into the cache, so that
// nothing of them needs to be fetched.
func saveCatalogue(ctx context.Context, r *Registry, s State) error {
	repo, err := r.writing()
	if err != nil {
		return err
	}
	release, err := saveTree(ctx, repo, func(_ store.Format, put sink) (store.OID, error) {
		return store.OID{}, s.cat.putNew(nil, put)
	})
	if err != nil {
		return err
	}
	release()
	return nil
}

// Examine replays a namespace from its claim and applies every change list, so that nothing
// that an owner wrote is believed for being signed. It was synced.
func Examine(ctx context.Context, r *Registry, namespace string) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.current(ctx, namespace)
	if err != nil {
		return s, err
	}
	return examine(ctx, r, s)
}
