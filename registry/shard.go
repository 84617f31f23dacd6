package registry

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// maxShard bounds one file of a catalogue, in bytes.
const maxShard = 64 << 20

// A shard is one file of a catalogue and never changes once made. It may know
// only its digest; its lines are then loaded, checked against the digest and
// kept at first use. Safe for concurrent use.
type shard struct {
	sum  objects.Digest
	load func() ([]byte, error) // nil when rows is set

	once sync.Once
	err  error
	raw  []byte
	rows []*row // sorted by compareKey

	idOnce sync.Once
	id     store.OID // its address, computed at first use
}

// A row is an entry with its line, so that a changed shard copies the lines of
// the entries that stay, and with its item's name, by which rows are found.
type row struct {
	*Entry
	item string
	line []byte
}

// compare orders rows as compareKey does.
func (r *row) compare(item, version string) int {
	return cmp.Or(strings.Compare(r.item, item), strings.Compare(r.Version, version))
}

func shardPath(i int) string { return fmt.Sprintf("catalogue/%02x.jsonl", i) }

func newShard(rows []*row) *shard {
	n := 0
	for _, r := range rows {
		n += len(r.line)
	}
	s := &shard{rows: rows, raw: make([]byte, 0, n)}
	for _, r := range rows {
		s.raw = append(s.raw, r.line...)
	}
	s.sum = objects.DigestOf(s.raw)
	s.once.Do(func() {})
	return s
}

// lazyShard returns a shard that knows its digest and address, and loads its
// lines when somebody needs them.
func lazyShard(sum objects.Digest, id store.OID, load func() ([]byte, error)) *shard {
	s := &shard{sum: sum, id: id, load: load}
	s.idOnce.Do(func() {})
	return s
}

// oid returns the git id of the shard's bytes.
func (s *shard) oid(f store.Format) store.OID {
	s.idOnce.Do(func() { s.id = f.Hash(store.TypeBlob, s.raw) })
	return s.id
}

// get makes sure that raw and rows are there. A nil shard has no rows.
func (s *shard) get() ([]*row, error) {
	if s == nil {
		return nil, nil
	}
	s.once.Do(func() {
		raw, err := s.load()
		if err == nil && objects.DigestOf(raw) != s.sum {
			err = fault.New(fault.Integrity, "catalogue file: its bytes are not those of the verified state")
		}
		if err == nil {
			s.rows, err = parseShard(raw)
		}
		s.raw, s.err = raw, err
	})
	return s.rows, s.err
}

// parseShard reads a catalogue file: at least one line, sorted, no repetition.
func parseShard(raw []byte) ([]*row, error) {
	if len(raw) == 0 || len(raw) > maxShard || raw[len(raw)-1] != '\n' {
		return nil, fault.New(fault.Malformed, "catalogue file of %d bytes: want lines that end with a line feed", len(raw))
	}
	rows := make([]*row, 0, bytes.Count(raw, []byte{'\n'}))
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, '\n') + 1
		e, err := ParseEntry(raw[:n-1])
		if err != nil {
			return nil, err
		}
		item := e.Ref.Published()
		if k := len(rows); k > 0 && rows[k-1].compare(item, e.Version) >= 0 {
			return nil, fault.New(fault.Malformed, "catalogue line of %s: repeated or out of order", e.Name())
		}
		rows = append(rows, &row{e, item, raw[:n:n]})
		raw = raw[n:]
	}
	return rows, nil
}

// find returns where the version is, or would be.
func find(rows []*row, ref objects.Ref, version string) (int, bool) {
	item := ref.Published()
	return sort.Find(len(rows), func(i int) int { return -rows[i].compare(item, version) })
}

// findEntry returns the entry of a version, nil when there is none.
func findEntry(rows []*row, ref objects.Ref, version string) *Entry {
	if i, found := find(rows, ref, version); found {
		return rows[i].Entry
	}
	return nil
}

// A draft is a catalogue being changed: shards are copied at their first change.
type draft struct {
	shards *[256]*shard
	open   map[byte][]*row
}

func newDraft(s *State) draft { return draft{&s.shards, map[byte][]*row{}} }

func (d *draft) rows(i byte) ([]*row, error) {
	if rows, ok := d.open[i]; ok {
		return rows, nil
	}
	have, err := d.shards[i].get()
	if err != nil {
		return nil, err
	}
	d.open[i] = slices.Clone(have)
	return d.open[i], nil
}

// put inserts or replaces an entry.
func (d *draft) put(e *Entry) error {
	i := shardOf(e.Ref)
	rows, err := d.rows(i)
	if err != nil {
		return err
	}
	r := &row{e, e.Ref.Published(), e.appendLine(nil)}
	at, found := find(rows, e.Ref, e.Version)
	if found {
		rows[at] = r
	} else {
		d.open[i] = slices.Insert(rows, at, r)
	}
	return nil
}

// get returns the entry of a version, nil when it was never published.
func (d *draft) get(ref objects.Ref, version string) (*Entry, error) {
	rows, err := d.rows(shardOf(ref))
	return findEntry(rows, ref, version), err
}

// close writes the changed shards into the array that the draft was made from,
// which the caller owns.
func (d *draft) close() {
	for i, rows := range d.open {
		if len(rows) > 0 {
			d.shards[i] = newShard(rows)
		}
	}
}
