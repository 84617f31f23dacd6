package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// Some hosts speak version 0 of git's protocol and serve only objects that a ref names. For them a
// registry may ask publishers to push a tag for each version and state. Readers then use the same
// ids as everywhere. Tags prove nothing. Without tags, readers fetch the whole content branch from
// such a host.

// tagsOf returns the prefix of a namespace's tags.
func tagsOf(namespace string) string { return tagPrefix + namespace + "/" }

const tagPrefix = "refs/tags/"

// versionTag returns the tag of a version, and stateTag the tag of the state after an operation. No
// kind of item is called "state".
func versionTag(e *oplog.Entry) string {
	return tagPrefix + e.Ref.Published() + "/v" + e.Version
}

func stateTag(namespace string, seq uint64) string {
	return fmt.Sprintf("%sstate/%d", tagsOf(namespace), seq)
}

// tagsFor adds tags for the versions in an operation and for the state after it. A version that
// cannot be a tag, such as 1.0.0-a.lock, gets none.
func tagsFor(tags map[string]store.OID, after oplog.State, op oplog.Op) {
	tags[stateTag(after.Namespace, after.Seq)] = after.Kept
	for i := range op.Items {
		e := &op.Items[i]
		if name := versionTag(e); !e.Commit.IsZero() && store.CheckRefName(name) == nil {
			tags[name] = e.Commit
		}
	}
}

// tagged is a push with tags: first the content, then the tags, and last the log, whose one update
// decides. Tags from an earlier try are moved.
type tagged struct {
	content, log transport.Update
	prefix       string
	tags         map[string]store.OID
	objects      []store.OID // all new objects
	line         []store.OID // the part of them that the log needs
}

func pushTagged(ctx context.Context, to *mirror, repo *store.Repo, t tagged) error {
	if err := to.remote.PushObjects(ctx, repo, []transport.Update{t.content}, t.objects); err != nil {
		return err
	}
	has, err := to.remote.Refs(ctx, t.prefix)
	if err != nil {
		return err
	}
	var moves []transport.Update
	for _, name := range slices.Sorted(maps.Keys(t.tags)) {
		if has[name] != t.tags[name] {
			moves = append(moves, transport.Update{Name: name, Old: has[name], New: t.tags[name]})
		}
	}
	for some := range slices.Chunk(moves, pushMost) {
		if err := to.remote.PushNames(ctx, repo, some); err != nil {
			return err
		}
	}
	return to.remote.PushObjects(ctx, repo, []transport.Update{t.log}, t.line)
}

// dropTags removes the tags of redacted versions and of states that are no longer kept, so that no
// ref names their bytes.
func (to *mirror) dropTags(ctx context.Context, repo *store.Repo, s oplog.State, keep map[store.OID]bool) error {
	has, err := to.remote.Refs(ctx, tagsOf(s.Namespace))
	if err != nil {
		return err
	}
	var drop []transport.Update
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if !keep[has[name]] && strings.HasPrefix(name, tagsOf(s.Namespace)) {
			drop = append(drop, transport.Update{Name: name, Old: has[name]})
		}
	}
	for some := range slices.Chunk(drop, pushMost) {
		if err := to.remote.PushNames(ctx, repo, some); err != nil {
			return fault.New(fault.CodeOf(err), "rebuild the content of %s: the host keeps tags of removed commits: %w", s.Namespace, err).
				Advise("on the host, let the account that rebuilds delete tags below %s", tagsOf(s.Namespace))
		}
	}
	return nil
}

// WholeFetch describes a fetch of a namespace's whole content before it begins. Hosts do not report
// the number of bytes.
type WholeFetch struct {
	Namespace string
	Versions  uint64 // catalogue lines in the log: about as many versions, plus status changes
}

// wholeRef is where the cache keeps wholly fetched content, so that later fetches receive only
// news.
func wholeRef(namespace string) string { return "refs/rye/whole/" + namespace }

// fetchKept fetches objects by id from any mirror that has them. A host that serves only objects
// named by refs is asked for the commits in kept, which hold them. If that fails, fetchKept fetches
// the whole content branch into the cache; q is then nil.
func (r *Registry) fetchKept(ctx context.Context, repo *store.Repo, namespace string, kept, ids []store.OID, o transport.FetchOptions) (*store.Reader, *store.Quarantine, error) {
	q, err := r.fetch(ctx, namespace, repo, ids, nil, o)
	if err == nil {
		return &q.Reader, q, nil
	}
	switch {
	case !fault.Is(err, fault.NotFound):
		return nil, nil, err
	case !errors.Is(err, transport.ErrNamedOnly):
		return r.fetchBeside(ctx, repo, namespace, ids, err)
	}
	if len(kept) > 0 {
		if q, kerr := r.fetch(ctx, namespace, repo, kept, nil, transport.FetchOptions{}); kerr == nil {
			if hasAll(q.Has, ids) {
				return &q.Reader, q, nil
			}
			q.Discard()
		}
	}
	if werr := r.fetchWhole(ctx, repo, namespace); werr != nil {
		if fault.Is(werr, fault.NotFound) || fault.Is(werr, fault.Network) {
			return nil, nil, err
		}
		return nil, nil, werr
	}
	if !hasAll(repo.Has, ids) {
		return nil, nil, err
	}
	return &repo.Reader, nil, nil
}

// fetchBeside looks for objects that a host denies to have below its content branch: it may be a
// host that serves only named objects without saying so. It keeps only the requested objects. A
// host that hides objects has no such branch.
func (r *Registry) fetchBeside(ctx context.Context, repo *store.Repo, namespace string, ids []store.OID, missing error) (*store.Reader, *store.Quarantine, error) {
	tip := r.contentTip(namespace)
	if tip.IsZero() {
		return nil, nil, missing
	}
	q, err := r.fetch(ctx, namespace, repo, []store.OID{tip}, nil, transport.FetchOptions{})
	if err != nil {
		return nil, nil, missing
	}
	if !hasAll(q.Has, ids) {
		q.Discard()
		return nil, nil, missing
	}
	return &q.Reader, q, nil
}

func hasAll(has func(store.OID) bool, ids []store.OID) bool {
	return !slices.ContainsFunc(ids, func(id store.OID) bool { return !has(id) })
}

// fetchTip fetches the content branch as it is now, if it moved since the host listed it: the host
// serves only objects named by refs. The move is not recorded, because a writer planned by the
// listing.
func (r *Registry) fetchTip(ctx context.Context, m *mirror, repo *store.Repo, namespace string, tip store.OID, have []store.OID) (*store.Quarantine, store.OID, error) {
	for try := 1; ; try++ {
		q, err := r.fetchFrom(ctx, m, repo, []store.OID{tip}, have, transport.FetchOptions{})
		if !errors.Is(err, transport.ErrNamedOnly) || try > maxLost {
			return q, tip, err
		}
		if err := pause(ctx, try, leastPause); err != nil {
			return nil, tip, err
		}
		r.stats.Listings++
		refs, lerr := m.remote.Refs(ctx, contentOf(namespace))
		if lerr != nil {
			return nil, tip, lerr
		}
		now := refs[contentOf(namespace)]
		if now.IsZero() || now == tip {
			return nil, tip, err
		}
		tip = now
	}
}

// fetchWhole fetches the content branch into the cache after asking for permission.
func (r *Registry) fetchWhole(ctx context.Context, repo *store.Repo, namespace string) error {
	m := r.shown[namespace]
	tip := r.contentTip(namespace)
	if m == nil || tip.IsZero() {
		return fault.New(fault.NotFound, "content of %s: no branch keeps it", namespace)
	}
	var have []store.OID
	if old, err := repo.Ref(wholeRef(namespace)); err == nil && repo.Has(old) {
		if old == tip {
			return nil
		}
		have = append(have, old)
	}
	if r.o.Whole != nil {
		if err := r.o.Whole(ctx, WholeFetch{namespace, m.lines[namespace]}); err != nil {
			return err
		}
	}
	q, tip, err := r.fetchTip(ctx, m, repo, namespace, tip, have)
	if err != nil {
		return err
	}
	defer q.Discard()
	if err := q.Connected(ctx, tip); err != nil {
		return fault.New(fault.Network, "content of %s: the registry sent less than its branch names: %w", namespace, err)
	}
	if err := q.Accept(ctx, tip); err != nil {
		return err
	}
	defer q.Release()
	return moveRef(ctx, repo, wholeRef(namespace), tip)
}
