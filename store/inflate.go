package store

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"io"
	"sync"

	"github.com/rye-os/rye/fault"
)

// readBlock is how much is read from disk at a time: most items, deflated, fit.
const readBlock = 4096

var blocks = sync.Pool{New: func() any { return new([readBlock]byte) }}

// inflater reads one zlib stream, never past its end.
type inflater struct {
	buf *bufio.Reader
	mem bytes.Reader // in place of buf, for inflateWhole
	z   io.ReadCloser
}

var inflaters = sync.Pool{New: func() any { return &inflater{buf: bufio.NewReaderSize(nil, readBlock)} }}

// newInflater returns an inflater whose buf reads from r. Give it back with free.
func newInflater(r io.Reader) *inflater {
	in := inflaters.Get().(*inflater)
	in.buf.Reset(r)
	return in
}

func (in *inflater) free() {
	in.buf.Reset(nil)
	in.mem.Reset(nil)
	inflaters.Put(in)
}

// start begins the zlib stream at the current position of buf.
func (in *inflater) start() error { return in.startOf(in.buf) }

func (in *inflater) startOf(r io.Reader) (err error) {
	if in.z == nil {
		in.z, err = zlib.NewReader(r)
	} else {
		err = in.z.(zlib.Resetter).Reset(r, nil)
	}
	if err != nil {
		return fault.New(fault.Integrity, "inflate: %w", err)
	}
	return nil
}

// maxBelieved is up to how many bytes a stated size is made room for at once.
const maxBelieved = 16 << 20

// exactly reads the rest of the stream, which must be size bytes long. The caller
// has bounded size.
func (in *inflater) exactly(size int64) ([]byte, error) {
	if size > maxBelieved {
		return in.growing(size)
	}
	b := make([]byte, size)
	if err := in.fill(b); err != nil {
		return nil, err
	}
	return b, in.end(size)
}

func (in *inflater) fill(b []byte) error {
	if n, err := io.ReadFull(in.z, b); err != nil {
		return fault.New(fault.Integrity, "inflate: %d bytes where %d are declared: %w", n, len(b), err)
	}
	return nil
}

// end checks that the stream ends here, checksum included.
func (in *inflater) end(size int64) error {
	var one [1]byte
	n, err := io.ReadFull(in.z, one[:])
	if n != 0 {
		return fault.New(fault.Integrity, "inflate: more than the %d bytes declared", size)
	}
	if err != io.EOF {
		return fault.New(fault.Integrity, "inflate: %w", err)
	}
	return nil
}

// maxWhole is up to how many bytes of a stream are read into memory to be inflated there.
const maxWhole = 1 << 20

// deflatedBound is how long the stream of size bytes is at most, written by anybody who
// stores what does not get smaller.
func deflatedBound(size int64) int64 { return size + size>>8 + 64 }

// inflateWhole returns the size bytes that the stream at the beginning of src inflates
// to; nil when it is wrong, or goes on behind src.
func inflateWhole(src []byte, size int64) []byte {
	in := newInflater(nil)
	defer in.free()
	in.mem.Reset(src)
	if in.startOf(&in.mem) != nil {
		return nil
	}
	data, err := in.exactly(size)
	if err != nil {
		return nil
	}
	return data
}
