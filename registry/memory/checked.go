package memory

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// checkedPath is a cache file for a namespace, or for the root if "". Its time is when the registry
// last confirmed that the local copy was the newest, so that rye can show the age of answers.
func (r *Memory) checkedPath(namespace string) string {
	return filepath.Join(r.o.CacheDir, r.o.ID.Hex()+".checked", cmp.Or(namespace, ".root"))
}

// NoteChecked records that the registry was just asked. If the record cannot be written, only the
// age of answers is lost.
func (r *Memory) NoteChecked(namespace string) {
	path, now := r.checkedPath(namespace), r.o.Now()
	if os.Chtimes(path, now, now) == nil {
		return
	}
	if place.Cache(path, nil, 0o600) == nil {
		_ = os.Chtimes(path, now, now)
	}
}

// AskedAt returns when the registry last confirmed the local copy of a namespace ("": the root) as
// the newest; zero if unknown.
func (r *Memory) AskedAt(namespace string) time.Time {
	info, err := os.Stat(r.checkedPath(namespace))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// settledPath is a cache file. It holds the mark that was compared with everything known about the
// registry, and how long the result holds.
func (r *Memory) settledPath() string { return filepath.Join(r.CacheDir(), "rye.settled") }

// markOf returns a digest over what, the known points of the root and of namespaces, and the notes
// on their items.
func (r *Memory) markOf(m Points, what objects.Digest, namespaces []string) string {
	text := what.String() + "\n" + m[""].Sum.String()
	for _, ns := range namespaces {
		noted, _ := place.Read(notedPath(r.o.StateDir, r.o.ID, ns), oplog.MaxShard) // there may be none
		text += "\n" + ns + " " + m[ns].Sum.String() + " " + objects.DigestOf(noted).String()
	}
	return objects.DigestOf([]byte(text)).String()
}

// Settled reports whether Settle was called for the same digest with the present knowledge.
func (r *Memory) Settled(m Points, what objects.Digest, namespaces []string) bool {
	raw, err := place.Read(r.settledPath(), 1<<10)
	if err != nil {
		return false
	}
	mark, text, _ := strings.Cut(string(raw), " ")
	until, err := time.Parse(time.RFC3339, text)
	return err == nil && mark == r.markOf(m, what, namespaces) && (until.IsZero() || r.o.Now().Before(until))
}

// Settle records a comparison between everything known about the root and namespaces and the object
// that digest what names. The result holds until a time; the zero time means forever.
func (r *Memory) Settle(what objects.Digest, until time.Time, namespaces []string) {
	m, err := r.Recall()
	if err != nil {
		return
	}
	_ = place.Cache(r.settledPath(), []byte(r.markOf(m, what, namespaces)+" "+until.UTC().Format(time.RFC3339)), 0o600)
}

// NoteAsked sets the time of a namespace's notes to now.
func (r *Memory) NoteAsked(namespace string) {
	now := time.Now()
	_ = os.Chtimes(notedPath(r.o.StateDir, r.o.ID, namespace), now, now) // there may be none
}
