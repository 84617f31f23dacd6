package origin

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// bundle is a bundle of the project with an origin.
type bundle struct {
	name     string // <namespace>/<name>
	dir      string // below .ai
	manifest *objects.Manifest
	pin      pinned
	typed    bool // a person typed the address, here
	signer   string
	hosts    []string // of an archive: other hosts that the user agreed to
}

// bundlesOf returns the bundles of the project that have an origin, sorted by name. A manifest that
// cannot be read is another command's report.
func bundlesOf(ctx context.Context, s *session.Session, st *state) ([]bundle, error) {
	l := s.Stack.Project
	dirs, err := look.BundlesAt(ctx, l, objects.BundlesDir)
	if err != nil {
		return nil, err
	}
	var all []bundle
	for _, dir := range dirs {
		name, ok := nameOf(dir)
		if !ok {
			continue
		}
		m, err := manifestAt(s, dir)
		if err != nil {
			return nil, err
		}
		if m == nil || m.Origin == nil {
			continue
		}
		b := bundle{name: name, dir: dir, manifest: m, pin: pinOf(st, name, m.Origin)}
		known := st.Sources[b.pin.Address]
		b.typed, b.signer, b.hosts = known.Typed, known.Signer, known.Hosts
		all = append(all, b)
	}
	return all, nil
}

// manifestAt reads the manifest in a directory; nil where there is none that can be read.
func manifestAt(s *session.Session, dir string) (*objects.Manifest, error) {
	raw, err := s.Stack.Project.Read(dir + "/" + objects.ManifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil, nil
	}
	return m, nil
}

// pinOf returns what rye remembers about a bundle, as far as it is about this origin; else what the
// manifest states. So a manifest that another person renewed counts with its new commit, and one
// that states another source leads to a question.
func pinOf(st *state, name string, o *objects.Origin) pinned {
	if p, ok := st.Bundles[name]; ok && p.Ref == o.Ref && p.Path == o.Path {
		if src, err := objects.ParseSource(p.Address); err == nil && sourceName(src) == o.Source {
			if p.Commit != o.Commit || p.Commit == "" && p.Tree != o.Tree {
				p.Commit, p.Tree, p.Tip, p.Answer = o.Commit, o.Tree, "", answer{}
			}
			if o.Root+o.Entry+o.Listed != "" {
				p.Root, p.Entry, p.Listed = o.Root, o.Entry, o.Listed
			}
			return p
		}
	}
	return pinned{Address: o.Source, Ref: o.Ref, Commit: o.Commit, Path: o.Path, Tree: o.Tree, Root: o.Root, Entry: o.Entry, Listed: o.Listed}
}

// contactable reports whether the source of a bundle can be asked. A path of this machine is one only
// where a person typed it: a manifest that names one may have come from anywhere.
func (b bundle) contactable() bool {
	src, err := objects.ParseSource(b.pin.Address)
	return err == nil && src.Kind == objects.SourceGit && (!src.Local() || b.typed)
}

// kind is the kind of the source; "" for one that is no source here.
func (b bundle) kind() objects.SourceKind {
	src, err := objects.ParseSource(b.pin.Address)
	if err != nil {
		return ""
	}
	return src.Kind
}

// still reports whether the source of a bundle has no history, and can be read: a site, an archive, or
// a folder where a person typed it.
func (b bundle) still() bool {
	src, err := objects.ParseSource(b.pin.Address)
	if err != nil || b.pin.Commit != "" {
		return false
	}
	switch src.Kind {
	case objects.SourceSite:
		return true
	case objects.SourceFolder, objects.SourceArchive:
		return !src.Local() || b.typed && filepath.IsAbs(src.Address)
	}
	return false
}

// local reports whether the source of a bundle lies on this machine.
func (b bundle) local() bool {
	src, err := objects.ParseSource(b.pin.Address)
	return err == nil && src.Local()
}

// allowed reports whether rye may ask the source of a bundle now: by a grant, or the user's own disk.
func (b bundle) allowed(d *custody.Desk) bool {
	src, err := objects.ParseSource(b.pin.Address)
	return err == nil && (src.Local() && b.typed || granted(d, b.pin.Address))
}

// bySource groups bundles by the address of their source.
func bySource(all []bundle) map[string][]bundle {
	by := map[string][]bundle{}
	for _, b := range all {
		by[b.pin.Address] = append(by[b.pin.Address], b)
	}
	return by
}
