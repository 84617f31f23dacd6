package store

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"

	"github.com/rye-os/rye/fault"
)

// Objects too large for memory are poured: read, hashed and written piece by piece. Only an
// object that a pack holds as a delta must be in memory, together with its bases.

// Check is Object for a caller that only needs to verify id: a blob of more than DefaultLimit
// bytes is hashed while it is read, and data is nil.
func (r *Repo) Check(id OID) (t Type, data []byte, err error) {
	t, size, err := r.Stat(id)
	switch {
	case err == nil && t != TypeBlob && size > maxBroken:
		return 0, nil, fault.New(fault.Integrity, "object %s: its header declares a %s of %d bytes", id, t, size)
	case err != nil || t != TypeBlob || size <= DefaultLimit:
		return r.Object(id, maxBroken)
	}
	t, _, err = r.disk.pour(id, io.Discard)
	return t, nil, err
}

// pour writes the bytes of an object to w. After an error, w may have received some of them.
func (d *diskObjects) pour(id OID, w io.Writer) (t Type, size int64, err error) {
	to := &onceWriter{w: w}
	err = d.patiently(id,
		func() error {
			t, size, err = d.pourLoose(id, to)
			if err != nil && !isMissing(err) && !to.begun && d.inAnyPack(id) {
				return notFound("") // a torn file does not hide a good copy in a pack
			}
			return err
		},
		func(p *pack, i int64) error {
			t, size, err = p.pour(i, id, to)
			return err
		})
	if err != nil {
		return 0, 0, wrapRead(id, err)
	}
	return t, size, nil
}

// onceWriter refuses a second beginning: bytes from a broken copy cannot be taken back.
type onceWriter struct {
	w     io.Writer
	begun bool
}

func (o *onceWriter) begin() (io.Writer, error) {
	if o.w == io.Discard {
		return o.w, nil
	}
	if o.begun {
		return nil, fault.New(fault.Integrity, "one copy of it is damaged")
	}
	o.begun = true
	return o.w, nil
}

func (d *diskObjects) pourLoose(id OID, to *onceWriter) (Type, int64, error) {
	f, err := d.files.open(d.loose(id))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	in := newInflater(f)
	defer in.free()
	if err := in.start(); err != nil {
		return 0, 0, err
	}
	t, size, err := in.readLooseHeader()
	if err != nil {
		return 0, 0, err
	}
	if err := in.pour(id, d.format, t, size, to); err != nil {
		return 0, 0, err
	}
	if _, err := in.buf.ReadByte(); err != io.EOF {
		return 0, 0, fault.New(fault.Integrity, "loose object: bytes after its end")
	}
	return t, size, nil
}

// pour writes the object at position i to w.
func (p *pack) pour(i int64, id OID, to *onceWriter) (Type, int64, error) {
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
	if h.t > TypeTag {
		t, data, err := p.load(i, maxBroken)
		if err == nil {
			err = compare(p.format, id, t, data)
		}
		if err != nil {
			return 0, 0, err
		}
		w, err := to.begin()
		if err == nil {
			_, err = w.Write(data)
		}
		return t, int64(len(data)), err
	}
	in := p.section(h.data)
	defer in.free()
	if err := in.start(); err != nil {
		return 0, 0, err
	}
	return h.t, h.size, in.pour(id, p.format, h.t, h.size, to)
}

// pour writes the size bytes that remain in the stream and compares their hash with id.
func (in *inflater) pour(id OID, f Format, t Type, size int64, to *onceWriter) error {
	w, err := to.begin()
	if err != nil {
		return err
	}
	var head [maxLooseHeader]byte
	sum := f.new()
	sum.Write(appendHeader(head[:0], t, size))
	n, err := io.Copy(io.MultiWriter(sum, w), io.LimitReader(in.z, size))
	if err != nil {
		return fault.New(fault.Integrity, "inflate: %w", err)
	}
	if n != size {
		return fault.New(fault.Integrity, "inflate: %d bytes where %d are declared", n, size)
	}
	if err := in.end(size); err != nil {
		return err
	}
	if got := oidOf(sum.Sum(nil)); got != id {
		return fault.New(fault.Integrity, "its stored bytes have the id %s", got)
	}
	return nil
}

// addPoured appends a whole object of the repository without holding it in memory.
func (p *packFile) addPoured(d *diskObjects, id OID, t Type, size int64) error {
	if _, _, err := d.pour(id, io.Discard); err != nil { // otherwise the pack could contain a broken object
		return err
	}
	c := &crcWriter{w: p.w}
	err := writePoured(c, d, id, t, size)
	if err != nil {
		return err
	}
	p.list = append(p.list, packed{id, c.sum, p.off})
	p.off += c.n
	return nil
}

// writePoured writes a whole object in the form of a pack entry.
func writePoured(w io.Writer, d *diskObjects, id OID, t Type, size int64) error {
	var head [12]byte
	if _, err := w.Write(appendEntryHead(head[:0], t, size)); err != nil {
		return err
	}
	z, err := zlib.NewWriterLevel(w, zlib.BestSpeed)
	if err != nil {
		return err
	}
	got, n, err := d.pour(id, z)
	if err == nil && (got != t || n != size) {
		err = fault.New(fault.Integrity, "object %s changed while it was read", id)
	}
	if err == nil {
		err = z.Close()
	}
	return err
}

// growing reads the rest of the stream, which must be size bytes long. Its memory grows with
// the bytes that come, because the stated size is not verified.
func (in *inflater) growing(size int64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(in.z, size))
	if err != nil || n != size {
		return nil, fault.New(fault.Integrity, "inflate: %d bytes where %d are declared: %w", n, size, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return b.Bytes(), in.end(size)
}
