package space

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// A program of a bundle has no item's path, so it is found in the manifest: objects.ProgramRef gives
// its ref. Items come first, and a name that is none can be a program's.

// programIn returns the finding for a program of a bundle in a layer. ok is false where the bundle has
// no such program, and no file that would be one.
func (s *Stack) programIn(ctx context.Context, l *Layer, ref objects.Ref) (f Finding, ok bool, err error) {
	of, in := ref.Package()
	if !in || ref.Kind != objects.Tool || !l.IsFolder(of.PackageDir()) {
		return f, false, nil
	}
	dir := of.PackageDir()
	c, err := s.coverIn(ctx, l, dir, &Covers{})
	if err != nil {
		return f, false, err
	}
	if c == nil {
		c = &Cover{Dir: dir, State: objects.Unsigned, Err: fault.New(fault.Untrusted, "%s: .ai/%s is not signed yet", ref, dir).Mend("rye sign .ai/%s", dir)}
	}
	rel, err := locateProgram(l, c, ref)
	if rel == "" && err == nil {
		return f, false, nil
	}
	f = Finding{Ref: ref, State: objects.Signed, Bundle: c.ID()}
	f.Space, f.Path = l.Space, dir+"/"+rel
	if err != nil {
		f.Err, f.State = err, stateOf(err)
		return f, true, nil
	}
	s.judgeProgram(&f, l, c)
	return f, true, nil
}

// HasBundle reports whether there is a bundle with a ref here, usable or not.
func (s *Stack) HasBundle(ref objects.Ref) bool {
	for _, l := range s.Layers() {
		if dir := ref.PackageDir(); dir != "" && l.IsFolder(dir) {
			return true
		}
	}
	return s.LockedPackage(ref) != nil
}

// HasProgram reports whether a bundle here has a program with a ref, usable or not.
func (s *Stack) HasProgram(ctx context.Context, ref objects.Ref) bool {
	for _, l := range s.Layers() {
		if _, ok, err := s.programIn(ctx, l, ref); ok || err != nil {
			return err == nil
		}
	}
	p, err := PackageOf(s, ref)
	return p != nil && err == nil
}

// Programs returns the refs of the programs of every bundle here that verifies: of the spaces on disk,
// and of the lock.
func (s *Stack) Programs(ctx context.Context, locked []objects.Ref) (refs []objects.Ref, err error) {
	for _, l := range s.Layers() {
		dirs, err := l.Bundles(ctx)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			c, err := s.coverIn(ctx, l, dir, &Covers{})
			if err != nil {
				return nil, err
			}
			if c != nil && c.Err == nil {
				refs = append(refs, c.Bundle.Programs()...)
			}
		}
	}
	for _, ref := range locked {
		if p := s.LockedPackage(ref); p != nil && p.Err == nil {
			refs = append(refs, p.Bundle.Programs()...)
		}
	}
	return refs, nil
}

// locateProgram returns the path, below the directory of its bundle, of the program with a ref; "" for
// none. Where the manifest is not valid, or lists no such program, the files that are there decide, so
// that the answer is about the program and not about its name.
func locateProgram(l *Layer, c *Cover, ref objects.Ref) (rel string, err error) {
	if c.Err == nil {
		if rel, err = c.LocateProgram(ref); rel != "" || err != nil {
			return rel, err
		}
	}
	m, err := (*objects.Manifest)(nil).Renewed(l.Folder(c.Dir), bundleOf(ref), "", true)
	if err != nil {
		return "", nil // files that no manifest can list are no programs
	}
	rel, err = m.LocateProgram(ref)
	return rel, err
}

// bundleOf returns the id of the bundle whose program a ref is.
func bundleOf(ref objects.Ref) objects.ID {
	of, _ := ref.Package()
	return objects.ID(of.Published())
}

// judgeProgram decides whether the program at f.Path may be used, by the rules for a file without a
// signature line (judgeCovered).
func (s *Stack) judgeProgram(f *Finding, l *Layer, c *Cover) {
	raw, err := l.Read(f.Path)
	if err == nil {
		f.Blob = l.BlobID(raw)
	}
	if f.Err = c.Err; f.Err != nil {
		f.State = c.State
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		gone := fault.New(fault.Integrity, "%s: .ai/%s is in the manifest of bundle %s, and gone", f.Ref, f.Path, c.ID())
		err = gone.Mend("rye restore .ai/%s", c.Dir)
		if was, recorded := l.RecordedBlob(f.Path); recorded == nil && was.IsZero() && c.Manifest().Origin != nil {
			err = gone.Mend("rye pull") // git has only the manifest
		}
	}
	var v trust.Verified
	if err == nil {
		v, err = c.Bundle.Cover(c.rel(f.Path), raw)
	}
	if err == nil {
		err = s.OwnedByLock(l, f.Ref)
	}
	if f.Err = err; err != nil {
		f.State = stateOf(err)
		return
	}
	if recorded, err := l.RecordedBlob(f.Path); err == nil {
		f.Recorded = recorded == f.Blob
	}
	f.Verified = v
	s.judgeThrough(f, c)
}

// programThen returns a program as it was at the newest version of its bundle in a record, nil for
// none.
func (p *Past) programThen(at string) *objects.Item {
	dir, in := objects.InBundles(at)
	if !in {
		return nil
	}
	read := func(at string) []byte {
		e, err := p.repo.Lookup(p.tree, at)
		if err != nil {
			return nil
		}
		raw, err := p.repo.Blob(e.ID, MaxItem)
		if err != nil {
			return nil
		}
		return raw
	}
	m, err := objects.ParseManifest(read(path.Join(dir, objects.ManifestName)))
	if err != nil {
		return nil
	}
	it, err := m.Program(strings.TrimPrefix(at, dir+"/"), read(at))
	if err != nil {
		return nil
	}
	return it
}

// Tools returns the programs of the bundle as tools, sorted by path. Files that rye cannot run are
// left out.
func (p *Package) Tools() (all []*objects.Item) {
	if p.Err != nil {
		return nil
	}
	for _, f := range p.m.Files {
		if !p.m.IsProgram(f) {
			continue
		}
		data, err := p.File(f.Path)
		if err != nil {
			return nil // a file differs from the manifest, which Check reports
		}
		if it, err := p.m.Program(f.Path, data); err == nil {
			all = append(all, it)
		}
	}
	return all
}

// program judges the program ref of a locked bundle; ok is false where there is none.
func (p *Package) program(s *Stack, f Finding) (Finding, bool) {
	rel, err := p.m.LocateProgram(f.Ref)
	if rel == "" && err == nil {
		return f, false
	}
	var raw []byte
	if err == nil {
		f.Path = p.Dir() + "/" + rel
		raw, err = p.File(rel)
	}
	if err == nil {
		f.Verified, err = p.Cover(rel, raw)
	}
	if f.Err = err; err != nil {
		f.Verified, f.State = trust.Verified{}, stateOf(err)
		return f, true
	}
	f.Item, f.Blob = f.Verified.Item(), store.SHA1.Hash(store.TypeBlob, raw) // as registries name objects
	if f.Err = s.Taken.Denies(f.Verified, s.Trust); f.Err != nil {
		f.Verified, f.State = trust.Verified{}, objects.Denied
	}
	return f, true
}
