package app

import (
	"io"
	"unicode/utf8"

	"github.com/rye-os/rye/internal/words"
)

// PrintableWriter returns a writer that passes its text through words.Printable. A
// character may be split over two writes. Flush ends the text and writes the bytes
// held back, with escapes.
func PrintableWriter(w io.Writer) *EscapeWriter { return &EscapeWriter{w: w} }

// EscapeWriter is the writer of PrintableWriter. It is not safe for concurrent use.
type EscapeWriter struct {
	w    io.Writer
	tail []byte // the beginning of a character, or a carriage return
}

func (e *EscapeWriter) Write(p []byte) (int, error) {
	all := append(e.tail, p...)
	keep := unfinished(all)
	e.tail = append([]byte(nil), all[len(all)-keep:]...)
	if _, err := io.WriteString(e.w, words.Printable(string(all[:len(all)-keep]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the bytes held back.
func (e *EscapeWriter) Flush() error {
	tail := e.tail
	e.tail = nil
	_, err := io.WriteString(e.w, words.Printable(string(tail)))
	return err
}

// unfinished returns the number of bytes at the end of p whose meaning depends on the next
// bytes.
func unfinished(p []byte) int {
	if n := len(p); n > 0 && p[n-1] == '\r' {
		return 1
	}
	for n := 1; n <= utf8.UTFMax && n <= len(p); n++ {
		if b := p[len(p)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
