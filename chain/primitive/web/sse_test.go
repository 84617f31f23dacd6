package web

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// Limits, bytes that are no UTF-8 and the type of an event without a name are this package's;
// the rest is tested in internal/sse.
func TestEvents(t *testing.T) {
	var got []Event
	write := func(pieces ...string) (err error) {
		got = nil
		w := events(func(ev Event) error { got = append(got, ev); return nil })
		for _, p := range pieces {
			if _, err = w.Write([]byte(p)); err != nil {
				break
			}
		}
		return err
	}
	if err := write("data: a\xffb\n\nevent: add\nid: 1\ndata: 2\n\ndata: cut"); err != nil || !reflect.DeepEqual(got, []Event{{"message", "a\ufffdb", ""}, {"add", "2", "1"}}) {
		t.Errorf("%q, %v", got, err)
	}
	if err := write(strings.Repeat("x", MaxLine), "x"); !fault.Is(err, fault.Limit) {
		t.Errorf("endless line: %v", err)
	}
	line := "data: " + strings.Repeat("x", MaxLine-10) + "\n"
	if err := write(line, line, line, line, line); !fault.Is(err, fault.Limit) {
		t.Errorf("endless event: %v", err)
	}
}

// TestStream: events come one by one, each before the next is sent.
func TestStream(t *testing.T) {
	got := make(chan string)
	u := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		if r.URL.Path == "/lines" {
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		for i := range 3 {
			text := fmt.Sprintf("data: %d %s\n\n", i, r.Header.Get("X-Key"))
			if r.URL.Path == "/lines" {
				text = fmt.Sprintf("{\"n\":%d}\n", i)
			}
			for _, piece := range strings.SplitAfter(text, "a") { // cut in the middle of a field
				io.WriteString(w, piece)
				w.(http.Flusher).Flush()
			}
			select {
			case s := <-got:
				if !strings.Contains(s, fmt.Sprint(i)) {
					t.Errorf("event %d: %q", i, s)
				}
			case <-r.Context().Done():
				t.Error("the client went")
				return
			}
		}
	}))
	for _, path := range []string{"/", "/lines"} {
		r := get(u + path)
		r.Stream = true
		r.Header = []Field{{"X-Key", Text{{Secret: "KEY"}}}}
		res := must(t, r, Options{Secrets: map[string]string{"KEY": "canary-1"}, Event: func(ev Event) error { got <- ev.Data; return nil }})
		if res.Count != 3 || len(res.Events) != 3 || !res.Streamed || res.Truncated || strings.Contains(fmt.Sprint(res), "canary") {
			t.Errorf("%s: %+v", path, res)
		}
	}
}

func TestStreamEnds(t *testing.T) {
	many := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.URL.Path == "/breaks" {
			io.WriteString(w, "data: 1\n\ndata: 2")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		for i := 0; i < MaxEvents+5 || r.URL.Path == "/endless"; i++ {
			if _, err := io.WriteString(w, "data: x\n\n"); err != nil {
				return
			}
		}
	}))
	r := get(many)
	r.Stream = true
	if res := must(t, r, Options{}); res.Count != MaxEvents+5 || len(res.Events) != MaxEvents || !res.Truncated {
		t.Errorf("%d events, %d kept", res.Count, len(res.Events))
	}
	r.URL = many + "/breaks"
	if res, err := do(t, r, Options{}); !fault.Is(err, fault.Network) || res == nil || len(res.Events) != 1 {
		t.Errorf("broken off: %+v, %v", res, err)
	}
	r.URL = many + "/endless"
	n := 0
	if _, err := do(t, r, Options{Event: func(Event) error {
		if n++; n == 100 {
			return fault.New(fault.Limit, "enough")
		}
		return nil
	}}); !fault.Is(err, fault.Limit) || n != 100 {
		t.Errorf("a reader that has enough: %v after %d", err, n)
	}
	r.URL, r.Stream = many, false
	if res := must(t, r, Options{}); res.Streamed || !strings.HasPrefix(string(res.Body), "data: x") {
		t.Errorf("not asked for a stream: %+v", res.Events)
	}
}
