package store

import (
	"encoding/binary"
	"math/bits"
)

// A delta makes a target from a base with two instructions: copy a range of the base, insert
// new bytes (gitformat-pack). To find common ranges, the base is cut into blocks of 16 bytes,
// and a hash finds them again at any position of the target.

const (
	deltaBlock  = 16
	deltaProbes = 16      // most blocks of one hash that are tried, so that time stays linear
	maxCopy     = 0x10000 // bytes that one instruction copies
	maxInsert   = 0x7f    // bytes that one instruction inserts
)

// deltaIndex finds blocks of a base. It can be reused for another base, and then allocates
// only the additional memory.
type deltaIndex struct {
	base  []byte
	first []int32 // by hash: the first block with that hash, counted from 1; 0 for none
	next  []int32 // by block: the next block with the same hash, counted from 1
	shift uint    // number of low bits of a 64-bit hash that are dropped
}

// reset indexes base, of less than 2 GiB. base must not change while the index is used.
func (x *deltaIndex) reset(base []byte) {
	n := len(base) / deltaBlock
	size := uint(bits.Len(uint(n) | 15)) // log2 of the table's length; more than half of the table stays free
	x.base, x.shift = base, 64-size
	x.first, x.next = zeros(x.first, 1<<size), zeros(x.next, n)
	var last uint64
	for i := n - 1; i >= 0; i-- {
		h := blockHash(base[i*deltaBlock:]) >> x.shift
		x.next[i] = x.first[h]
		if h == last && i < n-1 {
			x.next[i] = x.next[i+1] // of equal blocks in a row, the first leads to the longest match
		}
		x.first[h], last = int32(i+1), h
	}
}

// memory returns the bytes that the index takes, without its base.
func (x *deltaIndex) memory() int { return 4 * (cap(x.first) + cap(x.next)) }

// zeros returns n zeros, in the memory of b if they fit.
func zeros(b []int32, n int) []int32 {
	if cap(b) < n {
		return make([]int32, n)
	}
	b = b[:n]
	clear(b)
	return b
}

func blockHash(b []byte) uint64 {
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return (lo*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(hi*0xc2b2ae3d27d4eb4f, 31)) * 0xff51afd7ed558ccd
}

// delta returns a delta from the base to target, in the memory of out. It returns false as
// soon as the delta needs more than most bytes.
func (x *deltaIndex) delta(out, target []byte, most int) ([]byte, bool) {
	out = appendDeltaSize(out[:0], len(x.base))
	out = appendDeltaSize(out, len(target))
	done := 0 // bytes of the target that out makes
	for i := 0; i+deltaBlock <= len(target); {
		at, n := x.longest(target[i:])
		if n == 0 {
			if i++; len(out)+i-done > most {
				return out, false
			}
			continue
		}
		for at > 0 && i > done && x.base[at-1] == target[i-1] {
			at, i, n = at-1, i-1, n+1
		}
		out = appendCopy(appendInsert(out, target[done:i]), at, n)
		i += n
		done = i
	}
	out = appendInsert(out, target[done:])
	return out, len(out) <= most
}

// longest returns the block of the base that begins the longest match with target, and the
// length of that match; 0 when no block matches.
func (x *deltaIndex) longest(target []byte) (at, most int) {
	i := x.first[blockHash(target)>>x.shift]
	for probe := 0; i > 0 && probe < deltaProbes; probe++ {
		from := int(i-1) * deltaBlock
		if n := common(x.base[from:], target); n >= deltaBlock && n > most {
			if at, most = from, n; n == len(target) {
				break
			}
		}
		i = x.next[i-1]
	}
	return at, most
}

// common returns the length of the common prefix of a and b.
func common(a, b []byte) int {
	most := min(len(a), len(b))
	a, b = a[:most], b[:most]
	n := 0
	for ; n+8 <= most; n += 8 {
		if d := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); d != 0 {
			return n + bits.TrailingZeros64(d)/8
		}
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func appendDeltaSize(b []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func appendInsert(b, data []byte) []byte {
	for len(data) > 0 {
		n := min(len(data), maxInsert)
		b = append(append(b, byte(n)), data[:n]...)
		data = data[n:]
	}
	return b
}

// appendCopy omits the zero bytes of offset and length; bits of the instruction show which
// bytes are present.
func appendCopy(b []byte, at, n int) []byte {
	for n > 0 {
		size := min(n, maxCopy)
		op := len(b)
		b = append(b, 0x80)
		put := func(bit byte, v int) {
			if v&0xff != 0 {
				b[op] |= bit
				b = append(b, byte(v))
			}
		}
		for i := range 4 {
			put(1<<i, at>>(8*i))
		}
		if size < maxCopy { // no length means maxCopy
			put(0x10, size)
			put(0x20, size>>8)
		}
		at, n = at+size, n-size
	}
	return b
}
