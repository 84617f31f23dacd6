package share

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/session"
)

// floors are the points that the lock holds of a registry's logs.
func floors(s *Desk, name string) map[string][]registry.Point {
	if s.Lock == nil {
		return nil
	}
	all := map[string][]registry.Point{}
	for ns, n := range s.Lock.Namespaces {
		if n.Registry == name {
			all[ns] = append(all[ns], registry.Point{Seq: n.Seq, Sum: n.SHA256})
		}
	}
	return all
}

// transportOptions says how this user reaches other machines.
func transportOptions(s *Desk) transport.Options {
	o := transport.Options{Token: s.Token, Netrc: s.Netrc, Env: s.Env, Proxy: s.Proxy, Progress: s.Progress, Importer: s.Helper}
	if s.Git != nil {
		o.Git = s.Git()
	}
	return o
}

// openRegistry opens a registry of the project at what the lock already knows of it.
func openRegistry(s *Desk, name string, accepted map[string]uint64) (*registry.Registry, error) {
	c, ok := s.Project.Registries[name]
	if !ok {
		return nil, fault.New(fault.NotFound, "registry %q: not in this project's rye.yaml", name).Mend("rye registry list")
	}
	id, err := objects.ParseDigest(c.ID)
	if err != nil {
		return nil, err
	}
	if _, ok := s.Trust.Registry(c.ID); !ok {
		return nil, fault.New(fault.Untrusted, "registry %s (%s): this project names it, but you have not pinned it", name, c.URL).
			Mend("rye registry add %s --name %s", c.URL, name)
	}
	return registry.Open(registry.Options{
		URL: c.URL, ID: id, Offline: s.Offline,
		CacheDir: filepath.Join(s.CacheDir, "registries"), StateDir: filepath.Join(s.StateDir, "registries"),
		Transport: transportOptions(s), Floors: floors(s, name), AcceptOwners: accepted, Now: s.Now,
	})
}

// RegistryInit makes the root of a registry in an empty repository and pins it for
// this project. The user's key becomes its root key and owns the namespaces named.
func RegistryInit(ctx context.Context, s *Desk, q rye.RegistryInitRequest) (*rye.RegistryInfo, error) {
	if len(q.Namespaces) == 0 && s.Project.Namespace != objects.LocalNamespace {
		q.Namespaces = []string{s.Project.Namespace}
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	o := registry.CreateOptions{Name: cmp.Or(q.Name, "main"), By: by(key), Claims: registry.ClaimsGranted,
		Namespaces: map[string][]trust.PublicKey{}, TempDir: s.CacheDir, Transport: transportOptions(s), Now: s.Now}
	for _, ns := range q.Namespaces {
		o.Namespaces[ns] = []trust.PublicKey{key.Public()}
	}
	if q.Open {
		o.Claims, o.Namespaces = registry.ClaimsOpen, nil
	}
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return nil, err
	}
	if err := makeLocal(q.URL); err != nil {
		return nil, err
	}
	id, err := registry.Create(ctx, q.URL, o)
	if err != nil {
		return nil, err
	}
	return pinRegistry(ctx, s, o.Name, q.URL, id, q.Namespaces)
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
func RegistryAdd(ctx context.Context, s *Desk, q rye.RegistryAddRequest) (*rye.RegistryInfo, error) {
	if s.Offline {
		return nil, fault.New(fault.Offline, "registry add %s: its identity has to be fetched", q.URL).Advise("leave out --offline")
	}
	name := cmp.Or(q.Name, "main")
	told := q.ID != "" // by whoever types this: an answer given beforehand
	if have, ok := s.Project.Registries[name]; ok && !told {
		q.ID = have.ID // what a colleague committed is what must be there
	}
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return nil, err
	}
	id, err := registry.Contact(ctx, q.URL, s.CacheDir, transportOptions(s))
	if err != nil {
		return nil, err
	}
	if q.ID != "" && q.ID != id.ID.String() {
		return nil, fault.New(fault.Untrusted, "registry %s: its identity is %s, expected %s", q.URL, id.ID, q.ID).
			Advise("ask whoever runs it; do not pin it unless both agree")
	}
	if !told && !isPinned(s.Trust, id) {
		if err := s.Ask(ctx, pinQuestion(q.URL, id, q.ID != "")); err != nil {
			return nil, err
		}
	}
	return pinRegistry(ctx, s, name, q.URL, id, q.Scopes)
}

func isPinned(st *trust.Store, id registry.Identity) bool {
	_, ok := st.Registry(id.ID.String())
	return ok
}

func pinQuestion(url string, id registry.Identity, matches bool) rye.Question {
	q := rye.Question{Topic: "pin registry", Text: "Trust " + url + " to say who owns which namespace?",
		Mend: fault.Advice("rye registry add %s --yes, when the identity is the one you were told", url)}
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
func pinRegistry(ctx context.Context, s *Desk, name, url string, id registry.Identity, scopes []string) (*rye.RegistryInfo, error) {
	var roots []objects.Fingerprint
	for _, k := range id.Roots {
		roots = append(roots, k.Fingerprint())
	}
	err := trust.Update(s.TrustPath(), func(st *trust.Store) error {
		if old, ok := st.Registry(id.ID.String()); ok {
			roots = old.Roots // of the same genesis; a sync follows its log, and nothing else does
		}
		return st.PinRegistry(trust.Registry{ID: id.ID.String(), URL: url, Roots: roots})
	})
	if err != nil {
		return nil, err
	}
	alone, release, err := s.Alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	c := alone.Project.Edit()
	if have, ok := c.Registries[name]; ok && have.ID != id.ID.String() {
		return nil, fault.New(fault.Conflict, "registry %q is %s here already", name, have.ID).Advise("rye registry add %s --name <another>", url)
	}
	info := describeRegistry(name, url, id)
	c.Registries[name] = session.Registry{URL: url, ID: info.ID, Roots: info.Roots}
	if len(scopes) == 0 {
		scopes = []string{"*"}
	}
	for _, scope := range scopes {
		if scope != "*" {
			if err := session.CheckNamespace(scope); err != nil {
				return nil, err
			}
		}
		if scope == "*" && id.Claims == registry.ClaimsOpen {
			return nil, fault.New(fault.Denied, "registry %s: anybody may claim a namespace there, so it cannot serve every scope", url).
				Advise("rye registry add %s --scope <namespace>", url)
		}
		if have, ok := c.Scopes[scope]; ok && have != name {
			return nil, fault.New(fault.Conflict, "scope %q comes from registry %q already", scope, have).Advise("rye registry add %s --scope <namespace>", url)
		}
		c.Scopes[scope] = name
	}
	info.Pinned, info.Scopes = true, scopes
	return info, c.Write(s.ProjectDir)
}

func describeRegistry(name, url string, id registry.Identity) *rye.RegistryInfo {
	info := &rye.RegistryInfo{Name: name, URL: url, ID: id.ID.String(), Claims: string(id.Claims)}
	for _, k := range id.Roots {
		info.Roots = append(info.Roots, k.Fingerprint().String())
	}
	return info
}

// RegistryList lists the registries of the project, without the network.
func RegistryList(ctx context.Context, s *Desk) ([]rye.RegistryInfo, error) {
	var all []rye.RegistryInfo
	for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
		all = append(all, registryInfo(s, name))
	}
	return all, nil
}

func registryInfo(s *Desk, name string) rye.RegistryInfo {
	c := s.Project.Registries[name]
	_, pinned := s.Trust.Registry(c.ID)
	info := rye.RegistryInfo{Name: name, URL: c.URL, ID: c.ID, Roots: c.Roots, Pinned: pinned}
	for scope, to := range s.Project.Scopes {
		if to == name {
			info.Scopes = append(info.Scopes, scope)
		}
	}
	sort.Strings(info.Scopes)
	return info
}

// RegistryLog lists the operations of a namespace, newest first, from what this
// machine has verified.
func RegistryLog(ctx context.Context, s *Desk, q rye.RegistryLogRequest) ([]rye.LogEntry, error) {
	name, namespace := q.Registry, cmp.Or(q.Namespace, s.Project.Namespace)
	if name == "" {
		var err error
		if name, _, err = s.Project.RegistryFor(namespace); err != nil {
			return nil, err
		}
	}
	reg, err := sync(ctx, s, name, namespace)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	ops, err := reg.History(ctx, namespace, 0)
	if err != nil {
		return nil, err
	}
	var all []rye.LogEntry
	for _, op := range ops {
		all = append(all, rye.LogEntry{Commit: op.Commit.String(), When: op.Time.UTC().Format(time.RFC3339),
			Author: op.Signer.String(), Subject: op.Text})
	}
	return all, nil
}
