package space

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// maxNearest is the largest number of items that are examined for a suggestion.
const maxNearest = 20_000

// Missing returns the error for a ref that was not found; where describes the place. It
// suggests the item with the most similar name, and rye pull where git has only the manifest.
func Missing(ctx context.Context, s *Stack, ref objects.Ref, where string) error {
	if b, ok := s.unfetched(ctx, ref); ok {
		return manifestOnly(b)
	}
	err := fault.New(fault.NotFound, "%s: %s", ref, where)
	if near, ok := nearest(ctx, s, ref); ok {
		return err.Advise("rye show %s", near)
	}
	return err.Advise("rye list")
}

func manifestOnly(b objects.Ref) error {
	return fault.New(fault.NotFound, "the files of %s are not here, only its manifest", b).Mend("rye pull")
}

// unfetched returns the bundle that would hold an item, where a manifest that counts is here and none of
// its files.
func (s *Stack) unfetched(ctx context.Context, ref objects.Ref) (of objects.Ref, ok bool) {
	of, ok = ref.Package()
	if !ok {
		return of, false
	}
	for _, l := range s.Layers() {
		c, err := s.coverIn(ctx, l, of.PackageDir(), nil)
		if err != nil || c == nil || c.Err != nil || c.Manifest().Origin == nil {
			continue
		}
		files := l.Folder(of.PackageDir())
		return of, !slices.ContainsFunc(c.Manifest().Files, func(f objects.File) bool {
			_, err := fs.Stat(files, f.Path)
			return err == nil
		})
	}
	return of, false
}

// nearest returns the item of the same kind with the most similar name: a typing mistake away,
// or the same name in another namespace.
func nearest(ctx context.Context, s *Stack, ref objects.Ref) (best objects.Ref, found bool) {
	least, left := 0, maxNearest
	see := func(_ string, r objects.Ref) error {
		n, ok := words.Near(ref.ID.Name(), r.ID.Name())
		if r.ID.Namespace() != ref.ID.Namespace() {
			n++
		}
		if ok && r.Kind == ref.Kind && r != ref && (!found || n < least) {
			best, least, found = r, n, true
		}
		if left--; left < 0 {
			return errEnough
		}
		return nil
	}
	for _, l := range s.Layers() {
		if _, err := l.Files(ctx, see); errors.Is(err, errEnough) {
			return best, found
		}
	}
	if s.System == nil {
		return best, found
	}
	if system, err := s.System(); err == nil {
		for _, r := range system.Refs() {
			see("", r)
		}
	}
	return best, found
}

var errEnough = errors.New("enough items were read")
