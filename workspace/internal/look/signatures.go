package look

import (
	"context"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Signatures lists the files of the project that carry a signature line, items and
// manifests of bundles, with the keys that the lines name.
func Signatures(ctx context.Context, s *session.Session) ([]session.SignedFile, error) {
	l := s.Stack.Project
	found, err := s.Stack.Scan(ctx, l)
	if err != nil {
		return nil, err
	}
	var all []session.SignedFile
	for _, f := range found {
		it := f.Item
		if f.Manifest {
			it = nil
			if raw, err := l.Read(f.Path); err == nil {
				if m, err := objects.ParseManifest(raw); err == nil {
					it = m.Item()
				}
			}
		}
		if it != nil && it.Signature != nil {
			all = append(all, session.SignedFile{Ref: it.Ref, Path: f.Path, Signer: it.Signature.Key, Counts: f.Err == nil})
		}
	}
	return all, nil
}
