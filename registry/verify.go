package registry

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// Checked is what became of asking a registry for everything that a namespace's log names.
type Checked struct {
	Namespace  string
	Operations uint64   // replayed, with everything that they wrote
	Versions   uint64   // published so far
	Fetched    int      // versions that were asked for and compared, those that no Verify had before
	Redacted   int      // versions whose bytes are gone or to go
	Pruned     int      // states that the host no longer keeps, and need not
	Missing    []string // what the log promises and the host does not hold
}

// Verify replays a namespace from its claim, applies every change list, and asks the
// registry for every object that its log names: the last state, the states that the root
// vouches for, and every version that was not redacted. What an earlier Verify on this machine
// had is only asked to be named by the branch of the content; with whole it is had again. What
// is missing is in the report, and no error. The namespace was synced.
func Verify(ctx context.Context, r *Registry, namespace string, whole bool) (Checked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Checked{Namespace: namespace}
	if r.remote == nil {
		return c, fault.New(fault.Offline, "verify namespace %s: every object has to be asked for", namespace).Advise("leave out --offline")
	}
	s, err := r.current(ctx, namespace)
	if err != nil || s.Seq == 0 {
		return c, err
	}
	if s, err = examine(ctx, r, s); err != nil {
		return c, err
	}
	c.Operations, c.Versions = s.Seq, s.Published
	done := uint64(0)
	if !whole {
		done = readVerified(r, s)
	}
	v := verification{r: r, s: s, done: done, c: &c}
	if err := v.run(ctx); err != nil {
		return c, err
	}
	if len(c.Missing) > 0 {
		return c, nil
	}
	return c, v.remember()
}

// verification is one Verify under way, after the log was replayed.
type verification struct {
	r    *Registry
	s    State
	done uint64 // versions up to this position were had before
	c    *Checked
}

func (v *verification) run(ctx context.Context) error {
	kept, err := v.kept(ctx)
	if err != nil {
		return err
	}
	var ask []*Entry
	err = v.s.cat.each(func(_ byte, sh *shard) error {
		rows, err := sh.get()
		for _, row := range rows {
			switch {
			case row.Status == StatusRedacted:
				v.c.Redacted++
			case row.Seq > v.done:
				ask = append(ask, row.Entry)
			case !kept[row.Commit]:
				v.miss("version " + row.Name())
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := v.states(ctx, kept); err != nil {
		return err
	}
	for some := range slices.Chunk(ask, 500) {
		if err := v.versions(ctx, some); err != nil {
			return err
		}
	}
	slices.Sort(v.c.Missing)
	return nil
}

func (v *verification) miss(what string) { v.c.Missing = append(v.c.Missing, what) }

// kept returns every commit that the branch of the content names.
func (v *verification) kept(ctx context.Context) (map[store.OID]bool, error) {
	tip := v.r.content[v.s.Namespace]
	if tip.IsZero() {
		v.miss("branch " + contentOf(v.s.Namespace))
		return nil, nil
	}
	repo, err := v.r.writing()
	if err != nil {
		return nil, err
	}
	q, err := v.r.fetch(ctx, repo, []store.OID{tip}, nil, transport.FetchOptions{Filter: commitsOnly})
	if err != nil {
		return nil, err
	}
	defer q.Discard()
	kept := map[store.OID]bool{}
	for _, id := range q.Objects() {
		kept[id] = true
	}
	return kept, nil
}

// states asks for the last state, and tells those that the root vouches for from the rest.
func (v *verification) states(ctx context.Context, kept map[store.OID]bool) error {
	raws, err := wholeLog(ctx, v.r, v.s)
	if err != nil {
		return err
	}
	vouched := uint64(0)
	if g := v.s.root.Grant(v.s.Namespace); g != nil && g.Checkpoint != nil {
		vouched = g.Checkpoint.Seq
	}
	for _, raw := range raws {
		op, err := parseOp(raw, false)
		switch {
		case err != nil:
			return err
		case op.Seq == v.s.Seq || kept[op.Kept]:
		case op.Seq == vouched:
			v.miss(fmt.Sprintf("state after operation %d", op.Seq))
		default:
			v.c.Pruned++
		}
	}
	repo, err := v.r.writing()
	if err != nil {
		return err
	}
	q, err := v.r.fetch(ctx, repo, []store.OID{v.s.Kept}, nil, transport.FetchOptions{})
	if gone(err) {
		v.miss(fmt.Sprintf("state after operation %d", v.s.Seq))
		return nil
	}
	if err != nil {
		return err
	}
	defer q.Discard()
	if err := q.Connected(ctx, v.s.Kept); err != nil {
		v.miss(fmt.Sprintf("state after operation %d", v.s.Seq))
	}
	return nil
}

// gone reports whether an error may be that of an object which the host does not have: some
// say so, some end the connection.
func gone(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Network) }

// versions has versions sent and compares them. Where that fails for several it is tried for
// half of them, until it is known which are missing.
func (v *verification) versions(ctx context.Context, list []*Entry) error {
	repo, err := v.r.writing()
	if err != nil {
		return err
	}
	ids := make([]store.OID, len(list))
	for i, e := range list {
		ids[i] = e.Commit
	}
	q, err := v.r.fetch(ctx, repo, ids, nil, transport.FetchOptions{})
	if gone(err) && len(list) > 1 {
		half := len(list) / 2
		return cmp.Or(v.versions(ctx, list[:half]), v.versions(ctx, list[half:]))
	}
	if gone(err) && ctx.Err() == nil && v.answers(ctx) {
		v.miss("version " + list[0].Name())
		return nil
	}
	if err != nil {
		return err
	}
	defer q.Discard()
	in := map[store.OID]bool{}
	for _, id := range q.Objects() {
		in[id] = true
	}
	for _, e := range list {
		_, err := readContent(&q.Reader, e)
		switch {
		case fault.Is(err, fault.NotFound), err == nil && !in[e.Commit]:
			v.miss("version " + e.Name())
		case err != nil:
			return err
		default:
			v.c.Fetched++
		}
	}
	return nil
}

// answers tells a host that lacks an object from one that does not answer at all.
func (v *verification) answers(ctx context.Context) bool {
	_, err := v.r.remote.Refs(ctx, mainBranch)
	return err == nil
}

// verifiedPath is where a machine remembers how far it has had every version.
func verifiedPath(r *Registry, namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".had", namespace)
}

// remember notes how far every version was had: "<position> <digest of the operation>".
func (v *verification) remember() error {
	path := verifiedPath(v.r, v.s.Namespace)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.New(fault.Failed, "remember what was verified: %w", err)
	}
	return place.File(path, fmt.Appendf(nil, "%d %s\n", v.s.Seq, v.s.Tip), 0o600)
}

// readVerified returns the position up to which every version was had, 0 where that is not
// known: then everything is asked for again.
func readVerified(r *Registry, s State) uint64 {
	raw, err := place.Read(verifiedPath(r, s.Namespace), 200)
	if err != nil {
		return 0
	}
	var seq uint64
	var text string
	if _, err := fmt.Sscanf(string(raw), "%d %s\n", &seq, &text); err != nil {
		return 0
	}
	sum, err := objects.ParseDigest(text)
	if err != nil || seq > s.Seq || seq == s.Seq && sum != s.Tip {
		return 0
	}
	return seq
}
