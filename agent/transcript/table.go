package transcript

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

// A table says of each thread what it began with, how far its journal was read, and where its
// turns lie there. docs/format/search.md has the file. One that parses is consistent in itself:
// turns follow one another from the beginning of the journal to where it was read.
const (
	tableMagic  = "ryeturn1"
	tableHeader = 16
	maxTable    = 1 << 28 // bytes
	maxTableStr = 1 << 12 // bytes of one text
	turnSize    = 56
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeTable writes threads, which ascend by id.
func encodeTable(all []*Thread) []byte {
	b := make([]byte, tableHeader, tableHeader+len(all)*2048)
	copy(b, tableMagic)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(all)))
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
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
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

// tableReader takes a table apart. After the first thing that does not fit it gives zeros.
type tableReader struct {
	rest []byte
	bad  bool
}

func (r *tableReader) take(n int) []byte {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return make([]byte, min(n, maxTableStr))
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *tableReader) number() int64 {
	n := int64(binary.LittleEndian.Uint64(r.take(8)))
	r.bad = r.bad || n < 0
	return n
}

func (r *tableReader) text() string {
	n := int(binary.LittleEndian.Uint16(r.take(2)))
	if n > maxTableStr {
		r.bad, n = true, 0
	}
	return string(r.take(n))
}

// parseTable reads what encodeTable wrote.
func parseTable(raw []byte) ([]*Thread, error) {
	damaged := fault.New(fault.Malformed, "the table of threads is damaged")
	if len(raw) < tableHeader || len(raw) > maxTable || string(raw[:8]) != tableMagic ||
		crc32.Checksum(raw[12:], castagnoli) != binary.LittleEndian.Uint32(raw[8:]) {
		return nil, damaged
	}
	r := &tableReader{rest: raw[tableHeader:]}
	var all []*Thread
	last := ""
	for range binary.LittleEndian.Uint32(raw[12:]) {
		t := r.thread()
		if r.bad || t.ID <= last {
			return nil, damaged
		}
		all, last = append(all, t), t.ID
	}
	if len(r.rest) > 0 {
		return nil, damaged
	}
	return all, nil
}

func (r *tableReader) thread() *Thread {
	t := &Thread{ID: string(r.take(26))}
	b := r.take(1)[0]
	t.State = State{End(b & endBits), b&asksBit != 0, b&suspendedBit != 0}
	t.size, t.changed = r.number(), r.number()
	t.Directive, t.Parent, t.Starter, t.Damage = r.text(), r.text(), r.text(), r.text()
	n := int(binary.LittleEndian.Uint32(r.take(4)))
	r.bad = r.bad || !journal.ValidID(t.ID) || t.State.End >= ends || b > bits || n > len(r.rest)/turnSize
	if r.bad {
		return t
	}
	t.end.Thread, t.end.Ended = t.ID, b&endedBit != 0
	t.turns = make([]turn, n)
	for i := range t.turns {
		one := &t.turns[i]
		r.turn(one)
		t.end.Offset, t.end.Seq, t.end.Sum = t.end.Offset+one.bytes, t.end.Seq+one.records, one.sum
		r.bad = r.bad || t.end.Offset > journal.MaxJournal
	}
	return t
}

func (r *tableReader) turn(t *turn) {
	b := r.take(turnSize)
	t.number, t.records = int(binary.LittleEndian.Uint32(b)), int64(binary.LittleEndian.Uint32(b[4:]))
	t.bytes, t.time = int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:]))
	t.sum = [32]byte(b[24:])
	r.bad = r.bad || t.number > 1<<31-1 || t.records < 1 || t.bytes < 1 || t.bytes > journal.MaxJournal
}
