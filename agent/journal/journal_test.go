package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

const thread = "01kdyak348041061050r3gg28a"

var start = time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC)

// soak reports whether the long versions of tests are asked for (make soak).
func soak() bool { return os.Getenv("RYE_SOAK") != "" }

// newDir makes the directory of a thread.
func newDir(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), thread)
	must(tb, journal.Make(dir))
	return dir
}

var must = testkit.Must // for short

// take takes the lease until the test ends, if nobody gave it back before.
func take(tb testing.TB, dir string) *journal.Lease {
	tb.Helper()
	l, err := journal.Take(dir, start)
	must(tb, err)
	tb.Cleanup(func() { l.Release() })
	return l
}

// create begins a journal.
func create(tb testing.TB, dir string) (*journal.Lease, *journal.Journal) {
	tb.Helper()
	l := take(tb, dir)
	j, err := l.Create()
	must(tb, err)
	tb.Cleanup(func() { j.Close() })
	return l, j
}

func at(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

// warn is a critical record that is not synced by itself.
func warn(text string) journal.Record {
	data, _ := json.Marshal(map[string]string{"text": text})
	return journal.Record{Time: start, Turn: 1, Type: "warning", Data: data}
}

func delta(text string) journal.Record {
	data, _ := json.Marshal(map[string]any{"text": text, "chunk_index": 0, "is_final": false})
	return journal.Record{Time: start, Turn: 1, Type: "cognition_out_delta", Data: data}
}

var completed = journal.Record{Time: start, Turn: 9, Type: journal.Completed, Data: []byte(`{"cost":{}}`)}

func add(tb testing.TB, j *journal.Journal, r journal.Record, sync bool) journal.Record {
	tb.Helper()
	r, err := j.Append(r, sync)
	must(tb, err)
	return r
}

// read returns the texts of all records.
func read(tb testing.TB, dir string) []string {
	tb.Helper()
	var all []string
	_, _, err := journal.Read(context.Background(), dir, func(r journal.Record) error {
		all = append(all, text(r))
		return nil
	})
	must(tb, err)
	return all
}

func text(r journal.Record) string {
	var p struct{ Text string }
	if json.Unmarshal(r.Data, &p); p.Text != "" {
		return p.Text
	}
	return r.Type
}

// reopen opens the journal again.
func reopen(tb testing.TB, l *journal.Lease, o journal.Options) *journal.Journal {
	tb.Helper()
	j, err := l.Open(context.Background(), o)
	must(tb, err)
	tb.Cleanup(func() { j.Close() })
	return j
}

func same(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		tb.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func TestAppendAndOpen(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	first := add(t, j, warn("a"), false)
	same(t, "first", first.Seq, 1)
	add(t, j, warn("b"), true)
	digest := j.Digest()
	must(t, j.Close())
	if _, err := j.Append(warn("c"), false); err == nil {
		t.Error("a closed journal took a record")
	}
	var seen []journal.Record
	j = reopen(t, l, journal.Options{Visit: func(r journal.Record) error { seen = append(seen, r); return nil }})
	same(t, "digest after opening", j.Digest(), digest)
	same(t, "thread", j.Chain().Thread, thread)
	same(t, "the first record", fmt.Sprintf("%+v", seen[0]), fmt.Sprintf("%+v", first))
	same(t, "the next number", add(t, j, warn("c"), false).Seq, 3)
	same(t, "all", read(t, dir), "[a b c]")
	for _, r := range seen {
		line, err := r.Line()
		must(t, err)
		raw, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
		must(t, err)
		if !bytes.Contains(raw, line) {
			t.Errorf("Line of record %d is not in the file: %s", r.Seq, line)
		}
	}
	if _, err := l.Create(); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second Create: %v", err)
	}
}

func TestAppendRefuses(t *testing.T) {
	_, j := create(t, newDir(t))
	for name, c := range map[string]struct {
		r    journal.Record
		want string
	}{
		"an unknown type":         {journal.Record{Time: start, Type: "rumour", Data: []byte(`{}`)}, "the journal takes no records of type"},
		"a droppable type":        {delta("x"), "the journal takes no records of type"},
		"no payload":              {journal.Record{Time: start, Type: "warning"}, "unexpected end"},
		"an array":                {journal.Record{Time: start, Type: "warning", Data: []byte(`[]`)}, "not an object"},
		"a member too few":        {journal.Record{Time: start, Type: "warning", Data: []byte(`{}`)}, "lacks"},
		"a member too many":       {journal.Record{Time: start, Type: "warning", Data: []byte(`{"text":"x","mood":1}`)}, "mood"},
		"a member twice":          {journal.Record{Time: start, Type: "warning", Data: []byte(`{"text":"x","text":"y"}`)}, "twice"},
		"a number for a text":     {journal.Record{Time: start, Type: "warning", Data: []byte(`{"text":1}`)}, "kind s"},
		"a fraction":              {journal.Record{Time: start, Type: "budget_held", Data: []byte(`{"key":"k","money":1.5,"tokens":1,"epoch":1}`)}, "kind i"},
		"more than an int64":      {journal.Record{Time: start, Type: "budget_held", Data: []byte(`{"key":"k","money":9223372036854775808,"tokens":1,"epoch":1}`)}, "kind i"},
		"no UTF-8":                {journal.Record{Time: start, Type: "warning", Data: []byte("{\"text\":\"\xff\"}")}, "UTF-8"},
		"a turn before the first": {journal.Record{Time: start, Turn: -1, Type: "warning", Data: []byte(`{"text":"x"}`)}, "turn -1"},
		"the year 0":              {journal.Record{Type: "warning", Data: []byte(`{"text":"x"}`)}, "1970"},
		"too deep":                {journal.Record{Time: start, Type: "host_call", Data: []byte(`{"index":0,"name":"n","args":"a","outcome":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`)}, "nested"},
		"no artifact":             {journal.Record{Time: start, Type: "cognition_in", Data: []byte(`{"text_artifact":{"sha256":"x","bytes":1},"role":"user"}`)}, "artifact"},
		"what may not move":       {journal.Record{Time: start, Type: "warning", Data: []byte(`{"text_artifact":{"sha256":"` + strings.Repeat("0", 64) + `","bytes":1}}`)}, "no member"},
		"an artifact and a text":  {journal.Record{Time: start, Type: "cognition_in", Data: []byte(`{"text":"","text_artifact":{"sha256":"` + strings.Repeat("0", 64) + `","bytes":1},"role":"user"}`)}, "twice"},
	} {
		if _, err := j.Append(c.r, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	same(t, "records", j.Chain().Seq, 0)
	add(t, j, completed, false)
	if _, err := j.Append(warn("late"), false); !fault.Is(err, fault.Conflict) {
		t.Errorf("after the end: %v", err)
	}
}

// TestManyAppend: parallel tools write at the same time, and each of their records is there.
func TestManyAppend(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if _, err := j.Append(warn(fmt.Sprint(w, " ", i)), i%4 == 0); err != nil {
					t.Error(err)
				}
				j.Live(delta("x"))
			}
		})
	}
	wg.Wait()
	same(t, "records", len(read(t, dir)), 160)
}

// value reads one member of a record's payload.
func value(dir string, r journal.Record, name string, limit int64) ([]byte, error) {
	p, err := journal.Members(dir, r)
	if err != nil {
		return nil, err
	}
	return p.Value(name, limit)
}

func TestLargeMembersMove(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	long := strings.Repeat("é\n\"", 50_000)
	input := `{"content":` + string(quoted(long)) + `}`
	r := add(t, j, journal.Record{Time: start, Type: "tool_call_start", Data: []byte(`{"tool": "t", "call_id":"c","input":` + input + `}`)}, false)
	out := add(t, j, journal.Record{Time: start, Type: "tool_call_result", Data: []byte(`{"call_id":"c","output":` + string(quoted(long)) + `,"duration_ms":3}`)}, false)
	for _, c := range []struct {
		r          journal.Record
		name, want string
	}{{r, "input", input}, {r, "tool", "t"}, {out, "output", long}, {out, "duration_ms", "3"}} {
		got, err := value(dir, c.r, c.name, 1<<20)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %d bytes, %v, want %d", c.name, len(got), err, len(c.want))
		}
	}
	if len(r.Data) > 300 || len(out.Data) > 300 {
		t.Errorf("payloads of %d and %d bytes: %s", len(r.Data), len(out.Data), out.Data)
	}
	if _, err := value(dir, out, "output", 100); !fault.Is(err, fault.Limit) {
		t.Errorf("beyond the limit: %v", err)
	}
	if _, err := value(dir, out, "error", 100); !fault.Is(err, fault.NotFound) {
		t.Errorf("a missing member: %v", err)
	}
	var p struct {
		A journal.Artifact `json:"output_artifact"`
	}
	must(t, json.Unmarshal(out.Data, &p))
	file := filepath.Join(dir, "artifacts", p.A.SHA256)
	must(t, os.WriteFile(file, []byte(strings.Replace(long, "é", "e!", 1)), 0o600))
	if _, err := value(dir, out, "output", 1<<20); !fault.Is(err, fault.Integrity) {
		t.Errorf("a changed artifact: %v", err)
	}
	if _, err := j.Append(journal.Record{Time: start, Type: "warning", Data: []byte(`{"text":` + string(quoted(strings.Repeat(long, 10))) + `}`)}, false); !fault.Is(err, fault.Limit) {
		t.Errorf("what may not move: %v", err)
	}
	must(t, j.Close())
	reopen(t, l, journal.Options{})
}

func quoted(s string) []byte { b, _ := json.Marshal(s); return b }

func TestKeep(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	a, err := j.Keep(strings.NewReader("hello"), 5)
	must(t, err)
	b, err := j.Keep(strings.NewReader("hello"), 100)
	must(t, err)
	same(t, "the same twice", a, b)
	if _, err := j.Keep(strings.NewReader("hello!"), 5); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v", err)
	}
	same(t, "files", names(t, filepath.Join(dir, "artifacts")), []string{a.SHA256})
	got, err := journal.ReadArtifact(dir, a, 5)
	must(t, err)
	same(t, "content", string(got), "hello")
	for _, bad := range []journal.Artifact{{SHA256: "../journal.jsonl", Bytes: 1}, {SHA256: strings.ToUpper(a.SHA256), Bytes: 5}, {SHA256: a.SHA256, Bytes: -1}} {
		if _, err := journal.ReadArtifact(dir, bad, 5); !fault.Is(err, fault.Malformed) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func names(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	must(tb, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestOnlyPlainFiles: no link is followed, and nobody else's directory is used.
func TestOnlyPlainFiles(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	add(t, j, warn("a"), true)
	must(t, j.Close())
	file, other := filepath.Join(dir, "journal.jsonl"), filepath.Join(t.TempDir(), "journal.jsonl")
	must(t, os.Rename(file, other))
	must(t, os.Symlink(other, file))
	if _, err := l.Open(context.Background(), journal.Options{}); !fault.Is(err, fault.Malformed) {
		t.Errorf("a link for a journal: %v", err)
	}
	if _, _, err := journal.Read(context.Background(), dir, nil); !fault.Is(err, fault.Malformed) {
		t.Errorf("a link for a journal: %v", err)
	}
	must(t, os.Remove(file))
	must(t, os.Rename(other, file))
	link := filepath.Join(t.TempDir(), thread)
	must(t, os.Symlink(dir, link))
	if _, _, err := journal.Read(context.Background(), link, nil); !fault.Is(err, fault.Malformed) {
		t.Errorf("a link to a directory: %v", err)
	}
	must(t, os.Chmod(dir, 0o750))
	if _, _, err := journal.Read(context.Background(), dir, nil); !fault.Is(err, fault.Auth) {
		t.Errorf("a directory that others may enter: %v", err)
	}
	must(t, os.Chmod(dir, 0o700))
	if os.Geteuid() == 0 {
		must(t, os.Chown(dir, 61_238, -1))
		if _, err := journal.Take(dir, start); !fault.Is(err, fault.Auth) {
			t.Errorf("a directory of somebody else: %v", err)
		}
		must(t, os.Chown(dir, 0, -1))
	}
	must(t, l.Release())
	must(t, os.Remove(filepath.Join(dir, "lease")))
	must(t, os.Symlink(filepath.Join(t.TempDir(), "made"), filepath.Join(dir, "lease")))
	if _, err := journal.Take(dir, start); !fault.Is(err, fault.Malformed) {
		t.Errorf("a link for a lease: %v", err)
	}
	for _, name := range names(t, dir) {
		st, err := os.Lstat(filepath.Join(dir, name))
		must(t, err)
		if st.Mode().Perm()&0o077 != 0 && st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s has the mode %v", name, st.Mode())
		}
	}
}

// TestNeverWritten: a thread that died before its first record begins with it.
func TestNeverWritten(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	must(t, j.Close())
	j = reopen(t, l, journal.Options{})
	same(t, "the first", add(t, j, warn("a"), true).Thread, thread)
	if err := journal.Make(filepath.Join(t.TempDir(), "weather")); !fault.Is(err, fault.Malformed) {
		t.Errorf("a directory whose name is no id: %v", err)
	}
	other := filepath.Join(t.TempDir(), "01kdyak348041061050r3gg28b")
	must(t, os.Rename(dir, other))
	if _, _, err := journal.Read(context.Background(), other, nil); !fault.Is(err, fault.Integrity) {
		t.Errorf("a journal of another thread: %v", err)
	}
}

var errStop = errors.New("stop")

func TestVisitStops(t *testing.T) {
	dir := newDir(t)
	l, j := create(t, dir)
	add(t, j, warn("a"), false)
	must(t, j.Close())
	stop := func(journal.Record) error { return errStop }
	if _, err := l.Open(context.Background(), journal.Options{Visit: stop}); !errors.Is(err, errStop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errStop)
	if _, err := l.Open(ctx, journal.Options{}); !errors.Is(err, errStop) {
		t.Error(err)
	}
}

func TestNewID(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		rnd  [10]byte
		want string
	}{
		{time.UnixMilli(0), [10]byte{}, "00000000000000000000000000"},
		{time.UnixMilli(-5), [10]byte{}, "00000000000000000000000000"},
		{time.UnixMilli(1<<48 - 1), [10]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, "7zzzzzzzzzzzzzzzzzzzzzzzzz"},
		{time.UnixMilli(1469918176385), [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "01aryz6s41041061050r3gg28a"},
	} {
		got := journal.NewID(c.at, c.rnd)
		same(t, "id", got, c.want)
		if !journal.ValidID(got) {
			t.Errorf("%s is not valid", got)
		}
	}
	for _, bad := range []string{"", "01arz3ndek04106105070g248", "81arz3ndek04106105070g248a", "01ARZ3NDEK04106105070G248A", "01arz3ndek04106105070g248u", "../arz3ndek04106105070g248"} {
		if journal.ValidID(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
}

// TestReadWhileWritten reads a journal that grows meanwhile: half a line or a new one behind
// what was read is no damage.
func TestReadWhileWritten(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 20_000 && err == nil; i++ {
			_, err = j.Append(warn("some text"), false)
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			must(t, err)
			return
		default:
			_, _, err := journal.Read(context.Background(), dir, nil)
			must(t, err)
		}
	}
}

func TestLast(t *testing.T) {
	dir := newDir(t)
	_, j := create(t, dir)
	if r, err := journal.Last(dir); err != nil || r.Seq != 0 {
		t.Errorf("of an empty journal: record %d, %v", r.Seq, err)
	}
	for n := range 3 {
		add(t, j, warn(strings.Repeat("x", n*1000)), false)
		r, err := journal.Last(dir)
		must(t, err)
		same(t, "last", r.Seq, int64(n+1))
	}
	file := filepath.Join(dir, "journal.jsonl")
	raw, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(raw, `{"seq":4,"ti`...), 0o600))
	r, err := journal.Last(dir)
	must(t, err)
	same(t, "last before a torn one", r.Seq, int64(3))
	must(t, os.WriteFile(file, append(raw, "nothing\n"...), 0o600))
	if _, err = journal.Last(dir); !fault.Is(err, fault.Integrity) {
		t.Errorf("a line that is no record gave %v, want %s", err, fault.Integrity)
	}
}
