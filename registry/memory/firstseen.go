package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/registry/oplog"
)

// The time in an operation is its signer's claim; the log only ensures that times never decrease.
// So this machine notes when it first saw each position of a log. Operations that were there at
// first contact may be as old as they claim.

// sighting is when this machine first saw a position of a log; the zero time means first contact.
type sighting struct {
	seq  uint64
	when time.Time
}

// Bounds of the sightings of a namespace. Sightings older than keepSightings are merged into one
// with the zero time.
const (
	keepSightings = 400 * 24 * time.Hour
	maxSightings  = 100_000
)

// sightingsPath is the file of a namespace: lines "<position> <time>", ascending. The first line
// may have - as its time.
func (r *Memory) sightingsPath(namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".first", namespace)
}

// AgeOf returns a function for the time since which a version was certainly available: the later of
// the time in the log and the time when this machine first saw it.
func (r *Memory) AgeOf(namespace string) (func(*oplog.Entry) time.Time, error) {
	all, err := r.readSightings(namespace)
	if err != nil {
		return nil, err
	}
	return func(e *oplog.Entry) time.Time {
		since := e.Time
		i := sort.Search(len(all), func(i int) bool { return all[i].seq >= e.Seq })
		seen := r.o.Now() // for positions whose note a power cut lost; the next sync notes them
		if i < len(all) {
			seen = all[i].when
		}
		if len(all) > 0 && seen.After(since) {
			since = seen
		}
		return since
	}, nil
}

// noteSighting returns the note that the log of a namespace moved from position before (0 at first
// contact) to seq. The caller holds the lock of the memory, and writes the note together with it.
// Without a note, AgeOf treats versions as just seen.
func (r *Memory) noteSighting(namespace string, before, seq uint64) (note place.Draft, err error) {
	now := r.o.Now().UTC().Truncate(time.Second)
	all, err := r.readSightings(namespace)
	if err != nil {
		return note, err
	}
	if len(all) == 0 { // at first contact, or before there were notes
		if before == 0 {
			before = seq
		}
		all = append(all, sighting{seq: before})
	}
	if all[len(all)-1].seq < seq { // otherwise an interrupted process noted it
		all = append(all, sighting{seq, now})
	}
	old := sort.Search(len(all), func(i int) bool { return all[i].when.After(now.Add(-keepSightings)) })
	if old = max(old, len(all)-maxSightings); old > 1 {
		all[old-1].when = time.Time{}
		all = slices.Clip(all[old-1:])
	}
	var b strings.Builder
	for _, s := range all {
		when := "-"
		if !s.when.IsZero() {
			when = s.when.Format(oplog.TimeLayout)
		}
		fmt.Fprintf(&b, "%d %s\n", s.seq, when)
	}
	path := r.sightingsPath(namespace)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return note, fault.New(fault.Failed, "note when versions were first seen: %w", err)
	}
	return place.Draft{Path: path, Data: []byte(b.String()), Mode: 0o600}, nil
}

// readSightings reads the sightings of a namespace. An unreadable file is an error: without it, a
// version would be as old as its publisher claims.
func (r *Memory) readSightings(namespace string) ([]sighting, error) {
	path := r.sightingsPath(namespace)
	raw, err := place.Read(path, maxSightings*40)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read when versions were first seen: %w", err)
	}
	all, err := parseSightings(raw)
	if err != nil {
		return nil, fault.New(fault.Integrity, "read when versions of %s were first seen, %s: %w", namespace, path, err).
			Advise("look at the file; without it, every version is as old as its log states")
	}
	return all, nil
}

func parseSightings(raw []byte) (all []sighting, err error) {
	for line := range strings.Lines(string(raw)) {
		var s sighting
		var when string
		if _, err := fmt.Sscanf(line, "%d %s\n", &s.seq, &when); err != nil || s.seq == 0 || len(all) > 0 && all[len(all)-1].seq >= s.seq {
			return nil, fault.New(fault.Malformed, "line %d is not a position and a time", len(all)+1)
		}
		if when != "-" || len(all) > 0 {
			if s.when, err = oplog.ParseTime(when); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	if !slices.IsSortedFunc(all, func(a, b sighting) int { return a.when.Compare(b.when) }) {
		// The clock was set back: a position is as young as the latest time before it.
		for i := 1; i < len(all); i++ {
			if all[i].when.Before(all[i-1].when) {
				all[i].when = all[i-1].when
			}
		}
	}
	return all, nil
}
