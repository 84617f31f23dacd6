package author

import (
	"context"
	"io/fs"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// DenyShared denies a key (denyKeyShared), or the content of an item of the project. It denies
// the content for the user, and takes it back for everyone, by a line in .ai/denied that the
// user's key signs. That key must be the item's signer or a key of its namespace's registry:
// a line by any other key has no effect.
func DenyShared(ctx context.Context, s *custody.Desk, q rye.TrustDenyRequest) (*rye.TrustChange, error) {
	if fp, err := objects.ParseFingerprint(q.Subject); err == nil {
		return denyKeyShared(ctx, s, fp, q)
	}
	d, err := objects.ParseDigest(q.Subject)
	if err != nil {
		return nil, fault.New(fault.Usage, "deny %q: want a key's SHA256:... or a file's sha256:...", q.Subject).Advise("rye status --all --json")
	}
	v, err := withDigest(ctx, s, d)
	if err != nil {
		return nil, err
	}
	it := v.Item()
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	if !trust.MayTakeBack(key.Public(), v, s.Trust) {
		return nil, fault.New(fault.Untrusted, "deny %s: %s signed it, and only that key or the owner of %s/ can deny it for other people", it.Ref, v.Key(), it.Ref.ID.Namespace()).
			Mend("rye trust deny %s", d)
	}
	q.Share = false
	c, err := custody.Deny(s.Host, q)
	if err != nil {
		return nil, err
	}
	c.Where = []string{".ai/" + objects.TakenFile}
	if c.Name = it.Ref.String(); q.DryRun {
		return c, nil
	}
	line, err := trust.TakeBack(ctx, key, it.Ref, d, s.Project.Project, s.Now())
	if err == nil {
		err = s.ListTaken(line)
	}
	return c, err
}

// withDigest finds the item of the project whose file or body has a digest, in the working
// tree or anywhere in the record's history.
func withDigest(ctx context.Context, s *custody.Desk, d objects.Digest) (found trust.Verified, err error) {
	l := s.Stack.Project
	believed, err := trust.LoadStore(s.TrustPath())
	if err != nil {
		return found, err
	}
	believed.Allow(objects.Fingerprint{}, d) // in memory: a digest that the user denied before can be shared as well
	look := func(p string, raw []byte) error {
		it, err := objects.Parse(p, raw)
		if err != nil || it.Sum != d && it.Digest != d {
			return nil
		}
		if v, err := trust.Verify(it, s.Stack.Scope(l), believed); err == nil {
			found = v
			return fs.SkipAll
		}
		return nil
	}
	_, err = l.Files(ctx, func(p string, _ objects.Ref) error {
		raw, err := l.Read(p)
		if err != nil {
			return nil // an unreadable file is not the one that the user means
		}
		return look(p, raw)
	})
	if err == nil && found.IsZero() {
		err = eachRecorded(ctx, l, look)
	}
	if err == fs.SkipAll {
		err = nil
	}
	if err == nil && found.IsZero() {
		err = fault.New(fault.NotFound, "deny %s: no present or recorded item of this project has this digest and a valid signature", d).Advise("rye status --all --json")
	}
	return found, err
}

// eachRecorded calls look for every item file that the record ever held.
func eachRecorded(ctx context.Context, l *space.Layer, look func(p string, raw []byte) error) error {
	repo, err := l.Repo()
	if err != nil || repo == nil {
		return err
	}
	return l.Ever(ctx, func(p string, blob store.OID) error {
		if _, _, err := objects.RefOfPath(p); err != nil {
			return nil
		}
		raw, err := repo.Blob(blob, space.MaxItem)
		if err != nil {
			return err
		}
		return look(p, raw)
	})
}
