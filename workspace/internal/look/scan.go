package look

import (
	"cmp"
	"context"
	"slices"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// extractors returns the rules for listing items here: the project's, else the user's; nil when
// the standard library's apply to every kind.
func extractors(ctx context.Context, s *session.Session) (*extract.Set, error) {
	return s.Stack.Extractors(ctx, objects.Project)
}

// Scan judges everything in one space, and for the project its locked items, too. each is as in
// space.Stack.Scan, and may be nil.
func Scan(ctx context.Context, s *session.Session, sp objects.Space, each func(*space.Finding)) ([]space.Finding, error) {
	if sp == objects.System {
		return s.Stack.ScanSystem()
	}
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	found, err := s.Stack.Scan(ctx, l, each)
	if err != nil || sp != objects.Project || s.Lock == nil {
		return found, err
	}
	own := map[objects.Ref]bool{}
	for _, f := range found {
		own[f.Ref] = true
	}
	return append(found, lockedBeside(s, func(ref objects.Ref) bool { return own[ref] })...), nil
}

// lockedBeside returns the pinned items of registries that no file of the project overrides.
func lockedBeside(s *session.Session, own func(objects.Ref) bool) []space.Finding {
	refs := slices.DeleteFunc(session.LockedRefs(s), own)
	return s.Stack.ScanLock(refs)
}

// Space is Scan for lists: it does not read unchanged files again.
func Space(ctx context.Context, s *session.Session, sp objects.Space) (*space.Look, error) {
	if sp == objects.System {
		return space.LookSystem(ctx, s.Stack)
	}
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	k, err := s.Stack.Look(ctx, l)
	if err != nil {
		return nil, err
	}
	return WithLocked(ctx, s, sp, k), nil
}

// WithLocked adds the project's locked items to a look at the project.
func WithLocked(ctx context.Context, s *session.Session, sp objects.Space, k *space.Look) *space.Look {
	if sp != objects.Project || s.Lock == nil {
		return k
	}
	set, _ := extractors(ctx, s) // any error was returned by Look
	return k.With(space.RowsOf(lockedBeside(s, k.Holds), set))
}

// looks returns a look at each of the spaces, highest first. only is the name of one, or "" or
// "all".
func looks(ctx context.Context, s *session.Session, only string) ([]*space.Look, error) {
	return SpacesBy(ctx, s, only, Space)
}

// SpacesBy is looks with the caller's function for a look at one space.
func SpacesBy(ctx context.Context, s *session.Session, only string, look func(context.Context, *session.Session, objects.Space) (*space.Look, error)) ([]*space.Look, error) {
	if only == "all" {
		only = ""
	}
	if only != "" {
		if _, err := objects.ParseSpace(only); err != nil {
			return nil, err
		}
	}
	var all []*space.Look
	for sp := objects.Project; sp >= objects.System; sp-- {
		if only != "" && only != sp.String() {
			continue
		}
		if sp != objects.System {
			if _, err := s.Stack.Layer(sp); err != nil {
				continue
			}
		}
		k, err := look(ctx, s, sp)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// InUse returns, sorted by ref, the row of each item that may be used, from the highest space
// that has it. An item that may not be used hides lower ones, and is left out.
func InUse(ctx context.Context, s *session.Session) ([]space.Row, error) {
	looks, err := looks(ctx, s, "")
	if err != nil {
		return nil, err
	}
	var rows []space.Row
	for n, k := range looks {
		for i := range k.Len() {
			r := k.Row(i)
			if r.Ref.Kind == "" || r.Code != "" || slices.ContainsFunc(looks[:n], func(above *space.Look) bool { return above.Holds(r.Ref) }) {
				continue
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b space.Row) int {
		return cmp.Or(cmp.Compare(a.Ref.Kind, b.Ref.Kind), cmp.Compare(a.Ref.ID, b.Ref.ID))
	})
	return rows, nil
}
