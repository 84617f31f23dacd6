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
	"github.com/rye-os/rye/objects"
)

// ProjectFile and LockFile are the two files of an .ai directory that belong in
// the user's own version control beside the items.
const (
	ProjectFile = "rye.yaml"
	LockFile    = "rye.lock"
)

const maxProjectFile = 256 << 10

// projectConfig is rye.yaml, as docs/format/project.md describes it.
type Project struct {
	Format     int                 `yaml:"format"`
	Project    string              `yaml:"project"` // genesis id: 32 hexadecimal digits
	Namespace  string              `yaml:"namespace"`
	Registries map[string]Registry `yaml:"registries,omitempty"`
	Scopes     map[string]string   `yaml:"scopes,omitempty"` // namespace or "*" -> registry name
	Deps       map[string]string   `yaml:"deps,omitempty"`   // acme/tool/hello -> range
}

// registryConfig names a registry: the address may change, the identity may not.
type Registry struct {
	URL   string   `yaml:"url"`
	ID    string   `yaml:"id"`
	Roots []string `yaml:"roots,omitempty"`
}

// NewGenesis returns an id for a project that nobody else has.
func NewGenesis() string {
	var b [16]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}

func ReadProject(dir string) (*Project, error) {
	p := filepath.Join(dir, ".ai", ProjectFile)
	raw, err := place.Read(p, maxProjectFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "no project here: no .ai/%s in this directory or above", ProjectFile).Mend("rye init")
	}
	if err != nil {
		return nil, err
	}
	c, err := parseProject(raw)
	if err != nil {
		return nil, fault.New(fault.Malformed, "read %s: %w", p, err)
	}
	return c, nil
}

// parseProject reads rye.yaml strictly: a field that this program does not know
// may be a rule that it would break.
func parseProject(raw []byte) (*Project, error) {
	var c Project
	if err := objects.DecodeYAML(raw, maxProjectFile, &c); err != nil {
		return nil, err
	}
	if c.Format == 0 {
		return nil, fault.New(fault.Malformed, "it says no format, as if it had been emptied").Mend("git restore .ai/%s", ProjectFile)
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
	for _, root := range r.Roots {
		if _, err := objects.ParseFingerprint(root); err != nil {
			return fmt.Errorf("root %q: %w", root, err)
		}
	}
	return nil
}

func CheckNamespace(ns string) error {
	id, err := objects.ParseID(ns)
	if err != nil || id.Namespace() != ns {
		return fault.New(fault.Usage, "namespace %q: want lower-case letters, digits, _ and -", ns)
	}
	return nil
}

func (c *Project) Write(dir string) error {
	raw, err := objects.EncodeYAML(c)
	if err != nil {
		return err
	}
	return place.File(filepath.Join(dir, ".ai", ProjectFile), raw, 0o644)
}

// RegistryFor returns the one registry that a namespace comes from: its own
// scope, else "*". There is no second choice, so nobody can shadow a name.
func (c *Project) RegistryFor(namespace string) (string, Registry, error) {
	for _, scope := range []string{namespace, "*"} {
		if name, ok := c.Scopes[scope]; ok {
			return name, c.Registries[name], nil
		}
	}
	return "", Registry{}, fault.New(fault.NotFound, "no registry is pinned for namespace %q", namespace).
		Advise("rye registry add <url>")
}

// OnlyRegistry returns the name of the registry that is meant; "" will do where
// there is one.
func (c *Project) OnlyRegistry(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	names := slices.Sorted(maps.Keys(c.Registries))
	switch len(names) {
	case 0:
		return "", fault.New(fault.NotFound, "this project has no registry").Advise("rye registry add <url>")
	case 1:
		return names[0], nil
	}
	return "", fault.New(fault.Usage, "this project has %d registries: say which", len(names)).Mend("rye registry root show --name %s", names[0])
}
