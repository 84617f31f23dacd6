package rye

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
)

// offer asks a person at the terminal, who wanted to run an item of the project
// that they have not signed as it is, whether they want to sign what they are
// shown and go on. Whatever else comes of it, the refusal stands. What is signed
// is what was shown, even when the file changes while they read.
func (s *session) offer(ctx context.Context, c Caller, ref objects.Ref, refused error) (space.Found, error) {
	if c.Name != Terminal.Name || s.r.o.Consent == nil || s.stack.Project == nil {
		return space.Found{}, refused
	}
	l := s.stack.Project
	f, ok, err := s.stack.In(ctx, objects.Project, ref)
	if err != nil || !ok || f.State != space.Unsigned && f.State != space.Modified {
		return space.Found{}, refused
	}
	key, err := s.r.signerFor(ctx)
	if err != nil {
		return space.Found{}, refused
	}
	d := s.signOne(ctx, l, ref, key, SignRequest{}, s.r.o.Now())
	if d.err != nil || d.raw == nil {
		return space.Found{}, refused
	}
	lines, err := s.describeChange(ctx, l, d)
	if err != nil || len(lines) > maxApproval {
		return space.Found{}, refused
	}
	q := Question{Topic: "sign it and run it", Text: refused.Error(), Lines: lines, Mend: fault.HintOf(refused), Person: true}
	if yes, err := s.r.o.Consent(ctx, q); err != nil || !yes {
		if ctx.Err() != nil {
			return space.Found{}, ctx.Err()
		}
		return space.Found{}, refused
	}
	if _, err := s.finishSigning(ctx, l, key.Public(), []*signing{d}, SignRequest{}); err != nil {
		return space.Found{}, err
	}
	return s.stack.Find(ctx, ref)
}
