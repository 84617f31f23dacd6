package transcript

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/table"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// idOf is the id of thread n.
func idOf(n int) string {
	return journal.NewID(began.Add(time.Duration(n)*time.Second), [10]byte{1})
}

// writer writes a journal as a thread does, without waiting for the disk.
type writer struct {
	t     testing.TB
	dir   string
	chain journal.Chain

	waiting []byte
}

// begin makes the directory of thread n.
func begin(t testing.TB, top string, n int) *writer {
	t.Helper()
	w := &writer{t: t, dir: filepath.Join(top, idOf(n)), chain: journal.Chain{Thread: idOf(n)}}
	if err := os.MkdirAll(filepath.Join(w.dir, "artifacts"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// add appends records of a turn: a type, then its payload.
func (w *writer) add(turn int, records ...string) *writer {
	w.t.Helper()
	var b strings.Builder
	for i := 0; i < len(records); i += 2 {
		line, _, err := w.chain.Add(journal.Record{Time: began.Add(time.Duration(w.chain.Seq) * time.Second), Turn: turn, Type: records[i], Data: []byte(records[i+1])})
		if err != nil {
			w.t.Fatal(err)
		}
		b.Write(line)
	}
	w.raw(b.String())
	return w
}

// raw appends whatever it is.
func (w *writer) raw(s string) {
	f, err := os.OpenFile(filepath.Join(w.dir, "journal.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = f.WriteString(s)
	if f.Close() != nil || err != nil {
		w.t.Fatal(err)
	}
}

// say is a record of what the model said.
func say(text string) []string {
	return []string{"cognition_out", fmt.Sprintf(`{"key":"k","text":%q,"model":"m","is_partial":false,"truncated":false}`, text)}
}

// parts are whose thread is whose, by directory; without an entry it is acme/work's.
type parts map[string]Begun

func (p parts) begun(_ context.Context, dir string) (Begun, error) {
	b, ok := p[filepath.Base(dir)]
	if !ok {
		return Begun{Directive: "directive:acme/work", Starter: "terminal"}, nil
	}
	if b.Directive == "" {
		return b, fault.New(fault.Integrity, "it is nobody's \x1b[2J")
	}
	return b, nil
}

// chainOnly appends a warning in a turn of its own, of which flush writes many at once.
func (w *writer) chainOnly(turn int) {
	line, _, err := w.chain.Add(journal.Record{Time: began, Turn: turn, Type: "warning", Data: []byte(`{"text":"w"}`)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.waiting = append(w.waiting, line...)
}

func (w *writer) flush() { w.raw(string(w.waiting)) }

// sealed is a table with the checksum that it would have.
func sealed(raw []byte) []byte {
	raw = bytes.Clone(raw)
	if len(raw) >= table.Head {
		binary.LittleEndian.PutUint32(raw[8:], table.Sum(raw[12:]))
	}
	return raw
}
