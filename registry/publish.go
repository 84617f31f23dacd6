package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// Publication describes what to publish.
type Publication struct {
	Namespace string
	Items     []*Item
	By        By   // signs the operations; must hold an active key of the namespace
	DryRun    bool // check everything, change nothing

	// Granted is for dry runs. It looks at an ungranted namespace as if the root had granted it to
	// the signer.
	Granted bool
	// Check may refuse the future keys of the namespace before anything is sent.
	Check func(Binding) error
}

// An UngrantedError reports that the root has not granted a namespace, in a registry that requires
// a grant (code Untrusted).
type UngrantedError struct {
	Namespace string
	Registry  string // the registry's own name
}

func (e *UngrantedError) Error() string {
	return fmt.Sprintf("publish to %s: the root of %q has not granted this namespace to anyone", e.Namespace, e.Registry)
}

// Receipt reports what a publication did, or would do with DryRun.
type Receipt struct {
	Published  []oplog.Release
	Unchanged  []oplog.Release // already published with the same bytes
	Claimed    bool            // the namespace was claimed as well
	Operations int             // appended to the log
	Tip        oplog.Point     // of the namespace afterwards
	Tries      int             // 1 unless other publishers were faster
}

// Publish appends new versions to a namespace's log, in as many operations as needed and one ref
// update, so that others see all of it or nothing. A version that was published with the same bytes
// is no error; other bytes are (Integrity), and nothing is published. An unclaimed namespace is
// claimed for the signer's key if the registry allows that.
func (r *Registry) Publish(ctx context.Context, p Publication) (Receipt, error) {
	versions, err := p.versions()
	if err != nil {
		return Receipt{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	job := &publishing{p: p, versions: versions}
	got, err := r.advance(ctx, change{
		namespace: p.Namespace, by: p.By, dry: p.DryRun, refs: job.refs(),
		plan: job.plan, prepare: job.prepare, as: job.as, check: job.check,
	})
	if err != nil {
		return Receipt{}, err
	}
	return job.receipt(got)
}

// outgoing is an item with its version's commit.
type outgoing struct {
	*Item
	commit store.OID // zero until it is made
}

// versions checks that the items belong together, and sorts them for appending by the catalogue's
// files, so that each operation rewrites few of them.
func (p *Publication) versions() ([]*outgoing, error) {
	if err := oplog.CheckNamespace(p.Namespace); err != nil {
		return nil, fault.New(fault.Usage, "publish: %w", err)
	}
	if len(p.Items) == 0 {
		return nil, fault.New(fault.Usage, "publish to %s: no items", p.Namespace)
	}
	out := make([]*outgoing, 0, len(p.Items))
	for _, it := range p.Items {
		if ref := it.entry.Ref; ref.ID.Namespace() != p.Namespace {
			return nil, fault.New(fault.Usage, "publish %s: is not of namespace %s", ref, p.Namespace)
		}
		out = append(out, &outgoing{Item: it})
	}
	sortVersions(out, func(ref objects.Ref) byte { return oplog.ShardOf(ref) })
	for i := 1; i < len(out); i++ {
		if a, b := &out[i-1].entry, &out[i].entry; a.Ref == b.Ref && a.Version == b.Version {
			return nil, fault.New(fault.Usage, "publish %s: it is given twice", b.Name())
		}
	}
	return out, nil
}

// sortVersions sorts by the result of first for each item, then as compareKey does.
func sortVersions(list []*outgoing, first func(objects.Ref) byte) {
	type keyed struct {
		first byte
		item  string
		*outgoing
	}
	all := make([]keyed, len(list))
	for i, v := range list {
		all[i] = keyed{first(v.entry.Ref), v.entry.Ref.Published(), v}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.first, b.first), strings.Compare(a.item, b.item), strings.Compare(a.entry.Version, b.entry.Version))
	})
	for i := range all {
		list[i] = all[i].outgoing
	}
}

// publishing is one publication under way. Versions do not depend on the log, so they are made
// once, even if the operations are rebuilt.
type publishing struct {
	p        Publication
	versions []*outgoing // sorted

	claims bool
	made   []store.OID // the versions made so far, with all their objects
}

// refs returns the published items.
func (j *publishing) refs() []objects.Ref {
	out := make([]objects.Ref, 0, len(j.versions))
	for _, v := range j.versions {
		out = append(out, v.entry.Ref)
	}
	return out
}

// as returns the state under a grant that is not made yet.
func (j *publishing) as(s oplog.State) oplog.State {
	if ns := j.p.Namespace; j.p.DryRun && j.p.Granted && s.Under().Grant(ns) == nil {
		return s.WithRoot(s.Under().WithGrant(ns, j.p.By.Signer.Public()))
	}
	return s
}

func (j *publishing) check(after oplog.State) error {
	if j.p.Check == nil {
		return nil
	}
	return j.p.Check(Binding{Keys: after.Keys()})
}

func (j *publishing) plan(s oplog.State) ([]oplog.Op, error) {
	var fresh []*outgoing
	for _, v := range j.versions {
		old, err := s.Lookup(v.entry.Ref, v.entry.Version)
		switch {
		case err != nil:
			return nil, err
		case old == nil:
			fresh = append(fresh, v)
		case old.Sum != v.entry.Sum:
			return nil, old.Changed(v.entry.Sum)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	var ops []oplog.Op
	if j.claims = s.Seq == 0; j.claims {
		claim, err := j.claim(s)
		if err != nil {
			return nil, err
		}
		ops = append(ops, claim)
	}
	for list := range slices.Chunk(fresh, oplog.MaxItems) {
		sortVersions(list, func(objects.Ref) byte { return 0 })
		op := oplog.Op{Kind: oplog.OpPublish, Items: make([]oplog.Entry, 0, len(list))}
		for _, v := range list {
			op.Items = append(op.Items, v.entry)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// claim returns the first operation of an unclaimed namespace.
func (j *publishing) claim(s oplog.State) (oplog.Op, error) {
	g := s.Under().Grant(s.Namespace)
	if g == nil && s.Under().Claims != oplog.ClaimsOpen {
		return oplog.Op{}, fault.New(fault.Untrusted, "%w", &UngrantedError{s.Namespace, s.Under().Name}).
			Advise("ask a holder of the root for it, with the key %s", j.p.By.Signer.Public().Authorized())
	}
	if g == nil && trust.Reserved(s.Namespace) {
		return oplog.Op{}, fault.New(fault.Denied, "publish to %s: the namespace is reserved and cannot be claimed", s.Namespace)
	}
	return oplog.Op{Kind: oplog.OpClaim, Keys: []oplog.KeyGrant{{Public: j.p.By.Signer.Public()}}}, nil
}

// receipt divides the versions into published and unchanged. Published versions have the commit
// made here, and the signer as their publisher in the log.
func (j *publishing) receipt(got advanced) (Receipt, error) {
	s := got.state
	out := Receipt{Claimed: j.claims, Operations: got.ops, Tip: s.Point(), Tries: got.tries}
	for _, v := range j.versions {
		e, err := s.Entry(v.entry.Ref, v.entry.Version)
		if err != nil {
			return out, err
		}
		mine := e.Commit == v.commit && e.Publisher == j.p.By.Signer.Public().Fingerprint()
		if j.p.DryRun {
			mine = e.Commit.IsZero()
		}
		if mine {
			out.Published = append(out.Published, s.Release(e))
		} else {
			out.Unchanged = append(out.Unchanged, s.Release(e))
		}
	}
	return out, nil
}
