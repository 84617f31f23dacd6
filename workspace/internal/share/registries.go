package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// defaultName is a project's name for a registry without a given name.
const defaultName = "main"

// CreateRegistry makes the root of a registry in an empty repository and pins it for this
// project. The user's key becomes its root key and owns the given namespaces; by default it
// owns the project's.
func CreateRegistry(ctx context.Context, s *custody.Desk, q rye.RegistryInitRequest) (*rye.RegistryInfo, error) {
	if len(q.Namespaces) == 0 && s.Project.Namespace != objects.LocalNamespace {
		q.Namespaces = []string{s.Project.Namespace}
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	o := registry.CreateOptions{Name: cmp.Or(q.Name, defaultName), By: By(s, key), Claims: oplog.ClaimsGranted, Tags: q.Tags,
		Namespaces: map[string][]trust.PublicKey{}, TempDir: s.CacheDir, Transport: TransportOf(s), Now: s.Now}
	for _, ns := range q.Namespaces {
		o.Namespaces[ns] = []trust.PublicKey{key.Public()}
	}
	if q.Open {
		o.Claims, o.Namespaces = oplog.ClaimsOpen, nil
	}
	// A failure that would come afterwards has to come before anything is made.
	if err := mayGiveScopes(s, s.Trust, q.Namespaces, ""); err != nil {
		return nil, err
	}
	if have, ok := s.Project.Registries[o.Name]; ok {
		return nil, nameTaken(o.Name, have).With(initElse(s.Project.Scopes, q, freeName(s.Project.Registries, o.Name)))
	}
	if scope := firstServed(s.Project.Scopes, q.Namespaces); scope != "" {
		return nil, fault.New(fault.Conflict, "scope %q already comes from registry %q", scope, s.Project.Scopes[scope]).
			With(initElse(s.Project.Scopes, q, o.Name))
	}
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return nil, err
	}
	if err := makeRepository(q.URL); err != nil {
		return nil, err
	}
	id, err := registry.Create(ctx, q.URL, o)
	if err != nil {
		return nil, err
	}
	info, err := pinRegistry(ctx, s, rye.RegistryAddRequest{URL: q.URL, Name: o.Name, Scopes: q.Namespaces}, id)
	if err == nil {
		info.Warnings = append(info.Warnings, headless(ctx, s, q.URL)...)
	}
	return info, err
}

// makeRepository makes an empty repository at an unused path of this machine, so that git need
// not be installed for that. It does not examine an existing one.
func makeRepository(url string) error {
	path, ok := transport.LocalPath(url)
	if !ok || !filepath.IsAbs(path) {
		return nil
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	repo, err := store.Init(path, "refs/heads/main")
	if err != nil {
		return err
	}
	return repo.Close()
}

// headless warns that a clone of the registry checks out nothing, if its HEAD names a missing
// branch. Only the operator of the host can change that.
func headless(ctx context.Context, s *custody.Desk, url string) []string {
	o := TransportOf(s)
	o.ReadOnly = true
	remote, err := transport.Dial(url, o)
	if err != nil {
		return nil
	}
	defer remote.Close()
	refs, err := remote.Refs(ctx, "HEAD", "refs/heads/main")
	if err != nil || !refs["HEAD"].IsZero() || refs["refs/heads/main"].IsZero() {
		return nil
	}
	return []string{"optional, so that git clone checks out main: git symbolic-ref HEAD refs/heads/main, in that repository"}
}

// AddRegistry pins a registry for this project. Its identity and root keys are shown and agreed
// to once, unless q gives the identity, and never change unnoticed. If the project has a
// registry with this name, it must have the same identity.
func AddRegistry(ctx context.Context, s *custody.Desk, q rye.RegistryAddRequest) (*rye.RegistryInfo, error) {
	if s.Offline {
		return nil, fault.New(fault.Offline, "registry add %s: its identity must be fetched from the network", q.URL).Advise("leave out --offline")
	}
	q.Name = cmp.Or(q.Name, defaultName)
	if err := os.MkdirAll(s.CacheDir, 0o700); err != nil {
		return nil, err
	}
	id, err := registry.Contact(ctx, q.URL, s.CacheDir, TransportOf(s))
	if err != nil {
		return nil, err
	}
	if err := asExpected(s, q, id); err != nil {
		return nil, err
	}
	if _, pinned := s.Trust.Registry(id.ID.String()); !pinned && q.ID == "" {
		if err := s.Ask(ctx, pinQuestion(q, id)); err != nil {
			return nil, err
		}
	}
	return pinRegistry(ctx, s, q, id)
}

// asExpected refuses a registry with another identity than the user's or the project's. The
// project's identity alone is no evidence for it: the author of a clone wrote both.
func asExpected(s *custody.Desk, q rye.RegistryAddRequest, id registry.Identity) error {
	have := s.Project.Registries[q.Name]
	who, want := "you gave", q.ID
	if want == "" {
		who, want = "rye.yaml names", have.ID
	}
	if want == "" || want == id.ID.String() {
		return nil
	}
	if q.ID == "" && have.URL != q.URL && !slices.Contains(have.Mirrors, q.URL) { // it is another registry
		return nameTaken(q.Name, have).With(addElse(s.Project.Scopes, q, freeName(s.Project.Registries, q.Name)))
	}
	return fault.New(fault.Untrusted, "registry %s: its identity is %s, but %s %s", q.URL, id.ID, who, want).
		Advise("ask its administrator; do not add it unless both agree")
}

// nameTaken refuses a second registry with the same name.
func nameTaken(name string, have session.Registry) *fault.Error {
	return fault.New(fault.Conflict, "registry %q is already %s here (%s)", name, words.Brief(have.URL), have.ID)
}

// freeName is a similar name that no registry of a project has.
func freeName(have map[string]session.Registry, name string) string {
	for n := 2; ; n++ {
		if free := fmt.Sprintf("%s-%d", name, n); have[free].ID == "" {
			return free
		}
	}
}

// firstServed returns the first of the asked scopes that has a registry, or "".
func firstServed(scopes map[string]string, asked []string) string {
	for _, scope := range scopesAsked(rye.RegistryAddRequest{Scopes: asked}) {
		if _, served := scopes[scope]; served {
			return scope
		}
	}
	return ""
}

// initElse is the hint to make a registry under a name, for another namespace if the asked one
// has a registry.
func initElse(scopes map[string]string, q rye.RegistryInitRequest, name string) fault.Hint {
	if firstServed(scopes, q.Namespaces) == "" {
		return fault.CommandOf(initAgain(q, name)...)
	}
	q.Namespaces = nil
	return fault.Advice("%s --namespace <another namespace>", fault.CommandOf(initAgain(q, name)...))
}

// addElse is the same for a registry that exists.
func addElse(scopes map[string]string, q rye.RegistryAddRequest, name string) fault.Hint {
	if firstServed(scopes, q.Scopes) == "" {
		return fault.CommandOf(addAgain(q, name)...)
	}
	q.Scopes = nil
	return fault.Advice("%s --scope <another namespace>", fault.CommandOf(addAgain(q, name)...))
}

// initAgain is the command to make the same registry under that name.
func initAgain(q rye.RegistryInitRequest, name string) []string {
	line := []string{"rye", "registry", "init", q.URL, "--name", name}
	if q.Open {
		line = append(line, "--open")
	}
	if q.Tags {
		line = append(line, "--tags")
	}
	for _, ns := range q.Namespaces {
		line = append(line, "--namespace", ns)
	}
	return line
}

// addAgain is the command to add the same registry under that name.
func addAgain(q rye.RegistryAddRequest, name string) []string {
	line := []string{"rye", "registry", "add", q.URL}
	if name != defaultName {
		line = append(line, "--name", name)
	}
	for _, scope := range q.Scopes {
		line = append(line, "--scope", scope)
	}
	if q.ID != "" {
		line = append(line, "--identity", q.ID)
	}
	return line
}

func pinQuestion(q rye.RegistryAddRequest, id registry.Identity) rye.Question {
	ask := rye.Question{Topic: "pin registry", Text: "Trust " + q.URL + " to decide who owns which namespace?",
		Lines: []string{"identity " + id.ID.String()},
		Mend:  fault.Advice("%s --yes, if the identity is the one that its owners gave you", fault.CommandOf(addAgain(q, q.Name)...))}
	for _, k := range id.Roots {
		ask.Lines = append(ask.Lines, "root key "+k.String())
	}
	ask.Lines = append(ask.Lines, "claims   "+claimsText(id.Claims))
	for _, scope := range scopesAsked(q) {
		ask.Lines = append(ask.Lines, "used for "+scopeText(scope)+", in this project and your user space")
	}
	return ask
}

// claimsText says who hands out the namespaces of a registry.
func claimsText(c oplog.Claims) string {
	if c == oplog.ClaimsOpen {
		return "open: anyone may claim a free namespace"
	}
	return string(c) + ": the root hands out the namespaces"
}

func scopeText(scope string) string {
	if scope == "*" {
		return "all namespaces"
	}
	return scope + "/"
}

// scopesAsked returns what is to come from a registry that is added: everything, unless
// that was said.
func scopesAsked(q rye.RegistryAddRequest) []string {
	if len(q.Scopes) == 0 {
		return []string{"*"}
	}
	return q.Scopes
}

// pinRegistry writes a registry into the project, and the user's trust in it into the trust
// store. Unlike a clone's rye.yaml, this is the user's own decision.
func pinRegistry(ctx context.Context, s *custody.Desk, q rye.RegistryAddRequest, id registry.Identity) (*rye.RegistryInfo, error) {
	alone, release, err := s.Alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	c := alone.Project.Edit()
	if have, ok := c.Registries[q.Name]; ok && have.ID != id.ID.String() {
		return nil, nameTaken(q.Name, have).With(addElse(c.Scopes, q, freeName(c.Registries, q.Name)))
	}
	info := &rye.RegistryInfo{Name: q.Name, URL: q.URL, ID: id.ID.String(), Claims: string(id.Claims), Roots: Texts(id.Roots),
		Scopes: scopesAsked(q), Pinned: true}
	kept := slices.DeleteFunc(slices.Clone(c.Registries[q.Name].Mirrors), func(url string) bool { return url == q.URL })
	c.Registries[q.Name] = session.Registry{URL: q.URL, Mirrors: kept, ID: info.ID, Roots: info.Roots}
	if err := addScopes(c.Scopes, info); err != nil {
		return nil, err
	}
	if err := trust.Update(s.TrustPath(), func(st *trust.Store) error { return believeRegistry(s, st, id, info) }); err != nil {
		return nil, err
	}
	return info, c.Write(s.ProjectDir)
}

// believeRegistry pins a registry, and grants its address and scopes to this directory and to
// the user space. In the user space a namespace stays with its first registry, and so does
// everything ("*").
func believeRegistry(s *custody.Desk, st *trust.Store, id registry.Identity, info *rye.RegistryInfo) error {
	roots := fingerprints(id.Roots)
	if old, ok := st.Registry(info.ID); ok {
		roots = old.Roots // only a sync changes them, by the log that begins with this identity
	}
	if err := st.PinRegistry(trust.Registry{ID: info.ID, URL: info.URL, Roots: roots}); err != nil {
		return err
	}
	here, home := s.Site(), s.Home()
	grants := []trust.Grant{here.Registry(info.ID, info.URL)}
	if home.Place != "" {
		grants = append(grants, home.Registry(info.ID, info.URL))
	}
	if err := mayGiveScopes(s, st, info.Scopes, info.ID); err != nil {
		return err
	}
	for _, scope := range info.Scopes {
		grants = append(grants, here.Scope(scope, info.ID))
		if home.Place != "" && (scope != "*" || home.RegistryOf(st, scope) == "") {
			grants = append(grants, home.Scope(scope, info.ID))
		}
	}
	return st.Grant(s.Now(), grants...)
}

// mayGiveScopes refuses a namespace that the user gave to another registry, or that is bound to
// one: in all of the user's projects it belongs to one registry. id is "" for a registry that
// does not exist yet.
func mayGiveScopes(s *custody.Desk, st *trust.Store, scopes []string, id string) error {
	for _, scope := range scopes {
		had := ""
		if b, ok := st.Binding(scope); ok {
			had = b.Registry
		}
		for _, r := range st.Registries() {
			if st.Granted(s.Home().Scope(scope, r.ID)) {
				had = r.ID
			}
		}
		if had != "" && had != id && scope != "*" {
			return fault.New(fault.Untrusted, "scope %q: it belongs to registry %s, and a namespace belongs to one registry", scope, words.Brief(had)).
				Advise("use another namespace; or, if you no longer need that registry, rye registry remove %s --everywhere", had)
		}
	}
	return nil
}

// addScopes assigns scopes to a registry.
func addScopes(scopes map[string]string, info *rye.RegistryInfo) error {
	again := addAgain(rye.RegistryAddRequest{URL: info.URL}, info.Name)
	for _, scope := range info.Scopes {
		if scope != "*" {
			if err := session.CheckNamespace(scope); err != nil {
				return err
			}
		} else if info.Claims == string(oplog.ClaimsOpen) {
			return fault.New(fault.Denied, "registry %s: anyone may claim a namespace there, so it cannot serve every scope", info.URL).
				Advise("%s --scope <namespace>", fault.CommandOf(again...))
		}
		if have, ok := scopes[scope]; ok && have != info.Name {
			return fault.New(fault.Conflict, "scope %q already comes from registry %q", scope, have).
				Advise("%s --scope <another namespace>", fault.CommandOf(again...))
		}
		scopes[scope] = info.Name
	}
	return nil
}

// ListRegistries describes the registries of the project, without the network.
func ListRegistries(s *custody.Desk) []rye.RegistryInfo {
	var all []rye.RegistryInfo
	for _, name := range slices.Sorted(maps.Keys(s.Project.Registries)) {
		all = append(all, registryInfo(s, name))
	}
	return all
}

func registryInfo(s *custody.Desk, name string) rye.RegistryInfo {
	c := s.Project.Registries[name]
	_, err := MayReach(s, name)
	return rye.RegistryInfo{Name: name, URL: c.URL, Mirrors: c.Mirrors, ID: c.ID, Roots: c.Roots, Pinned: err == nil, Scopes: scopesOf(s.Project, name)}
}

// NamespaceLog lists the operations of a namespace, newest first, after an update of its log;
// offline as last verified here.
func NamespaceLog(ctx context.Context, s *custody.Desk, q rye.RegistryLogRequest) ([]rye.LogEntry, error) {
	name, namespace := q.Registry, cmp.Or(q.Namespace, s.Project.Namespace)
	if name == "" {
		var err error
		if name, _, err = s.Project.RegistryFor(namespace); err != nil {
			return nil, err
		}
	}
	reg, err := OpenSynced(ctx, s.Looking(), name, namespace)
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
			Author: op.Signer.String(), Subject: op.Text, Seq: op.Seq, Skipped: op.Skipped, Voided: op.Voided, Dropped: op.Dropped})
	}
	return all, nil
}

// Bound returns the registry that a namespace comes from here, by the project and by the user's
// consent. A binding that only a clone states is none.
func Bound(s *custody.Desk, namespace string) (registry string, ok bool) {
	name, c, err := s.Project.RegistryFor(namespace)
	return name, err == nil && s.Site().RegistryOf(s.Trust, namespace) == c.ID
}

// RegistryOf is Bound as a verb: "" where the namespace is bound to no registry.
func RegistryOf(_ context.Context, s *custody.Desk, namespace string) (string, error) {
	if name, ok := Bound(s, namespace); ok {
		return name, nil
	}
	return "", nil
}
