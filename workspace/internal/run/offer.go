package run

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/author"
)

// offer asks a person at the terminal, who wanted to run an item of the project
// that they have not signed as it is, whether they want to sign what they are
// shown and go on. Whatever else comes of it, the refusal stands. What is signed
// is what was shown, even when the file changes while they read.
func offer(ctx context.Context, s *Desk, c rye.Caller, ref objects.Ref, refused error) (space.Found, error) {
	if !c.IsPerson() || s.Consent == nil || s.Stack.Project == nil {
		return space.Found{}, refused
	}
	l := s.Stack.Project
	f, ok, err := s.Stack.In(ctx, objects.Project, ref)
	if err != nil || !ok || f.State != objects.Unsigned && f.State != objects.Modified {
		return space.Found{}, refused
	}
	key, err := s.Keys.Signer(ctx)
	if err != nil {
		return space.Found{}, refused
	}
	at := &author.Desk{Session: s.Session, Keys: s.Keys}
	d := author.SignOne(ctx, at, l, ref, key, rye.SignRequest{}, s.Now())
	if d.Err != nil || d.Raw == nil {
		return space.Found{}, refused
	}
	lines, err := author.DescribeChange(ctx, at, l, d)
	if err != nil || len(lines) > author.MaxApproval {
		return space.Found{}, refused
	}
	q := rye.Question{Topic: "sign it and run it", Text: refused.Error(), Lines: lines, Mend: fault.HintOf(refused), Person: true}
	if err := s.Ask(ctx, q); err != nil { // also when it is too long to be judged
		if ctx.Err() != nil {
			return space.Found{}, ctx.Err()
		}
		return space.Found{}, refused
	}
	if _, err := author.FinishSigning(ctx, at, l, key.Public(), []*author.Signing{d}, rye.SignRequest{}); err != nil {
		return space.Found{}, err
	}
	return s.Stack.Find(ctx, ref)
}
