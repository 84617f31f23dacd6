package web

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
)

// Event is one message of a stream of server-sent events.
type Event struct {
	Type string `json:"event"` // "message" when the server named none
	Data string `json:"data"`
	ID   string `json:"id,omitempty"` // the last that was seen, as the standard wants it
}

// Decoder reads server-sent events as the HTML standard defines them (9.2.6,
// "Interpreting an event stream"), however the bytes are cut. What a stream that
// breaks off had begun is no event. It never connects again, so what the server says
// of when to is passed over. It is not safe for concurrent use.
type Decoder struct {
	Emit func(Event) error

	line    []byte
	started bool // past the byte order mark
	cr      bool // the last byte was a CR, so that an LF belongs to it
	data    []byte
	some    bool // data had a line, which may be empty
	name    string
	id      string
}

// Write takes the next piece. Errors are Limit for a line or an event that is too
// large, and those of Emit; after one the stream is over.
func (d *Decoder) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if d.cr {
			d.cr = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		end := i
		if i < 0 {
			end = len(p)
		}
		if len(d.line)+end > MaxLine {
			return 0, fault.New(fault.Limit, "http: a line of the stream is longer than %d bytes", MaxLine)
		}
		d.line = append(d.line, p[:end]...)
		if i < 0 {
			break
		}
		d.cr = p[i] == '\r'
		p = p[i+1:]
		line := d.line
		if !d.started {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			d.started = true
		}
		d.line = d.line[:0]
		if err := d.take(line); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// take interprets one line.
func (d *Decoder) take(line []byte) error {
	if len(line) == 0 {
		return d.dispatch()
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		d.name = text(value)
	case "data":
		if len(d.data)+len(value)+1 > MaxEvent {
			return fault.New(fault.Limit, "http: an event of the stream is larger than %d bytes", MaxEvent)
		}
		if d.some {
			d.data = append(d.data, '\n')
		}
		d.data, d.some = append(d.data, value...), true
	case "id":
		if !bytes.ContainsRune(value, 0) {
			d.id = text(value)
		}
	}
	return nil
}

func (d *Decoder) dispatch() error {
	ev := Event{Type: d.name, Data: text(d.data), ID: d.id}
	some := d.some
	d.data, d.some, d.name = d.data[:0], false, ""
	if !some {
		return nil
	}
	if ev.Type == "" {
		ev.Type = "message"
	}
	return d.Emit(ev)
}

// text decodes UTF-8, bytes that are none as the replacement character.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// lines reads a stream of one JSON value a line.
type lines struct {
	emit func(Event) error
	line []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece, rest, found := bytes.Cut(p, []byte("\n"))
		if len(l.line)+len(piece) > MaxEvent {
			return 0, fault.New(fault.Limit, "http: a line of the stream is longer than %d bytes", MaxEvent)
		}
		l.line = append(l.line, piece...)
		if !found {
			break
		}
		if err := l.end(); err != nil {
			return 0, err
		}
		p = rest
	}
	return n, nil
}

// end takes the last line, which may have no line feed.
func (l *lines) end() error {
	line := bytes.TrimSpace(l.line)
	l.line = l.line[:0]
	if len(line) == 0 {
		return nil
	}
	return l.emit(Event{Type: "message", Data: text(line)})
}
