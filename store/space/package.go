package space

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// Package is a bundle that the lock pins: its verified manifest, and the listed files in the
// project's store, or vendored ones where the store has not got the bundle. A file is compared
// with the manifest at each read. While Err is not nil, nothing of the bundle may be used.
type Package struct {
	trust.Bundle
	Ref   objects.Ref
	Pin   Pin
	Err   error
	State objects.State

	item  *objects.Item // the manifest; nil if it could not be read
	m     *objects.Manifest
	blob  store.OID
	proof trust.Verified
	files fs.FS // below Dir
}

// bundles caches the bundles that a stack has opened.
type packages struct {
	sync.Mutex
	opened map[objects.Ref]*Package
}

// LockedPackage returns the bundle that the lock pins by a ref like bundle:acme/kit; nil if
// it pins none.
func (s *Stack) LockedPackage(ref objects.Ref) *Package {
	if s.Locked == nil || ref.Kind != objects.Bundle {
		return nil
	}
	pin, ok := s.Locked(ref)
	if !ok {
		return nil
	}
	s.packages.Lock()
	defer s.packages.Unlock()
	if p := s.packages.opened[ref]; p != nil && p.Pin == pin {
		return p
	}
	p := openPinned(s, ref, pin)
	if s.packages.opened == nil {
		s.packages.opened = map[objects.Ref]*Package{}
	}
	s.packages.opened[ref] = p
	return p
}

// PackageOf returns the locked bundle with the member ref; nil if there is none. A bundle
// that cannot be opened is returned for every ref that it could have: damage must not change
// which item answers.
func PackageOf(s *Stack, ref objects.Ref) (*Package, error) {
	of, in := ref.Package()
	if !in {
		return nil, nil
	}
	p := s.LockedPackage(of)
	if p == nil || p.m == nil {
		return p, nil
	}
	path, err := p.m.Locate(ref)
	if path == "" && err == nil && ref.Kind == objects.Tool {
		path, err = p.m.LocateProgram(ref)
	}
	if path == "" && err == nil {
		return nil, nil
	}
	return p, err
}

// openPinned opens a bundle from the project's store, or its vendored files.
func openPinned(s *Stack, ref objects.Ref, pin Pin) *Package {
	raw, blob, err := s.Project.pinned(pin)
	if err != nil {
		return &Package{Ref: ref, Pin: pin, Err: err, State: stateOf(err)}
	}
	files := fs.FS(vendorFS{s.Project, ref.PackageDir()})
	if repo := s.Project.repo; repo != nil {
		c, err := repo.Commit(pin.Commit)
		switch {
		case err == nil:
			files = treeFS{repo, c.Tree, ref.PackageDir() + "/"}
		case !errors.Is(err, store.ErrNotExist):
			return &Package{Ref: ref, Pin: pin, Err: err, State: stateOf(err)}
		}
	}
	p := openPackage(s, ref, pin, raw, files)
	p.blob = blob
	return p
}

// OpenPackage verifies the manifest of a published bundle, as every use does. Its files are
// below tree at their paths below .ai. Err is the reason why the bundle may not be used.
func OpenPackage(s *Stack, ref objects.Ref, pin Pin, raw []byte, repo *store.Repo, tree store.OID) *Package {
	return openPackage(s, ref, pin, raw, treeFS{repo, tree, ref.PackageDir() + "/"})
}

func openPackage(s *Stack, ref objects.Ref, pin Pin, raw []byte, files fs.FS) *Package {
	p := &Package{Ref: ref, Pin: pin, State: objects.Signed, files: files}
	if p.Err = p.open(s, raw); p.Err != nil {
		p.State, p.proof = stateOf(p.Err), trust.Verified{}
		if p.item != nil && p.State == objects.Revoked && s.Trust.DeniedByUser(p.item) {
			p.State = objects.Denied
		}
	}
	return p
}

func (p *Package) open(s *Stack, raw []byte) (err error) {
	if p.item, err = objects.ParsePublished(p.Pin.Path, raw); err != nil {
		return err
	}
	if p.item.Ref != p.Ref {
		return fault.New(fault.Integrity, "%s: its pin names the manifest of %s", p.Ref, p.item.Ref)
	}
	if p.m, err = objects.ParseManifest(raw); err != nil {
		return err
	}
	if err := p.m.CheckPackage(); err != nil {
		return err
	}
	if p.proof, err = trust.Verify(p.item, p.Pin.scope(s), s.Trust); err != nil {
		return err
	}
	if err := s.Taken.Denies(p.proof, s.Trust); err != nil {
		return err
	}
	b, err := trust.OpenBundle(raw, p.files, p.Pin.scope(s), s.Trust)
	if err == nil {
		p.Bundle, err = b.In(p.Dir())
	}
	return err
}

// Proof returns the verified manifest; zero if Err is not nil.
func (p *Package) Proof() trust.Verified { return p.proof }

// VerifyMembers verifies every item of the bundle, as every use does.
func (p *Package) VerifyMembers(s *Stack) error {
	for _, it := range p.Members() {
		if _, _, err := p.verified(s, strings.TrimPrefix(it.Path, p.Dir()+"/"), it.Raw); err != nil {
			return err
		}
	}
	return p.Err
}

// Dir returns the directory below .ai for the bundle's paths.
func (p *Package) Dir() string { return p.Ref.PackageDir() }

// Manifest returns the parsed manifest; nil if it could not be read.
func (p *Package) Manifest() *objects.Manifest { return p.m }

// Members returns the bundle's items, sorted by path. A file that is no valid item is data,
// and not among them.
func (p *Package) Members() []*objects.Item {
	if p.Err != nil {
		return nil
	}
	items, err := p.m.Members(p.File)
	if err != nil {
		return nil // a file differs from the manifest, which Check reports
	}
	return items
}

// Finding returns the finding for the bundle itself, for lists. Its files are compared when
// Check is called.
func (p *Package) Finding() Finding {
	f := Finding{State: p.State, Err: p.Err, Bundle: p.id(), Manifest: true}
	f.Space, f.Path, f.Blob, f.Registry, f.Recorded = objects.Project, p.Pin.Path, p.blob, p.Pin.Registry, true
	f.Cover = &Cover{Bundle: p.Bundle, Dir: p.Dir(), Sum: p.Pin.Sum, Blob: p.blob, Recorded: true, State: p.State, Err: p.Err}
	if p.Err == nil {
		f.Verified = p.proof
	}
	return f
}

// name returns the published name; it accepts a nil package.
func (p *Package) name() string {
	if p == nil {
		return "(unknown)"
	}
	return p.Ref.Published()
}

func (p *Package) id() objects.ID { return objects.ID(p.Ref.Published()) }

// member judges the file of the member ref.
func (p *Package) member(s *Stack, ref objects.Ref) (f Finding, ok bool) {
	f = Finding{Ref: ref, State: p.State, Err: p.Err, Bundle: p.id()}
	f.Space, f.Path, f.Registry, f.Recorded = objects.Project, p.Pin.Path, p.Pin.Registry, true
	if p.Err != nil {
		return f, true
	}
	rel, err := p.m.Locate(ref)
	if err == nil && rel == "" {
		return p.program(s, f)
	}
	f.Path = p.Dir() + "/" + rel
	var raw []byte
	if err == nil {
		raw, err = p.File(rel)
	}
	if err == nil {
		f.Item, f.Verified, err = p.verified(s, rel, raw)
	}
	if f.Err = err; err != nil {
		f.Verified, f.State = trust.Verified{}, stateOf(err)
		return f, true
	}
	f.Blob = store.SHA1.Hash(store.TypeBlob, raw) // as registries name objects
	if f.Err = s.Taken.Denies(f.Verified, s.Trust); f.Err != nil {
		f.Verified, f.State = trust.Verified{}, objects.Denied
	}
	return f, true
}

// verified verifies a file as an item: by the manifest, and by its own signature line if it
// has one.
func (p *Package) verified(s *Stack, rel string, raw []byte) (*objects.Item, trust.Verified, error) {
	v, err := p.Cover(rel, raw)
	if err != nil {
		return nil, v, err
	}
	it := v.Item()
	if why := ownItem(it); why != nil && (it.Signature == nil || !it.Meta.Part) {
		return it, trust.Verified{}, fault.New(fault.Malformed, "%s: a file of bundle %s, not an item: %w", it.Ref, p.Ref, why)
	}
	if it.Signature == nil && it.Legacy == nil {
		return it, v, nil
	}
	v, err = trust.Verify(it, p.lines(s), s.Trust)
	return it, v, err
}

// lines is the scope for files with a signature line of their own. It has no pinned digest,
// because the pin is for the manifest.
func (p *Package) lines(s *Stack) trust.Scope {
	in := p.Pin.scope(s)
	in.Pinned = objects.Digest{}
	return in
}

// PackageTree is the files of a locked bundle, for the rule about files that a tool can load
// (chain.Around). All of them are in one bundle.
type PackageTree struct {
	s *Stack
	p *Package
}

// Tree returns the files of the bundle.
func (p *Package) Tree(s *Stack) PackageTree { return PackageTree{s, p} }

// Bundle returns the bundle. Every file is in its directory.
func (t PackageTree) Bundle(context.Context, string) (trust.Bundle, string, error) {
	return t.p.Bundle, t.p.Dir(), t.p.Err
}

// Below lists the files below dir.
func (t PackageTree) Below(_ context.Context, dir string) (items []string, others map[string]error, err error) {
	var all []string
	for _, f := range t.p.Bundle.Files() {
		if p := t.p.Dir() + "/" + f.Path; strings.HasPrefix(p, dir+"/") {
			all = append(all, p)
		}
	}
	items, others = sortOut(all)
	return items, others, nil
}

// Names returns nothing: a member of a bundle loads its whole bundle.
func (t PackageTree) Names(context.Context, string) ([]string, error) { return nil, nil }

// Item returns the verified item at p.
func (t PackageTree) Item(_ context.Context, p string) (trust.Verified, error) {
	data, err := t.Read(p)
	if err != nil {
		return trust.Verified{}, err
	}
	_, v, err := t.p.verified(t.s, strings.TrimPrefix(p, t.p.Dir()+"/"), data)
	return v, err
}

// Read returns the verified bytes of the file at p.
func (t PackageTree) Read(p string) ([]byte, error) {
	return t.p.File(strings.TrimPrefix(p, t.p.Dir()+"/"))
}

// CheckLine judges the signature line of data, the file of the bundle at p.
func (t PackageTree) CheckLine(_ context.Context, p string, data []byte) error {
	it, err := objects.Parse(p, data)
	if err != nil {
		return nil // data, even if it resembles an item
	}
	_, err = trust.Verify(it, t.p.lines(t.s), t.s.Trust)
	return err
}

// pinnedTwice returns the error for a ref that the lock brings both alone and with a bundle,
// as after a merge of two locks: rye must never guess which one answers.
func pinnedTwice(ref objects.Ref, p *Package, err error) error {
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "%s: the lock has it both by itself and with bundle %s", ref, p.Ref.Published()).
		Advise("rye rm %s, or remove %s from .ai/rye.yaml and rye.lock", p.Ref, ref.Published())
}

// Occupied describes the item that already has a ref of a new bundle: a file of the project,
// or another item that the lock pins; "" for none. Two bundles never have the same ref.
func (s *Stack) Occupied(ctx context.Context, ref objects.Ref) (string, error) {
	if s.Project == nil {
		return "", nil
	}
	if dir := ref.PackageDir(); dir != "" && s.Project.IsFolder(dir) {
		return ".ai/" + dir, nil
	}
	f, ok, err := s.inLayer(ctx, s.Project, ref)
	if err != nil {
		return "", err
	}
	if ok && f.State != objects.Absent {
		return ".ai/" + f.Path, nil
	}
	if s.Locked == nil {
		return "", nil
	}
	if pin, ok := s.Locked(ref); ok {
		return "the locked " + ref.Published() + " of registry " + pin.Registry, nil
	}
	return "", nil
}
