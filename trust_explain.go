package rye

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// TrustExplain says, for each space that holds an item, which checks stand between
// it and its use there, and how each went. The error is that of the one that would
// be used, so that its code says what kind it was; the explanations are complete.
func (r *Rye) TrustExplain(ctx context.Context, ref string) ([]TrustExplanation, error) {
	s, rf, err := r.openFor(ref)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []TrustExplanation
	var first error
	for sp := objects.Project; sp >= objects.System; sp-- {
		f, ok, err := s.stack.In(ctx, sp, rf)
		if err != nil {
			return all, err
		}
		if !ok {
			continue
		}
		in := info(f)
		e := TrustExplanation{Ref: in.Ref, Space: in.Space, Path: in.Path, Signer: in.Signer, Used: len(all) == 0, OK: f.Err == nil}
		if f.Err != nil {
			e.Code, e.Hint = fault.CodeOf(f.Err), fault.HintOf(f.Err)
			if e.Used {
				first = f.Err
			}
		}
		if f.Item != nil {
			e.Checks = s.explain(f)
		} else if f.Err != nil {
			e.Checks = []Check{{Name: "read", Text: f.Err.Error()}}
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, fault.New(fault.NotFound, "%s: in no space", rf).Mend("rye search %s", rf.ID.Name())
	}
	return all, first
}
