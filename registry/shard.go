package registry

import (
	"bytes"
	"cmp"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// maxShard bounds one file of a catalogue and a change list, in bytes.
const maxShard = 64 << 20

// A shard is one file of a catalogue and never changes once made. It may know
// only its address; its lines are then loaded, checked against the digest and
// kept at first use. Safe for concurrent use.
type shard struct {
	at   Address
	from source

	loaded
	rows []*row // sorted by compareKey
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

func newShard(rows []*row) *shard {
	s := &shard{rows: rows, at: addressOf(joinRows(rows))}
	s.made()
	return s
}

// lazyShard returns a shard that knows its address, and loads its lines when
// somebody needs them.
func lazyShard(at Address, from source) *shard { return &shard{at: at, from: from} }

// get makes sure that the rows are there. A nil shard has none.
func (s *shard) get() ([]*row, error) {
	if s == nil {
		return nil, nil
	}
	err := s.once(func() error {
		raw, err := s.from.load(s.at, "shard")
		if err == nil {
			s.rows, err = parseShard(raw)
		}
		return err
	})
	return s.rows, err
}

// parseShard reads a shard or a change list: at least one line, sorted, no repetition.
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

// joinRows returns the lines of rows: the bytes of a shard or a change list, nil for none.
func joinRows(rows []*row) []byte {
	n := 0
	for _, r := range rows {
		n += len(r.line)
	}
	if n == 0 {
		return nil
	}
	raw := make([]byte, 0, n)
	for _, r := range rows {
		raw = append(raw, r.line...)
	}
	return raw
}
