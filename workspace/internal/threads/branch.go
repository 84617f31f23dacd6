package threads

import (
	"context"
	"crypto/ed25519"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Trailers of every commit of a thread, in this order before the others.
const (
	trailerThread = "Rye-Thread"
	trailerTurn   = "Rye-Turn"
)

// Commit adds turns to the branch of a thread, in one pack and with one move of the ref. It skips
// turns that are there already: the same turn gives the same commit, so a process that died
// between two steps repeats both.
func Commit(ctx context.Context, s *session.Session, q rye.BranchCommit) (tip string, err error) {
	if err := CheckID(q.Thread); err != nil {
		return "", err
	}
	dir, err := MakeDir(s)
	if err != nil {
		return "", err
	}
	repo, err := s.Stack.Project.Repo()
	if err != nil {
		return "", err
	}
	key, err := newSigner(q.Key)
	if err != nil {
		return "", err
	}
	old, last, err := tipOf(repo, q.Thread)
	if err != nil {
		return "", err
	}
	if last < 0 {
		if err := announce(ctx, dir, author(q.Thread).Email, key.Public()); err != nil {
			return "", err
		}
	}
	todo := slices.DeleteFunc(slices.Clone(q.Turns), func(t rye.TurnCommit) bool { return t.Number <= last })
	if len(todo) == 0 {
		return old.String(), nil
	}
	b := repo.NewBatch()
	defer b.Discard()
	b.Deltas()
	id := old
	for i, t := range todo {
		if t.Number != last+1+i {
			return "", fault.New(fault.Conflict, "thread %s: turn %d does not follow turn %d of its branch", q.Thread, t.Number, last+i)
		}
		if id, err = addTurn(ctx, b, q.Thread, id, t, key); err != nil {
			return "", err
		}
	}
	if err := b.Flush(ctx); err != nil {
		return "", err
	}
	if q.Fence != nil {
		if err := q.Fence(); err != nil {
			return "", err
		}
	}
	if err := repo.Swap(ctx, BranchRefs+q.Thread, old, id, "turn "+strconv.Itoa(todo[len(todo)-1].Number)); err != nil {
		return "", err
	}
	b.Release()
	repo.Tidy(ctx, store.CompactOptions{Packs: true}) // a thread that thinks long has a pack for each turn
	return id.String(), nil
}

// addTurn adds one turn to a batch, after the commit before it; zero for the first.
func addTurn(ctx context.Context, b *store.Batch, thread string, before store.OID, t rye.TurnCommit, key trust.Signer) (store.OID, error) {
	var parents []store.OID
	if !before.IsZero() {
		parents = append(parents, before)
	}
	for _, p := range t.Parents {
		id, err := store.ParseOID(p)
		if err != nil {
			return store.OID{}, err
		}
		parents = append(parents, id)
	}
	changes := make([]store.Change, 0, len(t.Files))
	for _, path := range slices.Sorted(maps.Keys(t.Files)) {
		changes = append(changes, store.Change{Path: path, Data: t.Files[path]})
	}
	tree, err := b.EditTree(store.OID{}, changes)
	if err != nil {
		return store.OID{}, err
	}
	return b.Commit(ctx, tree, parents, store.CommitOptions{
		Message: message(thread, t), Signer: trust.CommitSigner(key), Author: author(thread), When: t.Time.UTC()})
}

// message is the subject and the trailers; the thread and the turn come first.
func message(thread string, t rye.TurnCommit) string {
	var b strings.Builder
	b.WriteString(oneLine(t.Subject) + "\n\n")
	line := func(name, value string) { b.WriteString(name + ": " + oneLine(value) + "\n") }
	line(trailerThread, thread)
	line(trailerTurn, strconv.Itoa(t.Number))
	for _, tr := range t.Trailers {
		line(tr[0], tr[1])
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// author is git's author of a thread's commits: the address names the thread, and receives no
// mail.
func author(thread string) store.Ident {
	return store.Ident{Name: "rye thread", Email: strings.ToLower(thread) + "@threads.rye.invalid"}
}

// tipOf returns the newest commit of a thread and its turn; -1 where there is no branch.
func tipOf(repo *store.Repo, thread string) (store.OID, int, error) {
	id, err := repo.Ref(BranchRefs + thread)
	if errors.Is(err, store.ErrNotExist) {
		return store.OID{}, -1, nil
	}
	if err != nil {
		return id, 0, err
	}
	c, err := repo.Commit(id)
	if err != nil {
		return id, 0, err
	}
	turn, err := turnOf(thread, c)
	return id, turn, err
}

// turnOf returns the number of the turn in a thread's commit.
func turnOf(thread string, c *store.Commit) (int, error) {
	var of string
	turn := -1
	_, trailers, _ := strings.Cut(c.Message, "\n\n")
	for line := range strings.Lines(trailers) {
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case trailerThread:
			of = value
		case trailerTurn:
			n, err := strconv.Atoi(value)
			if err != nil {
				turn = -1
				break
			}
			turn = n
		}
	}
	if of != thread || turn < 0 {
		return 0, fault.New(fault.Integrity, "commit %s is not a turn of thread %s", c.ID, thread)
	}
	return turn, nil
}

// Branch reads the branch of a thread.
func Branch(ctx context.Context, s *session.Session, thread string) (*rye.BranchInfo, error) {
	if err := CheckID(thread); err != nil {
		return nil, err
	}
	repo, err := s.Stack.Project.Repo()
	if err != nil {
		return nil, err
	}
	none := fault.New(fault.NotFound, "thread %s has no branch", thread).Advise("rye thread list")
	if repo == nil {
		return nil, none
	}
	tip, last, err := tipOf(repo, thread)
	if err != nil {
		return nil, err
	}
	if last < 0 {
		return nil, none
	}
	return &rye.BranchInfo{Ref: BranchRefs + thread, Tip: tip.String(), Turns: last + 1}, nil
}

// ReadTurn returns a file of one turn of a thread, of at most maxFile bytes.
func ReadTurn(ctx context.Context, s *session.Session, thread string, turn int, path string) ([]byte, error) {
	repo, err := s.Stack.Project.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	tip, last, err := tipOf(repo, thread)
	if err != nil {
		return nil, err
	}
	for id := tip; last >= turn && last >= 0; last-- {
		c, err := repo.Commit(id)
		if err != nil {
			return nil, err
		}
		if last == turn {
			return readAt(repo, c, path)
		}
		id = c.Parent()
	}
	return nil, fault.New(fault.NotFound, "thread %s has no turn %d", thread, turn)
}

// maxFile bounds a file of a turn, in bytes.
const maxFile = 64 << 20

func readAt(repo *store.Repo, c *store.Commit, path string) ([]byte, error) {
	e, err := repo.Lookup(c.Tree, path)
	if err != nil {
		return nil, err
	}
	return repo.Blob(e.ID, maxFile)
}

// signer is the key of a thread, which lies beside its journal while the thread lives.
type signer struct {
	key ed25519.PrivateKey
	pub trust.PublicKey
}

func newSigner(key ed25519.PrivateKey) (signer, error) {
	if len(key) != ed25519.PrivateKeySize {
		return signer{}, fault.New(fault.Usage, "the key of a thread: %d bytes, want %d", len(key), ed25519.PrivateKeySize)
	}
	pub, err := trust.PublicKeyFromBytes(key.Public().(ed25519.PublicKey))
	return signer{key, pub}, err
}

func (s signer) Public() trust.PublicKey { return s.pub }

func (s signer) Sign(_ context.Context, message []byte) ([]byte, error) {
	return ed25519.Sign(s.key, message), nil
}
