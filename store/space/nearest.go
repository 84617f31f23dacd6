package space

import (
	"context"
	"errors"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// maxNearest is how many items are looked at for one that may have been meant.
const maxNearest = 20_000

// Missing is the error for a ref under which nothing was found where says; it names the
// item that may have been meant.
func Missing(ctx context.Context, s *Stack, ref objects.Ref, where string) error {
	err := fault.New(fault.NotFound, "%s: %s", ref, where)
	if near, ok := nearest(ctx, s, ref); ok {
		return err.Advise("rye show %s", near)
	}
	return err.Advise("rye list")
}

// nearest returns the item whose name is a typing mistake away, of the same kind, or has
// the very name in another namespace.
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

var errEnough = errors.New("enough items were looked at")
