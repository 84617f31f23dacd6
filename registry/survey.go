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

// Standing compares one address of a registry with everything known about it.
type Standing struct {
	URL    string
	Down   error    // why it could not be compared; nil if it was
	Behind []Behind // logs of which it shows too little
}

// Behind is a log of which an address shows less than is known.
type Behind struct {
	Namespace    string // "" is the root
	Shown, Known uint64 // operations
}

func (b Behind) String() string {
	return fmt.Sprintf("%s: %d of %d operations", cmp.Or(b.Namespace, "root"), b.Shown, b.Known)
}

// Survey asks every address of a registry for the root and namespaces, and compares the answers.
// News from any of them is verified and recorded. An address that does not answer, or is behind, is
// in the report. One that contradicts the verified logs is an error after all were asked: Fork,
// with both operations kept as evidence, or another code.
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
	shows      map[*mirror]map[string]uint64 // how many operations each has of each log
	whole      map[*mirror]bool              // it holds the root, so it carries the other logs there, too
	down       map[*mirror]error
}

// ask syncs every log with one address and records how far it has each. Missing operations are no
// error.
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

// one verifies the news of a log at an address, and returns how far the address has it.
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

// compare compares each address with everything known after all were asked. It reports a log as
// missing only where it belongs: a copy of the root's repository carries the logs there, and need
// not carry logs that the root locates elsewhere.
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

// Problem describes the problem of an address in one line; "" for none.
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
