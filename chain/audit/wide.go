package audit

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded returns a reader of the text as UTF-8.
func decoded(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, maxPiece)
	head, err := in.Peek(1024)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), zeros(head, 1):
		return bufio.NewReaderSize(&wide{in: in, high: 1}, maxPiece), nil
	case bytes.HasPrefix(head, []byte("\xfe\xff")), zeros(head, 0):
		return bufio.NewReaderSize(&wide{in: in, high: 0}, maxPiece), nil
	}
	return in, nil
}

// zeros reports whether every second byte is zero, as in UTF-16 of Latin letters, and no other.
func zeros(head []byte, from int) bool {
	n := 0
	for i, c := range head {
		if (c == 0) != (i%2 == from) {
			n++
		}
	}
	return len(head) >= 8 && n*16 < len(head)
}

// wide reads UTF-16 and gives UTF-8.
type wide struct {
	in   *bufio.Reader
	high int // the place of the high byte
	open rune
	left []byte
	err  error
}

func (w *wide) Read(b []byte) (int, error) {
	for len(w.left) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		w.fill()
	}
	n := copy(b, w.left)
	w.left = w.left[n:]
	return n, nil
}

func (w *wide) fill() {
	var pair [2]byte
	w.left = w.left[:0]
	for len(w.left) < 4<<10 {
		if _, err := io.ReadFull(w.in, pair[:]); err != nil {
			if w.err = err; err == io.ErrUnexpectedEOF {
				w.err = io.EOF
			}
			return
		}
		r := rune(pair[w.high])<<8 | rune(pair[1-w.high])
		switch {
		case w.open != 0:
			r, w.open = utf16.DecodeRune(w.open, r), 0
		case r >= 0xd800 && r < 0xdc00:
			w.open = r
			continue
		}
		w.left = utf8.AppendRune(w.left, r)
	}
}
