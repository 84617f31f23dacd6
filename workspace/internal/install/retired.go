package install

import (
	"context"
	"slices"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/share"
)

// learn updates the trust store before a version by a retired key is verified. Such a key is
// trusted only for items in the log that were looked at. This item was looked at after the
// last update of the trust store.
func (in *installation) learn(ctx context.Context, reg *registry.Registry, rel oplog.Release) error {
	b, err := reg.Binding(rel.Namespace)
	if err != nil || !retired(b, rel.Author) {
		return err
	}
	if err := share.UpdateTrust(ctx, &in.Desk, reg, rel.Namespace); err != nil {
		return err
	}
	in.Session, err = in.WithTrust()
	return err
}

func retired(b registry.Binding, key objects.Fingerprint) bool {
	return slices.ContainsFunc(b.Bound(), func(k trust.BoundKey) bool {
		return k.State == trust.Retired && k.Key.Fingerprint() == key
	})
}
