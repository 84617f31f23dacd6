package store

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"sort"
	"sync/atomic"

	"github.com/rye-os/rye/fault"
)

// idxFile reads the index of a pack (version 2): a fan-out table by first byte, then sorted
// ids, CRC-32s, offsets, large offsets, and two checksums. Looking up one id costs two small
// reads, no matter how many objects there are. After many look-ups the whole file is read into
// memory.
type idxFile struct {
	r      io.ReaderAt
	close  func() error
	format Format
	size   int64 // bytes of the file
	fan    [256]uint32
	n      int64 // objects
	large  int64 // entries of the table of 64-bit offsets

	asked atomic.Int64           // ids looked up by small reads
	mem   atomic.Pointer[[]byte] // the whole file, once that pays
}

const (
	idxHead     = 8 + 256*4
	idxInMemory = 64 << 10 // smaller files are read whole: one read instead of several
	idxMany     = 64       // ids looked up before the whole file is read
	idxMax      = 64 << 20 // larger files are never held in memory
)

var idxMagic = []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}

// openIdx opens an index and checks that its parts fit its size.
func (in *files) openIdx(name string, f Format) (*idxFile, error) {
	file, err := in.open(name)
	if err != nil {
		return nil, err
	}
	fi, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	if fi.Size() > idxInMemory {
		x, err := readIdx(file, fi.Size(), f)
		if err != nil {
			file.Close()
			return nil, err
		}
		x.close = file.Close
		return x, nil
	}
	b := make([]byte, fi.Size())
	_, err = io.ReadFull(file, b)
	file.Close()
	if err != nil {
		return nil, err
	}
	x, err := readIdx(bytes.NewReader(b), int64(len(b)), f)
	if err != nil {
		return nil, err
	}
	x.close = func() error { return nil }
	x.mem.Store(&b)
	return x, nil
}

// whole returns the file's bytes if they are in memory, otherwise nil. It first reads them
// into memory when many ids were looked up, or when many says that they will be.
func (x *idxFile) whole(many bool) []byte {
	if b := x.mem.Load(); b != nil {
		return *b
	}
	if x.size > idxMax || !many && x.asked.Add(1) < idxMany {
		return nil
	}
	b := make([]byte, x.size)
	if _, err := x.r.ReadAt(b, 0); err != nil {
		return nil // the small reads will report the error
	}
	x.mem.Store(&b)
	return b
}

// at reads n bytes at off, from memory if possible, otherwise into buf.
func (x *idxFile) at(buf []byte, off int64, n int64) ([]byte, error) {
	if b := x.mem.Load(); b != nil {
		return (*b)[off : off+n], nil
	}
	if int64(len(buf)) < n {
		buf = make([]byte, n)
	}
	if _, err := x.r.ReadAt(buf[:n], off); err != nil {
		return nil, fault.New(fault.Integrity, "pack index: %w", err)
	}
	return buf[:n], nil
}

// readIdx reads the head of an index of size bytes.
func readIdx(r io.ReaderAt, size int64, f Format) (*idxFile, error) {
	var head [idxHead]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, fault.New(fault.Integrity, "pack index: cut off in its head")
	}
	if !bytes.Equal(head[:8], idxMagic) {
		return nil, fault.New(fault.Integrity, "pack index: not of version 2")
	}
	x := &idxFile{r: r, format: f, size: size}
	var last uint32
	for i := range x.fan {
		x.fan[i] = binary.BigEndian.Uint32(head[8+4*i:])
		if x.fan[i] < last {
			return nil, fault.New(fault.Integrity, "pack index: its fan-out decreases at %d", i)
		}
		last = x.fan[i]
	}
	x.n = int64(last)
	rest := size - (idxHead + x.n*int64(f.size()+8) + 2*int64(f.size()))
	if rest < 0 || rest%8 != 0 || rest/8 > x.n {
		return nil, fault.New(fault.Integrity, "pack index: %d bytes do not hold %d objects", size, x.n)
	}
	x.large = rest / 8
	return x, nil
}

func (x *idxFile) ids() int64     { return idxHead }
func (x *idxFile) crcs() int64    { return idxHead + x.n*int64(x.format.size()) }
func (x *idxFile) offsets() int64 { return x.crcs() + 4*x.n }
func (x *idxFile) larges() int64  { return x.offsets() + 4*x.n }
func (x *idxFile) trailer() int64 { return x.larges() + 8*x.large }

// packSum returns the checksum of the pack that the index belongs to.
func (x *idxFile) packSum() ([]byte, error) {
	sum := make([]byte, x.format.size())
	_, err := x.r.ReadAt(sum, x.trailer())
	return sum, err
}

// find returns the position of id in the index.
func (x *idxFile) find(id OID) (int64, bool, error) {
	if int(id.n) != x.format.size() {
		return 0, false, nil
	}
	var lo int64
	if b := id.b[0]; b > 0 {
		lo = int64(x.fan[b-1])
	}
	hi := int64(x.fan[id.b[0]])
	if mem := x.whole(false); mem != nil {
		i, ok := x.search(mem[x.ids()+lo*int64(id.n):x.ids()+hi*int64(id.n)], id)
		return lo + i, ok, nil
	}
	return x.guess(id, lo, hi)
}

// guess looks for id between lo and hi, first at the position that evenly spread ids give it.
// The first read nearly always finds it; otherwise guess halves the rest.
func (x *idxFile) guess(id OID, lo, hi int64) (int64, bool, error) {
	block := blocks.Get().(*[readBlock]byte)
	defer blocks.Put(block)
	size := int64(id.n)
	most := readBlock / size
	mid := lo + int64(uint64(hi-lo)*uint64(binary.BigEndian.Uint32(id.b[1:]))>>32)
	for near := int64(8 + 1.5*math.Sqrt(float64(hi-lo))); lo < hi; near, mid = most/2, (lo+hi)/2 {
		near = min(near, most/2)
		from, to := max(lo, mid-near), min(hi, mid+near)
		b, err := x.at(block[:], x.ids()+from*size, (to-from)*size)
		if err != nil {
			return 0, false, err
		}
		i, ok := x.search(b, id)
		switch {
		case ok:
			return from + i, true, nil
		case i == 0 && from > lo:
			hi = from
		case i == to-from && to < hi:
			lo = to
		default:
			return 0, false, nil
		}
	}
	return 0, false, nil
}

// search returns the position of id among ids, or the position where it belongs.
func (x *idxFile) search(ids []byte, id OID) (int64, bool) {
	size := int(id.n)
	n := len(ids) / size
	i := sort.Search(n, func(i int) bool { return bytes.Compare(ids[i*size:(i+1)*size], id.b[:size]) >= 0 })
	return int64(i), i < n && bytes.Equal(ids[i*size:(i+1)*size], id.b[:size])
}

// offset returns the offset in the pack of the object at position i.
func (x *idxFile) offset(i int64) (int64, error) {
	var b [4]byte
	small, err := x.at(b[:], x.offsets()+4*i, 4)
	if err != nil {
		return 0, err
	}
	off := int64(binary.BigEndian.Uint32(small))
	if off&0x80000000 == 0 {
		return off, nil
	}
	return x.largeOffset(off & 0x7fffffff)
}

// largeOffset returns entry n of the table of 64-bit offsets.
func (x *idxFile) largeOffset(n int64) (int64, error) {
	if n >= x.large {
		return 0, fault.New(fault.Integrity, "pack index: large offset %d of %d", n, x.large)
	}
	var b [8]byte
	large, err := x.at(b[:], x.larges()+8*n, 8)
	if err != nil {
		return 0, err
	}
	v := binary.BigEndian.Uint64(large)
	if v > 1<<62 {
		return 0, fault.New(fault.Integrity, "pack index: offset %d", v)
	}
	return int64(v), nil
}

// crc returns the CRC-32 of the object's bytes in the pack.
func (x *idxFile) crc(i int64) (uint32, error) {
	var b [4]byte
	got, err := x.at(b[:], x.crcs()+4*i, 4)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(got), nil
}

// id returns the id at position i.
func (x *idxFile) id(i int64) (OID, error) {
	var b [32]byte
	size := int64(x.format.size())
	got, err := x.at(b[:], x.ids()+i*size, size)
	if err != nil {
		return OID{}, err
	}
	return oidOf(got), nil
}

// packed is the entry of one object in an index.
type packed struct {
	id  OID
	crc uint32
	off int64
}

// writeIdx writes the index of a pack with the trailer packSum. It sorts list.
func writeIdx(w io.Writer, f Format, list []packed, packSum []byte) error {
	sort.Slice(list, func(i, j int) bool { return list[i].id.Compare(list[j].id) < 0 })
	size := idxHead + len(list)*(f.size()+8) + 2*f.size()
	b := make([]byte, 0, size)
	b = append(b, idxMagic...)
	i := 0
	for first := range 256 {
		for i < len(list) && int(list[i].id.b[0]) == first {
			i++
		}
		b = binary.BigEndian.AppendUint32(b, uint32(i))
	}
	for _, p := range list {
		b = append(b, p.id.b[:f.size()]...)
	}
	for _, p := range list {
		b = binary.BigEndian.AppendUint32(b, p.crc)
	}
	var large []byte
	for _, p := range list {
		off := uint32(p.off)
		if p.off >= 1<<31 {
			off = 1<<31 | uint32(len(large)/8)
			large = binary.BigEndian.AppendUint64(large, uint64(p.off))
		}
		b = binary.BigEndian.AppendUint32(b, off)
	}
	b = append(b, large...)
	b = append(b, packSum...)
	h := f.new()
	h.Write(b)
	_, err := w.Write(h.Sum(b))
	return err
}
