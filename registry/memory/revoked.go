package memory

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

// Revoked versions are recorded beside the verified points, before these move on. So a version once
// seen as revoked is refused without network, even if the cache is gone. If a host does not serve
// the change list of a revocation, the list's address is recorded and asked for at each sync. A
// missing list stops neither other revocations nor the log.

// revokedPath is the list of revoked versions of a namespace.
func (r *Memory) revokedPath(namespace string) string {
	return revoked.Path(r.o.StateDir, r.o.ID, namespace)
}

// unreadPath is the file of change lists that no host has served yet: <state>/<64 hex of the
// identity>.unread/<namespace>.
func (r *Memory) unreadPath(namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".unread", namespace)
}

// maxUnread bounds that file, in bytes: about 30,000 lists.
const maxUnread = 8 << 20

// A Revocation is the change list of an operation that refuses versions for good.
type Revocation struct {
	List oplog.Address
	Kept store.OID           // the commit with the list
	By   objects.Fingerprint // the key that signed the operation
}

// line returns a revocation as one line of the unread file.
func (v Revocation) line() string {
	return fmt.Sprintf("%s %s %s %s\n", v.List.Sum, v.List.ID, v.Kept, v.By)
}

func parseRevocation(line string) (v Revocation, err error) {
	f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	if len(f) != 4 {
		return v, fault.New(fault.Malformed, "line %q: %d words, want 4", line, len(f))
	}
	var errs [4]error
	v.List.Sum, errs[0] = objects.ParseDigest(f[0])
	v.List.ID, errs[1] = store.ParseOID(f[1])
	v.Kept, errs[2] = store.ParseOID(f[2])
	v.By, errs[3] = objects.ParseFingerprint(f[3])
	if err = errors.Join(errs[:]...); err == nil && v.line() != line {
		err = fault.New(fault.Malformed, "line %q: not as rye writes it", line)
	}
	return v, err
}

// RefusesForGood reports whether operations of a kind refuse versions for good.
func RefusesForGood(k oplog.OpKind) bool {
	return k == oplog.OpRevoke || k == oplog.OpRedact || k == oplog.OpKeyRevoke
}

// RevokedRows returns the versions of a namespace in rows that are refused for good.
func RevokedRows(namespace string, rows []*oplog.Row, by objects.Fingerprint) (all []revoked.Version) {
	for _, e := range rows {
		if e.Status.Gone() && e.Ref.ID.Namespace() == namespace {
			all = append(all, revoked.Version{Digest: e.Sum, By: by, Name: e.Name(), Reason: e.Reason})
		}
	}
	return all
}

// RememberRevoked adds versions to the list of a namespace. If that fails, they stay revoked until
// the process ends.
func (r *Memory) RememberRevoked(ctx context.Context, namespace string, news []revoked.Version) error {
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

// Missing returns the revocations whose lists no host has served yet.
func (r *Memory) Missing(namespace string) (all []Revocation, err error) {
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
				Advise("look at the file; without it, rye never fetches these revocations")
		}
		all = append(all, v)
	}
	return all, nil
}

// KeepUnread drops lists that were read and adds the lists to ask for again. Lines that other
// processes wrote in between stay. It refuses to write more than the file can hold and keeps the
// old file; the log is then read again.
func (r *Memory) KeepUnread(ctx context.Context, namespace string, read, missing []Revocation) error {
	unlock, err := place.Lock(ctx, memoryPath(r.o.StateDir, r.o.ID)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := r.Missing(namespace)
	if err != nil {
		return err
	}
	all = append(slices.DeleteFunc(all, func(v Revocation) bool { return slices.Contains(read, v) }), missing...)
	slices.SortFunc(all, func(a, b Revocation) int { return strings.Compare(a.line(), b.line()) })
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

// Unread returns how many revocations of a namespace no host has served yet. Each sync asks for
// them.
func (r *Memory) Unread(namespace string) (int, error) {
	if err := oplog.CheckNamespace(namespace); err != nil {
		return 0, err
	}
	all, err := r.Missing(namespace)
	return len(all), err
}

// Revoked returns every version of a namespace that was ever seen as revoked or redacted, sorted by
// digest.
func (r *Memory) Revoked(namespace string) ([]revoked.Version, error) {
	if err := oplog.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	return revoked.All(r.revokedPath(namespace))
}
