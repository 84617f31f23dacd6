package memory

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
)

// For items that were looked at, notes keep the versions that the registry deprecated or yanked,
// and the newest good one. Revoked versions have a list of their own. So a command that uses a
// deprecated version can warn without network and without opening the cache: it reads one small
// file, and in it the lines of one item.

// notedPath returns <state>/<64 hex of the identity>.noted/<namespace>.jsonl.
func notedPath(stateDir string, id objects.Digest, namespace string) string {
	return filepath.Join(stateDir, id.Hex()+".noted", namespace+".jsonl")
}

// NoteItems notes the catalogue lines of items that were just looked at. The file's time is when
// the registry was last asked.
func (r *Memory) NoteItems(ctx context.Context, s oplog.State, refs []objects.Ref) error {
	path := notedPath(r.o.StateDir, r.o.ID, s.Namespace)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.New(fault.Failed, "record the registry's answers: %w", err)
	}
	unlock, err := place.Lock(ctx, memoryPath(r.o.StateDir, r.o.ID)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	old, _ := place.Read(path, oplog.MaxShard) // a damaged file is written anew
	rows, err := oplog.ParseShard(old)
	if err != nil {
		rows = nil
	}
	asked := map[objects.Ref]bool{}
	for _, ref := range refs {
		asked[ref] = true
	}
	rows = slices.DeleteFunc(rows, func(r *oplog.Row) bool { return asked[r.Ref] })
	for ref := range asked {
		list, err := s.Versions(ref)
		if err != nil {
			return err
		}
		for _, e := range worthNoting(list) {
			rows = append(rows, &oplog.Row{Entry: &e, Item: e.Ref.Published(), Line: e.AppendLine(nil)})
		}
	}
	slices.SortFunc(rows, func(a, b *oplog.Row) int { return a.Compare(b.Item, b.Version) })
	raw := oplog.JoinRows(rows)
	if !bytes.Equal(raw, old) {
		return place.File(path, raw, 0o600)
	}
	if r.o.Offline || raw == nil {
		return nil
	}
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// worthNoting returns the versions that users are warned about and the newest good one. list holds
// all versions of an item, oldest first.
func worthNoting(list []oplog.Entry) (out []oplog.Entry) {
	newest := NewestGood(list)
	for _, e := range list {
		if e.Status == oplog.StatusDeprecated || e.Status == oplog.StatusYanked || e.Version == newest.Version {
			out = append(out, e)
		}
	}
	return out
}

// NewestGood returns the newest version with status ok; a pre-release only if there is nothing
// else; zero for none.
func NewestGood(list []oplog.Entry) (good oplog.Entry) {
	for _, e := range list {
		v, err := objects.ParseVersion(e.Version)
		was, _ := objects.ParseVersion(good.Version)
		if err == nil && e.Status == oplog.StatusOK && (good.Version == "" || v.Pre == "" || was.Pre != "") {
			good = e
		}
	}
	return good
}

// Noted holds this machine's notes on the items of a namespace.
type Noted struct {
	At time.Time // when the registry was last asked; zero for never

	lines []byte // as in a shard
}

// ReadNoted reads the notes on a namespace. Missing notes are no error.
func ReadNoted(stateDir string, id objects.Digest, namespace string) (n Noted, err error) {
	path := notedPath(stateDir, id, namespace)
	st, err := os.Stat(path)
	if err == nil {
		n.At = st.ModTime()
		n.lines, err = place.Read(path, oplog.MaxShard)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Noted{}, nil
	}
	if err != nil {
		return Noted{}, fault.New(fault.Failed, "read the registry's recorded answers: %w", err)
	}
	return n, nil
}

// Of returns the note on a version, zero for none, and the newest good version. It reads only the
// lines of this item, which it finds by binary search.
func (n Noted) Of(ref objects.Ref, version string) (said, newest oplog.Entry, err error) {
	rest := n.from(ref.Published())
	for len(rest) > 0 {
		line := lineAt(rest)
		item, ok := itemOf(line)
		if ok && item != ref.Published() {
			break
		}
		e, err := oplog.ParseEntry(bytes.TrimSuffix(line, []byte("\n")))
		if err == nil && e.Ref != ref {
			err = fault.New(fault.Malformed, "a line of %s stands there", e.Name())
		}
		if err != nil {
			return oplog.Entry{}, oplog.Entry{}, fault.Wrap(err, "read the registry's recorded answers about %s", ref.Published())
		}
		if e.Status == oplog.StatusOK {
			newest = *e
		} else if e.Version == version {
			said = *e
		}
		rest = rest[len(line):]
	}
	return said, newest, nil
}

// from returns the lines beginning with the first whose item is not before item.
func (n Noted) from(item string) []byte {
	low, high := 0, len(n.lines)
	for low < high {
		at := low + bytes.LastIndexByte(n.lines[low:low+(high-low)/2], '\n') + 1
		line := lineAt(n.lines[at:])
		if got, ok := itemOf(line); ok && got < item {
			low = at + len(line)
		} else {
			high = at
		}
	}
	return n.lines[low:]
}

// lineAt returns the first line with its line feed.
func lineAt(lines []byte) []byte {
	if i := bytes.IndexByte(lines, '\n'); i >= 0 {
		return lines[:i+1]
	}
	return lines
}

// itemOf returns the item of a line without parsing the rest. Quotes in the line's texts are
// escaped, so they cannot match.
func itemOf(line []byte) (string, bool) {
	_, after, ok := bytes.Cut(line, []byte(`"item":"`))
	item, _, ended := bytes.Cut(after, []byte{'"'})
	return string(item), ok && ended
}
