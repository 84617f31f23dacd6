package web

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/rye-os/rye/fault"
)

// Bounds of a stream.
const (
	MaxEvents = 10_000    // kept of one stream; RYE OS's. Later ones are only delivered
	MaxEvent  = 4 << 20   // bytes of one event
	MaxLine   = 1 << 20   // bytes of one line
	MaxStream = 256 << 20 // bytes of a whole stream
)

// read reads the body of an answer, whole or as a stream.
func (e *exchange) read(stop context.CancelCauseFunc, res *http.Response, out *Response) error {
	defer res.Body.Close()
	body, unwatch := e.watch(stop, res.Body)
	defer unwatch()
	if e.Stream && res.StatusCode < 300 {
		kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		switch kind {
		case "text/event-stream":
			out.Streamed = true
			return pump(body, events(e.keep(out)))
		case "application/x-ndjson", "application/jsonl", "application/json-lines":
			d := &lines{emit: e.keep(out)}
			out.Streamed = true
			if err := pump(body, d); err != nil {
				return err
			}
			return d.end()
		}
	}
	raw, err := io.ReadAll(io.LimitReader(body, e.MaxBody+1))
	if int64(len(raw)) > e.MaxBody {
		raw, out.Truncated = raw[:e.MaxBody], true
		err = nil
	}
	out.Body = raw
	return err
}

// keep delivers an event and keeps it while there is room.
func (e *exchange) keep(out *Response) func(Event) error {
	var size int64
	return func(ev Event) error {
		e.redact.event(&ev)
		out.Count++
		if size += int64(len(ev.Data) + len(ev.Type) + len(ev.ID)); len(out.Events) < MaxEvents && size <= e.MaxBody {
			out.Events = append(out.Events, ev)
		} else {
			out.Truncated = true
		}
		if e.o.Event == nil {
			return nil
		}
		return e.o.Event(ev)
	}
}

// pump passes a stream on as it comes.
func pump(r io.Reader, w io.Writer) error {
	buf := make([]byte, 16<<10)
	var total int64
	for {
		n, err := r.Read(buf)
		if total += int64(n); total > MaxStream {
			return fault.New(fault.Limit, "http: the stream is longer than %d bytes", MaxStream)
		}
		if _, werr := w.Write(buf[:n]); werr != nil {
			return werr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// watch ends the exchange after too long a silence.
func (e *exchange) watch(stop context.CancelCauseFunc, r io.Reader) (io.Reader, func()) {
	if e.Idle <= 0 {
		return r, func() {}
	}
	t := time.AfterFunc(e.Idle, func() { stop(errIdle) })
	return &watched{r, t, e.Idle}, func() { t.Stop() }
}

// watched restarts its timer at every piece.
type watched struct {
	io.Reader
	t    *time.Timer
	idle time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.t.Reset(w.idle)
	return n, err
}
