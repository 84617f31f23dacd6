package run

import (
	"context"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/questions"
)

// mayUsePatched decides about patches in a run, as patchesLocked does. A caller that is no person needs a person's yes, once, to exactly the bytes of the
// whole plan; more are items that it uses beside the plan.
func (j *job) mayUsePatched(ctx context.Context, s *custody.Desk, ref objects.Ref, plan *chain.Plan, more ...trust.Verified) error {
	patched := chain.PatchedOf(plan, more...)
	if err := j.patchesLocked(ref, patched); err != nil {
		return err
	}
	if j.caller.IsPerson() || len(patched.Ungranted()) == 0 {
		return nil
	}
	t := patchedThing(s, ref, plan, patched)
	a, err := agreed(s)
	if err != nil || a.Covers(t) {
		return err
	}
	q := rye.Question{Topic: "execute " + ref.String(), Text: j.caller.Who() + " wants to use a patch, which no owner of its namespace signed. Use it?",
		Lines: patchedLines(s, patched, t, a.Changed(t)), Mend: fault.Command("rye approve"), Person: true}
	if plan != nil {
		err = j.ask(ctx, s, q)
	} else if j.q.DryRun {
		err = s.Ask(ctx, q)
	} else {
		err = questions.About(ctx, s.Session, j.caller, t.Sum.String(), q)
	}
	if err != nil || j.q.DryRun {
		return err
	}
	return remember(ctx, s, func(a consent.Agreed) consent.Agreed { return withAll(a, []consent.Thing{t}) })
}

// patchesLocked refuses patches that no grant names to a request that demands the lock.
func (j *job) patchesLocked(ref objects.Ref, patched chain.Patched) error {
	if j.q.Locked || j.q.Frozen || j.q.Pinned {
		return patched.Refuse("execute", ref)
	}
	return nil
}

// patchedThing is what a person agrees to: one item with everything that its run uses, in this
// directory.
func patchedThing(s *custody.Desk, ref objects.Ref, plan *chain.Plan, patched chain.Patched) consent.Thing {
	t := consent.Thing{What: consent.Patched, Path: ref.String(), In: placeOf(s, s.ProjectDir), Parts: map[string][]byte{}}
	for _, p := range patched {
		t.Parts[p.Name] = []byte(p.Sum.Hex())
	}
	if plan != nil {
		t.Sum = chain.DigestOf(plan, chain.Interpreter{})
	} else {
		t.Sum = patched[0].Sum // a text is one file
	}
	return t
}

// patchedLines describes the patches to a person.
func patchedLines(s *custody.Desk, patched chain.Patched, t consent.Thing, changed []string) (lines []string) {
	for i, p := range patched {
		if i == shownFiles {
			lines = append(lines, "patched      and more, which the digest covers")
			break
		}
		lines = append(lines, "patched      "+p.Name+"  "+p.Sum.String())
	}
	lines = append(lines, "covers       "+t.Sum.String())
	if len(changed) > 0 {
		lines = append(lines, "since yes    "+strings.Join(changed, ", "))
	}
	return lines
}
