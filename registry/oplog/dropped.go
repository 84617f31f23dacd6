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

// A thief with one member's key can sign an operation whose change list or state does not follow,
// or is missing. As far as the log shows, the operation is valid, so readers cannot skip it. But
// the catalogue after it cannot be derived, so members could not sign a key-revoke either. A
// key-revoke therefore names a position: from there on, operations by the revoked keys are dropped
// from the catalogue. Their change lists are not needed, so all readers reach the same state, even
// if a host hides some lists from some readers.

// drops reports whether dropping the key's operations from a position on would drop more of them
// than now. Position 0 drops none.
func (k *Key) drops(from uint64) bool {
	return from > 0 && (k.DropFrom == 0 || from < k.DropFrom)
}

// Within reports whether the key's operation at a position is dropped.
func (k *Key) Within(seq uint64) bool {
	return k.DropFrom > 0 && k.DropFrom <= seq && seq < k.Since
}

// dropped reports whether the operation that key by signed at a position is dropped.
func dropped(keys []Key, by objects.Fingerprint, seq uint64) bool {
	i := findKey(keys, by)
	return i >= 0 && keys[i].Within(seq)
}

// unsettled reports whether states at a position are not compared: operations by a key were dropped
// there later, so stated catalogues may contain their changes.
func unsettled(keys []Key, seq uint64) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Within(seq) })
}

// anyDropped reports whether operations of any key are dropped.
func anyDropped(keys []Key) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.DropFrom > 0 })
}

// plannedKeys returns the keys of s with the drops of planned operations.
func (s State) plannedKeys(ops []Op) []Key {
	for i, op := range ops {
		if op.Kind == OpKeyRevoke && op.Drops() {
			op.Seq = s.Seq + 1 + uint64(i)
			after := s
			if after.revokeKeys(op) == nil { // otherwise the caller that applies op reports the error
				s.keys = after.keys
			}
		}
	}
	return s.keys
}

// Planned returns s with the keys after planned operations, as far as these drop operations.
func (s State) Planned(ops ...Op) State { return s.WithKeys(s.plannedKeys(ops)) }

// DropsAny reports whether any of ops drops other operations.
func DropsAny(ops []Op) bool {
	return slices.ContainsFunc(ops, func(op Op) bool { return op.Drops() })
}

// A BlockedError reports that the catalogue of a namespace cannot be derived from its log. The
// change list or the state of the named operation does not follow, or is not available.
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
		Advise("if its key was stolen: rye registry revoke-key %s %s --reason '...'", at.Namespace, at.By)
}

// writeWithin adds the catalogue to next where states are not compared. It keeps and returns the
// lines by other keys that come out the same on this catalogue.
func (s State) writeWithin(next State, op Op, rows []*Row, drop bool) (State, []*Row, error) {
	d := newDraft(s.cat)
	var err error
	switch {
	case op.Kind == OpKeyRevoke: // the lines follow from the keys
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

// putSame is putLines for the lines of a change list that come out unchanged. The other lines
// depend on dropped operations and are skipped.
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

// A Drop is an operation whose catalogue changes are dropped because its key was revoked.
type Drop struct {
	Seq      uint64
	By       objects.Fingerprint
	Subject  string
	Kind     OpKind
	Readable bool // a host serves its change list

	List Address
	Kept store.OID
}

// String returns one line of the question that a person is asked.
func (d Drop) String() string {
	text := fmt.Sprintf("drop   operation %d, %s", d.Seq, words.Brief(d.Subject))
	if !d.Readable {
		text += ", whose change list no host has"
	}
	return text
}

// Dropped reports whether the operation that key by signed at a position is dropped.
func (s State) Dropped(by objects.Fingerprint, seq uint64) bool { return dropped(s.keys, by, seq) }

// AnyDropped reports whether operations of any key are dropped.
func (s State) AnyDropped() bool { return anyDropped(s.keys) }

// Unsettled reports whether states at a position are not compared, because operations there were
// dropped.
func (s State) Unsettled(seq uint64) bool { return unsettled(s.keys, seq) }
