package registry

import (
	"context"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// AskedAt returns when the registry last confirmed the local copy of a namespace ("": the root) as
// the newest; zero if unknown.
func (r *Registry) AskedAt(namespace string) time.Time { return r.mem.AskedAt(namespace) }

// Settle records that the caller compared an object, named by its digest, with everything known
// about the root and namespaces. The result holds until a time; the zero time means forever. If the
// record is lost, the caller compares again.
func (r *Registry) Settle(what objects.Digest, until time.Time, namespaces ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.o.Offline && r.reading() != nil {
		r.mem.Settle(what, until, namespaces)
	}
}

// Unchanged asks the registry whether its root and namespaces are as they were at Settle for the
// same digest. It sends one request and reads only the local tips. It returns false if there is
// news, if nothing was settled, or if the registry has several addresses; then call Sync.
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

// ahead holds the refs of the root and namespaces that the first address just showed.
type ahead struct {
	namespaces []string
	refs       map[string]store.OID // nil: not asked
}
