package chain

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// Tree is the files of one space at one time: a working tree, a recorded tree, or the standard
// library. Paths are slash paths below .ai.
type Tree interface {
	// Bundle returns the verified bundle nearest to the file at p, and its directory. The
	// directory is "" when the file is in no bundle.
	Bundle(ctx context.Context, p string) (b trust.Bundle, dir string, err error)
	// Below lists the files below dir. items are the paths of items; others maps each other path
	// to the reason why it cannot be an item.
	Below(ctx context.Context, dir string) (items []string, others map[string]error, err error)
	// Names lists the files and directories in dir. A directory's name ends in "/". Links and
	// ignored names are left out.
	Names(ctx context.Context, dir string) ([]string, error)
	// Item returns the verified item at p, a file outside of bundles. It returns zero when the
	// file no longer exists.
	Item(ctx context.Context, p string) (trust.Verified, error)
	// Read returns the bytes of the file at p, unverified.
	Read(p string) ([]byte, error)
	// CheckLine verifies the signature line inside data, the file of a bundle at p. It returns
	// nil when data is no item.
	CheckLine(ctx context.Context, p string, data []byte) error
}

// maxBundle is the most bytes that a bundle, or the parts of a tool, may bring into one run.
const maxBundle = 256 << 20

// Around returns the files of a tree that a tool can load beside its own file. These are the whole
// bundle of the tool and the files that d covers. A tool outside of bundles also loads the files of
// its directory that it names. Each is verified. Around fails at the first file that does not verify, and when a bundle has a
// missing or an extra file.
func Around(ctx context.Context, t Tree, tool trust.Verified, d Deps) (all []Source, err error) {
	own := tool.Item().Path
	b, dir, err := t.Bundle(ctx, own)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		if all, err = wholeBundle(ctx, t, b, dir, own); err != nil {
			return nil, err
		}
	}
	if d.Dir != "" {
		more, err := beside(ctx, t, own, dir, d)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if dir != "" {
		return all, nil
	}
	named, err := partsOf(ctx, t, tool, all)
	return append(all, named...), err
}

// wholeBundle returns every file of the bundle in dir but the tool's own.
func wholeBundle(ctx context.Context, t Tree, b trust.Bundle, dir, own string) (all []Source, err error) {
	size := int64(0)
	err = b.Read(func(f objects.File, data []byte) error {
		if size += f.Size; size > maxBundle {
			return fault.New(fault.Limit, "bundle %s: more than %d bytes", b.ID(), maxBundle)
		}
		p := dir + "/" + f.Path
		if p == own {
			return nil
		}
		all = append(all, Source{Path: p, Data: data, Exec: f.Executable, Sum: f.Sum, Patch: b.Patched()})
		return checkLine(ctx, t, p, data)
	})
	return all, err
}

// beside returns the files that d covers, except the files of the bundle in dir, which is the
// tool's own.
func beside(ctx context.Context, t Tree, own, dir string, d Deps) ([]Source, error) {
	items, others, err := t.Below(ctx, d.Dir)
	if err != nil {
		return nil, err
	}
	if d, items, others, err = packaged(ctx, t, own, d, items, others); err != nil {
		return nil, err
	}
	unwanted := func(p string) bool {
		return p == own || !d.covers(p) || dir != "" && strings.HasPrefix(p, dir+"/")
	}
	items = slices.DeleteFunc(items, unwanted)
	if !d.marked(append(slices.Clone(items), own)) {
		return nil, nil
	}
	maps.DeleteFunc(others, func(p string, _ error) bool { return unwanted(p) })
	var all []Source
	for _, p := range slices.Sorted(slices.Values(slices.AppendSeq(items, maps.Keys(others)))) {
		src, err := one(ctx, t, p, others[p])
		if err != nil {
			return nil, err
		}
		if src.Path != "" {
			all = append(all, src)
		}
	}
	return all, nil
}

// packaged widens d to the whole package around its directory. While the directory above also
// holds a marker, the tool can load files from there (import ..x). The widest directory is a
// namespace's own.
func packaged(ctx context.Context, t Tree, own string, d Deps, items []string, others map[string]error) (Deps, []string, map[string]error, error) {
	for d.Recursive && len(d.Markers) > 0 && d.marked(append(slices.Clone(items), own)) {
		up := d
		if up.Dir = path.Dir(d.Dir); !strings.Contains(up.Dir, "/") {
			break
		}
		more, odd, err := t.Below(ctx, up.Dir)
		if err != nil {
			return d, nil, nil, err
		}
		if !up.marked(append(slices.Clone(more), own)) {
			break
		}
		d, items, others = up, more, odd
	}
	return d, items, others, nil
}

// one returns the verified file at p, by the manifest of its bundle or by its own signature. why
// is the reason why p cannot be an item; such a file must be listed by a bundle. The Source is
// zero for a manifest, and for a file that no longer exists.
func one(ctx context.Context, t Tree, p string, why error) (Source, error) {
	b, dir, err := t.Bundle(ctx, p)
	switch {
	case err != nil:
		return Source{}, err
	case dir != "":
		return listed(ctx, t, b, dir, p)
	case why != nil:
		return Source{}, why
	}
	v, err := t.Item(ctx, p)
	if err != nil || v.IsZero() {
		return Source{}, err
	}
	it := v.Item()
	return Source{Path: p, Data: it.Raw, Exec: it.Executable(), Sum: it.Sum, Patch: v.Patched()}, nil
}

// listed returns the file at p of the bundle in dir, or zero for the manifest.
func listed(ctx context.Context, t Tree, b trust.Bundle, dir, p string) (Source, error) {
	if path.Base(p) == objects.ManifestName {
		return Source{}, nil
	}
	data, err := t.Read(p)
	if err != nil {
		return Source{}, err
	}
	rel := strings.TrimPrefix(p, dir+"/")
	if err := b.Lists(rel, data); err != nil {
		return Source{}, err
	}
	exec := slices.ContainsFunc(b.Files(), func(f objects.File) bool { return f.Path == rel && f.Executable })
	return Source{Path: p, Data: data, Exec: exec, Sum: objects.DigestOf(data), Patch: b.Patched()}, checkLine(ctx, t, p, data)
}

// checkLine verifies a file's own signature line, although a manifest lists the file: its signer
// wants the line to be checked.
func checkLine(ctx context.Context, t Tree, p string, data []byte) error {
	_, sig, legacy, err := objects.Split(p, data)
	if err != nil || sig == nil && legacy == nil {
		return nil // data, whatever it looks like: the manifest covers it
	}
	if _, _, err := objects.RefOfPath(p); err != nil {
		return nil // no item can have this path, so the line signs no item
	}
	return t.CheckLine(ctx, p, data)
}

// covers reports whether d selects the file at p.
func (d Deps) covers(p string) bool {
	rest, ok := strings.CutPrefix(p, d.Dir+"/")
	if !ok || !d.Recursive && strings.Contains(rest, "/") {
		return false
	}
	for dir := range strings.SplitSeq(path.Dir(rest), "/") {
		if slices.Contains(d.Exclude, dir) {
			return false
		}
	}
	return len(d.Extensions) == 0 || slices.Contains(d.Extensions, path.Ext(p)) || slices.Contains(d.Markers, path.Base(p))
}

// marked reports whether one of the paths is a marker in Dir, or d requires none.
func (d Deps) marked(paths []string) bool {
	return len(d.Markers) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		return path.Dir(p) == d.Dir && slices.Contains(d.Markers, path.Base(p))
	})
}
