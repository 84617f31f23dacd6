package journal

import (
	"bytes"
	"errors"
	"io"
)

// lines reads whole lines of a file that grows. It never returns half a line: what has no
// newline yet is read again.
type lines struct {
	f    io.ReaderAt
	at   int64 // in the file, where the next line begins
	most int   // bytes of a line, with its newline

	buf      []byte
	from, to int // of buf: what was read and not returned
	seen     int // of it: bytes without a newline
}

var errTooLong = errors.New("a line that never ends")

// next returns the next line without its newline; it is good until the next call. At the end
// it is io.EOF, and may be called again. A line that is too long is errTooLong.
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
			l.from, l.to, l.seen = 0, 0, 0 // half a line may be cut off and written anew
			if err == nil || errors.Is(err, io.EOF) {
				err = io.EOF
			}
			return nil, err
		}
	}
}

// room returns the free end of the buffer, which grows up to a line and some.
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

// skip passes over a line that is too long, as far as it is there, and reports whether its end
// was found.
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
