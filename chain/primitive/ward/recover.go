package ward

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
)

// Earlier is what a killed run's note tells of the project before it.
type Earlier struct {
	Began time.Time
	Paths []string // that were protected, absolute
}

// Recover is After for a run that was killed, maybe long ago. It moves what has appeared since the
// run began, as far as nothing excuses it. Existing things were held while the run lived.
func Recover(ctx context.Context, o Options, was Earlier, x Excuses, to string) ([]Taken, error) {
	w, err := Look(ctx, o)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	w.Excuse(x)
	d, err := openDisk(o.Project)
	if err != nil {
		return nil, fault.Wrap(err, "look for files that programs run by themselves in %s", o.Project)
	}
	defer d.Close()
	w.began, w.since = was.Began, was.Began
	before := w.relative(was.Paths)
	e := &ending{w: w, d: d, before: map[string]thing{}, inodes: map[uint64]thing{}, there: map[string]bool{}, take: &taker{ctx: ctx, d: d, to: to}, patience: patience}
	for _, t := range w.before {
		e.there[t.path] = t.dir()
		if slices.ContainsFunc(before, func(p string) bool { return below(t.path, p) }) {
			e.before[t.path] = t
		}
	}
	things := slices.Clone(w.before)
	slices.SortStableFunc(things, func(a, b thing) int { return rank(a) - rank(b) })
	for _, t := range things {
		if t.part == linkPart && t.ctime < was.Began.Add(-tick).UnixNano() {
			continue // a note names no links
		}
		if !e.existed(t.path) {
			e.judge(t, e.how(t))
		}
	}
	return e.take.taken, errors.Join(e.take.failed...)
}
