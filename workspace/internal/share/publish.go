package share

import (
	"context"
	"errors"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// pushing is one push in progress.
type pushing struct {
	s    *custody.Desk
	reg  *registry.Registry
	name string // of the registry in this project
	key  trust.Signer
	ns   string

	granted bool // the root granted the namespace during this push, or would
}

// publish publishes items. An unclaimed namespace is granted first, if the signing key holds the
// root and a person agrees. All possible checks come before anything is sent, so that a
// published item is not reported as failed afterwards.
func (p *pushing) publish(ctx context.Context, items []*registry.Item, dry bool) (registry.Receipt, error) {
	pub := registry.Publication{Namespace: p.ns, Items: items, By: By(p.s, p.key), DryRun: dry, Check: p.mayBind}
	done, err := p.reg.Publish(ctx, pub)
	var free *registry.UngrantedError
	if errors.As(err, &free) {
		if err = p.grant(ctx, pub, free); err == nil {
			pub.Granted = true
			done, err = p.reg.Publish(ctx, pub)
		}
	}
	return done, p.explain(ctx, err)
}

// mayBind refuses, before anything is sent, owners that this machine could not trust afterwards.
func (p *pushing) mayBind(b registry.Binding) error {
	st, err := trust.LoadStore(p.s.TrustPath())
	if err != nil {
		return err
	}
	if err := mayBind(p.s, st, p.reg.ID().String(), p.ns); err != nil {
		return err
	}
	if err := st.BindNamespace(p.ns, p.reg.ID().String(), b.Bound()...); err != nil {
		return fault.Wrap(err, "push to %s: nothing was published", p.ns)
	}
	return nil
}

// grant gives an unclaimed namespace to the signing key, which holds the root.
func (p *pushing) grant(ctx context.Context, pub registry.Publication, free *registry.UngrantedError) error {
	me := p.key.Public()
	root, err := p.reg.Root(ctx)
	if err != nil {
		return err
	}
	command := GrantCommand(p.ns, []trust.PublicKey{me})
	refused := fault.New(fault.Untrusted, "%w", free)
	switch {
	case !slices.Contains(root.Keys, me):
		return refused.Advise("send this to a holder of the root: %s", command)
	case root.Threshold > 1: // one key alone is not enough: a proposal
		return refused.With(command)
	}
	if pub.Granted = true; !pub.DryRun { // there is no question about a push that would fail anyway
		rehearsal := pub
		rehearsal.DryRun = true
		if _, err := p.reg.Publish(ctx, rehearsal); err != nil {
			return err
		}
		if err := p.s.Ask(ctx, p.question(me)); err != nil {
			return err
		}
		if err := p.reg.Grant(ctx, By(p.s, p.key), p.ns, me); err != nil {
			return err
		}
	}
	p.granted = true
	return nil
}

func (p *pushing) question(me trust.PublicKey) rye.Question {
	return rye.Question{Topic: "grant " + p.ns, Text: "Grant it to your key, as a holder of the root, and publish?",
		Lines: []string{"no one owns the namespace " + p.ns + " in " + p.name, "registry " + p.reg.ID().String(), "key      " + me.String()},
		Mend:  fault.Advice("the same with --yes, if you want to own the namespace")}
}

// explain adds advice for a key that is no member of the namespace.
func (p *pushing) explain(ctx context.Context, err error) error {
	if err == nil || !fault.Is(err, fault.Untrusted) {
		return err
	}
	st, verr := p.reg.View(p.ns)
	if verr != nil {
		return err
	}
	me := p.key.Public()
	if _, there := st.Key(me.Fingerprint()); there {
		return err
	}
	root, rerr := p.reg.Root(ctx)
	if rerr != nil {
		return err
	}
	more := fault.New(fault.Untrusted, "push to %s: %w", p.ns, err)
	if st.MayJoin(root, me) {
		return more.Advise("rye registry members %s --join", p.ns)
	}
	return more.Advise("rye registry members %s --join, and send its output to a member", p.ns)
}

// GrantCommand is the command by which a holder of the root gives a namespace to keys.
func GrantCommand(namespace string, keys []trust.PublicKey, flags ...string) fault.Hint {
	words := []string{"rye", "registry", "grant", namespace}
	for _, k := range keys {
		words = append(words, k.Authorized())
	}
	return fault.CommandOf(append(words, flags...)...)
}
