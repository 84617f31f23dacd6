package objects

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Bounds for a published bundle. They are narrower than those of a bundle in a project. A project
// that adds a bundle keeps all its files, for every version in a lock, and rye reads all of
// them before a tool of the bundle runs.
const (
	MaxPackageFiles = 4096
	MaxPackageFile  = 16 << 20 // bytes
	MaxPackageBytes = 64 << 20 // of all files
)

// BundleRef returns the ref of the bundle with an id: bundle:acme/report for
// acme/bundle/report. For any other id it returns the zero Ref.
func BundleRef(id ID) Ref {
	parts := strings.SplitN(string(id), "/", 3)
	if len(parts) < 3 || parts[1] != string(Bundle) {
		return Ref{}
	}
	return Ref{Kind: Bundle, ID: ID(parts[0] + "/" + parts[2])}
}

// Package returns the ref of the bundle that an item with this ref would belong to, and false
// when no bundle can hold it.
func (r Ref) Package() (Ref, bool) {
	parts := strings.SplitN(string(r.ID), "/", 3)
	if r.Kind == Bundle || len(parts) < 2 || len(parts) == 2 && r.Kind == Config {
		return Ref{}, false
	}
	return Ref{Kind: Bundle, ID: ID(parts[0] + "/" + parts[1])}, true
}

// PackageDir returns the directory below .ai of a bundle, or "" when the ref is not for a
// bundle.
func (r Ref) PackageDir() string {
	if r.Kind != Bundle || strings.Count(string(r.ID), "/") != 1 {
		return ""
	}
	return BundlesDir + "/" + string(r.ID)
}

// PublishedPath returns the slash path below .ai that registries and locks use for an item.
// For a bundle it is the path of its manifest.
func PublishedPath(it *Item) string {
	if dir := it.Ref.PackageDir(); dir != "" {
		return dir + "/" + ManifestName
	}
	return it.Path
}

// RefOfPublished returns the ref for a path in a registry or a lock. It is like RefOfPath, but
// the manifest of a bundle gives the ref of the bundle.
func RefOfPublished(p string) (Ref, error) {
	dir, in := InBundles(p)
	if !in || p != dir+"/"+ManifestName {
		ref, _, err := RefOfPath(p)
		return ref, err
	}
	id, err := BundleID(dir)
	return BundleRef(id), err
}

// ParseRecorded is Parse for a file of a space or its record. For the manifest of a bundle, at
// any path, it returns the manifest's item.
func ParseRecorded(p string, raw []byte) (*Item, error) {
	if path.Base(p) != ManifestName {
		return Parse(p, raw)
	}
	m, err := ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	return m.Item(), nil
}

// ParsePublished is Parse for a file in a registry or a lock. For the manifest of a bundle it
// also checks the path, because the signature does not cover it; another bundle's path is
// fault.Integrity.
func ParsePublished(p string, raw []byte) (*Item, error) {
	if path.Base(p) != ManifestName {
		return Parse(p, raw)
	}
	m, err := ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	if ref, err := RefOfPublished(p); err != nil || ref != m.Ref() {
		return nil, fault.New(fault.Integrity, "%s: it is the manifest of %s", p, m.ID)
	}
	return m.Item(), nil
}

// CheckPackage refuses a manifest that cannot be published. It must name a bundle, have
// files within the bounds, and list no other manifest, which would cover the same files.
func (m *Manifest) CheckPackage() error {
	if m.Ref().PackageDir() == "" {
		return fault.New(fault.Usage, "bundle %s: only a bundle in a directory of its own below bundles/<namespace>/ is published", m.ID).
			Advise("move its directory to .ai/bundles/%s/<name>, and rye sign it there", m.ID.Namespace())
	}
	if n := len(m.Files); n == 0 || n > MaxPackageFiles {
		return fault.New(fault.Limit, "bundle %s: %d files, a registry takes 1 to %d", m.ID, n, MaxPackageFiles)
	}
	total := int64(0)
	for _, f := range m.Files {
		if f.Size > MaxPackageFile {
			return fault.New(fault.Limit, "bundle %s: %s has %d bytes, a registry takes at most %d", m.ID, f.Path, f.Size, MaxPackageFile)
		}
		if total += f.Size; total > MaxPackageBytes {
			return fault.New(fault.Limit, "bundle %s: its files have more than %d bytes, the limit of a registry", m.ID, MaxPackageBytes)
		}
		if path.Base(f.Path) == ManifestName {
			return fault.New(fault.Malformed, "bundle %s: %s is the manifest of another bundle", m.ID, f.Path)
		}
	}
	return nil
}

// Locate returns the path, below the bundle's directory, of the member ref, or "" when there
// is none. Two files with the same ref are fault.Conflict.
func (m *Manifest) Locate(ref Ref) (string, error) {
	found := ""
	for _, f := range m.Files {
		if r, _, err := RefOfPath(m.Ref().PackageDir() + "/" + f.Path); err != nil || r != ref {
			continue
		}
		if found != "" {
			return "", fault.New(fault.Conflict, "bundle %s: %s and %s are both %s", m.ID, found, f.Path, ref)
		}
		found = f.Path
	}
	return found, nil
}

// Members returns the files of a bundle that are valid items, with the bytes from read. Every
// other file is data.
func (m *Manifest) Members(read func(path string) ([]byte, error)) ([]*Item, error) {
	var all []*Item
	for _, f := range m.Files {
		p := m.Ref().PackageDir() + "/" + f.Path
		if _, _, err := RefOfPath(p); err != nil || f.Size > MaxPackageFile {
			continue
		}
		raw, err := read(f.Path)
		if err != nil {
			return nil, err
		}
		if it, err := Parse(p, raw); err == nil && len(it.Validate()) == 0 {
			all = append(all, it)
		}
	}
	return all, nil
}

// Entry returns the member with the bundle's own name, or nil. It prefers knowledge to a
// directive, and a directive to a tool.
func (m *Manifest) Entry(members []*Item) (entry *Item) {
	for _, it := range members {
		if it.Ref.ID == m.Ref().ID && (entry == nil || it.Ref.Kind == Knowledge || entry.Ref.Kind == Tool) {
			entry = it
		}
	}
	return entry
}

// Uses returns the dependencies of a bundle. The range in the manifest has precedence; for
// other items the ranges of all members are joined. The executor of a tool is a dependency in
// any version, if foreign reports that it must come from a registry. Ranges that cannot be
// joined are fault.Conflict; the manifest then has to declare one.
func (m *Manifest) Uses(members []*Item, foreign func(Ref) bool) (map[string]string, error) {
	deps := map[string]string{}
	for _, it := range members {
		asks := maps.Clone(it.Meta.Deps)
		if run := (Ref{Kind: Tool, ID: it.Meta.Executor}); it.Ref.Kind == Tool && run.ID != "" && foreign(run) && asks[run.Published()] == "" {
			if asks == nil {
				asks = map[string]string{}
			}
			asks[run.Published()] = "*"
		}
		if err := m.join(deps, it.Ref, asks); err != nil {
			return nil, err
		}
	}
	maps.Copy(deps, m.Deps)
	if len(deps) > MaxDeps {
		return nil, fault.New(fault.Limit, "bundle %s: it uses %d items of others, at most %d", m.ID, len(deps), MaxDeps)
	}
	if len(deps) == 0 {
		return nil, nil
	}
	return deps, nil
}

// join adds the dependencies of one member, except those in the manifest or in the bundle.
func (m *Manifest) join(deps map[string]string, member Ref, asks map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(asks)) {
		ref, err := ParseRef(name)
		if err != nil {
			return err
		}
		_, said := m.Deps[name]
		if of, in := ref.Package(); said || in && of == m.Ref() || ref == m.Ref() {
			continue
		}
		joined, ok := joinRanges(deps[name], asks[name])
		if !ok {
			return fault.New(fault.Conflict, "bundle %s: %s asks for %s %s, another member for %s", m.ID, member, name, asks[name], deps[name]).
				Advise("write the range that holds for all into deps of .ai/%s/%s, and sign it", m.Ref().PackageDir(), ManifestName)
		}
		deps[name] = joined
	}
	return nil
}

// joinRanges returns a range for the versions that both allow: the comparisons side by side.
// Ranges with alternatives (||) or A - B cannot be joined like this.
func joinRanges(a, b string) (string, bool) {
	switch {
	case a == "" || a == b || a == "*":
		return b, true
	case b == "*":
		return a, true
	}
	for _, s := range []string{a, b} {
		if strings.Contains(s, "||") || strings.Contains(s, " - ") {
			return "", false
		}
	}
	both := a + " " + b
	_, err := ParseRange(both)
	return both, err == nil && len(both) <= maxDepRange
}

// checkDeps refuses too many deps, an entry that is not a published item with a range, and the
// package itself. It also refuses a range that could be written in more than one way in the
// manifest. Unlike depsOf it accepts items in the namespace "local".
func (m *Manifest) checkDeps() error {
	if len(m.Deps) > MaxDeps {
		return fault.New(fault.Limit, "%s: deps name %d items, at most %d", ManifestName, len(m.Deps), MaxDeps)
	}
	for name, rng := range m.Deps {
		ref, err := ParseRef(name)
		if err == nil {
			_, err = ParseRange(rng)
		}
		if err != nil || ref.Published() != name || ref == m.Ref() || len(rng) > maxDepRange || strings.Trim(rng, rangeCharacters) != "" {
			return malformed(ManifestName, 0, 0, "deps: %q: %q: want a published item and a range", words.Brief(name), words.Brief(rng))
		}
	}
	return nil
}

// rangeCharacters are the characters that a range in a manifest may have.
const rangeCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-+*^~<>=| "

func (m *Manifest) appendDeps(b []byte) []byte {
	if len(m.Deps) == 0 {
		return b
	}
	b = append(b, "deps:\n"...)
	for _, name := range slices.Sorted(maps.Keys(m.Deps)) {
		b = fmt.Appendf(b, "  %s: \"%s\"\n", name, m.Deps[name])
	}
	return b
}

// deps reads the rest of the section deps, after its first line, and the line "files:".
func (r *manifestReader) deps() (map[string]string, error) {
	deps, last := map[string]string{}, ""
	for {
		line, ok := r.next()
		name, rng, is := strings.Cut(strings.TrimPrefix(line, "  "), `: "`)
		rng, closed := strings.CutSuffix(rng, `"`)
		switch {
		case ok && line == "files:" && len(deps) > 0:
			return deps, nil
		case !ok || !is || !closed || !strings.HasPrefix(line, "  "):
			return nil, r.bad(`line %q: want acme/tool/lib: "^1.2", or files:`, words.Brief(line))
		case name <= last:
			return nil, r.bad("%q after %q: deps are sorted, each once", words.Brief(name), words.Brief(last))
		case len(deps) == MaxDeps:
			return nil, fault.New(fault.Limit, "%s: deps name more than %d items", ManifestName, MaxDeps)
		}
		deps[name], last = rng, name
	}
}
