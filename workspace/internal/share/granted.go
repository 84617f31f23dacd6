package share

import (
	"context"
	"errors"
	"fmt"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// MayReach returns a registry of the project if the user agreed to ask it at its address there:
// in this directory, or anywhere by rye registry add. rye.yaml may have come with a clone, so
// nothing is contacted before that.
func MayReach(s *custody.Desk, name string) (session.Registry, error) {
	c, ok := s.Project.Registries[name]
	if !ok {
		return c, unknownRegistry(name)
	}
	if s.Trust.Granted(s.Site().Registry(c.ID, c.URL)) || s.Trust.Granted(s.Home().Registry(c.ID, c.URL)) {
		return c, nil
	}
	if _, known := s.Trust.Registry(c.ID); known {
		return c, fault.New(fault.Untrusted, "registry %s: you have not accepted its address in this project, %s", name, c.URL).Mend("rye trust")
	}
	return c, fault.New(fault.Untrusted, "registry %s (%s): you have not accepted it in this project", name, c.URL).Mend("rye trust")
}

// mayDecide refuses a namespace that the user did not give to a registry in this directory.
func mayDecide(s *custody.Desk, name, ns string) error {
	c, err := MayReach(s, name)
	if err != nil {
		return err
	}
	if s.Site().RegistryOf(s.Trust, ns) == c.ID {
		return nil
	}
	return fault.New(fault.Untrusted, "registry %s: you have not accepted it as the source of %s/ in this project", name, ns).Mend("rye trust")
}

// mayBind refuses to store a registry's owners of a namespace that the user never gave it:
// neither in this directory, nor in the user space, nor before.
func mayBind(s *custody.Desk, st *trust.Store, id, ns string) error {
	if b, ok := st.Binding(ns); ok && b.Registry == id {
		return nil
	}
	if s.Project != nil && s.Site().RegistryOf(st, ns) == id || s.Home().RegistryOf(st, ns) == id {
		return nil
	}
	return fault.New(fault.Untrusted, "bind %s/ to registry %s: you have not accepted that", ns, id).Mend("rye trust")
}

// settle stores in the trust store the root keys that a registry proved at first contact. It
// refuses a registry that lets anyone claim a namespace as the source of every namespace.
func settle(ctx context.Context, s *custody.Desk, reg *registry.Registry, namespaces []string) error {
	root, err := reg.Root(ctx)
	if err != nil {
		return err
	}
	id := reg.ID().String()
	for _, ns := range namespaces {
		if root.Claims == oplog.ClaimsOpen && !s.Trust.Granted(s.Site().Scope(ns, id)) {
			return fault.New(fault.Denied, "registry %s: anyone may claim a namespace there, so rye uses it for %s/ only with that scope", reg.URL(), ns).
				Mend("rye registry add %s --scope %s", reg.URL(), ns)
		}
	}
	if _, known := s.Trust.Registry(id); known {
		return nil
	}
	return trust.Update(s.TrustPath(), func(st *trust.Store) error {
		if _, known := st.Registry(id); known {
			return nil
		}
		return st.PinRegistry(trust.Registry{ID: id, URL: reg.URL(), Roots: fingerprints(root.Keys)})
	})
}

// A lockError reports that rye.lock names an operation outside a verified log, or an item that
// differs from its catalogue.
type lockError struct {
	namespace string
	seq       uint64
	claim     registry.Claim
	line      string // the problem with an item; "" for an operation
}

func (e *lockError) Error() string {
	if e.line != "" {
		return e.line
	}
	if e.claim == registry.ClaimAhead {
		return fmt.Sprintf("%s: it names operation %d of %s, but the registry has fewer", shownLock, e.seq, e.namespace)
	}
	return fmt.Sprintf("%s: it names operation %d of %s, which differs from the registry's log", shownLock, e.seq, e.namespace)
}

const shownLock = ".ai/" + session.LockFile

// LockFault compares the lock's positions of namespaces with their verified logs. A difference
// is the lock's fault: anyone may have written it, so it is no evidence against a registry.
func LockFault(ctx context.Context, s *custody.Desk, reg *registry.Registry, namespaces ...string) (err error) {
	if s.Lock == nil {
		return nil
	}
	for _, ns := range namespaces {
		for _, ref := range lockedOf(s, ns) {
			err = errors.Join(err, AsLocked(s, reg, ref))
		}
		pin, ok := s.Lock.Namespaces[ns]
		if !ok || s.Lock.Registries[pin.Registry].ID != reg.ID() {
			continue
		}
		claim, cerr := reg.Compare(ctx, ns, pin.Seq, pin.SHA256)
		code := fault.Integrity
		switch {
		case cerr != nil:
			return errors.Join(err, cerr)
		case claim == registry.ClaimAhead:
			code = fault.Drift
		case claim != registry.ClaimDiffers:
			continue
		}
		err = errors.Join(err, fault.New(code, "%w", &lockError{namespace: ns, seq: pin.Seq, claim: claim}).
			Advise("ask the author of the lock about it; rye update takes the registry's present versions"))
	}
	return err
}
