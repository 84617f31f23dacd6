package govern

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Root lists the keys that hold the root of a registry: as they are now, or offline as last
// verified.
func Root(ctx context.Context, s *custody.Desk, q rye.RegistryRequest) (*rye.RootInfo, error) {
	r, err := openRoot(ctx, s, q.Registry, !s.Offline)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	info := &rye.RootInfo{Registry: r.name, URL: r.reg.URL(), ID: r.ID.String(), Name: r.Name, Seq: r.Seq,
		Claims: string(r.Claims), Threshold: r.Threshold}
	for _, k := range r.Keys {
		info.Keys = append(info.Keys, rye.RootKey{Fingerprint: k.String(), SSH: k.Authorized(), Own: s.Trust.IsOwn(k)})
	}
	return info, nil
}

// ChangeRoot changes the keys that hold the root of a registry, or how many must agree. Where
// the signing key is enough, it makes the change. Otherwise it writes a proposal to a file,
// which the others approve and one of them commits.
func ChangeRoot(ctx context.Context, s *custody.Desk, q rye.RootChangeRequest) (*rye.RootChange, error) {
	r, err := openRoot(ctx, s, q.Registry, true)
	if err != nil {
		return nil, err
	}
	defer r.reg.Close()
	keys, err := r.newKeys(q)
	if err != nil {
		return nil, err
	}
	op, err := r.NewRoots(cmp.Or(q.Threshold, r.Threshold), keys...)
	if err != nil {
		return nil, mendThreshold(err, r.Threshold, len(keys))
	}
	return r.propose(ctx, op, step{file: q.Out, dryRun: q.DryRun})
}

// root is the root of an open registry of the project.
type root struct {
	oplog.Root
	s    *custody.Desk
	name string // of the registry in this project
	reg  *registry.Registry
}

// openRoot opens a registry of the project, brought up to date when fresh.
func openRoot(ctx context.Context, s *custody.Desk, name string, fresh bool) (*root, error) {
	name, err := s.Project.OnlyRegistry(name)
	if err != nil {
		return nil, err
	}
	r := &root{s: s, name: name}
	switch {
	case !fresh:
		r.reg, err = share.Open(s, name, nil)
	case s.Offline:
		err = fault.New(fault.Offline, "root of registry %s: a change needs its newest state", name).Advise("leave out --offline")
	default:
		r.reg, err = share.OpenSynced(ctx, s, name)
	}
	if err != nil {
		return nil, err
	}
	if r.Root, err = r.readRoot(ctx); err != nil {
		r.reg.Close()
		return nil, err
	}
	return r, nil
}

// readRoot reads the root as it was last synced, and writes its keys into the trust store.
func (r *root) readRoot(ctx context.Context) (oplog.Root, error) {
	now, err := r.reg.Root(ctx)
	if err != nil {
		return now, err
	}
	return now, share.UpdateRoots(r.s, r.reg.ID(), now)
}

// newKeys returns the root keys after the requested change.
func (r *root) newKeys(q rye.RootChangeRequest) ([]trust.PublicKey, error) {
	keys := slices.Clone(r.Keys)
	for _, text := range q.Remove {
		line, _ := trust.ParsePublicKey(text) // for a fingerprint the zero key, which is no root key
		i := slices.IndexFunc(keys, func(k trust.PublicKey) bool { return k == line || k.String() == text })
		if i < 0 {
			return nil, fault.New(fault.NotFound, "remove %s: it is not a root key", words.Brief(text)).Advise("rye registry root show lists them")
		}
		keys = slices.Delete(keys, i, i+1)
	}
	for _, text := range q.Add {
		k, err := custody.PublicKey(r.s.Host, r.s.Trust, text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys, k) {
			return nil, fault.New(fault.Untrusted, "add %s: it is a root key already, maybe under another name; one key is one holder", k).
				Advise("rye registry root show lists them")
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// propose makes a new proposal for the root, or commits it at once where one key is enough.
func (r *root) propose(ctx context.Context, op oplog.RootOp, q step) (*rye.RootChange, error) {
	op, err := r.reg.Propose(ctx, op)
	if err != nil {
		return nil, err
	}
	q.status = "proposed"
	return advance(ctx, r.s, &rootProposal{r, op}, q)
}

// rootProposal is an operation on the root that needs agreement.
type rootProposal struct {
	*root
	op oplog.RootOp
}

func (p *rootProposal) judge(_ context.Context, me trust.PublicKey) (oplog.Agreement, error) {
	if err := p.mayAgree(p.op, me); err != nil {
		return oplog.Agreement{}, err
	}
	op := p.op
	op.Time = p.s.Now() // as if it were committed now: expired values are reported before anyone agrees
	return p.Agreement(op, me)
}

func (p *rootProposal) file() string { return fmt.Sprintf("registry-root-%d.txt", p.op.Seq) }

func (p *rootProposal) text() string { return p.op.Message() }

func (p *rootProposal) approve(ctx context.Context, signer trust.Signer) error {
	return p.op.Approve(ctx, signer)
}

func (p *rootProposal) topic() string { return "root of registry " + p.name }

// commit publishes an operation on the root and updates the trust store.
func (p *rootProposal) commit(ctx context.Context, signer trust.Signer) error {
	if err := p.reg.CommitRoot(ctx, share.By(p.s, signer), p.op.Without(signer.Public().Fingerprint())); err != nil {
		return err
	}
	_, err := p.readRoot(ctx)
	return err
}

// mayAgree refuses a key that neither holds the root nor will hold it: its approval would have
// no effect.
func (r *root) mayAgree(op oplog.RootOp, me trust.PublicKey) error {
	if slices.Contains(r.Keys, me) || op.Kind == oplog.OpRoots && slices.Contains(op.Keys, me) {
		return nil
	}
	return fault.New(fault.Untrusted, "root of registry %s: %s is not a root key, now or in this proposal", r.name, me).
		Advise("repeat with RYE_KEY=<name of a root key>")
}

// mayCommit refuses a commit that the registry's readers would refuse. One key that approved
// and signs is one agreement.
func (p *rootProposal) mayCommit(got oplog.Agreement, me trust.PublicKey) error {
	r := p.root
	switch {
	case !slices.Contains(r.Keys, me):
		return fault.New(fault.Untrusted, "root of registry %s: %s signed it, and is not a root key yet", r.name, me).
			Advise("one of the present root keys must commit it")
	case got.Have < got.Want:
		return fault.New(fault.Untrusted, "root of registry %s: %d of %d root keys agreed, and %d must agree; one key counts once",
			r.name, got.Have, len(r.Keys), got.Want).
			Advise("another holder runs rye registry root approve <file>")
	case len(got.Newcomers) > 0:
		return fault.New(fault.Untrusted, "root of registry %s: the new root key %s has not approved it", r.name, got.Newcomers[0]).
			Advise("the holder of that key runs rye registry root approve <file>")
	}
	return nil
}

func (p *rootProposal) describe() *rye.RootChange {
	c := &rye.RootChange{Registry: p.name, ID: p.ID.String(), Seq: p.op.Seq, Changes: p.Describe(p.op)}
	if p.op.Kind == oplog.OpRoots {
		c.Threshold, c.Keys = p.op.Threshold, share.Texts(p.op.Keys)
	}
	return c
}

// mendThreshold adds advice when fewer keys would remain than must agree.
func mendThreshold(err error, threshold, keys int) error {
	if fault.Is(err, fault.Usage) && keys > 0 && keys < threshold {
		return fault.New(fault.Usage, "%w", err).Advise("--threshold %d, or less", keys)
	}
	return err
}
