package store

import (
	"bytes"
	"compress/zlib"
	"errors"
	"io"

	"github.com/rye-os/rye/fault"
)

// An object that is larger than anybody needs in memory is poured: read, hashed and handed on
// piece by piece. Only one that a pack holds as a delta has to be in memory, with its bases.

// Check is Object for a reader who wants to know whether id is whole: a blob of more than
// DefaultLimit bytes is hashed while it is read, and data is nil.
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

// pour writes the bytes of an object to w. With an error w may have got some of them.
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

// onceWriter refuses a second beginning: what a broken copy gave cannot be taken back.
type onceWriter struct {
	w     io.Writer
	begun bool
}

func (o *onceWriter) begin() (io.Writer, error) {
	if o.w == io.Discard {
		return o.w, nil
	}
	if o.begun {
		return nil, fault.New(fault.Integrity, "one copy of it is broken")
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

// pour writes the size bytes that the stream has left, and compares their hash with id.
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
		return fault.New(fault.Integrity, "the bytes stored for it are those of %s", got)
	}
	return nil
}

// addPoured appends an object of the repository, whole, without holding it.
func (p *packFile) addPoured(d *diskObjects, id OID, t Type, size int64) error {
	if _, _, err := d.pour(id, io.Discard); err != nil { // else the pack would hold what is broken
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

// writePoured writes an object as a pack holds it, whole.
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

// growing reads the rest of the stream, which must be size bytes long: it takes memory as
// bytes come, for a size is only what somebody wrote there.
func (in *inflater) growing(size int64) ([]byte, error) {
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(in.z, size))
	if err != nil || n != size {
		return nil, fault.New(fault.Integrity, "inflate: %d bytes where %d are declared: %w", n, size, errors.Join(err, io.ErrUnexpectedEOF))
	}
	return b.Bytes(), in.end(size)
}
