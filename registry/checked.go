package registry

import (
	"context"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// AskedAt returns when a registry last showed what is known here of a namespace, "" being its
// root, as the newest; zero where that is not known.
func (r *Registry) AskedAt(namespace string) time.Time { return r.mem.AskedAt(namespace) }

// Settle remembers that something that a caller names by a digest was compared with all that
// is known of the root and of namespaces, and that all is well until a time; the zero time is
// for ever. Where that cannot be kept, it is compared again.
func (r *Registry) Settle(what objects.Digest, until time.Time, namespaces ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.o.Offline && r.reading() != nil {
		r.mem.Settle(what, until, namespaces)
	}
}

// Unchanged asks a registry whether there is anything new in its root and in namespaces since
// they were settled with what the caller names. That is one question, and of what is known
// nothing is read but where it ends. Where something is new, was not settled, or lies at
// several addresses, it is false, and Sync is to be called.
func (r *Registry) Unchanged(ctx context.Context, what objects.Digest, namespaces ...string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.mem.Recall()
	if err != nil || r.o.Offline || len(r.mirrors) != 1 || !r.mem.Settled(m, what, namespaces) {
		return false, err
	}
	at := r.mirrors[0]
	refs, err := r.branchesAt(ctx, at, namespaces, false, toRead)
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
		r.mem.NoteChecked(ns)
		r.mem.NoteAsked(ns)
	}
	return true, nil
}

// ahead is what the first address has just shown of the root and of namespaces.
type ahead struct {
	namespaces []string
	refs       map[string]store.OID // nil: it was not asked
}
