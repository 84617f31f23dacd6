package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// The versions that a log revoked are remembered beside what was verified of it, before that
// moves on: so a version that was once seen to be revoked is refused without network, and
// whatever becomes of the cache. Where a host does not serve the change list of a revocation,
// the list is remembered instead and asked for at each sync: a list that is missing stops
// neither the other revocations nor the log.

// revokedPath is the list of the revoked versions of a namespace.
func (r *Registry) revokedPath(namespace string) string {
	return revoked.Path(r.o.StateDir, r.o.ID, namespace)
}

// unreadPath is the file of the change lists that no host served yet:
// <state>/<64 hex of the identity>.unread/<namespace>.
func (r *Registry) unreadPath(namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".unread", namespace)
}

// maxUnread bounds that file, in bytes: about 30,000 lists.
const maxUnread = 8 << 20

// revocation is the change list of an operation that refuses versions for good.
type revocation struct {
	list oplog.Address
	kept store.OID           // the commit that holds it
	by   objects.Fingerprint // of the key that signed the operation
}

// line returns a revocation as it stands in the file of unread ones.
func (v revocation) line() string {
	return fmt.Sprintf("%s %s %s %s\n", v.list.Sum, v.list.ID, v.kept, v.by)
}

func parseRevocation(line string) (v revocation, err error) {
	f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(f) != 4 {
		return v, fault.New(fault.Malformed, "line %q: %d words, want 4", line, len(f))
	}
	var errs [4]error
	v.list.Sum, errs[0] = objects.ParseDigest(f[0])
	v.list.ID, errs[1] = store.ParseOID(f[1])
	v.kept, errs[2] = store.ParseOID(f[2])
	v.by, errs[3] = objects.ParseFingerprint(f[3])
	if err = errors.Join(errs[:]...); err == nil && v.line() != line {
		err = fault.New(fault.Malformed, "line %q: not as rye writes it", line)
	}
	return v, err
}

func refusesForGood(k oplog.OpKind) bool {
	return k == oplog.OpRevoke || k == oplog.OpRedact || k == oplog.OpKeyRevoke
}

// noteRevoked remembers the versions that operations refuse for good, and those of the lists
// that were not to be had before.
func (r *Registry) noteRevoked(ctx context.Context, namespace string, ops []oplog.Op) error {
	all, err := r.unread(namespace)
	if err != nil {
		return err
	}
	before := len(all)
	for i := range ops {
		if op := &ops[i]; refusesForGood(op.Kind) && op.Changes.Count > 0 {
			all = append(all, revocation{op.Changes.Address, op.Kept, op.Signer.Fingerprint()})
		}
	}
	if len(all) == 0 {
		return nil
	}
	var news []revoked.Version
	var missing []revocation
	_ = r.bringRevocations(ctx, namespace, all) // in one request; what is missing then is asked for alone
	for _, v := range all {
		err := r.bringRevocations(ctx, namespace, []revocation{v})
		var list []revoked.Version
		if err == nil {
			list, err = r.readRevocation(namespace, v)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			missing = append(missing, v)
		}
		news = append(news, list...)
	}
	if err := r.rememberRevoked(ctx, namespace, news); err != nil {
		return err
	}
	if len(missing) == 0 && before == 0 {
		return nil
	}
	return r.keepUnread(namespace, missing)
}

func (r *Registry) bringRevocations(ctx context.Context, namespace string, all []revocation) error {
	var lists []oplog.Address
	var kept []store.OID
	for _, v := range all {
		lists, kept = append(lists, v.list), append(kept, v.kept)
	}
	return bringBlobs(ctx, r, namespace, "change list", kept, lists)
}

// readRevocation reads a change list that is at hand.
func (r *Registry) readRevocation(namespace string, v revocation) ([]revoked.Version, error) {
	raw, err := cached(r).Load(v.list, "change list")
	if err != nil {
		return nil, err
	}
	rows, err := oplog.ParseShard(raw)
	return revokedRows(namespace, rows, v.by), err
}

// revokedRows returns the lines of a namespace that are refused for good.
func revokedRows(namespace string, rows []*oplog.Row, by objects.Fingerprint) (all []revoked.Version) {
	for _, e := range rows {
		if e.Status.Gone() && e.Ref.ID.Namespace() == namespace {
			all = append(all, revoked.Version{Digest: e.Sum, By: by, Name: e.Name(), Reason: e.Reason})
		}
	}
	return all
}

// rememberRevoked adds versions to the list of a namespace. Where that fails they hold until the
// process ends.
func (r *Registry) rememberRevoked(ctx context.Context, namespace string, news []revoked.Version) error {
	if len(news) == 0 {
		return nil
	}
	path := r.revokedPath(namespace)
	unlock, err := place.Lock(ctx, memoryPath(r.o.StateDir, r.o.ID)+".lock")
	if err == nil {
		defer unlock()
		err = revoked.Add(path, news)
	}
	if err != nil {
		revoked.Hold(path, news)
		return fault.New(fault.CodeOf(err), "remember %d revoked versions of %s/: %w", len(news), namespace, err).
			Advise("rye fetch, once %s can be written", filepath.Dir(path))
	}
	return nil
}

// unread returns the revocations whose lists were not to be had.
func (r *Registry) unread(namespace string) (all []revocation, err error) {
	raw, err := place.Read(r.unreadPath(namespace), maxUnread)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read the missing revocations: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		v, err := parseRevocation(line)
		if err != nil {
			return nil, fault.New(fault.Integrity, "read the missing revocations, %s: %w", r.unreadPath(namespace), err).
				Advise("look at the file; without it, nobody asks for these revocations again")
		}
		all = append(all, v)
	}
	return all, nil
}

// keepUnread remembers which lists are to be asked for again. A file that is full loses none
// that it holds: then what is new is an error, and the log is read again.
func (r *Registry) keepUnread(namespace string, all []revocation) error {
	slices.SortFunc(all, func(a, b revocation) int { return strings.Compare(a.line(), b.line()) })
	var text bytes.Buffer
	for _, v := range slices.Compact(all) {
		text.WriteString(v.line())
	}
	if text.Len() > maxUnread {
		return fault.New(fault.Limit, "namespace %s: its host serves none of %d revocations", namespace, len(all)).
			Advise("ask the owners of the registry for its content branch")
	}
	return place.File(r.unreadPath(namespace), text.Bytes(), 0o600)
}

// Unread returns how many revocations of a namespace no host served yet. They are asked for
// at each sync.
func (r *Registry) Unread(namespace string) (int, error) {
	if err := oplog.CheckNamespace(namespace); err != nil {
		return 0, err
	}
	all, err := r.unread(namespace)
	return len(all), err
}

// Revoked returns every version of a namespace that was seen to be revoked or redacted,
// sorted by digest.
func (r *Registry) Revoked(namespace string) ([]revoked.Version, error) {
	if err := oplog.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	return revoked.All(r.revokedPath(namespace))
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
			if err := bringShards(ctx, r, s, []byte{byte(i)}); err != nil {
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
			if err := vouched(ctx, r, s, row.Entry); err != nil {
				return nil, err
			}
			out[row.Author] = append(out[row.Author], row.Sum)
		}
	}
	return out, nil
}
