package oplog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// A malformed operation is a commit that a member signed as the next of a log, and that cannot
// be applied. It takes its position and has no effect. If readers refused it, a thief with the
// key of one member could keep every later revocation from them by one such commit.

// Position is where an operation stands in its log.
type Position struct {
	Seq uint64
	ID  store.OID      // of its commit
	Sum objects.Digest // of the raw commit
}

// Skipped is a malformed operation.
type Skipped struct {
	Position
	By     objects.Fingerprint // who signed it
	Why    string              // one line
	Voided uint64              // the operation that voided it; 0 while it is to be reported
}

// MaxWhy bounds the reason of a skipped operation, in bytes: it is for people, and the log
// has the operation.
const MaxWhy = 200

// skip returns the state after the operation raw, which cannot be applied; cause says why. op
// is what was read of it. It reports false where raw is no operation of this log by a member,
// or where another reader, or this one later, could apply it.
func (s State) skip(raw []byte, op Op, cause error) (State, Skipped, bool) {
	c, err := store.ParseCommit(raw)
	if err != nil || len(c.Parents) != 1 || c.Parents[0] != s.At || op.Root > s.root.Seq {
		return s, Skipped{}, false
	}
	if prev, err := PrevOf(c); err != nil || prev != s.Tip {
		return s, Skipped{}, false
	}
	signer, err := trust.VerifySSHSIG(c.Signature, "git", c.Unsigned())
	if err != nil {
		return s, Skipped{}, false
	}
	by := signer.Fingerprint()
	if i := findKey(s.keys, by); i < 0 || s.keys[i].State != KeyActive {
		return s, Skipped{}, false
	}
	k := Skipped{Position: Position{s.Seq + 1, CommitID(c), objects.DigestOf(raw)}, By: by, Why: WhySkipped(cause)}
	return s.Past(k.Position), k, true
}

// Past returns the state after an operation without effect.
func (s State) Past(p Position) State {
	s.Seq, s.At, s.Tip = p.Seq, p.ID, p.Sum
	return s
}

// WhySkipped returns an error as one line: without what names the operation, which is shown
// beside it.
func WhySkipped(cause error) string {
	var f *fault.Error
	if errors.As(cause, &f) {
		cause = f
	}
	return Plain(cause.Error(), MaxWhy)
}

// PrevOf returns the digest of the operation before that an operation of either kind of log
// states in its first Rye-Prev; zero where it has none. It reads nothing else of the message,
// which may be malformed.
func PrevOf(c *store.Commit) (objects.Digest, error) {
	for line := range strings.Lines(c.Message) {
		if text, is := strings.CutPrefix(line, "Rye-Prev: "); is {
			return objects.ParseDigest(strings.TrimSuffix(text, "\n"))
		}
	}
	return objects.Digest{}, nil
}

// follows applies the next commit of a log, which was read as op unless bad says why not. Where
// it is malformed it is skipped.
func (s State) follows(raw []byte, op Op, bad error) (State, *Skipped, error) {
	after, err := s, bad
	if err == nil {
		if after, err = Apply(s, op); err == nil {
			return after, nil, nil
		}
	}
	if after, k, ok := s.skip(raw, op, err); ok {
		return after, &k, nil
	}
	if bad != nil {
		err = fmt.Errorf("namespace %s: %w", s.Namespace, bad)
	}
	return State{}, nil, err
}
