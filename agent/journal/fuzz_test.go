package journal_test

import (
	"bytes"
	"testing"

	"github.com/rye-os/rye/agent/journal"
)

// FuzzLine: a line is read and written again as it was, or refused; whatever follows the sum
// that it would need.
func FuzzLine(f *testing.F) {
	c := journal.Chain{Thread: thread}
	for _, r := range []journal.Record{warn("x"), warn("\u2028\x01é"), {Time: start, Type: "host_call", Data: []byte(`{"index":0,"name":"now","args":"","outcome":[1.5e3,{"a":{},"a":null},"\u00e9\ud800"]}`)}} {
		line, _, err := (&journal.Chain{Thread: thread}).Add(r)
		must(f, err)
		f.Add(string(line[:len(line)-1]))
	}
	f.Add("")
	f.Add(`{"seq":1}`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, line := range [][]byte{[]byte(line), resum(line)} {
			next := c
			r, err := next.Next(line)
			if err != nil {
				if next != c {
					t.Fatalf("%q was refused, and changed the chain", line)
				}
				continue
			}
			back, err := r.Line()
			if err != nil || !bytes.Equal(back, append(bytes.Clone(line), '\n')) {
				t.Fatalf("%q is written as %q, %v", line, back, err)
			}
			again := c
			written, _, err := again.Add(r)
			if err != nil || !bytes.Equal(written, back) || again != next {
				t.Fatalf("%q is added as %q, %v", line, written, err)
			}
		}
	})
}

// FuzzInbox: a message is read and written again as it was, or refused.
func FuzzInbox(f *testing.F) {
	m := message(1, "x\u2028\x7f")
	f.Add(m.Encode())
	m.Kind, m.Raise = journal.KindRaise, map[string]int64{"turns": 1, "spend": 2}
	f.Add(m.Encode())
	m.Kind, m.Raise, m.Question, m.Answer = journal.KindAnswer, nil, thread, "yes"
	f.Add(m.Encode())
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := journal.ParseMessage(raw)
		if err != nil {
			return
		}
		if back := m.Encode(); !bytes.Equal(back, raw) {
			t.Fatalf("%q is written as %q", raw, back)
		}
	})
}
