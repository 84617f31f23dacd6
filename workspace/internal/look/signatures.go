package look

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Signatures lists the project's files with a signature line, items and manifests of bundles,
// with the keys in the lines, sorted by path.
func Signatures(ctx context.Context, s *session.Session) ([]session.SignedFile, error) {
	var (
		l   = s.Stack.Project
		mu  sync.Mutex
		all []session.SignedFile
	)
	add := func(it *objects.Item, f space.Finding) {
		if it == nil || it.Signature == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, session.SignedFile{Ref: it.Ref, Path: f.Path, Signer: it.Signature.Key, Counts: f.Err == nil})
	}
	found, err := s.Stack.Scan(ctx, l, func(f *space.Finding) {
		if !f.Manifest {
			add(f.Item, *f) // while its bytes are at hand
		}
	})
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if !f.Manifest {
			continue
		}
		if raw, err := l.Read(f.Path); err == nil {
			if m, err := objects.ParseManifest(raw); err == nil {
				add(m.Item(), f)
			}
		}
	}
	slices.SortFunc(all, func(a, b session.SignedFile) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}
