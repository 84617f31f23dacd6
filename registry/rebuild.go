package registry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// Rebuild makes the content branch of a namespace anew: the last state, the state of the root's
// checkpoint, every version that is not redacted, and every change list. Redacted versions and old
// states are then on no branch, so the host may collect them. Objects that Verify finds missing are
// sent again if this machine has them. With dry nothing is sent. The host must allow the branch to
// be set back.
func (r *Registry) Rebuild(ctx context.Context, by By, namespace string, dry bool) (Checked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.syncFrom(ctx, toWrite, []string{namespace}, allMust); err != nil {
		return Checked{Namespace: namespace}, err
	}
	c, err := r.verify(ctx, namespace, true)
	if err != nil {
		return c, err
	}
	s, err := r.current(ctx, namespace)
	if err != nil {
		return c, err
	}
	if s.Seq == 0 {
		return c, fault.New(fault.NotFound, "rebuild the content of %s: it has no owner", namespace)
	}
	x, err := r.examine(ctx, s, oplog.Point{})
	if err != nil {
		return c, err
	}
	b := rebuilding{r: r, s: x.State, skipped: x.Skipped, needsNone: x.NeedsNone, dry: dry, missing: map[string]bool{}}
	for _, what := range c.Missing {
		b.missing[what] = true
	}
	return c, b.run(ctx, r.pen(by, namespace))
}

// rebuilding is one Rebuild under way.
type rebuilding struct {
	r         *Registry
	s         oplog.State
	skipped   []oplog.Skipped
	needsNone func(oplog.Op) bool // reports operations whose change list may be missing
	dry       bool
	missing   map[string]bool
	heads     []store.OID
	again     []store.OID // objects that the host lost but this machine has
}

func (b *rebuilding) run(ctx context.Context, p oplog.Pen) error {
	repo, err := b.r.writing()
	if err != nil {
		return err
	}
	lists, err := b.gather(ctx, repo)
	if err != nil || b.dry {
		return err
	}
	batch := repo.NewBatch()
	defer batch.Discard()
	if err := b.state(lists, batch.Add); err != nil {
		return err
	}
	readme, err := batch.Add(store.TypeBlob, rebuiltReadme(b.s, doneBefore(&repo.Reader, b.s.At)))
	if err != nil {
		return err
	}
	lists[readmeName] = readme
	k := keeping{p: p, put: batch.Add, heads: b.heads, files: lists}
	tip, err := k.merge(ctx, b.s)
	if err != nil {
		return err
	}
	objects := slices.Concat(batch.Objects(), b.again)
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	defer batch.Release()
	to, err := b.r.writtenAt(ctx, b.s.Namespace)
	if err != nil {
		return err
	}
	old := to.content[b.s.Namespace]
	err = to.remote.PushObjects(ctx, repo, []transport.Update{{Name: contentOf(b.s.Namespace), Old: old, New: tip}}, objects)
	if fault.Is(err, fault.Denied) {
		return fault.New(fault.Denied, "rebuild the content of %s: the host does not allow a force push to %s: %w", b.s.Namespace, contentOf(b.s.Namespace), err).
			Advise("on the host, allow force pushes to content/** for the account that rebuilds")
	}
	if err == nil {
		to.content[b.s.Namespace] = tip
	}
	if err != nil || !b.s.Under().Tags {
		return err
	}
	keep := map[store.OID]bool{}
	for _, id := range b.heads {
		keep[id] = true
	}
	return to.dropTags(ctx, repo, b.s, keep)
}

// gather collects the commits to keep, and returns the change lists by their future paths.
func (b *rebuilding) gather(ctx context.Context, repo *store.Repo) (map[string]store.OID, error) {
	raws, err := b.r.wholeLog(ctx, b.s)
	if err != nil {
		return nil, err
	}
	vouched := uint64(0)
	if g := b.s.Under().Grant(b.s.Namespace); g != nil && g.Checkpoint != nil {
		vouched = g.Checkpoint.Seq
	}
	lists := map[string]store.OID{}
	for i, raw := range raws {
		if b.skips(uint64(i) + 1) {
			continue
		}
		op, err := oplog.Parse(raw)
		if err != nil {
			return nil, err
		}
		if op.Changes.Count > 0 && (!b.needsNone(op) || repo.Has(op.Changes.ID)) {
			lists[fmt.Sprintf("changes/%d.jsonl", op.Seq)] = op.Changes.ID
			b.again = append(b.again, op.Changes.ID) // they were examined, so they are here; they are small
		}
		if op.Seq == vouched && op.Seq != b.s.Last().Seq && !b.missing[fmt.Sprintf("state after operation %d", op.Seq)] {
			b.heads = append(b.heads, op.Kept)
		}
	}
	return lists, b.s.Entries(func(e oplog.Entry) error {
		if e.Status == oplog.StatusRedacted {
			return nil
		}
		if !b.missing["version "+e.Name()] {
			b.heads = append(b.heads, e.Commit)
			return nil
		}
		if _, err := oplog.ReadContent(&repo.Reader, &e); err != nil {
			return fault.New(fault.Network, "rebuild the content of %s: %s is not on the host, and not here: %w", b.s.Namespace, e.Name(), err).
				Advise("run it where it was published, or rye registry redact %s", e.Name())
		}
		b.heads = append(b.heads, e.Commit)
		_, _, err := oplog.CopyContent(&repo.Reader, &e, func(t store.Type, data []byte) (store.OID, error) {
			id := store.SHA1.Hash(t, data)
			b.again = append(b.again, id)
			return id, nil
		})
		return err
	})
}

// skips reports whether the operation at a position has no effect.
func (b *rebuilding) skips(seq uint64) bool {
	_, found := slices.BinarySearchFunc(b.skipped, seq, func(k oplog.Skipped, seq uint64) int { return cmp.Compare(k.Seq, seq) })
	return found
}

// state makes the last state anew, with all its objects: it follows from the log.
func (b *rebuilding) state(lists map[string]store.OID, put oplog.Sink) error {
	id, err := b.s.Keep(oplog.Address{ID: lists[fmt.Sprintf("changes/%d.jsonl", b.s.Last().Seq)]}, nil, put)
	if err == nil && id != b.s.Kept {
		err = fault.New(fault.Integrity, "rebuild the content of %s: its state is %s, the log names %s", b.s.Namespace, id, b.s.Kept)
	}
	b.heads = append(b.heads, b.s.Kept)
	return err
}

// versionTable lists every version, for people.
func versionTable(s oplog.State) []byte {
	var b bytes.Buffer
	b.WriteString("\n| version | published | |\n|---|---|---|\n")
	s.Entries(func(e oplog.Entry) error {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Name(), e.Time.Format("2006-01-02"), e.Status)
		return nil
	})
	return b.Bytes()
}
