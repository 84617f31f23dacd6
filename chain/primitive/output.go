package primitive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// bounded keeps the beginning and the end of a stream: the beginning says what
// was going on and the end why it stopped.
type bounded struct {
	max     int
	head    []byte
	tail    []byte // a ring once it is full
	next    int    // where the ring is written next
	dropped int64
}

// Write never fails and never keeps more than max bytes.
func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := b.max/2 - len(b.head); room > 0 {
		k := min(room, len(p))
		b.head = append(b.head, p[:k]...)
		p = p[k:]
	}
	size := b.max - b.max/2
	if len(p) > size {
		b.dropped += int64(len(p) - size)
		p = p[len(p)-size:]
	}
	if room := size - len(b.tail); room > 0 {
		k := min(room, len(p))
		b.tail = append(b.tail, p[:k]...)
		p = p[k:]
	}
	b.dropped += int64(len(p))
	for len(p) > 0 {
		k := copy(b.tail[b.next:], p)
		b.next = (b.next + k) % size
		p = p[k:]
	}
	return n, nil
}

// Bytes returns what was kept, with a marker where something was left out.
func (b *bounded) Bytes() []byte {
	out := append([]byte(nil), b.head...)
	if b.dropped > 0 {
		out = fmt.Appendf(out, "\n[rye: %d bytes left out]\n", b.dropped)
	}
	out = append(out, b.tail[b.next:]...)
	return append(out, b.tail[:b.next]...)
}

// Excerpt is a writer for a program's output: it keeps the beginning and the end of
// what is written, and a marker says how much is missing between them. Its Write
// never fails; it is not safe for concurrent use.
type Excerpt struct{ bounded }

// NewExcerpt returns one that keeps at most max bytes, which is at least 2.
func NewExcerpt(max int) *Excerpt { return &Excerpt{bounded{max: max}} }

// Dropped returns how many bytes are missing.
func (e *Excerpt) Dropped() int64 { return e.dropped }

// lastWords is how long a pipe may be silent after the end of the run.
const lastWords = 250 * time.Millisecond

// drain copies r to b, and to live as long as live takes it, until r ends or its
// deadline has passed. An expired deadline hides what is in the pipe already, and
// on a busy machine it can expire before this goroutine has had its turn: so there
// is a second one.
func drain(r *os.File, b *bounded, live io.Writer) {
	buf := make([]byte, 32<<10)
	again := true
	for {
		n, err := r.Read(buf)
		b.Write(buf[:n])
		if live != nil && n > 0 {
			if _, werr := live.Write(buf[:n]); werr != nil {
				live = nil
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && again {
			again = false
			err = r.SetReadDeadline(time.Now().Add(lastWords))
		}
		if err != nil {
			return
		}
	}
}
