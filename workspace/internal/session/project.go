package session

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// ProjectFile and LockFile are the two files of an .ai directory that belong in the user's own
// version control beside the items.
const (
	ProjectFile = "rye.yaml"
	LockFile    = "rye.lock"
)

const (
	maxProjectFile = 256 << 10 // bytes
	maxExports     = 64        // clients
)

// Project is rye.yaml, as docs/format/project.md describes it. A session's Project does not
// change; Edit returns a copy to change and to write.
type Project struct {
	Format     int                 `yaml:"format"`
	Project    string              `yaml:"project"` // genesis id: 32 hexadecimal digits
	Namespace  string              `yaml:"namespace"`
	Registries map[string]Registry `yaml:"registries,omitempty"`
	Scopes     map[string]string   `yaml:"scopes,omitempty"` // namespace or "*" -> registry name
	Overrides  []Override          `yaml:"overrides,omitempty"`
	Deps       map[string]string   `yaml:"deps,omitempty"`    // acme/tool/hello -> range
	Exports    []string            `yaml:"exports,omitempty"` // proposed clients for rye export
}

// Override proposes that items by a key replace one of a reserved or bound namespace.
type Override struct {
	Ref    string `yaml:"ref"`    // kind:id
	Signer string `yaml:"signer"` // SHA256:...
}

// Registry names a registry: the address may change, the identity may not.
type Registry struct {
	URL     string   `yaml:"url"`
	Mirrors []string `yaml:"mirrors,omitempty"` // further addresses, in the order of use
	ID      string   `yaml:"id"`
	Roots   []string `yaml:"roots,omitempty"`
}

// NewProject returns a project with this id, or for "" with one that no other project has.
// It is not written.
func NewProject(namespace, id string) *Project {
	if id == "" {
		var fresh [16]byte
		rand.Read(fresh[:]) // never fails since Go 1.24
		id = hex.EncodeToString(fresh[:])
	}
	return &Project{Format: 1, Project: id, Namespace: namespace}
}

// ReadProject reads the rye.yaml of the project in a directory. No such file is
// fault.NotFound, one that breaks the format fault.Malformed.
func ReadProject(dir string) (*Project, error) {
	ai, err := openAI(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NoProject()
	}
	if err != nil {
		return nil, err
	}
	defer ai.Close()
	return readProject(ai)
}

func readProject(ai place.Folder) (*Project, error) {
	raw, err := ai.Read(ProjectFile, maxProjectFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NoProject()
	}
	if err != nil {
		return nil, err
	}
	project, err := ParseProject(raw)
	if err != nil {
		return nil, fault.New(fault.Malformed, "read %s: %w", filepath.Join(ai.Name(), ProjectFile), err)
	}
	return project, nil
}

// ParseProject parses rye.yaml strictly: an unknown field may be a rule that this program would
// break.
func ParseProject(raw []byte) (*Project, error) {
	var c Project
	if err := objects.DecodeYAML(raw, maxProjectFile, &c); err != nil {
		return nil, err
	}
	if c.Format == 0 {
		return nil, fault.New(fault.Malformed, "it has no format field, so it may have been truncated").Advise("git restore .ai/%s, if git has it", ProjectFile)
	}
	if c.Format != 1 {
		return nil, fault.New(fault.Malformed, "format %d: this rye reads format 1", c.Format).Advise("install a newer rye")
	}
	if b, err := hex.DecodeString(c.Project); err != nil || len(b) != 16 || strings.ToLower(c.Project) != c.Project {
		return nil, fault.New(fault.Malformed, "project %q: want 32 lower-case hexadecimal digits", c.Project)
	}
	if err := CheckNamespace(c.Namespace); err != nil {
		return nil, err
	}
	for name, r := range c.Registries {
		if err := r.check(); err != nil {
			return nil, fault.New(fault.Malformed, "registry %q: %w", name, err)
		}
		if id, err := objects.ParseID(name); err != nil || id.Namespace() != name {
			return nil, fault.New(fault.Malformed, "registry %q: want a name of lower-case letters, digits, _ and -", name)
		}
	}
	for scope, name := range c.Scopes {
		if err := CheckNamespace(scope); err != nil && scope != "*" {
			return nil, fault.New(fault.Malformed, "scope %q: want a namespace or *", scope)
		}
		if _, ok := c.Registries[name]; !ok {
			return nil, fault.New(fault.Malformed, "scope %s names registry %q, which is not listed", scope, name)
		}
	}
	for _, o := range c.Overrides {
		if _, err := o.stated(); err != nil {
			return nil, fault.New(fault.Malformed, "override of %q: %w", o.Ref, err)
		}
	}
	if len(c.Exports) > maxExports {
		return nil, fault.New(fault.Limit, "exports name %d clients, at most %d are allowed", len(c.Exports), maxExports)
	}
	for name, want := range c.Deps {
		if _, err := objects.ParseRef(name); err != nil {
			return nil, fault.New(fault.Malformed, "dependency %q: %w", name, err)
		}
		if _, err := objects.ParseRange(want); err != nil {
			return nil, fault.New(fault.Malformed, "dependency %s: %w", name, err)
		}
	}
	return &c, nil
}

func (r Registry) check() error {
	if r.URL == "" {
		return errors.New("no url")
	}
	if _, err := objects.ParseDigest(r.ID); err != nil {
		return err
	}
	if len(r.Mirrors) > maxMirrors {
		return fmt.Errorf("%d mirrors, at most %d", len(r.Mirrors), maxMirrors)
	}
	for i, url := range r.Mirrors {
		if url == "" || url == r.URL || slices.Contains(r.Mirrors[:i], url) {
			return fmt.Errorf("mirror %q: empty, or listed twice", words.Brief(url))
		}
	}
	for _, root := range r.Roots {
		if _, err := objects.ParseFingerprint(root); err != nil {
			return fmt.Errorf("root %q: %w", root, err)
		}
	}
	return nil
}

// maxMirrors bounds the further addresses of a registry: registry.MaxMirrors.
const maxMirrors = 16

// CheckNamespace refuses what cannot be a namespace with fault.Usage.
func CheckNamespace(ns string) error {
	id, err := objects.ParseID(ns)
	if err != nil || id.Namespace() != ns {
		return fault.New(fault.Usage, "namespace %q: want lower-case letters, digits, _ and -", ns)
	}
	return nil
}

// Edit returns a copy that may be changed and written. None of its maps is nil.
func (p *Project) Edit() Project {
	n := *p
	n.Registries, n.Scopes, n.Deps = copyMap(p.Registries), copyMap(p.Scopes), copyMap(p.Deps)
	n.Overrides = slices.Clone(p.Overrides)
	return n
}

func copyMap[V any](m map[string]V) map[string]V {
	n := make(map[string]V, len(m))
	maps.Copy(n, m)
	return n
}

// Write puts rye.yaml into the project in a directory. Where another process may do the
// same the caller holds the project (Session.Alone).
func (p *Project) Write(dir string) error {
	raw, err := objects.EncodeYAML(p)
	if err != nil {
		return err
	}
	return writeAI(dir, ProjectFile, raw)
}

// RegistryFor returns the one registry of a namespace, and its name here: the namespace's own
// scope decides, else "*". No second registry is ever asked, so none can shadow a name of
// another. Without one the error is fault.NotFound.
func (p *Project) RegistryFor(namespace string) (string, Registry, error) {
	for _, scope := range []string{namespace, "*"} {
		if name, ok := p.Scopes[scope]; ok {
			return name, p.Registries[name], nil
		}
	}
	err := fault.New(fault.NotFound, "no registry for namespace %q", namespace)
	for _, scope := range slices.Sorted(maps.Keys(p.Scopes)) {
		if _, near := words.Near(namespace, scope); near {
			return "", Registry{}, err.Advise("did you mean %s?", scope)
		}
	}
	return "", Registry{}, err.Advise("rye registry add <url>, with the address of the registry of %s", namespace)
}

// OnlyRegistry returns name, or for "" the name of the project's only registry.
func (p *Project) OnlyRegistry(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	names := slices.Sorted(maps.Keys(p.Registries))
	switch len(names) {
	case 0:
		return "", fault.New(fault.NotFound, "this project has no registry").Advise("rye registry add <url>")
	case 1:
		return names[0], nil
	}
	return "", fault.New(fault.Usage, "this project has %d registries; name one", len(names)).Advise("rye registry root show --name %s", names[0])
}
