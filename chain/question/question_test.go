package question

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var update = flag.Bool("update", false, "write testdata/vectors/question.json anew")

const vectorsPath = "../../testdata/vectors/question.json"

var asked1 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func example() Question {
	return Question{
		ID: NewID(asked1, [10]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), Asked: asked1, Expires: asked1.Add(24 * time.Hour), Caller: "mcp",
		Directory: "/home/ann/weather", Place: consent.Place{Key: "ir2mox3abninco7cpxgravbxq7gajtfotuynimsuvxkgogoyvysq", Inode: 1835041, Born: 1767323045000000001},
		Subject: objects.DigestOf([]byte("what would happen")), Topic: "execute tool:acme/deploy", Text: "Run it?",
		Lines: []string{"asked by     mcp", `parameter    to = "<staging>"`},
	}
}

func outside() Question {
	return Question{ID: NewID(time.UnixMilli(0), [10]byte{}), Asked: asked1, Expires: asked1.Add(time.Minute), Caller: "robot", Subject: objects.DigestOf(nil), Topic: "sign"}
}

type vector struct {
	Name   string `json:"name"`
	Record string `json:"record"`
	Digest string `json:"digest"`
	Yes    string `json:"yes"`
	No     string `json:"no"`
}

func TestVectors(t *testing.T) {
	var is []vector
	for name, q := range map[string]Question{"a run": example()} {
		is = append(is, vectorOf(name, q))
	}
	is = append(is, vectorOf("outside of every project", outside()))
	raw, err := json.MarshalIndent(is, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, '\n')
	if *update {
		if err := os.WriteFile(vectorsPath, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(vectorsPath)
	if err != nil || !bytes.Equal(raw, want) {
		t.Errorf("the vectors are\n%s%v", raw, err)
	}
	page, err := os.ReadFile("../../docs/format/question.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{is[0].Record, is[0].Yes, is[0].Digest} {
		if !strings.Contains(string(page), text) {
			t.Errorf("docs/format/question.md does not show %s", text)
		}
	}
}

func vectorOf(name string, q Question) vector {
	return vector{name, string(q.Encode()), q.Digest().String(),
		string(Answer{true, asked1.Add(time.Minute), q.Digest()}.Encode()), string(Answer{false, asked1.Add(time.Minute), q.Digest()}.Encode())}
}

// Everything that is shown, and everything that it is about, is part of what an answer is for.
func TestDigestCoversAllThatIsShown(t *testing.T) {
	was := example().Digest()
	for name, change := range map[string]func(*Question){
		"caller":    func(q *Question) { q.Caller = "robot" },
		"directory": func(q *Question) { q.Directory += "2" },
		"place":     func(q *Question) { q.Place.Key += "2" },
		"inode":     func(q *Question) { q.Place.Inode++ },
		"born":      func(q *Question) { q.Place.Born++ },
		"subject":   func(q *Question) { q.Subject = objects.DigestOf(nil) },
		"topic":     func(q *Question) { q.Topic = "sign" },
		"text":      func(q *Question) { q.Text = "Sign it?" },
		"a line":    func(q *Question) { q.Lines = append([]string{"x"}, q.Lines...) },
		"no lines":  func(q *Question) { q.Lines = nil },
	} {
		q := example()
		change(&q)
		if q.Digest() == was {
			t.Errorf("another %s has the same digest", name)
		}
	}
	q := example()
	q.ID, q.Asked, q.Expires = NewID(asked1, [10]byte{}), asked1.Add(1), asked1.Add(time.Hour)
	if q.Digest() != was {
		t.Error("the same, asked later, has another digest")
	}
}

func TestRefused(t *testing.T) {
	good := string(example().Encode())
	for name, change := range map[string][2]string{
		"another line":    {"<staging>", "production"},
		"another caller":  {`"caller":"mcp"`, `"caller":"mcq"`},
		"another digest":  {`"digest":"sha256:`, `"digest":"sha256:0`},
		"no version":      {`,"v":1`, ""},
		"a later version": {`"v":1`, `"v":2`},
		"a field more":    {`"v":1`, `"v":1,"yes":true`},
		"a space":         {`{"asked"`, `{ "asked"`},
		"an escape":       {"weather", `w\u0065ather`},
		"another id":      {`"id":"0`, `"id":"8`},
		"a path as id":    {`"id":"0`, `"id":"../`},
		"another zone":    {"04:05Z", "04:05+00:00"},
		"another number":  {`"inode":"1835041"`, `"inode":"01835041"`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s changes nothing", name)
		}
		if q, err := Parse([]byte(bad)); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
	}
	yes := string(Answer{true, asked1, example().Digest()}.Encode())
	for _, change := range [][2]string{{`"yes"`, `"Yes"`}, {`"yes"`, `"y"`}, {`"v":1`, `"v":2`}, {"}", "} "}, {"sha256:", "sha256:x"}, {"2026", "26"}} {
		if a, err := ParseAnswer([]byte(strings.Replace(yes, change[0], change[1], 1))); !fault.Is(err, fault.Malformed) {
			t.Errorf("%q: %+v, %v", change, a, err)
		}
	}
}

func TestIDsAreInTheOrderOfAsking(t *testing.T) {
	last := ""
	for i := range 2000 {
		id := NewID(asked1.Add(time.Duration(i)*time.Millisecond), [10]byte{byte(255 - i)})
		if !ValidID(id) || id <= last {
			t.Fatalf("id %q after %q", id, last)
		}
		last = id
	}
	for _, id := range []string{"", "x", strings.Repeat("i", 26), strings.Repeat("8", 26), strings.Repeat("0", 27), strings.ToUpper(example().ID), "../../../../etc/passwd.json"} {
		if ValidID(id) {
			t.Errorf("%q is taken for an id", id)
		}
	}
}

func FuzzQuestion(f *testing.F) {
	f.Add(example().Encode())
	f.Add(outside().Encode())
	f.Add(Answer{true, asked1, example().Digest()}.Encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if q, err := Parse(raw); err == nil && !bytes.Equal(q.Encode(), raw) {
			t.Errorf("%q is read as %q", raw, q.Encode())
		}
		if a, err := ParseAnswer(raw); err == nil && !bytes.Equal(a.Encode(), raw) {
			t.Errorf("%q is read as %q", raw, a.Encode())
		}
	})
}
