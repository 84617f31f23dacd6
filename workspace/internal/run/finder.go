package run

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// finder hands the planner verified items, looking from a space downwards, and the
// verified files that lie around a tool.
type finder struct{ s *session.Session }

func (f finder) FindFrom(ctx context.Context, at objects.Space, ref objects.Ref) (chain.Link, error) {
	found, err := f.s.Stack.FindFrom(ctx, at, ref)
	if err != nil {
		return chain.Link{}, err
	}
	return link(f.s, found), nil
}

// link describes a found item to the planner. What a registry published carries
// the words of the lock about it.
func link(s *session.Session, f space.Found) chain.Link {
	l := chain.Link{Verified: f.Verified, Space: f.Space}
	if !f.Blob.IsZero() {
		l.Blob = f.Blob.String()
	}
	if f.Registry != "" {
		it := s.Lock.Items[f.Item().Ref]
		l.Origin = &chain.Origin{Registry: it.From, Version: it.Version, Commit: it.Commit, Author: it.Author, Publisher: it.Publisher}
	}
	return l
}

// Around returns the files that a tool can load beside its own, each verified: the
// whole of the bundle that it lies in, and what its chain's verify_deps cover. The
// first that is not verified refuses the tool, and so does a bundle in which a
// file is missing or too many.
func (f finder) Around(ctx context.Context, tool chain.Link, d chain.Deps) ([]chain.Source, error) {
	if tool.Origin != nil {
		return nil, nil // a registry item is one file
	}
	if tool.Space == objects.System {
		return f.aroundSystem(ctx, tool, d)
	}
	l, err := f.s.Stack.Layer(tool.Space)
	if err != nil {
		return nil, err
	}
	own := tool.Verified.Item().Path
	seen := &space.Covers{}
	c, err := f.s.Stack.Cover(ctx, l, own, seen)
	if err != nil {
		return nil, err
	}
	var all []chain.Source
	if c != nil {
		if all, err = f.bundled(ctx, l, c, own); err != nil {
			return nil, err
		}
	}
	if d.Dir == "" {
		return all, nil
	}
	beside, err := f.beside(ctx, l, d, own, c, seen)
	return append(all, beside...), err
}

// maxBundle bounds what a bundle brings into one run, in bytes.
const maxBundle = 256 << 20

// bundled returns every file of a bundle but the tool's own.
func (f finder) bundled(ctx context.Context, l *space.Layer, c *space.Cover, own string) ([]chain.Source, error) {
	if c.Err != nil {
		return nil, c.Err
	}
	var (
		all  []chain.Source
		size int64
	)
	err := c.Read(func(e objects.File, data []byte) error {
		if size += e.Size; size > maxBundle {
			return fault.New(fault.Limit, "bundle %s: more than %d bytes", c.ID(), maxBundle)
		}
		p := c.Dir + "/" + e.Path
		if p == own {
			return nil
		}
		all = append(all, chain.Source{Path: p, Data: data, Exec: e.Executable, Sum: e.Sum})
		return f.ownLine(ctx, l, p, data)
	})
	return all, err
}

// ownLine refuses a file whose own signature line does not hold here, although a
// manifest lists the file: who signs a line means it to be checked.
func (f finder) ownLine(ctx context.Context, l *space.Layer, p string, data []byte) error {
	_, sig, legacy, err := objects.Split(p, data)
	if err != nil || sig == nil && legacy == nil {
		return nil // data, whatever it looks like: the manifest answers for it
	}
	ref, _, err := objects.RefOfPath(p)
	if err != nil {
		return nil // no item can have this path, so no line can be for it
	}
	was, err := l.RecordedBlob(p)
	if err != nil {
		return err
	}
	got, err := f.s.Stack.JudgeBytes(ctx, l, p, ref, data, was)
	if err == nil && !got.Asset {
		err = got.Err
	}
	return err
}

// aroundSystem picks from the standard library.
func (f finder) aroundSystem(ctx context.Context, tool chain.Link, d chain.Deps) ([]chain.Source, error) {
	if d.Dir == "" {
		return nil, nil
	}
	system, err := f.s.Stack.System()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range system.Files() {
		if file.Path != tool.Verified.Item().Path && covers(d, file.Path) {
			paths = append(paths, file.Path)
		}
	}
	if !marked(d, append(paths, tool.Verified.Item().Path)) {
		return nil, nil
	}
	return f.sources(ctx, objects.System, paths)
}

// beside returns the files of a working tree that d covers, without those of the
// tool's own bundle. In the directory of another bundle its manifest counts.
func (f finder) beside(ctx context.Context, l *space.Layer, d chain.Deps, own string, c *space.Cover, seen *space.Covers) ([]chain.Source, error) {
	var paths []string
	wanted := func(p string) bool {
		return p != own && covers(d, p) && (c == nil || !strings.HasPrefix(p, c.Dir+"/"))
	}
	foreign, err := l.Below(ctx, d.Dir, func(p string, _ objects.Ref) error {
		if wanted(p) {
			paths = append(paths, p)
		}
		return nil
	})
	if err != nil || !marked(d, append(paths[:len(paths):len(paths)], own)) {
		return nil, err
	}
	var all []chain.Source
	var items []string
	listed := func(p string, otherwise func() error) error {
		other, err := f.s.Stack.Cover(ctx, l, p, seen)
		if err != nil || other == nil {
			return errors.Join(err, otherwise())
		}
		src, err := f.listed(ctx, l, other, p)
		if src.Path != "" {
			all = append(all, src)
		}
		return err
	}
	for p, why := range foreign {
		if !wanted(p) {
			continue
		}
		// A file that cannot be an item can be verified only by a bundle.
		if err := listed(p, func() error { return why }); err != nil {
			return nil, err
		}
	}
	for _, p := range paths {
		if err := listed(p, func() error { items = append(items, p); return nil }); err != nil {
			return nil, err
		}
	}
	rest, err := f.sources(ctx, l.Space, items)
	return append(all, rest...), err
}

// listed returns one file of a bundle; nothing for the manifest.
func (f finder) listed(ctx context.Context, l *space.Layer, c *space.Cover, p string) (chain.Source, error) {
	if c.Err != nil || path.Base(p) == objects.ManifestName {
		return chain.Source{}, c.Err
	}
	raw, err := l.Read(p)
	if err == nil {
		err = c.Lists(strings.TrimPrefix(p, c.Dir+"/"), raw)
	}
	if err == nil {
		err = f.ownLine(ctx, l, p, raw)
	}
	return chain.Source{Path: p, Data: raw, Sum: objects.DigestOf(raw)}, err
}

// covers reports whether the rules of d make a file one that a tool can load.
func covers(d chain.Deps, p string) bool {
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

func marked(d chain.Deps, paths []string) bool {
	return len(d.Markers) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		return path.Dir(p) == d.Dir && slices.Contains(d.Markers, path.Base(p))
	})
}

func (f finder) sources(ctx context.Context, sp objects.Space, paths []string) ([]chain.Source, error) {
	var all []chain.Source
	for _, p := range paths {
		ref, _, err := objects.RefOfPath(p)
		if err != nil {
			return nil, err
		}
		got, ok, err := f.s.Stack.At(ctx, sp, ref, p)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if got.Err != nil {
			return nil, got.Err
		}
		it := got.Verified.Item()
		all = append(all, chain.Source{Path: p, Data: it.Raw, Exec: it.Executable(), Sum: it.Sum})
	}
	return all, nil
}
