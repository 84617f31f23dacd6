package store

import (
	"bytes"
	"compress/zlib"
	"context"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/rye-os/rye/internal/fault"
)

// Limits bounds a pack from outside. Zero fields mean those of DefaultLimits.
type Limits struct {
	Objects int   // in the pack, and thin bases added to it
	Bytes   int64 // of the pack stream
	Object  int64 // bytes of one object, inflated
	Total   int64 // bytes of all objects and deltas, inflated
	Depth   int   // deltas below each other
}

// DefaultLimits fits a clone of a large registry. 4095 is the longest chain of
// deltas that git makes (pack.depth).
var DefaultLimits = Limits{Objects: 200_000, Bytes: 512 << 20, Object: 64 << 20, Total: 1 << 30, Depth: 4095}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	if l.Objects > 0 {
		d.Objects = l.Objects
	}
	if l.Bytes > 0 {
		d.Bytes = l.Bytes
	}
	if l.Object > 0 {
		d.Object = l.Object
	}
	if l.Total > 0 {
		d.Total = l.Total
	}
	if l.Depth > 0 {
		d.Depth = l.Depth
	}
	return d
}

// Import reads a pack stream into a quarantine. Nothing in it is believed before
// it is checked: counts and sizes against lim, every object inflated to exactly
// its size and hashed, every tree, commit and tag parsed, delta bases found in the
// pack or in r (thin packs are completed). It reads to the end of the pack and not
// on, so pack may be a connection that stays open. Errors are fault.Malformed,
// fault.Limit or fault.Integrity, or those of reading pack; on error nothing is
// left behind.
func (r *Repo) Import(ctx context.Context, pack io.Reader, lim Limits) (*Quarantine, error) {
	im := &importer{ctx: ctx, r: r, lim: lim.orDefault(), ids: map[OID]bool{}}
	in := &packStream{src: pack, left: im.lim.Bytes, sum: r.format.new()}
	n, err := in.head()
	if err == nil && int64(n) > int64(im.lim.Objects) {
		err = fault.New(fault.Limit, "%d objects, at most %d are accepted", n, im.lim.Objects)
	}
	if err != nil {
		return nil, rewrap(err, "import pack")
	}
	nest, err := r.ownNest(ctx)
	if err != nil {
		return nil, err
	}
	q, err := im.run(in, nest, int(n))
	if err != nil {
		return nil, rewrap(err, "import pack")
	}
	return q, nil
}

// importer holds one import.
type importer struct {
	ctx     context.Context
	r       *Repo
	lim     Limits
	entries []imported
	ids     map[OID]bool
	total   int64 // bytes inflated so far
	out     *packFile
	links   linkSet
}

// imported is one entry of the pack.
type imported struct {
	entryHead
	off  int64
	crc  uint32
	id   OID // zero while a delta is unresolved
	kind Type
}

func (im *importer) run(in *packStream, nest string, n int) (_ *Quarantine, err error) {
	dir := filepath.Join(nest, "q-"+randomName())
	if err := os.Mkdir(dir, permDir); err != nil {
		return nil, fault.New(fault.Failed, "make a quarantine: %w", err)
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if im.out, err = newPackFile(dir, im.r.format); err != nil {
		return nil, err
	}
	defer im.out.file.Close()
	in.out = im.out.w
	if err := im.readAll(in, n); err != nil {
		return nil, err
	}
	if err := im.out.w.Flush(); err != nil {
		return nil, fault.New(fault.Failed, "write a quarantine: %w", err)
	}
	im.out.off = in.at
	if err := im.resolve(); err != nil {
		return nil, err
	}
	return im.seal(dir)
}

// readAll reads the entries of the stream and its trailer. Whole objects are
// hashed on the way.
func (im *importer) readAll(in *packStream, n int) error {
	z := &streamInflater{in: in}
	for range n {
		if err := im.ctx.Err(); err != nil {
			return context.Cause(im.ctx)
		}
		if err := im.readEntry(in, z); err != nil {
			return in.because(err)
		}
	}
	return in.trailer(im.r.format.size())
}

func (im *importer) readEntry(in *packStream, z *streamInflater) error {
	e := imported{off: in.begin()}
	var err error
	if e.entryHead, _, err = readEntryHead(in, e.off, im.r.format); err != nil {
		return err
	}
	if e.t == packOfsDelta && im.at(e.base) < 0 {
		return fault.New(fault.Malformed, "entry at %d: its base at %d is no entry", e.off, e.base)
	}
	if err := im.count(e.size); err != nil {
		return fault.New(fault.CodeOf(err), "entry at %d: %w", e.off, err)
	}
	if err := im.readData(&e, z); err != nil {
		return fault.New(fault.CodeOf(err), "entry at %d: %w", e.off, err)
	}
	if e.crc, err = in.end(); err != nil {
		return err
	}
	im.entries = append(im.entries, e)
	return nil
}

// count adds n bytes to what is inflated, before they are.
func (im *importer) count(n int64) error {
	if n > im.lim.Object {
		return fault.New(fault.Limit, "object of %d bytes, at most %d are accepted", n, im.lim.Object)
	}
	if im.total += n; im.total > im.lim.Total {
		return fault.New(fault.Limit, "more than %d bytes in all", im.lim.Total)
	}
	return nil
}

// readData inflates one entry: blobs through the hash only, other objects into
// memory to be parsed, deltas to nowhere, for they are read again.
func (im *importer) readData(e *imported, z *streamInflater) error {
	switch e.t {
	case packOfsDelta, packRefDelta:
		return z.copy(io.Discard, e.size)
	case TypeBlob:
		h := im.r.format.new()
		h.Write(appendHeader(nil, TypeBlob, e.size))
		if err := z.copy(h, e.size); err != nil {
			return err
		}
		e.kind, e.id = TypeBlob, oidOf(h.Sum(nil))
		return im.once(e.id)
	}
	data, err := z.bytes(e.size)
	if err != nil {
		return err
	}
	return im.identify(e, e.t, data)
}

// identify checks an object's own form and names it.
func (im *importer) identify(e *imported, t Type, data []byte) error {
	e.kind, e.id = t, im.r.format.Hash(t, data)
	links, err := linksOf(im.r.format, t, data)
	if err != nil {
		return fault.New(fault.CodeOf(err), "object %s: %w", e.id, err)
	}
	im.links.add(im.ids, links)
	return im.once(e.id)
}

func (im *importer) once(id OID) error {
	if im.ids[id] {
		return fault.New(fault.Malformed, "object %s twice", id)
	}
	im.ids[id] = true
	return nil
}

// linksOf parses what is not a blob, so that nothing enters a repository that git
// fsck would call broken, and returns the ids that it names.
func linksOf(f Format, t Type, data []byte) ([]OID, error) {
	switch t {
	case TypeTree:
		entries, err := ParseTree(f, data)
		if err != nil {
			return nil, err
		}
		ids := make([]OID, 0, len(entries))
		for _, e := range entries {
			if e.Mode != ModeGitlink {
				ids = append(ids, e.ID)
			}
		}
		return ids, nil
	case TypeCommit:
		if len(data) > MaxCommitSize {
			return nil, tooLarge(int64(len(data)), MaxCommitSize)
		}
		tree, parents, _, err := commitLinks(data)
		return append(parents, tree), err
	case TypeTag:
		tag, err := ParseTag(data)
		if err != nil {
			return nil, err
		}
		return []OID{tag.Target}, nil
	}
	return nil, nil
}

// linkSet collects the ids that a pack's objects name and that did not come yet:
// when all of them come, or are in the repository, nothing need be read again to
// know that the pack has no holes.
type linkSet struct {
	open map[OID]struct{}
	many bool // too many to remember; the walk of Connected will tell
}

// maxLinks bounds what a pack from outside makes us remember: about 100 MB.
const maxLinks = 1 << 20

func (l *linkSet) add(came map[OID]bool, ids []OID) {
	for _, id := range ids {
		if l.many || came[id] {
			continue
		}
		if l.open == nil {
			l.open = map[OID]struct{}{}
		}
		if l.open[id] = struct{}{}; len(l.open) > maxLinks {
			l.open, l.many = nil, true
		}
	}
}

// rest returns the ids that did not come.
func (l *linkSet) rest(came map[OID]bool) (ids []OID, known bool) {
	for id := range l.open {
		if !came[id] {
			ids = append(ids, id)
		}
	}
	return ids, !l.many
}

// at returns the index of the entry that begins at off; -1 for none. Entries are
// in the order of the stream, so in that of their offsets.
func (im *importer) at(off int64) int {
	i := sort.Search(len(im.entries), func(i int) bool { return im.entries[i].off >= off })
	if i < len(im.entries) && im.entries[i].off == off {
		return i
	}
	return -1
}

// seal writes the index, and a new head and trailer where bases were added.
func (im *importer) seal(dir string) (*Quarantine, error) {
	for _, e := range im.entries {
		im.out.list = append(im.out.list, packed{e.id, e.crc, e.off})
	}
	sum, err := im.out.finish()
	if err != nil {
		return nil, err
	}
	q := newQuarantine(im.r, dir, im.out, sum)
	q.outside, q.linked = im.links.rest(q.in)
	return q, nil
}

// packStream reads a pack from outside, copies it to a file, and checksums it. It
// never reads past what it needs from src without having asked for it.
type packStream struct {
	src  io.Reader
	buf  [32 << 10]byte
	r, w int   // buf[r:w] was read from src and not yet used
	mark int   // buf[mark:r] was used and not yet copied
	at   int64 // bytes of the pack before buf[mark]
	left int64 // bytes that may still be read from src
	sum  hash.Hash
	crc  uint32
	out  io.Writer // nil while only the head is read
	err  error     // of src, of out, or the limit
}

func (s *packStream) fill() error {
	if s.err != nil {
		return s.err
	}
	if s.err = s.flush(); s.err != nil {
		return s.err
	}
	s.r, s.w, s.mark = 0, 0, 0
	if s.left <= 0 {
		s.err = fault.New(fault.Limit, "pack larger than accepted")
		return s.err
	}
	for range 100 {
		n, err := s.src.Read(s.buf[:min(int64(len(s.buf)), s.left)])
		if n > 0 {
			s.w, s.left = n, s.left-int64(n)
			return nil
		}
		if err != nil {
			s.err = err
			return err
		}
	}
	s.err = io.ErrNoProgress
	return s.err
}

// flush hands on what was used.
func (s *packStream) flush() error {
	b := s.buf[s.mark:s.r]
	s.at += int64(len(b))
	s.mark = s.r
	s.sum.Write(b)
	s.crc = crc32.Update(s.crc, crc32.IEEETable, b)
	if s.out == nil {
		return nil
	}
	if _, err := s.out.Write(b); err != nil {
		return fault.New(fault.Failed, "write a quarantine: %w", err)
	}
	return nil
}

func (s *packStream) ReadByte() (byte, error) {
	if s.r == s.w {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	c := s.buf[s.r]
	s.r++
	return c, nil
}

func (s *packStream) Read(b []byte) (int, error) {
	if s.r == s.w {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.buf[s.r:s.w])
	s.r += n
	return n, nil
}

// head reads the first 12 bytes and returns the number of objects they claim. The
// file gets a head of its own, so these bytes are not copied.
func (s *packStream) head() (uint32, error) {
	var b [packHead]byte
	if _, err := io.ReadFull(s, b[:]); err != nil {
		return 0, s.because(fault.New(fault.Malformed, "cut off in its head"))
	}
	n, err := parsePackHead(b[:])
	if err != nil {
		return 0, err
	}
	return n, s.flush()
}

// begin starts an entry and returns where it is in the pack.
func (s *packStream) begin() int64 {
	if err := s.flush(); err != nil && s.err == nil {
		s.err = err
	}
	s.crc = 0
	return s.at
}

// end ends an entry and returns its CRC.
func (s *packStream) end() (uint32, error) {
	err := s.flush()
	return s.crc, err
}

// because returns the error of the source or the file where there is one, for
// that is why err happened; a source that merely ended leaves err.
func (s *packStream) because(err error) error {
	switch {
	case s.err == nil:
		return err
	case s.err == io.EOF, s.err == io.ErrUnexpectedEOF:
		return fault.New(fault.Malformed, "cut off: %w", err)
	}
	return s.err
}

// trailer compares the checksum at the end of the stream.
func (s *packStream) trailer(size int) error {
	if err := s.flush(); err != nil {
		return err
	}
	want := s.sum.Sum(nil)
	at, out := s.at, s.out
	s.out = nil
	got := make([]byte, size)
	if _, err := io.ReadFull(s, got); err != nil {
		return s.because(fault.New(fault.Malformed, "cut off in its checksum"))
	}
	if string(got) != string(want) {
		return fault.New(fault.Integrity, "its checksum does not match")
	}
	if s.r < s.w {
		return fault.New(fault.Malformed, "bytes after its end")
	}
	s.at, s.out = at, out
	return nil
}

// streamInflater inflates entries of a packStream, never reading past one.
type streamInflater struct {
	in *packStream
	z  io.ReadCloser
}

func (s *streamInflater) start() error {
	var err error
	if s.z == nil {
		s.z, err = zlib.NewReader(s.in)
	} else {
		err = s.z.(zlib.Resetter).Reset(s.in, nil)
	}
	if err != nil {
		return fault.New(fault.Integrity, "inflate: %w", err)
	}
	return nil
}

// copy inflates exactly size bytes into w.
func (s *streamInflater) copy(w io.Writer, size int64) error {
	if err := s.start(); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(s.z, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fault.New(fault.Integrity, "inflate: %d bytes where %d are declared: %w", n, size, err)
	}
	return (&inflater{z: s.z}).end(size)
}

// bytes inflates exactly size bytes, which were bounded, into memory that grows
// with what really comes.
func (s *streamInflater) bytes(size int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(size, 64<<10)))
	err := s.copy(&b, size)
	return b.Bytes(), err
}
