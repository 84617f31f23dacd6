package oplog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Apply returns the state after an operation, as far as the log alone determines it: the keys and
// the position. It takes the catalogue from the address that the operation states; ApplyAll checks
// it against the change list. Apply is pure. It judges by positions in the log and by the root at
// the position that the operation names, and never by a clock. Codes of its errors:
//
//	Malformed  a gap, a repetition, a time before the previous operation's
//	Integrity  another registry, namespace or predecessor; and of ApplyAll a changed
//	           version, a state or change list that does not follow from the operation
//	Untrusted  a signer or author without authority; a key without its proof
//	Revoked    a signer or author whose key was retired or revoked
//	Rollback   a root position lower than one seen, or beyond the root
//	NotFound, Conflict  a version that is not there, or not in a status to change
func Apply(s State, op Op) (State, error) {
	next, err := s.judge(op)
	if err != nil {
		return State{}, s.inOperation(op, err)
	}
	if !s.fromOutside(&op) {
		next.Kept, next.cat = op.Kept, OpenCatalogue(op.State, s.from)
	}
	return next, nil
}

// ApplyAll is Apply that also checks the catalogue. The change list (nil for none) must hold the
// lines that the operation writes and no others, and must lead to the catalogue that the operation
// states. The catalogue of s must be available.
func ApplyAll(s State, op Op, changes []byte) (State, error) {
	err := op.readChanges(changes)
	next := s
	if err == nil {
		next, err = s.applyRead(op, changes)
	}
	if err != nil {
		return State{}, s.inOperation(op, err)
	}
	return next, nil
}

// inOperation adds the position in the log to err.
func (s State) inOperation(op Op, err error) error {
	return fmt.Errorf("operation %d of %s: %w", op.Seq, s.Namespace, err)
}

// applyRead is ApplyAll for an operation whose change list is already in its items.
func (s State) applyRead(op Op, changes []byte) (State, error) {
	next, wrote, err := s.step(op)
	if err != nil {
		return State{}, err
	}
	if !bytes.Equal(JoinRows(wrote), changes) {
		return State{}, fault.New(fault.Integrity, "its change list differs from its changes")
	}
	if got := next.cat.at; got != op.State {
		return State{}, fault.New(fault.Integrity, "states %s, but applying it gives %s", op.State.Sum, got.Sum)
	}
	kept, err := next.Keep(op.Changes.Address, nil, nil)
	if err != nil {
		return State{}, err
	}
	if kept != op.Kept {
		return State{}, fault.New(fault.Integrity, "names %s as its state, which is %s", op.Kept, kept)
	}
	if !s.fromOutside(&op) {
		next.Kept = kept
	}
	return next, nil
}

// readChanges parses an operation's change list into its items.
func (op *Op) readChanges(raw []byte) error {
	c := op.Changes
	if c.Count == 0 {
		if len(raw) > 0 {
			return fault.New(fault.Integrity, "has no change list")
		}
		return nil
	}
	if err := c.Proves(raw, "change list"); err != nil {
		return err
	}
	rows, err := ParseShard(raw)
	if err != nil {
		return err
	}
	if len(rows) != c.Count || rows[0].Name() != c.First {
		return fault.New(fault.Integrity, "states %d versions from %s on, its change list has %d from %s on", c.Count, c.First, len(rows), rows[0].Name())
	}
	op.Items = make([]Entry, 0, len(rows))
	for _, r := range rows {
		if r.Ref.ID.Namespace() != op.Namespace {
			return fault.New(fault.Malformed, "%s: is not of namespace %s", r.Name(), op.Namespace)
		}
		op.Items = append(op.Items, *r.Entry)
	}
	return nil
}

// step returns the state after an operation whose items are filled in, and the lines that the
// operation writes.
func (s State) step(op Op) (State, []*Row, error) {
	next, err := s.judge(op)
	if err != nil {
		return State{}, nil, err
	}
	return s.write(next, op)
}

// write adds the catalogue to next, the state after s as far as the log alone determines it.
func (s State) write(next State, op Op) (_ State, _ []*Row, err error) {
	d := newDraft(s.cat)
	switch op.Kind {
	case OpKeyRevoke:
		err = next.spoilt(op, d)
	case OpPublish:
		err = putLines(op, d, next.newLine)
	case OpDeprecate, OpYank, OpUnyank, OpRevoke, OpRedact:
		err = putLines(op, d, markedLine)
	}
	if err != nil {
		return next, nil, err
	}
	if op.Kind == OpPublish {
		next.Published = s.Published + uint64(len(d.wrote))
	}
	next.cat, err = s.cat.with(AddressOf(next.EncodeNamespace()), d.shards())
	return next, d.changes(), err
}

// judge checks that the operation may follow s, and applies it to the keys.
func (s State) judge(op Op) (State, error) {
	if err := s.checkLink(op); err != nil {
		return State{}, err
	}
	grant, err := s.authority(op)
	if err != nil {
		return State{}, err
	}
	if err := s.checkAgreement(op, s.rootsWord(op, grant)); err != nil {
		return State{}, err
	}
	return s.follow(op, grant)
}

// follow applies an operation to the keys without checking who agreed to it.
func (s State) follow(op Op, grant uint64) (State, error) {
	var err error
	next := s
	if s.fromOutside(&op) {
		return s.Past(Position{op.Seq, op.ID, op.Sum}), nil
	}
	next.last = Position{op.Seq, op.ID, op.Sum}
	next = next.Past(next.last)
	next.Root, next.Time = op.Root, op.Time
	if op.Kind == OpClaim {
		next.Genesis = op.Sum
	}
	if op.Kind == OpClaim || op.Kind == OpTransfer || grant != s.Grant {
		next.Owners = op.Seq
	}
	next.Grant = grant
	switch op.Kind {
	case OpClaim, OpKeyAdd:
		err = next.addKeys(op)
	case OpTransfer:
		err = next.transfer(op)
	case OpKeyRetire:
		err = next.retireKey(op)
	case OpKeyRevoke:
		err = next.revokeKeys(op)
	case OpPublish:
		next.Published += uint64(op.Changes.Count)
	case OpThreshold:
		err = next.setThreshold(op)
	case OpDeprecate, OpYank, OpUnyank, OpRevoke, OpRedact, OpVoid:
	default:
		err = unknownOp(op.Kind)
	}
	next.settleRoles(op)
	return next, err
}

// checkLink checks that op continues this log: registry, namespace, position, predecessor, time.
func (s State) checkLink(op Op) error {
	switch {
	case op.Signer.IsZero():
		return fault.New(fault.Untrusted, "is not signed")
	case op.Registry != s.Registry:
		return fault.New(fault.Integrity, "belongs to registry %s, not %s", op.Registry, s.Registry)
	case op.Namespace != s.Namespace:
		return fault.New(fault.Integrity, "belongs to namespace %s", op.Namespace)
	case op.Seq != s.Seq+1:
		return fault.New(fault.Malformed, "follows position %d", s.Seq)
	case op.Genesis != s.Genesis:
		return fault.New(fault.Integrity, "belongs to the log that begins with %s, not %s", op.Genesis, s.Genesis)
	case op.Prev != s.Tip:
		return fault.New(fault.Integrity, "follows %s, not %s", op.Prev, s.Tip)
	case s.Seq > 0 && (len(op.Parents) == 0 || op.Parents[0] != s.At):
		return fault.New(fault.Malformed, "its parent is not the operation before it")
	case op.Root < s.Root:
		return fault.New(fault.Rollback, "saw the root at %d, an earlier operation saw it at %d", op.Root, s.Root)
	case op.Root == 0 || op.Root > s.root.Seq:
		return fault.New(fault.Rollback, "saw the root at %d, which this root (at %d) does not reach", op.Root, s.root.Seq)
	case op.Time.Before(s.Time):
		return fault.New(fault.Malformed, "dated %s, before the operation before it", op.Time.Format(TimeLayout))
	}
	return nil
}

// authority decides whether the signer may write this operation. It returns the grant on which the
// namespace rests afterwards.
//
// Keys of the namespace may write every operation. A key outside the namespace needs a newer grant
// by the root: it may add itself or replace all other keys. A member with a newer grant may set the
// threshold alone. These operations rescue a namespace, and readers treat them as a change of
// owners. A granted key may also void a malformed operation without being a member.
func (s State) authority(op Op) (grant uint64, err error) {
	g := s.root.grantAt(s.Namespace, op.Root)
	fp := op.Signer.Fingerprint()
	granted := g != nil && slices.Contains(g.Keys, op.Signer)
	if op.Kind == OpClaim {
		if err := s.root.Admits(s.Namespace, op.Sum, op.Signer); err != nil {
			return 0, err
		}
		if g != nil && !granted {
			return 0, fault.New(fault.Untrusted, "signed by %s, which the root did not grant %s to", fp, s.Namespace)
		}
		if g != nil {
			return g.Since, nil
		}
		return 0, nil
	}
	i := findKey(s.keys, fp)
	switch {
	case i < 0 && granted && g.Since > s.Grant && (op.Kind == OpKeyAdd || op.Kind == OpTransfer) && adds(op, fp):
		return g.Since, nil
	case i < 0 && granted && op.Kind == OpVoid:
		return s.Grant, nil
	case i < 0:
		return 0, fault.New(fault.Untrusted, "signed by %s, which is not a key of %s", fp, s.Namespace)
	case s.keys[i].State == KeyActive && op.Kind == OpThreshold && op.Terms == (Terms{}) && s.Threshold > 1 && granted && g.Since > s.Grant:
		return g.Since, nil
	case s.keys[i].State == KeyActive:
		return s.Grant, nil
	case op.Kind == OpKeyAdd && adds(op, fp):
		return 0, fault.New(fault.Untrusted, "key %s was %s and cannot bring itself back", fp, s.keys[i].State)
	}
	return 0, fault.New(fault.Revoked, "signed by %s, which was %s at operation %d", fp, s.keys[i].State, s.keys[i].Since)
}

// fromOutside reports whether op is a void by a key outside the namespace. It leaves the state
// unchanged: members could not revoke that key if the state in its void did not follow.
func (s *State) fromOutside(op *Op) bool {
	return op.Kind == OpVoid && findKey(s.keys, op.Signer.Fingerprint()) < 0
}

func adds(op Op, fp objects.Fingerprint) bool {
	return slices.ContainsFunc(op.Keys, func(k KeyGrant) bool { return k.Public.Fingerprint() == fp })
}

func (s *State) addKeys(op Op) error {
	signer := op.Signer.Fingerprint()
	if op.Kind == OpClaim && !adds(op, signer) {
		return fault.New(fault.Untrusted, "signed by %s, which it does not list", signer)
	}
	s.keys = slices.Clone(s.keys)
	for _, k := range op.Keys {
		fp := k.Public.Fingerprint()
		if i := findKey(s.keys, fp); i >= 0 {
			return fault.New(fault.Untrusted, "key %s is already here (%s); keys are added once", fp, s.keys[i].State)
		}
		if k.Public == op.Signer {
			if k.Proof != nil {
				return fault.New(fault.Malformed, "key %s signs the operation and needs no proof", fp)
			}
		} else if !k.Public.Verify(ProofMessage(op.Registry, op.Namespace, op.Genesis, fp), k.Proof) {
			return fault.New(fault.Untrusted, "key %s: no proof that its owner agreed", fp)
		}
		by := signer
		if op.Terms != (Terms{}) {
			by = fp // several keys agreed, so the new key must not fall with the one that signed
		}
		s.keys = append(s.keys, Key{Public: k.Public, Added: op.Seq, By: by, State: KeyActive})
	}
	if len(s.keys) > 4*maxKeys {
		return fault.New(fault.Malformed, "%d keys: want at most %d", len(s.keys), 4*maxKeys)
	}
	return nil
}

// changeKey copies the keys and returns the index of the key that op names. The key must be in one
// of the states from.
func (s *State) changeKey(op Op, from ...KeyState) (int, error) {
	i := findKey(s.keys, op.Key)
	if err := s.mayEnd(i, op.Key, from...); err != nil {
		return i, err
	}
	s.keys = slices.Clone(s.keys)
	return i, nil
}

// mayEnd refuses the key at index i unless it is in one of the states from. An i below 0 stands for
// an unknown key.
func (s *State) mayEnd(i int, key objects.Fingerprint, from ...KeyState) error {
	if i < 0 {
		return fault.New(fault.NotFound, "key %s is not a key of %s", key, s.Namespace)
	}
	if !slices.Contains(from, s.keys[i].State) {
		return fault.New(fault.Conflict, "key %s is already %s", key, s.keys[i].State)
	}
	return nil
}

// transfer retires all active keys and adds others.
func (s *State) transfer(op Op) error {
	s.keys = slices.Clone(s.keys)
	for i := range s.keys {
		if s.keys[i].State == KeyActive {
			s.keys[i].State, s.keys[i].Since = KeyRetired, op.Seq
		}
	}
	return s.addKeys(op)
}

func (s *State) retireKey(op Op) error {
	i, err := s.changeKey(op, KeyActive)
	if err != nil {
		return err
	}
	s.keys[i].State, s.keys[i].Since = KeyRetired, op.Seq
	switch left := len(s.Active()); {
	case left == 0:
		return fault.New(fault.Conflict, "key %s is the last active key of %s", op.Key, s.Namespace)
	case left < s.Threshold:
		return fault.New(fault.Conflict, "key %s: %d active keys of %s must agree, and %d would be left", op.Key, s.Threshold, s.Namespace, left).
			Advise("first rye registry members %s --threshold %d", s.Namespace, left)
	}
	return nil
}

// Bad reports whether a revoked key signed the version at or after its BadFrom.
func (s *State) Bad(e *Entry) bool {
	for _, fp := range []objects.Fingerprint{e.Author, e.Publisher} {
		if i := findKey(s.keys, fp); i >= 0 && s.keys[i].State == KeyRevoked && e.Seq >= s.keys[i].BadFrom {
			return true
		}
	}
	return false
}

// spoilt revokes every version that a bad key published or authored.
func (s *State) spoilt(op Op, d draft) error {
	return d.on.each(func(_ byte, sh *Shard) error {
		rows, err := sh.Get()
		for _, r := range rows {
			if err == nil && !r.Status.Gone() && s.Bad(r.Entry) {
				e := *r.Entry
				e.Status, e.Reason = StatusRevoked, op.Reason
				err = d.put(&e)
			}
		}
		return err
	})
}

// putLines writes one line for each item of an operation. line computes it from the old line, which
// is nil for a new version.
func putLines(op Op, d draft, line func(op Op, item, old *Entry) (*Entry, error)) error {
	if n := len(op.Items); n == 0 || n > MaxItems {
		return fault.New(fault.Malformed, "%s of %d items: want 1 to %d", op.Kind, n, MaxItems)
	}
	for i := range op.Items {
		old, err := d.get(op.Items[i].Ref, op.Items[i].Version)
		if err != nil {
			return err
		}
		e, err := line(op, &op.Items[i], old)
		if err != nil {
			return err
		}
		if err := d.put(e); err != nil {
			return err
		}
	}
	return nil
}

// newLine returns the line of a newly published version.
func (s *State) newLine(op Op, item, old *Entry) (*Entry, error) {
	e := *item
	if e.Ref.ID.Namespace() != s.Namespace {
		return nil, fault.New(fault.Malformed, "%s: is not of namespace %s", e.Name(), s.Namespace)
	}
	if err := s.checkAuthor(&e); err != nil {
		return nil, err
	}
	if old != nil && old.Sum != e.Sum {
		return nil, old.Changed(e.Sum)
	}
	if old != nil {
		return nil, fault.New(fault.Conflict, "%s: was published by operation %d", e.Name(), old.Seq)
	}
	e.Publisher, e.Seq, e.Time, e.Status, e.Reason = op.Signer.Fingerprint(), op.Seq, op.Time, StatusOK, ""
	return &e, nil
}

func (old *Entry) Changed(sum objects.Digest) error {
	return fault.New(fault.Integrity, "%s: was published by operation %d with %s, now %s: a version never changes",
		old.Name(), old.Seq, old.Sum, sum).Advise("raise the version of %s and sign it again", old.Ref)
}

// checkAuthor checks that the author of the item holds an active key of the namespace; otherwise no
// reader could trust the item.
func (s *State) checkAuthor(e *Entry) error {
	i := findKey(s.keys, e.Author)
	if i < 0 {
		return fault.New(fault.Untrusted, "%s: written by %s, which is not a key of %s", e.Name(), e.Author, s.Namespace)
	}
	if s.keys[i].State != KeyActive {
		return fault.New(fault.Revoked, "%s: written by %s, which was %s at operation %d", e.Name(), e.Author, s.keys[i].State, s.keys[i].Since)
	}
	return nil
}

// statusAfter returns the status that an operation gives to a version; "" when it is not allowed.
func statusAfter(kind OpKind, from Status) Status {
	switch {
	case kind == OpDeprecate && from == StatusOK:
		return StatusDeprecated
	case kind == OpYank && (from == StatusOK || from == StatusDeprecated):
		return StatusYanked
	case kind == OpUnyank && (from == StatusYanked || from == StatusDeprecated):
		return StatusOK
	case kind == OpRevoke && !from.Gone():
		return StatusRevoked
	case kind == OpRedact && from != StatusRedacted:
		return StatusRedacted
	}
	return ""
}

// markedLine returns the line of a version after an operation changed its status.
func markedLine(op Op, item, old *Entry) (*Entry, error) {
	if old == nil {
		return nil, fault.New(fault.NotFound, "%s: was never published", item.Name())
	}
	e := *old
	if e.Status = statusAfter(op.Kind, old.Status); e.Status == "" {
		return nil, fault.New(fault.Conflict, "%s: is %s, which %s does not change", e.Name(), old.Status, op.Kind)
	}
	e.Reason = op.Reason
	return &e, nil
}
