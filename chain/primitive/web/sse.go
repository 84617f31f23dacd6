package web

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/sse"
)

// Event is one message of a stream of server-sent events.
type Event struct {
	Type string `json:"event"` // "message" if the server named none
	Data string `json:"data"`
	ID   string `json:"id,omitempty"` // the last one seen, as the standard requires
}

// events returns a reader of server-sent events that passes them to emit. An event that a broken
// stream did not complete is dropped.
func events(emit func(Event) error) io.Writer {
	return &stream{sse.Reader{Limits: sse.Limits{Line: MaxLine, Event: MaxEvent}, Emit: func(ev sse.Event) error {
		return emit(Event{Type: cmp.Or(text(ev.Name), "message"), Data: text(ev.Data), ID: text(ev.ID)})
	}}}
}

type stream struct{ sse.Reader }

// Write reads the next piece. Errors are Limit for too long a line or too large an event, and the
// errors of emit. After an error the stream is over.
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.Reader.Write(p)
	switch err {
	case sse.ErrLine:
		err = fault.New(fault.Limit, "http: a line of the stream is longer than %d bytes", MaxLine)
	case sse.ErrEvent:
		err = fault.New(fault.Limit, "http: an event of the stream is larger than %d bytes", MaxEvent)
	}
	return n, err
}

// text decodes UTF-8. Invalid bytes become the replacement character.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// lines reads a stream with one JSON value on each line.
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

// end handles the last line, which may lack a line feed.
func (l *lines) end() error {
	line := bytes.TrimSpace(l.line)
	l.line = l.line[:0]
	if len(line) == 0 {
		return nil
	}
	return l.emit(Event{Type: "message", Data: text(line)})
}
