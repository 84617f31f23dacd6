package fulltext

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/search"
)

// rows holds the entries of an index, as stored in its file:
//
//	magic   8  "ryerows1"
//	sum     4  CRC-32C of all that follows
//	rows    4
//	size    8  of the terms' file
//	terms   4  CRC-32C of the terms' file
//	zero    4
//	key    32
//	rows: document 4, SHA-256 32, length of path 2, path; sorted by search.CompareEntries
//
// Numbers are little-endian.
type rows struct {
	raw []byte
	at  []uint32
}

const (
	rowsMagic  = "ryerows1"
	rowsHeader = 64
	rowHeader  = 38
	maxRows    = 1 << 22
	maxRowsRaw = 1 << 28 // bytes
)

func (r *rows) len() int                    { return len(r.at) }
func (r *rows) doc(i int) int               { return int(binary.LittleEndian.Uint32(r.raw[r.at[i]:])) }
func (r *rows) sum(i int) [sha256.Size]byte { return [sha256.Size]byte(r.raw[r.at[i]+4:]) }
func (r *rows) path(i int) []byte           { return pathAt(r.raw[r.at[i]:]) }
func (r *rows) size() int64                 { return int64(binary.LittleEndian.Uint64(r.raw[16:])) }
func (r *rows) terms() uint32               { return binary.LittleEndian.Uint32(r.raw[24:]) }
func pathAt(row []byte) []byte              { return row[rowHeader:][:binary.LittleEndian.Uint16(row[36:])] }
func damagedRows(why string) error          { return fault.New(fault.Malformed, "search index: %s", why) }

// row is a row to be written.
type row struct {
	doc  int
	sum  [sha256.Size]byte
	path []byte
}

// encodeRows returns a file of rows, which are sorted, for terms of a size and a checksum.
func encodeRows(list []row, size int64, terms uint32, key [sha256.Size]byte) []byte {
	b := make([]byte, rowsHeader, rowsHeader+len(list)*(rowHeader+48))
	binary.LittleEndian.PutUint64(b[16:], uint64(size))
	binary.LittleEndian.PutUint32(b[24:], terms)
	copy(b[32:], key[:])
	for _, r := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(r.doc))
		b = append(b, r.sum[:]...)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(r.path)))
		b = append(b, r.path...)
	}
	table.Seal(b, rowsMagic, len(list))
	return b
}

// parseRows reads the output of encodeRows, and keeps raw. It checks each row, so that reading one
// later cannot fail.
func parseRows(raw []byte) (*rows, error) {
	n, c, err := table.Open(raw, rowsMagic, rowsHeader, maxRowsRaw)
	switch {
	case err == table.ErrDamaged:
		return nil, damagedRows("its rows are damaged")
	case err != nil:
		return nil, damagedRows("not one")
	case n > maxRows || n > (len(raw)-rowsHeader)/rowHeader || !bytes.Equal(raw[28:32], make([]byte, 4)):
		return nil, damagedRows("more rows than bytes")
	}
	c.Bytes(rowsHeader - table.Head)
	r := &rows{raw: raw, at: make([]uint32, 0, n)}
	seen := make([]bool, n)
	for len(r.at) < n {
		at := len(raw) - c.Len()
		row := c.Bytes(rowHeader)
		if row != nil {
			c.Bytes(int(binary.LittleEndian.Uint16(row[36:])))
		}
		if c.Bad() {
			return nil, damagedRows("a row ends early")
		}
		i := len(r.at)
		r.at = append(r.at, uint32(at))
		if doc := r.doc(i); doc >= n || seen[doc] {
			return nil, damagedRows("a document is listed twice")
		} else {
			seen[doc] = true
		}
		if i > 0 && search.CompareEntries(r.path(i-1), r.path(i)) >= 0 {
			return nil, damagedRows("rows out of order")
		}
	}
	if !c.Done() {
		return nil, damagedRows("bytes after the last row")
	}
	return r, nil
}
