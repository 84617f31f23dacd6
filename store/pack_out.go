package store

import (
	"bufio"
	"context"
	"hash/crc32"
	"io"

	"github.com/rye-os/rye/fault"
)

// PackFor writes a pack stream of the objects that are reachable from want and not from have.
func (r *Repo) PackFor(ctx context.Context, w io.Writer, want, have []OID) error {
	got, err := r.Reach(ctx, want, have, ReachOptions{})
	if err != nil {
		return err
	}
	return r.WritePack(ctx, w, got.Objects)
}

// WritePack writes a pack stream of exactly the objects ids, each once, in no promised order.
// Whole objects in our packs are copied in deflated form after a check of their CRC. Many
// objects are read in the order of the disk.
func (r *Repo) WritePack(ctx context.Context, w io.Writer, ids []OID) error {
	ids = unique(ids)
	sum := r.format.new()
	buf := bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)
	if _, err := buf.Write(packHeader(len(ids))); err != nil {
		return err
	}
	if len(ids) > manyRaw {
		var err error
		if ids, err = r.disk.copyMany(ctx, buf, ids); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := r.writeObject(buf, id); err != nil {
			return err
		}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// writeObject appends one object to a pack stream.
func (r *Repo) writeObject(w *bufio.Writer, id OID) error {
	raw, err := r.disk.raw(id)
	if err != nil {
		return err
	}
	if raw != nil {
		_, err := w.Write(raw)
		return err
	}
	t, size, err := r.Stat(id)
	if err != nil {
		return err
	}
	if t == TypeBlob && size > maxRaw {
		return writePoured(w, r.disk, id, t, size)
	}
	_, data, err := r.Object(id, min(max(size, 1), maxBroken))
	if err != nil {
		return err
	}
	return writeEntry(w, t, data)
}

const (
	// manyRaw is the number of objects above which sorting the offsets in a pack's index pays.
	// They show where each entry ends. For fewer objects, entries are inflated to find their
	// end.
	manyRaw = 256
	maxRaw  = 64 << 20 // bytes of one entry copied through memory
)

// raw returns the entry of an object that a pack holds whole; nil if no pack does, or if it
// cannot be read. err is always nil.
func (d *diskObjects) raw(id OID) (entry []byte, err error) {
	if d.hasLoose(id) {
		return nil, nil
	}
	err = d.lookup(id,
		func() error { return notFound("object %s", id) },
		func(p *pack, i int64) error {
			entry, err = p.raw(i)
			return err
		})
	if err != nil && !isMissing(err) {
		entry, err = nil, nil // the normal read reports the error
	}
	if isMissing(err) {
		return nil, nil // perhaps loose again
	}
	return entry, err
}

// raw returns the bytes of the entry at position i, with its head, if it is a whole object of
// moderate size; otherwise nil.
func (p *pack) raw(i int64) ([]byte, error) {
	if err := p.open(true); err != nil {
		return nil, err
	}
	off, err := p.idx.offset(i)
	if err != nil {
		return nil, err
	}
	h, err := p.head(off)
	if err != nil || h.t > TypeTag || h.size > maxRaw {
		return nil, err
	}
	end, err := p.endByInflating(h)
	if err != nil || end-off > maxRaw {
		return nil, err
	}
	b := make([]byte, end-off)
	if _, err := p.file.ReadAt(b, off); err != nil {
		return nil, err
	}
	want, err := p.idx.crc(i)
	if err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(b) != want {
		return nil, fault.New(fault.Integrity, "pack entry at %d: CRC does not match", off)
	}
	return b, nil
}

// endByInflating finds the end of an entry by inflating it.
func (p *pack) endByInflating(h entryHead) (int64, error) {
	sec := io.NewSectionReader(p.file, h.data, p.size-h.data)
	in := newInflater(sec)
	defer in.free()
	if err := in.start(); err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(in.z, h.size))
	if err != nil || n != h.size {
		return 0, fault.New(fault.Integrity, "pack entry: %d bytes where %d are declared", n, h.size)
	}
	if err := in.end(h.size); err != nil {
		return 0, err
	}
	at, err := sec.Seek(0, io.SeekCurrent)
	return h.data + at - int64(in.buf.Buffered()), err
}
