package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rye-os/rye/store"
)

// Standing says how one address of a registry compares with all that is known of it.
type Standing struct {
	URL    string
	Down   error    // why it could not be compared; nil: it was
	Behind []Behind // logs of which it shows less
}

// Behind is a log of which an address shows less than is known.
type Behind struct {
	Namespace    string // "" is the root
	Shown, Known uint64 // operations
}

func (b Behind) String() string {
	return fmt.Sprintf("%s: %d of %d operations", cmp.Or(b.Namespace, "root"), b.Shown, b.Known)
}

// Survey asks every address of a registry for the root and for namespaces, and compares what
// they show: what is new at any of them is verified and known from then on. One that does
// not answer, or is behind, is told in the report. One that contradicts what is known is an
// error, after all of them were asked: Fork, with both operations kept, or what else it is.
func (r *Registry) Survey(ctx context.Context, namespaces ...string) ([]Standing, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Offline || len(r.mirrors) == 0 {
		return nil, nil
	}
	v := survey{r: r, namespaces: namespaces, shows: map[*mirror]map[string]uint64{}, whole: map[*mirror]bool{}, down: map[*mirror]error{}}
	var errs []error
	v.asked = slices.Clone(r.mirrors)
	for _, ns := range namespaces {
		if home, err := r.writtenAt(ctx, ns); err == nil && !slices.Contains(v.asked, home) {
			v.asked = append(v.asked, home)
		}
	}
	for _, m := range v.asked {
		if err := v.ask(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.remote, err))
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	all, err := v.compare(ctx)
	return all, errors.Join(append(errs, err)...)
}

// survey is a Survey under way.
type survey struct {
	r          *Registry
	namespaces []string
	asked      []*mirror
	shows      map[*mirror]map[string]uint64 // how far each has each log
	whole      map[*mirror]bool              // it holds the root, so what lies beside that, too
	down       map[*mirror]error
}

// ask syncs every log with one address, and notes how far it has it. What it merely lacks is
// no error.
func (v *survey) ask(ctx context.Context, m *mirror) error {
	refs, err := v.r.branchesAt(ctx, m, v.namespaces, true, toRead)
	if err != nil {
		if passable(err) && ctx.Err() == nil {
			v.down[m] = err
			return nil
		}
		return err
	}
	v.shows[m] = map[string]uint64{}
	if len(refs) == 0 {
		v.down[m] = noRegistry(m.remote.String())
		return nil
	}
	v.whole[m] = !refs[mainBranch].IsZero()
	moved := false
	var errs []error
	for _, ns := range append([]string{""}, v.namespaces...) {
		at, err := v.one(ctx, m, ns, refs, &moved)
		switch {
		case err == nil:
			v.shows[m][ns] = at
		case gone(err):
			v.down[m] = err
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// one returns how far an address has a log, after what is new there was verified.
func (v *survey) one(ctx context.Context, m *mirror, ns string, refs map[string]store.OID, moved *bool) (uint64, error) {
	know, err := v.r.mem.Recall()
	if err != nil {
		return 0, err
	}
	if refs[branchOf(ns)].IsZero() {
		return 0, nil
	}
	was := v.r.shown[ns]
	v.r.shown[ns] = m
	at := &syncing{r: v.r, m: know, from: m, moved: *moved}
	if ns == "" {
		err = at.syncRoot(ctx, refs[mainBranch])
		*moved = *moved || at.moved
	} else {
		err = at.syncNamespace(ctx, ns, refs[branchOf(ns)])
	}
	if behind := new(BehindError); errors.As(err, &behind) {
		v.r.shown[ns] = was
		return behind.Shown, nil
	}
	if err != nil {
		v.r.shown[ns] = was
		return 0, err
	}
	if know, err = v.r.mem.Recall(); err != nil {
		return 0, err
	}
	return know[ns].Seq, nil
}

// compare says of each address how it stands to what is known after all were asked. A
// log is missed only where it belongs: a copy of the root's repository carries what lies
// there, and nobody has to carry what the root locates elsewhere.
func (v *survey) compare(ctx context.Context) (all []Standing, err error) {
	know, err := v.r.mem.Recall()
	if err != nil {
		return nil, err
	}
	for _, m := range v.asked {
		s := Standing{URL: m.url, Down: v.down[m]}
		for _, ns := range slices.Sorted(maps.Keys(v.shows[m])) {
			shown := v.shows[m][ns]
			home, err := v.r.writtenAt(ctx, ns)
			carries := home == m || v.whole[m] && home == v.r.mirrors[0]
			if err != nil || shown == 0 && !carries {
				continue
			}
			if shown < know[ns].Seq {
				s.Behind = append(s.Behind, Behind{ns, shown, know[ns].Seq})
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// Problem says in one line what is wrong with an address; "" when nothing is.
func (s Standing) Problem() string {
	switch {
	case s.Down != nil:
		return fmt.Sprintf("%s: could not be compared: %v", s.URL, s.Down)
	case len(s.Behind) > 0:
		text := s.URL + " is behind: "
		for i, b := range s.Behind {
			if i > 0 {
				text += ", "
			}
			if i == 5 {
				return fmt.Sprintf("%s… %d logs", text, len(s.Behind))
			}
			text += b.String()
		}
		return text
	}
	return ""
}
