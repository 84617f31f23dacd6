package session

import (
	"fmt"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
)

// marks is what registries said of items, as this machine noted it: the file of a namespace
// is read when it is first asked for. The copies of a session share one. It is safe for
// concurrent use.
type marks struct {
	mu   sync.Mutex
	read map[string]func() (memory.Noted, error) // by identity and namespace
}

// Mark is what is known of the version of an item that the lock pins.
type Mark struct {
	Ref     objects.Ref
	Version string // that is pinned
	Said    oplog.Status
	Reason  string // of the signer, one line
	Newest  string // version of which nothing is said; "" when none is known
	InRange bool   // that is within what rye.yaml asks for
}

// Marked returns what its registry said of the version of an item that the lock pins, as it
// was seen last: false for an item of another origin. It opens no registry.
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

// NotedOf reads what is noted of a namespace, once.
func (s *Session) NotedOf(id objects.Digest, namespace string) (memory.Noted, error) {
	_, state := s.Registries()
	return s.marks.of(state, id, namespace)
}

// of reads what is noted of a namespace in a directory, once.
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

// Behind reports whether there is a good version that is newer.
func (m Mark) Behind() bool {
	now, err := objects.ParseVersion(m.Version)
	newest, err2 := objects.ParseVersion(m.Newest)
	return err == nil && err2 == nil && newest.Compare(now) > 0
}

// Instead is how to get what to take instead; zero when nothing is known.
func (m Mark) Instead() fault.Hint {
	switch {
	case m.Newest == "":
		return fault.Hint{}
	case m.InRange && m.Behind():
		return fault.Command("rye update %s", m.Ref.Published())
	}
	return fault.Command("rye add %s@%s", m.Ref.Published(), m.Newest)
}

// Warning says in one line what is wrong with the version and what to take instead.
func (m Mark) Warning() string {
	text := fmt.Sprintf("%s@%s is %s: %s", m.Ref.Published(), m.Version, m.Said, m.Reason)
	if m.Newest == "" {
		return text + "; no other version is known"
	}
	return text + "; take " + m.Newest + ": " + m.Instead().String()
}

// Warning returns in one line what a user of an item is to know of it; "" for nothing. What
// cannot be read is said, and refuses nothing.
func (s *Session) Warning(ref objects.Ref) string {
	m, ok, err := s.Marked(ref)
	switch {
	case err != nil:
		return "what its registry said of " + ref.Published() + " cannot be read: " + err.Error() + "; rye fetch writes it anew"
	case ok && m.Warned():
		return m.Warning()
	}
	return ""
}
