package store

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sort"
)

// piece is the position of a whole object in a pack.
type piece struct {
	id       OID
	i        int64 // position in the index
	off, end int64
}

// copyWindow is the number of bytes read from a pack at a time when many entries are copied.
const copyWindow = 1 << 20

// copyMany appends to a pack stream all ids that packs hold as whole objects, reading each
// pack from beginning to end. It returns the other ids: deltas, loose objects, and damaged
// entries. For those, the normal read finds another copy or reports the error.
func (d *diskObjects) copyMany(ctx context.Context, w *bufio.Writer, ids []OID) ([]OID, error) {
	packs, err := d.list()
	if err != nil {
		return nil, err
	}
	for _, p := range packs {
		if len(ids) == 0 {
			break
		}
		pieces, rest := p.pieces(ids)
		if ids, err = p.copy(ctx, w, pieces); err != nil {
			return nil, err
		}
		ids = append(ids, rest...)
	}
	return ids, nil
}

// pieces finds the ids that are in the pack, sorted by offset.
func (p *pack) pieces(ids []OID) (found []piece, rest []OID) {
	if p.open(true) != nil || p.sortStarts() != nil {
		return nil, ids
	}
	p.idx.whole(true)
	for _, id := range ids {
		i, ok, err := p.idx.find(id)
		if err != nil || !ok {
			rest = append(rest, id)
			continue
		}
		off, err := p.idx.offset(i)
		n := sort.Search(len(p.starts), func(n int) bool { return p.starts[n] > off })
		if err != nil || off < packHead || n == len(p.starts) || p.starts[n] > p.size || p.starts[n]-off > maxRaw {
			rest = append(rest, id)
			continue
		}
		found = append(found, piece{id, i, off, p.starts[n]})
	}
	slices.SortFunc(found, func(a, b piece) int { return cmp.Compare(a.off, b.off) })
	return found, rest
}

// copy appends the pieces that are whole objects and returns the ids of the others.
func (p *pack) copy(ctx context.Context, w *bufio.Writer, pieces []piece) (rest []OID, err error) {
	var window []byte
	var from int64 // offset of window in the pack
	for n, c := range pieces {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if c.end > from+int64(len(window)) {
			from = c.off
			size := min(max(copyWindow, c.end-c.off), p.size-from)
			if int64(cap(window)) < size {
				window = make([]byte, size)
			}
			window = window[:size]
			if _, err := p.file.ReadAt(window, from); err != nil {
				window = nil
			}
		}
		if c.end > from+int64(len(window)) || c.off < from || !p.intact(c, window[c.off-from:c.end-from]) {
			rest = append(rest, c.id)
			continue
		}
		if _, err := w.Write(window[c.off-from : c.end-from]); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// intact reports whether entry is a whole object with the CRC in the index.
func (p *pack) intact(c piece, entry []byte) bool {
	h, err := readEntryHead(bytes.NewReader(entry), c.off, p.format)
	if err != nil || h.t > TypeTag || h.size > maxRaw {
		return false
	}
	want, err := p.idx.crc(c.i)
	return err == nil && crc32.ChecksumIEEE(entry) == want
}

// sortStarts fills p.starts with the sorted offsets of the entries and the end of the pack.
func (p *pack) sortStarts() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starts != nil {
		return nil
	}
	starts, err := p.idx.allOffsets()
	if err != nil {
		return err
	}
	slices.Sort(starts)
	p.starts = append(starts, p.size)
	return nil
}

// allOffsets reads the offset of every entry, in the order of ids.
func (x *idxFile) allOffsets() ([]int64, error) {
	b, err := x.at(nil, x.offsets(), 4*x.n)
	if err != nil {
		return nil, err
	}
	out := make([]int64, x.n)
	for i := range out {
		off := int64(binary.BigEndian.Uint32(b[4*i:]))
		if off&0x80000000 != 0 {
			if off, err = x.largeOffset(off & 0x7fffffff); err != nil {
				return nil, err
			}
		}
		out[i] = off
	}
	return out, nil
}
