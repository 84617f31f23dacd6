package registry

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// A project may carry copies of the logs that its locked items come from, so that a reader who
// never saw the registry needs no network. A copy proves as much as a host does: its reader pinned
// the identity elsewhere, and replays and compares everything (Options.Copy).

// MaxCopy bounds the copy of one log, in bytes.
const MaxCopy = 64 << 20

// Object is a git object of a registry's log: an operation, or a list that one names.
type Object struct {
	Type store.Type // a commit or a blob
	Data []byte
}

// ID returns the object's git id.
func (o Object) ID() store.OID { return store.SHA1.Hash(o.Type, o.Data) }

// CopyLog returns the log of a namespace ("": the root) as this machine verified it, first operation
// first. The lists follow, sorted by id, without which a new reader cannot say who owns the
// namespace, what was revoked, and which of refs a retired key signed. The operations before a
// checkpoint may have to be fetched: Offline where that is not possible.
func (r *Registry) CopyLog(ctx context.Context, namespace string, refs ...objects.Ref) (all []Object, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, root, err := r.known(ctx)
	if err != nil {
		return nil, notAtHand(err)
	}
	var s oplog.State
	var raws [][]byte
	if namespace == "" {
		raws, _, err = oplog.ReadLine(ctx, &r.reading().Reader, root.At, store.OID{})
	} else if s, err = r.load(namespace, m); err == nil {
		raws, err = r.wholeLog(ctx, s)
	}
	if fault.Is(err, fault.NotFound) || oplog.CutOff(err) {
		err = notAtHand(err)
	}
	for _, raw := range raws {
		all = append(all, Object{store.TypeCommit, raw})
	}
	if err != nil || namespace == "" {
		return all, err
	}
	lists, err := r.listsToCopy(ctx, s, raws, refs)
	return append(all, lists...), err
}

// listsToCopy returns the lists of CopyLog.
func (r *Registry) listsToCopy(ctx context.Context, s oplog.State, raws [][]byte, refs []objects.Ref) ([]Object, error) {
	if s.Catalogue() == nil {
		return nil, nil
	}
	if err := r.bringRoot(ctx, s); err != nil {
		return nil, err
	}
	all := map[oplog.Address]bool{s.Catalogue().At(): true}
	for _, raw := range raws {
		op, err := oplog.Parse(raw)
		if err != nil || !memory.RefusesForGood(op.Kind) || op.Changes.Count == 0 {
			continue // readers skip a malformed operation
		}
		err = r.bringBlobs(ctx, s.Namespace, "change list", []store.OID{op.Kept}, []oplog.Address{op.Changes.Address})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil: // a list that no host serves is reported, and stops no reader
			all[op.Changes.Address] = true
		}
	}
	if slices.ContainsFunc(s.Keys(), func(k oplog.Key) bool { return k.State != oplog.KeyActive }) {
		if err := r.listsOfRetired(ctx, s, raws, refs, all); err != nil {
			return nil, err
		}
	}
	var out []Object
	for a := range all {
		raw, err := r.cached().Load(a, "list")
		if err != nil {
			return nil, err
		}
		out = append(out, Object{store.TypeBlob, raw})
	}
	slices.SortFunc(out, func(a, b Object) int { return strings.Compare(a.ID().String(), b.ID().String()) })
	return out, nil
}

// listsOfRetired adds the lists by which Logged shows which of refs an inactive key signed in time.
func (r *Registry) listsOfRetired(ctx context.Context, s oplog.State, raws [][]byte, refs []objects.Ref, all map[oplog.Address]bool) error {
	shards := oplog.ShardsOf(refs)
	if err := r.bringShards(ctx, s, shards); err != nil {
		return err
	}
	digits, err := s.Catalogue().Lists(shards)
	if err != nil {
		return err
	}
	rows, err := s.Catalogue().Shards(shards)
	if err != nil {
		return err
	}
	for _, a := range append(digits, rows...) {
		all[a] = true
	}
	for _, i := range shards {
		rows, err := s.Catalogue().Rows(i)
		if err != nil {
			return err
		}
		for _, row := range rows {
			k, ok := s.Key(row.Author)
			if !ok || k.State == oplog.KeyActive || row.Seq == 0 || row.Seq > uint64(len(raws)) {
				continue
			}
			op, err := oplog.Parse(raws[row.Seq-1])
			if err != nil {
				return err
			}
			if err := r.bringBlobs(ctx, s.Namespace, "change list", []store.OID{op.Kept}, []oplog.Address{op.Changes.Address}); err != nil {
				return err
			}
			all[op.Changes.Address] = true
		}
	}
	return nil
}

// EncodeObjects writes objects as git cat-file --batch prints them: a line with id, type and size,
// then the content and a line feed.
func EncodeObjects(all []Object) []byte {
	var b bytes.Buffer
	for _, o := range all {
		b.WriteString(o.ID().String() + " " + o.Type.String() + " " + strconv.Itoa(len(o.Data)) + "\n")
		b.Write(o.Data)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// ParseObjects reads what EncodeObjects writes, and nothing else: Malformed, or Integrity for an
// object that differs from its id.
func ParseObjects(raw []byte) (all []Object, err error) {
	for n := 1; len(raw) > 0; n++ {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		bad := func(what string) error { return fault.New(fault.Malformed, "object %d of the log: %s", n, what) }
		f := strings.Split(string(line[:min(len(line), 80)]), " ")
		if len(f) != 3 {
			return nil, bad("want a line with id, type and size")
		}
		o := Object{Type: store.TypeCommit}
		if f[1] == store.TypeBlob.String() {
			o.Type = store.TypeBlob
		} else if f[1] != store.TypeCommit.String() {
			return nil, bad("is neither a commit nor a blob")
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size < 0 || size >= len(rest) || strconv.Itoa(size) != f[2] || rest[size] != '\n' {
			return nil, bad("it is cut off, or its size is wrong")
		}
		if o.Data = rest[:size:size]; o.ID().String() != f[0] {
			return nil, fault.New(fault.Integrity, "object %d of the log: its content differs from its id %s", n, f[0])
		}
		all, raw = append(all, o), rest[size+1:]
	}
	return all, nil
}

// MakeCopy makes a repository below tmp for Options.Copy from the objects of logs, by namespace
// ("": the root). remove deletes it.
func MakeCopy(ctx context.Context, tmp string, logs map[string][]Object) (dir string, remove func(), err error) {
	repo, remove, err := tempRepo(tmp)
	if err != nil {
		return "", nil, err
	}
	b := repo.NewBatch()
	defer b.Discard()
	tips := map[string]store.OID{}
	_, err = b.Add(store.TypeTree, nil) // every operation of a namespace names it
	for namespace, log := range logs {
		for i := 0; i < len(log) && err == nil; i++ {
			var id store.OID
			if id, err = b.Add(log[i].Type, log[i].Data); log[i].Type == store.TypeCommit {
				tips[namespace] = id
			}
		}
	}
	if err == nil {
		err = b.Flush(ctx)
	}
	if err == nil {
		defer b.Release()
	}
	for namespace, tip := range tips {
		if err == nil {
			err = repo.Swap(ctx, branchOf(namespace), store.OID{}, tip, "copy")
		}
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return repo.Dir(), remove, nil
}
