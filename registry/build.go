package registry

import (
	"context"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// A pen is what commits are written with. Everything that it writes is read
// back and applied before it is handed out, so that nothing leaves this machine
// that a reader would refuse.
type pen struct {
	signer trust.Signer
	who    store.Ident
	now    time.Time
	format store.Format
}

// when returns the time of a commit that follows one of the time before: a clock
// that is behind must not make the log refuse its next entry.
func (p pen) when(before time.Time) time.Time {
	t := p.now.UTC().Truncate(time.Second)
	if t.Before(before) {
		return before
	}
	return t
}

// commit encodes and signs.
func (p pen) commit(ctx context.Context, tree store.OID, parents []store.OID, msg string, when time.Time) ([]byte, error) {
	stamp := p.who.At(when.UTC())
	c := &store.Commit{Tree: tree, Parents: parents, Author: stamp, Committer: stamp, Message: msg}
	unsigned, err := store.EncodeCommit(c)
	if err != nil {
		return nil, err
	}
	if c.Signature, err = trust.SignCommit(ctx, p.signer, unsigned); err != nil {
		return nil, err
	}
	return store.EncodeCommit(c)
}

// A written is an operation with what goes out with it.
type written struct {
	raw     []byte // the commit of the log
	op      Op     // as it is read back
	changes []byte // its change list, nil for none
	after   State
}

// operation writes the next operation of a namespace and returns it with the state after
// it. The caller sets what op is about; the pen sets where it stands.
func (p pen) operation(ctx context.Context, s State, op Op) (w written, err error) {
	op = p.place(s, op)
	next, wrote, err := s.step(op)
	if err != nil {
		return w, err
	}
	if w.changes = joinRows(wrote); len(w.changes) > maxShard {
		return w, fault.New(fault.Limit, "operation %d of %s: writes %d bytes of its catalogue, at most %d fit", op.Seq, s.Namespace, len(w.changes), maxShard)
	}
	if len(wrote) > 0 {
		op.Changes = Changes{len(wrote), wrote[0].Name(), addressOf(w.changes)}
	}
	op.State = next.cat.at
	if op.Kept, err = keepState(next, op.Changes.Address, nil, nil); err != nil {
		return w, err
	}
	if w.raw, err = p.commit(ctx, emptyTree, op.Parents, op.Message(), op.Time); err != nil {
		return w, err
	}
	done, err := ParseOp(w.raw)
	if err != nil {
		return w, err
	}
	w.op = done
	w.after, err = ApplyAll(s, done, w.changes)
	return w, err
}

// put gives everything that goes out with the operation to put, the commit last.
func (w *written) put(before State, put sink) error {
	var changes Address
	if w.changes != nil {
		changes = addressOf(w.changes)
		if _, err := put(store.TypeBlob, w.changes); err != nil {
			return err
		}
	}
	if _, err := keepState(w.after, changes, before.cat, put); err != nil {
		return err
	}
	if before.Seq == 0 {
		if _, err := put(store.TypeTree, nil); err != nil { // git fsck asks for it
			return err
		}
	}
	_, err := put(store.TypeCommit, w.raw)
	return err
}

// place fills in where op stands after s, and who signs it.
func (p pen) place(s State, op Op) Op {
	op.Registry, op.Namespace, op.Genesis = s.Registry, s.Namespace, s.Genesis
	op.Seq, op.Prev = s.Seq+1, s.Tip
	if op.Terms == (Terms{}) { // what others agreed to names the root that they saw
		op.Root = s.root.Seq
	}
	op.Signer, op.Time = p.signer.Public(), p.when(s.Time)
	op.Parents = nil
	if s.Seq > 0 {
		op.Parents = append(op.Parents, s.At)
	}
	return op
}

// rootOperation fills in where op stands after r, without signing.
func (p pen) rootOperation(r Root, op RootOp) (RootOp, error) {
	if op.Kind != OpGenesis {
		op.Registry, op.Prev = r.ID, r.Tip
		op.Parents = []store.OID{r.At}
	}
	op.Seq = r.Seq + 1
	if op.Terms == (Terms{}) && (r.Threshold > 1 || op.Kind == OpRoots || op.Kind == OpGenesis && len(op.Keys) > 1) {
		op.Terms = Terms{Roles: r.Roles, Until: p.now.UTC().Truncate(time.Second).Add(termsFor)}
	}
	next := r
	if err := next.change(op); err != nil {
		return op, err
	}
	op.State = next.Digest()
	return op, nil
}

// sealRoot signs a filled-in operation and returns its raw commit and the root
// after it.
func (p pen) sealRoot(ctx context.Context, r Root, op RootOp) ([]byte, Root, error) {
	next := r
	if err := next.change(op); err != nil {
		return nil, Root{}, err
	}
	tree, err := next.tree(p.format, nil)
	if err != nil {
		return nil, Root{}, err
	}
	raw, err := p.commit(ctx, tree, op.Parents, op.Message(), p.when(r.Time))
	if err != nil {
		return nil, Root{}, err
	}
	done, err := ParseRootOp(raw)
	if err != nil {
		return nil, Root{}, err
	}
	next, err = r.Apply(done)
	return raw, next, err
}

// A sink takes the objects of a tree as they are encoded.
type sink func(store.Type, []byte) (store.OID, error)

// hasher is the sink that keeps nothing.
func hasher(f store.Format) sink {
	return func(t store.Type, data []byte) (store.OID, error) { return f.Hash(t, data), nil }
}

// tree returns the id of the root's tree, and gives everything in it to put.
func (r Root) tree(f store.Format, put sink) (id store.OID, err error) {
	if put == nil {
		put = hasher(f)
	}
	files := map[string]store.OID{}
	for path, data := range r.Encode() {
		if files[path], err = put(store.TypeBlob, data); err != nil {
			return id, err
		}
	}
	return putTrees(put, files)
}

// putTrees encodes the trees above files, which are given by their paths, and
// returns the id of the top one.
func putTrees(put sink, files map[string]store.OID) (id store.OID, err error) {
	all := make(map[string]store.Entry, len(files))
	for path, id := range files {
		all[path] = store.Entry{Mode: store.ModeFile, ID: id}
	}
	return putFiles(put, all)
}

// putFiles is putTrees for files with modes of their own.
func putFiles(put sink, files map[string]store.Entry) (id store.OID, err error) {
	var entries []store.Entry
	dirs := map[string]map[string]store.Entry{}
	for path, e := range files {
		dir, rest, below := strings.Cut(path, "/")
		if !below {
			entries = append(entries, store.Entry{Name: path, Mode: e.Mode, ID: e.ID})
			continue
		}
		if dirs[dir] == nil {
			dirs[dir] = map[string]store.Entry{}
		}
		dirs[dir][rest] = e
	}
	for dir, files := range dirs {
		if id, err = putFiles(put, files); err != nil {
			return id, err
		}
		entries = append(entries, store.Entry{Name: dir, Mode: store.ModeDir, ID: id})
	}
	return putTree(put, entries)
}

// putTree encodes a tree, whose entries it sorts and checks.
func putTree(put sink, entries []store.Entry) (store.OID, error) {
	raw, err := store.EncodeTree(entries)
	if err != nil {
		return store.OID{}, err
	}
	return put(store.TypeTree, raw)
}

// checkTree refuses a tip whose tree holds anything but the state.
func checkTree(what string, got, want store.OID) error {
	if got != want {
		return fault.New(fault.Integrity, "%s: its tree %s is not the state %s: something was slipped in or left out", what, got, want)
	}
	return nil
}
