// Package memory keeps what this user has seen of a registry, so that no one can show less
// or something else afterwards.
//
// Its files lie in the state directory, are written whole and are never a cache, but for the
// times of NoteChecked and Settle, which lie beside the cache and may be deleted.
//
// # Reasons
//
// The memory lies in the state directory, because a cache may be deleted at any time and
// an attacker would like the newest tip to be forgotten. A memory that cannot be read is
// an error, never an empty one. Evidence of a fork is kept as raw commits, which prove
// themselves to anyone.
//
// The tip of a log and the time of its first sight are written together: two waits for the
// disk and not four. For a publisher the first wait is over before the host answers. A power cut
// may keep the tip alone. Then a version counts as seen just now, which delays an update and lets
// nothing through.
//
// Revoked versions are remembered apart, because readers no longer have every line. They
// are written before the tip moves on, so a crash forgets none.
package memory

import (
	"path/filepath"
	"time"

	"github.com/rye-os/rye/objects"
)

// Options name the registry and the directories of its memory.
type Options struct {
	ID  objects.Digest // the registry's identity
	URL string         // written into the memory, for people

	StateDir string // verified points; never delete it
	CacheDir string // may be deleted at any time

	Offline bool             // nothing is asked, so looking at notes makes them no newer
	Now     func() time.Time // nil: time.Now
}

// Memory holds what this user has seen of one registry. Several processes may use the same files.
// One Memory serves one goroutine at a time.
type Memory struct {
	o        Options
	recalled recalled // result of the last read
}

// Open returns the memory of a registry. It reads nothing yet.
func Open(o Options) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Memory{o: o}
}

// CacheDir returns the directory of the registry's cache repository.
func (r *Memory) CacheDir() string { return filepath.Join(r.o.CacheDir, r.o.ID.Hex()+".git") }
