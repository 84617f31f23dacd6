package space

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Cover is the bundle in a directory of a working tree. While Err is not nil, nothing in the
// directory may be used: a file must not escape its manifest because the manifest is broken or
// gone.
type Cover struct {
	trust.Bundle
	Dir      string // slash path below .ai
	Sum      objects.Digest
	Blob     store.OID // of the manifest
	Recorded bool      // the space's ref holds exactly this manifest
	State    objects.State
	Err      error
	Past     *Past // how the manifest is behind the record; nil if it is not

	elsewhere *Past // how it is behind the records of other directories of the project
}

// Covers caches the bundles of one command, so that each manifest is read and verified once.
// It is safe for concurrent use.
type Covers struct {
	mu    sync.Mutex
	byDir map[string]*Cover // nil for a directory without a bundle
	asOf  *moment           // state of the record that manifests are compared with; nil for the newest
}

// moment is the state of a layer's record at one time; a nil tip is an empty record.
type moment struct{ tip *store.Commit }

// Cover returns the bundle nearest to the file at p; nil if the file is in none. seen may be
// nil. The error is a failure to read.
func (s *Stack) Cover(ctx context.Context, l *Layer, p string, seen *Covers) (*Cover, error) {
	for dir := path.Dir(p); strings.Count(dir, "/") >= 2; dir = path.Dir(dir) {
		c, err := s.coverIn(ctx, l, dir, seen)
		if c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil
}

func (s *Stack) coverIn(ctx context.Context, l *Layer, dir string, seen *Covers) (*Cover, error) {
	if seen == nil {
		return s.openCover(ctx, l, dir, nil)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if c, ok := seen.byDir[dir]; ok {
		return c, nil
	}
	c, err := s.openCover(ctx, l, dir, seen.asOf)
	if err != nil {
		return nil, err
	}
	if seen.byDir == nil {
		seen.byDir = map[string]*Cover{}
	}
	seen.byDir[dir] = c
	return c, nil
}

// openCover reads and judges the manifest in dir by the rules of Judge. A recorded manifest
// counts even if its file is gone.
func (s *Stack) openCover(ctx context.Context, l *Layer, dir string, asOf *moment) (*Cover, error) {
	p := dir + "/" + objects.ManifestName
	raw, err := l.Read(p)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone && fault.CodeOf(err) == fault.Failed {
		return nil, err
	}
	recorded, rerr := l.recordedAt(asOf, p)
	if rerr != nil {
		return nil, rerr
	}
	if gone && recorded.IsZero() {
		return nil, nil
	}
	c := &Cover{Dir: dir, State: objects.Signed}
	switch {
	case gone:
		c.State = objects.Absent
		err = fault.New(fault.NotFound, "%s: recorded in the %s space, but gone, so the files beside it are unsigned", p, l.Space).
			Mend("rye restore .ai/%s", dir)
	case err == nil:
		c.Sum, c.Blob = objects.DigestOf(raw), l.BlobID(raw)
		c.Recorded = c.Blob == recorded
		err = s.verifyCover(ctx, l, c, raw, recorded)
	}
	if c.Err = err; err != nil && c.State == objects.Signed {
		c.State = stateOf(err)
	}
	return c, nil
}

func (s *Stack) verifyCover(ctx context.Context, l *Layer, c *Cover, raw []byte, recorded store.OID) error {
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return err
	}
	b, err := trust.OpenBundle(raw, l.Folder(c.Dir), s.Scope(l), s.Trust)
	if err != nil {
		c.State = refusedState(m.Item(), err, s.Trust)
		refused := fault.Wrap(err, "%s/%s", c.Dir, objects.ManifestName)
		if fault.Is(err, fault.Untrusted) && m.Item().Signature != nil {
			return refused.With(fault.HintOf(err)) // the signer is not trusted: signing again with another key is no remedy
		}
		return refused.Mend("rye sign .ai/%s", c.Dir)
	}
	if b, err = b.In(c.Dir); err != nil {
		return err
	}
	if v, err := trust.Verify(m.Item(), s.Scope(l), s.Trust); err != nil {
		return err
	} else if err := s.Taken.Denies(v, s.Trust); err != nil {
		c.State = objects.Denied
		return err
	}
	sub := subject{name: "bundle " + string(m.ID), path: c.Dir + "/" + objects.ManifestName, item: m.Item(), parse: parseManifestItem}
	if b.Patched() != trust.NoPatch {
		if err := s.fallsWithBase(ctx, l, sub); err != nil {
			c.State = objects.Denied
			return err
		}
	}
	if !c.Recorded {
		if c.Past, err = s.pastOf(ctx, l, sub); err != nil {
			return err
		}
	}
	if c.elsewhere, err = pastElsewhere(ctx, s, l, sub, c.Recorded); err != nil {
		return err
	}
	if c.elsewhere != nil && !c.elsewhere.Removed.IsZero() {
		c.Past = c.elsewhere
	}
	if c.Past != nil {
		if c.State = c.Past.state(); !c.Past.Removed.IsZero() {
			return c.Past.verdict()
		}
	}
	if c.Bundle = b; c.Past == nil && b.Patched() != trust.NoPatch {
		c.State = objects.Patched
	}
	return nil
}

func parseManifestItem(_ string, raw []byte) (*objects.Item, error) {
	m, err := objects.ParseManifest(raw)
	if err != nil {
		return nil, err
	}
	return m.Item(), nil
}

// rel returns the path of a file below the bundle's directory.
func (c *Cover) rel(p string) string { return strings.TrimPrefix(p, c.Dir+"/") }

// Check compares the whole directory with the manifest: no file is missing, changed or extra.
// It runs before anything in the directory is executed.
func (c *Cover) Check() error {
	if c.Err != nil {
		return c.Err
	}
	return c.Bundle.Check()
}

// ownItem returns why a file of a bundle is no item of its own, if it has no signature line: it
// breaks a rule of its kind, or it is a part.
func ownItem(it *objects.Item) error {
	if it.Meta.Part {
		return errors.New("a part, which the tools of the bundle load")
	}
	if ps := it.Validate(); len(ps) > 0 {
		return errors.New(ps[0].String())
	}
	return nil
}

// judgeCovered completes the judgement of a file in a bundle. The manifest must list exactly
// this file, and a signature line in the file must hold as well. Without such a line, the
// signature of the manifest covers the file if it is an item. parsed is the error of
// objects.Parse.
func (s *Stack) judgeCovered(f *Finding, l *Layer, c *Cover, raw []byte, parsed error) {
	f.Bundle = c.ID()
	if f.Err = c.Err; f.Err != nil {
		f.State = c.State
		return
	}
	if f.Err = c.Lists(c.rel(f.Path), raw); f.Err != nil {
		f.State = stateOf(f.Err)
		return
	}
	if f.Item != nil && (f.Item.Signature != nil || f.Item.Legacy != nil) {
		return // its own signature line decides
	}
	if parsed == nil {
		parsed = ownItem(f.Item)
	}
	if parsed != nil {
		f.Item, f.Asset, f.State = nil, true, objects.Malformed
		f.Err = fault.New(fault.Malformed, "%s: a file of bundle %s, not an item: %w", f.Ref, c.ID(), parsed)
		return
	}
	v, err := c.Cover(c.rel(f.Path), raw)
	if err == nil {
		err = s.OwnedByLock(l, f.Ref)
	}
	if f.Err = err; err != nil {
		f.State = stateOf(err)
		return
	}
	f.Verified = v
	s.judgeThrough(f, c)
}

// judgeThrough completes the judgement of a file that the signature of its bundle covers: its state,
// what was taken back, and how the bundle is behind the record.
func (s *Stack) judgeThrough(f *Finding, c *Cover) {
	v := f.Verified
	if f.Item = v.Item(); v.Patched() != trust.NoPatch {
		f.State = objects.Patched
	}
	if f.Err = s.Taken.Denies(v, s.Trust); f.Err != nil {
		f.Verified, f.State = trust.Verified{}, objects.Denied
		return
	}
	if c.Past != nil {
		f.behindWith(c.Past)
	}
	if c.elsewhere != nil && f.Err == nil {
		f.behindWith(c.elsewhere)
	}
}

// behindWith marks a file without a signature line of its own as behind the record, like its
// bundle. It compares the file with the one beside the newest manifest.
func (f *Finding) behindWith(of *Past) {
	p := *of
	p.Wider = []string{"is not in the newest recorded version of its bundle"}
	if f.Item.Meta.Program {
		if was := p.programThen(f.Path); was != nil {
			p.Wider = policy.Wider(f.Item, was)
		}
	} else if e, err := p.repo.Lookup(p.tree, f.Path); err == nil {
		if raw, err := p.repo.Blob(e.ID, MaxItem); err == nil {
			if was, err := objects.Parse(f.Path, raw); err == nil {
				p.Wider = policy.Wider(f.Item, was)
			}
		}
	}
	if p.Where != "" && p.verdict() == nil {
		return // as in pastElsewhere
	}
	f.Past, f.held, f.State, f.Err = &p, f.Verified, p.state(), p.verdict()
	if f.Err != nil {
		f.Verified = trust.Verified{}
	}
}

// bundleDirs returns the directories of bundles: those with a manifest on disk or in the
// record.
func bundleDirs(folders []folder, recorded map[string]store.OID) map[string]bool {
	has := map[string]bool{}
	note := func(p string) {
		if !strings.HasSuffix(p, objects.ManifestName) { // nearly always
			return
		}
		if dir := path.Dir(p); path.Base(p) == objects.ManifestName && strings.Count(dir, "/") >= 2 {
			has[dir] = true
		}
	}
	for i := range folders {
		for _, f := range folders[i].files {
			note(f.path)
		}
		for _, f := range folders[i].foreign {
			note(f.path)
		}
	}
	for p := range recorded {
		note(p)
	}
	return has
}

// bundleFiles are the files of a working tree that are in directories of bundles.
type bundleFiles struct {
	dirs  []string // directories that hold a manifest, or should
	files []workFile
}

// takeBundles moves the files in directories of bundles out of folders.
func takeBundles(folders []folder, has map[string]bool) bundleFiles {
	var b bundleFiles
	if len(has) == 0 {
		return b
	}
	b.dirs = slices.Sorted(maps.Keys(has))
	for i := range folders {
		fd := &folders[i]
		fd.files = slices.DeleteFunc(fd.files, func(f workFile) bool {
			if !within(f.path, has) {
				return false
			}
			b.files = append(b.files, f)
			return true
		})
		fd.foreign = slices.DeleteFunc(fd.foreign, func(f foreignName) bool { return within(f.path, has) })
	}
	return b
}

// within reports whether a path is in one of the directories.
func within(p string, dirs map[string]bool) bool {
	for dir := path.Dir(p); strings.Count(dir, "/") >= 2; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// scanBundles judges each bundle as a whole, and the items in it. A bundle answers for its own
// files, so scanBundles removes its files from recorded.
func (s *Stack) scanBundles(ctx context.Context, l *Layer, b bundleFiles, recorded map[string]store.OID, each func(*Finding)) ([]Finding, error) {
	if len(b.dirs) == 0 {
		return nil, nil
	}
	seen := &Covers{}
	items := b.files[:0:0]
	for _, f := range b.files {
		var err error
		if f.ref, _, err = objects.RefOfPath(f.path); err == nil {
			items = append(items, f)
		}
	}
	found, err := s.judgeFiles(ctx, l, items, recorded, seen, each)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(found, func(f Finding) bool { return f.Asset })
	has := map[string]bool{}
	for _, dir := range b.dirs {
		has[dir] = true
		c, err := s.coverIn(ctx, l, dir, seen)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c.Finding(l))
		}
	}
	maps.DeleteFunc(recorded, func(p string, _ store.OID) bool { return within(p, has) })
	return all, nil
}

// Finding compares the whole directory and returns the finding for the bundle.
func (c *Cover) Finding(l *Layer) Finding {
	f := Finding{State: c.State, Err: c.Check(), Bundle: c.ID(), Manifest: true, Cover: c}
	f.Space, f.Path, f.Blob, f.Recorded = l.Space, c.Dir+"/"+objects.ManifestName, c.Blob, c.Recorded
	if f.Bundle == "" {
		f.Bundle, _ = objects.BundleID(c.Dir)
	}
	if f.Err != nil && (f.State == objects.Signed || f.State == objects.Patched) {
		f.State = stateOf(f.Err)
	}
	return f
}

// Bundles returns the directories of the working tree that hold a manifest.
func (l *Layer) Bundles(ctx context.Context) ([]string, error) {
	foreign, err := l.foreign(ctx)
	return BundlesAmong(foreign), err
}

// BundlesAmong returns the directories with manifests among foreign, which is a result of
// Files.
func BundlesAmong(foreign map[string]error) []string {
	return slices.Collect(maps.Keys(bundlesAmong(foreign)))
}

// bundlesAmong is BundlesAmong as a set.
func bundlesAmong(foreign map[string]error) map[string]bool {
	dirs := map[string]bool{}
	for p := range foreign {
		if path.Base(p) == objects.ManifestName {
			dirs[path.Dir(p)] = true
		}
	}
	return dirs
}

// Foreign returns the paths of the working tree that are no items, sorted: foreign names and
// links. It omits files in bundles, because their manifests cover them.
func (l *Layer) Foreign(ctx context.Context) ([]string, error) {
	foreign, err := l.foreign(ctx)
	bundles := bundlesAmong(foreign)
	maps.DeleteFunc(foreign, func(p string, _ error) bool { return within(p, bundles) })
	return slices.Sorted(maps.Keys(foreign)), err
}

// IsFolder reports whether the working tree has a directory at p.
func (l *Layer) IsFolder(p string) bool {
	if l.load() != nil || l.root == nil {
		return false
	}
	st, err := l.root.Lstat(p)
	return err == nil && st.IsDir()
}

// Folder returns a directory of the working tree as a file system. It has no links that lead
// out of the space, and omits the same names as Files. Omitted files are never materialised.
func (l *Layer) Folder(dir string) fs.FS {
	if err := l.load(); err != nil || l.root == nil {
		return nothing{}
	}
	sub, err := fs.Sub(l.root.FS(), dir)
	if err != nil {
		return nothing{}
	}
	return Bounded(sub)
}

// Bounded returns f with directories of at most MaxFiles names; a larger one is fault.Limit.
func Bounded(f fs.FS) fs.FS { return bounded{f} }

type bounded struct{ fs.FS }

// ReadDir lists a directory, sorted.
func (b bounded) ReadDir(name string) ([]fs.DirEntry, error) { return readDirOf(b.FS, name) }

func readDirOf(fsys fs.FS, name string) ([]fs.DirEntry, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok { // a tree of a record, which is bounded when it is read
		return fs.ReadDir(fsys, name)
	}
	list, err := dir.ReadDir(MaxFiles + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(list) > MaxFiles {
		err = fault.New(fault.Limit, "%s holds more than %d names", words.Brief(name), MaxFiles)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

type nothing struct{}

func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
