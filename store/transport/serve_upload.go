package transport

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// needs is a client's request to upload-pack.
type needs struct {
	want, have, shallow []store.OID
	depth               int
	filter              filter
	done                bool
}

// arg reads one line of a request.
func (n *needs) arg(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "want", "have", "shallow":
		id, err := store.ParseOID(rest)
		if err != nil {
			return fault.New(fault.Malformed, "%s: %w", word, err)
		}
		list := map[string]*[]store.OID{"want": &n.want, "have": &n.have, "shallow": &n.shallow}[word]
		if len(*list) >= wantMax {
			return fault.New(fault.Limit, "more than %d lines %q", wantMax, word)
		}
		*list = append(*list, id)
	case "deepen":
		d, err := strconv.Atoi(rest)
		if err != nil || d < 0 {
			return fault.New(fault.Malformed, "deepen %q", cleanText(rest))
		}
		n.depth = d
	case "filter":
		f, err := parseFilter(rest)
		if err != nil {
			return err
		}
		n.filter = f
	case "done":
		n.done = true
	case "thin-pack", "no-progress", "include-tag", "ofs-delta", "wait-for-done":
		// options that we need not use
	default:
		return fault.New(fault.Usage, "%q is not supported", cleanText(word))
	}
	return nil
}

// narrowed reports whether the answer has fewer objects than all reachable ones.
func (n *needs) narrowed() bool {
	return n.depth > 0 || len(n.shallow) > 0 || n.filter != filter{}
}

func (n *needs) reach() store.ReachOptions {
	return store.ReachOptions{Depth: n.depth, Shallow: n.shallow,
		NoBlobs: n.filter.noBlobs, NoTrees: n.filter.noTrees, BlobLimit: n.filter.blobLimit}
}

// known checks that the repository has the wanted objects. Any object may be wanted,
// advertised or not: a client that may read a repository may read all of it.
func (c *conversation) known(want []store.OID) error {
	if len(want) == 0 {
		return fault.New(fault.Malformed, "nothing is wanted")
	}
	for _, id := range want {
		if !c.repo.Has(id) {
			return fault.New(fault.NotFound, "upload-pack: not our ref %s", id)
		}
	}
	return nil
}

// common returns the ids that the repository has.
func (c *conversation) common(ids []store.OID) []store.OID {
	return slices.DeleteFunc(slices.Clone(ids), func(id store.OID) bool { return !c.repo.Has(id) })
}

// fetch2 answers the fetch command of version 2.
func (c *conversation) fetch2(ctx context.Context, args []string) error {
	n := &needs{}
	for _, a := range args {
		if err := n.arg(a); err != nil {
			return err
		}
	}
	if err := c.known(n.want); err != nil {
		return err
	}
	both := c.common(n.have)
	if !n.done {
		c.w.linef("acknowledgments")
		if len(both) == 0 {
			c.w.linef("NAK")
		}
		for _, id := range both {
			c.w.linef("ACK %s", id)
		}
		if !c.enough(ctx, n.want, both) {
			c.w.flush()
			return nil
		}
		c.w.linef("ready")
		c.w.delim()
	}
	plan, err := c.plan(ctx, n, both)
	if err != nil {
		return err
	}
	if n.depth > 0 {
		c.w.linef("shallow-info")
		c.shallow(plan)
		c.w.delim()
	}
	c.w.linef("packfile")
	return c.sendPack(ctx, n, both, plan)
}

// plan lists the objects to send for a narrowed request; nil means everything.
func (c *conversation) plan(ctx context.Context, n *needs, both []store.OID) (*store.Reached, error) {
	if !n.narrowed() {
		return nil, nil
	}
	return c.repo.Reach(ctx, n.want, both, n.reach())
}

func (c *conversation) shallow(plan *store.Reached) {
	for _, id := range plan.Shallow {
		c.w.linef("shallow %s", id)
	}
	for _, id := range plan.Unshallow {
		c.w.linef("unshallow %s", id)
	}
}

// sendPack writes the pack in the data band.
func (c *conversation) sendPack(ctx context.Context, n *needs, both []store.OID, plan *store.Reached) error {
	w := &bandWriter{p: c.w, band: bandData}
	var err error
	if plan != nil {
		err = c.repo.WritePack(ctx, w, plan.Objects)
	} else {
		err = c.repo.PackFor(ctx, w, n.want, both)
	}
	if c.w.err != nil {
		return err
	}
	if err != nil {
		// The pack has begun, so only the error band can report this.
		c.refuse(err)
		io.WriteString(&bandWriter{p: c.w, band: bandError}, refusal(err))
	}
	c.w.flush()
	return nil
}

// walkMax bounds the commits that are read to decide whether negotiation can stop.
const walkMax = 20_000

// enough reports whether every wanted commit has an ancestor in both, so that
// further negotiation would gain little.
func (c *conversation) enough(ctx context.Context, want, both []store.OID) bool {
	if len(both) == 0 {
		return false
	}
	at := map[store.OID]bool{}
	for _, id := range both {
		at[id] = true
	}
	steps := 0
	for _, id := range want {
		found, err := walkBack(ctx, &c.repo.Reader, id, &steps, func(id store.OID) bool { return at[id] })
		if err != nil || !found {
			return false
		}
	}
	return true
}

// walkBack visits from and its ancestors until stop returns true, and reports whether it did.
// steps counts across calls, up to walkMax.
func walkBack(ctx context.Context, r *store.Reader, from store.OID, steps *int, stop func(store.OID) bool) (bool, error) {
	queue, seen := []store.OID{from}, map[store.OID]bool{from: true}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if stop(id) {
			return true, nil
		}
		if *steps++; *steps > walkMax {
			return false, fault.New(fault.Limit, "more than %d commits to look at", walkMax)
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		parents, err := parentsOf(r, id)
		if err != nil {
			return false, err
		}
		for _, p := range parents {
			if !seen[p] {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	return false, nil
}

// parentsOf reads a commit's parents without checking the rest of it. Other objects have no
// parents.
func parentsOf(r *store.Reader, id store.OID) (parents []store.OID, err error) {
	t, raw, err := r.Object(id, 0)
	if err != nil || t != store.TypeCommit {
		return nil, err
	}
	head, _, _ := strings.Cut(string(raw), "\n\n")
	for line := range strings.Lines(head) {
		if hex, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "parent "); ok {
			p, err := store.ParseOID(hex)
			if err != nil {
				return nil, err
			}
			parents = append(parents, p)
		} else if strings.HasPrefix(line, "author ") {
			break
		}
	}
	return parents, nil
}
