package share

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// acceptOwners asks a person, or the flag for it, whether a registry's keys own a namespace.
// Without a yes that is a conflict; a command that only looks asks no one.
func acceptOwners(ctx context.Context, s *custody.Desk, ns string, q rye.Question, conflict error) error {
	if s.Looks {
		return fault.New(fault.Untrusted, "%w", conflict).With(q.Mend)
	}
	q.Flags = []string{rye.AcceptOwner + " " + ns}
	err := s.Ask(ctx, q)
	if fault.Is(err, fault.Denied) && !errors.As(err, new(*rye.Unanswered)) {
		return fault.New(fault.Untrusted, "%w", err).With(q.Mend)
	}
	return err
}

// maxShownItems bounds the number of the user's items in a question about a namespace.
const maxShownItems = 5

// agreeToBind asks before a namespace of the user's own is bound to a registry for the first
// time. It is the user's if an item in it has their signature, or if the project declares it.
// There is no question if the user's key is among the registry's.
func agreeToBind(ctx context.Context, s *custody.Desk, reg *registry.Registry, ns string, keys []trust.BoundKey) error {
	st, err := trust.LoadStore(s.TrustPath())
	if err != nil {
		return err
	}
	if _, bound := st.Binding(ns); bound || slices.ContainsFunc(keys, func(k trust.BoundKey) bool { return k.State == trust.Current && inUse(st, k.Key) }) {
		return nil
	}
	own := ownNames{ns: ns, keys: map[string]bool{}}
	if err := own.search(ctx, s); err != nil {
		return err
	}
	if len(own.items) == 0 && !declared(s, ns, keys) {
		return nil
	}
	return acceptOwners(ctx, s, ns, own.question(s, reg, keys), fault.New(fault.Untrusted, "bind %s/ to registry %s: %s", ns, words.Brief(reg.ID().String()), own.why()))
}

// inUse reports whether a key is one that the user signs with.
func inUse(st *trust.Store, k trust.PublicKey) bool {
	return slices.ContainsFunc(st.Own(), func(o trust.OwnKey) bool { return o.Key == k && o.Retired == "" })
}

// declaredIn reports whether an accepted project names a namespace as its own.
func declaredIn(s *session.Session, ns string) bool {
	return s.Project != nil && s.Project.Namespace == ns && s.Trust.Accepted(s.Site())
}

// sameOwners reports whether the registry's owners include every signer that the user granted for
// a namespace in a project, and there is at least one.
func sameOwners(s *custody.Desk, site trust.Site, ns string, keys []trust.BoundKey) bool {
	some := false
	for _, g := range s.Trust.Grants() {
		to, text := g.Cut()
		if g.Kind != trust.GrantSigner || g.Site != site || to != ns {
			continue
		}
		k, err := trust.ParsePublicKey(text)
		if err != nil || !slices.Contains(keys, trust.BoundKey{Key: k, State: trust.Current}) {
			return false
		}
		some = true
	}
	return some
}

// others calls visit with a session of each further accepted directory of this user. It skips
// directories that cannot be opened.
func others(s *custody.Desk, visit func(*session.Session)) {
	all, err := s.Records.All()
	if err != nil {
		return
	}
	for _, k := range all {
		if k.Path == "" || k.Key == s.Place.Key || k.Project == "" || !s.Trust.Accepted(trust.Site{Place: k.Key, Project: k.Project}) {
			continue
		}
		if other, err := s.At(k.Path).OpenProject(); err == nil {
			visit(other)
			other.Close()
		}
	}
}

// declared reports whether an accepted project of this user, here or elsewhere, names a
// namespace as its own, with other owners than the registry's.
func declared(s *custody.Desk, ns string, keys []trust.BoundKey) bool {
	found := declaredIn(s.Session, ns) && !sameOwners(s, s.Site(), ns, keys)
	others(s, func(o *session.Session) {
		found = found || declaredIn(o, ns) && !sameOwners(s, o.Site(), ns, keys)
	})
	return found
}

// ownNames are the items of one namespace with the user's own signature.
type ownNames struct {
	ns    string
	items []string        // where each is, for people
	keys  map[string]bool // the user's keys that signed them
}

// search looks in the user space and the project, with the history in their records, and in the
// present state of the user's further projects.
func (o *ownNames) search(ctx context.Context, s *custody.Desk) error {
	for _, l := range s.Stack.Layers() {
		if err := o.layer(ctx, s.Session, l, l.Ever); err != nil {
			return err
		}
	}
	others(s, func(other *session.Session) {
		_ = o.layer(ctx, other, other.Stack.Project, other.Stack.Project.Recorded) // as far as it can be read
	})
	return ctx.Err()
}

// layer looks through the working files of a space and its record.
func (o *ownNames) layer(ctx context.Context, s *session.Session, l *space.Layer, record func(context.Context, func(string, store.OID) error) error) error {
	own := s.Trust.Own()
	site := s.Site()
	if l.Space == objects.User {
		site = s.Home()
	}
	seen := map[string]bool{}
	judge := func(p string, raw []byte) {
		if seen[p] || !slices.ContainsFunc(own, func(k trust.OwnKey) bool { return bytes.Contains(raw, []byte(k.Key.Fingerprint().URL())) }) {
			return
		}
		it, err := objects.ParseRecorded(p, raw)
		if err != nil || it.Ref.ID.Namespace() != o.ns || it.Signature == nil {
			return
		}
		v, err := trust.Verify(it, s.Stack.Scope(l), s.Trust)
		if err != nil || !s.Trust.IsOwn(v.Key()) || s.Trust.Granted(site.Override(it.Ref, v.Key().Fingerprint())) {
			return // an override of another owner's item is no claim
		}
		if v.Patched() != trust.NoPatch {
			return // and neither is a patch
		}
		seen[p] = true
		o.keys[v.Key().String()] = true
		o.items = append(o.items, it.Ref.String()+" in "+filepath.Dir(l.Dir))
	}
	read := func(p string) {
		if raw, err := l.Read(p); err == nil {
			judge(p, raw)
		}
	}
	foreign, err := l.Files(ctx, func(p string, ref objects.Ref) error {
		if ref.ID.Namespace() == o.ns {
			read(p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, dir := range space.BundlesAmong(foreign) {
		read(dir + "/" + objects.ManifestName)
	}
	repo, err := l.Repo()
	if repo == nil || err != nil {
		return err
	}
	return record(ctx, func(p string, blob store.OID) error {
		if ref, _, err := objects.RefOfPath(p); seen[p] || path.Base(p) != objects.ManifestName && (err != nil || ref.ID.Namespace() != o.ns) {
			return nil
		}
		raw, err := repo.Blob(blob, space.MaxItem)
		if err == nil {
			judge(p, raw)
		} else if !fault.Is(err, fault.Limit) {
			return err
		}
		return nil
	})
}

// why explains why the namespace is the user's.
func (o *ownNames) why() string {
	if len(o.items) == 0 {
		return "one of your projects declares it"
	}
	return "you signed " + words.Plural(len(o.items), "item") + " in it"
}

// question shows both owners.
func (o *ownNames) question(s *custody.Desk, reg *registry.Registry, keys []trust.BoundKey) rye.Question {
	q := rye.Question{Topic: "owners of " + o.ns, Text: "A registry names owners for " + o.ns + "/, and " + o.why() + ". Let its keys own " + o.ns + "/?",
		Mend: fault.Advice("to keep it: rye registry remove, then add with --scope; to give it away: rye fetch %s %s", rye.AcceptOwner, o.ns)}
	yours := slices.Sorted(maps.Keys(o.keys))
	if len(yours) == 0 {
		for _, k := range s.Trust.Own() {
			yours = append(yours, k.Key.String())
		}
	}
	for _, k := range yours {
		q.Lines = append(q.Lines, "you       "+k)
	}
	for i, text := range o.items {
		if i == maxShownItems {
			q.Lines = append(q.Lines, "          … and "+words.Plural(len(o.items)-i, "more item"))
			break
		}
		q.Lines = append(q.Lines, "          "+text)
	}
	name := ""
	for n, c := range projectRegistries(s) {
		if c.ID == reg.ID().String() {
			name = " " + n
		}
	}
	q.Lines = append(q.Lines, "registry "+name+" "+reg.URL(), "          "+reg.ID().String())
	for _, k := range keys {
		q.Lines = append(q.Lines, "its key   "+k.Key.String()+" ("+string(k.State)+")")
	}
	q.Lines = append(q.Lines, "after a yes, your own items in "+o.ns+"/ run as patches, in your copies only")
	return q
}

// projectRegistries are the registries that the project names.
func projectRegistries(s *custody.Desk) map[string]session.Registry {
	if s.Project == nil {
		return nil
	}
	return s.Project.Registries
}
