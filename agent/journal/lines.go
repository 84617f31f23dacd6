package journal

import (
	"bytes"
	"errors"
	"io"
)

// lines reads whole lines of a growing file. It never returns a line without its newline; it reads
// such a line again later.
type lines struct {
	f    io.ReaderAt
	at   int64 // where the next line begins in the file
	most int   // bytes of a line, with its newline

	buf      []byte
	from, to int // of buf: the bytes that were read and not returned
	seen     int // of these: bytes without a newline
}

var errTooLong = errors.New("a line that never ends")

// next returns the next line without its newline; the bytes are valid until the next call. At the
// end it returns io.EOF, and may be called again. A line that is too long is errTooLong.
func (l *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.from+l.seen:l.to], '\n'); i >= 0 {
			n := l.seen + i + 1
			line := l.buf[l.from : l.from+n-1]
			l.from, l.at, l.seen = l.from+n, l.at+int64(n), 0
			if n > l.most {
				l.at -= int64(n)
				l.from -= n
				return nil, errTooLong
			}
			return line, nil
		}
		l.seen = l.to - l.from
		if l.seen >= l.most {
			return nil, errTooLong
		}
		n, err := l.f.ReadAt(l.room(), l.at+int64(l.seen))
		l.to += n
		if n == 0 {
			l.from, l.to, l.seen = 0, 0, 0 // a partial line may be cut off and rewritten
			if err == nil || errors.Is(err, io.EOF) {
				err = io.EOF
			}
			return nil, err
		}
	}
}

// room returns the free end of the buffer, and makes the buffer larger when it is full.
func (l *lines) room() []byte {
	if l.from > 0 {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from = 0
	}
	if l.to == len(l.buf) {
		bigger := make([]byte, max(64<<10, 2*len(l.buf)))
		copy(bigger, l.buf[:l.to])
		l.buf = bigger
	}
	return l.buf[l.to:]
}

// skip skips a line that is too long, as far as it is written, and reports whether it found the
// end.
func (l *lines) skip() (bool, error) {
	l.from, l.to, l.seen = 0, 0, 0
	for {
		n, err := l.f.ReadAt(l.room(), l.at)
		if i := bytes.IndexByte(l.buf[:n], '\n'); i >= 0 {
			l.at += int64(i) + 1
			return true, nil
		}
		l.at += int64(n)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return false, err
		}
	}
}
