package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"sync"

	"github.com/rye-os/rye/fault"
)

// The kinds of pack entries that are not whole objects.
const (
	packOfsDelta Type = 6
	packRefDelta Type = 7
)

const (
	packHead = 12
	// maxChain bounds the deltas below an object in our own packs. git's own
	// largest is 4095 (pack.depth).
	maxChain = 4096
)

// pack is a pack and its index, opened on first use. It is safe for concurrent use.
type pack struct {
	files  *files
	path   string // without ".pack"
	format Format
	most   int64 // bytes that the deltas of one object may make; 0 is no bound

	mu   sync.Mutex
	idx  *idxFile
	file *os.File
	size int64 // bytes of the pack before its trailer
	err  error // the error of opening, kept for good; nil before the first try

	starts []int64 // offsets of the entries, sorted, and the end; nil until needed
	bases  baseCache
	reads  lastReads
}

// open opens the index, and with whole also the pack. For a missing file, isMissing reports
// true for the error: a concurrent repack removed it.
func (p *pack) open(whole bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.idx == nil {
		x, err := p.files.openIdx(p.path+".idx", p.format)
		if err != nil {
			return p.failed(err)
		}
		p.idx = x
	}
	if p.file == nil && whole {
		f, err := p.files.open(p.path + ".pack")
		if err != nil {
			return p.failed(err)
		}
		if p.size, err = checkPackFile(f, p.idx); err != nil {
			f.Close()
			return p.failed(err)
		}
		p.file = f
	}
	return nil
}

func (p *pack) failed(err error) error {
	if !isMissing(err) {
		p.err = fault.New(fault.Integrity, "read pack %s: %w", p.files.path(p.path), err)
		return p.err
	}
	return err
}

// checkPackFile compares the head and the trailer of a pack with its index. It returns the
// size before the trailer.
func checkPackFile(f *os.File, x *idxFile) (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := fi.Size() - int64(x.format.size())
	var head [packHead]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || size < packHead {
		return 0, fault.New(fault.Integrity, "cut off")
	}
	n, err := parsePackHead(head[:])
	if err != nil {
		return 0, err
	}
	if int64(n) != x.n {
		return 0, fault.New(fault.Integrity, "holds %d objects, its index %d", n, x.n)
	}
	want, err := x.packSum()
	if err != nil {
		return 0, err
	}
	got := make([]byte, len(want))
	if _, err := f.ReadAt(got, size); err != nil {
		return 0, err
	}
	if !bytes.Equal(got, want) {
		return 0, fault.New(fault.Integrity, "its index belongs to another pack")
	}
	return size, nil
}

// parsePackHead returns the number of objects that a pack claims to hold.
func parsePackHead(head []byte) (uint32, error) {
	if string(head[:4]) != "PACK" {
		return 0, fault.New(fault.Malformed, "pack: does not begin with PACK")
	}
	if v := binary.BigEndian.Uint32(head[4:]); v != 2 && v != 3 {
		return 0, fault.New(fault.Malformed, "pack: version %d, want 2 or 3", v)
	}
	return binary.BigEndian.Uint32(head[8:]), nil
}

func (p *pack) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if p.idx != nil {
		err = p.idx.close()
		p.idx = nil
	}
	if p.file != nil {
		if e := p.file.Close(); err == nil {
			err = e
		}
		p.file = nil
	}
	return err
}

// memory returns the index if all of it is in memory; otherwise nil.
func (p *pack) memory() *idxFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idx == nil || p.err != nil || p.idx.mem.Load() == nil {
		return nil
	}
	return p.idx
}

// find returns the position of id in the pack's index.
func (p *pack) find(id OID) (int64, bool, error) {
	if err := p.open(false); err != nil {
		return 0, false, err
	}
	return p.idx.find(id)
}

// entryHead is the head of an entry in a pack.
type entryHead struct {
	t    Type  // a type of object, or packOfsDelta, packRefDelta
	size int64 // bytes that the entry's zlib stream inflates to
	data int64 // offset of that stream
	base int64 // packOfsDelta: offset of its base
	ref  OID   // packRefDelta: its base
}

// byteReader is the source of an entry head.
type byteReader interface {
	io.Reader
	io.ByteReader
}

// readEntryHead reads the head of the entry at off.
func readEntryHead(r byteReader, off int64, f Format) (h entryHead, err error) {
	cut := func() error { return fault.New(fault.Integrity, "pack entry at %d: cut off", off) }
	c, err := r.ReadByte()
	if err != nil {
		return h, cut()
	}
	n := int64(1) // bytes of the head
	h.t, h.size = Type(c>>4&7), int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = r.ReadByte(); err != nil {
			return h, cut()
		}
		n++
		if shift > 53 {
			return h, fault.New(fault.Integrity, "pack entry at %d: size of more than 60 bits", off)
		}
		h.size |= int64(c&0x7f) << shift
	}
	switch h.t {
	case TypeCommit, TypeTree, TypeBlob, TypeTag:
	case packOfsDelta:
		back, m, err := readBack(r)
		if err != nil || back <= 0 || back > off-packHead {
			return h, fault.New(fault.Integrity, "pack entry at %d: its base lies before the pack", off)
		}
		h.base = off - back
		n += m
	case packRefDelta:
		var b [32]byte
		if _, err := io.ReadFull(r, b[:f.size()]); err != nil {
			return h, cut()
		}
		h.ref = oidOf(b[:f.size()])
		n += int64(f.size())
	default:
		return h, fault.New(fault.Integrity, "pack entry at %d: unknown type %d", off, h.t)
	}
	h.data = off + n
	return h, nil
}

// readBack reads the distance to the base of an offset delta.
func readBack(r byteReader) (back, n int64, err error) {
	for n < 9 {
		c, err := r.ReadByte()
		if err != nil {
			return 0, n, err
		}
		n++
		back |= int64(c & 0x7f)
		if c&0x80 == 0 {
			return back, n, nil
		}
		back = (back + 1) << 7
	}
	return 0, n, fault.New(fault.Integrity, "distance of more than 63 bits")
}

// section returns an inflater at off. Return it with free.
func (p *pack) section(off int64) *inflater {
	return newInflater(io.NewSectionReader(p.file, off, p.size-off))
}

// entryRoom is longer than any head of an entry.
const entryRoom = 64

// head reads the head of the entry at off and checks that off is in the pack.
func (p *pack) head(off int64) (entryHead, error) {
	if off < packHead || off >= p.size {
		return entryHead{}, fault.New(fault.Integrity, "pack entry at %d: outside the pack", off)
	}
	var buf [entryRoom]byte
	n := int(min(entryRoom, p.size-off))
	b, err := p.at(buf[:n], off, n)
	if err != nil {
		return entryHead{}, err
	}
	h, err := readEntryHead(bytes.NewReader(b), off, p.format)
	if err == nil && h.t == packRefDelta {
		h.base, err = p.baseOf(h.ref)
	}
	return h, err
}

// entry reads the head of the entry at off. If the entry is a whole object of at most limit
// bytes, it also returns the object, mostly with a single read.
func (p *pack) entry(off, limit int64) (h entryHead, data []byte, err error) {
	if off < packHead || off >= p.size {
		return h, nil, fault.New(fault.Integrity, "pack entry at %d: outside the pack", off)
	}
	block := blocks.Get().(*[readBlock]byte)
	defer blocks.Put(block)
	b := block[:min(readBlock, p.size-off)]
	if b, err = p.at(b, off, min(entryRoom, len(b))); err != nil {
		return h, nil, err
	}
	if h, err = readEntryHead(bytes.NewReader(b), off, p.format); err != nil {
		return h, nil, err
	}
	switch {
	case h.t == packRefDelta:
		h.base, err = p.baseOf(h.ref)
		return h, nil, err
	case h.t > TypeTag:
		return h, nil, nil
	case h.size > limit:
		return h, nil, tooLarge(h.size, limit)
	}
	if b = b[h.data-off:]; h.size <= 4*int64(len(b)) { // otherwise the block hardly holds all of it
		data = inflateWhole(b, h.size)
	}
	if data == nil {
		data, err = p.inflate(h, limit)
	}
	return h, data, err
}

// baseOf finds the base of a reference delta. On disk it must be in the same pack.
func (p *pack) baseOf(id OID) (int64, error) {
	i, ok, err := p.idx.find(id)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fault.New(fault.Integrity, "delta on %s, which is not in its pack", id)
	}
	return p.idx.offset(i)
}

// inflate reads the zlib stream of an entry of at most limit bytes.
func (p *pack) inflate(h entryHead, limit int64) ([]byte, error) {
	if h.size > limit {
		return nil, tooLarge(h.size, limit)
	}
	if bound := deflatedBound(h.size); bound <= maxWhole {
		n := int(min(bound, p.size-h.data))
		b := p.reads.from(h.data, n)
		data := inflateWhole(b, h.size)
		if data == nil && len(b) < n {
			b = make([]byte, n)
			if _, err := p.file.ReadAt(b, h.data); err != nil {
				return nil, err
			}
			data = inflateWhole(b, h.size)
		}
		if data != nil {
			return data, nil
		}
	}
	in := p.section(h.data)
	defer in.free()
	if err := in.start(); err != nil {
		return nil, err
	}
	return in.exactly(h.size)
}

// stat returns type and size of the object at position i.
func (p *pack) stat(i int64) (Type, int64, error) {
	if err := p.open(true); err != nil {
		return 0, 0, err
	}
	off, err := p.idx.offset(i)
	if err != nil {
		return 0, 0, err
	}
	h, err := p.head(off)
	if err != nil {
		return 0, 0, err
	}
	size := h.size
	if h.t > TypeTag {
		if size, err = p.resultSize(h); err != nil {
			return 0, 0, err
		}
	}
	for depth := 0; h.t > TypeTag; depth++ {
		if depth == maxChain {
			return 0, 0, fault.New(fault.Limit, "a chain of more than %d deltas", maxChain)
		}
		if h, err = p.head(h.base); err != nil {
			return 0, 0, err
		}
	}
	return h.t, size, nil
}

// resultSize inflates just enough of a delta to read the size of its result.
func (p *pack) resultSize(h entryHead) (int64, error) {
	in := p.section(h.data)
	defer in.free()
	if err := in.start(); err != nil {
		return 0, err
	}
	b := make([]byte, min(h.size, 20))
	if err := in.fill(b); err != nil {
		return 0, err
	}
	_, size, _, err := deltaSizes(b)
	return size, err
}

// load returns the object at position i, not yet hashed.
func (p *pack) load(i int64, limit int64) (Type, []byte, error) {
	if err := p.open(true); err != nil {
		return 0, nil, err
	}
	off, err := p.idx.offset(i)
	if err != nil {
		return 0, nil, err
	}
	h, data, err := p.entry(off, limit)
	if err != nil || h.t <= TypeTag {
		return h.t, data, err
	}
	delta, size, err := p.delta(h)
	if err != nil {
		return 0, nil, err
	}
	if size > limit {
		return 0, nil, tooLarge(size, limit)
	}
	return p.loadDelta(h, delta, max(limit, DefaultLimit))
}

// delta returns the size of a delta's result and, if the delta is small, the delta itself.
func (p *pack) delta(h entryHead) (delta []byte, size int64, err error) {
	if h.size > readBlock {
		size, err = p.resultSize(h)
		return nil, size, err
	}
	if delta, err = p.inflate(h, readBlock); err == nil {
		_, size, _, err = deltaSizes(delta)
	}
	return delta, size, err
}

// loadDelta follows the chain of bases to a whole object or a cached base, then applies the
// deltas in reverse order. limit bounds every step. last is the delta at h; nil means that
// loadDelta reads it.
func (p *pack) loadDelta(h entryHead, last []byte, limit int64) (Type, []byte, error) {
	chain := []entryHead{h}
	var t Type
	var data []byte
	at := h.base
	for {
		var ok bool
		if t, data, ok = p.bases.get(at); ok {
			break
		}
		b, err := p.head(at)
		if err != nil {
			return 0, nil, err
		}
		if b.t <= TypeTag {
			if data, err = p.inflate(b, limit); err != nil {
				return 0, nil, err
			}
			t = b.t
			p.bases.put(at, t, data)
			break
		}
		if len(chain) == maxChain {
			return 0, nil, fault.New(fault.Limit, "a chain of more than %d deltas", maxChain)
		}
		chain = append(chain, b)
		at = b.base
	}
	made := int64(len(data))
	for i := len(chain) - 1; i >= 0; i-- {
		delta, err := last, error(nil)
		if i > 0 || delta == nil {
			delta, err = p.inflate(chain[i], limit)
		}
		if err != nil {
			return 0, nil, err
		}
		if data, err = applyDelta(data, delta, limit); err != nil {
			return 0, nil, err
		}
		if made += int64(len(delta) + len(data)); p.most > 0 && made > p.most {
			return 0, nil, fault.New(fault.Limit, "its deltas expand to more than %d bytes", p.most)
		}
		if i > 0 {
			p.bases.put(chain[i-1].base, t, data)
		}
	}
	return t, data, nil
}

// baseCache holds recently used bases of deltas, so that reading many objects of a chain does
// not start at its end each time. Its data must not be changed.
type baseCache struct {
	mu   sync.Mutex
	m    map[int64]cachedBase
	size int
	most int // bytes; 0 is maxBaseCache
}

type cachedBase struct {
	t    Type
	data []byte
}

const (
	maxBaseCache  = 4 << 20  // bytes per pack
	readBackCache = 64 << 20 // bytes, for reading all of one pack
)

func (c *baseCache) get(off int64) (Type, []byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.m[off]
	return b.t, b.data, ok
}

func (c *baseCache) put(off int64, t Type, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := cmp.Or(c.most, maxBaseCache)
	if len(data) > most/8 {
		return
	}
	if _, ok := c.m[off]; ok {
		return
	}
	if c.m == nil || c.size+len(data) > most {
		c.m, c.size = map[int64]cachedBase{}, 0
	}
	c.m[off] = cachedBase{t, data}
	c.size += len(data)
}
