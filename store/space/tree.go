package space

import (
	"context"
	"strings"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// WorkingTree is the current files of a layer, for the rule about files that a tool can load
// (chain.Around). The manifest of each bundle is read and verified once.
type WorkingTree struct {
	s    *Stack
	l    *Layer
	seen Covers
}

// Working returns the working tree of a layer.
func Working(s *Stack, l *Layer) *WorkingTree { return &WorkingTree{s: s, l: l} }

// Bundle returns the bundle nearest to the file at p, and its directory; "" if the file is in
// none.
func (t *WorkingTree) Bundle(ctx context.Context, p string) (trust.Bundle, string, error) {
	c, err := t.s.Cover(ctx, t.l, p, &t.seen)
	if c == nil || err != nil {
		return trust.Bundle{}, "", err
	}
	if c.Err == nil && c.Past != nil {
		f := Finding{State: c.State}
		f.Past, f.Space, f.Path = c.Past, t.l.Space, c.Past.Path
		return c.Bundle, c.Dir, decide(ctx, t.s, f, true)
	}
	return c.Bundle, c.Dir, c.Err
}

// Below lists the files below dir: the paths of items, and others with the reason why they
// cannot be items.
func (t *WorkingTree) Below(ctx context.Context, dir string) (items []string, others map[string]error, err error) {
	w := newWalk(ctx, t.l, func(p string, _ objects.Ref) error {
		items = append(items, p)
		return nil
	})
	err = w.folder(dir, 1+strings.Count(dir, "/"))
	return items, w.foreign, err
}

// Names lists the files and folders in dir. A folder's name ends in "/".
func (t *WorkingTree) Names(_ context.Context, dir string) (names []string, err error) {
	if err := t.l.load(); err != nil || t.l.root == nil {
		return nil, err
	}
	list, err := t.l.names(dir, false)
	for _, e := range list {
		switch {
		case e.typ.IsDir():
			names = append(names, e.name+"/")
		case e.typ.IsRegular():
			names = append(names, e.name)
		}
	}
	return names, err
}

// Item returns the verified item at p; zero if the file is gone.
func (t *WorkingTree) Item(ctx context.Context, p string) (trust.Verified, error) {
	ref, _, err := objects.RefOfPath(p)
	if err != nil {
		return trust.Verified{}, err
	}
	f, ok, err := t.s.At(ctx, t.l.Space, ref, p)
	if err == nil && ok {
		f = admit(ctx, t.s, f, true)
		err = f.Err
	}
	return f.Verified, err
}

// Read returns the bytes of the file at p.
func (t *WorkingTree) Read(p string) ([]byte, error) { return t.l.Read(p) }

// CheckLine judges the signature line of data, the file of a bundle at p. It returns nil if
// data is no item.
func (t *WorkingTree) CheckLine(ctx context.Context, p string, data []byte) error {
	ref, _, err := objects.RefOfPath(p)
	if err != nil {
		return err
	}
	was, err := t.l.RecordedBlob(p)
	if err != nil {
		return err
	}
	f, err := t.s.JudgeBytes(ctx, t.l, p, ref, data, was)
	if err == nil && !f.Asset {
		err = f.Err
	}
	return err
}

// SystemTree is the files of the standard library, for the rule about files that a tool can
// load (chain.Around). It has no bundles: it is one itself, and its tools do not load all of
// it.
type SystemTree struct {
	system *System
	trust  *trust.Store
}

// Released returns the files of the stack's standard library.
func Released(s *Stack) (SystemTree, error) {
	system, err := s.System()
	return SystemTree{system, s.Trust}, err
}

// Bundle returns no bundle.
func (t SystemTree) Bundle(context.Context, string) (trust.Bundle, string, error) {
	return trust.Bundle{}, "", nil
}

// Below lists the files below dir.
func (t SystemTree) Below(_ context.Context, dir string) (items []string, others map[string]error, err error) {
	var all []string
	for _, f := range t.system.Files() {
		if strings.HasPrefix(f.Path, dir+"/") {
			all = append(all, f.Path)
		}
	}
	items, others = sortOut(all)
	return items, others, nil
}

// Names returns nothing: the tools of the standard library load no files by name.
func (t SystemTree) Names(context.Context, string) ([]string, error) { return nil, nil }

// Item returns the verified item at p, unless the user denied it.
func (t SystemTree) Item(_ context.Context, p string) (trust.Verified, error) {
	v, err := t.system.Item(p)
	if err == nil {
		err = t.trust.Denied(v)
	}
	return v, err
}

// Read returns the verified bytes of the file at p.
func (t SystemTree) Read(p string) ([]byte, error) { return t.system.File(p) }

// CheckLine returns nil: the manifest of the standard library covers every file.
func (t SystemTree) CheckLine(context.Context, string, []byte) error { return nil }

// sortOut separates paths of items from others, with the reason why those cannot be items.
func sortOut(paths []string) (items []string, others map[string]error) {
	others = map[string]error{}
	for _, p := range paths {
		if _, _, err := objects.RefOfPath(p); err != nil {
			others[p] = err
		} else {
			items = append(items, p)
		}
	}
	return items, others
}
