package space

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Named returns the only item that a name can stand for, if the name lacks the kind or the
// beginning of the id: "fetcher" or "acme/fetcher" for tool:acme/fetcher. Items of the system
// count only if no item of the project, the lock or the user fits. So a new standard library
// takes over no short name that is in use. A name that fits two items is refused.
func Named(ctx context.Context, s *Stack, locked []objects.Ref, name string) (objects.Ref, error) {
	m := &meant{name: name, suffix: "/" + name, refs: map[objects.Ref]bool{}, left: maxNearest}
	for _, l := range s.Layers() {
		if _, err := l.Files(ctx, m.see); errors.Is(err, errEnough) {
			return objects.Ref{}, fault.New(fault.Limit, "%q: the project has too many items for short names", words.Brief(name)).Advise("rye search %s", name)
		} else if err != nil {
			return objects.Ref{}, err
		}
	}
	for _, ref := range locked {
		m.look(ref)
	}
	if len(m.refs) == 0 && s.System != nil {
		system, err := s.System()
		if err != nil {
			return objects.Ref{}, err
		}
		for _, ref := range system.Refs() {
			m.look(ref)
		}
	}
	return m.only()
}

// meant gathers the items that fit a short name.
type meant struct {
	name, suffix string
	refs         map[objects.Ref]bool
	near         objects.Ref // the item with the fewest typing mistakes in its name
	mistakes     int
	left         int // items that may still be examined
}

func (m *meant) see(_ string, ref objects.Ref) error {
	m.look(ref)
	if m.left--; m.left < 0 {
		return errEnough
	}
	return nil
}

func (m *meant) look(ref objects.Ref) {
	id := string(ref.ID)
	if id == m.name || strings.HasSuffix(id, m.suffix) {
		m.refs[ref] = true
		return
	}
	typed := m.name[strings.LastIndexByte(m.name, '/')+1:]
	if n, ok := words.Near(typed, ref.ID.Name()); ok && (m.near == (objects.Ref{}) || n < m.mistakes) {
		m.near, m.mistakes = ref, n
	}
}

// only returns the item, if exactly one fits.
func (m *meant) only() (objects.Ref, error) {
	var all []string
	for ref := range m.refs {
		if len(m.refs) == 1 {
			return ref, nil
		}
		all = append(all, ref.String())
	}
	slices.Sort(all)
	switch {
	case len(all) > 0:
		return objects.Ref{}, fault.New(fault.Usage, "%q can mean %s", words.Brief(m.name), someOf(all)).Advise("rye show %s", all[0])
	case m.near != objects.Ref{}:
		return objects.Ref{}, fault.New(fault.NotFound, "%q: no item has this name", words.Brief(m.name)).Advise("rye show %s", m.near)
	}
	return objects.Ref{}, fault.New(fault.NotFound, "%q: no item has this name", words.Brief(m.name)).Advise("rye search %s", m.name)
}

// someOf lists a few of many names.
func someOf(all []string) string {
	const few = 4
	if len(all) <= few {
		return strings.Join(all, " or ")
	}
	return strings.Join(all[:few], " or ") + " or " + words.Plural(len(all)-few, "other")
}
