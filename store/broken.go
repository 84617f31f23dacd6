package store

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// BrokenRef is a ref that cannot be read or that leads to missing or damaged objects, or a ref
// whose log names such objects. MendRef mends it.
type BrokenRef struct {
	Name string // or "HEAD", of which only the log is checked
	At   OID    // where the ref points; zero when it cannot be read, or is gone
	To   OID    // the newest intact position in its log; At when only the log is broken; zero when there is none
	Why  error  // the flaw of At, or of the newest position that is not intact
	Lost []Move // the moves in its log to positions that are not intact, oldest first

	text string // content of the ref when it was checked
}

// Mendable reports whether MendRef can mend b.
func (b BrokenRef) Mendable() bool { return !b.To.IsZero() }

// MovesBack reports whether mending b moves the ref, and does not only shorten its log.
func (b BrokenRef) MovesBack() bool { return b.Mendable() && b.To != b.At && b.Name != "HEAD" }

// BrokenRefs reads all objects that refs and logs lead to. It returns the refs that lead to
// missing or damaged objects, sorted, HEAD last. It changes nothing.
func BrokenRefs(ctx context.Context, r *Repo) ([]BrokenRef, error) {
	names, err := r.RefLogs()
	if err != nil {
		return nil, err
	}
	refs, err := r.Refs("refs/")
	if err != nil {
		refs = nil // one of them holds no id: only refs with a log are checked
	}
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	slices.SortFunc(names, headLast)
	w := &wholeness{ctx: ctx, r: r, known: map[OID]*flaw{}, types: map[OID]Type{}}
	var all []BrokenRef
	for _, name := range slices.Compact(names) {
		b, err := w.ref(name)
		if err != nil {
			return nil, err
		}
		if b.Why != nil {
			all = append(all, b)
		}
	}
	return all, nil
}

func headLast(a, b string) int {
	if (a == "HEAD") != (b == "HEAD") {
		return -strings.Compare(a, b)
	}
	return strings.Compare(a, b)
}

// ref checks one ref and its log. Why of the result is nil when both are intact.
func (w *wholeness) ref(name string) (b BrokenRef, err error) {
	b.Name = name
	moves, err := w.r.RefLog(name)
	if err != nil {
		return b, err
	}
	if name != "HEAD" {
		if b.At, b.Why, err = w.at(name, moves); err != nil {
			return b, err
		}
		b.text = w.r.refText(name)
	}
	moved := b.Why != nil || name == "HEAD"
	if !moved {
		b.To = b.At
	}
	for i := len(moves) - 1; i >= 0; i-- {
		m := moves[i]
		if m.New.IsZero() {
			continue
		}
		flaw, err := w.whole(m.New)
		switch {
		case err != nil:
			return b, err
		case flaw != nil:
			if b.Lost = append(b.Lost, m); b.Why == nil {
				b.Why = flaw
			}
		case moved && b.To.IsZero():
			b.To = m.New
		}
	}
	slices.Reverse(b.Lost)
	return b, nil
}

// at returns the position of a ref, and the flaw of that position.
func (w *wholeness) at(name string, moves []Move) (id OID, wrong, err error) {
	switch id, err = w.r.Ref(name); {
	case isMissing(err) && !existed(moves):
		return id, nil, nil // it is being created
	case err != nil && fault.CodeOf(err) == fault.Failed:
		return id, nil, err
	case err != nil:
		return id, err, nil
	}
	if _, target, err := w.r.rawRef(name); err == nil && target != "" {
		return id, nil, nil // symbolic: its target is checked as a ref of its own
	}
	if wrong, err = w.whole(id); wrong == nil && err == nil && strings.HasPrefix(name, "refs/heads/") && w.types[id] != TypeCommit {
		wrong = fault.New(fault.Integrity, "%s is a %s, and a branch names a commit", id, w.types[id])
	}
	return id, wrong, err
}

// existed reports whether a log shows more than that its ref was about to be created.
func existed(moves []Move) bool {
	if len(moves) == 0 {
		return false
	}
	last := moves[len(moves)-1]
	return !last.Old.IsZero() && !last.New.IsZero()
}

// refText returns the content of a ref's file and its line in packed-refs. Equal texts mean
// that the ref did not change between two checks.
func (r *Repo) refText(name string) string {
	text, _ := r.files.read(name, maxRefFile)
	packed, _ := r.packedRefID(name)
	return string(text) + "\x00" + packed.String()
}

// BrokenPacks reads every pack and every index and returns one error for each damaged file,
// even when another file holds the same objects.
func (r *Repo) BrokenPacks(ctx context.Context) (wrong []error, err error) {
	list, err := r.files.readDir(r.disk.name("pack"))
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		base, isPack := strings.CutSuffix(e.Name(), ".pack")
		base, isIdx := strings.CutSuffix(base, ".idx")
		if !isPack && !isIdx || !strings.HasPrefix(base, "pack-") {
			continue
		}
		name := r.disk.name("pack/" + e.Name())
		why := r.sealed(name)
		if why == nil && isIdx {
			p := &pack{files: r.files, path: strings.TrimSuffix(name, ".idx"), format: r.format}
			why = p.open(true)
			p.close()
		}
		if isMissing(why) && (!isIdx || !r.files.has(name)) {
			continue // repacked meanwhile
		}
		if why != nil {
			wrong = append(wrong, fault.New(fault.Integrity, "pack file %s: %v", r.files.path(name), why))
		}
	}
	return wrong, nil
}
