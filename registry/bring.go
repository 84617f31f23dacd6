package registry

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// A reader has the log of a namespace, and of its catalogue what it asked about: by the
// digest that the log states it is led to a root list, from there to a list, a shard, a
// line. Each is brought by its git id and compared with the digest that named it, so that
// a host can hide something and forge nothing.

// cached returns the source of what the cache has.
func cached(r *Registry) source {
	return func(a Address) ([]byte, error) {
		repo := r.reading()
		if repo == nil {
			return nil, fault.New(fault.Offline, "is not at hand").Mend("rye fetch")
		}
		if !repo.Has(a.ID) { // reading what is not there waits, for git may be packing it
			return nil, fault.New(fault.Offline, "is not at hand").Mend("rye fetch")
		}
		raw, err := repo.Blob(a.ID, maxShard)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.Offline, "is not at hand: %w", err).Mend("rye fetch")
		}
		return raw, err
	}
}

// bringMax bounds what is asked for in one fetch.
const bringMax = 4096

// bringBlobs brings the blobs that the cache lacks, and refuses what is not what its digest
// says. Nothing is kept of a fetch of which anything was refused.
// kept are the commits of states that hold them, for hosts that serve only what a ref names.
func bringBlobs(ctx context.Context, r *Registry, namespace, what string, kept []store.OID, list []Address) error {
	return bringWithin(ctx, r, namespace, what, kept, list, 0)
}

// bringWithin is bringBlobs that receives at most so many bytes in one fetch; 0 is as many as
// any fetch may.
func bringWithin(ctx context.Context, r *Registry, namespace, what string, kept []store.OID, list []Address, most int64) error {
	repo, err := r.writing()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(a Address) bool { return repo.Has(a.ID) })
	for some := range slices.Chunk(list, bringMax) {
		if err := bringSome(ctx, r, repo, namespace, what, kept, some, most); err != nil {
			return err
		}
	}
	return nil
}

func bringSome(ctx context.Context, r *Registry, repo *store.Repo, namespace, what string, kept []store.OID, list []Address, most int64) error {
	if r.o.Offline {
		return fault.New(fault.Offline, "offline: %s %s is not at hand", what, list[0].ID).Advise("rye fetch, once with network")
	}
	ids := make([]store.OID, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	rd, q, err := fetchKept(ctx, r, repo, namespace, kept, ids, transport.FetchOptions{Limits: store.Limits{Objects: 16 + len(ids), Object: maxShard, Bytes: most}})
	if err != nil {
		return promised(err, what+" of "+namespace)
	}
	defer discard(q)
	for _, a := range list {
		raw, err := rd.Blob(a.ID, maxShard)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := a.proves(raw, what); err != nil {
			return err
		}
	}
	if q == nil {
		return nil // it is in the cache already
	}
	if err := q.Accept(ctx, ids...); err != nil {
		return err
	}
	q.Release()
	return nil
}

// newsMost is up to how many changed lines what is new of a state is brought in one request,
// each of which may change a shard; newsBytes is how much that may be.
const (
	newsMost  = 64
	newsBytes = 1 << 20
)

// bringAll brings the log and the content since the last look in one request, for a writer who
// has to try again because others were faster: the longer it takes, the more get ahead of it.
// nil where that is not the case, or where it is too much.
func (y *syncing) bringAll(ctx context.Context, repo *store.Repo, base State, tip store.OID) *store.Quarantine {
	was, now := y.from.was[base.Namespace], y.from.content[base.Namespace]
	if !y.writes || base.At.IsZero() || was.IsZero() || now.IsZero() || was == now || repo.Has(tip) {
		return nil
	}
	q, err := fetchFrom(ctx, y.r, y.from, repo, []store.OID{tip, now}, []store.OID{base.At, was},
		transport.FetchOptions{NoThin: true, Limits: store.Limits{Bytes: newsBytes}})
	if err != nil {
		return nil
	}
	return q
}

// bringNews brings what a state has that the one before it had not, in one request: the parts
// that a writer would else ask for one after the other, while others get ahead. What does not
// come is asked for then.
func (y *syncing) bringNews(ctx context.Context, repo *store.Repo, got *shown) error {
	lines := 0
	for i := range got.ops {
		lines += got.ops[i].Changes.Count
	}
	s := got.s
	if lines == 0 || lines > newsMost || got.base.Kept.IsZero() || s.cat == nil || repo.Has(s.cat.at.ID) {
		return nil
	}
	q := got.q
	if got.accepted = q != nil && q.Has(s.cat.at.ID); !got.accepted {
		var err error
		q, err = fetchFrom(ctx, y.r, y.from, repo, []store.OID{s.Kept}, []store.OID{got.base.Kept}, transport.FetchOptions{NoThin: true})
		if err != nil {
			return context.Cause(ctx)
		}
		defer q.Discard()
		if !q.Has(s.cat.at.ID) {
			return nil
		}
	}
	cat := openCatalogue(s.cat.at, func(a Address) ([]byte, error) { return q.Blob(a.ID, maxShard) })
	ids, err := cat.within(q.Has)
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

// within returns the parts of a catalogue that are there, each as its digest says.
func (c *catalogue) within(has func(store.OID) bool) (ids []store.OID, err error) {
	if err := c.get(); err != nil {
		return nil, err
	}
	ids = append(ids, c.at.ID)
	for digit, l := range c.lists {
		if l == nil || !has(l.at.ID) {
			continue
		}
		if err := l.get(digit); err != nil {
			return nil, err
		}
		ids = append(ids, l.at.ID)
		for _, sh := range l.shards {
			if sh == nil || !has(sh.at.ID) {
				continue
			}
			if _, err := sh.from.load(sh.at, "shard"); err != nil {
				return nil, err
			}
			ids = append(ids, sh.at.ID)
		}
	}
	return ids, nil
}

// bringRoot brings the root list of a state, and compares the keys that it names with those
// that the log gave.
func bringRoot(ctx context.Context, r *Registry, s State) error {
	if s.cat == nil {
		return nil
	}
	if err := bringBlobs(ctx, r, s.Namespace, "root list", []store.OID{s.Kept}, []Address{s.cat.at}); err != nil {
		return err
	}
	return settled(s)
}

// bringLists brings all lists of a state: what a writer needs to name it.
func bringLists(ctx context.Context, r *Registry, s State) error {
	return bringDigits(ctx, r, s, everyShard())
}

// bringDigits brings the lists that name shards.
func bringDigits(ctx context.Context, r *Registry, s State, shards []byte) error {
	if s.cat == nil {
		return nil
	}
	if err := bringRoot(ctx, r, s); err != nil {
		return err
	}
	var lists []Address
	for _, i := range shards {
		if l := s.cat.lists[i>>4]; l != nil && !slices.Contains(lists, l.at) {
			lists = append(lists, l.at)
		}
	}
	return bringBlobs(ctx, r, s.Namespace, "list", []store.OID{s.Kept}, lists)
}

// bringShards brings shards of a state, and compares each with what was seen of it before.
func bringShards(ctx context.Context, r *Registry, s State, shards []byte) error {
	if s.cat == nil || len(shards) == 0 {
		return nil
	}
	if err := bringDigits(ctx, r, s, shards); err != nil {
		return err
	}
	var list []Address
	for _, i := range shards {
		sh, err := s.cat.shard(i)
		if err != nil {
			return err
		}
		if sh != nil {
			list = append(list, sh.at)
		}
	}
	if err := bringBlobs(ctx, r, s.Namespace, "shard", []store.OID{s.Kept}, list); err != nil {
		return err
	}
	return noteShards(ctx, r, s, shards)
}

// Look brings what the registry says of items, as last synced, so that Select, Release and
// View know it: two lists and a shard for each. Without an item it is the whole catalogue of
// a namespace. What was looked at before is not brought again.
//
// Codes: Network when the registry hides what its log promises, Integrity when it shows
// something else, or a line that differs from one that was seen before; Offline.
func Look(ctx context.Context, r *Registry, namespace string, refs ...objects.Ref) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := recall(r)
	if err != nil {
		return err
	}
	s, err := r.load(namespace, m)
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		return bringShards(ctx, r, s, everyShard())
	}
	if err := bringShards(ctx, r, s, shardsOf(refs)); err != nil {
		return err
	}
	return noteItems(ctx, r, s, refs)
}

// seenRef is where the cache keeps the shards of a namespace that were last looked at: a
// tree of them.
func seenRef(namespace string) string { return "refs/rye/seen/" + namespace }

func seenName(i byte) string { return fmt.Sprintf("%02x.jsonl", i) }

// noteShards remembers shards that were looked at, after comparing them with what was seen
// of them before: a version never changes, and one that was refused for good stays so.
func noteShards(ctx context.Context, r *Registry, s State, shards []byte) error {
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
		sh, err := s.cat.shard(i)
		if err != nil {
			return err
		}
		old, had := seen[seenName(i)]
		switch {
		case sh == nil && had && !anyDropped(s.keys):
			return fault.New(fault.Integrity, "namespace %s: its catalogue lost what this machine saw in %s", s.Namespace, shardPath(int(i)))
		case sh == nil && !had, sh != nil && had && old == sh.at.ID:
			continue
		}
		if err := sh.continues(ctx, r, s, old); err != nil {
			return fmt.Errorf("namespace %s: %w", s.Namespace, err)
		}
		if sh == nil { // all of it was dropped
			delete(seen, seenName(i))
			news = true
			continue
		}
		rows, err := sh.get()
		if err != nil {
			return err
		}
		gone = append(gone, revokedRows(s.Namespace, rows, objects.Fingerprint{})...)
		seen[seenName(i)], news = sh.at.ID, true
	}
	if !news {
		return nil
	}
	if err := r.rememberRevoked(ctx, s.Namespace, gone); err != nil {
		return err
	}
	tree, err := putTrees(func(t store.Type, data []byte) (store.OID, error) { return repo.Put(ctx, t, data) }, seen)
	if err != nil {
		return err
	}
	return moveRef(ctx, repo, seenRef(s.Namespace), tree)
}

// seenShards returns the shards that were looked at, by name.
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
		return seen, nil // a cache may be deleted at any time, in parts too
	}
	for _, e := range entries {
		seen[e.Name] = e.ID
	}
	return seen, err
}

// continues checks that the shard, nil for none, follows from an older one.
func (sh *shard) continues(ctx context.Context, r *Registry, s State, old store.OID) error {
	repo := r.reading()
	if old.IsZero() || repo == nil {
		return nil
	}
	raw, err := repo.Blob(old, maxShard)
	if err != nil {
		return nil // a cache may be deleted at any time, in parts too
	}
	rows, err := sh.get()
	if err != nil {
		return err
	}
	here := make(map[string]bool, len(rows))
	for _, r := range rows {
		here[string(r.line)] = true
	}
	for line := range bytes.Lines(raw) {
		if here[string(line)] {
			continue // most are as they were
		}
		was, err := ParseEntry(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return err
		}
		now := findEntry(rows, was.Ref, was.Version)
		if now == nil || !same(was, now) {
			may, err := mayGo(ctx, r, s, was)
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
		case !same(was, now):
			return fault.New(fault.Integrity, "%s: its line in the catalogue is not the one that this machine saw: a version never changes", was.Name())
		case was.Status.Gone() && !now.Status.Gone() && !anyDropped(s.keys): // else the list of revoked versions has it
			return fault.New(fault.Integrity, "%s: was %s, which nothing takes back", was.Name(), was.Status)
		}
	}
	return nil
}

// same reports whether two lines are of one version as it was published, whatever its
// status is now.
func same(a, b *Entry) bool {
	x, y := *a, *b
	x.Status, x.Reason, y.Status, y.Reason = StatusOK, "", StatusOK, ""
	return bytes.Equal(x.appendLine(nil), y.appendLine(nil))
}

// sound refuses a line that cannot follow from the log, as far as the keys tell.
func sound(s State, e *Entry) error {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Integrity, "%s: "+format, append([]any{e.Name()}, args...)...)
	}
	if e.Ref.ID.Namespace() != s.Namespace || e.Seq > s.Seq {
		return wrong("its line is not of this log")
	}
	for _, fp := range []objects.Fingerprint{e.Author, e.Publisher} {
		i := findKey(s.keys, fp)
		if i < 0 || s.keys[i].Added >= e.Seq {
			return wrong("signed by %s, which was not a key of %s at operation %d", fp, s.Namespace, e.Seq)
		}
	}
	if dropped(s.keys, e.Publisher, e.Seq) {
		return wrong("published by operation %d, which was dropped with its key", e.Seq)
	}
	if s.bad(e) && !e.Status.Gone() {
		return wrong("is called %s, and a key that signed it was revoked from before it on", e.Status)
	}
	return nil
}

// vouched checks a line whose signer's key was retired or revoked since: that it stands in
// the change list of the operation that published it. Whoever holds such a key may not write
// the log any more, and what only a later state says of it proves nothing.
func vouched(ctx context.Context, r *Registry, s State, e *Entry) error {
	active := func(fp objects.Fingerprint) bool {
		i := findKey(s.keys, fp)
		return i >= 0 && s.keys[i].State == KeyActive
	}
	if active(e.Author) && active(e.Publisher) {
		return nil
	}
	return publishedBy(ctx, r, s, e)
}

// publishedBy checks that a line stands in the change list of the operation that it names.
func publishedBy(ctx context.Context, r *Registry, s State, e *Entry) error {
	raw, err := operationAt(ctx, r, s, e.Seq)
	if err != nil {
		return err
	}
	op, err := ParseOp(raw)
	if err != nil {
		return err
	}
	skips, err := skipsOf(r, s.Namespace)
	if err != nil {
		return err
	}
	if _, skipped := skips.find(e.Seq); skipped || op.Kind != OpPublish || op.Signer.Fingerprint() != e.Publisher {
		return fault.New(fault.Integrity, "%s: operation %d did not publish it", e.Name(), e.Seq)
	}
	if err := bringBlobs(ctx, r, s.Namespace, "change list", []store.OID{op.Kept}, []Address{op.Changes.Address}); err != nil {
		return err
	}
	list, err := cached(r).load(op.Changes.Address, "change list")
	if err != nil {
		return err
	}
	rows, err := parseShard(list)
	if err != nil {
		return err
	}
	if was := findEntry(rows, e.Ref, e.Version); was == nil || !same(was, e) {
		return fault.New(fault.Integrity, "%s: is not what operation %d published", e.Name(), e.Seq)
	}
	return nil
}

// operationAt returns an operation of a log that was verified up to s.
func operationAt(ctx context.Context, r *Registry, s State, seq uint64) ([]byte, error) {
	repo, err := r.writing()
	if err != nil {
		return nil, err
	}
	raw, err := rawAt(ctx, &repo.Reader, s.point(), seq)
	if !cutOff(err) || r.o.Offline {
		return raw, err
	}
	// The cache begins at a checkpoint that lies after what is asked for.
	q, err := r.fetch(ctx, s.Namespace, repo, []store.OID{s.At}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, err
	}
	defer q.Discard()
	return rawAt(ctx, &q.Reader, s.point(), seq)
}
