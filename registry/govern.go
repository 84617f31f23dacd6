package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// CreateOptions describe the registry to create.
type CreateOptions struct {
	Name       string         // one line, shown when the registry is added
	Claims     oplog.Claims   // "": ClaimsGranted
	By         By             // the first root key
	Cosigners  []trust.Signer // further root keys
	Threshold  int            // root keys that must agree to a change; 0: 1
	Tags       bool           // for hosts that serve only objects below a ref
	Namespaces map[string][]trust.PublicKey

	TempDir   string // "": the system's
	Transport transport.Options
	Now       func() time.Time // nil: time.Now
}

// Create makes the root of a registry in the empty repository at url, with one push. It refuses a
// repository that holds any ref (Conflict).
func Create(ctx context.Context, url string, o CreateOptions) (Identity, error) {
	remote, err := transport.Dial(url, o.Transport)
	if err != nil {
		return Identity{}, err
	}
	defer remote.Close()
	refs, err := remote.Refs(ctx)
	if err != nil {
		return Identity{}, err
	}
	if len(refs) > 0 {
		return Identity{}, fault.New(fault.Conflict, "create a registry at %s: the repository is not empty", remote).
			Advise("make a new, empty repository for it")
	}
	repo, remove, err := tempRepo(o.TempDir)
	if err != nil {
		return Identity{}, fault.Wrap(err, "create a registry")
	}
	defer remove()
	root, created, err := o.build(ctx, repo)
	if err != nil {
		return Identity{}, err
	}
	err = remote.Push(ctx, repo, []transport.Update{{Name: mainBranch, New: root.At}})
	return identityOf(root, created), err
}

// build writes the genesis and one grant for each namespace.
func (o CreateOptions) build(ctx context.Context, repo *store.Repo) (oplog.Root, time.Time, error) {
	p := oplog.Pen{Signer: o.By.Signer, Who: cmp.Or(o.By.Who, rootIdent), Now: time.Now(), Format: repo.Format()}
	if o.Now != nil {
		p.Now = o.Now()
	}
	genesis := oplog.RootOp{Kind: oplog.OpGenesis, Name: oplog.Plain(o.Name, oplog.MaxName), Claims: cmp.Or(o.Claims, oplog.ClaimsGranted),
		Threshold: max(o.Threshold, 1), Tags: o.Tags, Keys: []trust.PublicKey{o.By.Signer.Public()}}
	rand.Read(genesis.Nonce[:]) // never fails since Go 1.24
	if genesis.Name == "" {
		return oplog.Root{}, time.Time{}, fault.New(fault.Usage, "create a registry: it needs a name")
	}
	for _, c := range o.Cosigners {
		genesis.Keys = append(genesis.Keys, c.Public())
	}
	if err := oplog.CheckRoots(genesis.Claims, genesis.Threshold, len(genesis.Keys)); err != nil {
		return oplog.Root{}, time.Time{}, fault.New(fault.Usage, "create a registry: %w", err)
	}
	ops := []oplog.RootOp{genesis}
	for _, ns := range slices.Sorted(maps.Keys(o.Namespaces)) {
		if err := oplog.CheckNamespace(ns); err != nil {
			return oplog.Root{}, time.Time{}, fault.New(fault.Usage, "create a registry: %w", err)
		}
		ops = append(ops, oplog.RootOp{Kind: oplog.OpGrant, Namespace: ns, Keys: o.Namespaces[ns]})
	}
	b := repo.NewBatch()
	defer b.Discard()
	var root oplog.Root
	for _, op := range ops {
		next, err := writeRoot(ctx, p, b, root, op, o.Cosigners)
		if err != nil {
			return oplog.Root{}, time.Time{}, err
		}
		root = next
	}
	return root, p.When(time.Time{}), b.Flush(ctx)
}

// rootIdent is the author of root commits when no name is given.
var rootIdent = store.Ident{Name: "registry", Email: "registry@rye.invalid"}

// writeRoot fills in, approves, signs and adds one operation of the root.
func writeRoot(ctx context.Context, p oplog.Pen, b *store.Batch, root oplog.Root, op oplog.RootOp, cosigners []trust.Signer) (oplog.Root, error) {
	op, err := p.RootOperation(root, op)
	if err != nil {
		return oplog.Root{}, err
	}
	for _, c := range cosigners {
		if err := op.Approve(ctx, c); err != nil {
			return oplog.Root{}, err
		}
	}
	return addRoot(ctx, p, b, root, op)
}

func addRoot(ctx context.Context, p oplog.Pen, b *store.Batch, root oplog.Root, op oplog.RootOp) (oplog.Root, error) {
	raw, next, err := p.SealRoot(ctx, root, op)
	if err != nil {
		return oplog.Root{}, err
	}
	if _, err := next.Tree(p.Format, b.Add); err != nil {
		return oplog.Root{}, err
	}
	_, err = b.Add(store.TypeCommit, raw)
	return next, err
}

// Propose fills in the position of a root operation, after a sync. With a threshold above one, its
// Message then travels to other holders of root keys, who Approve it; ParseProposal reads it back.
// It is valid for the root's next position only.
func (r *Registry) Propose(ctx context.Context, op oplog.RootOp) (oplog.RootOp, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	root, err := r.freshRoot(ctx)
	if err != nil {
		return op, err
	}
	return oplog.Pen{Now: r.o.Now(), Format: store.SHA1}.RootOperation(root, op)
}

// freshRoot returns the root after a sync.
func (r *Registry) freshRoot(ctx context.Context) (oplog.Root, error) {
	if err := r.syncFrom(ctx, toWrite, nil, allMust); err != nil {
		return oplog.Root{}, err
	}
	_, root, err := r.known(ctx)
	return root, err
}

// CommitRoot signs a proposed operation with its approvals and pushes it. Another root operation in
// between makes it invalid (Conflict).
func (r *Registry) CommitRoot(ctx context.Context, by By, op oplog.RootOp) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Offline {
		return fault.New(fault.Offline, "change the root of registry %s: offline", r.o.ID)
	}
	root, err := r.freshRoot(ctx)
	if err != nil {
		return err
	}
	if op.Prev != root.Tip || op.Seq != root.Seq+1 {
		return fault.New(fault.Conflict, "change the root of registry %s: it is at %d now, the proposal follows %d", r.o.ID, root.Seq, op.Seq-1).
			Advise("propose it again")
	}
	repo, err := r.writing()
	if err != nil {
		return err
	}
	p := r.pen(by, "registry")
	b := repo.NewBatch()
	defer b.Discard()
	op.Parents = []store.OID{root.At}
	next, err := addRoot(ctx, p, b, root, op)
	if err != nil {
		return err
	}
	if err := b.Flush(ctx); err != nil {
		return err
	}
	defer b.Release()
	if err := r.mirrors[0].remote.Push(ctx, repo, []transport.Update{{Name: mainBranch, Old: root.At, New: next.At}}); err != nil {
		return err
	}
	return r.keepRoot(ctx, repo, next)
}

// changeRoot proposes and commits in one step, for a threshold of one.
func (r *Registry) changeRoot(ctx context.Context, by By, op oplog.RootOp) error {
	for try := 1; ; try++ {
		begun := time.Now()
		filled, err := r.Propose(ctx, op)
		if err != nil {
			return err
		}
		err = r.CommitRoot(ctx, by, filled)
		if !fault.Is(err, fault.Conflict) || try > maxTries {
			return err
		}
		if err := pause(ctx, try, time.Since(begun)); err != nil {
			return err
		}
	}
}

// Grant gives a namespace to keys, with the agreement of one root key; see GrantOp.
func (r *Registry) Grant(ctx context.Context, by By, namespace string, keys ...trust.PublicKey) error {
	op, err := r.GrantOp(ctx, namespace, keys...)
	if err != nil {
		return err
	}
	return r.changeRoot(ctx, by, op)
}

// GrantOp returns the operation that grants a namespace to keys, to be proposed. If a log exists,
// the grant names it, so that it stays the namespace's log. Its new owners then add themselves
// (OpKeyAdd), and readers are asked before they follow.
func (r *Registry) GrantOp(ctx context.Context, namespace string, keys ...trust.PublicKey) (oplog.RootOp, error) {
	op := oplog.RootOp{Kind: oplog.OpGrant, Namespace: namespace, Keys: keys}
	if err := oplog.CheckNamespace(namespace); err != nil || len(keys) == 0 {
		return op, fault.New(fault.Usage, "grant %s: want a namespace and its keys", words.Brief(namespace))
	}
	s, err := r.Beyond(ctx, namespace) // a grant must be possible when the state cannot be read
	root, rootErr := r.Root(ctx)
	if rootErr != nil {
		return op, rootErr
	}
	// A branch that the root never granted belongs to someone else and does not affect this grant.
	if foreign := fault.Is(err, fault.Untrusted) && root.Grant(namespace) == nil; !foreign {
		if err != nil {
			return op, err
		}
		op.Genesis = s.Genesis
	}
	if old := root.Grant(namespace); old != nil {
		op.Located = old.Located
	}
	return op, nil
}

// Checkpoint states the present tips of namespaces in the root. Readers refuse anything older, and
// new readers need not replay what lies before.
func (r *Registry) Checkpoint(ctx context.Context, by By, namespaces ...string) error {
	op, err := r.CheckpointOp(ctx, time.Time{}, namespaces...)
	if err != nil {
		return err
	}
	return r.changeRoot(ctx, by, op)
}

// CheckpointOp returns the operation of Checkpoint, to be proposed. until says when the next is
// due, after which readers treat the data as stale; the zero time states nothing.
func (r *Registry) CheckpointOp(ctx context.Context, until time.Time, namespaces ...string) (oplog.RootOp, error) {
	op := oplog.RootOp{Kind: oplog.OpCheckpoint}
	if !until.IsZero() {
		op.FreshUntil = until.UTC().Truncate(time.Second)
	}
	if err := r.Sync(ctx, namespaces...); err != nil {
		return op, err
	}
	for _, ns := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		s, err := r.View(ns)
		if err != nil {
			return op, err
		}
		op.Checkpoints = append(op.Checkpoints, oplog.Checkpoint{Namespace: ns, Seq: s.Last().Seq, Sum: s.Last().Sum, ID: s.Last().ID, State: s.Digest()})
	}
	if n := len(op.Checkpoints); n == 0 || n > oplog.MaxCheckpoints {
		return op, fault.New(fault.Usage, "checkpoint of %d namespaces: want 1 to %d", n, oplog.MaxCheckpoints)
	}
	return op, nil
}
