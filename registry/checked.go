package registry

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// checkedPath is a file of the cache whose time is when a registry last showed what is known of
// a namespace, "" being the root, as the newest. It is for telling people how old an answer is.
func checkedPath(r *Registry, namespace string) string {
	return filepath.Join(r.o.CacheDir, r.o.ID.Hex()+".checked", cmp.Or(namespace, ".root"))
}

// noteChecked remembers that a registry was just asked. Where that cannot be kept, nobody is
// told how old an answer is, and nothing else is lost.
func noteChecked(r *Registry, namespace string) {
	path, now := checkedPath(r, namespace), r.o.Now()
	if os.Chtimes(path, now, now) == nil {
		return
	}
	if place.Cache(path, nil, 0o600) == nil {
		_ = os.Chtimes(path, now, now)
	}
}

// AskedAt returns when a registry last showed what is known here of a namespace, "" being its
// root, as the newest; zero where that is not known.
func AskedAt(r *Registry, namespace string) time.Time {
	info, err := os.Stat(checkedPath(r, namespace))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// settledPath is a file of the cache that says with what all that was known of a registry was
// settled, and until when that holds.
func settledPath(r *Registry) string { return filepath.Join(r.cacheDir(), "rye.settled") }

// Settle remembers that something that a caller names by a digest was compared with all that
// is known of the root and of namespaces, and that all is well until a time; the zero time is
// for ever. Where that cannot be kept, it is compared again.
func Settle(r *Registry, what objects.Digest, until time.Time, namespaces ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := recall(r)
	if err != nil || r.o.Offline || r.reading() == nil {
		return
	}
	_ = place.Cache(settledPath(r), []byte(markOf(r, m, what, namespaces)+" "+until.UTC().Format(time.RFC3339)), 0o600)
}

// markOf names something together with what is known of the root and of namespaces, and with
// what was noted of their items.
func markOf(r *Registry, m memory, what objects.Digest, namespaces []string) string {
	text := what.String() + "\n" + m[""].Sum.String()
	for _, ns := range namespaces {
		noted, _ := place.Read(notedPath(r.o.StateDir, r.o.ID, ns), oplog.MaxShard) // there may be none
		text += "\n" + ns + " " + m[ns].Sum.String() + " " + objects.DigestOf(noted).String()
	}
	return objects.DigestOf([]byte(text)).String()
}

// Unchanged asks a registry whether there is anything new in its root and in namespaces since
// they were settled with what the caller names. That is one question, and of what is known
// nothing is read but where it ends. Where something is new, was not settled, or lies at
// several addresses, it is false, and Sync is to be called.
func Unchanged(ctx context.Context, r *Registry, what objects.Digest, namespaces ...string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := recall(r)
	if err != nil || r.o.Offline || len(r.mirrors) != 1 || !isSettled(r, m, what, namespaces) {
		return false, err
	}
	at := r.mirrors[0]
	refs, err := branchesAt(ctx, r, at, namespaces, false, toRead)
	if err != nil {
		return false, err
	}
	r.ahead = ahead{namespaces, refs}
	for _, ns := range append([]string{""}, namespaces...) {
		if refs[branchOf(ns)] != m[ns].Tip {
			return false, nil
		}
	}
	for _, ns := range append([]string{""}, namespaces...) {
		noteChecked(r, ns)
		now := time.Now()
		_ = os.Chtimes(notedPath(r.o.StateDir, r.o.ID, ns), now, now) // there may be none
	}
	return true, nil
}

// ahead is what the first address has just shown of the root and of namespaces.
type ahead struct {
	namespaces []string
	refs       map[string]store.OID // nil: it was not asked
}

func isSettled(r *Registry, m memory, what objects.Digest, namespaces []string) bool {
	raw, err := place.Read(settledPath(r), 1<<10)
	if err != nil {
		return false
	}
	mark, text, _ := strings.Cut(string(raw), " ")
	until, err := time.Parse(time.RFC3339, text)
	return err == nil && mark == markOf(r, m, what, namespaces) && (until.IsZero() || r.o.Now().Before(until))
}
