package web

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func decode(pieces ...string) (out []Event, err error) {
	d := &Decoder{Emit: func(ev Event) error { out = append(out, ev); return nil }}
	for _, p := range pieces {
		if _, err = d.Write([]byte(p)); err != nil {
			break
		}
	}
	return out, err
}

// The examples of the HTML standard, 9.2.6, and its corners.
func TestDecoder(t *testing.T) {
	m := func(data string) Event { return Event{Type: "message", Data: data} }
	for name, c := range map[string]struct {
		in   string
		want []Event
	}{
		"stocks":            {"data: YHOO\ndata: +2\ndata: 10\n\n", []Event{m("YHOO\n+2\n10")}},
		"test stream":       {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\ndata: cut", []Event{{"message", "first event", "1"}, m("second event"), m(" third event")}},
		"empty data":        {"data\n\ndata\ndata\n\ndata:", []Event{m(""), m("\n")}},
		"space":             {"data:test\n\ndata: test\n\n", []Event{m("test"), m("test")}},
		"cr, crlf":          {"data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\r", []Event{m("a\nb\nc"), m("d")}},
		"mark":              {"\ufeffdata: a\n\n\ufeffdata: b\n\n", []Event{m("a")}},
		"type":              {"event: add\ndata: 1\n\ndata: 2\n\nevent: none\n\ndata: 3\n\n", []Event{{"add", "1", ""}, m("2"), m("3")}},
		"id stays":          {"id: 7\ndata: a\n\ndata: b\n\nid: x\x00y\ndata: c\n\n", []Event{{"message", "a", "7"}, {"message", "b", "7"}, {"message", "c", "7"}}},
		"unknown field":     {"foo: x\ndatax: y\n data: z\ndata: a\n\n", []Event{m("a")}},
		"colon":             {"data: a: b\n\n", []Event{m("a: b")}},
		"when to try again": {"retry: 300\ndata: a\n\n", []Event{m("a")}},
		"not utf-8":         {"data: a\xffb\n\n", []Event{m("a\ufffdb")}},
		"nothing":           {"", nil},
		"blank lines":       {"\n\n\r\n\r", nil},
		"provider's stream": {"event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: ping\ndata: {}\n\ndata: [DONE]\n\n", []Event{{"message_start", `{"type":"message_start"}`, ""}, {"ping", "{}", ""}, m("[DONE]")}},
	} {
		whole, err := decode(c.in)
		if err != nil || !reflect.DeepEqual(whole, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, whole, err, c.want)
		}
		if bytewise, _ := decode(strings.Split(c.in, "")...); !strings.Contains(c.in, "\xff") && !reflect.DeepEqual(bytewise, c.want) {
			t.Errorf("%s, byte by byte: %q, want %q", name, bytewise, c.want)
		}
	}
	// A CR ends its line at once: nobody waits for an LF that may not come.
	if got, _ := decode("data: a\r\r"); len(got) != 1 {
		t.Errorf("after CR CR: %q", got)
	}
	if _, err := decode(strings.Repeat("x", MaxLine), "x"); !fault.Is(err, fault.Limit) {
		t.Errorf("endless line: %v", err)
	}
	line := "data: " + strings.Repeat("x", MaxLine-10) + "\n"
	if _, err := decode(line, line, line, line, line); !fault.Is(err, fault.Limit) {
		t.Errorf("endless event: %v", err)
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: b\rid:1\n\n"), uint8(3))
	f.Add([]byte("\xef\xbb\xbfdata\n\nretry: 1\n"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		whole, err := decode(string(in))
		var pieces []string
		for s := string(in); s != ""; {
			n := min(int(cut)%7+1, len(s))
			pieces, s = append(pieces, s[:n]), s[n:]
		}
		cutUp, err2 := decode(pieces...)
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(whole, cutUp) {
			t.Fatalf("%q in pieces of %d: %q, %v; whole %q, %v", in, cut%7+1, cutUp, err2, whole, err)
		}
		for _, ev := range whole {
			if ev.Type == "" || strings.ContainsAny(ev.Type+ev.ID, "\r\n") || strings.Contains(ev.Data, "\r") {
				t.Fatalf("event %q", ev)
			}
		}
	})
}

// TestStream: events come one by one, each before the next is sent.
func TestStream(t *testing.T) {
	got := make(chan string)
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
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
	})
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
	many := serve(t, func(w http.ResponseWriter, r *http.Request) {
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
	})
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
