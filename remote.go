package rye

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/internal/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// transportOptions says how this user reaches other machines.
func (r *Rye) transportOptions() transport.Options {
	return transport.Options{Token: r.o.Token, Netrc: r.o.Netrc, Git: r.o.Git, Env: r.o.Env, Proxy: r.o.Proxy, Progress: r.o.Progress,
		Importer: r.o.Helper}
}

// openRegistry opens a registry of the project at what the lock already knows of it.
func (s *session) openRegistry(name string, accepted map[string]uint64) (*registry.Registry, error) {
	c, ok := s.project.Registries[name]
	if !ok {
		return nil, fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", name).Mend("rye registry list")
	}
	id, err := objects.ParseDigest(c.ID)
	if err != nil {
		return nil, err
	}
	if _, ok := s.trust.Registry(c.ID); !ok {
		return nil, fault.New(fault.Untrusted, "registry %s (%s): this project names it, but you have not pinned it", name, c.URL).
			Mend("rye registry add %s --name %s", c.URL, name)
	}
	return registry.Open(registry.Options{
		URL: c.URL, ID: id, Offline: s.r.o.Offline,
		CacheDir: filepath.Join(s.r.o.CacheDir, "registries"), StateDir: filepath.Join(s.r.o.StateDir, "registries"),
		Transport: s.r.transportOptions(), Floors: s.floors(name), AcceptOwners: accepted, Now: s.r.o.Now,
	})
}

// RegistryInit makes the root of a registry in an empty repository and pins it for
// this project. The user's key becomes its root key and owns the namespaces named.
func (r *Rye) RegistryInit(ctx context.Context, q RegistryInitRequest) (*RegistryInfo, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if len(q.Namespaces) == 0 && s.project.Namespace != objects.LocalNamespace {
		q.Namespaces = []string{s.project.Namespace}
	}
	key, err := r.signerFor(ctx)
	if err != nil {
		return nil, err
	}
	o := registry.CreateOptions{Name: orDefault(q.Name, "main"), By: by(key), Claims: registry.ClaimsGranted,
		Namespaces: map[string][]trust.PublicKey{}, TempDir: r.o.CacheDir, Transport: r.transportOptions(), Now: r.o.Now}
	for _, ns := range q.Namespaces {
		o.Namespaces[ns] = []trust.PublicKey{key.Public()}
	}
	if q.Open {
		o.Claims, o.Namespaces = registry.ClaimsOpen, nil
	}
	if err := os.MkdirAll(r.o.CacheDir, 0o700); err != nil {
		return nil, err
	}
	if err := makeLocal(q.URL); err != nil {
		return nil, err
	}
	id, err := registry.Create(ctx, q.URL, o)
	if err != nil {
		return nil, err
	}
	return s.pinRegistry(o.Name, q.URL, id, q.Namespaces)
}

// makeLocal makes an empty repository where a registry shall lie in a directory of
// this machine that does not exist: git need not be installed for that.
func makeLocal(url string) error {
	if !filepath.IsAbs(url) {
		return nil
	}
	if _, err := os.Lstat(url); !errors.Is(err, fs.ErrNotExist) {
		return nil // what is there is judged by whoever opens it
	}
	repo, err := store.Init(url, "refs/heads/main")
	if err != nil {
		return err
	}
	return repo.Close()
}

// RegistryAdd pins a registry for this project: its identity and root keys are
// shown and agreed to once, or given beforehand, and never change unnoticed.
func (r *Rye) RegistryAdd(ctx context.Context, q RegistryAddRequest) (*RegistryInfo, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if r.o.Offline {
		return nil, fault.New(fault.Offline, "registry add %s: its identity has to be fetched", q.URL).Mend("leave out --offline")
	}
	name := orDefault(q.Name, "main")
	told := q.ID != "" // by whoever types this: an answer given beforehand
	if have, ok := s.project.Registries[name]; ok && !told {
		q.ID = have.ID // what a colleague committed is what must be there
	}
	if err := os.MkdirAll(r.o.CacheDir, 0o700); err != nil {
		return nil, err
	}
	id, err := registry.Contact(ctx, q.URL, r.o.CacheDir, r.transportOptions())
	if err != nil {
		return nil, err
	}
	if q.ID != "" && q.ID != id.ID.String() {
		return nil, fault.New(fault.Untrusted, "registry %s: its identity is %s, expected %s", q.URL, id.ID, q.ID).
			Mend("ask whoever runs it; do not pin it unless both agree")
	}
	if !told && !isPinned(s.trust, id) {
		if err := r.ask(ctx, pinQuestion(q.URL, id, q.ID != "")); err != nil {
			return nil, err
		}
	}
	return s.pinRegistry(name, q.URL, id, q.Scopes)
}

func isPinned(st *trust.Store, id registry.Identity) bool {
	_, ok := st.Registry(id.ID.String())
	return ok
}

func pinQuestion(url string, id registry.Identity, matches bool) Question {
	q := Question{Topic: "pin registry", Text: "Trust " + url + " to say who owns which namespace?",
		Mend: "rye registry add " + url + " --yes, when the identity is the one you were told"}
	q.Lines = append(q.Lines, "identity "+id.ID.String())
	if matches {
		q.Lines[0] += " (as expected)"
	}
	for _, k := range id.Roots {
		q.Lines = append(q.Lines, "root key "+k.Fingerprint().String())
	}
	q.Lines = append(q.Lines, "claims   "+string(id.Claims))
	return q
}

// pinRegistry writes a registry into the user's trust store and the project.
func (s *session) pinRegistry(name, url string, id registry.Identity, scopes []string) (*RegistryInfo, error) {
	var roots []objects.Fingerprint
	for _, k := range id.Roots {
		roots = append(roots, k.Fingerprint())
	}
	err := trust.Update(s.r.trustPath(), func(st *trust.Store) error {
		if old, ok := st.Registry(id.ID.String()); ok {
			roots = old.Roots // of the same genesis; a sync follows its log, and nothing else does
		}
		return st.PinRegistry(trust.Registry{ID: id.ID.String(), URL: url, Roots: roots})
	})
	if err != nil {
		return nil, err
	}
	release, err := s.alone(context.Background()) // nobody holds it for long
	if err != nil {
		return nil, err
	}
	defer release()
	c := s.project
	if c.Registries == nil {
		c.Registries = map[string]registryConfig{}
	}
	if c.Scopes == nil {
		c.Scopes = map[string]string{}
	}
	if have, ok := c.Registries[name]; ok && have.ID != id.ID.String() {
		return nil, fault.New(fault.Conflict, "registry %q is %s here already", name, have.ID).Mend("rye registry add %s --name <another>", url)
	}
	info := describeRegistry(name, url, id)
	c.Registries[name] = registryConfig{URL: url, ID: info.ID, Roots: info.Roots}
	if len(scopes) == 0 {
		scopes = []string{"*"}
	}
	for _, scope := range scopes {
		if scope != "*" {
			if err := checkNamespace(scope); err != nil {
				return nil, err
			}
		}
		if scope == "*" && id.Claims == registry.ClaimsOpen {
			return nil, fault.New(fault.Denied, "registry %s: anybody may claim a namespace there, so it cannot serve every scope", url).
				Mend("rye registry add %s --scope <namespace>", url)
		}
		if have, ok := c.Scopes[scope]; ok && have != name {
			return nil, fault.New(fault.Conflict, "scope %q comes from registry %q already", scope, have).Mend("rye registry add %s --scope <namespace>", url)
		}
		c.Scopes[scope] = name
	}
	info.Pinned, info.Scopes = true, scopes
	return info, c.write(s.r.o.Project)
}

func describeRegistry(name, url string, id registry.Identity) *RegistryInfo {
	info := &RegistryInfo{Name: name, URL: url, ID: id.ID.String(), Claims: string(id.Claims)}
	for _, k := range id.Roots {
		info.Roots = append(info.Roots, k.Fingerprint().String())
	}
	return info
}

func orDefault(s, d string) string {
	if s == "" {
		return d
	}
	return s
}

// RegistryList lists the registries of the project, without the network.
func (r *Rye) RegistryList(ctx context.Context) ([]RegistryInfo, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []RegistryInfo
	for _, name := range sortedNames(s.project.Registries) {
		all = append(all, s.registryInfo(name))
	}
	return all, nil
}

func (s *session) registryInfo(name string) RegistryInfo {
	c := s.project.Registries[name]
	_, pinned := s.trust.Registry(c.ID)
	info := RegistryInfo{Name: name, URL: c.URL, ID: c.ID, Roots: c.Roots, Pinned: pinned}
	for scope, to := range s.project.Scopes {
		if to == name {
			info.Scopes = append(info.Scopes, scope)
		}
	}
	sort.Strings(info.Scopes)
	return info
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Fetch brings what this machine knows of the project's registries up to date,
// verified, and changes nothing in the project.
func (r *Rye) Fetch(ctx context.Context) ([]RegistryInfo, error) { return r.syncRegistries(ctx, "") }

// RegistryVerify fetches one registry, or all, and replays what is new of their
// logs. Whatever does not follow from what was seen before is an error.
func (r *Rye) RegistryVerify(ctx context.Context, name string) ([]RegistryInfo, error) {
	return r.syncRegistries(ctx, name)
}

func (r *Rye) syncRegistries(ctx context.Context, only string) ([]RegistryInfo, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if only != "" {
		if _, ok := s.project.Registries[only]; !ok {
			return nil, fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", only).Mend("rye registry list")
		}
	}
	var all []RegistryInfo
	for _, name := range sortedNames(s.project.Registries) {
		if only != "" && name != only {
			continue
		}
		info, err := s.syncRegistry(ctx, name)
		if err != nil {
			return all, err
		}
		all = append(all, info)
	}
	return all, nil
}

func (s *session) syncRegistry(ctx context.Context, name string) (RegistryInfo, error) {
	info := s.registryInfo(name)
	namespaces := s.namespacesOf(name)
	reg, err := s.sync(ctx, name, namespaces...)
	if err != nil {
		return info, err
	}
	defer reg.Close()
	root, err := reg.Root(ctx)
	if err != nil {
		return info, err
	}
	if err := s.followRoots(reg.ID(), root); err != nil {
		return info, err
	}
	info.Seen = map[string]uint64{}
	for _, ns := range namespaces {
		st, err := reg.View(ns)
		if fault.Is(err, fault.NotFound) {
			continue // not claimed yet
		}
		if err != nil {
			return info, err
		}
		info.Seen[ns] = st.Seq
		if err := s.bind(reg, ns); err != nil {
			return info, err
		}
	}
	return info, nil
}

// namespacesOf lists the namespaces that this project has to do with in a registry.
func (s *session) namespacesOf(name string) []string {
	set := map[string]bool{}
	note := func(ns string) {
		if to, _, err := s.project.registryFor(ns); err == nil && to == name {
			set[ns] = true
		}
	}
	for scope := range s.project.Scopes {
		if scope != "*" {
			note(scope)
		}
	}
	for dep := range s.project.Deps {
		if ref, err := objects.ParseRef(dep); err == nil {
			note(ref.ID.Namespace())
		}
	}
	if s.project.Namespace != objects.LocalNamespace {
		note(s.project.Namespace)
	}
	return sortedNames(set)
}

// bind tells the trust store what the log of a namespace says: whose keys it has,
// and which published bytes were taken back, so that both hold offline too.
func (s *session) bind(reg *registry.Registry, ns string) error {
	b, err := reg.Binding(ns)
	if err != nil {
		return err
	}
	revoked, err := reg.Revoked(ns)
	if err != nil {
		return err
	}
	err = trust.Update(s.r.trustPath(), func(t *trust.Store) error {
		for _, e := range revoked {
			if err := t.DenyDigest(e.Sum, e.Name()+" was revoked: "+e.Reason); err != nil {
				return err
			}
		}
		return t.BindNamespace(ns, reg.ID().String(), b.Bound()...)
	})
	if err != nil {
		return err
	}
	return s.reloadTrust()
}

// sync brings a namespace up to date. When its registry gave it to other owners,
// a person has to agree before their word counts.
func (s *session) sync(ctx context.Context, name string, namespaces ...string) (*registry.Registry, error) {
	accepted := map[string]uint64{}
	for {
		reg, err := s.openRegistry(name, accepted)
		if err != nil {
			return nil, err
		}
		err = reg.Sync(ctx, namespaces...)
		if err == nil {
			return reg, nil
		}
		reg.Close()
		var changed *registry.OwnerError
		if !errors.As(err, &changed) || accepted[changed.Namespace] == changed.Grant {
			return nil, err
		}
		if err := s.r.ask(ctx, ownerQuestion(name, changed)); err != nil {
			return nil, err
		}
		accepted[changed.Namespace] = changed.Grant
	}
}

func ownerQuestion(name string, e *registry.OwnerError) Question {
	q := Question{Topic: "owners of " + e.Namespace, Text: "Registry " + name + " gave the namespace " + e.Namespace + " to other keys. Follow it?",
		Mend: "rye fetch --yes, after asking whoever owned it"}
	for _, k := range e.Keys {
		q.Lines = append(q.Lines, "now "+k.Fingerprint().String())
	}
	return q
}

// by names the signer of an operation for git.
func by(key trust.Signer) registry.By {
	return registry.By{Signer: key, Who: author(key.Public())}
}

func (s *session) reloadTrust() error {
	t, err := trust.LoadStore(s.r.trustPath())
	if err != nil {
		return err
	}
	s.trust, s.stack.Trust = t, t
	return nil
}

// RegistryLog lists the operations of a namespace, newest first, from what this
// machine has verified.
func (r *Rye) RegistryLog(ctx context.Context, name, namespace string) ([]LogEntry, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if namespace == "" {
		namespace = s.project.Namespace
	}
	if name == "" {
		if name, _, err = s.project.registryFor(namespace); err != nil {
			return nil, err
		}
	}
	reg, err := s.sync(ctx, name, namespace)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	ops, err := reg.History(ctx, namespace, 0)
	if err != nil {
		return nil, err
	}
	var all []LogEntry
	for _, op := range ops {
		all = append(all, LogEntry{Commit: op.Commit.String(), When: op.Time.UTC().Format("2006-01-02T15:04:05Z"),
			Author: op.Signer.String(), Subject: op.Text})
	}
	return all, nil
}

// Push publishes items of one namespace: verified here, one signed operation of up
// to 256 items, one ref update. What is published already, byte for byte, is left.
func (r *Rye) Push(ctx context.Context, q PushRequest) (*PushReport, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	items, ns, err := s.publishable(ctx, q)
	if err != nil {
		return nil, err
	}
	name, _, err := s.project.registryFor(ns)
	if err != nil {
		return nil, err
	}
	if q.Registry != "" && q.Registry != name {
		return nil, fault.New(fault.Conflict, "push %s: the scope of namespace %q is registry %q, not %q", ns, ns, name, q.Registry).Mend("rye push")
	}
	key, err := r.signerFor(ctx)
	if err != nil {
		return nil, err
	}
	reg, err := s.openRegistry(name, nil)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	r.progress(fmt.Sprintf("publishing %s to %s", plural(len(items), "item"), name))
	rec, err := reg.Publish(ctx, registry.Publication{Namespace: ns, Items: items, By: by(key), DryRun: q.DryRun})
	if err != nil {
		return nil, err
	}
	rep := &PushReport{Registry: name, Namespace: ns, Seq: rec.Tip.Seq, DryRun: q.DryRun,
		Published: names(rec.Published), Unchanged: names(rec.Unchanged)}
	if !rec.Tip.Tip.IsZero() {
		rep.Tip = rec.Tip.Tip.String()
	}
	if q.DryRun {
		return rep, nil
	}
	return rep, s.bind(reg, ns)
}

func names(all []registry.Release) []string {
	out := make([]string, 0, len(all))
	for _, rel := range all {
		out = append(out, rel.Name())
	}
	return out
}

// publishable resolves what to push to verified items of one namespace that the
// project itself holds.
func (s *session) publishable(ctx context.Context, q PushRequest) ([]registry.Item, string, error) {
	refs, err := s.targets(ctx, s.stack.Project, q.Targets, false)
	if err == nil && q.All {
		refs, err = s.targets(ctx, s.stack.Project, []string{"*:" + s.project.Namespace + "/*"}, false)
	}
	if err != nil {
		return nil, "", err
	}
	if len(refs) == 0 {
		return nil, "", fault.New(fault.Usage, "push: nothing named").Mend("rye push <ref>, or rye push --all")
	}
	ns := refs[0].ID.Namespace()
	for _, ref := range refs {
		if got := ref.ID.Namespace(); got != ns {
			return nil, "", fault.New(fault.Usage, "push: %s and %s are of two namespaces", refs[0], ref).Mend("push them one after the other")
		}
	}
	items, errs := make([]registry.Item, len(refs)), make([]error, len(refs))
	err = each(ctx, len(refs), func(i int) error { items[i], errs[i] = s.publishOne(ctx, refs[i]); return nil })
	if err != nil {
		return nil, "", err
	}
	if ns == objects.LocalNamespace {
		return nil, "", fault.New(fault.Usage, "push: items of the namespace %q belong to this project and are never published", ns).Mend("rye mv them to a namespace of yours")
	}
	return items, ns, errors.Join(errs...)
}

// publishOne verifies an item that is to be published.
func (s *session) publishOne(ctx context.Context, ref objects.Ref) (registry.Item, error) {
	f, ok, err := s.stack.In(ctx, objects.Project, ref)
	switch {
	case err != nil:
	case !ok || f.Registry != "":
		err = fault.New(fault.NotFound, "push %s: this project holds no such item of its own", ref).Mend("rye list --space project")
	default:
		err = f.Err
	}
	if err != nil {
		return registry.Item{}, err
	}
	return registry.Item{Verified: f.Verified, Meta: registry.Meta{
		Description: registry.Plain(f.Item.Meta.Description, registry.MaxDescription), Caps: chain.CapabilityDigest(f.Item)}}, nil
}
