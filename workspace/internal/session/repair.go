package session

import (
	"context"
	"fmt"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// Repair repairs refs of the project's and the user's store that lead to something missing or
// damaged. It moves them back to the newest undamaged position in their logs, when a person
// agreed. A ref without such a position is left to Fsck.
func Repair(ctx context.Context, s *Session, q rye.FsckRequest) ([]rye.RefRepair, error) {
	var all []rye.RefRepair
	var mends []func() error
	for _, l := range s.Stack.Layers() {
		repo, err := l.Repo()
		if err != nil || repo == nil {
			continue // Fsck reports the reason
		}
		broken, err := store.BrokenRefs(ctx, repo)
		if err != nil {
			return nil, err
		}
		for _, b := range broken {
			if !b.Mendable() {
				continue
			}
			all = append(all, refRepair(l.Space.String()+" space", b, q.DryRun))
			mends = append(mends, func() error { return repo.MendRef(ctx, b) })
		}
	}
	if len(all) == 0 || q.DryRun {
		return all, nil
	}
	if err := s.Ask(ctx, repairQuestion(all)); err != nil {
		return nil, err
	}
	for i, mend := range mends {
		if err := mend(); err != nil {
			return all[:i], err
		}
	}
	return all, nil
}

func refRepair(place string, b store.BrokenRef, dryRun bool) rye.RefRepair {
	r := rye.RefRepair{Place: place, Ref: b.Name, Why: b.Why.Error(), DryRun: dryRun}
	if !b.At.IsZero() {
		r.From = b.At.String()
	}
	if b.MovesBack() {
		r.To = b.To.String()
	}
	for _, m := range b.Lost {
		r.Lost = append(r.Lost, rye.LostMove{Commit: m.New.String(), At: m.Who.Time().UTC().Format(time.RFC3339), Why: m.Why})
	}
	return r
}

// repairQuestion shows every repair.
func repairQuestion(all []rye.RefRepair) rye.Question {
	q := rye.Question{Topic: "fsck", Text: "Mend " + words.Plural(len(all), "ref") + " like this? No object and no file changes.",
		Mend: fault.Advice("rye fsck --repair --yes, after a look at rye fsck --repair --dry-run")}
	for _, r := range all {
		if r.To != "" {
			q.Lines = append(q.Lines, fmt.Sprintf("%s: %s goes back to %s: %s", r.Place, r.Ref, r.To, r.Why))
		} else {
			q.Lines = append(q.Lines, fmt.Sprintf("%s: the log of %s loses its damaged part: %s", r.Place, r.Ref, r.Why))
		}
	}
	for _, r := range all {
		for _, m := range r.Lost {
			q.Lines = append(q.Lines, fmt.Sprintf("lost to %s: %s, %s, %s", r.Ref, m.Commit, m.At, words.Brief(m.Why)))
		}
	}
	if n := len(q.Lines) - maxRepairLines; n > 0 {
		q.Lines = append(q.Lines[:maxRepairLines], fmt.Sprintf("... and %d more lines, which rye fsck --repair --dry-run shows", n))
	}
	return q
}

// maxRepairLines bounds the lines of a repair question: no one reads more there.
const maxRepairLines = 40
