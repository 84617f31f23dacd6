package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// The cache repository holds, for each verified log, its commits and the tree at
// its tip, under refs/rye/verified/. A namespace is loaded from that tree: the
// operation at the tip is proved by the digest in the state directory, names the
// digest of the state's listing, and that the digest of every file; so files are
// read only when needed, and a changed cache is found out.

// verifiedRef is where the cache keeps a verified tip.
func verifiedRef(namespace string) string {
	if namespace == "" {
		return "refs/rye/verified/main"
	}
	return "refs/rye/verified/ns/" + namespace
}

// listingPath is where the cache keeps the listing of a state, to spare reading
// every file for it. It proves itself by its digest.
func listingPath(repo *store.Repo, namespace string) string {
	return filepath.Join(repo.Dir(), "rye-state", namespace+".sums")
}

// loadState returns the state of a namespace at a point that was verified.
func loadState(repo *store.Repo, id objects.Digest, namespace string, p Point) (State, error) {
	raw, _, err := readCommit(&repo.Reader, p.Tip)
	if err != nil {
		return State{}, err
	}
	if objects.DigestOf(raw) != p.Sum {
		return State{}, fault.New(fault.Integrity, "cache of the registry: the tip of %s is not the one that was verified", namespace)
	}
	op, err := parseOp(raw, false)
	if err != nil {
		return State{}, err
	}
	s, err := stateAt(repo, op)
	if err != nil {
		return State{}, err
	}
	if s.Registry != id || s.Namespace != namespace || s.Seq != p.Seq {
		return State{}, fault.New(fault.Integrity, "cache of the registry: the state of %s is another's", namespace)
	}
	return s, nil
}

// stateAt returns the state in the tree of an operation that is believed. Parts
// of the catalogue are loaded later, against the digests that op vouches for.
func stateAt(repo *store.Repo, op Op) (State, error) {
	files, err := stateFiles(repo, op.Tree)
	if err != nil {
		return State{}, err
	}
	sums, err := readListing(repo, op, files)
	if err != nil {
		return State{}, err
	}
	raw, err := repo.Blob(files[namespacePath], maxShard)
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
	for i := range s.shards {
		blob := files[shardPath(i)]
		if sum, listed := sums[shardPath(i)]; listed {
			s.shards[i] = lazyShard(sum, blob, func() ([]byte, error) { return repo.Blob(blob, maxShard) })
		}
	}
	s.Genesis, s.Seq, s.Tip, s.At, s.Root, s.Time = op.Genesis, op.Seq, op.Sum, op.ID, op.Root, op.Time
	if op.Kind == OpClaim {
		s.Genesis = op.Sum
	}
	if got := s.Digest(); got != op.State {
		return State{}, fault.New(fault.Integrity, "state of %s: is %s, operation %d states %s", op.Namespace, got, op.Seq, op.State)
	}
	return s, nil
}

// stateFiles lists the files of a namespace's tree.
func stateFiles(repo *store.Repo, tree store.OID) (map[string]store.OID, error) {
	files := make(map[string]store.OID, 257)
	err := repo.Walk(context.Background(), tree, func(path string, e store.Entry) error {
		if !e.IsDir() {
			files[path] = e.ID
		}
		if len(files) > 257 || strings.Count(path, "/") > 1 {
			return fault.New(fault.Malformed, "state: %q does not belong to it", words.Brief(path))
		}
		return nil
	})
	if err == nil && files[namespacePath].IsZero() {
		err = fault.New(fault.Malformed, "state: no %s", namespacePath)
	}
	return files, err
}

// readListing returns the digest of every file of a state: from the listing in
// the cache when it has the digest that op states, else from the files.
func readListing(repo *store.Repo, op Op, files map[string]store.OID) (map[string]objects.Digest, error) {
	raw, err := os.ReadFile(listingPath(repo, op.Namespace))
	if err != nil || objects.DigestOf(raw) != op.State {
		sums := make([]fileSum, 0, len(files))
		for path, id := range files {
			data, err := repo.Blob(id, maxShard)
			if err != nil {
				return nil, err
			}
			sums = append(sums, fileSum{path, objects.DigestOf(data)})
		}
		raw = listing(sums)
	}
	if objects.DigestOf(raw) != op.State {
		return nil, fault.New(fault.Integrity, "state of %s: its files are not those that operation %d states", op.Namespace, op.Seq)
	}
	out := make(map[string]objects.Digest, len(files))
	for line := range strings.Lines(string(raw)) {
		sum, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		d, err := objects.ParseDigest("sha256:" + sum)
		if !ok || err != nil || files[path].IsZero() {
			return nil, fault.New(fault.Malformed, "listing of a state: line %q", words.Brief(line))
		}
		out[path] = d
	}
	return out, nil
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

// saveListing keeps the listing of a state beside the cache. It may fail: it
// only spares work.
func saveListing(repo *store.Repo, s State) {
	path := listingPath(repo, s.Namespace)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		_ = place.Cache(path, s.listing(), 0o600)
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
	if err := r.keep(ctx, repo, s.Namespace, s.point(), s.tree); err != nil {
		return err
	}
	saveListing(repo, s)
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
	return Point{Genesis: s.Genesis, Seq: s.Seq, Tip: s.At, Sum: s.Tip, Grant: s.Grant}
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
	s, err := loadState(repo, r.o.ID, namespace, p)
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
	m, err := readMemory(r.o.StateDir, r.o.ID)
	if err != nil {
		return nil, Root{}, err
	}
	root, err := r.loadRoot(ctx, m)
	return m, root, err
}
