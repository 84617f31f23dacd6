// Package look finds, lists, verifies and compares items and bundles, and shows their
// records: when, by whom, and the changes. It changes nothing.
//
// # Reasons
//
// Blame names the first version with a valid signature from the line's commit on. An item
// is often recorded before it is signed, and blame by commit alone would report no signer.
// The line was in all of these versions, or it would not be here. The signature is valid
// now: when a key was revoked since, its lines say so, unless another signer signed them
// again.
package look

import (
	"context"
	"iter"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// candidates yields each space's item for a ref, trusted or not, highest space first. It ends
// with an error when a read failed, or when no space has the ref.
func candidates(ctx context.Context, s *session.Session, ref objects.Ref) iter.Seq2[space.Finding, error] {
	return func(yield func(space.Finding, error) bool) {
		none := true
		for sp := objects.Project; sp >= objects.System; sp-- {
			f, ok, err := s.Stack.In(ctx, sp, ref)
			if ok && err == nil {
				f, ok, err = s.Stack.Settle(ctx, f)
			}
			if none = none && !ok; ok || err != nil {
				if !yield(f, err) || err != nil {
					return
				}
			}
		}
		if none {
			yield(space.Finding{}, space.Missing(ctx, s.Stack, ref, "not found"))
		}
	}
}

// Finding resolves a ref to the candidate that would be used, trusted or not.
func Finding(ctx context.Context, s *session.Session, ref objects.Ref) (f space.Finding, err error) {
	for f, err = range candidates(ctx, s, ref) {
		break
	}
	return f, err
}

// findTargets resolves a user's targets, each to one item or one bundle.
func findTargets(ctx context.Context, s *session.Session, targets []rye.Target) ([]space.Finding, error) {
	var all []space.Finding
	for _, t := range targets {
		f, ok, err := bundleFinding(ctx, s, t)
		if err == nil && !ok {
			var ref objects.Ref
			if ref, err = session.RefOf(ctx, s, string(t)); err == nil {
				f, err = Finding(ctx, s, ref)
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// Loaded is a found and verified item that the caller may load.
type Loaded struct {
	space.Finding
	Result *rye.LoadResult
}

// Load returns one verified item, from the highest space that holds it or from a named one.
// The caller has to hold the capability to load it.
func Load(ctx context.Context, s *session.Session, c rye.Caller, q rye.LoadRequest) (*Loaded, error) {
	s = s.For(c, q.Ref)
	f, err := findIn(ctx, s, q)
	if err == nil {
		f = space.Admit(ctx, s.Stack, f)
		err = f.Err
	}
	if err == nil {
		err = s.Allow(c, "load", q.Ref)
	}
	if err != nil {
		return nil, err
	}
	it := f.Verified.Item()
	info := Describe(f.Row(nil))
	Declared(&info, it)
	info.Programs = programsBeside(ctx, s, f)
	warn(s, &info, f.Registry)
	return &Loaded{Finding: f, Result: &rye.LoadResult{ItemInfo: info, Content: string(it.Raw), Digest: it.Digest.String(), Body: it.Meta.Prose}}, nil
}

// findIn is Finding for the request's space, if it names one.
func findIn(ctx context.Context, s *session.Session, q rye.LoadRequest) (space.Finding, error) {
	if q.Space == "" {
		return Finding(ctx, s, q.Ref)
	}
	sp, err := objects.ParseSpace(q.Space)
	if err != nil {
		return space.Finding{}, err
	}
	f, ok, err := s.Stack.In(ctx, sp, q.Ref)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "%s: not in the %s space", q.Ref, sp).Advise("rye show --all %s", q.Ref)
	}
	return f, err
}
