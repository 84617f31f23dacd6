package store

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/adler32"
	"io"
	"math/bits"
	"slices"
	"sync"
)

// The zlib stream (RFC 1950) of an object depends on its bytes alone, so the same object
// always gives the same stream. Most objects here are small. For those, a Huffman code of
// their own costs more than all the other work: building it takes most of the time of level 1,
// and every reader builds its tables again. The fixed code takes a seventh to a half of the
// time, and its result is up to a third larger (BenchmarkDeflate).
//
//	up to maxStored   one stored block: trees of one or two entries are mostly hash
//	up to maxFixed    one block of the fixed code, or stored where that is shorter
//	up to maxTried    level 1, or stored where that saves less than a third
//	above             level 1
//
// Two kinds of objects save less than a third: wide trees, in which two thirds of the bytes
// are ids, and data that is already compressed. Inflating one tree of a thousand entries takes
// 0.15 ms, as long as all the other reads from the record that find one item.
const (
	maxStored = 96
	maxFixed  = 4 << 10
	maxTried  = 1 << 20
)

// deflaters hold writers of level 1, which costs half the time of the default. Content is read
// far more often than its size matters.
var deflaters = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	return z
}}

// deflate writes parts as one zlib stream.
func deflate(w io.Writer, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size <= maxFixed {
		f := fixers.Get().(*fixer)
		defer fixers.Put(f)
		_, err := w.Write(f.zlib(parts))
		return err
	}
	if size > maxTried {
		return level1(w, parts)
	}
	var b bytes.Buffer
	b.Grow(size / 2)
	if err := level1(&b, parts); err != nil {
		return err
	}
	if 3*b.Len() > 2*size {
		_, err := w.Write(storeZlib(make([]byte, 0, size+size/zlibBlock*5+zlibOver), slices.Concat(parts...)))
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// keepers hold writers of level 6, for data that is written once and kept.
var keepers = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, 6)
	return z
}}

// maxQuick is the size in bytes up to which a Huffman code of its own does not pay. Most
// deltas are that small.
const maxQuick = 256

// compress appends data to b as a zlib stream that is kept for long: the smaller of level 6
// and stored. Trees follow the rule of deflate, because every look at an item reads some. The
// level in its head, which git reads too, shows that it need not be compressed again.
func compress(b []byte, t Type, data []byte) []byte {
	start := len(b)
	worth := len(data)
	if t == TypeTree {
		worth -= len(data) / 3
	}
	if len(data) <= maxQuick {
		f := fixers.Get().(*fixer)
		defer fixers.Put(f)
		b = append(b, f.zlib([][]byte{data})...)
	} else {
		out := bytes.NewBuffer(b)
		z := keepers.Get().(*zlib.Writer)
		defer keepers.Put(z)
		z.Reset(out)
		z.Write(data) // into memory, which has no errors
		z.Close()
		if b = out.Bytes(); len(b)-start > worth {
			b = storeZlib(b[:start], data)
		}
	}
	copy(b[start:], keptHead[:])
	return b
}

// keptHead is the head of a zlib stream made by level 6 (RFC 1950 §2.2).
var keptHead = [2]byte{0x78, 0x9c}

// isKept reports whether a zlib stream was made by level 6 or above.
func isKept(stream []byte) bool { return len(stream) > 1 && stream[1]>>6 >= 2 }

func level1(w io.Writer, parts [][]byte) error {
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(w)
	for _, p := range parts {
		if _, err := z.Write(p); err != nil {
			return err
		}
	}
	return z.Close()
}

// A fixer deflates small data. It is not safe for concurrent use.
type fixer struct {
	src  []byte
	out  []byte
	last [fixerTable]uint16 // by hash of four bytes: their last position, counted from 1

	acc  uint64 // bits that are not in out yet, lowest first
	have uint   // number of bits in acc
}

const (
	fixerBits  = 11
	fixerTable = 1 << fixerBits
	minMatch   = 4 // bytes under the hash
	maxMatch   = 258
)

var fixers = sync.Pool{New: func() any { return new(fixer) }}

// zlib returns parts, together at most maxFixed bytes, as one zlib stream. The next use of the
// fixer overwrites the result.
func (f *fixer) zlib(parts [][]byte) []byte {
	f.src, f.out = f.src[:0], append(f.out[:0], 0x78, 0x01) // a window of 32 KiB, the fastest level
	for _, p := range parts {
		f.src = append(f.src, p...)
	}
	if len(f.src) > maxStored {
		if f.block(); len(f.out)+4 <= len(f.src)+zlibOver {
			f.out = binary.BigEndian.AppendUint32(f.out, adler32.Checksum(f.src))
			return f.out
		}
	}
	f.out = storeZlib(f.out[:0], f.src)
	return f.out
}

// block appends all of src as one block of the fixed code (RFC 1951 §3.2.6).
func (f *fixer) block() {
	code := fixedCode()
	clear(f.last[:])
	f.acc, f.have = 0b011, 3 // the last block; fixed codes
	src := f.src
	i := 0
	for i+minMatch < len(src) {
		h := hash4(src[i:])
		at := int(f.last[h]) - 1
		f.last[h] = uint16(i + 1)
		if at < 0 || binary.LittleEndian.Uint32(src[at:]) != binary.LittleEndian.Uint32(src[i:]) {
			f.put(uint64(code.literal[src[i]].bits), code.literal[src[i]].n)
			i++
			continue
		}
		n := matchLen(src[at:], src[i:])
		m, d := code.length[n], distance(i-at)
		f.put(uint64(m.bits)|uint64(d.bits)<<m.n, m.n+d.n)
		if end := i + n; end+minMatch < len(src) {
			f.last[hash4(src[end-1:])] = uint16(end) // the end of a match often repeats together with the bytes after it
		}
		i += n
	}
	for ; i < len(src); i++ {
		f.put(uint64(code.literal[src[i]].bits), code.literal[src[i]].n)
	}
	f.put(0, 7+7) // the end of the block, and zeros up to the next byte at least
	for ; f.have >= 8; f.have -= 8 {
		f.out = append(f.out, byte(f.acc))
		f.acc >>= 8
	}
}

// put appends n ≤ 31 bits.
func (f *fixer) put(b uint64, n uint) {
	f.acc |= b << f.have
	if f.have += n; f.have >= 32 {
		f.out = binary.LittleEndian.AppendUint32(f.out, uint32(f.acc))
		f.acc >>= 32
		f.have -= 32
	}
}

func hash4(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 0x9e3779b1 >> (32 - fixerBits)
}

// matchLen returns the length of the common prefix of a and b, at most maxMatch. b is the
// shorter.
func matchLen(a, b []byte) int {
	b = b[:min(len(b), maxMatch)]
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// codeWord is n bits in the order of writing, the lowest first.
type codeWord struct {
	bits uint32
	n    uint
}

// codeTable is the fixed code, with the extra bits of lengths in their words.
type codeTable struct {
	literal [256]codeWord
	length  [maxMatch + 1]codeWord
}

var fixedCode = sync.OnceValue(func() *codeTable {
	t := new(codeTable)
	for i := range t.literal {
		if i < 144 {
			t.literal[i] = word(0x30+i, 8)
		} else {
			t.literal[i] = word(0x190+i-144, 9)
		}
	}
	for n := 3; n <= maxMatch; n++ {
		t.length[n] = lengthWord(n)
	}
	return t
})

// lengthWord returns the word of the length n: symbols 257 to 264 are the lengths 3 to 10.
// After that, each four symbols have one more extra bit. 285 is the longest.
func lengthWord(n int) codeWord {
	symbol, extra, rest := 254+n, 0, 0
	switch {
	case n == maxMatch:
		symbol = 285
	case n > 10:
		extra = bits.Len(uint(n-3)) - 3
		symbol = 257 + 4*extra + (n-3)>>extra
		rest = (n - 3) & (1<<extra - 1)
	}
	w := word(symbol-256, 7)
	if symbol >= 280 {
		w = word(0xc0+symbol-280, 8)
	}
	return codeWord{w.bits | uint32(rest)<<w.n, w.n + uint(extra)}
}

// distance returns the word of the distance d: symbols 0 to 3 are the distances 1 to 4. After
// that, each two symbols have one more extra bit.
func distance(d int) codeWord {
	d--
	extra := max(bits.Len(uint(d))-2, 0)
	symbol := 2*extra + d>>extra
	w := word(symbol, 5)
	return codeWord{w.bits | uint32(d&(1<<extra-1))<<5, uint(5 + extra)}
}

// word reverses a Huffman code, which is defined from its highest bit.
func word(code int, n uint) codeWord {
	return codeWord{bits.Reverse32(uint32(code)) >> (32 - n), n}
}

const (
	zlibOver  = 2 + 5 + 4 // bytes that a zlib stream of one stored block adds
	zlibBlock = 0xffff    // most bytes in a stored block
)

// storeZlib appends data to b as a zlib stream of stored blocks (RFC 1950, RFC 1951
// §3.2.4).
func storeZlib(b, data []byte) []byte {
	b = append(b, 0x78, 0x01) // level 0
	for rest := data; ; {
		n := min(len(rest), zlibBlock)
		last := byte(0)
		if n == len(rest) {
			last = 1
		}
		b = append(b, last, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		b = append(b, rest[:n]...)
		if rest = rest[n:]; last == 1 {
			break
		}
	}
	return binary.BigEndian.AppendUint32(b, adler32.Checksum(data))
}
