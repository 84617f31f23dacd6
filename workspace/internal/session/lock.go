package session

import (
	"errors"
	"io/fs"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// lockRefs is where a project's store keeps the content that its lock pins.
const LockRefs = "refs/rye/lock/"

func (s *Session) WriteLock(l *chain.Lock) error {
	used := map[string]bool{}
	for _, pin := range l.Items {
		used[pin.From] = true
	}
	for ns, n := range l.Namespaces {
		if !used[n.Registry] {
			delete(l.Namespaces, ns)
		}
	}
	for name := range l.Registries {
		if !used[name] {
			delete(l.Registries, name)
		}
	}
	raw, err := l.Encode()
	if err != nil {
		return err
	}
	return place.File(s.LockPath(), raw, 0o644)
}

// Pin tells the stack where the lock says that a registry's item lies.
func (s *Session) Pin(ref objects.Ref) (space.Pin, bool) {
	it, ok := s.Lock.Items[ref]
	if !ok || it.From == "" {
		return space.Pin{}, false
	}
	id, err := store.ParseOID(it.Commit)
	if err != nil {
		return space.Pin{}, false
	}
	return space.Pin{Registry: s.Lock.Registries[it.From].ID.String(), Commit: id, Path: it.Path, Sum: it.SHA256}, true
}

// ReadLock returns the lock and the digest of its bytes; nil when there is none.
func ReadLock(path string) (*chain.Lock, objects.Digest, error) {
	raw, err := place.Read(path, chain.MaxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, objects.Digest{}, nil
	}
	if err != nil {
		return nil, objects.Digest{}, err
	}
	if chain.Conflicted(raw) {
		return nil, objects.Digest{}, fault.New(fault.Malformed, "read %s: it holds a merge that nobody finished", path).Mend("rye lock merge")
	}
	l, err := chain.ParseLock(raw)
	if err != nil {
		return nil, objects.Digest{}, fault.Wrap(err, "read %s", path)
	}
	return l, objects.DigestOf(raw), nil
}
