package store

import (
	"bufio"
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
	inflaters.Put(in)
}

// start begins the zlib stream at the current position of buf.
func (in *inflater) start() error {
	var err error
	if in.z == nil {
		in.z, err = zlib.NewReader(in.buf)
	} else {
		err = in.z.(zlib.Resetter).Reset(in.buf, nil)
	}
	if err != nil {
		return fault.New(fault.Integrity, "inflate: %w", err)
	}
	return nil
}

// exactly reads the rest of the stream, which must be size bytes long. The caller
// has bounded size.
func (in *inflater) exactly(size int64) ([]byte, error) {
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
