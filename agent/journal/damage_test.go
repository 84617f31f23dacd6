package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
)

// small is a journal of three records, closed, and its bytes.
func small(t *testing.T) (l *journal.Lease, file string, raw []byte) {
	t.Helper()
	dir := newDir(t)
	l, j := create(t, dir)
	for i := range 3 {
		add(t, j, warn(fmt.Sprint("r", i)), i == 2)
	}
	must(t, j.Close())
	file = filepath.Join(dir, "journal.jsonl")
	raw, err := os.ReadFile(file)
	must(t, err)
	return l, file, raw
}

func open(l *journal.Lease, accept bool) (j *journal.Journal, seen []string, err error) {
	j, err = l.Open(context.Background(), journal.Options{
		Visit:  func(r journal.Record) error { seen = append(seen, text(r)); return nil },
		Now:    func() time.Time { return start },
		Accept: accept,
	})
	return j, seen, err
}

// TestTornTail: what a crash leaves behind the last whole line is cut off, kept and told.
func TestTornTail(t *testing.T) {
	for name, tail := range map[string]string{
		"half a line":           `{"seq":4,"timesta`,
		"zeros":                 strings.Repeat("\x00", 5000),
		"many zeros":            strings.Repeat("\x00", 3<<20),
		"half a line and zeros": `{"seq":4,` + strings.Repeat("\x00", 70),
	} {
		t.Run(name, func(t *testing.T) {
			l, file, raw := small(t)
			must(t, os.WriteFile(file, append(bytes.Clone(raw), tail...), 0o600))
			same(t, "before", read(t, l.Dir()), "[r0 r1 r2]")
			j, seen, err := open(l, false)
			must(t, err)
			same(t, "seen", seen, "[r0 r1 r2 journal_repaired]")
			kept, err := os.ReadFile(filepath.Join(l.Dir(), "journal.bad-1"))
			must(t, err)
			same(t, "kept", string(kept) == tail, true)
			add(t, j, warn("on"), true)
			must(t, j.Close())
			j, seen, err = open(l, false)
			must(t, err)
			same(t, "again", seen, "[r0 r1 r2 journal_repaired on]")
			must(t, j.Close())
			got, err := os.ReadFile(file)
			must(t, err)
			want := fmt.Sprintf(`"payload":{"file":"journal.bad-1","offset":%d,"bytes":%d,"sha256":"`, len(raw), len(tail))
			if !bytes.Contains(got, []byte(want)) || !bytes.Contains(got, []byte(`"why":"torn"`)) {
				t.Errorf("%s\nlacks %s", got, want)
			}
		})
	}
}

// TestRepairDies: a repair that is interrupted is done by the next, and told once.
func TestRepairDies(t *testing.T) {
	t.Run("before it was cut", func(t *testing.T) {
		l, file, raw := small(t)
		must(t, os.WriteFile(filepath.Join(l.Dir(), "journal.bad-1"), []byte("half"), 0o600))
		must(t, os.WriteFile(file, append(bytes.Clone(raw), "half"...), 0o600))
		_, seen, err := open(l, false)
		must(t, err)
		same(t, "seen", seen, "[r0 r1 r2 journal_repaired]")
	})
	t.Run("before it was told", func(t *testing.T) {
		l, _, _ := small(t)
		must(t, os.WriteFile(filepath.Join(l.Dir(), "journal.bad-1"), []byte("half"), 0o600))
		j, seen, err := open(l, false)
		must(t, err)
		same(t, "seen", seen, "[r0 r1 r2 journal_repaired]")
		must(t, j.Close())
		j, seen, err = open(l, false)
		must(t, err)
		same(t, "again", seen, "[r0 r1 r2 journal_repaired]")
		must(t, j.Close())
	})
	t.Run("another tail", func(t *testing.T) {
		l, file, raw := small(t)
		must(t, os.WriteFile(filepath.Join(l.Dir(), "journal.bad-7"), []byte("half"), 0o600))
		must(t, os.WriteFile(file, append(bytes.Clone(raw), "other"...), 0o600))
		_, seen, err := open(l, false)
		must(t, err)
		same(t, "seen", seen, "[r0 r1 r2 journal_repaired journal_repaired]")
		same(t, "kept", fmt.Sprint(names(t, l.Dir())), "[artifacts inbox journal.bad-7 journal.bad-8 journal.jsonl lease live.jsonl]")
	})
}

// TestEveryFlippedByte: no byte of a journal can be another without being noticed, or without
// being in the torn tail, which is told.
func TestEveryFlippedByte(t *testing.T) {
	l, file, raw := small(t)
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	look := func() (n int, tail journal.Tail, err error) {
		_, tail, err = journal.Read(context.Background(), l.Dir(), func(journal.Record) error { n++; return nil })
		return n, tail, err
	}
	for i := range raw {
		for _, flip := range []byte{0x01, 0x20, 0x80, raw[i], raw[i] ^ '\n'} {
			if flip == 0 {
				continue
			}
			_, err := f.WriteAt([]byte{raw[i] ^ flip}, int64(i))
			must(t, err)
			n, tail, err := look()
			switch line := bytes.Count(raw[:i], []byte("\n")); {
			case err != nil && fault.Is(err, fault.Integrity) && n == line:
			case err == nil && tail.Bytes > 0 && n == 2 && line == 2: // in the torn tail
			default:
				t.Fatalf("byte %d ^ %#x of line %d: %d records, tail %v, %v", i, flip, line, n, tail, err)
			}
		}
		_, err := f.WriteAt(raw[i:i+1], int64(i))
		must(t, err)
	}
	for i := len(raw) - 1; i >= 0; i-- { // cut anywhere
		must(t, f.Truncate(int64(i)))
		n, tail, err := look()
		if err != nil || n != bytes.Count(raw[:i], []byte("\n")) || tail.Bytes != 0 && tail.Offset+tail.Bytes != int64(i) {
			t.Fatalf("cut at %d: %d records, tail %v, %v", i, n, tail, err)
		}
	}
}

func TestDamage(t *testing.T) {
	lines := func(raw []byte) [][]byte { return bytes.SplitAfter(raw, []byte("\n"))[:3] }
	for name, change := range map[string]func(raw []byte) []byte{
		"a line is missing":        func(raw []byte) []byte { l := lines(raw); return append(bytes.Clone(l[0]), l[2]...) },
		"two lines changed places": func(raw []byte) []byte { l := lines(raw); return bytes.Join([][]byte{l[0], l[2], l[1]}, nil) },
		"a line is there twice":    func(raw []byte) []byte { l := lines(raw); return bytes.Join([][]byte{l[0], l[0], l[1]}, nil) },
		"an empty line":            func(raw []byte) []byte { l := lines(raw); return bytes.Join([][]byte{l[0], []byte("\n"), l[1]}, nil) },
		"zeros between lines": func(raw []byte) []byte {
			l := lines(raw)
			return bytes.Join([][]byte{l[0], make([]byte, 9), l[1]}, nil)
		},
		"a line without end":        func(raw []byte) []byte { return append(lines(raw)[0], bytes.Repeat([]byte("x"), 2<<20)...) },
		"junk for the last newline": func(raw []byte) []byte { return append(bytes.Clone(raw[:len(lines(raw)[0])-1]), 'x') },
		"a space in a line": func(raw []byte) []byte {
			l := lines(raw)
			return append(l[0], bytes.Replace(l[1], []byte(`:`), []byte(`: `), 1)...)
		},
		"a sum in upper-case": func(raw []byte) []byte { l := lines(raw); return append(l[0], upperSum(l[1])...) },
	} {
		t.Run(name, func(t *testing.T) {
			l, file, raw := small(t)
			bad := change(raw)
			must(t, os.WriteFile(file, bad, 0o600))
			good := 1
			if name == "junk for the last newline" {
				good = 0
			}
			_, seen, err := open(l, false)
			var d *journal.Damage
			if !errors.As(err, &d) || !fault.Is(err, fault.Integrity) || fault.HintOf(err).IsZero() || len(seen) != good || d.Last.Seq != int64(good) {
				t.Fatalf("%v, seen %v", err, seen)
			}
			got, err := os.ReadFile(file)
			must(t, err)
			same(t, "unchanged", bytes.Equal(got, bad), true)
			same(t, "offset and bytes", d.Offset+d.Bytes, len(bad))
			if good == 0 {
				return
			}
			j, seen, err := open(l, true)
			must(t, err)
			same(t, "accepted", seen, "[r0 journal_repaired]")
			kept, err := os.ReadFile(filepath.Join(l.Dir(), "journal.bad-1"))
			must(t, err)
			same(t, "kept", bytes.Equal(kept, bad[d.Offset:]), true)
			add(t, j, warn("on"), true)
			must(t, j.Close())
			same(t, "after", read(t, l.Dir()), "[r0 journal_repaired on]")
		})
	}
}

func upperSum(line []byte) []byte {
	at := bytes.Index(line, []byte(`"sum":"`)) + 7
	return append(bytes.Clone(line[:at]), bytes.ToUpper(line[at:])...)
}

// TestOthersLines: a line that is bound to the one before it is still refused where it is not
// what Append writes.
func TestOthersLines(t *testing.T) {
	var c journal.Chain
	c.Thread = thread
	line, _, err := c.Add(warn("x"))
	must(t, err)
	if _, err := (&journal.Chain{}).Next(line[:len(line)-1]); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a number that is another": {`"seq":1`, `"seq":2`}, "a leading zero": {`"seq":1`, `"seq":01`}, "a short time": {`.123456Z`, `.123Z`},
		"another zone": {`123456Z`, `123456+00:00`}, "a name for an id": {thread, "weather"}, "an upper-case type": {`"warning"`, `"Warning"`},
		"a droppable type": {`"warning"`, `"progress"`}, "a space": {`{"text"`, `{ "text"`}, "an open payload": {`"}`, `"`}, "more behind it": {`"x"}`, `"x"},"more":1`},
		"double": {`"x"}`, `"x","text":"y"}`}, "a month": {"2026-01-02", "2026-13-02"}, "a negative turn": {`"turn":1`, `"turn":-1`},
	} {
		forged := strings.Replace(string(line), change[0], change[1], 1)
		if forged == string(line) {
			t.Fatalf("%s changes nothing", name)
		}
		if r, err := (&journal.Chain{}).Next(resum(forged)); err == nil {
			t.Errorf("%s: taken as %+v", name, r)
		}
	}
	other := journal.Chain{Thread: "01kdyak348041061050r3gg28b", Seq: 0}
	if _, err := other.Next(line[:len(line)-1]); err == nil {
		t.Error("another thread's line is taken")
	}
}

// TestBehindTheEnd: nothing stands behind a final record.
func TestBehindTheEnd(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	add(t, j, completed, true)
	c := j.Chain()
	must(t, j.Close())
	file := filepath.Join(dir, "journal.jsonl")
	raw, err := os.ReadFile(file)
	must(t, err)
	line, _, err := (&journal.Chain{Thread: thread, Seq: c.Seq, Sum: c.Sum}).Add(warn("late"))
	must(t, err)
	must(t, os.WriteFile(file, append(bytes.Clone(raw), line...), 0o600))
	if _, _, err := open(l, false); !fault.Is(err, fault.Integrity) {
		t.Errorf("a record: %v", err)
	}
	must(t, os.WriteFile(file, append(bytes.Clone(raw), "half"...), 0o600))
	_, seen, err := open(l, false)
	same(t, "a torn tail", fmt.Sprint(seen, err), "[thread_completed] <nil>")
	same(t, "kept", fmt.Sprint(names(t, dir)), "[artifacts inbox journal.bad-1 journal.jsonl lease live.jsonl]")
}

// TestAnotherWriter: a writer stops when something else has written to its journal.
func TestAnotherWriter(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	add(t, j, warn("a"), true)
	f, err := os.OpenFile(filepath.Join(dir, "journal.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("x")
	must(t, err)
	for range 2 {
		if _, err := j.Append(warn("b"), false); !fault.Is(err, fault.Integrity) {
			t.Errorf("Append = %v", err)
		}
		must(t, f.Truncate(0)) // whatever else happens
	}
}

func TestUnknownType(t *testing.T) {
	l, file, raw := small(t)
	var c journal.Chain
	for line := range bytes.Lines(raw) {
		_, err := c.Next(bytes.TrimSuffix(line, []byte("\n")))
		must(t, err)
	}
	r := warn("x")
	r.Type = "of_tomorrow"
	line, _, err := c.Add(r)
	must(t, err)
	must(t, os.WriteFile(file, append(raw, line...), 0o600))
	same(t, "for readers", read(t, l.Dir()), "[r0 r1 r2 x]")
	if _, _, err := open(l, true); !fault.Is(err, fault.Malformed) {
		t.Errorf("for who goes on with it: %v", err)
	}
}
