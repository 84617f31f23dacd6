package look

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Verify checks items as a use of them would: refs and paths as they resolve. Without targets
// it checks every item of the project and the user space. The error is the first refusal, so
// that its code shows the kind; the results are complete. Mistakes in the text of own items,
// by the rules of their kind and of extractors, are reported without an error. They only keep
// an item from being signed again.
func Verify(ctx context.Context, s *session.Session, q rye.VerifyRequest) ([]rye.VerifyResult, error) {
	found, err := findTargets(ctx, s, q.Targets)
	r := reading{ctx: ctx, s: s, q: q}
	if len(q.Targets) == 0 {
		found, err = scanLayers(ctx, s, r.note)
	}
	if err != nil {
		return nil, err
	}
	var (
		all   []rye.VerifyResult
		first error
	)
	_, broken := extractors(ctx, s) // without extractors some mistakes cannot be found
	for _, f := range found {
		if f.Manifest && f.Registry != "" && f.Err == nil { // lists do not read all of a bundle
			f.Err = f.Cover.Check()
		}
		v := rye.VerifyResult{ItemInfo: Describe(f.Row(nil)), OK: f.Err == nil}
		if f.Err != nil {
			v.Code, v.Error, v.Hint = fault.CodeOf(f.Err), f.Err.Error(), fault.HintOf(f.Err)
			first = cmp.Or(first, f.Err)
		}
		v.Mistakes, v.Checks = r.of(f)
		warn(s, &v.ItemInfo, f.Registry)
		if v.OK && f.Manifest && f.Registry == "" {
			if v.Warning, err = beside(s, f); err != nil {
				return all, err
			}
		}
		all = append(all, v)
	}
	if len(q.Targets) == 0 {
		broken = cmp.Or(broken, s.LockConflict)
	}
	return all, cmp.Or(first, broken)
}

// reading collects facts about files while their bytes are at hand. It is safe for concurrent
// use.
type reading struct {
	ctx   context.Context
	s     *session.Session
	q     rye.VerifyRequest
	known sync.Map // of told, by where
}

type where struct {
	space objects.Space
	path  string
}

type told struct {
	mistakes []rye.Mistake
	checks   []rye.Check
}

// note keeps the facts about a finding, and not its bytes: ten thousand items would be 100 MB.
func (r *reading) note(f *space.Finding) {
	if t := r.tell(*f); len(t.mistakes)+len(t.checks) > 0 {
		r.known.Store(where{f.Space, f.Path}, t)
	}
	f.Forget()
}

func (r *reading) tell(f space.Finding) (t told) {
	t.mistakes = mistakes(r.ctx, r.s, f)
	if r.q.Explain && f.Item != nil {
		t.checks = explain(r.s, f)
	}
	return t
}

// of returns the kept facts, else those from the finding itself.
func (r *reading) of(f space.Finding) ([]rye.Mistake, []rye.Check) {
	t, ok := r.known.Load(where{f.Space, f.Path})
	if !ok && f.Item != nil && f.Item.Raw != nil {
		t, ok = r.tell(f), true
	}
	if !ok {
		return nil, nil
	}
	return t.(told).mistakes, t.(told).checks
}

// scanLayers judges everything in the project and the user space.
func scanLayers(ctx context.Context, s *session.Session, each func(*space.Finding)) ([]space.Finding, error) {
	var all []space.Finding
	for _, l := range s.Stack.Layers() {
		found, err := Scan(ctx, s, l.Space, each)
		if err != nil {
			return nil, err
		}
		all = append(all, here(s, found)...)
	}
	return all, nil
}

// ExplainTrust lists, for each space that holds an item, the checks before its use there, and
// their outcomes. The error is from the item that would be used, so that its code shows the
// kind; the explanations are complete.
func ExplainTrust(ctx context.Context, s *session.Session, q rye.ItemRequest) ([]rye.TrustExplanation, error) {
	var all []rye.TrustExplanation
	var first error
	for f, err := range candidates(ctx, s, q.Ref) {
		if err != nil {
			return all, err
		}
		in := Describe(f.Row(nil))
		e := rye.TrustExplanation{Ref: in.Ref, Space: in.Space, Path: in.Path, Signer: in.Signer, Used: len(all) == 0, OK: f.Err == nil}
		if f.Err != nil {
			e.Code, e.Hint = fault.CodeOf(f.Err), fault.HintOf(f.Err)
			e.Checks = []rye.Check{{Name: "read", Text: f.Err.Error()}}
		}
		if e.Used {
			first = f.Err
		}
		if f.Item != nil {
			e.Checks = explain(s, f)
		}
		all = append(all, e)
	}
	return all, first
}

// explain lists every check between an item and its use.
func explain(s *session.Session, f space.Finding) []rye.Check {
	var all []rye.Check
	switch {
	case f.Space == objects.System:
		text := "compiled in; the signed manifest of the standard library lists this digest"
		if f.Err != nil {
			text = f.Err.Error()
		}
		return []rye.Check{{Name: "manifest", OK: f.Err == nil, Text: text}}
	case !f.Verified.IsZero() && f.Level() == trust.Manifest:
		return []rye.Check{{Name: "manifest", OK: true,
			Text: "this digest is in the manifest of bundle " + string(f.Bundle) + ", signed by " + f.Key().String()}}
	case f.Bundle != "":
		all = append(all, rye.Check{Name: "manifest", OK: f.Err == nil || f.State != objects.Modified,
			Text: "its own signature is valid, and the manifest of bundle " + string(f.Bundle) + " must list it"})
	}
	scope := s.Stack.Scope(&space.Layer{Space: f.Space})
	scope.Registry = f.Registry
	if f.Registry != "" && s.Lock != nil {
		if p, ok := s.Pin(f.Ref); ok {
			scope.Pinned = p.Sum
		}
	}
	for _, c := range s.Trust.Explain(f.Item, scope) {
		all = append(all, rye.Check{Name: c.Name, OK: c.Pass, Skipped: !c.Ran, Text: c.Words})
	}
	return append(all, explainRecord(f))
}

// explainRecord compares an item with the record.
func explainRecord(f space.Finding) rye.Check {
	c := rye.Check{Name: "record", OK: true}
	switch {
	case f.Registry != "":
		c.Text = "pinned by the lock, from registry " + f.Registry
	case f.Err != nil && (f.State == objects.Older || f.State == objects.Returned || f.State == objects.Absent):
		c.OK, c.Text = false, f.Err.Error()
	case f.State == objects.Older:
		c.Text = "older than the version signed " + f.Past.Newest.UTC().Format(time.RFC3339) + ", with no wider needs"
	case f.Recorded:
		c.Text = "these bytes are recorded in the " + f.Space.String() + " space"
	case f.Err == nil:
		c.Text = "newer than the version recorded in the " + f.Space.String() + " space"
	default:
		c.Text = "different from the version recorded in the " + f.Space.String() + " space"
	}
	return c
}
