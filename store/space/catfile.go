package space

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/rye-os/rye/internal/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// catalogue is the content of a catalogue file: rows in the order of byRef, and
// beside each what its file looked like. docs/format/catalogue.md describes the
// bytes.
type catalogue struct {
	key     objects.Digest // of everything a verdict depends on besides file and record
	tip     store.OID      // of the record
	bundles bool           // the record holds some: it has to be read, whether it moved or not
	when    int64          // when the look at the files began, nanoseconds since 1970
	rows    []Row
	seen    []seenFile // as long as rows
}

// seenFile is what a row was made from.
type seenFile struct {
	stamp stamp // zero for a file that is missing
	known bool  // the record holds something at this path
}

const (
	catMagic   = "ryecat1\n"
	catHeader  = 96
	catRow     = 148       // bytes of a row before its strings
	maxCat     = 128 << 20 // bytes of a catalogue; about 400,000 items
	maxCatRow  = 64 << 10  // bytes of a row; an item that says more about itself is read anew
	maxCatTags = 1 << 12
)

var (
	catSum    = crc32.MakeTable(crc32.Castagnoli)
	catStates = []State{Signed, Modified, Unsigned, Untrusted, Older, Deleted, Legacy, Malformed, Revoked}
)

const (
	flagRecorded = 1 << iota // the record holds these bytes
	flagKnown                // the record holds something at this path
	flagSeen                 // there was a file
	flagSigned               // it has a native signature line
	flagsAll     = 1<<iota - 1
)

// encode returns the bytes of a catalogue whose rows all fit.
func (c *catalogue) encode() []byte {
	b := make([]byte, catHeader, catHeader+320*len(c.rows))
	copy(b, catMagic)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(c.rows)))
	binary.LittleEndian.PutUint64(b[16:], uint64(c.when))
	copy(b[24:], c.key[:])
	b[56] = byte(copy(b[57:89], c.tip.Bytes()))
	if c.bundles {
		b[89] = 1
	}
	for i := range c.rows {
		b = appendRow(b, &c.rows[i], c.seen[i])
	}
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], catSum))
	return b
}

// storable reports whether a row belongs into a catalogue: it has a ref, its file
// was read (or is missing), its verdict is about that file alone, and it is not too
// long.
func storable(r *Row) bool {
	n := catRow + 64
	for _, s := range r.texts() {
		n += 4 + len(*s)
	}
	for _, t := range r.Tags {
		n += 4 + len(t)
	}
	return r.Ref.Kind != "" && r.Bundle == "" && r.Covers == "" && (!r.Blob.IsZero() || r.State == Deleted) && n <= maxCatRow && len(r.Tags) <= maxCatTags
}

// texts returns the strings of a row in the order of the format.
func (r *Row) texts() [9]*string {
	return [9]*string{&r.Path, (*string)(&r.Code), &r.Why, &r.Hint, &r.Name, &r.Title, &r.Version, &r.Description, &r.Category}
}

func appendRow(b []byte, r *Row, was seenFile) []byte {
	at := len(b)
	b = append(b, make([]byte, catRow)...)
	f := b[at:]
	f[4], f[5] = byte(slices.Index(objects.Kinds, r.Ref.Kind)), byte(slices.Index(catStates, r.State))
	if r.Recorded {
		f[6] |= flagRecorded
	}
	if was.known {
		f[6] |= flagKnown
	}
	f[7] = byte(copy(f[48:80], r.Blob.Bytes()))
	if was.stamp.isFile {
		f[6] |= flagSeen
		for i, v := range [...]int64{was.stamp.size, was.stamp.mtime, was.stamp.ctime, int64(was.stamp.inode)} {
			binary.LittleEndian.PutUint64(f[8+8*i:], uint64(v))
		}
	}
	if !r.SignedAt.IsZero() {
		f[6] |= flagSigned
		binary.LittleEndian.PutUint64(f[40:], uint64(r.SignedAt.Unix()))
		copy(f[112:144], r.Signer[:])
	}
	copy(f[80:112], r.Sum[:])
	binary.LittleEndian.PutUint32(f[144:], uint32(len(r.Ref.Kind.Dir())+1+len(r.Ref.ID)))
	for _, s := range r.texts() {
		b = appendText(b, *s)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.Tags)))
	for _, t := range r.Tags {
		b = appendText(b, t)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// parseCatalogue reads what encode wrote, for rows of the space sp. Anything else
// is an error: a damaged catalogue is thrown away as a whole.
func parseCatalogue(raw []byte, sp objects.Space) (*catalogue, error) {
	bad := func(why string) error { return fault.New(fault.Malformed, "catalogue: %s", why) }
	if len(raw) < catHeader || len(raw) > maxCat || string(raw[:8]) != catMagic {
		return nil, bad("not one")
	}
	if crc32.Checksum(raw[12:], catSum) != binary.LittleEndian.Uint32(raw[8:]) {
		return nil, bad("damaged")
	}
	n := int(binary.LittleEndian.Uint32(raw[12:]))
	if n > (len(raw)-catHeader)/catRow {
		return nil, bad("more rows than bytes")
	}
	c := &catalogue{when: int64(binary.LittleEndian.Uint64(raw[16:])), key: objects.Digest(raw[24:56]),
		rows: make([]Row, n), seen: make([]seenFile, n)}
	var ok bool
	if c.tip, ok = oidIn(raw[56], raw[57:89]); !ok || raw[89] > 1 || !allZero(raw[90:catHeader]) {
		return nil, bad("its header")
	}
	c.bundles = raw[89] == 1
	r := rowReader{b: raw, s: string(raw), at: catHeader}
	for i := range c.rows {
		row := &c.rows[i]
		row.Space = sp
		if !r.row(row, &c.seen[i]) {
			return nil, bad("a row")
		}
		if i > 0 && byRef(c.rows[i-1].Ref, row.Ref, c.rows[i-1].Path, row.Path) >= 0 {
			return nil, bad("rows out of order")
		}
	}
	if r.at != len(raw) {
		return nil, bad("bytes after the last row")
	}
	return c, nil
}

// rowReader reads rows off the bytes b. Strings are parts of s, which holds the
// same bytes, so that reading a catalogue costs one copy.
type rowReader struct {
	b   []byte
	s   string
	at  int
	end int // of the row
}

func (r *rowReader) row(row *Row, was *seenFile) bool {
	if len(r.b)-r.at < catRow {
		return false
	}
	f := r.b[r.at : r.at+catRow]
	size := int(binary.LittleEndian.Uint32(f))
	if size > maxCatRow || size > len(r.b)-r.at-4 {
		return false
	}
	r.end = r.at + 4 + size
	r.at += catRow
	if r.end < r.at || int(f[4]) >= len(objects.Kinds) || int(f[5]) >= len(catStates) || f[6]&^flagsAll != 0 {
		return false
	}
	var ok bool
	if row.Blob, ok = oidIn(f[7], f[48:80]); !ok {
		return false
	}
	row.State, row.Recorded = catStates[f[5]], f[6]&flagRecorded != 0
	row.Sum = objects.Digest(f[80:112])
	if !was.read(f) || !row.readSigner(f) {
		return false
	}
	for _, s := range row.texts() {
		*s = r.text()
	}
	return r.tags(row) && r.at == r.end && row.readRef(objects.Kinds[f[4]], binary.LittleEndian.Uint32(f[144:]))
}

func (w *seenFile) read(f []byte) bool {
	num := func(at int) int64 { return int64(binary.LittleEndian.Uint64(f[at:])) }
	w.known = f[6]&flagKnown != 0
	if f[6]&flagSeen == 0 {
		return allZero(f[8:40])
	}
	w.stamp = stamp{size: num(8), mtime: num(16), ctime: num(24), inode: uint64(num(32)), isFile: true}
	return true
}

func (r *Row) readSigner(f []byte) bool {
	if f[6]&flagSigned == 0 {
		return allZero(f[40:48]) && allZero(f[112:144])
	}
	r.Signer = objects.Fingerprint(f[112:144])
	r.SignedAt = time.Unix(int64(binary.LittleEndian.Uint64(f[40:])), 0).UTC()
	return !r.SignedAt.IsZero()
}

// readRef takes the ref out of the path: the id is what stands before end.
func (r *Row) readRef(k objects.Kind, end uint32) bool {
	from := len(k.Dir()) + 1
	if int64(end) <= int64(from) || int64(end) > int64(len(r.Path)) || r.Path[:from-1] != k.Dir() || r.Path[from-1] != '/' {
		return false
	}
	r.Ref = objects.Ref{Kind: k, ID: objects.ID(r.Path[from:end])}
	return true
}

// text returns the next string; what does not fit into the row ends it.
func (r *rowReader) text() string {
	n, ok := r.number()
	if !ok || n > r.end-r.at {
		r.at = r.end + 1
		return ""
	}
	s := r.s[r.at : r.at+n]
	r.at += n
	return s
}

func (r *rowReader) number() (int, bool) {
	if r.end-r.at < 4 {
		return 0, false
	}
	n := binary.LittleEndian.Uint32(r.b[r.at:])
	r.at += 4
	return int(n), n <= maxCatRow
}

func (r *rowReader) tags(row *Row) bool {
	n, ok := r.number()
	if !ok || n > maxCatTags || n > (r.end-r.at)/4 {
		return false
	}
	if n > 0 {
		row.Tags = make([]string, n)
	}
	for i := range row.Tags {
		row.Tags[i] = r.text()
	}
	return true
}

// oidIn reads an object id of n bytes out of 32, the rest being zero.
func oidIn(n byte, b []byte) (store.OID, bool) {
	if n == 0 {
		return store.OID{}, allZero(b)
	}
	if n != 20 && n != 32 || !allZero(b[n:]) {
		return store.OID{}, false
	}
	id, err := store.OIDFromBytes(b[:n])
	return id, err == nil && !id.IsZero()
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
