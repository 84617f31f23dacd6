package store

import (
	"bytes"
	"context"
	"hash/crc32"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
)

// Parts are packed in bundles. All processors read and inflate, then one looks for deltas,
// then all deflate.
const (
	bundleParts = 256
	bundleBytes = 8 << 20
)

// packer writes parts into a new pack, in their order.
type packer struct {
	r      *Repo
	out    *packFile
	window deltaWindow
	last   *part // the previous one
}

// packing is a part on its way into the pack.
type packing struct {
	*part
	raw    []byte // the zlib stream of its old entry; nil where that cannot be used
	rawLen int64  // bytes that raw inflates to
	data   []byte // the object; nil until it is needed
	of     *part  // its base in the new pack; nil: it stays whole
	delta  []byte // the delta; nil where raw already is that delta
	stream []byte // the zlib stream to write
	length int64  // bytes that stream inflates to
}

// write packs everything.
func (k *packer) write(ctx context.Context, list []*part) error {
	for len(list) > 0 {
		n, size := 0, int64(0)
		for n < len(list) && n < bundleParts && (n == 0 || size+list[n].room() <= bundleBytes) {
			size += list[n].room()
			n++
		}
		if err := k.bundle(ctx, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (k *packer) bundle(ctx context.Context, list []*part) error {
	jobs := make([]packing, len(list))
	err := parallel.Chunks(ctx, len(list), 8, func(i int) error {
		jobs[i].part = list[i]
		return k.read(&jobs[i])
	})
	for i := 0; i < len(jobs) && err == nil; i++ {
		if err = k.choose(&jobs[i]); ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return err
	}
	err = parallel.Chunks(ctx, len(jobs), 8, func(i int) error { jobs[i].deflate(); return nil })
	for i := 0; i < len(jobs) && err == nil; i++ {
		err = k.put(&jobs[i])
	}
	return err
}

// read brings the old entry of a part into memory, and also the object when it will be
// deflated for certain. A damaged entry is skipped; load then finds another copy, if there is
// one.
func (k *packer) read(j *packing) error {
	if j.from != nil {
		if err := j.entry(); err != nil {
			return err
		}
	}
	if j.huge() || j.raw != nil && j.base != nil && j.most > 0 || j.base == nil && isKept(j.raw) {
		return nil
	}
	return k.load(j)
}

// room estimates the bytes that a part takes in memory.
func (p *part) room() int64 { return max(p.size, p.end-p.off) }

// huge reports whether a part may not fit into memory. Its entry is then copied unchanged.
func (j *packing) huge() bool { return j.size > maxDelta }

// entry reads the old entry of a part, unless it is damaged.
func (j *packing) entry() error {
	if j.end-j.off > maxRaw {
		return nil
	}
	b := make([]byte, j.end-j.off)
	if _, err := j.from.file.ReadAt(b, j.off); err != nil {
		return nil
	}
	want, err := j.from.idx.crc(j.i)
	if err != nil || crc32.ChecksumIEEE(b) != want {
		return nil
	}
	h, err := readEntryHead(bytes.NewReader(b), j.off, j.from.format)
	if err == nil {
		j.raw, j.rawLen = b[h.data-j.off:], h.size
	}
	return nil
}

// load reads the object.
func (k *packer) load(j *packing) (err error) {
	if j.data == nil {
		j.data, err = k.object(j.part)
	}
	return err
}

// object returns the bytes of a part, which must not be changed.
func (k *packer) object(p *part) ([]byte, error) {
	if p.t == TypeTree {
		if raw, err := k.r.rawTree(p.id); !fault.Is(err, fault.Limit) {
			return raw, err
		}
	}
	_, size, err := k.r.Stat(p.id)
	if err != nil {
		return nil, err
	}
	_, data, err := k.r.Object(p.id, min(max(size, 1), maxBroken))
	return data, err
}

// choose decides which base a part gets.
func (k *packer) choose(j *packing) error {
	p := j.part
	if k.last != nil && k.last.t != p.t {
		k.window.clear()
	}
	if p.group != 0 && (k.last == nil || k.last.t != p.t || k.last.group != p.group) {
		p.most = min(p.most, newestDepth) // no newer part has its path
		if p.t != TypeBlob {
			p.most = 0
		}
	}
	k.last, p.placed = p, true
	switch {
	case j.huge():
		return nil
	case p.base != nil && j.raw != nil && p.base.placed && p.base.depth < p.most:
		j.of = p.base
	case p.most > 0:
		if err := k.search(j); err != nil {
			return err
		}
	case p.base != nil || !isKept(j.raw):
		if err := k.load(j); err != nil {
			return err
		}
	}
	if j.of != nil {
		p.depth = j.of.depth + 1
	}
	k.window.push(&basis{spot: &p.spot, part: p, data: j.data, load: func() ([]byte, error) { return k.object(p) }})
	return nil
}

// search looks for the best delta of a part.
func (k *packer) search(j *packing) error {
	var tried *pack // the pack where it stayed whole among the same candidates
	if j.base == nil && isKept(j.raw) {
		tried = j.from
	}
	if tried != nil && !k.window.offers(tried, j.most) {
		return nil
	}
	if err := k.load(j); err != nil {
		return err
	}
	if b, delta := k.window.find(j.data, tried, j.most); b != nil {
		j.of, j.delta = b.part, bytes.Clone(delta)
	}
	return nil
}

// deflate prepares the stream that is written for a part.
func (j *packing) deflate() {
	switch {
	case j.of != nil && j.delta == nil, j.of == nil && j.base == nil && isKept(j.raw), j.huge():
		j.stream, j.length = j.raw, j.rawLen
	case j.of != nil:
		j.stream, j.length = compress(nil, TypeBlob, j.delta), int64(len(j.delta))
	default:
		j.stream, j.length = compress(nil, j.t, j.data), int64(len(j.data))
	}
}

// put writes a part.
func (k *packer) put(j *packing) error {
	j.at = k.out.off
	if j.stream == nil { // huge, and not in any pack
		return k.out.addPoured(k.r.disk, j.id, j.t, j.size)
	}
	var of *spot
	if j.of != nil {
		of = &j.of.spot
	}
	return k.out.addStream(j.id, j.t, of, j.length, j.stream)
}

// addStream appends an entry that is already deflated: an object, or a delta of the object at
// the spot of. It inflates to length bytes.
func (p *packFile) addStream(id OID, t Type, of *spot, length int64, stream []byte) error {
	head := make([]byte, 0, entryRoom)
	if of == nil {
		return p.addEntry(id, appendEntryHead(head, t, length), stream)
	}
	return p.addEntry(id, appendBack(appendEntryHead(head, packOfsDelta, length), p.off-of.at), stream)
}

// appendBack appends the distance to the base of an offset delta.
func appendBack(b []byte, back int64) []byte {
	var d [10]byte
	n := len(d) - 1
	d[n] = byte(back & 0x7f)
	for back >>= 7; back > 0; back >>= 7 {
		back--
		n--
		d[n] = byte(back&0x7f) | 0x80
	}
	return append(b, d[n:]...)
}
