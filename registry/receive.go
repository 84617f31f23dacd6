package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// A Move is the requested change of one ref in a push. The zero id stands for no ref.
type Move struct {
	Ref      string
	Old, New store.OID
}

// logPrefix begins the names of log branches.
const logPrefix = "refs/heads/ns/"

// noObject is git's spelling for a missing ref.
var noObject = strings.Repeat("0", 40)

// Bounds of one push.
const (
	maxMoves  = 4096
	maxMerges = 100_000 // on a content branch
)

// Judge decides whether a host may accept all of moves. The new root and logs must follow from the
// present ones by the rules of the format, and all objects that they name must be available. Judge
// trusts the host's present refs, which were judged before, and ignores refs outside a registry.
// Readers verify everything themselves; Judge keeps out what they would refuse.
func Judge(ctx context.Context, repo *store.Repo, moves []Move, now time.Time) error {
	if len(moves) > maxMoves {
		return fault.New(fault.Limit, "push of %d refs: at most %d", len(moves), maxMoves)
	}
	if repo.Format() != store.SHA1 {
		return fault.New(fault.Malformed, "a registry is a repository of SHA-1 objects")
	}
	j := &judging{rd: &repo.Reader, repo: repo, now: now, after: map[string]oplog.State{}, writers: map[string][]trust.PublicKey{}}
	slices.SortStableFunc(moves, func(a, b Move) int { return rank(a.Ref) - rank(b.Ref) })
	root, err := j.judgeRoot(ctx, moves)
	if err != nil {
		return err
	}
	j.root = root
	for _, m := range moves {
		if err := j.judge(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// rank orders moves: the root decides on logs, and logs decide on content.
func rank(ref string) int {
	switch {
	case ref == mainBranch:
		return 0
	case strings.HasPrefix(ref, contentPrefix):
		return 2
	}
	return 1
}

// judging is a push under judgement.
type judging struct {
	repo  *store.Repo
	rd    *store.Reader
	now   time.Time
	root  oplog.Root
	after map[string]oplog.State // states of the moved namespaces

	writers map[string][]trust.PublicKey // keys that were active before the push
}

func (j *judging) judge(ctx context.Context, m Move) error {
	if ns, ok := strings.CutPrefix(m.Ref, logPrefix); ok {
		if err := checkMoved(m, ns, "log"); err != nil {
			return err
		}
		s, err := j.judgeLog(ctx, ns, m)
		j.after[ns] = s
		return err
	}
	if ns, ok := strings.CutPrefix(m.Ref, contentPrefix); ok {
		if err := checkMoved(m, ns, "content"); err != nil {
			return err
		}
		return j.judgeContent(ctx, ns, m)
	}
	return nil
}

func checkMoved(m Move, ns, what string) error {
	if m.New.IsZero() {
		return fault.New(fault.Rollback, "%s: the %s of a namespace is not deleted", words.Brief(m.Ref), what)
	}
	return oplog.CheckNamespace(ns)
}

// judgeRoot returns the root after the push.
func (j *judging) judgeRoot(ctx context.Context, moves []Move) (oplog.Root, error) {
	m := Move{Ref: mainBranch}
	if len(moves) > 0 && moves[0].Ref == mainBranch {
		m = moves[0]
	} else if tip, err := j.repo.Ref(mainBranch); err == nil {
		m.Old, m.New = tip, tip
	} else if !fault.Is(err, fault.NotFound) {
		return oplog.Root{}, err
	}
	base, err := hostRoot(ctx, j.rd, m.Old)
	if err != nil || m.Old == m.New {
		return base, err
	}
	if m.New.IsZero() {
		return base, fault.New(fault.Rollback, "%s: the root of a registry is not deleted", mainBranch)
	}
	raws, err := j.news(ctx, m)
	if err != nil {
		return base, err
	}
	root, _, err := oplog.ReplayRoot(base, raws, j.now, store.SHA1)
	return root, err
}

// hostRoot reads the host's present root and trusts it.
func hostRoot(ctx context.Context, rd *store.Reader, tip store.OID) (root oplog.Root, err error) {
	if tip.IsZero() {
		return root, nil
	}
	raws, _, err := oplog.ReadLine(ctx, rd, tip, store.OID{})
	if err != nil {
		return root, err
	}
	if root, err = oplog.CheckedRoot(raws); err != nil {
		return root, fmt.Errorf("the host's own root: %w", err)
	}
	return root, nil
}

// news returns the raw commits that a line gains, oldest first. A line may only get longer.
func (j *judging) news(ctx context.Context, m Move) ([][]byte, error) {
	raws, met, err := oplog.ReadLine(ctx, j.rd, m.New, m.Old)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", words.Brief(m.Ref), err)
	}
	if !met && !m.Old.IsZero() {
		return nil, fault.New(fault.Fork, "%s: %s does not follow %s: a log only grows", words.Brief(m.Ref), m.New, m.Old).
			Advise("fetch the others' operations, and push again")
	}
	return raws, nil
}

// judgeLog returns the state of a namespace after its move.
func (j *judging) judgeLog(ctx context.Context, ns string, m Move) (oplog.State, error) {
	if j.root.Seq == 0 {
		return oplog.State{}, fault.New(fault.Untrusted, "%s: there is no registry here", words.Brief(m.Ref)).Advise("rye registry init makes its root")
	}
	s, err := j.stateOf(ctx, ns, m.Old)
	if err != nil {
		return s, err
	}
	j.writers[ns] = s.Active() // a member who hands on or retires still sends the content
	raws, err := j.news(ctx, m)
	if err != nil {
		return s, err
	}
	for _, raw := range raws {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		if s, err = j.apply(ctx, s, raw); err != nil {
			return s, err
		}
	}
	if err := j.root.Admits(ns, s.Genesis, s.Claimant()); err != nil {
		return s, err
	}
	return s, oplog.CheckFuture(ns, s.Seq, s.Time, j.now)
}

// stateOf returns the host's present state of a namespace and trusts it.
func (j *judging) stateOf(ctx context.Context, ns string, tip store.OID) (oplog.State, error) {
	s := oplog.NewState(j.root, ns).From(j.load)
	if tip.IsZero() {
		return s, nil
	}
	raw, _, err := oplog.ReadCommit(j.rd, tip)
	if err != nil {
		return s, err
	}
	op, err := oplog.ParseChecked(raw)
	if err != nil || op.Kind == oplog.OpVoid { // a void's state is not trusted; a malformed operation has none
		return j.replay(ctx, s, tip)
	}
	at, err := oplog.StateAt(j.load, op)
	if fault.Is(err, fault.NotFound) { // no state was sent; the log gives the keys
		return j.replay(ctx, s, tip)
	}
	if err != nil {
		return s, fmt.Errorf("the host's own state of %s: %w", ns, err)
	}
	return at.WithRoot(j.root), nil
}

// replay returns the state at the end of a log as readers derive it.
func (j *judging) replay(ctx context.Context, s oplog.State, tip store.OID) (oplog.State, error) {
	raws, _, err := oplog.ReadLine(ctx, j.rd, tip, store.OID{})
	if err == nil {
		s, _, err = oplog.Replay(ctx, s, raws, j.now)
	}
	return s, err
}

// without returns s without the catalogue changes that the key-revoke op drops.
func (j *judging) without(ctx context.Context, s oplog.State, op oplog.Op) (oplog.State, error) {
	raws, _, err := oplog.ReadLine(ctx, j.rd, s.At, store.OID{})
	if err != nil {
		return s, err
	}
	x := oplog.Examined{State: oplog.NewState(j.root, s.Namespace).From(j.load), Keys: s.Planned(op).Keys()}
	_, done, err := oplog.Replay(ctx, x.State, raws, j.now)
	if err != nil {
		return s, err
	}
	x.Skipped = done.Skipped
	if err := x.Replay(ctx, j.load, done.Ops); err != nil {
		return s, err
	}
	return s.Derived(x.State), nil
}

// load reads the host's objects; it is a Source.
func (j *judging) load(a oplog.Address) ([]byte, error) { return j.rd.Blob(a.ID, oplog.MaxShard) }

// apply judges one operation with all its objects.
func (j *judging) apply(ctx context.Context, s oplog.State, raw []byte) (oplog.State, error) {
	op, err := oplog.Parse(raw)
	if err != nil {
		return s, err
	}
	if op.Drops() {
		if s, err = j.without(ctx, s, op); err != nil {
			return s, err
		}
	}
	var changes []byte
	if op.Changes.Count > 0 {
		if changes, err = oplog.Source(j.load).Load(op.Changes.Address, "change list"); err != nil {
			return s, fmt.Errorf("%s: %w", op.Label(), err)
		}
	}
	next, err := oplog.ApplyAll(s, op, changes)
	if err != nil {
		return s, err
	}
	if !j.rd.Has(op.Kept) {
		return s, fault.New(fault.NotFound, "%s: commit %s, which keeps its state, was not sent before it", op.Label(), op.Kept)
	}
	if op.Kind != oplog.OpPublish {
		return next, nil
	}
	rows, err := oplog.ParseShard(changes)
	for _, r := range rows {
		if _, err := oplog.ReadContent(j.rd, r.Entry); err != nil {
			return s, fmt.Errorf("%s: %w", op.Label(), err)
		}
	}
	return next, err
}

// judgeContent accepts merges by keys that may write there. Content proves nothing, so there are no
// other checks, but only an active key may set the branch back, as Rebuild does.
func (j *judging) judgeContent(ctx context.Context, ns string, m Move) error {
	s, moved := j.after[ns]
	if !moved {
		tip, err := j.repo.Ref(branchOf(ns))
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if s, err = j.stateOf(ctx, ns, tip); err != nil {
			return err
		}
	}
	members := append(s.Active(), j.writers[ns]...)
	writers := slices.Clone(members)
	if g := j.root.Grant(ns); g != nil && (s.Seq == 0 || g.Since > s.Grant) {
		writers = append(writers, g.Keys...) // a key that claims or joins sends the content first
	}
	open := s.Seq == 0 && j.root.Grant(ns) == nil && j.root.Claims == oplog.ClaimsOpen
	id, signer := m.New, trust.PublicKey{}
	for n := 0; id != m.Old && !id.IsZero(); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, parent, err := oplog.ReadCommit(j.rd, id)
		if err != nil {
			return fmt.Errorf("%s: %w", words.Brief(m.Ref), err)
		}
		_, by, err := openMerge(raw, ns)
		switch {
		case err != nil && n == 0:
			return fmt.Errorf("%s: %w", words.Brief(m.Ref), err)
		case err != nil: // the chain began with a commit that it keeps
			parent = store.OID{}
		case !open && !slices.Contains(writers, by):
			return fault.New(fault.Untrusted, "%s: commit %s is signed by %s, which must not write to %s", words.Brief(m.Ref), id, by.Fingerprint(), ns)
		case n >= maxMerges:
			return fault.New(fault.Limit, "%s: more than %d merges", words.Brief(m.Ref), maxMerges)
		default:
			signer = by
		}
		id = parent
	}
	if id != m.Old && !slices.Contains(members, signer) {
		return fault.New(fault.Fork, "%s: is rolled back by %s, which is not an active key of %s", words.Brief(m.Ref), signer.Fingerprint(), ns)
	}
	return nil
}

// openMerge reads a commit of a content branch.
func openMerge(raw []byte, ns string) (*store.Commit, trust.PublicKey, error) {
	c, signer, err := oplog.OpenCommit(raw, true)
	if err == nil && c.Message != fmt.Sprintf("content of %s\n", ns) {
		err = fault.New(fault.Malformed, "commit %s: is not a merge of content", oplog.CommitID(c))
	}
	return c, signer, err
}

// ParseMoves reads the input of git's pre-receive hook: "<old> <new> <ref>" lines.
func ParseMoves(text string) (moves []Move, err error) {
	for line := range strings.Lines(text) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(part) != 3 || len(moves) >= maxMoves {
			return nil, fault.New(fault.Malformed, "push: %q: want <old> <new> <ref>, at most %d lines", words.Brief(line), maxMoves)
		}
		m := Move{Ref: part[2]}
		for i, into := range []*store.OID{&m.Old, &m.New} {
			if part[i] == noObject {
				continue
			}
			if *into, err = store.ParseOID(part[i]); err != nil {
				return nil, err
			}
		}
		if err := store.CheckRefName(m.Ref); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(moves, func(o Move) bool { return o.Ref == m.Ref }) {
			return nil, fault.New(fault.Malformed, "push: %s is there twice", words.Brief(m.Ref))
		}
		moves = append(moves, m)
	}
	return moves, nil
}
