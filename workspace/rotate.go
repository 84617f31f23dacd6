package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/govern"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Rotate replaces a key by a new one. In every registry namespace where the old key is
// current, it adds the new one, with its own proof, and retires the old one. Then the files
// change places. The old key stays the user's own for exactly the files that it signed in
// the searched spaces, in their present and recorded versions. With Resign the new key signs
// the working files again. An interrupted rotation continues when Rotate is called again:
// until the last step the old key is the signing key. Beside an error the report shows the
// completed steps; it is nil when nothing was planned.
func (g Keys) Rotate(ctx context.Context, c rye.Caller, q rye.KeyRotateRequest) (*rye.KeyRotation, error) {
	s, err := g.enter(c, "key.rotate")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r, err := g.planRotation(ctx, s, q)
	if err != nil || q.DryRun {
		return r.report, err
	}
	if err := s.Ask(ctx, custody.RotationQuestion(r.report)); err != nil {
		return r.report, err
	}
	return r.report, r.run(ctx)
}

// rotation holds the parts of a rotation from each room, and its report.
type rotation struct {
	*rooms
	session *session.Session
	q       rye.KeyRotateRequest
	key     *custody.Rotation
	signed  *look.Signed
	report  *rye.KeyRotation
}

// planRotation works out the steps. It writes nothing.
func (r *rooms) planRotation(ctx context.Context, s *session.Session, q rye.KeyRotateRequest) (rotation, error) {
	key, err := r.keys.PlanRotation(ctx, q.Name)
	if err != nil {
		return rotation{}, err
	}
	signed, err := look.SignedBy(ctx, s, key.Public, q.Also)
	if err != nil {
		return rotation{}, err
	}
	bindings, err := govern.RotatedBindings(r.desk(s), key.Public, q.Local)
	report := &rye.KeyRotation{Name: key.Old.Name, Old: key.Old.Fingerprint, New: key.New, Path: key.Old.Path, Retired: key.Retired, DryRun: q.DryRun,
		Kept: len(signed.Digests), Places: signed.Places, Elsewhere: signed.Elsewhere,
		Namespaces: bindings, SignAgain: govern.PatternsToSign(bindings), Roots: govern.RotatedRoots(r.desk(s), key.Public)}
	return rotation{rooms: r, session: s, q: q, key: key, signed: signed, report: report}, err
}

// run makes the new key, updates the registries, exchanges the files, and signs again.
func (r rotation) run(ctx context.Context) error {
	pair, err := r.openKeys()
	if err != nil {
		return err
	}
	if err := govern.RotateBindings(ctx, r.desk(r.session), pair, r.report.Namespaces); err != nil {
		return err
	}
	if err := r.key.Finish(pair, r.signed.Digests); err != nil {
		return err
	}
	return r.signAgain(ctx, pair)
}

// openKeys opens both keys, or makes the new one, which is then reported.
func (r rotation) openKeys() (custody.KeyPair, error) {
	pair, err := r.key.Open(r.q)
	if pair.New != nil {
		r.report.New = pair.New.Public().String()
	}
	return pair, err
}

// signAgain lets the new key sign the old key's working files.
func (r rotation) signAgain(ctx context.Context, pair custody.KeyPair) error {
	if !r.q.Resign {
		return nil
	}
	for _, files := range r.signed.Working {
		n, err := r.signFiles(ctx, pair, files)
		r.report.Resigned += n
		if err != nil {
			return fault.Wrap(err, "the key is rotated, but the files are not signed again").Mend("rye sign --all")
		}
	}
	return nil
}

// signFiles signs files of one space and returns how many were signed.
func (r rotation) signFiles(ctx context.Context, pair custody.KeyPair, files look.SignedFiles) (int, error) {
	s, err := files.Host.Open()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	rep, err := author.Sign(ctx, r.keys.With(files.Host, pair.New).Desk(s), rye.Terminal(), rye.SignRequest{Targets: files.Targets, Space: files.Space.String()})
	if rep == nil {
		return 0, err
	}
	return rep.Signed, err
}
