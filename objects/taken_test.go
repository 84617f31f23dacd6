package objects_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func takenLine() objects.Taken {
	t := objects.Taken{Ref: objects.Ref{Kind: objects.Tool, ID: "acme/hello"}, Digest: objects.DigestOf([]byte("x")), At: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	t.Sig[0], t.Key[31] = 1, 2
	return t
}

func TestTakenLines(t *testing.T) {
	good := takenLine().Line()
	all, err := objects.ParseTakenFile([]byte(good + "\n" + good + "\n"))
	if err != nil || len(all) != 1 || all[0] != takenLine() {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err := objects.ParseTakenFile(nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	for name, text := range map[string]string{
		"no line feed":         good,
		"an empty line":        good + "\n\n",
		"carriage returns":     good + "\r\n",
		"another version":      strings.Replace(good, "denied:v1", "denied:v2", 1) + "\n",
		"no ref":               strings.Replace(good, "tool:acme/hello", "", 1) + "\n",
		"another spelling":     strings.Replace(good, "tool:acme/hello", "tool acme/hello", 1) + "\n",
		"a capital digit":      strings.Replace(good, "2d71", "2D71", 1) + "\n",
		"a time with a zone":   strings.Replace(good, "12:00:00Z", "12:00:00+", 1) + "\n",
		"no such day":          strings.Replace(good, "2026-01-31", "2026-02-31", 1) + "\n",
		"a bit too much":       good + "A\n",
		"a conflict of git's":  "<<<<<<< HEAD\n" + good + "\n",
		"a signature of stars": strings.Replace(good, "AQAA", "****", 1) + "\n",
	} {
		if text == good+"\n" {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := objects.ParseTakenFile([]byte(text)); !fault.Is(err, fault.Malformed) || fault.HintOf(err).IsZero() {
			t.Errorf("%s: %v, want malformed and what to do", name, err)
		}
	}
	if _, err := objects.ParseTakenFile([]byte(strings.Repeat(good+"\n", objects.MaxTakenLines+1))[:objects.MaxTakenFile+1]); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v", err)
	}
}

// takenVector is one line, with everything that it is made of.
type takenVector struct {
	Name    string `json:"name"`
	Ref     string `json:"ref"`
	Digest  string `json:"digest"`
	At      string `json:"at"`
	Project string `json:"project"` // the genesis id; only items of local/ bind it
	Key     string `json:"key"`
	Message string `json:"message"`
	Line    string `json:"line"`
}

// TestTakenVectors: the bytes that are signed, and the lines, follow from what they say.
func TestTakenVectors(t *testing.T) {
	const file = "../testdata/vectors/denied-v1.json"
	k := testKey(seedPhrase)
	const genesis = "0123456789abcdef0123456789abcdef"
	inputs := []takenVector{
		{Name: "a tool", Ref: "tool:acme/hello", Project: genesis},
		{Name: "a directive, deep", Ref: "directive:acme/release/notes", Project: genesis},
		{Name: "local, in a project", Ref: "tool:local/build", Project: genesis},
		{Name: "local, in the user space", Ref: "tool:local/build"},
	}
	for i := range inputs {
		v := &inputs[i]
		ref, err := objects.ParseRef(v.Ref)
		if err != nil {
			t.Fatal(err)
		}
		l := objects.Taken{Ref: ref, Digest: objects.DigestOf([]byte(v.Name)), At: noon, Key: fingerprint(k)}
		msg := l.Message(v.Project)
		copy(l.Sig[:], ed25519.Sign(k, msg))
		v.Digest, v.At, v.Key, v.Message, v.Line = l.Digest.String(), l.At.Format(time.RFC3339), l.Key.String(), string(msg), l.Line()
		if all, err := objects.ParseTakenFile([]byte(v.Line + "\n")); err != nil || len(all) != 1 || all[0] != l {
			t.Errorf("%s: %v, %v", v.Name, all, err)
		}
	}
	if string(inputs[2].Message) == inputs[3].Message {
		t.Error("an item of local/ does not bind its project")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(inputs); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("vectors differ from %s", file)
	}
	page, err := os.ReadFile("../docs/format/denied.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{inputs[0].Message, inputs[0].Line} {
		if !strings.Contains(string(page), "    "+text+"\n") {
			t.Errorf("docs/format/denied.md lacks the example\n%s", text)
		}
	}
}

func FuzzTaken(f *testing.F) {
	f.Add([]byte(takenLine().Line() + "\n"))
	f.Add([]byte("rye:denied:v1:tool:acme/hello:\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := objects.ParseTakenFile(raw)
		if err != nil {
			return
		}
		for _, l := range all {
			if !bytes.Contains(raw, []byte(l.Line()+"\n")) {
				t.Errorf("%q gives %q", raw, l.Line())
			}
		}
		again, err := objects.ParseTakenFile(objects.EncodeTakenFile(all))
		if err != nil || len(again) != len(all) {
			t.Errorf("encoded and read again: %d of %d, %v", len(again), len(all), err)
		}
	})
}
