package transcript

import (
	"encoding/binary"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/table"
)

// A table lists, for each thread, its beginning, the part of its journal that was read, and the
// place of its turns. docs/format/search.md describes the file. A table that parses is consistent:
// turns follow one another from the beginning of the journal to the end of the part that was read.
const (
	tableMagic  = "ryeturn1"
	maxTable    = 1 << 28 // bytes
	maxTableStr = 1 << 12 // bytes of one text
	turnSize    = 56
)

// encodeTable writes threads, which must ascend by id.
func encodeTable(all []*Thread) []byte {
	b := make([]byte, table.Head, table.Head+len(all)*2048)
	for _, t := range all {
		b = append(b, t.ID...)
		b = append(b, t.bits())
		for _, n := range []int64{t.size, t.changed} {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		for _, s := range []string{t.Directive, t.Parent, t.Starter, t.Damage} {
			b = binary.LittleEndian.AppendUint16(b, uint16(min(len(s), maxTableStr)))
			b = append(b, s[:min(len(s), maxTableStr)]...)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.turns)))
		for i := range t.turns {
			b = t.turns[i].encode(b)
		}
	}
	table.Seal(b, tableMagic, len(all))
	return b
}

func (t *Thread) bits() byte {
	b := byte(t.State.End)
	for bit, is := range map[byte]bool{asksBit: t.State.Asks, suspendedBit: t.State.Suspended, endedBit: t.end.Ended} {
		if is {
			b |= bit
		}
	}
	return b
}

func (t *turn) encode(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(t.number))
	b = binary.LittleEndian.AppendUint32(b, uint32(t.records))
	b = binary.LittleEndian.AppendUint64(b, uint64(t.bytes))
	b = binary.LittleEndian.AppendUint64(b, uint64(t.time))
	return append(b, t.sum[:]...)
}

// tableReader reads the fields of a table.
type tableReader struct{ table.Cursor }

func (r *tableReader) text() string {
	n := r.Uint16()
	r.Need(n <= maxTableStr)
	return r.Text(n)
}

// parseTable reads the output of encodeTable.
func parseTable(raw []byte) ([]*Thread, error) {
	damaged := fault.New(fault.Malformed, "the table of threads is damaged")
	n, c, err := table.Open(raw, tableMagic, table.Head, maxTable)
	if err != nil {
		return nil, damaged
	}
	r := &tableReader{c}
	var all []*Thread
	last := ""
	for range n {
		t := r.thread()
		if r.Bad() || t.ID <= last {
			return nil, damaged
		}
		all, last = append(all, t), t.ID
	}
	if !r.Done() {
		return nil, damaged
	}
	return all, nil
}

func (r *tableReader) thread() *Thread {
	t := &Thread{ID: r.Text(26)}
	b := r.Byte()
	t.State = State{End(b & endBits), b&asksBit != 0, b&suspendedBit != 0}
	t.size, t.changed = r.Int64(), r.Int64()
	t.Directive, t.Parent, t.Starter, t.Damage = r.text(), r.text(), r.text(), r.text()
	n := r.Count(uint64(r.Uint32()), turnSize)
	r.Need(journal.ValidID(t.ID) && t.State.End < ends && b <= bits)
	if r.Bad() {
		return t
	}
	t.end.Thread, t.end.Ended = t.ID, b&endedBit != 0
	t.turns = make([]turn, n)
	for i := range t.turns {
		one := &t.turns[i]
		r.turn(one)
		t.end.Offset, t.end.Seq, t.end.Sum = t.end.Offset+one.bytes, t.end.Seq+one.records, one.sum
		r.Need(t.end.Offset <= journal.MaxJournal)
	}
	return t
}

func (r *tableReader) turn(t *turn) {
	t.number, t.records = int(r.Uint32()), int64(r.Uint32())
	t.bytes, t.time = r.Int64(), int64(r.Uint64())
	r.Fill(t.sum[:])
	r.Need(t.number <= 1<<31-1 && t.records >= 1 && t.bytes >= 1 && t.bytes <= journal.MaxJournal)
}
