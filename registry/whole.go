package registry

import (
	"context"
	"fmt"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// Whole catalogues are for searching and browsing, and may be large. They are fetched in parts.
// Each part is checked and released before the next, and cached parts are not fetched again.

// Coverage says how much of a namespace's catalogue is in the cache, for the state that this
// machine verified last.
type Coverage struct {
	oplog.State     // its Seq is 0 if the namespace is unclaimed
	Shards      int // files of the catalogue; sixteen for each list that is not in the cache
	Have        int // how many of them are in the cache
	Received    int64
}

// Complete reports whether no file is missing.
func (c *Coverage) Complete() bool { return c.Have == c.Shards }

// heldRef protects the files of a whole catalogue from garbage collection, as a tree.
func heldRef(namespace string) string { return "refs/rye/catalogue/" + namespace }

// maxAtOnce is about how many versions are read together: some 64 MiB of the longest lines.
const maxAtOnce = 4096

// Whole fetches the whole catalogue of a synced namespace, and receives about most bytes. Files
// left out for that are missing in the Coverage, and the next call continues with them. say
// receives the progress; nil for none.
//
// Codes: as for Look; Limit if not even the lists fit.
func (r *Registry) Whole(ctx context.Context, namespace string, most int64, say func(done, all int)) (Coverage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.stats.Bytes
	s, err := r.wholeOf(namespace)
	if err != nil || s.Catalogue() == nil {
		return Coverage{State: s}, err
	}
	if err := r.bringLists(ctx, s); err != nil {
		return Coverage{State: s}, err
	}
	batch := max(1, min(256, 256*maxAtOnce/int(max(s.Published, 1))))
	every := oplog.EveryShard()
	for at := 0; at < len(every); at += batch {
		left := most - (r.stats.Bytes - before)
		if left <= 0 {
			break
		}
		part := s.Anew(r.cached()) // an unshared copy, so that its lines are released
		err := r.bringPart(ctx, part, every[at:min(at+batch, len(every))], left)
		if fault.Is(err, fault.Limit) && r.stats.Bytes > before {
			break
		}
		if err != nil {
			return Coverage{State: s}, err
		}
		if say != nil {
			say(min(at+batch, 256), 256)
		}
	}
	c, err := r.cover(s)
	c.Received = r.stats.Bytes - before
	if err == nil && c.Complete() {
		err = r.hold(ctx, s)
	}
	return c, err
}

// wholeOf returns the state of a namespace with an unshared catalogue.
func (r *Registry) wholeOf(namespace string) (oplog.State, error) {
	m, err := r.mem.Recall()
	if err != nil {
		return oplog.State{}, err
	}
	if s, ok := r.spaces[namespace]; ok && s.Seq == 0 && m[namespace].Seq == 0 {
		return s, nil // it is unclaimed
	}
	s, err := r.load(namespace, m)
	if err == nil && s.Catalogue() != nil {
		s = s.Anew(r.cached())
		_, err = s.Catalogue().Keys()
	}
	return s, err
}

// bringPart fetches some shards and compares each with its earlier version.
func (r *Registry) bringPart(ctx context.Context, s oplog.State, shards []byte, most int64) error {
	list, err := s.Catalogue().Shards(shards)
	if err != nil {
		return err
	}
	if err := r.bringWithin(ctx, s.Namespace, "shard", []store.OID{s.Kept}, list, most); err != nil {
		return err
	}
	return r.noteShards(ctx, s, shards)
}

// cover counts the cached parts of a state.
func (r *Registry) cover(s oplog.State) (Coverage, error) {
	c := Coverage{State: s}
	repo := r.reading()
	if s.Catalogue() == nil || repo == nil {
		return c, nil
	}
	var err error
	c.Shards, c.Have, err = s.Catalogue().Count(repo.Has)
	return c, err
}

// hold protects a whole catalogue from garbage collection.
func (r *Registry) hold(ctx context.Context, s oplog.State) error {
	repo, err := r.writing()
	if err != nil {
		return err
	}
	tree, err := s.Tree(oplog.Address{}, nil, func(t store.Type, data []byte) (store.OID, error) { return repo.Put(ctx, t, data) })
	if err != nil {
		return err
	}
	return moveRef(ctx, repo, heldRef(s.Namespace), tree)
}

// Offers calls visit for every cached version in the catalogue of a namespace, file by file and
// line by line, until visit fails. It uses no network and keeps no lines. It refuses a line that
// cannot follow from the log (Integrity), and a file that differs from its digest.
func (r *Registry) Offers(ctx context.Context, namespace string, visit func(*oplog.Entry) error) (Coverage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.wholeOf(namespace)
	if err != nil || s.Catalogue() == nil {
		return Coverage{State: s}, err
	}
	if err := s.CheckKeys(); err != nil {
		return Coverage{State: s}, err
	}
	c, err := r.cover(s)
	if err != nil {
		return c, err
	}
	repo := r.reading()
	if repo == nil {
		return c, nil
	}
	return c, s.Catalogue().EachAtHand(repo.Has, func(sh *oplog.Shard) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.Visit(sh, visit); err != nil {
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
		return nil
	})
}

// Verified returns the verified point of each namespace ("": the root), without network.
func (r *Registry) Verified() (map[string]oplog.Point, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mem.Recall()
}
