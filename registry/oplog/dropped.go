package oplog

import (
	"bytes"
	"fmt"
	"slices"

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

// Within reports whether a position is one at which the operations of the key are dropped.
func (k *Key) Within(seq uint64) bool {
	return k.DropFrom > 0 && k.DropFrom <= seq && seq < k.Since
}

// dropped reports whether the operation that a key signed at a position is dropped.
func dropped(keys []Key, by objects.Fingerprint, seq uint64) bool {
	i := findKey(keys, by)
	return i >= 0 && keys[i].Within(seq)
}

// unsettled reports whether states at a position are not compared: what operations of somebody
// from before there until later made of the catalogue was dropped since.
func unsettled(keys []Key, seq uint64) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Within(seq) })
}

// anyDropped reports whether operations of any key are dropped.
func anyDropped(keys []Key) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.DropFrom > 0 })
}

// plannedKeys returns the keys of s with what planned operations drop.
func (s State) plannedKeys(ops []Op) []Key {
	for i, op := range ops {
		if op.Kind == OpKeyRevoke && op.Drops() {
			op.Seq = s.Seq + 1 + uint64(i)
			after := s
			if after.revokeKeys(op) == nil { // else whoever applies it says why not
				s.keys = after.keys
			}
		}
	}
	return s.keys
}

// Planned returns s with the keys that planned operations lead to, as far as they drop others.
func (s State) Planned(ops ...Op) State { return s.WithKeys(s.plannedKeys(ops)) }

// DropsAny reports whether any of the operations drops others.
func DropsAny(ops []Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool { return op.Drops() })
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

func (op *Op) Blocked(err error) error {
	at := &BlockedError{Namespace: op.Namespace, Seq: op.Seq, Kind: op.Kind, By: op.Signer.Fingerprint(), Err: err}
	return fault.New(fault.CodeOf(err), "%w", at).
		Advise("where its key was stolen: rye registry revoke-key %s %s --reason '...'", at.Namespace, at.By)
}

// writeWithin gives next its catalogue where states are not compared: of what other keys wrote
// the lines that are as they would have written them on this catalogue. It returns these.
func (s State) writeWithin(next State, op Op, rows []*Row, drop bool) (State, []*Row, error) {
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
		next.cat, err = s.cat.with(AddressOf(next.EncodeNamespace()), d.shards())
	}
	next.Kept = op.Kept
	return next, d.changes(), err
}

// putSame is putLines for the lines of a change list that come out as they stand there. The
// others rest on what was dropped.
func putSame(op Op, rows []*Row, d draft, line func(op Op, item, old *Entry) (*Entry, error)) error {
	for _, r := range rows {
		old, err := d.get(r.Ref, r.Version)
		if err != nil {
			return err
		}
		e, err := line(op, r.Entry, old)
		if err != nil || !bytes.Equal(e.AppendLine(nil), r.Line) {
			continue
		}
		if err := d.put(e); err != nil {
			return err
		}
	}
	return nil
}

// A Drop is an operation that changes nothing of the catalogue since a key was revoked.
type Drop struct {
	Seq      uint64
	By       objects.Fingerprint
	Subject  string
	Kind     OpKind
	Readable bool // a host serves its change list

	List Address
	Kept store.OID
}

// String is one line of what a person is asked about.
func (d Drop) String() string {
	text := fmt.Sprintf("drop   operation %d, %s", d.Seq, words.Brief(d.Subject))
	if !d.Readable {
		text += ", whose change list no host serves"
	}
	return text
}

// Dropped reports whether the operation that a key signed at a position is dropped.
func (s State) Dropped(by objects.Fingerprint, seq uint64) bool { return dropped(s.keys, by, seq) }

// AnyDropped reports whether operations of any key are dropped.
func (s State) AnyDropped() bool { return anyDropped(s.keys) }

// Unsettled reports whether states at a position are not compared, because operations of
// somebody were dropped there.
func (s State) Unsettled(seq uint64) bool { return unsettled(s.keys, seq) }
