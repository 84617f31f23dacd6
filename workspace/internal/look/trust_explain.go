package look

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// ExplainTrust says, for each space that holds an item, which checks stand between
// it and its use there, and how each went. The error is that of the one that would
// be used, so that its code says what kind it was; the explanations are complete.
func ExplainTrust(ctx context.Context, s *session.Session, q rye.ItemRequest) ([]rye.TrustExplanation, error) {
	var all []rye.TrustExplanation
	var first error
	for sp := objects.Project; sp >= objects.System; sp-- {
		f, ok, err := s.Stack.In(ctx, sp, q.Ref)
		if err != nil {
			return all, err
		}
		if !ok {
			continue
		}
		in := info(f)
		e := rye.TrustExplanation{Ref: in.Ref, Space: in.Space, Path: in.Path, Signer: in.Signer, Used: len(all) == 0, OK: f.Err == nil}
		if f.Err != nil {
			e.Code, e.Hint = fault.CodeOf(f.Err), fault.HintOf(f.Err)
			if e.Used {
				first = f.Err
			}
		}
		if f.Item != nil {
			e.Checks = explain(s, f)
		} else if f.Err != nil {
			e.Checks = []rye.Check{{Name: "read", Text: f.Err.Error()}}
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, fault.New(fault.NotFound, "%s: in no space", q.Ref).Mend("rye search %s", q.Ref.ID.Name())
	}
	return all, first
}
