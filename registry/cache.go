package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// The cache repository holds, for each verified log, its commits, under
// refs/rye/verified/, and whatever was looked at of the states, as blobs. A namespace is
// loaded from there: the operation at the tip is proved by the digest in the state
// directory, names the digest of the root list, and that every other; so files are read only
// when needed, and a changed cache is found out.

// verifiedRef is where the cache keeps a verified tip.
func verifiedRef(namespace string) string {
	if namespace == "" {
		return "refs/rye/verified/main"
	}
	return "refs/rye/verified/ns/" + namespace
}

// loadState returns the state of a namespace at a point that was verified.
func loadState(repo *store.Repo, from source, id objects.Digest, namespace string, p Point) (State, error) {
	last := p.last()
	raw, _, err := readCommit(&repo.Reader, last.ID)
	if err != nil {
		return State{}, err
	}
	if objects.DigestOf(raw) != last.Sum {
		return State{}, fault.New(fault.Integrity, "cache of the registry: the tip of %s is not the one that was verified", namespace)
	}
	op, err := parseOp(raw, false)
	if err != nil {
		return State{}, err
	}
	s, err := stateAt(from, op)
	if err != nil {
		return State{}, err
	}
	if s.Registry != id || s.Namespace != namespace || s.Seq != last.Seq {
		return State{}, fault.New(fault.Integrity, "cache of the registry: the state of %s is another's", namespace)
	}
	return past(s, Position{p.Seq, p.Tip, p.Sum}), nil
}

// stateAt returns the state that follows an operation that is believed. The catalogue is
// read later, against the digests that op vouches for.
func stateAt(from source, op Op) (State, error) {
	cat := openCatalogue(op.State, from)
	if err := cat.get(); err != nil {
		return State{}, err
	}
	raw, err := from.load(cat.keys, "keys")
	if err != nil {
		return State{}, err
	}
	s, err := parseNamespace(raw)
	if err != nil {
		return State{}, err
	}
	if s.Registry != op.Registry || s.Namespace != op.Namespace {
		return State{}, fault.New(fault.Integrity, "state of %s: is another namespace's", op.Namespace)
	}
	s.last = Position{op.Seq, op.ID, op.Sum}
	s = past(s, s.last)
	s.Genesis, s.Root, s.Time = op.Genesis, op.Root, op.Time
	if op.Kind == OpClaim {
		s.Genesis = op.Sum
	}
	s.Kept, s.cat, s.from = op.Kept, cat, from
	return s, nil
}

// lacking is the sink that adds to a batch what the repository has not.
func lacking(repo *store.Repo, b *store.Batch) sink {
	return func(t store.Type, data []byte) (store.OID, error) {
		if id := repo.Format().Hash(t, data); repo.Has(id) {
			return id, nil
		}
		return b.Add(t, data)
	}
}

// saveTree writes what the repository lacks of the tree of a verified state, and
// returns what ends its protection from repacking.
func saveTree(ctx context.Context, repo *store.Repo, tree func(store.Format, sink) (store.OID, error)) (release func(), err error) {
	b := repo.NewBatch()
	if _, err = tree(repo.Format(), lacking(repo, b)); err == nil {
		err = b.Flush(ctx)
	}
	if err != nil {
		b.Discard()
		return nil, err
	}
	return b.Release, nil
}

// moveRef points a ref of the cache at id. The cache may be shared: whoever
// moved it meanwhile verified, too.
func moveRef(ctx context.Context, repo *store.Repo, name string, id store.OID) error {
	for try := 0; ; try++ {
		old, err := repo.Ref(name)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if old == id {
			return nil
		}
		err = repo.Swap(ctx, name, old, id, "verified")
		var moved *store.ConflictError
		if !errors.As(err, &moved) || try == 8 {
			return err
		}
	}
}

// keep makes a verified log ("" for the root's) the one that this machine goes on
// from: objects, then the ref, then the memory, so that a crash leaves less and never
// something half.
func (r *Registry) keep(ctx context.Context, repo *store.Repo, namespace string, p Point, tree func(store.Format, sink) (store.OID, error)) error {
	release, err := saveTree(ctx, repo, tree)
	if err != nil {
		return err
	}
	defer release()
	if err := moveRef(ctx, repo, verifiedRef(namespace), p.Tip); err != nil {
		return err
	}
	return r.remember(ctx, namespace, p)
}

func (r *Registry) keepState(ctx context.Context, repo *store.Repo, s State) error {
	head := func(_ store.Format, put sink) (store.OID, error) {
		if _, err := put(store.TypeTree, nil); err != nil { // every operation names it
			return store.OID{}, err
		}
		return put(store.TypeBlob, encodeNamespace(&s))
	}
	if err := r.keep(ctx, repo, s.Namespace, s.point(), head); err != nil {
		return err
	}
	s.from = cached(r)
	r.spaces[s.Namespace] = s
	return nil
}

func (r *Registry) keepRoot(ctx context.Context, repo *store.Repo, root Root) error {
	if err := r.keep(ctx, repo, "", root.point(), root.tree); err != nil {
		return err
	}
	r.root = root
	return nil
}

func (s State) point() Point {
	p := Point{Genesis: s.Genesis, Seq: s.Seq, Tip: s.At, Sum: s.Tip, Owners: s.Owners}
	if s.last.Seq != s.Seq {
		p.Last = s.last
	}
	return p
}

// last returns the last operation up to p that has effect.
func (p Point) last() Position {
	if p.Last.Seq > 0 {
		return p.Last
	}
	return Position{p.Seq, p.Tip, p.Sum}
}

func (r Root) point() Point { return Point{Seq: r.Seq, Tip: r.At, Sum: r.Tip} }

// load returns the state of a namespace as this machine last verified it, from
// the cache. What is wrong with the cache is an error; nothing verified yet is
// NotFound.
func (r *Registry) load(namespace string, m memory) (State, error) {
	p, ok := m[namespace]
	if !ok {
		return State{}, fault.New(fault.NotFound, "namespace %s: was never synced from this registry", namespace).
			Mend("rye fetch")
	}
	if s, ok := r.spaces[namespace]; ok && s.point() == p {
		return s, nil
	}
	repo := r.reading()
	if repo == nil {
		return State{}, fault.New(fault.NotFound, "namespace %s: its cache is gone", namespace)
	}
	s, err := loadState(repo, cached(r), r.o.ID, namespace, p)
	if err != nil {
		return State{}, fmt.Errorf("load namespace %s: %w", namespace, err)
	}
	r.spaces[namespace] = s
	return s, nil
}

// loadRoot is load for the root.
func (r *Registry) loadRoot(ctx context.Context, m memory) (Root, error) {
	p := m[""]
	if p.Seq == 0 {
		return Root{}, fault.New(fault.NotFound, "root of registry %s: was never synced", r.o.ID)
	}
	if r.root.Tip == p.Sum {
		return r.root, nil
	}
	repo := r.reading()
	if repo == nil {
		return Root{}, fault.New(fault.NotFound, "root of registry %s: its cache is gone", r.o.ID)
	}
	root, err := trustedRoot(ctx, &repo.Reader, p, r.o.ID)
	if err == nil {
		r.root = root
	}
	return root, err
}

// known returns what this machine remembers of the registry, and the root as of then.
func (r *Registry) known(ctx context.Context) (memory, Root, error) {
	m, err := recall(r)
	if err != nil {
		return nil, Root{}, err
	}
	root, err := r.loadRoot(ctx, m)
	return m, root, err
}
