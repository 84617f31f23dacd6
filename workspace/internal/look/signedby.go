package look

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Signed lists the files that are valid by one key's signature, in the searched spaces.
type Signed struct {
	Digests   []objects.Digest // of whole files: items and manifests of bundles, present and recorded ones
	Working   []SignedFiles    // the working files among them
	Places    []string         // the searched places, for people
	Elsewhere int              // accepted directories that were not searched
}

// SignedFiles are working files of one space.
type SignedFiles struct {
	Host    *session.Host // of the space's project
	Space   objects.Space
	Targets []rye.Target // refs, and directories of bundles
}

// SignedBy searches the user space, the project and the projects in also for files that are
// valid by a key's signature. It searches recorded versions too: an earlier one may be
// restored, or be locked.
func SignedBy(ctx context.Context, s *session.Session, key trust.PublicKey, also []string) (*Signed, error) {
	found := &signedBy{key: key, digests: map[objects.Digest]bool{}, projects: map[trust.Site]bool{}}
	if s.Stack.User != nil {
		if err := found.search(ctx, s, objects.User, "the user space"); err != nil {
			return nil, err
		}
	}
	if s.Project != nil {
		if err := found.searchProject(ctx, s, s.ProjectDir); err != nil {
			return nil, err
		}
	}
	for _, dir := range also {
		if err := found.searchOther(ctx, s.Host, dir); err != nil {
			return nil, err
		}
	}
	for _, g := range s.Trust.Grants() {
		if g.Kind == trust.GrantProject && !found.projects[g.Site] {
			found.Elsewhere++
		}
	}
	found.Digests = slices.Collect(maps.Keys(found.digests))
	return &found.Signed, nil
}

// signedBy is one search of SignedBy.
type signedBy struct {
	Signed
	key      trust.PublicKey
	digests  map[objects.Digest]bool
	projects map[trust.Site]bool // the searched projects
}

// searchOther searches another project of the same user.
func (b *signedBy) searchOther(ctx context.Context, h *session.Host, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, ".ai", session.ProjectFile)); err != nil {
		return fault.New(fault.NotFound, "project %s: no .ai/%s in it", dir, session.ProjectFile)
	}
	s, err := h.At(dir).OpenProject()
	if err != nil {
		return err
	}
	defer s.Close()
	return b.searchProject(ctx, s, dir)
}

// searchProject searches the project of a session, once.
func (b *signedBy) searchProject(ctx context.Context, s *session.Session, dir string) error {
	if b.projects[s.Site()] {
		return nil
	}
	b.projects[s.Site()] = true
	return b.search(ctx, s, objects.Project, dir)
}

// search collects the working files of a space that are valid by the key, and then the
// recorded ones.
func (b *signedBy) search(ctx context.Context, s *session.Session, sp objects.Space, place string) error {
	b.Places = append(b.Places, place)
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return err
	}
	found, err := s.Stack.Scan(ctx, l, nil)
	if err != nil {
		return err
	}
	files := SignedFiles{Host: s.Host, Space: sp}
	for _, f := range found {
		switch {
		case f.Err != nil:
		case f.Manifest:
			if f.Cover != nil && f.Cover.Bundle.Key() == b.key {
				b.digests[f.Cover.Bundle.Digest()] = true
				files.Targets = append(files.Targets, rye.Target(filepath.Join(l.Dir, filepath.FromSlash(f.Cover.Dir))))
			}
		case f.Verified.Level() != trust.Manifest && f.Verified.Key() == b.key:
			b.digests[f.Item.Sum] = true
			files.Targets = append(files.Targets, rye.Target(f.Ref.String()))
		}
	}
	if len(files.Targets) > 0 {
		b.Working = append(b.Working, files)
	}
	return b.searchRecord(ctx, s, l)
}

// searchRecord collects files from the whole history of a space's record.
func (b *signedBy) searchRecord(ctx context.Context, s *session.Session, l *space.Layer) error {
	repo, err := l.Repo()
	if repo == nil || err != nil {
		return err
	}
	name, legacy := []byte(b.key.Fingerprint().URL()), []byte(b.key.LegacyFingerprint())
	return l.Ever(ctx, func(p string, blob store.OID) error {
		raw, err := repo.Blob(blob, space.MaxItem)
		switch {
		case fault.Is(err, fault.Limit):
			return nil
		case err != nil:
			return err
		case !bytes.Contains(raw, name) && !bytes.Contains(raw, legacy), b.digests[objects.DigestOf(raw)]:
			return nil
		}
		it, err := objects.ParseRecorded(p, raw)
		if err != nil {
			return nil // a file that is no item cannot be valid
		}
		if v, err := trust.Verify(it, s.Stack.Scope(l), s.Trust); err == nil && v.Key() == b.key {
			b.digests[it.Sum] = true
		}
		return nil
	})
}
