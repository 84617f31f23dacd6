package registry

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// What a log refused for good is remembered beside what was verified of it, before that
// moves on: a file of catalogue lines for each namespace, so that a version that was once
// seen to be revoked is refused without network and whatever becomes of the cache.

// revokedPath returns <state>/<64 hex of the identity>.revoked/<namespace>.jsonl.
func revokedPath(r *Registry, namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".revoked", namespace+".jsonl")
}

// noteRevoked brings the change lists of those operations that refuse versions for good, and
// remembers what they refuse.
func noteRevoked(ctx context.Context, r *Registry, namespace string, ops []Op) error {
	var lists []Address
	var kept []store.OID
	for i := range ops {
		if refusesForGood(ops[i].Kind) && ops[i].Changes.Count > 0 {
			lists, kept = append(lists, ops[i].Changes.Address), append(kept, ops[i].Kept)
		}
	}
	if len(lists) == 0 {
		return nil
	}
	if err := bringBlobs(ctx, r, namespace, "change list", kept, lists); err != nil {
		return err
	}
	var news []*row
	for _, a := range lists {
		raw, err := cached(r).load(a, "change list")
		if err != nil {
			return err
		}
		rows, err := parseShard(raw)
		if err != nil {
			return err
		}
		news = append(news, rows...)
	}
	return rememberRevoked(ctx, r, namespace, news)
}

func refusesForGood(k OpKind) bool { return k == OpRevoke || k == OpRedact || k == OpKeyRevoke }

// rememberRevoked adds lines to the file, of which the newest of a version stays.
func rememberRevoked(ctx context.Context, r *Registry, namespace string, news []*row) error {
	if len(news) == 0 {
		return nil
	}
	path := revokedPath(r, namespace)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.New(fault.Failed, "remember what was revoked: %w", err)
	}
	unlock, err := place.Lock(ctx, memoryPath(r.o.StateDir, r.o.ID)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	rows, err := readRevoked(path)
	if err != nil {
		return err
	}
	d := draft{open: map[byte][]*row{}, wrote: map[string]*row{}}
	for _, n := range append(rows, news...) {
		if n.Status.Gone() {
			d.wrote[n.Name()] = n
		}
	}
	raw := joinRows(d.changes())
	if raw == nil || bytes.Equal(raw, joinRows(rows)) {
		return nil
	}
	return place.File(path, raw, 0o600)
}

// readRevoked reads the file; none is no error, and one that cannot be read is: forgetting
// would let revoked versions back in.
func readRevoked(path string) ([]*row, error) {
	raw, err := place.Read(path, maxShard)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read what was revoked: %w", err)
	}
	rows, err := parseShard(raw)
	if err != nil {
		return nil, fault.New(fault.Integrity, "read what was revoked, %s: %w", path, err).
			Advise("look at the file; without it, what was revoked before counts again until the registry says so anew")
	}
	return rows, nil
}

// Revoked returns every version of a namespace that was seen to be refused for good: their
// Sum is what trust.Store.DenyDigest is to be told, by the caller, so that they are
// refused wherever they are met, without the registry.
func (r *Registry) Revoked(namespace string) ([]Entry, error) {
	if err := CheckNamespace(namespace); err != nil {
		return nil, err
	}
	rows, err := readRevoked(revokedPath(r, namespace))
	var out []Entry
	for _, row := range rows {
		out = append(out, *row.Entry)
	}
	return out, err
}

// Logged returns the digests of the good versions by keys that may sign no more, among the
// items that were looked at here: a key that was retired counts for these and nothing else.
// Each is compared with the change list of the operation that published it.
func Logged(ctx context.Context, r *Registry, namespace string) (map[objects.Fingerprint][]objects.Digest, error) {
	s, err := r.View(namespace)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[objects.Fingerprint][]objects.Digest{}
	for _, k := range s.keys {
		if k.State != KeyActive {
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
			if err := bringShards(ctx, r, s, []byte{byte(i)}); err != nil {
				return nil, err
			}
		}
		rows, err := s.cat.rows(byte(i))
		if fault.Is(err, fault.Offline) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if _, retired := out[row.Author]; !retired || row.Status.Gone() || s.bad(row.Entry) {
				continue
			}
			if err := vouched(ctx, r, s, row.Entry); err != nil {
				return nil, err
			}
			out[row.Author] = append(out[row.Author], row.Sum)
		}
	}
	return out, nil
}
