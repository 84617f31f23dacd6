package space

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Named returns the only item that a name can stand for, if the name lacks the kind or the
// beginning of the id: "fetcher" or "acme/fetcher" for tool:acme/fetcher. Items of the system
// count only if no item of the project, the lock or the user fits. So a new standard library
// takes over no short name that is in use. Where nothing else fits, an item that is recorded and
// has no file counts. A name that fits two items is refused. may, unless it is nil, reports whether an
// item counts at all.
func (s *Stack) Named(ctx context.Context, locked []objects.Ref, name string, may func(objects.Ref) bool) (objects.Ref, error) {
	m := &meant{may: may, name: name, suffix: "/" + name, refs: map[objects.Ref]bool{}, left: maxNearest}
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
	for _, l := range s.Layers() {
		if len(m.refs) > 0 {
			break
		}
		if err := m.lookInRecord(ctx, l); err != nil {
			return objects.Ref{}, err
		}
	}
	if id, err := objects.ParseID(name); err == nil && may == nil && len(m.refs) == 0 {
		if b, ok := s.unfetched(ctx, objects.Ref{Kind: objects.Knowledge, ID: id}); ok {
			return objects.Ref{}, manifestOnly(b)
		}
	}
	return m.only()
}

// lookInRecord examines the items that are recorded, and whose files may be gone.
func (m *meant) lookInRecord(ctx context.Context, l *Layer) error {
	return l.Recorded(ctx, func(p string, _ store.OID) error {
		if ref, _, err := objects.RefOfPath(p); err == nil {
			m.look(ref)
		}
		return nil
	})
}

// NamedAmong is Named for a list of items.
func NamedAmong(all []objects.Ref, name string) (objects.Ref, error) {
	m := &meant{name: name, suffix: "/" + name, refs: map[objects.Ref]bool{}}
	for _, ref := range all {
		m.look(ref)
	}
	return m.only()
}

// Published returns the only item that a published name can stand for: ref, or an item whose id
// is the name. Without any such item it is ref. may is as for Named.
func (s *Stack) Published(locked []objects.Ref, ref objects.Ref, name string, may func(objects.Ref) bool) (objects.Ref, error) {
	return published(ref, name, func(ref objects.Ref) bool {
		if may != nil && !may(ref) {
			return false
		}
		if slices.Contains(locked, ref) {
			return true
		}
		return slices.ContainsFunc(s.Layers(), func(l *Layer) bool {
			p, err := l.Locate(ref)
			return p != "" || fault.Is(err, fault.Conflict)
		})
	})
}

// PublishedAmong is Published for a list of items.
func PublishedAmong(all []objects.Ref, ref objects.Ref, name string) (objects.Ref, error) {
	return published(ref, name, func(ref objects.Ref) bool { return slices.Contains(all, ref) })
}

func published(ref objects.Ref, name string, here func(objects.Ref) bool) (objects.Ref, error) {
	id, err := objects.ParseID(name)
	if ref.Kind == objects.Bundle || err != nil {
		return ref, nil
	}
	m := &meant{name: name, refs: map[objects.Ref]bool{}}
	for _, kind := range objects.Kinds {
		if other := (objects.Ref{Kind: kind, ID: id}); here(other) {
			m.refs[other] = true
		}
	}
	if len(m.refs) == 0 || here(ref) {
		m.refs[ref] = true
	}
	return m.only()
}

// meant gathers the items that fit a short name.
type meant struct {
	may          func(objects.Ref) bool // nil for all items
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
		if m.may == nil || m.may(ref) {
			m.refs[ref] = true
		}
		return
	}
	if m.may != nil {
		return // no error names what the caller may not see
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
