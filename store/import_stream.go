package store

import (
	"bytes"
	"hash"
	"hash/crc32"
	"io"

	"github.com/rye-os/rye/fault"
)

// packStream reads a pack from outside, copies it to a file, and checksums it. It reads from
// src only when it needs more bytes.
type packStream struct {
	src  io.Reader
	buf  [32 << 10]byte
	r, w int   // buf[r:w] was read from src and is not used yet
	mark int   // buf[mark:r] was used and is not copied yet
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

// flush copies and checksums the used bytes.
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

// head reads the first 12 bytes and returns the number of objects that they claim. The file
// gets a head of its own, so these bytes are not copied.
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

// begin starts an entry and returns its offset in the pack.
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

// because returns the error of the source or the file if there was one, because it caused err.
// When the source just ended, it wraps err.
func (s *packStream) because(err error) error {
	switch {
	case s.err == nil:
		return err
	case s.err == io.EOF, s.err == io.ErrUnexpectedEOF:
		return fault.New(fault.Malformed, "cut off: %w", err)
	}
	return s.err
}

// trailer verifies the checksum at the end of the stream.
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

// streamInflater inflates entries of a packStream. It never reads past an entry.
type streamInflater struct {
	in *packStream
	fl inflater
}

// copy inflates exactly size bytes into w.
func (s *streamInflater) copy(w io.Writer, size int64) error {
	if err := s.fl.startOf(s.in); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(s.fl.z, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fault.New(fault.Integrity, "inflate: %d bytes where %d are declared: %w", n, size, err)
	}
	return s.fl.end(size)
}

// bytes inflates exactly size bytes; the caller bounded size. Its memory grows with the bytes
// that really come.
func (s *streamInflater) bytes(size int64) ([]byte, error) {
	if size <= aheadObject {
		if err := s.fl.startOf(s.in); err != nil {
			return nil, err
		}
		return s.fl.exactly(size)
	}
	var b bytes.Buffer
	b.Grow(aheadObject)
	err := s.copy(&b, size)
	return b.Bytes(), err
}
