package store

import (
	"encoding/binary"
	"hash/adler32"
	"math/bits"
	"sync"
)

// Nearly every object is small and its size is told before its bytes, so its zlib
// stream is inflated from memory into memory, without a window in between: in half to two
// thirds of the time that the standard library takes (BenchmarkUnzip), and without the
// 40 KB that it begins with. What is not right, or not as small as was thought, the
// library reads again and judges: here nothing is refused, and FuzzUnzip compares what
// is accepted.

// unzip appends to out what the zlib stream (RFC 1950) at the beginning of src inflates
// to, and returns the length of that stream. ok is false when the stream is wrong, is not
// whole, or needs more room than out has.
func unzip(out, src []byte) (_ []byte, used int, ok bool) {
	if !zlibHead(src) {
		return nil, 0, false
	}
	from := len(out)
	u := unzippers.Get().(*unzipper)
	defer unzippers.Put(u)
	u.src, u.pos, u.acc, u.have, u.out = src, 2, 0, 0, out
	defer func() { u.src, u.out = nil, nil }()
	for last := false; !last; {
		u.fill()
		last = u.take(1) == 1
		switch u.take(2) {
		case 0:
			ok = u.stored()
		case 1:
			ok = u.block(fixedTables())
		case 2:
			ok = u.tables() && u.block(&u.literals, &u.distances)
		default:
			ok = false
		}
		if !ok || u.have < 0 {
			return nil, 0, false
		}
	}
	u.align()
	end := u.pos + 4
	if end > len(src) || binary.BigEndian.Uint32(src[u.pos:]) != adler32.Checksum(u.out[from:]) {
		return nil, 0, false
	}
	return u.out, end, true
}

// maxUnzip is up to how many bytes are read into memory to be inflated there.
const maxUnzip = 1 << 20

// unzipBound is how long the stream of size bytes is at most, written by anybody who
// stores what does not get smaller.
func unzipBound(size int64) int64 { return size + size>>8 + 64 }

// unzipWhole returns the size bytes that the stream at the beginning of src inflates
// to, and how long it is; nil for the library to look.
func unzipWhole(src []byte, size int64) (data []byte, used int) {
	if size > maxUnzip {
		return nil, 0
	}
	out, used, ok := unzip(make([]byte, 0, size), src)
	if !ok || int64(len(out)) != size {
		return nil, 0
	}
	return out, used
}

// storedHead is what stands before the bytes of a stream of one stored block.
const storedHead = 2 + 5

// storedAs reports whether src begins a stream of one stored block of size bytes.
func storedAs(src []byte, size int64) bool {
	return len(src) >= storedHead && zlibHead(src) && src[2] == 1 && size <= zlibBlock &&
		int64(binary.LittleEndian.Uint16(src[3:])) == size && binary.LittleEndian.Uint16(src[5:]) == ^uint16(size)
}

// zlibHead reports whether src begins a stream of RFC 1950 that needs no dictionary.
func zlibHead(src []byte) bool {
	return len(src) >= 2 && src[0]&0x8f == 8 && binary.BigEndian.Uint16(src)%31 == 0 && src[1]&0x20 == 0
}

// An unzipper reads one stream. It is for one goroutine.
type unzipper struct {
	src  []byte
	pos  int    // of the next byte that is not in acc
	acc  uint64 // bits read ahead, lowest first
	have int    // how many of them count; below 0 after the end of src
	out  []byte

	literals, distances prefixCode
	lengths             [maxLiterals + maxDistances]uint8
}

const (
	maxLiterals  = 286 // and length codes
	maxDistances = 30
)

var unzippers = sync.Pool{New: func() any { return new(unzipper) }}

// fill makes have 56 or more, unless src ends.
func (u *unzipper) fill() {
	if u.pos+8 <= len(u.src) {
		// The bits above have are those that come next, so they may be set twice.
		u.acc |= binary.LittleEndian.Uint64(u.src[u.pos:]) << u.have
		u.pos += (63 - u.have) >> 3
		u.have |= 56
		return
	}
	for u.have <= 56 && u.pos < len(u.src) {
		u.acc |= uint64(u.src[u.pos]) << u.have
		u.pos++
		u.have += 8
	}
}

// take returns n bits. After the end of src they are 0, and have is below 0.
func (u *unzipper) take(n int) int {
	v := int(u.acc & (1<<n - 1))
	u.acc >>= n
	u.have -= n
	return v
}

// align goes to the next whole byte, and pos is where that is.
func (u *unzipper) align() {
	u.pos -= u.have >> 3
	u.acc, u.have = 0, 0
}

// stored copies a block that is not compressed.
func (u *unzipper) stored() bool {
	if u.have < 0 {
		return false
	}
	u.align()
	if u.pos+4 > len(u.src) {
		return false
	}
	n := int(binary.LittleEndian.Uint16(u.src[u.pos:]))
	inverse := int(binary.LittleEndian.Uint16(u.src[u.pos+2:]))
	u.pos += 4
	if n^inverse != 0xffff || n > len(u.src)-u.pos || n > cap(u.out)-len(u.out) {
		return false
	}
	u.out = append(u.out, u.src[u.pos:u.pos+n]...)
	u.pos += n
	return true
}

// block inflates the symbols of a block until its end. It is where the time goes, so
// what it works with lies in variables, and it fills up once for several literals.
func (u *unzipper) block(literals, distances *prefixCode) bool {
	src, pos, acc, have := u.src, u.pos, u.acc, u.have
	out, n := u.out[:cap(u.out)], len(u.out)
	for have >= 0 {
		if pos+8 <= len(src) {
			acc |= binary.LittleEndian.Uint64(src[pos:]) << (have & 63)
			pos += (63 - have) >> 3
			have |= 56
		} else {
			u.pos, u.acc, u.have = pos, acc, have
			u.fill()
			pos, acc, have = u.pos, u.acc, u.have
		}
		e := literals.at(acc)
		for have >= 48 && e != 0 && e>>4 < 256 && n < len(out) {
			acc >>= e & 15
			have -= int(e & 15)
			out[n] = byte(e >> 4)
			n++
			e = literals.at(acc)
		}
		if have < 48 && pos < len(src) {
			continue // a length and its distance take up to 48 bits
		}
		if e == 0 {
			e = literals.long(acc)
		}
		acc >>= e & 15
		have -= int(e & 15)
		sym := int(e >> 4)
		switch {
		case sym < 256:
			if e == 0 || n == len(out) {
				return false
			}
			out[n] = byte(sym)
			n++
			continue
		case sym == 256:
			u.pos, u.acc, u.have, u.out = pos, acc, have, out[:n]
			return true
		case sym >= maxLiterals:
			return false
		}
		l := lengthCodes[sym-257]
		size := int(l.base) + int(acc&(1<<l.extra-1))
		acc >>= l.extra & 15
		have -= int(l.extra)
		if e = distances.at(acc); e == 0 {
			if e = distances.long(acc); e == 0 {
				return false
			}
		}
		acc >>= e & 15
		have -= int(e & 15)
		if e>>4 >= maxDistances {
			return false
		}
		d := distanceCodes[e>>4]
		at := n - int(d.base) - int(acc&(1<<d.extra-1))
		acc >>= d.extra & 15
		have -= int(d.extra)
		if at < 0 || size > len(out)-n {
			return false
		}
		if at+size <= n {
			n += copy(out[n:], out[at:at+size])
			continue
		}
		for end := n + size; n < end; n, at = n+1, at+1 {
			out[n] = out[at]
		}
	}
	return false
}

// codeOrder is in which order the lengths of the code for lengths come.
var codeOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// tables reads the two codes that a block brings along.
func (u *unzipper) tables() bool {
	nl, nd, nc := 257+u.take(5), 1+u.take(5), 4+u.take(4)
	if nl > maxLiterals || nd > maxDistances {
		return false
	}
	lengths := u.lengths[:len(codeOrder)]
	clear(lengths)
	for _, i := range codeOrder[:nc] {
		u.fill()
		lengths[i] = uint8(u.take(3))
	}
	if !u.literals.build(lengths) {
		return false
	}
	lengths = u.lengths[:nl+nd]
	for i := 0; i < len(lengths); {
		u.fill()
		sym := u.next(&u.literals)
		again, what := 0, uint8(0)
		switch {
		case sym < 0 || u.have < 0:
			return false
		case sym < 16:
			again, what = 1, uint8(sym)
		case sym == 16:
			if i == 0 {
				return false
			}
			again, what = 3+u.take(2), lengths[i-1]
		case sym == 17:
			again = 3 + u.take(3)
		default:
			again = 11 + u.take(7)
		}
		if again > len(lengths)-i {
			return false
		}
		for range again {
			lengths[i] = what
			i++
		}
	}
	return u.literals.build(lengths[:nl]) && u.distances.build(lengths[nl:])
}

// prefixCode is a Huffman code, as RFC 1951 §3.2.2 makes it from lengths.
type prefixCode struct {
	short  [1 << shortBits]uint16 // by the next bits: symbol<<4 | length; 0 for a longer code, or none
	mask   uint16                 // of as many bits as the longest code has, shortBits at most
	count  [16]uint16             // codes of each length
	symbol [288]uint16            // in the order of their codes
}

const shortBits = 10

// build makes the code. A code that is not complete is refused, except one of a single
// bit for a single symbol, or of none at all, as the standard library does.
func (c *prefixCode) build(lengths []uint8) bool {
	c.count = [16]uint16{}
	for _, n := range lengths {
		c.count[n]++
	}
	c.count[0] = 0
	var code, at [16]int
	left, used, longest := 1, 0, 0
	for n := 1; n < 16; n++ {
		left = left<<1 - int(c.count[n])
		if left < 0 {
			return false
		}
		if c.count[n] > 0 {
			longest = n
		}
		code[n] = (code[n-1] + int(c.count[n-1])) << 1
		at[n] = used
		used += int(c.count[n])
	}
	if left > 0 && used > 0 && (used > 1 || c.count[1] != 1) {
		return false
	}
	short := c.short[:1<<min(longest, shortBits)]
	c.mask = uint16(len(short) - 1)
	if left > 0 || longest > shortBits {
		clear(short) // else every entry is written
	}
	for sym, n := range lengths {
		if n == 0 {
			continue
		}
		c.symbol[at[n]] = uint16(sym)
		at[n]++
		if n <= shortBits {
			first := int(bits.Reverse16(uint16(code[n])) >> (16 - n))
			for i := first; i < len(short); i += 1 << n {
				short[i] = uint16(sym)<<4 | uint16(n)
			}
		}
		code[n]++
	}
	return true
}

// next takes a code and returns its symbol; -1 when there is none.
func (u *unzipper) next(c *prefixCode) int {
	e := c.at(u.acc)
	if e == 0 {
		if e = c.long(u.acc); e == 0 {
			return -1
		}
	}
	u.take(int(e & 15))
	return int(e >> 4)
}

// at returns what short holds for the next bits.
func (c *prefixCode) at(acc uint64) uint16 { return c.short[acc&uint64(c.mask)&(1<<shortBits-1)] }

// long returns what short would hold for a code that is longer: read bit by bit.
func (c *prefixCode) long(acc uint64) uint16 {
	code, first, at := 0, 0, 0
	for n := 1; n < 16; n++ {
		code |= int(acc>>(n-1)) & 1
		count := int(c.count[n])
		if code-first < count {
			return c.symbol[at+code-first]<<4 | uint16(n)
		}
		at += count
		first = (first + count) << 1
		code <<= 1
	}
	return 0
}

// fixedTables returns the two codes that every reader knows (RFC 1951 §3.2.6).
func fixedTables() (literals, distances *prefixCode) {
	t := fixedOnce()
	return &t[0], &t[1]
}

var fixedOnce = sync.OnceValue(func() *[2]prefixCode {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	t := new([2]prefixCode)
	t[0].build(lengths[:])
	for i := range 32 {
		lengths[i] = 5
	}
	t[1].build(lengths[:32])
	return t
})

// span is what a length or distance code stands for: base, and that many bits more.
type span struct {
	base  uint16
	extra uint8
}

var lengthCodes = [...]span{
	{3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}, {9, 0}, {10, 0}, {11, 1}, {13, 1},
	{15, 1}, {17, 1}, {19, 2}, {23, 2}, {27, 2}, {31, 2}, {35, 3}, {43, 3}, {51, 3}, {59, 3},
	{67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0},
}

var distanceCodes = [...]span{
	{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 1}, {7, 1}, {9, 2}, {13, 2}, {17, 3}, {25, 3},
	{33, 4}, {49, 4}, {65, 5}, {97, 5}, {129, 6}, {193, 6}, {257, 7}, {385, 7}, {513, 8}, {769, 8},
	{1025, 9}, {1537, 9}, {2049, 10}, {3073, 10}, {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13},
}
