package space

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store"
)

// catalogue is the content of a catalogue file: rows in the order of byRef, each with the
// stamp of its file. docs/format/catalogue.md describes the bytes. Rows stay encoded until
// they are requested, because most never are.
type catalogue struct {
	key     objects.Digest // of everything a verdict depends on besides file and record
	tip     store.OID      // of the record
	bundles bool           // the record holds bundles: it is always read, even if it did not move
	when    int64          // start of the look at the files, nanoseconds since 1970
	space   objects.Space

	raw   []byte
	at    []uint32  // offset in raw of each row, and the end of the last one
	flags []byte    // of each row: a copy, changed when the record moved
	kinds [4][2]int // range of the rows of the kind objects.Kinds[i]
}

// seenFile is the state of the file and the record from which a row was made.
type seenFile struct {
	stamp stamp // zero for a missing file
	known bool  // the record has an entry at this path
}

const (
	catMagic   = "ryecat3\n"
	catHeader  = 96
	catRow     = 148       // bytes of a row before its strings
	maxCat     = 128 << 20 // bytes of a catalogue; about 400,000 items
	maxCatRow  = 64 << 10  // bytes of a row; an item with more metadata is always read again
	maxCatTags = 1 << 12
	maxCatMore = 64 // fields of a row that only an extractor defines
)

var catStates = []objects.State{objects.Signed, objects.Modified, objects.Unsigned, objects.Untrusted, objects.Older, objects.Absent, objects.Legacy, objects.Malformed, objects.Revoked, objects.Returned, objects.Denied, objects.Merged, objects.Conflict, objects.Patched}

const (
	flagRecorded = 1 << iota // the record holds these bytes
	flagKnown                // the record has an entry at this path
	flagSeen                 // the file existed
	flagSigned               // it has a native signature line
	flagsAll     = 1<<iota - 1
)

// newCatalogue returns a catalogue file without rows.
func newCatalogue(room int) []byte {
	return append(make([]byte, 0, catHeader+room), make([]byte, catHeader)...)
}

// finish fills in the header of a file that has its n rows.
func (c *catalogue) finish(b []byte, n int) []byte {
	binary.LittleEndian.PutUint64(b[16:], uint64(c.when))
	copy(b[24:], c.key[:])
	b[56] = byte(copy(b[57:89], c.tip.Bytes()))
	if c.bundles {
		b[89] = 1
	}
	table.Seal(b, catMagic, n)
	return b
}

// storable reports whether a row belongs into the catalogue of a space on disk: its file was
// read, or is missing, and its verdict is about that file alone.
func storable(r *Row) bool {
	return r.fits() && (!r.Blob.IsZero() || r.State == objects.Absent)
}

// fits reports whether a catalogue can hold a row: it has a ref, is not too long, and has no
// field without a place in the format.
func (r *Row) fits() bool {
	n := catRow + 64
	for _, s := range r.texts() {
		n += 4 + len(*s)
	}
	for _, t := range r.Tags {
		n += 4 + len(t)
	}
	for _, t := range r.More {
		n += 8 + len(t.Name) + len(t.Value)
	}
	return r.Ref.Kind != "" && r.Bundle == "" && strings.HasPrefix(r.Path, r.Ref.Kind.Dir()+"/") && r.Covers == "" && n <= maxCatRow && len(r.Tags) <= maxCatTags && len(r.More) <= maxCatMore
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
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.More)))
	for _, t := range r.More {
		b = appendText(appendText(b, t.Name), t.Value)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// parseCatalogue reads the output of finish, for rows of the space sp. It keeps raw. Other
// input is an error. A damaged catalogue is dropped as a whole, so every row is checked here,
// and reading one later cannot fail.
func parseCatalogue(raw []byte, sp objects.Space) (*catalogue, error) {
	bad := func(why string) error { return fault.New(fault.Malformed, "catalogue: %s", why) }
	n, in, err := table.Open(raw, catMagic, catHeader, maxCat)
	if err != nil {
		return nil, bad(err.Error())
	}
	if n > (len(raw)-catHeader)/catRow {
		return nil, bad("more rows than bytes")
	}
	in.Bytes(catHeader - table.Head)
	c := &catalogue{when: int64(binary.LittleEndian.Uint64(raw[16:])), key: objects.Digest(raw[24:56]), space: sp,
		raw: raw, at: make([]uint32, n+1), flags: make([]byte, n)}
	var ok bool
	if c.tip, ok = oidIn(raw[56], raw[57:89]); !ok || raw[89] > 1 || !allZero(raw[90:catHeader]) {
		return nil, bad("its header")
	}
	c.bundles = raw[89] == 1
	for i := range n {
		at := len(raw) - in.Len()
		if !checkRow(&in) {
			return nil, bad("a row")
		}
		c.at[i], c.flags[i] = uint32(at), raw[at+6]
		if i > 0 && c.order(i-1, i) >= 0 {
			return nil, bad("rows out of order")
		}
		k := &c.kinds[raw[at+4]]
		if k[1] == 0 {
			k[0] = i
		}
		k[1] = i + 1
	}
	if c.at[n] = uint32(len(raw)); !in.Done() {
		return nil, bad("bytes after the last row")
	}
	return c, nil
}

// checkRow reads one row and reports whether it is valid.
func checkRow(in *table.Cursor) bool {
	head := in.Rest()
	size := int(in.Uint32())
	in.Need(size <= maxCatRow && size >= catRow-4)
	if in.Bytes(size); in.Bad() {
		return false
	}
	f := head[:4+size]
	if int(f[4]) >= len(objects.Kinds) || int(f[5]) >= len(catStates) || f[6]&^flagsAll != 0 {
		return false
	}
	if _, ok := oidIn(f[7], f[48:80]); !ok {
		return false
	}
	var was seenFile
	var r Row
	if !was.read(f) || !r.readSigner(f) {
		return false
	}
	rest := table.NewCursor(f[catRow:])
	skipTexts(rest, len(r.texts()))
	skipTexts(rest, countIn(rest, maxCatTags))
	skipTexts(rest, 2*countIn(rest, maxCatMore))
	return rest.Done() && checkRef(f)
}

// countIn reads a number and requires it to be at most most.
func countIn(in *table.Cursor, most int) int {
	n := int(in.Uint32())
	in.Need(n <= most)
	return n
}

// skipTexts skips n strings.
func skipTexts(in *table.Cursor, n int) {
	for i := 0; i < n && !in.Bad(); i++ {
		in.Bytes(int(in.Uint32()))
	}
}

// checkRef checks that the path begins with the directory of the kind, and that the id ends
// inside the path.
func checkRef(f []byte) bool {
	path, end, dir := rowPath(f), rowID(f), objects.Kinds[f[4]].Dir()
	return end > len(dir)+1 && end <= len(path) && string(path[:len(dir)]) == dir && path[len(dir)] == '/'
}

// rowPath returns the path in a checked row, and rowID the position in it where the id ends.
func rowPath(f []byte) []byte { return f[catRow+4:][:binary.LittleEndian.Uint32(f[catRow:])] }
func rowID(f []byte) int      { return int(binary.LittleEndian.Uint32(f[144:])) }

// bytes returns row i in its encoded form.
func (c *catalogue) bytes(i int) []byte { return c.raw[c.at[i]:c.at[i+1]] }

func (c *catalogue) len() int { return len(c.flags) }

// path returns the path of row i, which must not be changed.
func (c *catalogue) path(i int) []byte { return rowPath(c.bytes(i)) }

// state returns the state of row i.
func (c *catalogue) state(i int) objects.State { return catStates[c.bytes(i)[5]] }

// has reports whether all bits of flag are set for row i.
func (c *catalogue) has(i int, flag byte) bool { return c.flags[i]&flag == flag }

// set sets or clears bits of row i.
func (c *catalogue) set(i int, flag byte, on bool) {
	if c.flags[i] &^= flag; on {
		c.flags[i] |= flag
	}
}

// seen returns the state from which row i was made.
func (c *catalogue) seen(i int) seenFile {
	var w seenFile
	w.read(c.bytes(i))
	w.known = c.has(i, flagKnown)
	return w
}

// order compares two rows by kind, id and path, as byRef does.
func (c *catalogue) order(i, j int) int {
	a, b := c.raw[c.at[i]:], c.raw[c.at[j]:]
	if a[4] != b[4] {
		return cmp.Compare(objects.Kinds[a[4]], objects.Kinds[b[4]])
	}
	return orderPaths(rowPath(a), rowID(a), rowPath(b), rowID(b))
}

// orderPaths compares two paths of one kind by their ids, and then whole.
func orderPaths(a []byte, endA int, b []byte, endB int) int {
	if d := bytes.Compare(a[:endA], b[:endB]); d != 0 {
		return d
	}
	return bytes.Compare(a, b)
}

// ref returns the ref of row i.
func (c *catalogue) ref(i int) objects.Ref {
	f := c.bytes(i)
	k := objects.Kinds[f[4]]
	return objects.Ref{Kind: k, ID: objects.ID(rowPath(f)[len(k.Dir())+1 : rowID(f)])}
}

// twins reports whether rows i and j have the same ref.
func (c *catalogue) twins(i, j int) bool {
	a, b := c.raw[c.at[i]:], c.raw[c.at[j]:]
	return a[4] == b[4] && rowID(a) == rowID(b) && bytes.Equal(rowPath(a)[:rowID(a)], rowPath(b)[:rowID(b)])
}

// row returns row i. It shares no memory with the file.
func (c *catalogue) row(i int) Row {
	f := c.bytes(i)
	r := Row{Space: c.space, State: catStates[f[5]], Recorded: c.has(i, flagRecorded), Sum: objects.Digest(f[80:112])}
	r.Blob, _ = oidIn(f[7], f[48:80])
	r.readSigner(f)
	s := string(f[catRow:]) // one copy for all strings
	text := func() (t string) {
		n := binary.LittleEndian.Uint32(f[len(f)-len(s):])
		t, s = s[4:4+n], s[4+n:]
		return t
	}
	for _, t := range r.texts() {
		*t = text()
	}
	count := func() uint32 {
		n := binary.LittleEndian.Uint32(f[len(f)-len(s):])
		s = s[4:]
		return n
	}
	if n := count(); n > 0 {
		r.Tags = make([]string, n)
	}
	for i := range r.Tags {
		r.Tags[i] = text()
	}
	if n := count(); n > 0 {
		r.More = make([]extract.Text, n)
	}
	for i := range r.More {
		r.More[i].Name = text()
		r.More[i].Value = text()
	}
	k := objects.Kinds[f[4]]
	r.Ref = objects.Ref{Kind: k, ID: objects.ID(r.Path[len(k.Dir())+1 : rowID(f)])}
	return r
}

// append adds row i to the bytes of a new file.
func (c *catalogue) append(b []byte, i int) []byte {
	at := len(b)
	b = append(b, c.bytes(i)...)
	b[at+6] = c.flags[i]
	return b
}

// below returns the range of rows with ids below a folder, which is a slash path below .ai.
func (c *catalogue) below(dir string) (from, to int) {
	for k, kind := range objects.Kinds {
		rest, ok := strings.CutPrefix(dir, kind.Dir())
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		from, to = c.kinds[k][0], c.kinds[k][1]
		after := func(i int, last byte) bool { // the id sorts at or after dir + last
			f := c.raw[c.at[i]:]
			p := rowPath(f)[:rowID(f)]
			n := min(len(p), len(dir))
			if string(p[:n]) != dir[:n] {
				return string(p[:n]) > dir[:n]
			}
			return len(p) > n && p[n] >= last
		}
		first := from + sort.Search(to-from, func(i int) bool { return after(from+i, '/') })
		return first, first + sort.Search(to-first, func(i int) bool { return after(first+i, '/'+1) })
	}
	return 0, 0
}

// find returns the row of a path within a range from below, or -1.
func (c *catalogue) find(path []byte, from, to int) int {
	end := bytes.LastIndexByte(path, '.')
	if end < 0 || end < bytes.LastIndexByte(path, '/') {
		return -1
	}
	for from < to {
		mid := int(uint(from+to) / 2)
		f := c.raw[c.at[mid]:]
		d := orderPaths(rowPath(f), rowID(f), path, end)
		switch {
		case d == 0:
			return mid
		case d < 0:
			from = mid + 1
		default:
			to = mid
		}
	}
	return -1
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

// oidIn reads an object id of n bytes from a field of 32; the remaining bytes must be zero.
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

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
