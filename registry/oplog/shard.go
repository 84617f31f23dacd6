package oplog

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// MaxShard bounds one file of a catalogue and a change list, in bytes.
const MaxShard = 64 << 20

// A Shard is one file of a catalogue and never changes. It may know only its address; it then loads
// its lines on first use, checks them against the digest and keeps them. Safe for concurrent use.
type Shard struct {
	at   Address
	from Source

	loaded
	rows []*Row // sorted by compareKey
}

// A Row is an entry with its encoded line, so that a changed shard copies the lines that stay. Item
// is the entry's published name, by which rows are found.
type Row struct {
	*Entry
	Item string
	Line []byte
}

// Compare orders rows as compareKey does.
func (r *Row) Compare(item, version string) int {
	return cmp.Or(strings.Compare(r.Item, item), strings.Compare(r.Version, version))
}

func newShard(rows []*Row) *Shard {
	s := &Shard{rows: rows, at: AddressOf(JoinRows(rows))}
	s.made()
	return s
}

// lazyShard returns a shard that knows its address and loads its lines on first use.
func lazyShard(at Address, from Source) *Shard { return &Shard{at: at, from: from} }

// Get returns the rows, loading them if necessary. A nil shard has none.
func (s *Shard) Get() ([]*Row, error) {
	if s == nil {
		return nil, nil
	}
	err := s.once(func() error {
		raw, err := s.from.Load(s.at, "shard")
		if err == nil {
			s.rows, err = ParseShard(raw)
		}
		return err
	})
	return s.rows, err
}

// ParseShard reads a shard or a change list: at least one line, sorted, no repetition.
func ParseShard(raw []byte) ([]*Row, error) {
	if len(raw) == 0 || len(raw) > MaxShard || raw[len(raw)-1] != '\n' {
		return nil, fault.New(fault.Malformed, "catalogue file of %d bytes: want lines that end with a line feed", len(raw))
	}
	rows := make([]*Row, 0, bytes.Count(raw, []byte{'\n'}))
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, '\n') + 1
		e, err := ParseEntry(raw[:n-1])
		if err != nil {
			return nil, err
		}
		item := e.Ref.Published()
		if k := len(rows); k > 0 && rows[k-1].Compare(item, e.Version) >= 0 {
			return nil, fault.New(fault.Malformed, "catalogue line of %s: repeated or out of order", e.Name())
		}
		rows = append(rows, &Row{e, item, raw[:n:n]})
		raw = raw[n:]
	}
	return rows, nil
}

// find returns the index of a version, or where it would be inserted.
func find(rows []*Row, ref objects.Ref, version string) (int, bool) {
	item := ref.Published()
	return sort.Find(len(rows), func(i int) int { return -rows[i].Compare(item, version) })
}

// FindEntry returns the entry of a version, nil when there is none.
func FindEntry(rows []*Row, ref objects.Ref, version string) *Entry {
	if i, found := find(rows, ref, version); found {
		return rows[i].Entry
	}
	return nil
}

// JoinRows returns the lines of rows as the bytes of a shard or a change list; nil for none.
func JoinRows(rows []*Row) []byte {
	n := 0
	for _, r := range rows {
		n += len(r.Line)
	}
	if n == 0 {
		return nil
	}
	raw := make([]byte, 0, n)
	for _, r := range rows {
		raw = append(raw, r.Line...)
	}
	return raw
}

// At returns the address of the shard's bytes.
func (s *Shard) At() Address { return s.at }

// RefsOf returns the items of entries, never nil.
func RefsOf(list []Entry) []objects.Ref {
	out := make([]objects.Ref, 0, len(list))
	for i := range list {
		out = append(out, list[i].Ref)
	}
	return out
}

// ShardsOf returns the shards that hold items, sorted, each once.
func ShardsOf(refs []objects.Ref) []byte {
	var out []byte
	for _, ref := range refs {
		out = append(out, ShardOf(ref))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// EveryShard returns the numbers of all shards.
func EveryShard() (all []byte) {
	for i := range 256 {
		all = append(all, byte(i))
	}
	return all
}
