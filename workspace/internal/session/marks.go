package session

import (
	"fmt"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
)

// marks holds this machine's notes on registries' statements about items. A namespace's file is
// read on first use. The copies of a session share one. It is safe for concurrent use.
type marks struct {
	mu   sync.Mutex
	read map[string]func() (memory.Noted, error) // by identity and namespace
}

// Mark is the known status of an item's pinned version.
type Mark struct {
	Ref     objects.Ref
	Version string // the pinned one
	Said    oplog.Status
	Reason  string // of the signer, one line
	Newest  string // the newest version without a warning; "" when none is known
	InRange bool   // whether Newest is in the range of rye.yaml
}

// Marked returns the last known status, from its registry, of an item's pinned version; false
// for an item of another origin. It opens no registry.
func (s *Session) Marked(ref objects.Ref) (m Mark, ok bool, err error) {
	if s.Lock == nil || s.Lock.Items[ref].From == "" {
		return m, false, nil
	}
	pin := s.Lock.Items[ref]
	n, err := s.NotedOf(s.Lock.Registries[pin.From].ID, ref.ID.Namespace())
	if err != nil {
		return m, false, err
	}
	said, newest, err := n.Of(ref, pin.Version)
	if err != nil {
		return m, false, err
	}
	m = Mark{Ref: ref, Version: pin.Version, Said: said.Status, Reason: said.Reason, Newest: newest.Version}
	rng, err := objects.ParseRange("*")
	if s.Project != nil && s.Project.Deps[ref.Published()] != "" {
		rng, err = objects.ParseRange(s.Project.Deps[ref.Published()])
	}
	if v, bad := objects.ParseVersion(m.Newest); bad == nil && err == nil {
		m.InRange = rng.Allows(v)
	}
	return m, true, err
}

// NotedOf reads the notes on a namespace, once.
func (s *Session) NotedOf(id objects.Digest, namespace string) (memory.Noted, error) {
	_, state := s.Registries()
	return s.marks.of(state, id, namespace)
}

// of reads the notes on a namespace in a directory, once.
func (m *marks) of(state string, id objects.Digest, namespace string) (memory.Noted, error) {
	m.mu.Lock()
	if m.read == nil {
		m.read = map[string]func() (memory.Noted, error){}
	}
	key := id.Hex() + "/" + namespace
	read, ok := m.read[key]
	if !ok {
		read = sync.OnceValues(func() (memory.Noted, error) { return memory.ReadNoted(state, id, namespace) })
		m.read[key] = read
	}
	m.mu.Unlock()
	return read()
}

// Warned reports whether a user of the version is to be warned.
func (m Mark) Warned() bool {
	return m.Said == oplog.StatusDeprecated || m.Said == oplog.StatusYanked
}

// Behind reports whether a newer good version is known.
func (m Mark) Behind() bool {
	now, err := objects.ParseVersion(m.Version)
	newest, err2 := objects.ParseVersion(m.Newest)
	return err == nil && err2 == nil && newest.Compare(now) > 0
}

// Instead is the command for the replacement; zero when none is known.
func (m Mark) Instead() fault.Hint {
	switch {
	case m.Newest == "":
		return fault.Hint{}
	case m.InRange && m.Behind():
		return fault.Command("rye update %s", m.Ref.Published())
	}
	return fault.Command("rye add %s@%s", m.Ref.Published(), m.Newest)
}

// Warning describes in one line the problem with the version, and its replacement.
func (m Mark) Warning() string {
	text := fmt.Sprintf("%s@%s is %s: %s", m.Ref.Published(), m.Version, m.Said, m.Reason)
	if m.Newest == "" {
		return text + "; no other version is known"
	}
	return text + "; take " + m.Newest + ": " + m.Instead().String()
}

// Warning returns a registry's warning about an item in one line; "" for none. An unreadable
// note is such a warning, and no error.
func (s *Session) Warning(ref objects.Ref) string {
	m, ok, err := s.Marked(ref)
	switch {
	case err != nil:
		return "the registry's marks on " + ref.Published() + " cannot be read: " + err.Error() + "; rye fetch restores them"
	case ok && m.Warned():
		return m.Warning()
	}
	return ""
}
