package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// A thief with the key of one member can sign an operation whose change list or state does not
// follow, or is nowhere. Everything that the log says of it holds, so nobody can skip it; but
// nobody can derive the catalogue after it either, and so nobody could sign a key-revoke. The
// key-revoke therefore names a position: from there on, operations by the keys that it revokes
// are dropped from the catalogue. Nobody needs what they wrote, so all reach the same state,
// whatever a host hides from whom.

// drops reports whether to drop the key's operations from a position on drops more of them than
// before; 0 drops none.
func (k *Key) drops(from uint64) bool {
	return from > 0 && (k.DropFrom == 0 || from < k.DropFrom)
}

// within reports whether a position is one at which the operations of the key are dropped.
func (k *Key) within(seq uint64) bool {
	return k.DropFrom > 0 && k.DropFrom <= seq && seq < k.Since
}

// dropped reports whether the operation that a key signed at a position is dropped.
func dropped(keys []Key, by objects.Fingerprint, seq uint64) bool {
	i := findKey(keys, by)
	return i >= 0 && keys[i].within(seq)
}

// unsettled reports whether states at a position are not compared: what operations of somebody
// from before there until later made of the catalogue was dropped since.
func unsettled(keys []Key, seq uint64) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.within(seq) })
}

// anyDropped reports whether operations of any key are dropped.
func anyDropped(keys []Key) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.DropFrom > 0 })
}

// plannedKeys returns the keys of s with what planned operations drop.
func plannedKeys(s State, ops []Op) []Key {
	for i, op := range ops {
		if op.Kind == OpKeyRevoke && op.drops() {
			op.Seq = s.Seq + 1 + uint64(i)
			after := s
			if after.revokeKeys(op) == nil { // else whoever applies it says why not
				s.keys = after.keys
			}
		}
	}
	return s.keys
}

// dropsAny reports whether any of the operations drops others.
func dropsAny(ops []Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool { return op.drops() })
}

// A BlockedError says that the catalogue of a namespace cannot be derived from its log: at an
// operation whose change list or state does not follow from it, or is not to be had.
type BlockedError struct {
	Namespace string
	Seq       uint64
	Kind      OpKind
	By        objects.Fingerprint
	Err       error
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("operation %d of %s: %v", e.Seq, e.Namespace, e.Err)
}

// Unwrap returns the cause.
func (e *BlockedError) Unwrap() error { return e.Err }

func blockedAt(op *Op, err error) error {
	at := &BlockedError{Namespace: op.Namespace, Seq: op.Seq, Kind: op.Kind, By: op.Signer.Fingerprint(), Err: err}
	return fault.New(fault.CodeOf(err), "%w", at).
		Advise("where its key was stolen: rye registry revoke-key %s %s --reason '...'", at.Namespace, at.By)
}

// writeWithin gives next its catalogue where states are not compared: of what other keys wrote
// the lines that are as they would have written them on this catalogue. It returns these.
func writeWithin(s, next State, op Op, rows []*row, drop bool) (State, []*row, error) {
	d := newDraft(s.cat)
	var err error
	switch {
	case op.Kind == OpKeyRevoke: // which lines follows from the keys
		err = next.spoilt(op, d)
	case !drop:
		line := markedLine
		if op.Kind == OpPublish {
			line = next.newLine
		}
		err = putSame(op, rows, d, line)
	}
	if err == nil {
		next.cat, err = s.cat.with(addressOf(encodeNamespace(&next)), d.shards())
	}
	next.Kept = op.Kept
	return next, d.changes(), err
}

// putSame is putLines for the lines of a change list that come out as they stand there. The
// others rest on what was dropped.
func putSame(op Op, rows []*row, d draft, line func(op Op, item, old *Entry) (*Entry, error)) error {
	for _, r := range rows {
		old, err := d.get(r.Ref, r.Version)
		if err != nil {
			return err
		}
		e, err := line(op, r.Entry, old)
		if err != nil || !bytes.Equal(e.appendLine(nil), r.line) {
			continue
		}
		if err := d.put(e); err != nil {
			return err
		}
	}
	return nil
}

// mayGo reports whether a line that this machine saw may be gone or another: where operations
// were dropped, and none that was not published it.
func mayGo(ctx context.Context, r *Registry, s State, was *Entry) (bool, error) {
	switch {
	case !anyDropped(s.keys):
		return false, nil
	case dropped(s.keys, was.Publisher, was.Seq) || was.Seq > s.Seq:
		return true, nil
	}
	err := publishedBy(ctx, r, s, was)
	if fault.Is(err, fault.Integrity) || fault.Is(err, fault.Malformed) {
		return true, nil
	}
	return false, err
}

// noteDrops notes which operations that were read drop others.
func noteDrops(r *Registry, ops []Op) {
	for i := range ops {
		op := &ops[i]
		for _, k := range op.Revocations() {
			if k.DropFrom > 0 {
				r.drops = append(r.drops, fmt.Sprintf("%s/: operation %d, signed by %s, revoked %s and dropped from the catalogue what it wrote from operation %d on; rye registry log %s shows it",
					op.Namespace, op.Seq, op.Signer.Fingerprint(), k.Key, k.DropFrom, op.Namespace))
			}
		}
	}
}

// Drops returns which operations that were read since Open drop others, for people.
func Drops(r *Registry) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.drops)
}

// A Drop is an operation that changes nothing of the catalogue since a key was revoked.
type Drop struct {
	Seq      uint64
	By       objects.Fingerprint
	Subject  string
	Kind     OpKind
	Readable bool // a host serves its change list

	list Address
	kept store.OID
}

// Beyond returns a namespace after a sync as far as its log tells, where its state cannot be
// read too. Then nothing of it is remembered.
func Beyond(ctx context.Context, r *Registry, namespace string) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return beyond(ctx, r, toRead, namespace)
}

// DropsOf fills in from where on a key-revoke drops operations, after a sync: of each key that it
// names, from the first on by that key, or by one that falls with it, at which the catalogue
// cannot be derived. It returns what is dropped; nothing where all follows. Where an operation by
// another key does not follow, the error is a BlockedError: neither key is revoked without the
// other.
func DropsOf(ctx context.Context, r *Registry, namespace string, op Op) (Op, []Drop, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := beyond(ctx, r, toTry, namespace)
	if err != nil {
		return op, nil, err
	}
	asked := op.Revocations()
	list := slices.Clone(asked)
	for i := range list {
		list[i].BadFrom = cmp.Or(list[i].BadFrom, s.Seq+1)
	}
	for {
		op = op.naming(list)
		keys := plannedKeys(s, []Op{op})
		x, err := examineAs(ctx, r, s, readVerified(r, s).at, keys)
		if err == nil {
			drops := slices.DeleteFunc(x.dropped, func(d Drop) bool { return dropped(s.keys, d.By, d.Seq) }) // before
			for i := range drops {
				d := &drops[i]
				d.Readable = bringBlobs(ctx, r, namespace, "change list", []store.OID{d.kept}, []Address{d.list}) == nil
			}
			return op, drops, context.Cause(ctx)
		}
		var at *BlockedError
		if !errors.As(err, &at) {
			return op, nil, err
		}
		i := descent(s.keys, list, at.By)
		if i < 0 || dropped(keys, at.By, at.Seq) {
			return op, nil, at.beside(list, err)
		}
		k := &list[i]
		k.DropFrom, k.BadFrom = at.Seq, min(k.BadFrom, at.Seq)
		if !dropped(plannedKeys(s, []Op{op.naming(list)}), at.By, at.Seq) {
			return op, nil, at.beside(list, err)
		}
		if asked[i].BadFrom > k.BadFrom {
			return op, nil, fault.New(fault.Usage, "revoke key %s from operation %d on: its operation %d does not follow", k.Key, asked[i].BadFrom, at.Seq).
				Advise("--from %d", at.Seq)
		}
	}
}

// descent returns which of the named keys a key is, else which is the nearest of those that it
// came from by way of who added whom; -1 for none.
func descent(keys []Key, named []KeyRevocation, key objects.Fingerprint) int {
	for range keys { // so often at most
		if i := slices.IndexFunc(named, func(k KeyRevocation) bool { return k.Key == key }); i >= 0 {
			return i
		}
		at := findKey(keys, key)
		if at < 0 {
			break
		}
		key = keys[at].By
	}
	return -1
}

// beside returns err with the hint to revoke the blocking key together with the named ones, unless
// it is one of them.
func (e *BlockedError) beside(named []KeyRevocation, err error) error {
	var all []string
	for _, k := range named {
		if k.Key == e.By {
			return err
		}
		all = append(all, k.Key.String())
	}
	return fault.New(fault.CodeOf(err), "%w", err).
		Advise("where that key was stolen, too: rye registry revoke-key %s %s %s --reason '...'", e.Namespace, strings.Join(all, " "), e.By)
}

// String is one line of what a person is asked about.
func (d Drop) String() string {
	text := fmt.Sprintf("drop   operation %d, %s", d.Seq, words.Brief(d.Subject))
	if !d.Readable {
		text += ", whose change list no host serves"
	}
	return text
}
