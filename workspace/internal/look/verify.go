package look

import (
	"cmp"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Verify checks items as a use of them would: refs and paths as they resolve, or with no
// target every item of the project and the user space. The error is the first refusal, so
// that its code says what kind it was; the results are complete. Mistakes in the text of own
// items, by the rules of their kind and what extractors ask besides, are told and refuse
// nothing: they keep an item from being signed anew.
func Verify(ctx context.Context, s *session.Session, q rye.VerifyRequest) ([]rye.VerifyResult, error) {
	found, err := findTargets(ctx, s, q.Targets)
	if len(q.Targets) == 0 {
		found, err = scanLayers(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	var (
		all   []rye.VerifyResult
		first error
	)
	_, broken := extractors(ctx, s) // then some mistakes cannot be looked for
	for _, f := range found {
		v := rye.VerifyResult{ItemInfo: describe(f.Row(nil)), OK: f.Err == nil, Mistakes: mistakes(ctx, s, f)}
		if f.Err != nil {
			v.Code, v.Error, v.Hint = fault.CodeOf(f.Err), f.Err.Error(), fault.HintOf(f.Err)
			first = cmp.Or(first, f.Err)
		}
		if q.Explain && f.Item != nil {
			v.Checks = explain(s, f)
		}
		all = append(all, v)
	}
	return all, cmp.Or(first, broken)
}

// scanLayers judges everything in the project and the user space.
func scanLayers(ctx context.Context, s *session.Session) ([]space.Finding, error) {
	var all []space.Finding
	for _, l := range s.Stack.Layers() {
		found, err := Scan(ctx, s, l.Space)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
