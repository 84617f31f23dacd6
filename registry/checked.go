package registry

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// checkedPath is a file of the cache whose time is when a registry last showed what is known of
// a namespace, "" being the root, as the newest. It is for telling people how old an answer is.
// It holds what was settled with which state: see Settled.
func checkedPath(r *Registry, namespace string) string {
	return filepath.Join(r.o.CacheDir, r.o.ID.Hex()+".checked", cmp.Or(namespace, ".root"))
}

// noteChecked remembers that a registry was just asked. Where that cannot be kept, nobody is
// told how old an answer is, and nothing else is lost.
func noteChecked(r *Registry, namespace string) {
	path, now := checkedPath(r, namespace), r.o.Now()
	if os.Chtimes(path, now, now) == nil {
		return
	}
	if place.Cache(path, nil, 0o600) == nil {
		_ = os.Chtimes(path, now, now)
	}
}

// AskedAt returns when a registry last showed what is known here of a namespace, "" being its
// root, as the newest; zero where that is not known.
func AskedAt(r *Registry, namespace string) time.Time {
	info, err := os.Stat(checkedPath(r, namespace))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// Settled reports whether what a caller names by a digest was settled (Settle) with the state
// that a namespace still has, and notes that the registry was asked about it again.
func Settled(r *Registry, namespace string, what objects.Digest) bool {
	mark, err := markOf(r, namespace, what)
	if err != nil {
		return false
	}
	was, err := place.Read(checkedPath(r, namespace), 1<<10)
	if err != nil || string(was) != mark {
		return false
	}
	path, now := notedPath(r.o.StateDir, r.o.ID, namespace), time.Now()
	if r.o.Offline {
		_, err = os.Stat(path)
	} else {
		err = os.Chtimes(path, now, now)
	}
	return err == nil
}

// Settle remembers that something was compared with the state that a namespace has, and all
// was well. Where that cannot be kept it is compared again.
func Settle(r *Registry, namespace string, what objects.Digest) {
	mark, err := markOf(r, namespace, what)
	if err == nil && !r.o.Offline && place.Cache(checkedPath(r, namespace), []byte(mark), 0o600) == nil {
		noteChecked(r, namespace)
	}
}

// markOf names something together with the state of a namespace as it was verified.
func markOf(r *Registry, namespace string, what objects.Digest) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := recall(r)
	return m[namespace].Sum.String() + " " + what.String() + "\n", err
}
