package ward

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/rye-os/rye/internal/table"
)

// An index is git's list of the files of a working tree, with their object names. Git writes every
// file that it checks out into it.
type index struct {
	hash  func() hash.Hash
	files map[string]blob
}

// A blob is the content of one file in an index.
type blob struct {
	mode uint32
	sum  string // bytes
}

const (
	maxIndex = 64 << 20 // bytes
	regular  = 0o100644
	runnable = 0o100755
	symlink  = 0o120000
)

var errIndex = errors.New("not an index of git that rye reads")

// parseIndex reads versions 2, 3 and 4. An index that is split, or that stands for whole
// directories, is refused: it has not all the files.
func parseIndex(raw []byte) (*index, error) {
	x := &index{hash: sha1.New, files: map[string]blob{}}
	size := sha1.Size
	if n := len(raw) - sha256.Size; n > 0 {
		if sum := sha256.Sum256(raw[:n]); bytes.Equal(sum[:], raw[n:]) {
			x.hash, size = sha256.New, sha256.Size
		}
	}
	if len(raw) < 12+size || len(raw) > maxIndex || string(raw[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(raw[4:]), binary.BigEndian.Uint32(raw[8:])
	if version < 2 || version > 4 {
		return nil, errIndex
	}
	r := indexReader{Cursor: table.NewCursor(raw[12 : len(raw)-size]), version: version, size: size}
	for range count {
		name, b, stage := r.entry()
		if r.Bad() {
			return nil, errIndex
		}
		if stage == 0 {
			x.files[name] = b
		}
	}
	for r.Len() > 0 {
		kind, n := r.Text(4), r.Big32()
		r.Bytes(int(min(uint64(n), maxIndex)))
		if r.Bad() || kind == "link" || kind == "sdir" {
			return nil, errIndex
		}
	}
	return x, nil
}

type indexReader struct {
	*table.Cursor
	version uint32
	size    int // of an object name
	last    string
}

// entry reads one file. Names are padded to eight bytes before version 4, and share the beginning
// of the name before them in it.
func (r *indexReader) entry() (name string, b blob, stage int) {
	const stat = 24 // times, device, inode
	begin := r.Len()
	r.Bytes(stat)
	b.mode = r.Big32()
	r.Bytes(12) // user, group, size
	b.sum = r.Text(r.size)
	flags := r.big16()
	if flags&0x4000 != 0 { // extended
		r.Need(r.version > 2)
		r.Bytes(2)
	}
	if r.version == 4 {
		cut := r.offset()
		r.Need(cut <= len(r.last))
		if r.Bad() {
			return "", b, 0
		}
		name = r.last[:len(r.last)-cut] + r.until()
	} else {
		name = r.until()
		used := begin - r.Len()
		r.Bytes((8 - used%8) % 8)
	}
	r.Need(name != "" && name > r.last || name == r.last && flags>>12&3 > 0)
	r.last = name
	return name, b, int(flags >> 12 & 3)
}

func (r *indexReader) big16() int {
	b := r.Bytes(2)
	if len(b) < 2 {
		return 0
	}
	return int(binary.BigEndian.Uint16(b))
}

// offset reads a number of git's own form of variable length.
func (r *indexReader) offset() int {
	c := r.Byte()
	n := int(c & 127)
	for c&128 != 0 && n < maxIndex && !r.Bad() {
		c = r.Byte()
		n = (n+1)<<7 | int(c&127)
	}
	return n
}

// until reads to the next zero byte.
func (r *indexReader) until() string {
	n := bytes.IndexByte(r.Rest(), 0)
	r.Need(n >= 0)
	text := r.Text(max(n, 0))
	r.Byte()
	return text
}

// holds reports whether the index has a file of this type with these bytes, and returns its entry.
func (x *index) holds(name string, t thing, raw []byte) (blob, bool) {
	b, ok := x.files[name]
	switch {
	case !ok, t.link() != (b.mode == symlink), t.file() && b.mode != regular && b.mode != runnable:
		return b, false
	}
	h := x.hash()
	fmt.Fprintf(h, "blob %d\x00", len(raw))
	h.Write(raw)
	return b, string(h.Sum(nil)) == b.sum
}
