// Package table reads files of binary rows, and other bytes of lengths and numbers, so that
// nothing in them can be read past its end.
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

// Head is the size in bytes of what every table begins with.
const Head = 16

// Why a table is refused before its rows are looked at.
var (
	ErrForeign = errors.New("not one")
	ErrDamaged = errors.New("damaged")
)

// Sum is the CRC-32C of b.
func Sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// NewSum is Sum for bytes that come piece by piece.
func NewSum() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// Seal fills in the first Head bytes of a finished table. magic has 8 bytes.
func Seal(b []byte, magic string, rows int) {
	copy(b[:8], magic)
	binary.LittleEndian.PutUint32(b[12:], uint32(rows))
	binary.LittleEndian.PutUint32(b[8:], Sum(b[12:]))
}

// Open checks what Seal wrote, in a table that has from least to most bytes, and returns how many
// rows it states and a Cursor behind the first Head bytes. That many rows need not be there.
func Open(raw []byte, magic string, least, most int) (rows int, c Cursor, err error) {
	if len(raw) < max(least, Head) || len(raw) > most || string(raw[:8]) != magic {
		return 0, Cursor{}, ErrForeign
	}
	if Sum(raw[12:]) != binary.LittleEndian.Uint32(raw[8:]) {
		return 0, Cursor{}, ErrDamaged
	}
	return int(binary.LittleEndian.Uint32(raw[12:])), Cursor{rest: raw[Head:]}, nil
}

// Cursor takes numbers and bytes off the front. After the first thing that is not there it
// stays bad, and everything is zero. It is not safe for concurrent use.
type Cursor struct {
	rest []byte
	bad  bool
}

// NewCursor returns a Cursor before b, which nobody may change meanwhile.
func NewCursor(b []byte) *Cursor { return &Cursor{rest: b} }

// Len is how many bytes are left; 0 once the Cursor is bad.
func (c *Cursor) Len() int { return len(c.rest) }

// Rest returns the bytes that are left.
func (c *Cursor) Rest() []byte { return c.rest }

// Bad reports whether something was not there, or Fail was called.
func (c *Cursor) Bad() bool { return c.bad }

// Done reports whether everything was there, and nothing more.
func (c *Cursor) Done() bool { return !c.bad && len(c.rest) == 0 }

// Fail makes the Cursor bad, for a caller that does not accept what it read.
func (c *Cursor) Fail() { c.bad, c.rest = true, nil }

// Need makes the Cursor bad unless ok.
func (c *Cursor) Need(ok bool) {
	if !ok {
		c.Fail()
	}
}

// Bytes returns the next n bytes, which are part of what is read; nil where they are not there.
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

// Bit returns the next byte, which is 0 or 1.
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

// Big32 returns the next four bytes, the highest first, as SSH has them.
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

// Int64 returns the next eight bytes as a number that is not below zero.
func (c *Cursor) Int64() int64 {
	n := int64(c.Uint64())
	c.Need(n >= 0)
	return max(n, 0)
}

// Uvarint returns a number of one to ten bytes, as encoding/binary writes it.
func (c *Cursor) Uvarint() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.Fail()
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

// Count returns n if n things of at least size bytes each can follow; else the Cursor is bad.
func (c *Cursor) Count(n uint64, size int) int {
	if n > uint64(len(c.rest)/size) {
		c.Fail()
		return 0
	}
	return int(n)
}
