package journal

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite the vectors")

const (
	formatPage = "../../docs/format/transcript.md"
	vectorFile = "../../testdata/vectors/transcript.json"
)

func init() { testOnlyLookEvery = time.Hour }

// TestFormatPage: the page has the types of the table, and each as it stands there.
func TestFormatPage(t *testing.T) {
	page, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(string(page)) {
		if c := strings.Split(line, "|"); len(c) == 6 && strings.HasPrefix(c[3], " `") {
			said = append(said, strings.Join(strings.Fields(strings.ReplaceAll(c[1]+c[2]+c[3], "`", "")), " "))
		}
	}
	var want []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		want = append(want, strings.Join(strings.Fields(line), " "))
	}
	slices.Sort(said)
	slices.Sort(want)
	for i := range max(len(said), len(want)) {
		if i >= len(said) || i >= len(want) || said[i] != want[i] {
			t.Fatalf("the page says  %q\nthe table says %q", said[min(i, len(said)-1)], want[min(i, len(want)-1)])
		}
	}
	for _, line := range testkit.ReadJSON[vectors](t, vectorFile).examples() {
		if flat := strings.ReplaceAll(string(page), "\n     ", ""); !strings.Contains(flat, line) {
			t.Errorf("the page lacks the example\n%s", line)
		}
	}
}

// vectors is testdata/vectors/transcript.json.
type vectors struct {
	Thread  string    `json:"thread"`
	Lines   []string  `json:"lines"` // of journal.jsonl, without newlines
	Digest  string    `json:"digest"`
	Refused []refused `json:"refused"` // instead of the line with that index
	Live    []string  `json:"live"`
	Message struct {
		File   string `json:"file"`
		Signed string `json:"signed"`
	} `json:"message"`
	Messages []string `json:"refused_messages"`
	Lease    string   `json:"lease"` // a slot
}

type refused struct {
	Why  string `json:"why"`
	At   int    `json:"at"`
	Line string `json:"line"`
}

// examples are the lines that the page shows.
func (v vectors) examples() []string { return []string{v.Lines[1], v.Live[0], v.Message.File} }

func TestVectors(t *testing.T) {
	if *update {
		writeVectors(t)
	}
	v := testkit.ReadJSON[vectors](t, vectorFile)
	c := Chain{Thread: v.Thread}
	for i, line := range v.Lines {
		for _, bad := range v.Refused {
			if next := c; bad.At == i {
				if r, err := next.Next([]byte(bad.Line)); err == nil {
					t.Errorf("%s: taken as %+v", bad.Why, r)
				}
			}
		}
		before := c
		r, err := c.Next([]byte(line))
		if err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if again, _, err := before.Add(r); err != nil || string(again) != line+"\n" {
			t.Errorf("line %d is written as %q, %v", i, again, err)
		}
	}
	if got := hexOf(c.Sum[:]); got != v.Digest || !c.Ended {
		t.Errorf("digest %s, want %s; ended %v", got, v.Digest, c.Ended)
	}
	for _, line := range v.Live {
		r, err := parseLive([]byte(line))
		if back, lerr := r.Line(); err != nil || lerr != nil || string(back) != line+"\n" {
			t.Errorf("%s is written as %s, %v", line, back, err)
		}
	}
	m, err := ParseMessage([]byte(v.Message.File))
	if err != nil || string(m.Signed()) != v.Message.Signed {
		t.Errorf("message: signed %q, want %q, %v", m.Signed(), v.Message.Signed, err)
	}
	for _, file := range v.Messages {
		if m, err := ParseMessage([]byte(file)); err == nil {
			t.Errorf("%s: taken as %+v", file, m)
		}
	}
	if h, err := parseSlot([]byte(v.Lease)); err != nil || h.Epoch != 3 || h.PID != 4711 {
		t.Errorf("lease: %+v, %v", h, err)
	}
}

func writeVectors(t *testing.T) {
	t.Helper()
	const thread = "01kdyak348041061050r3gg28a"
	start := time.Date(2026, 1, 2, 3, 4, 5, 123456000, time.UTC)
	v := vectors{Thread: thread}
	c := Chain{Thread: thread}
	for i, r := range []Record{
		{Type: "thread_started", Data: []byte(`{"directive":"directive:acme/greet","model":"small","epoch":1}`)},
		{Turn: 1, Type: "cognition_in", Data: []byte(`{"text":"Hello.","role":"user"}`)},
		{Turn: 1, Type: "host_call", Data: []byte(`{"index":0,"name":"now","args":"` + strings.Repeat("0", 64) + `","outcome":[1.5e3,null,{"a":1,"a":"\u00e9é"}]}`)},
		{Turn: 1, Type: Completed, Data: []byte(`{"cost":{}}`)},
	} {
		r.Time = start.Add(time.Duration(i) * time.Second)
		line, _, err := c.Add(r)
		if err != nil {
			t.Fatal(err)
		}
		v.Lines = append(v.Lines, strings.TrimSuffix(string(line), "\n"))
	}
	v.Digest = hexOf(c.Sum[:])
	v.refuse("the line after it", 1, v.Lines[2])
	v.refuse("the line before it, again", 1, v.Lines[0])
	for _, f := range [][3]string{
		{"a byte that is another", "Hello", "hello"}, {"a sum that is another", `"sum":"`, `"sum":"0`},
	} {
		v.refuse(f[0], 1, strings.Replace(v.Lines[1], f[1], f[2], 1))
	}
	for _, f := range [][3]string{ // with the sum that they would need
		{"a gap", `"seq":2`, `"seq":3`}, {"another thread", thread, "01kdyak348041061050r3gg28b"}, {"a space", `"seq":2`, `"seq": 2`},
		{"a time without its six digits", ".123456Z", ".12Z"}, {"a droppable type", "cognition_in", "progress"}, {"a member of the payload twice", `"role":"user"`, `"role":"user","role":"user"`},
		{"an order that is another", `"turn":1,"event_type":"cognition_in"`, `"event_type":"cognition_in","turn":1`}, {"a name in upper case", `"role"`, `"Role"`},
	} {
		before := Chain{Thread: thread}
		if _, err := before.Next([]byte(v.Lines[0])); err != nil {
			t.Fatal(err)
		}
		body, _, _ := strings.Cut(strings.Replace(v.Lines[1], f[1], f[2], 1), sumHead)
		sum := link(before.Sum, []byte(body))
		v.refuse(f[0], 1, body+sumHead+hexOf(sum[:])+`"}`)
	}
	live, err := Record{Seq: 2, Time: time.Date(2026, 1, 2, 3, 4, 7, 0, time.UTC), Thread: thread, Turn: 1, Type: "progress", Data: []byte(`{"text":"half of it"}`), Live: true}.Line()
	if err != nil {
		t.Fatal(err)
	}
	v.Live = []string{strings.TrimSuffix(string(live), "\n")}
	sent := time.Date(2026, 1, 2, 3, 4, 8, 0, time.UTC)
	m := Message{ID: NewID(sent, [10]byte{1, 2, 3, 4, 5, 0x86, 0x18, 0x8c, 0x52, 0xb0}), Thread: thread, From: "ann", Kind: KindMessage, Sent: sent, Text: "Hurry up.", Sig: "…"}
	v.Message.File, v.Message.Signed = string(m.Encode()), string(m.Signed())
	for _, f := range [][2]string{
		{`"v":1`, `"v":2`}, {`"v":1`, `"v":1,"w":1`}, {`"from":`, `"From":`}, {`"kind":"message"`, `"kind":"order"`}, {`"sig":"…",`, ``}, {`{"from"`, `{ "from"`},
		{`"ann"`, `"a\u006en"`}, {`08Z`, `08.5Z`}, {`"text":"Hurry up."`, `"text":""`}, {`{"from":"ann"`, `{"answer":"yes","from":"ann"`}, {`"v":1}`, `"v":1}{}`},
	} {
		v.Messages = append(v.Messages, strings.Replace(v.Message.File, f[0], f[1], 1))
	}
	v.Lease = string(Holder{3, 4711, 8923745, "0f3b1a52-6f0e-4c1d-9a57-2f6c1d0e8b34", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}.slot())
	raw, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = os.WriteFile(vectorFile, append(raw, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (v *vectors) refuse(why string, at int, line string) {
	v.Refused = append(v.Refused, refused{why, at, line})
}

// TestSyncFails: when the disk did not take what was written, nobody knows what it holds, and
// nothing more is written.
func TestSyncFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "01kdyak348041061050r3gg28a")
	if err := Make(dir); err != nil {
		t.Fatal(err)
	}
	l, err := Take(dir, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	j, err := l.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	r, w, err := os.Pipe() // which takes what is written, and has no disk
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	good := j.file
	j.file = w
	warning := Record{Time: time.Unix(0, 0), Type: "warning", Data: []byte(`{"text":"x"}`)}
	if _, err := j.Append(warning, true); err == nil {
		t.Error("a sync that failed was not told")
	}
	j.file = good
	if _, err := good.Write(make([]byte, j.size)); err != nil { // all else is as it should be
		t.Fatal(err)
	}
	for _, sync := range []bool{true, false} {
		if _, err := j.Append(warning, sync); err == nil {
			t.Error("a record after a sync that failed")
		}
	}
	if err := j.Sync(); err == nil {
		t.Error("a second sync said that all is well")
	}
}
