package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// batch is one verb for one or more targets.
type batch struct {
	*custody.Desk
	verb  string // in messages
	text  string // of the question
	alone string // of the question about one
	again []string
	dry   bool
	one   func(t rye.Target, dry bool) (*rye.AddReport, error)
	look  func(ctx context.Context, would []rye.AddReport) (lines []string, err error) // completes reports; lines need a yes
}

// run tries all targets without an effect, asks about more than one and about what look returns, and
// then works on each. Two
// targets for one item count once. The reports are of the work that is done, beside an error, too.
func (b batch) run(ctx context.Context, targets []rye.Target) (done []rye.AddReport, err error) {
	var would []rye.AddReport
	var once []rye.Target
	seen := map[string]bool{}
	for _, t := range targets {
		rep, err := b.one(t, true)
		if err != nil {
			return nil, err
		}
		if key := rep.Ref + "\x00" + rep.Path; !seen[key] {
			seen[key] = true
			would, once = append(would, *rep), append(once, t)
		}
	}
	var lines []string
	if b.look != nil {
		if lines, err = b.look(ctx, would); err != nil {
			return nil, err
		}
	}
	if b.dry {
		return would, nil
	}
	if len(once) > 1 || len(lines) > 0 {
		if err := b.ask(ctx, would, lines); err != nil {
			return nil, err
		}
	}
	for i, t := range once {
		rep, err := b.one(t, false)
		if err != nil {
			return done, err
		}
		rep.UsedBy = would[i].UsedBy
		done = append(done, *rep)
	}
	return done, nil
}

func (b batch) ask(ctx context.Context, would []rye.AddReport, more []string) error {
	lines, text := slices.Clone(more), b.text
	if len(would) == 1 {
		text = b.alone
	}
	for _, rep := range would {
		lines = append(lines, strings.TrimSpace(rep.Ref+"  "+rep.Path))
	}
	return b.Ask(ctx, rye.Question{Topic: b.verb + " " + words.Plural(len(would), "item"), Lines: few(lines),
		Text: text, Mend: fault.CommandOf(append(slices.Clip(b.again), "--yes")...)})
}

// again returns the command of a batch once more, for a hint.
func again(verb string, targets []rye.Target, flags ...string) []string {
	line := []string{"rye", verb}
	for _, t := range targets {
		line = append(line, string(t))
	}
	for i := 0; i < len(flags); i += 2 { // a name and a value
		if flags[i+1] != "" {
			line = append(line, flags[i], flags[i+1])
		}
	}
	return line
}

// few bounds a list for a question.
func few(lines []string) []string {
	if more := len(lines) - maxListed; more > 0 {
		return append(slices.Clip(lines[:maxListed]), fmt.Sprintf("and %d more", more))
	}
	return lines
}

// absences are the recorded items and bundles of a layer, to find those that are gone.
type absences struct {
	bundles map[string]bool // directories
	items   map[objects.Ref]bool
	order   []objects.Ref
	paths   map[objects.Ref]string
}

// everRecorded is recordedNow for all that was ever recorded.
func everRecorded(ctx context.Context, l *space.Layer) (*absences, error) {
	a := newAbsences()
	return a, l.Ever(ctx, a.note)
}

// recordedNow returns the items and bundles that the record of a layer holds.
func recordedNow(ctx context.Context, l *space.Layer) (*absences, error) {
	a := newAbsences()
	return a, l.Recorded(ctx, a.note)
}

func newAbsences() *absences {
	return &absences{bundles: map[string]bool{}, items: map[objects.Ref]bool{}, paths: map[objects.Ref]string{}}
}

func (a *absences) note(p string, _ store.OID) error {
	if path.Base(p) == objects.ManifestName {
		if _, err := objects.BundleID(path.Dir(p)); err == nil {
			a.bundles[path.Dir(p)] = true
		}
		return nil
	}
	if ref, _, err := objects.RefOfPath(p); err == nil && !a.items[ref] {
		a.items[ref], a.paths[ref] = true, p
		a.order = append(a.order, ref)
	}
	return nil
}

// inBundle returns the recorded bundle around a path, "" for none.
func (a *absences) inBundle(p string) string {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if a.bundles[dir] {
			return dir
		}
	}
	return ""
}

// found is what a batch of restorations works on.
type found struct {
	gone    []rye.Target
	skipped []rye.AddReport // here, and unlike the record: a batch replaces no file
}

// find returns the wanted items and bundles that are gone, or differ from the record.
func (a *absences) find(ctx context.Context, l *space.Layer, want func(objects.Ref) bool) (f found, err error) {
	dirs, err := a.single(l, want, &f)
	if err == nil {
		err = wholeFolders(ctx, l, dirs, &f)
	}
	return f, err
}

// single adds the wanted items outside of bundles, and returns the directories of the wanted bundles.
func (a *absences) single(l *space.Layer, want func(objects.Ref) bool, f *found) (dirs map[string]bool, err error) {
	dirs = map[string]bool{}
	for dir := range a.bundles {
		if id, err := objects.BundleID(dir); err == nil && want(objects.BundleRef(id)) {
			dirs[dir] = true
		}
	}
	slices.SortFunc(a.order, func(x, y objects.Ref) int { return strings.Compare(x.String(), y.String()) })
	locate := l.Locations(a.order)
	for _, ref := range a.order {
		if !want(ref) {
			continue
		}
		if dir := a.inBundle(a.paths[ref]); dir != "" {
			dirs[dir] = true
			continue
		}
		p, err := locate(ref)
		switch {
		case err != nil: // two files for it: nothing is gone
		case p == "":
			f.gone = append(f.gone, rye.Target(ref.String()))
		default:
			raw, err := l.Read(p)
			if err != nil {
				continue
			}
			if same, err := l.Holds(p, raw); err != nil {
				return nil, err
			} else if !same {
				f.skipped = append(f.skipped, rye.AddReport{Path: session.Shown(l, p), Why: "it is here, and differs from its record; rye restore " + ref.String() + " brings that back"})
			}
		}
	}
	return dirs, nil
}

// wholeFolders adds bundles: as gone if nothing of them is here.
func wholeFolders(ctx context.Context, l *space.Layer, dirs map[string]bool, f *found) error {
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		id, err := objects.BundleID(dir)
		if err != nil {
			return err
		}
		here, err := l.Contents(ctx, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(here) == 0 {
			f.gone = append(f.gone, rye.Target(look.BundleRef(id)))
			continue
		}
		whole, err := asRecorded(ctx, l, dir, here)
		if err != nil {
			return err
		}
		if !whole {
			f.skipped = append(f.skipped, rye.AddReport{Path: session.Shown(l, dir), Why: "a part of it is here; rye restore " + look.BundleRef(id) + " brings its record back"})
		}
	}
	return nil
}

// asRecorded reports whether a directory has the recorded files and no other.
func asRecorded(ctx context.Context, l *space.Layer, dir string, here []store.Change) (bool, error) {
	for _, c := range here {
		if same, err := l.Holds(c.Path, c.Data); err != nil || !same {
			return false, err
		}
	}
	lacks, err := removals(ctx, l, dir, here)
	return len(lacks) == 0, err
}

// Knows reports whether a space has the item or the bundle that a user named; with ever, whether it
// ever had it.
func Knows(ctx context.Context, s *session.Session, l *space.Layer, t rye.Target, ever bool) bool {
	if _, ok := look.BundleTarget(l, t); ok {
		return true
	}
	ref, err := session.RefOf(ctx, s, string(t))
	if err == nil {
		if p, err := l.Locate(ref); err == nil && p != "" {
			return true
		}
	}
	if ref, err = session.RecordedRef(ctx, s, l, string(t)); err != nil || !ever {
		return false
	}
	p, _, err := l.LastRecorded(ctx, ref)
	return err == nil && p != ""
}
