package sse_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/sse"
)

type event struct{ name, data, id string }

func reader(out *[]event) *sse.Reader {
	return &sse.Reader{Limits: sse.Limits{Line: 100, Event: 200}, Emit: func(ev sse.Event) error {
		*out = append(*out, event{string(ev.Name), string(ev.Data), string(ev.ID)})
		return nil
	}}
}

func decode(pieces ...string) (out []event, err error) {
	d := reader(&out)
	for _, p := range pieces {
		if _, err = d.Write([]byte(p)); err != nil {
			break
		}
	}
	return out, err
}

// The examples of the HTML standard, 9.2.6, and its corners.
func TestReader(t *testing.T) {
	m := func(data string) event { return event{data: data} }
	for name, c := range map[string]struct {
		in   string
		want []event
	}{
		"stocks":            {"data: YHOO\ndata: +2\ndata: 10\n\n", []event{m("YHOO\n+2\n10")}},
		"test stream":       {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\ndata: cut", []event{{"", "first event", "1"}, m("second event"), m(" third event")}},
		"empty data":        {"data\n\ndata\ndata\n\ndata:", []event{m(""), m("\n")}},
		"space":             {"data:test\n\ndata: test\n\n", []event{m("test"), m("test")}},
		"cr, crlf":          {"data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\r", []event{m("a\nb\nc"), m("d")}},
		"mark":              {"\ufeffdata: a\n\n\ufeffdata: b\n\n", []event{m("a")}},
		"type":              {"event: add\ndata: 1\n\ndata: 2\n\nevent: none\n\ndata: 3\n\n", []event{{"add", "1", ""}, m("2"), m("3")}},
		"id stays":          {"id: 7\ndata: a\n\ndata: b\n\nid: x\x00y\ndata: c\n\n", []event{{"", "a", "7"}, {"", "b", "7"}, {"", "c", "7"}}},
		"unknown field":     {"foo: x\ndatax: y\n data: z\ndata: a\n\n", []event{m("a")}},
		"colon":             {"data: a: b\n\n", []event{m("a: b")}},
		"when to try again": {"retry: 300\ndata: a\n\n", []event{m("a")}},
		"not utf-8":         {"data: a\xffb\n\n", []event{m("a\xffb")}},
		"nothing":           {"", nil},
		"blank lines":       {"\n\n\r\n\r", nil},
		"provider's stream": {"event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: ping\ndata: {}\n\ndata: [DONE]\n\n", []event{{"message_start", `{"type":"message_start"}`, ""}, {"ping", "{}", ""}, m("[DONE]")}},
	} {
		whole, err := decode(c.in)
		if err != nil || !reflect.DeepEqual(whole, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, whole, err, c.want)
		}
		if bytewise, _ := decode(strings.Split(c.in, "")...); !reflect.DeepEqual(bytewise, c.want) {
			t.Errorf("%s, byte by byte: %q, want %q", name, bytewise, c.want)
		}
	}
	// A CR ends its line at once: nobody waits for an LF that may not come.
	if got, _ := decode("data: a\r\r"); len(got) != 1 {
		t.Errorf("after CR CR: %q", got)
	}
	for text, want := range map[string]error{
		strings.Repeat("x", 101):                                 sse.ErrLine,
		"data: " + strings.Repeat("x", 94) + "\n":                nil,
		strings.Repeat("data: "+strings.Repeat("x", 90)+"\n", 3): sse.ErrEvent,
		strings.Repeat("data: "+strings.Repeat("x", 90)+"\n", 2): nil,
	} {
		if _, err := decode(text); err != want {
			t.Errorf("%.20q and so on, %d bytes: %v, want %v", text, len(text), err, want)
		}
	}
	both := &sse.Reader{Limits: sse.Limits{Line: 100, Event: 200, Both: 100}, Emit: func(sse.Event) error { return nil }}
	if _, err := both.Write([]byte("data: " + strings.Repeat("x", 60) + "\n:" + strings.Repeat("x", 40))); err != sse.ErrEvent {
		t.Errorf("an event and a line behind it: %v", err)
	}
}

// A stream may leave out the empty line behind its last event.
func TestEnd(t *testing.T) {
	for text, want := range map[string][]event{"data: a\n\ndata: b": {{"", "a", ""}, {"", "b", ""}}, "data: a\ndata": {{"", "a\n", ""}}, "\ufeff": nil, "data: a\n": {{"", "a", ""}}, "id: 1": nil} {
		var got []event
		r := reader(&got)
		if _, err := r.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := r.End(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzReader(f *testing.F) {
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
		var out strings.Builder
		for _, ev := range whole {
			if strings.ContainsAny(ev.name+ev.id, "\r\n") || strings.Contains(ev.data, "\r") || len(ev.data) > 200 {
				t.Fatalf("event %q", ev)
			}
			out.WriteString("event: " + ev.name + "\nid: " + ev.id + "\ndata: " + strings.ReplaceAll(ev.data, "\n", "\ndata: ") + "\n\n")
		}
		if again, err := decode(out.String()); err == nil && !reflect.DeepEqual(whole, again) {
			t.Fatalf("%q became %q: %q", in, out.String(), again)
		}
	})
}
