package objects_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"slices"
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
	all, faults := objects.ParseTakenFile([]byte(good + "\n" + good + "\n"))
	if len(faults) != 0 || len(all) != 1 || all[0] != takenLine() {
		t.Fatalf("%v, %v", all, faults)
	}
	if all, faults := objects.ParseTakenFile(nil); len(all)+len(faults) != 0 {
		t.Errorf("an empty file: %v, %v", all, faults)
	}
	other := takenLine()
	other.Digest[0]++
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
		all, faults := objects.ParseTakenFile([]byte(other.Line() + "\n" + text))
		if len(faults) != 1 || faults[0].Line < 2 || faults[0].Why == "" {
			t.Errorf("%s: %v, want one fault and what is wrong", name, faults)
		}
		if len(all) == 0 || all[0] != other {
			t.Errorf("%s takes the line before it its effect: %v", name, all)
		}
		x := objects.NewTakenIndex([]byte(text))
		if got := len(x.Find(takenLine().Digest)) == 1; got != strings.HasPrefix(strings.TrimPrefix(text, "<<<<<<< HEAD\n"), good+"\n") {
			t.Errorf("%s: found by its digest: %v", name, got)
		}
	}
}

// TestTakenKept: lines are found among others by their digest, whatever their lengths; a
// text that rye did not write is refused.
func TestTakenKept(t *testing.T) {
	var all []objects.Taken
	for i := range 257 {
		l := takenLine()
		l.Digest, l.Key[0] = objects.DigestOf([]byte{byte(i / 2)}), byte(i)
		l.Ref.ID = objects.ID("acme/" + strings.Repeat("x", 1+i%90))
		all = append(all, l)
	}
	for n := range len(all) {
		raw := objects.EncodeTakenKept(all[:n])
		for i := range 130 {
			d := objects.DigestOf([]byte{byte(i)})
			got, err := objects.FindTakenKept(raw, d)
			want := 0
			for _, l := range all[:n] {
				if l.Digest == d {
					want++
				}
			}
			if err != nil || len(got) != want {
				t.Fatalf("%d lines, digest %d: %d, %v, want %d", n, i, len(got), err, want)
			}
		}
		if back, err := objects.ParseTakenKept(raw); err != nil || len(back) != n {
			t.Fatalf("%d lines read again: %d, %v", n, len(back), err)
		}
	}
	raw := objects.EncodeTakenKept(all)
	for name, bad := range map[string][]byte{"cut": raw[:len(raw)-1], "a note": append([]byte("# a note\n"), raw...), "unsorted": append(bytes.Clone(raw), raw...)} {
		if _, err := objects.ParseTakenKept(bad); !fault.Is(err, fault.Integrity) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := objects.FindTakenKept([]byte("# a note\n"), all[0].Digest); !fault.Is(err, fault.Integrity) {
		t.Errorf("a note: %v", err)
	}
}

// TestAddTaken: a line is added to what is there, and no line is lost.
func TestAddTaken(t *testing.T) {
	l := takenLine()
	for was, want := range map[string]string{
		"":                      l.Line() + "\n",
		l.Line() + "\n":         l.Line() + "\n",
		"rye:denied:v9:x":       l.Line() + "\nrye:denied:v9:x\n",
		"# note\n# note\nzzz\n": "# note\n" + l.Line() + "\nzzz\n",
	} {
		if got := string(objects.AddTaken([]byte(was), l)); got != want {
			t.Errorf("AddTaken(%q) = %q, want %q", was, got, want)
		}
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
		if all, err := objects.ParseTakenFile([]byte(v.Line + "\n")); len(err) != 0 || len(all) != 1 || all[0] != l {
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
		all, _ := objects.ParseTakenFile(raw)
		x := objects.NewTakenIndex(raw)
		for _, l := range all {
			if !bytes.Contains(raw, []byte(l.Line()+"\n")) {
				t.Errorf("%q gives %q", raw, l.Line())
			}
			if !slices.Contains(x.Find(l.Digest), l) {
				t.Errorf("the index does not find %q", l.Line())
			}
		}
		again, err := objects.ParseTakenKept(objects.EncodeTakenKept(all))
		if err != nil || len(again) != len(all) {
			t.Errorf("encoded and read again: %d of %d, %v", len(again), len(all), err)
		}
		objects.FindTakenKept(raw, objects.DigestOf(raw)) // ends
	})
}
