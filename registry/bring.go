package registry

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// A reader has the log of a namespace and the parts of its catalogue that it asked for. The digest
// in the log leads to a root list, and from there to a list, a shard and a line. Each part is
// fetched by its git id and compared with the digest that named it, so a host can hide parts but
// forge none.

// cached returns a source that reads the cache.
func (r *Registry) cached() oplog.Source {
	return func(a oplog.Address) ([]byte, error) {
		repo := r.reading()
		if repo == nil {
			return nil, fault.New(fault.Offline, "is not on this machine").Mend("rye fetch")
		}
		if !repo.Has(a.ID) { // reading a missing object waits, because git may be packing it
			return nil, fault.New(fault.Offline, "is not on this machine").Mend("rye fetch")
		}
		raw, err := repo.Blob(a.ID, oplog.MaxShard)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.Offline, "is not on this machine: %w", err).Mend("rye fetch")
		}
		return raw, err
	}
}

// bringMax bounds how many objects one fetch asks for.
const bringMax = 4096

// bringBlobs fetches the blobs that the cache lacks, and refuses those that differ from their
// digest. If it refuses one, it keeps nothing from that fetch. kept lists the commits of the states
// that hold the blobs, for hosts that serve only objects below a ref.
func (r *Registry) bringBlobs(ctx context.Context, namespace, what string, kept []store.OID, list []oplog.Address) error {
	return r.bringWithin(ctx, namespace, what, kept, list, 0)
}

// bringWithin is bringBlobs that receives at most so many bytes in one fetch; 0 is the limit of any
// fetch.
func (r *Registry) bringWithin(ctx context.Context, namespace, what string, kept []store.OID, list []oplog.Address, most int64) error {
	repo, err := r.writing()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(a oplog.Address) bool { return repo.Has(a.ID) })
	for some := range slices.Chunk(list, bringMax) {
		if err := r.bringSome(ctx, repo, namespace, what, kept, some, most); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) bringSome(ctx context.Context, repo *store.Repo, namespace, what string, kept []store.OID, list []oplog.Address, most int64) error {
	if r.o.Offline {
		return fault.New(fault.Offline, "offline: %s %s is not on this machine", what, list[0].ID).Advise("rye fetch, once with network")
	}
	ids := make([]store.OID, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	rd, q, err := r.fetchKept(ctx, repo, namespace, kept, ids, transport.FetchOptions{Limits: store.Limits{Objects: 16 + len(ids), Object: oplog.MaxShard, Bytes: most}})
	if err != nil {
		return promised(err, what+" of "+namespace)
	}
	defer discard(q)
	for _, a := range list {
		raw, err := rd.Blob(a.ID, oplog.MaxShard)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := a.Proves(raw, what); err != nil {
			return err
		}
	}
	if q == nil {
		return nil // it was in the cache already
	}
	if err := q.Accept(ctx, ids...); err != nil {
		return err
	}
	q.Release()
	return nil
}

// newsMost is the number of changed lines, each of which may change a shard, up to which the news
// of a state is fetched in one request. newsBytes bounds that request.
const (
	newsMost  = 64
	newsBytes = 1 << 20
)

// bringAll fetches the log and the content since the last look in one request. It helps a writer
// who must try again because others were faster: with every delay, more get ahead. It returns nil
// for other callers, and if there is too much to fetch.
func (y *syncing) bringAll(ctx context.Context, repo *store.Repo, base oplog.State, tip store.OID) *store.Quarantine {
	was, now := y.from.was[base.Namespace], y.from.content[base.Namespace]
	if !y.writes || base.At.IsZero() || was.IsZero() || now.IsZero() || was == now || repo.Has(tip) {
		return nil
	}
	q, err := y.r.fetchFrom(ctx, y.from, repo, []store.OID{tip, now}, []store.OID{base.At, was},
		transport.FetchOptions{NoThin: true, Limits: store.Limits{Bytes: newsBytes}})
	if err != nil {
		return nil
	}
	return q
}

// bringNews fetches the parts of a state that the state before it lacked, in one request. Otherwise
// a writer would ask for them one by one, while others get ahead. Parts that do not arrive are
// asked for later.
func (y *syncing) bringNews(ctx context.Context, repo *store.Repo, got *shown) error {
	lines := 0
	for i := range got.Ops {
		lines += got.Ops[i].Changes.Count
	}
	s := got.s
	if lines == 0 || lines > newsMost || got.base.Kept.IsZero() || s.Catalogue() == nil || repo.Has(s.Catalogue().At().ID) {
		return nil
	}
	q := got.q
	if got.accepted = q != nil && q.Has(s.Catalogue().At().ID); !got.accepted {
		var err error
		q, err = y.r.fetchFrom(ctx, y.from, repo, []store.OID{s.Kept}, []store.OID{got.base.Kept}, transport.FetchOptions{NoThin: true})
		if err != nil {
			return context.Cause(ctx)
		}
		defer q.Discard()
		if !q.Has(s.Catalogue().At().ID) {
			return nil
		}
	}
	cat := oplog.OpenCatalogue(s.Catalogue().At(), func(a oplog.Address) ([]byte, error) { return q.Blob(a.ID, oplog.MaxShard) })
	ids, err := cat.Within(q.Has)
	if err != nil {
		return err
	}
	if err := q.Accept(ctx, ids...); err != nil {
		return err
	}
	if !got.accepted {
		q.Release()
	}
	return nil
}

// bringRoot fetches the root list of a state, and compares the keys that it names with the keys
// from the log.
func (r *Registry) bringRoot(ctx context.Context, s oplog.State) error {
	if s.Catalogue() == nil {
		return nil
	}
	if err := r.bringBlobs(ctx, s.Namespace, "root list", []store.OID{s.Kept}, []oplog.Address{s.Catalogue().At()}); err != nil {
		return err
	}
	return s.CheckKeys()
}

// bringLists fetches all lists of a state, which a writer needs to name it.
func (r *Registry) bringLists(ctx context.Context, s oplog.State) error {
	return r.bringDigits(ctx, s, oplog.EveryShard())
}

// bringDigits fetches the lists that name shards.
func (r *Registry) bringDigits(ctx context.Context, s oplog.State, shards []byte) error {
	if s.Catalogue() == nil {
		return nil
	}
	if err := r.bringRoot(ctx, s); err != nil {
		return err
	}
	lists, err := s.Catalogue().Lists(shards)
	if err != nil {
		return err
	}
	return r.bringBlobs(ctx, s.Namespace, "list", []store.OID{s.Kept}, lists)
}

// bringShards fetches shards of a state and compares each with its earlier version.
func (r *Registry) bringShards(ctx context.Context, s oplog.State, shards []byte) error {
	if s.Catalogue() == nil || len(shards) == 0 {
		return nil
	}
	if err := r.bringDigits(ctx, s, shards); err != nil {
		return err
	}
	list, err := s.Catalogue().Shards(shards)
	if err != nil {
		return err
	}
	if err := r.bringBlobs(ctx, s.Namespace, "shard", []store.OID{s.Kept}, list); err != nil {
		return err
	}
	return r.noteShards(ctx, s, shards)
}

// Look fetches the catalogue lines of items, as last synced, for Select, Release and View: two
// lists and a shard for each. Without items it fetches the whole catalogue of a namespace. It
// fetches nothing twice.
//
// Codes: Network if the registry lacks parts that its log promises; Integrity if it serves other
// bytes, or a line that differs from one seen before; Offline.
func (r *Registry) Look(ctx context.Context, namespace string, refs ...objects.Ref) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.mem.Recall()
	if err != nil {
		return err
	}
	s, err := r.load(namespace, m)
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		return r.bringShards(ctx, s, oplog.EveryShard())
	}
	if err := r.bringShards(ctx, s, oplog.ShardsOf(refs)); err != nil {
		return err
	}
	return r.mem.NoteItems(ctx, s, refs)
}

// seenRef is where the cache keeps the shards of a namespace that were last looked at, as a tree.
func seenRef(namespace string) string { return "refs/rye/seen/" + namespace }

func seenName(i byte) string { return fmt.Sprintf("%02x.jsonl", i) }

// noteShards records shards after comparing them with their earlier versions: a published version
// never changes, and a refusal for good stays.
func (r *Registry) noteShards(ctx context.Context, s oplog.State, shards []byte) error {
	repo, err := r.writing()
	if err != nil {
		return err
	}
	seen, err := seenShards(repo, s.Namespace)
	if err != nil {
		return err
	}
	news := false
	var gone []revoked.Version
	for _, i := range shards {
		sh, err := s.Catalogue().Shard(i)
		if err != nil {
			return err
		}
		old, had := seen[seenName(i)]
		switch {
		case sh == nil && had && !s.AnyDropped():
			return fault.New(fault.Integrity, "namespace %s: its catalogue lost versions that this machine saw in %s", s.Namespace, oplog.ShardPath(int(i)))
		case sh == nil && !had, sh != nil && had && old == sh.At().ID:
			continue
		}
		if err := r.continues(ctx, s, sh, old); err != nil {
			return fmt.Errorf("namespace %s: %w", s.Namespace, err)
		}
		if sh == nil { // all of it was dropped
			delete(seen, seenName(i))
			news = true
			continue
		}
		rows, err := sh.Get()
		if err != nil {
			return err
		}
		gone = append(gone, memory.RevokedRows(s.Namespace, rows, objects.Fingerprint{})...)
		seen[seenName(i)], news = sh.At().ID, true
	}
	if !news {
		return nil
	}
	if err := r.mem.RememberRevoked(ctx, s.Namespace, gone); err != nil {
		return err
	}
	tree, err := oplog.PutTrees(func(t store.Type, data []byte) (store.OID, error) { return repo.Put(ctx, t, data) }, seen)
	if err != nil {
		return err
	}
	return moveRef(ctx, repo, seenRef(s.Namespace), tree)
}

// seenShards returns the recorded shards, by name.
func seenShards(repo *store.Repo, namespace string) (map[string]store.OID, error) {
	seen := map[string]store.OID{}
	tree, err := repo.Ref(seenRef(namespace))
	if fault.Is(err, fault.NotFound) {
		return seen, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := repo.Tree(tree)
	if fault.Is(err, fault.NotFound) {
		return seen, nil // a cache may be deleted at any time, also in part
	}
	for _, e := range entries {
		seen[e.Name] = e.ID
	}
	return seen, err
}

// continues checks that the shard, nil for none, follows from an older one.
func (r *Registry) continues(ctx context.Context, s oplog.State, sh *oplog.Shard, old store.OID) error {
	repo := r.reading()
	if old.IsZero() || repo == nil {
		return nil
	}
	raw, err := repo.Blob(old, oplog.MaxShard)
	if err != nil {
		return nil // a cache may be deleted at any time, also in part
	}
	rows, err := sh.Get()
	if err != nil {
		return err
	}
	here := make(map[string]bool, len(rows))
	for _, row := range rows {
		here[string(row.Line)] = true
	}
	for line := range bytes.Lines(raw) {
		if here[string(line)] {
			continue // most are unchanged
		}
		was, err := oplog.ParseEntry(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return err
		}
		now := oplog.FindEntry(rows, was.Ref, was.Version)
		if now == nil || !was.Same(now) {
			may, err := r.mayGo(ctx, s, was)
			if err != nil {
				return err
			}
			if may {
				continue
			}
		}
		switch {
		case now == nil:
			return fault.New(fault.Integrity, "%s: was published, and its catalogue lost it", was.Name())
		case !was.Same(now):
			return fault.New(fault.Integrity, "%s: its line in the catalogue changed since this machine saw it: a version never changes", was.Name())
		case was.Status.Gone() && !now.Status.Gone() && !s.AnyDropped(): // with drops, the list of revoked versions still has it
			return fault.New(fault.Integrity, "%s: was %s, which nothing can undo", was.Name(), was.Status)
		}
	}
	return nil
}

// vouched checks a line whose signer's key was retired or revoked since: it must be in the change
// list of the operation that published it. A holder of such a key can no longer write to the log,
// so a line that only a later state contains proves nothing.
func (r *Registry) vouched(ctx context.Context, s oplog.State, e *oplog.Entry) error {
	active := func(fp objects.Fingerprint) bool {
		k, ok := s.Key(fp)
		return ok && k.State == oplog.KeyActive
	}
	if active(e.Author) && active(e.Publisher) {
		return nil
	}
	return r.publishedBy(ctx, s, e)
}

// publishedBy checks that a line is in the change list of the operation that it names.
func (r *Registry) publishedBy(ctx context.Context, s oplog.State, e *oplog.Entry) error {
	raw, err := r.operationAt(ctx, s, e.Seq)
	if err != nil {
		return err
	}
	op, err := oplog.Parse(raw)
	if err != nil {
		return err
	}
	skips, err := r.mem.SkippedOf(s.Namespace)
	if err != nil {
		return err
	}
	if _, skipped := skips.Find(e.Seq); skipped || op.Kind != oplog.OpPublish || op.Signer.Fingerprint() != e.Publisher {
		return fault.New(fault.Integrity, "%s: operation %d did not publish it", e.Name(), e.Seq)
	}
	if err := r.bringBlobs(ctx, s.Namespace, "change list", []store.OID{op.Kept}, []oplog.Address{op.Changes.Address}); err != nil {
		return err
	}
	list, err := r.cached().Load(op.Changes.Address, "change list")
	if err != nil {
		return err
	}
	rows, err := oplog.ParseShard(list)
	if err != nil {
		return err
	}
	if was := oplog.FindEntry(rows, e.Ref, e.Version); was == nil || !was.Same(e) {
		return fault.New(fault.Integrity, "%s: is not what operation %d published", e.Name(), e.Seq)
	}
	return nil
}

// operationAt returns an operation of a log that was verified up to s.
func (r *Registry) operationAt(ctx context.Context, s oplog.State, seq uint64) ([]byte, error) {
	repo, err := r.writing()
	if err != nil {
		return nil, err
	}
	raw, err := oplog.RawAt(ctx, &repo.Reader, s.Point(), seq)
	if !oplog.CutOff(err) || r.o.Offline {
		return raw, err
	}
	// The cache begins at a checkpoint after the operation that is asked for.
	q, err := r.fetch(ctx, s.Namespace, repo, []store.OID{s.At}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, err
	}
	defer q.Discard()
	return oplog.RawAt(ctx, &q.Reader, s.Point(), seq)
}
