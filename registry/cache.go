package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// The cache repository holds the commits of each verified log, under refs/rye/verified/, and the
// fetched parts of its states, as blobs. A namespace is loaded from it: the digest in the state
// directory proves the operation at the tip, which names the digest of the root list, which leads
// to all others. So files are read only on demand, and a changed cache is detected.

// verifiedRef is where the cache keeps a verified tip.
func verifiedRef(namespace string) string {
	if namespace == "" {
		return "refs/rye/verified/main"
	}
	return "refs/rye/verified/ns/" + namespace
}

// loadState returns the state of a namespace at a verified point.
func loadState(repo *store.Repo, from oplog.Source, id objects.Digest, namespace string, p oplog.Point) (oplog.State, error) {
	last := p.Effective()
	raw, _, err := oplog.ReadCommit(&repo.Reader, last.ID)
	if err != nil {
		return oplog.State{}, err
	}
	if objects.DigestOf(raw) != last.Sum {
		return oplog.State{}, fault.New(fault.Integrity, "cache of the registry: the tip of %s differs from the verified one", namespace)
	}
	op, err := oplog.ParseChecked(raw)
	if err != nil {
		return oplog.State{}, err
	}
	s, err := oplog.StateAt(from, op)
	if err != nil {
		return oplog.State{}, err
	}
	if s.Registry != id || s.Namespace != namespace || s.Seq != last.Seq {
		return oplog.State{}, fault.New(fault.Integrity, "cache of the registry: the state of %s belongs to another log", namespace)
	}
	return s.Past(oplog.Position{Seq: p.Seq, ID: p.Tip, Sum: p.Sum}), nil
}

// lacking returns a sink that adds to a batch the objects that the repository lacks.
func lacking(repo *store.Repo, b *store.Batch) oplog.Sink {
	return func(t store.Type, data []byte) (store.OID, error) {
		if id := repo.Format().Hash(t, data); repo.Has(id) {
			return id, nil
		}
		return b.Add(t, data)
	}
}

// saveTree writes the objects that the repository lacks below the tree of a verified state. release
// ends their protection from repacking.
func saveTree(ctx context.Context, repo *store.Repo, tree func(store.Format, oplog.Sink) (store.OID, error)) (release func(), err error) {
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

// moveRef points a ref of the cache at id. Another process may have moved it meanwhile, but only to
// a tip that it verified.
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

// A proven log is a verified log ("" for the root's) to be kept.
type proven struct {
	namespace string
	point     oplog.Point
	tree      func(store.Format, oplog.Sink) (store.OID, error)
	ready     place.Ready // from Prepare of the memory; the zero value if nothing was prepared
}

// keep stores a verified log as this machine's new starting point: first objects, then the ref,
// then the memory. A crash leaves an older state, never a partial one.
func (r *Registry) keep(ctx context.Context, repo *store.Repo, p proven) error {
	defer p.ready.Discard()
	release, err := saveTree(ctx, repo, p.tree)
	if err != nil {
		return err
	}
	defer release()
	if err := moveRef(ctx, repo, verifiedRef(p.namespace), p.point.Tip); err != nil {
		return err
	}
	return r.mem.RememberPrepared(ctx, p.namespace, p.point, p.ready)
}

func (r *Registry) keepState(ctx context.Context, repo *store.Repo, s oplog.State) error {
	return r.keepPrepared(ctx, repo, s, place.Ready{})
}

// keepPrepared is keepState after Prepare of the memory.
func (r *Registry) keepPrepared(ctx context.Context, repo *store.Repo, s oplog.State, ready place.Ready) error {
	head := func(_ store.Format, put oplog.Sink) (store.OID, error) {
		if _, err := put(store.TypeTree, nil); err != nil { // every operation names it
			return store.OID{}, err
		}
		return put(store.TypeBlob, s.EncodeNamespace())
	}
	if err := r.keep(ctx, repo, proven{s.Namespace, s.Point(), head, ready}); err != nil {
		return err
	}
	r.spaces[s.Namespace] = s.From(r.cached())
	return nil
}

func (r *Registry) keepRoot(ctx context.Context, repo *store.Repo, root oplog.Root) error {
	if err := r.keep(ctx, repo, proven{point: root.Point(), tree: root.Tree}); err != nil {
		return err
	}
	r.root = root
	return nil
}

// load returns the state of a namespace from the cache, as this machine last verified it. A damaged
// cache is an error; a namespace that was never verified is NotFound.
func (r *Registry) load(namespace string, m memory.Points) (oplog.State, error) {
	p, ok := m[namespace]
	if !ok {
		return oplog.State{}, fault.New(fault.NotFound, "namespace %s: was never synced from this registry", namespace).
			Mend("rye fetch")
	}
	if s, ok := r.spaces[namespace]; ok && s.Point() == p {
		return s, nil
	}
	repo := r.reading()
	if repo == nil {
		return oplog.State{}, fault.New(fault.NotFound, "namespace %s: its cache is gone", namespace)
	}
	s, err := loadState(repo, r.cached(), r.o.ID, namespace, p)
	if err != nil {
		return oplog.State{}, fmt.Errorf("load namespace %s: %w", namespace, err)
	}
	r.spaces[namespace] = s
	return s, nil
}

// loadRoot is load for the root.
func (r *Registry) loadRoot(ctx context.Context, m memory.Points) (oplog.Root, error) {
	p := m[""]
	if p.Seq == 0 {
		return oplog.Root{}, fault.New(fault.NotFound, "root of registry %s: was never synced", r.o.ID)
	}
	if r.root.Tip == p.Sum {
		return r.root, nil
	}
	repo := r.reading()
	if repo == nil {
		return oplog.Root{}, fault.New(fault.NotFound, "root of registry %s: its cache is gone", r.o.ID)
	}
	root, err := oplog.TrustedRoot(ctx, &repo.Reader, p, r.o.ID)
	if err == nil {
		r.root = root
	}
	return root, err
}

// known returns this machine's verified points of the registry, and the root at its point.
func (r *Registry) known(ctx context.Context) (memory.Points, oplog.Root, error) {
	m, err := r.mem.Recall()
	if err != nil {
		return nil, oplog.Root{}, err
	}
	root, err := r.loadRoot(ctx, m)
	return m, root, err
}
