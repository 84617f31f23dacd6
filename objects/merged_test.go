package objects_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

type mergedVector struct {
	Name string `json:"name"`
	Path string `json:"path"`
	File string `json:"file"`
	Body string `json:"body,omitempty"` // without the merge line
	Is   string `json:"is"`             // merged, text, malformed
}

// TestMergedVectors reads testdata/vectors/merged.json, which docs/format/signature.md names.
func TestMergedVectors(t *testing.T) {
	raw, err := os.ReadFile("../testdata/vectors/merged.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []mergedVector
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		body, sig, legacy, err := objects.Split(v.Path, []byte(v.File))
		switch v.Is {
		case "malformed":
			if !fault.Is(err, fault.Malformed) {
				t.Errorf("%s: %v, want malformed", v.Name, err)
			}
			continue
		case "text":
			v.Body = v.File
		}
		if err != nil || sig != nil || legacy != nil || string(body) != v.Body {
			t.Errorf("%s: body %q, signature %v, %v; want %q, unsigned", v.Name, body, sig, err, v.Body)
		}
		_, m, ok := objects.SplitMerged(v.Path, []byte(v.File))
		if ok != (v.Is == "merged") {
			t.Errorf("%s: a merge line: %v", v.Name, ok)
		}
		if again, put := objects.WithMerged(v.Path, body, m); ok && (!put || string(again) != v.File) {
			t.Errorf("%s: %q, want %q", v.Name, again, v.File)
		}
	}
}

// TestMergedIsNotSigned: a merge line neither survives a signature nor hides below one.
func TestMergedIsNotSigned(t *testing.T) {
	const p = "tools/acme/hello.py"
	body := []byte("__version__ = \"1.0.0\"\n")
	k := testKey(seedPhrase)
	ref, ext, _ := objects.RefOfPath(p)
	merged, ok := objects.WithMerged(p, body, objects.MergeLine{Ours: objects.DigestOf(body)})
	if !ok {
		t.Fatal("no merge line")
	}
	it, err := objects.Parse(p, merged)
	if err != nil || it.Merged == nil || it.Signature != nil || !bytes.Equal(it.Body, body) {
		t.Fatalf("%+v, %v", it, err)
	}
	signed, err := objects.WithSignature(p, it.Body, sign(t, k, ref, strings.TrimPrefix(ext, "."), "1.0.0", "", body, noon))
	if err != nil || bytes.Contains(signed, []byte("rye:merged")) {
		t.Fatalf("%q, %v", signed, err)
	}
	line := merged[:len(merged)-len(body)]
	if _, err := objects.Parse(p, append(bytes.Clone(line), signed...)); !fault.Is(err, fault.Malformed) {
		t.Errorf("140 bytes that nobody signed stand above a signature: %v", err)
	}
	at := bytes.IndexByte(signed, '\n') + 1
	below := append(append(bytes.Clone(signed[:at]), line...), signed[at:]...)
	if it, err := objects.Parse(p, below); err != nil || it.Merged != nil || it.Digest == it.Signature.Digest {
		t.Errorf("a merge line below a signature is text that the signature does not cover: %+v, %v", it, err)
	}
}

// TestConflict: git's marks are a conflict, unless a signature fits the file or they are an
// example.
func TestConflict(t *testing.T) {
	marks := "<<<<<<< ours\na = 1\n=======\na = 2\n>>>>>>> theirs\n"
	py := "__version__ = \"1.0.0\"\n"
	for _, c := range []struct {
		name, path, text string
		line             int // 0 for none
	}{
		{"plain", "tools/a/b.py", py + marks, 2},
		{"CR LF", "tools/a/b.py", py + strings.ReplaceAll(marks, "\n", "\r\n"), 2},
		{"longer marks", "tools/a/b.py", py + strings.NewReplacer("<<<<<<<", "<<<<<<<<<", "=======", "=========", ">>>>>>>", ">>>>>>>>>").Replace(marks), 2},
		{"short marks", "tools/a/b.py", py + strings.NewReplacer("<<<<<<<", "<<<", "=======", "===", ">>>>>>>", ">>>").Replace(marks), 2},
		{"with the base", "tools/a/b.py", py + strings.Replace(marks, "=======", "||||||| base\na = 0\n=======", 1), 2},
		{"two signature lines", "tools/a/b.py", "<<<<<<< HEAD\n# rye:signed:v2:x\n=======\n# rye:signed:v2:y\n>>>>>>> b\n" + py, 1},
		{"broken YAML", "config/a/b.yaml", "a: 1\n" + marks, 2},
		{"no end", "tools/a/b.py", py + "<<<<<<< ours\na = 1\n=======\n", 0},
		{"marks of two lengths", "tools/a/b.py", py + strings.Replace(marks, "=======", "========", 1), 0},
		{"an example in a fence", "knowledge/a/b.md", "```\n" + marks + "```\n", 0},
		{"a heading", "knowledge/a/b.md", "Title\n=======\n", 0},
	} {
		_, err := objects.Parse(c.path, []byte(c.text))
		var got *objects.ConflictError
		if errors.As(err, &got) != (c.line > 0) || got != nil && got.Line != c.line || got != nil && !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v, want a conflict in line %d", c.name, err, c.line)
		}
	}
	const p = "tools/a/b.py"
	ref, _, _ := objects.RefOfPath(p)
	text := []byte(py + "x = '''\n" + marks + "'''\n")
	signed, err := objects.WithSignature(p, text, sign(t, testKey(seedPhrase), ref, "py", "1.0.0", "", text, noon))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Parse(p, signed); err != nil {
		t.Errorf("a signed text with marks: %v", err)
	}
	if _, err := objects.Parse(p, append(signed, "\n"...)); !fault.Is(err, fault.Conflict) {
		t.Errorf("marks below a signature that does not fit: %v", err)
	}
}

// FuzzMerged: what is taken out of a file can be put back, byte for byte.
func FuzzMerged(f *testing.F) {
	line := objects.MergeLine{}.Line()
	f.Add("tools/a/b.py", "# "+line+"\nx\n")
	f.Add("tools/a/b.sh", "#!/bin/sh\n# "+line+"\n")
	f.Add("knowledge/a/b.md", "---\n---\n<!-- "+line+" -->\n")
	f.Add("tools/a/b.py", "<<<<<<<\n=======\n>>>>>>>\n")
	f.Fuzz(func(t *testing.T, p, raw string) {
		body, m, ok := objects.SplitMerged(p, []byte(raw))
		if !ok {
			return
		}
		if again, put := objects.WithMerged(p, body, m); !put || string(again) != raw {
			t.Fatalf("%q: %q, want %q", p, again, raw)
		}
		if got, _, _, err := objects.Split(p, []byte(raw)); err == nil && len(got) < len(body) {
			t.Fatalf("%q: Split takes more out: %q", raw, got)
		}
	})
}
