package primitive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// bounded keeps the beginning and the end of a stream: the beginning shows the activity, and the
// end why it stopped.
type bounded struct {
	max     int
	head    []byte
	tail    []byte // a ring once it is full
	next    int    // position of the next write in the ring
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

// Bytes returns the kept bytes, with a marker for the missing ones.
func (b *bounded) Bytes() []byte {
	out := append([]byte(nil), b.head...)
	if b.dropped > 0 {
		out = fmt.Appendf(out, "\n[rye: %d bytes left out]\n", b.dropped)
	}
	out = append(out, b.tail[b.next:]...)
	return append(out, b.tail[:b.next]...)
}

// Excerpt is a writer for a program's output. It keeps the beginning and the end, and a marker
// between them gives the number of missing bytes. Its Write never fails. It is not safe for
// concurrent use.
type Excerpt struct{ bounded }

// NewExcerpt returns an Excerpt of at most max bytes. max is at least 2.
func NewExcerpt(max int) *Excerpt { return &Excerpt{bounded{max: max}} }

// Dropped returns how many bytes are missing.
func (e *Excerpt) Dropped() int64 { return e.dropped }

// lastWords is how long rye reads a silent pipe after the end of the run.
const lastWords = 250 * time.Millisecond

// drain copies r to b until r ends or its deadline has passed. It also copies to live until live
// fails. An expired deadline hides the bytes that are already in the pipe, and on a busy machine
// it can expire before this goroutine runs. So there is a second deadline.
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
