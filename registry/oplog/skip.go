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

// A malformed operation is a commit that a member signed as the next in a log, but that cannot be
// applied. It takes its position and has no effect. If readers refused it, a thief with one
// member's key could use it to keep every later revocation from them.

// Position is the place of an operation in its log.
type Position struct {
	Seq uint64
	ID  store.OID      // of its commit
	Sum objects.Digest // of the raw commit
}

// Skipped is a malformed operation.
type Skipped struct {
	Position
	By     objects.Fingerprint // the signer
	Why    string              // one line
	Voided uint64              // the operation that voided it; 0 while it is still reported
}

// MaxWhy bounds the reason for a skipped operation, in bytes. The reason is for people; the log has
// the operation itself.
const MaxWhy = 200

// skip returns the state after the operation raw, which cannot be applied because of cause. op
// holds the fields that could be read. It returns false if raw is no operation of this log by a
// member, or if another reader, or this one later, could apply it.
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

// WhySkipped returns an error as one line, without the name of the operation, which is shown beside
// it.
func WhySkipped(cause error) string {
	var f *fault.Error
	if errors.As(cause, &f) {
		cause = f
	}
	return Plain(cause.Error(), MaxWhy)
}

// PrevOf returns the digest in the first Rye-Prev of an operation from either kind of log; zero if
// there is none. It ignores the rest of the message, which may be malformed.
func PrevOf(c *store.Commit) (objects.Digest, error) {
	for line := range strings.Lines(c.Message) {
		if text, is := strings.CutPrefix(line, "Rye-Prev: "); is {
			return objects.ParseDigest(strings.TrimSuffix(text, "\n"))
		}
	}
	return objects.Digest{}, nil
}

// follows applies the next commit of a log, which was parsed as op, or failed to parse with bad. It
// skips a malformed operation.
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
