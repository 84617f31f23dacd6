package author

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Prepare does the first steps of an upgrade of RYE OS items, in a session before its own. Once
// the user agreed, it lets items in the standard library's namespaces override the library's.
// It returns requests for the extractors, which are signed first: they judge all other items.
func Prepare(ctx context.Context, s *custody.Desk, c rye.Caller, q rye.SignRequest) (then []rye.SignRequest, err error) {
	if !c.IsPerson() || q.Space != "" && q.Space != objects.Project.String() || q.Check || q.DryRun {
		return nil, nil
	}
	l, err := s.Stack.Layer(objects.Project)
	if err != nil {
		return nil, err
	}
	named, err := look.ItemsAndBundles(ctx, s.Session, l, q.Targets, q.All)
	if err != nil {
		return nil, err
	}
	if err := overrideLegacy(ctx, s, l, named.Refs); err != nil {
		return nil, err
	}
	for _, ref := range named.Refs {
		if _, is := extract.KindOf(ref); is {
			then = append(then, rye.SignRequest{Targets: []rye.Target{rye.Target(ref.String())}, Upgrade: true})
		}
	}
	return then, nil
}

// WithFirst adds the results of earlier signings to a report, which may be nil.
func WithFirst(rep *rye.SignReport, first []rye.SignResult) *rye.SignReport {
	for _, done := range first {
		if rep == nil || done.Status != "signed" {
			continue
		}
		for i := range rep.Results {
			if r := &rep.Results[i]; r.Ref == done.Ref && r.Status == "unchanged" {
				*r = done
				rep.Signed++
			}
		}
	}
	return rep
}

// overrideLegacy asks once about all items with a line of RYE OS that would override the
// standard library's. After a yes, the user's own keys may sign them here.
func overrideLegacy(ctx context.Context, s *custody.Desk, l *space.Layer, refs []objects.Ref) error {
	read := l.Drafts(refs)
	var over []objects.Ref
	for _, ref := range refs {
		it, err := read(ref)
		if err != nil || it.Legacy == nil || !trust.Reserved(ref.ID.Namespace()) {
			continue
		}
		if !custody.MayOverride(s.Session, ref) {
			over = append(over, ref)
		}
	}
	if len(over) == 0 {
		return nil
	}
	q := rye.Question{Topic: "upgrade", Text: "Let " + words.Plural(len(over), "item") + " of this project replace items of the standard library?",
		Mend: fault.Command("rye sign --all --upgrade --yes")}
	for i, ref := range over {
		if i == maxShown {
			q.Lines = append(q.Lines, "... and "+words.Plural(len(over)-i, "more item"))
			break
		}
		q.Lines = append(q.Lines, ref.String())
	}
	if err := s.Ask(ctx, q); err != nil {
		return err
	}
	return custody.OverrideAll(ctx, s.Session, over)
}
