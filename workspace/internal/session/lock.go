package session

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// LockRefs begins the names of the refs by which a project's store keeps the pinned content;
// the item's SHA-256 in hexadecimal follows.
const LockRefs = "refs/rye/lock/"

// lockConflict is the error for a lock that git left with both sides of a merge.
type lockConflict struct{}

func (lockConflict) Error() string { return LockFile + " has merge conflicts" }

// conflictOfLock is lockConflict for users. It pins nothing, so nothing that it may pin is used.
func conflictOfLock() error {
	return fault.New(fault.Drift, "%w", lockConflict{}).Mend("rye lock merge")
}

// WriteLock writes a lock. It first removes namespaces and registries without items from l, and states
// the origins of its bundles anew. The
// caller holds the project (Alone).
func (s *Session) WriteLock(ctx context.Context, l *chain.Lock) error {
	used := map[string]bool{}
	for _, pin := range l.Items {
		used[pin.From] = true
	}
	maps.DeleteFunc(l.Namespaces, func(_ string, n chain.NamespacePin) bool { return !used[n.Registry] })
	maps.DeleteFunc(l.Registries, func(name string, _ chain.RegistryPin) bool { return !used[name] })
	if err := s.repeatOrigins(ctx, l); err != nil {
		return err
	}
	raw, err := l.Encode()
	if err != nil {
		return err
	}
	if _, err := chain.ParseLock(raw); err != nil { // would stop every command here
		return fault.Wrap(err, "write %s", LockFile)
	}
	if err := CheckLock(s.Host); err != nil { // git holds no lock of ours
		return err
	}
	return WriteAI(s.Host, LockFile, raw)
}

// CheckLock refuses a lock on disk with merge conflicts. It says nothing about any other.
func CheckLock(h *Host) error {
	ai, err := openAI(h.ProjectDir)
	if err != nil {
		return err
	}
	defer ai.Close()
	if _, _, err := readLock(ai); errors.Is(err, lockConflict{}) {
		return conflictOfLock()
	}
	return nil
}

// Pin returns the lock's pin of a registry's item; false for the project's own items and for
// items outside the lock.
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

// readLock reads a lock and the digest of its bytes; nil and the zero Digest when there is
// none. The error of a lock that git left with both sides of a merge is a LockConflict.
func readLock(ai place.Folder) (*chain.Lock, objects.Digest, error) {
	path := filepath.Join(ai.Name(), LockFile)
	raw, err := ai.Read(LockFile, chain.MaxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, objects.Digest{}, nil
	}
	if err != nil {
		return nil, objects.Digest{}, err
	}
	if chain.Conflicted(raw) {
		return nil, objects.Digest{}, lockConflict{}
	}
	l, err := chain.ParseLock(raw)
	if err != nil {
		return nil, objects.Digest{}, fault.Wrap(err, "read %s", path)
	}
	return l, objects.DigestOf(raw), nil
}
