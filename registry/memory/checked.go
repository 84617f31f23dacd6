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

// checkedPath is a file of the cache whose time is when a registry last showed what is known of
// a namespace, "" being the root, as the newest. It is for telling people how old an answer is.
func (r *Memory) checkedPath(namespace string) string {
	return filepath.Join(r.o.CacheDir, r.o.ID.Hex()+".checked", cmp.Or(namespace, ".root"))
}

// NoteChecked remembers that a registry was just asked. Where that cannot be kept, nobody is
// told how old an answer is, and nothing else is lost.
func (r *Memory) NoteChecked(namespace string) {
	path, now := r.checkedPath(namespace), r.o.Now()
	if os.Chtimes(path, now, now) == nil {
		return
	}
	if place.Cache(path, nil, 0o600) == nil {
		_ = os.Chtimes(path, now, now)
	}
}

// AskedAt returns when a registry last showed what is known here of a namespace, "" being its
// root, as the newest; zero where that is not known.
func (r *Memory) AskedAt(namespace string) time.Time {
	info, err := os.Stat(r.checkedPath(namespace))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// settledPath is a file of the cache that says with what all that was known of a registry was
// settled, and until when that holds.
func (r *Memory) settledPath() string { return filepath.Join(r.CacheDir(), "rye.settled") }

// markOf names something together with what is known of the root and of namespaces, and with
// what was noted of their items.
func (r *Memory) markOf(m Points, what objects.Digest, namespaces []string) string {
	text := what.String() + "\n" + m[""].Sum.String()
	for _, ns := range namespaces {
		noted, _ := place.Read(notedPath(r.o.StateDir, r.o.ID, ns), oplog.MaxShard) // there may be none
		text += "\n" + ns + " " + m[ns].Sum.String() + " " + objects.DigestOf(noted).String()
	}
	return objects.DigestOf([]byte(text)).String()
}

// Settled reports whether something was settled with what is known now.
func (r *Memory) Settled(m Points, what objects.Digest, namespaces []string) bool {
	raw, err := place.Read(r.settledPath(), 1<<10)
	if err != nil {
		return false
	}
	mark, text, _ := strings.Cut(string(raw), " ")
	until, err := time.Parse(time.RFC3339, text)
	return err == nil && mark == r.markOf(m, what, namespaces) && (until.IsZero() || r.o.Now().Before(until))
}

// Settle remembers that something was compared with all that is known of the root and of
// namespaces, and that all is well until a time; the zero time is for ever.
func (r *Memory) Settle(what objects.Digest, until time.Time, namespaces []string) {
	m, err := r.Recall()
	if err != nil {
		return
	}
	_ = place.Cache(r.settledPath(), []byte(r.markOf(m, what, namespaces)+" "+until.UTC().Format(time.RFC3339)), 0o600)
}

// NoteAsked gives what is noted of a namespace the present time.
func (r *Memory) NoteAsked(namespace string) {
	now := time.Now()
	_ = os.Chtimes(notedPath(r.o.StateDir, r.o.ID, namespace), now, now) // there may be none
}
