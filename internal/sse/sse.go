// Package sse reads server-sent events as the HTML standard defines them (9.2.6,
// "Interpreting an event stream"), however the bytes are cut.
//
// A line ends with LF, CR or CR LF; a CR ends it at once. A byte order mark before the first line
// is skipped. An empty line ends an event, which has data, and perhaps a name and an id:
//
//	event: add
//	data: 73857293
//	id: 1
//
// A Reader never connects again, so the time in a line "retry:" is skipped.
package sse

import (
	"bytes"
	"errors"
)

// Errors of a Reader when a part of the stream is too large.
var (
	ErrLine  = errors.New("a line of the stream is too long")
	ErrEvent = errors.New("an event of the stream is too large")
)

// Event is one message of a stream. Its bytes come from the stream and need not be UTF-8. They
// are valid until Emit returns.
type Event struct {
	Name []byte // of its kind; empty for none, which the standard calls "message"
	Data []byte // its lines, joined by LF
	ID   []byte // the last one sent, with this event or before it
}

// Limits bound what a Reader keeps, in bytes.
type Limits struct {
	Line  int // of one line
	Event int // of the data of one event, with one byte for each line
	Both  int // of the data of an event together with the next line; 0 for no such limit
}

// Reader passes each event to Emit as soon as it is complete. Set Emit and Limits first. It is
// not safe for concurrent use.
type Reader struct {
	Limits Limits
	// Emit receives one event. An error from it ends the reading.
	Emit func(Event) error

	line    []byte
	started bool // past the byte order mark
	cr      bool // the last byte was a CR, so a following LF belongs to it
	some    bool // there was a data line, perhaps an empty one
	data    []byte
	name    []byte
	id      []byte
}

// Write receives the next bytes of the stream. Its error is ErrLine, ErrEvent or an error from
// Emit; the Reader must not be used after it.
func (r *Reader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if r.cr {
			r.cr = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := bytes.IndexAny(p, "\r\n")
		piece := p
		if end >= 0 {
			piece = p[:end]
		}
		if err := r.fits(len(r.line) + len(piece)); err != nil {
			return 0, err
		}
		if end < 0 {
			r.line = append(r.line, piece...)
			break
		}
		r.cr = p[end] == '\r'
		p = p[end+1:]
		if len(r.line) > 0 {
			r.line = append(r.line, piece...)
			piece = r.line
		}
		r.line = r.line[:0]
		if err := r.take(piece); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// fits refuses a line of n bytes that is too long, alone or together with the kept data.
func (r *Reader) fits(n int) error {
	if n > r.Limits.Line {
		return ErrLine
	}
	if r.Limits.Both > 0 && n+len(r.data) > r.Limits.Both {
		return ErrEvent
	}
	return nil
}

// End treats the rest of the stream as a complete line and a complete event, although the empty
// line is missing: some servers omit it at the end. The standard discards such an event; a
// caller that does not call End does the same.
func (r *Reader) End() error {
	line := r.line
	r.line = nil
	if err := r.take(line); err != nil || len(line) == 0 {
		return err
	}
	return r.dispatch()
}

// take interprets one line.
func (r *Reader) take(line []byte) error {
	if !r.started {
		r.started = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) == 0 {
		return r.dispatch()
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		r.name = append(r.name[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = append(r.id[:0], value...)
		}
	case "data":
		if len(r.data)+len(value)+1 > r.Limits.Event {
			return ErrEvent
		}
		if r.some {
			r.data = append(r.data, '\n')
		}
		r.data, r.some = append(r.data, value...), true
	}
	return nil
}

// dispatch emits the event that an empty line ends. It drops an event without data.
func (r *Reader) dispatch() error {
	ev, some := Event{r.name, r.data, r.id}, r.some
	r.name, r.data, r.some = r.name[:0], r.data[:0], false
	if !some {
		return nil
	}
	return r.Emit(ev)
}
