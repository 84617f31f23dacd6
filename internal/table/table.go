// Package table reads files of binary rows, and other bytes of lengths and numbers, so
// that nothing in them can be read past its end.
//
// Files of rows share their beginning. Numbers are little-endian:
//
//	magic  8  which table it is
//	sum    4  CRC-32C of all that follows
//	rows   4
//
// A header and the rows of each table follow: docs/format/catalogue.md, docs/format/search.md.
// They are caches: one that is damaged is thrown away whole and written anew.
package table

import (
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
)

// Head is the size, in bytes, of the beginning that all tables share.
const Head = 16

// The errors of Open, for a table that is refused before its rows are read.
var (
	ErrForeign = errors.New("not one")
	ErrDamaged = errors.New("damaged")
)

// Sum returns the CRC-32C of b.
func Sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// NewSum is Sum for bytes that come piece by piece.
func NewSum() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// Seal fills in the first Head bytes of a finished table. magic has 8 bytes.
func Seal(b []byte, magic string, rows int) {
	copy(b[:8], magic)
	binary.LittleEndian.PutUint32(b[12:], uint32(rows))
	binary.LittleEndian.PutUint32(b[8:], Sum(b[12:]))
}

// Open checks the first Head bytes of a table, which must have from least to most bytes. It
// returns the stated number of rows, and a Cursor after these bytes. The table may have fewer
// rows.
func Open(raw []byte, magic string, least, most int) (rows int, c Cursor, err error) {
	if len(raw) < max(least, Head) || len(raw) > most || string(raw[:8]) != magic {
		return 0, Cursor{}, ErrForeign
	}
	if Sum(raw[12:]) != binary.LittleEndian.Uint32(raw[8:]) {
		return 0, Cursor{}, ErrDamaged
	}
	return int(binary.LittleEndian.Uint32(raw[12:])), Cursor{rest: raw[Head:]}, nil
}

// Cursor reads numbers and bytes from the front. After the first read past the end it stays
// bad, and every result is zero. It is not safe for concurrent use.
type Cursor struct {
	rest []byte
	bad  bool
}

// NewCursor returns a Cursor at the beginning of b. The caller must not change b while it uses
// the Cursor.
func NewCursor(b []byte) *Cursor { return &Cursor{rest: b} }

// Len returns the number of bytes left; 0 once the Cursor is bad.
func (c *Cursor) Len() int { return len(c.rest) }

// Rest returns the bytes left.
func (c *Cursor) Rest() []byte { return c.rest }

// Bad reports whether a read failed, or Fail was called.
func (c *Cursor) Bad() bool { return c.bad }

// Done reports whether no read failed and no bytes are left.
func (c *Cursor) Done() bool { return !c.bad && len(c.rest) == 0 }

// Fail makes the Cursor bad, for a caller that refuses a value.
func (c *Cursor) Fail() { c.bad, c.rest = true, nil }

// Need makes the Cursor bad unless ok.
func (c *Cursor) Need(ok bool) {
	if !ok {
		c.Fail()
	}
}

// Bytes returns the next n bytes, as a part of the input, or nil when there are fewer.
func (c *Cursor) Bytes(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.Fail()
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// Text returns the next n bytes as a text.
func (c *Cursor) Text(n int) string { return string(c.Bytes(n)) }

// Fill copies the next bytes into all of dst, or zeros.
func (c *Cursor) Fill(dst []byte) {
	if b := c.Bytes(len(dst)); b != nil {
		copy(dst, b)
		return
	}
	clear(dst)
}

// Byte returns the next byte.
func (c *Cursor) Byte() byte {
	if b := c.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// Bit returns the next byte, which must be 0 or 1.
func (c *Cursor) Bit() bool {
	b := c.Byte()
	c.Need(b <= 1)
	return b == 1
}

// Uint16 returns the next two bytes, the lowest first.
func (c *Cursor) Uint16() int {
	if b := c.Bytes(2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

// Uint32 returns the next four bytes, the lowest first.
func (c *Cursor) Uint32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Big32 returns the next four bytes, the highest first, as in SSH.
func (c *Cursor) Big32() uint32 {
	if b := c.Bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 returns the next eight bytes, the lowest first.
func (c *Cursor) Uint64() uint64 {
	if b := c.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Int64 returns the next eight bytes as a number, which must not be below zero.
func (c *Cursor) Int64() int64 {
	n := int64(c.Uint64())
	c.Need(n >= 0)
	return max(n, 0)
}

// Uvarint returns a number of one to ten bytes, in the form of encoding/binary.
func (c *Cursor) Uvarint() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.Fail()
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

// Count returns n if the bytes left can hold n things of size bytes; otherwise the Cursor
// becomes bad.
func (c *Cursor) Count(n uint64, size int) int {
	if n > uint64(len(c.rest)/size) {
		c.Fail()
		return 0
	}
	return int(n)
}
