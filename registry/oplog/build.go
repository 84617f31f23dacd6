package oplog

import (
	"context"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// A Pen writes commits. It reads back and applies everything that it writes, so nothing leaves this
// machine that a reader would refuse.
type Pen struct {
	Signer trust.Signer
	Who    store.Ident
	Now    time.Time
	Format store.Format
}

// When returns the time of the next commit, at least before: a clock that is behind must not make
// the log refuse its next entry.
func (p Pen) When(before time.Time) time.Time {
	t := p.Now.UTC().Truncate(time.Second)
	if t.Before(before) {
		return before
	}
	return t
}

// Commit encodes and signs a commit.
func (p Pen) Commit(ctx context.Context, tree store.OID, parents []store.OID, msg string, when time.Time) ([]byte, error) {
	stamp := p.Who.At(when.UTC())
	c := &store.Commit{Tree: tree, Parents: parents, Author: stamp, Committer: stamp, Message: msg}
	unsigned, err := store.EncodeCommit(c)
	if err != nil {
		return nil, err
	}
	if c.Signature, err = trust.SignCommit(ctx, p.Signer, unsigned); err != nil {
		return nil, err
	}
	return store.EncodeCommit(c)
}

// A written is an operation with the objects that are pushed with it.
type written struct {
	Raw     []byte // the commit of the log
	Op      Op     // parsed from Raw
	Changes []byte // its change list, nil for none
	After   State
}

// Operation writes the next operation of a namespace and returns it with the state after it. The
// caller sets the content of op; the pen sets its place in the log.
func (p Pen) Operation(ctx context.Context, s State, op Op) (w written, err error) {
	op = p.Place(s, op)
	next, wrote, err := s.step(op)
	if err != nil {
		return w, err
	}
	if w.Changes = JoinRows(wrote); len(w.Changes) > MaxShard {
		return w, fault.New(fault.Limit, "operation %d of %s: writes %d bytes of its catalogue, at most %d fit", op.Seq, s.Namespace, len(w.Changes), MaxShard)
	}
	if len(wrote) > 0 {
		op.Changes = Changes{len(wrote), wrote[0].Name(), AddressOf(w.Changes)}
	}
	op.State = next.cat.at
	if op.Kept, err = next.Keep(op.Changes.Address, nil, nil); err != nil {
		return w, err
	}
	if w.Raw, err = p.Commit(ctx, emptyTree, op.Parents, op.Message(), op.Time); err != nil {
		return w, err
	}
	done, err := Parse(w.Raw)
	if err != nil {
		return w, err
	}
	w.Op = done
	w.After, err = ApplyAll(s, done, w.Changes)
	return w, err
}

// Put passes the operation and the objects that belong to it to put, the commit last.
func (w *written) Put(before State, put Sink) error {
	var changes Address
	if w.Changes != nil {
		changes = AddressOf(w.Changes)
		if _, err := put(store.TypeBlob, w.Changes); err != nil {
			return err
		}
	}
	if _, err := w.After.Keep(changes, before.cat, put); err != nil {
		return err
	}
	if before.Seq == 0 {
		if _, err := put(store.TypeTree, nil); err != nil { // git fsck wants the empty tree
			return err
		}
	}
	_, err := put(store.TypeCommit, w.Raw)
	return err
}

// Place fills in the position of op after s, and its signer.
func (p Pen) Place(s State, op Op) Op {
	op.Registry, op.Namespace, op.Genesis = s.Registry, s.Namespace, s.Genesis
	op.Seq, op.Prev = s.Seq+1, s.Tip
	if op.Terms == (Terms{}) { // a proposal names the root that its approvers saw
		op.Root = s.root.Seq
	}
	op.Signer, op.Time = p.Signer.Public(), p.When(s.Time)
	op.Parents = nil
	if s.Seq > 0 {
		op.Parents = append(op.Parents, s.At)
	}
	return op
}

// RootOperation fills in the position of op after r, without signing.
func (p Pen) RootOperation(r Root, op RootOp) (RootOp, error) {
	if op.Kind != OpGenesis {
		op.Registry, op.Prev = r.ID, r.Tip
		op.Parents = []store.OID{r.At}
	}
	op.Seq = r.Seq + 1
	if op.Terms == (Terms{}) && (r.Threshold > 1 || op.Kind == OpRoots || op.Kind == OpGenesis && len(op.Keys) > 1) {
		op.Terms = Terms{Roles: r.Roles, Until: p.Now.UTC().Truncate(time.Second).Add(TermsFor)}
	}
	next := r
	if err := next.change(op); err != nil {
		return op, err
	}
	op.State = next.Digest()
	return op, nil
}

// SealRoot signs a filled-in operation. It returns the raw commit and the root after it.
func (p Pen) SealRoot(ctx context.Context, r Root, op RootOp) ([]byte, Root, error) {
	next := r
	if err := next.change(op); err != nil {
		return nil, Root{}, err
	}
	tree, err := next.Tree(p.Format, nil)
	if err != nil {
		return nil, Root{}, err
	}
	raw, err := p.Commit(ctx, tree, op.Parents, op.Message(), p.When(r.Time))
	if err != nil {
		return nil, Root{}, err
	}
	done, err := ParseRoot(raw)
	if err != nil {
		return nil, Root{}, err
	}
	next, err = r.Apply(done)
	return raw, next, err
}

// A Sink takes the objects of a tree as they are encoded.
type Sink func(store.Type, []byte) (store.OID, error)

// Hasher returns a sink that only computes ids.
func Hasher(f store.Format) Sink {
	return func(t store.Type, data []byte) (store.OID, error) { return f.Hash(t, data), nil }
}

// Tree returns the id of the root's tree, and passes all its objects to put.
func (r Root) Tree(f store.Format, put Sink) (id store.OID, err error) {
	if put == nil {
		put = Hasher(f)
	}
	files := map[string]store.OID{}
	for path, data := range r.Encode() {
		if files[path], err = put(store.TypeBlob, data); err != nil {
			return id, err
		}
	}
	return PutTrees(put, files)
}

// PutTrees encodes the trees above files, which are keyed by path, and returns the id of the top
// tree.
func PutTrees(put Sink, files map[string]store.OID) (id store.OID, err error) {
	all := make(map[string]store.Entry, len(files))
	for path, id := range files {
		all[path] = store.Entry{Mode: store.ModeFile, ID: id}
	}
	return PutFiles(put, all)
}

// PutFiles is PutTrees for files with given modes.
func PutFiles(put Sink, files map[string]store.Entry) (id store.OID, err error) {
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
		if id, err = PutFiles(put, files); err != nil {
			return id, err
		}
		entries = append(entries, store.Entry{Name: dir, Mode: store.ModeDir, ID: id})
	}
	return PutTree(put, entries)
}

// PutTree encodes a tree after sorting and checking its entries.
func PutTree(put Sink, entries []store.Entry) (store.OID, error) {
	raw, err := store.EncodeTree(entries)
	if err != nil {
		return store.OID{}, err
	}
	return put(store.TypeTree, raw)
}

// checkTree refuses a commit whose tree differs from the state.
func checkTree(what string, got, want store.OID) error {
	if got != want {
		return fault.New(fault.Integrity, "%s: its tree %s is not the state %s: files were added or left out", what, got, want)
	}
	return nil
}

// Rehearse applies the planned operations without signing them.
func (p Pen) Rehearse(s State, ops []Op) (State, error) {
	for _, op := range ops {
		var err error
		if s, _, err = s.step(p.Place(s, op)); err != nil {
			return s, err
		}
	}
	return s, nil
}
