package share

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/session"
)

// signedBy collects what a key signed and what counts by it now.
type signedBy struct {
	key  trust.PublicKey
	sums []objects.Digest
	has  map[objects.Digest]bool
	// targets are the working files among them, for signing them again.
	targets []resigning
}

// resigning is what of one space is to be signed once more.
type resigning struct {
	dir   string // of the project; "" for the user space
	space objects.Space
	names []rye.Target // refs, and ids of bundles
}

func (b *signedBy) add(sum objects.Digest) bool {
	if b.has[sum] {
		return false
	}
	b.has[sum] = true
	b.sums = append(b.sums, sum)
	return true
}

// planKept finds what the old key vouches for: in the user space, in this project,
// and in the projects that were named.
func (t *rotation) planKept(ctx context.Context, q rye.KeyRotateRequest) error {
	t.signed = signedBy{key: t.pub, has: map[objects.Digest]bool{}}
	looked := map[string]bool{}
	if t.s.Stack.User != nil {
		t.rep.Places = append(t.rep.Places, "the user space")
		if err := t.signed.look(ctx, t.s.Session, "", objects.User); err != nil {
			return err
		}
	}
	if t.s.Project != nil {
		t.rep.Places = append(t.rep.Places, t.s.ProjectDir)
		looked[t.s.Project.Project] = true
		if err := t.signed.look(ctx, t.s.Session, t.s.ProjectDir, objects.Project); err != nil {
			return err
		}
	}
	for _, dir := range q.Also {
		s, err := beside(t.s, dir)
		if err != nil {
			return err
		}
		if !looked[s.Project.Project] {
			looked[s.Project.Project] = true
			t.rep.Places = append(t.rep.Places, dir)
			err = t.signed.look(ctx, s, dir, objects.Project)
		}
		s.Close()
		if err != nil {
			return err
		}
	}
	for _, genesis := range t.s.Trust.Projects() {
		if !looked[genesis] {
			t.rep.Elsewhere++
		}
	}
	t.rep.Kept = len(t.signed.sums)
	return nil
}

// beside opens another project of the same user.
func beside(s *Desk, dir string) (*session.Session, error) {
	if _, err := os.Stat(filepath.Join(dir, ".ai", session.ProjectFile)); err != nil {
		return nil, fault.New(fault.NotFound, "project %s: no .ai/%s in it", dir, session.ProjectFile)
	}
	return s.At(dir).OpenProject()
}

// look notes the working files of a space that count by the key, and what its record
// holds or held by it: an earlier version may be restored, or be locked.
func (b *signedBy) look(ctx context.Context, s *session.Session, dir string, sp objects.Space) error {
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return err
	}
	found, err := s.Stack.Scan(ctx, l)
	if err != nil {
		return err
	}
	again := resigning{dir: dir, space: sp}
	for _, f := range found {
		switch {
		case f.Err != nil:
		case f.Manifest:
			if f.Cover != nil && f.Cover.Bundle.Key() == b.key {
				b.add(f.Cover.Bundle.Digest())
				again.names = append(again.names, rye.Target(filepath.Join(l.Dir, filepath.FromSlash(f.Cover.Dir))))
			}
		case f.Verified.Level() != trust.Manifest && f.Verified.Key() == b.key:
			b.add(f.Item.Sum)
			again.names = append(again.names, rye.Target(f.Ref.String()))
		}
	}
	if len(again.names) > 0 {
		b.targets = append(b.targets, again)
	}
	return b.lookBack(ctx, s, l)
}

// lookBack notes what the record of a space holds or held.
func (b *signedBy) lookBack(ctx context.Context, s *session.Session, l *space.Layer) error {
	repo, err := l.Repo()
	if repo == nil || err != nil {
		return err
	}
	name, short := []byte(b.key.Fingerprint().URL()), []byte(b.key.LegacyFingerprint())
	return l.Ever(ctx, func(p string, blob store.OID) error {
		raw, err := repo.Blob(blob, space.MaxItem)
		if fault.Is(err, fault.Limit) || err == nil && (!bytes.Contains(raw, name) && !bytes.Contains(raw, short) || b.has[objects.DigestOf(raw)]) {
			return nil
		}
		if err != nil {
			return err
		}
		if it := recordedItem(p, raw); it != nil {
			if v, err := trust.Verify(it, s.Stack.Scope(l), s.Trust); err == nil && v.Key() == b.key {
				b.add(it.Sum)
			}
		}
		return nil
	})
}

// recordedItem parses a recorded file, or the manifest of a bundle; nil for others.
func recordedItem(p string, raw []byte) *objects.Item {
	if filepath.Base(p) == objects.ManifestName {
		if m, err := objects.ParseManifest(raw); err == nil {
			return m.Item()
		}
		return nil
	}
	it, err := objects.Parse(p, raw)
	if err != nil {
		return nil
	}
	return it
}

// resign lets the new key sign the working files that the old one signed.
func (t *rotation) resign(ctx context.Context, q rye.KeyRotateRequest) error {
	if !q.Resign {
		return nil
	}
	for _, a := range t.signed.targets {
		n, err := t.signAgain(ctx, a)
		t.rep.Resigned += n
		if err != nil {
			return fault.Wrap(err, "the key was rotated; sign again").Mend("rye sign --all")
		}
	}
	return nil
}

// signAgain signs what one space holds, and returns how many files it were.
func (t *rotation) signAgain(ctx context.Context, a resigning) (int, error) {
	h := t.s.Host
	if a.dir != "" {
		h = h.At(a.dir)
	}
	s, err := h.Open()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	at := &author.Desk{Session: s, Keys: t.s.Keys.With(h, t.new)}
	rep, err := author.Sign(ctx, at, rye.Terminal(), rye.SignRequest{Targets: a.names, Space: a.space.String()})
	if rep == nil {
		return 0, err
	}
	return rep.Signed, err
}
