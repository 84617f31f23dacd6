package registry

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// noteRevoked records the versions that operations refuse for good, and those in lists that were
// missing before.
func (r *Registry) noteRevoked(ctx context.Context, namespace string, ops []oplog.Op) error {
	all, err := r.mem.Missing(namespace)
	if err != nil {
		return err
	}
	before := len(all)
	for i := range ops {
		if op := &ops[i]; memory.RefusesForGood(op.Kind) && op.Changes.Count > 0 {
			all = append(all, memory.Revocation{List: op.Changes.Address, Kept: op.Kept, By: op.Signer.Fingerprint()})
		}
	}
	if len(all) == 0 {
		return nil
	}
	var news []revoked.Version
	var read, missing []memory.Revocation
	_ = r.bringRevocations(ctx, namespace, all) // in one request; missing lists are then asked for one by one
	for _, v := range all {
		err := r.bringRevocations(ctx, namespace, []memory.Revocation{v})
		var list []revoked.Version
		if err == nil {
			list, err = r.readRevocation(namespace, v)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			missing = append(missing, v)
		default:
			read = append(read, v)
		}
		news = append(news, list...)
	}
	if err := r.mem.RememberRevoked(ctx, namespace, news); err != nil {
		return err
	}
	if len(missing) == 0 && before == 0 {
		return nil
	}
	return r.mem.KeepUnread(ctx, namespace, read, missing)
}

func (r *Registry) bringRevocations(ctx context.Context, namespace string, all []memory.Revocation) error {
	var lists []oplog.Address
	var kept []store.OID
	for _, v := range all {
		lists, kept = append(lists, v.List), append(kept, v.Kept)
	}
	return r.bringBlobs(ctx, namespace, "change list", kept, lists)
}

// readRevocation reads a change list from the cache.
func (r *Registry) readRevocation(namespace string, v memory.Revocation) ([]revoked.Version, error) {
	raw, err := r.cached().Load(v.List, "change list")
	if err != nil {
		return nil, err
	}
	rows, err := oplog.ParseShard(raw)
	return memory.RevokedRows(namespace, rows, v.By), err
}

// Unread returns how many revocations of a namespace no host has served yet. Each sync asks for
// them.
func (r *Registry) Unread(namespace string) (int, error) { return r.mem.Unread(namespace) }

// Revoked returns every version of a namespace that was ever seen as revoked or redacted, sorted by
// digest.
func (r *Registry) Revoked(namespace string) ([]revoked.Version, error) {
	return r.mem.Revoked(namespace)
}

// Logged returns the digests of good versions by inactive keys, among the items that were looked at
// here. A retired key is accepted for these versions only. Each is compared with the change list of
// the operation that published it.
func (r *Registry) Logged(ctx context.Context, namespace string) (map[objects.Fingerprint][]objects.Digest, error) {
	s, err := r.View(namespace)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[objects.Fingerprint][]objects.Digest{}
	for _, k := range s.Keys() {
		if k.State != oplog.KeyActive {
			out[k.Public.Fingerprint()] = nil
		}
	}
	repo := r.reading()
	if len(out) == 0 || repo == nil {
		return out, nil
	}
	seen, err := seenShards(repo, namespace)
	if err != nil {
		return nil, err
	}
	for i := range 256 {
		if _, had := seen[seenName(byte(i))]; !had {
			continue
		}
		if !r.o.Offline {
			if err := r.bringShards(ctx, s, []byte{byte(i)}); err != nil {
				return nil, err
			}
		}
		rows, err := s.Catalogue().Rows(byte(i))
		if fault.Is(err, fault.Offline) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if _, retired := out[row.Author]; !retired || row.Status.Gone() || s.Bad(row.Entry) {
				continue
			}
			if err := r.vouched(ctx, s, row.Entry); err != nil {
				return nil, err
			}
			out[row.Author] = append(out[row.Author], row.Sum)
		}
	}
	return out, nil
}
