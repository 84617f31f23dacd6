package store

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"io"
	"sync"

	"github.com/rye-os/rye/fault"
)

// readBlock is the number of bytes read from disk at a time: most deflated items fit.
const readBlock = 4096

var blocks = sync.Pool{New: func() any { return new([readBlock]byte) }}

// inflater reads one zlib stream. It never reads past the end of the stream.
type inflater struct {
	buf *bufio.Reader
	mem bytes.Reader // in place of buf, for inflateWhole
	z   io.ReadCloser
}

var inflaters = sync.Pool{New: func() any { return &inflater{buf: bufio.NewReaderSize(nil, readBlock)} }}

// newInflater returns an inflater whose buf reads from r. Return it with free.
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

// maxBelieved is the largest stated size in bytes that is allocated at once.
const maxBelieved = 16 << 20

// exactly reads the rest of the stream, which must be size bytes long. The caller bounded
// size.
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

// end checks that the stream ends here, and its checksum.
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

// maxWhole is the largest stream in bytes that is read into memory before inflating.
const maxWhole = 1 << 20

// deflatedBound returns the greatest length of a zlib stream of size bytes, if its writer
// stores blocks that do not shrink.
func deflatedBound(size int64) int64 { return size + size>>8 + 64 }

// inflateWhole returns the size bytes of the stream at the beginning of src. It returns nil
// when the stream is wrong or goes on after src.
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
