package objects_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

var fuzzPaths = []string{
	"tools/a/x.py", "tools/a/x.sh", "tools/a/x.js", "tools/a/x.yaml", "tools/a/x.json", "tools/a/x.lua", "tools/a/x.xml",
	"directives/a/x.md", "knowledge/a/x.md", "knowledge/a/x.yaml", "config/a/x.yaml",
}

// seeds adds the golden items to a corpus.
func seeds(f *testing.F, add func(path int, raw []byte)) {
	files, _ := filepath.Glob("testdata/*/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "-- want --\n")
		_, item, _ := strings.Cut(head, "-- ")
		path, raw, _ := strings.Cut(item, " --\n")
		for i, p := range fuzzPaths {
			if filepath.Ext(p) == filepath.Ext(path) && p[:2] == path[:2] {
				add(i, []byte(raw))
			}
		}
	}
	line := objects.Signature{SignedAt: noon}.Line()
	later := "ryeos:signed:2026-08-20T10:00:00Z:" + strings.Repeat("0a", 32) + ":" + strings.Repeat("A", 86) + "==:" + strings.Repeat("0b", 32)
	for i := range fuzzPaths {
		add(i, []byte("# "+line+"\nversion: 1.0.0\n"))
		add(i, []byte("---\ntitle: x\n---\n<!-- "+line+" -->\n"))
		add(i, []byte("#!/bin/sh\n# "+later+"\nversion: 1.0.0\n"))
		add(i, []byte("<!-- "+later+" -->\n---\ntitle: x\n---\n"))
	}
}

// Splitting and putting together again gives the same file, and what Split
// leaves can be signed.
// misplaced moves the line of a file in which only its place is wrong.
func misplaced(t *testing.T, path string, raw []byte) {
	body, sig, ok := objects.Misplaced(path, raw)
	if !ok {
		return
	}
	if _, s, l, err := objects.Split(path, body); err != nil || s != nil || l != nil {
		t.Fatalf("without its line: %v, %v, %v", s, l, err)
	}
	moved, err := objects.WithSignature(path, body, *sig)
	if err != nil || len(moved) != len(raw) {
		t.Fatalf("moved: %v, %d bytes of %d", err, len(moved), len(raw))
	}
	if _, s, _, err := objects.Split(path, moved); err != nil || *s != *sig {
		t.Fatalf("moved: %v", err)
	}
}

func FuzzSplit(f *testing.F) {
	seeds(f, func(i int, raw []byte) {
		f.Add(i, raw)
		f.Add(i, slices.Concat(raw, []byte("below\n")))
		f.Add(i, slices.Concat([]byte("above\n"), raw))
	})
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		path := fuzzPaths[uint(i)%uint(len(fuzzPaths))]
		body, sig, legacy, err := objects.Split(path, raw)
		if err != nil {
			misplaced(t, path, raw)
			return
		}
		if _, _, ok := objects.Misplaced(path, raw); ok {
			t.Fatal("misplaced in a file that is right")
		}
		if sig != nil && legacy != nil {
			t.Fatal("two signatures")
		}
		if sig == nil && legacy == nil {
			if !bytes.Equal(body, raw) {
				t.Fatal("an unsigned body is not the file")
			}
			sig = &objects.Signature{SignedAt: noon}
			if raw, err = objects.WithSignature(path, body, *sig); err != nil {
				return
			}
		} else if legacy != nil {
			if n := len(raw) - len(body); n <= 0 || n > 4097 || !bytes.HasSuffix(body, legacy.Payload) && legacy.Later() {
				t.Fatalf("a line of %d bytes, which covers %q of %q", n, legacy.Payload, body)
			}
			return
		}
		again, err := objects.WithSignature(path, body, *sig)
		if err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("put together: %v\n%q\n%q", err, again, raw)
		}
		b, s, l, err := objects.Split(path, again)
		if err != nil || l != nil || s == nil || *s != *sig || !bytes.Equal(b, body) {
			t.Fatalf("split again: %v", err)
		}
	})
}

// Whatever is parsed keeps its bytes, and validation takes everything.
func FuzzParse(f *testing.F) {
	seeds(f, func(i int, raw []byte) { f.Add(i, raw) })
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		path := fuzzPaths[uint(i)%uint(len(fuzzPaths))]
		it, err := objects.Parse(path, raw)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		if !bytes.Equal(it.Raw, raw) || it.Digest != objects.DigestOf(it.Body) || it.Sum != objects.DigestOf(raw) {
			t.Fatal("bytes or digests differ")
		}
		if it.Meta.Executor != "" {
			if _, err := objects.ParseID(string(it.Meta.Executor)); err != nil {
				t.Fatal(err)
			}
		}
		lines := 2 + bytes.Count(raw, []byte("\n"))
		for _, p := range it.Validate() {
			if p.Line > lines || p.Rule == "" || p.Mend == "" {
				t.Fatalf("problem %+v of %d lines", p, lines)
			}
		}
	})
}

func FuzzRef(f *testing.F) {
	for _, s := range []string{"tool:acme/hello", "tool acme/hello", "acme/tool/hello", "tools/acme/hello.py", "tool:../x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := objects.ParseRef(s); err == nil {
			if again, err := objects.ParseRef(r.String()); err != nil || again != r {
				t.Fatalf("%v does not survive: %v", r, err)
			}
			if strings.Contains(r.Path(".py"), "..") {
				t.Fatalf("%v leaves its directory", r)
			}
		}
		if r, ext, err := objects.RefOfPath(s); err == nil && r.Path(ext) != s {
			t.Fatalf("%q became %q", s, r.Path(ext))
		}
	})
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{"^1.2", "~1.2.3", ">=1.0 <2", "1 - 2", "1.x || *", ">= 1.0.0-rc.1"} {
		f.Add(s, "1.2.3-rc.1+b")
	}
	f.Fuzz(func(t *testing.T, s, v string) {
		r, err := objects.ParseRange(s)
		if err == nil && r.String() != s {
			t.Fatalf("%q became %q", s, r)
		}
		version, err := objects.ParseVersion(v)
		if err != nil {
			return
		}
		if version.String() != v || version.Compare(version) != 0 {
			t.Fatalf("%q became %q", v, version)
		}
		r.Allows(version)
		exact, err := objects.ParseRange("=" + v)
		if err != nil || !exact.Allows(version) {
			t.Fatalf("=%s does not allow itself: %v", v, err)
		}
	})
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {c: ~}]\n", "- 'q'\n- |\n  block\n", "a: &x 1\n", "<<: {}\n", "? a\n: b\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v any
		if objects.DecodeYAML(raw, 1<<16, &v) != nil {
			return
		}
		out, err := objects.EncodeYAML(v)
		if err != nil {
			return
		}
		again, err := objects.EncodeYAML(v)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("encoding is not deterministic: %v", err)
		}
	})
}

func FuzzManifest(f *testing.F) {
	if came, err := imported(f).Encode(); err == nil {
		f.Add(came)
	}
	body, err := manifest(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(bytes.Replace(body, []byte("files:"), []byte("deps:\n  b/bundle/x: \"^1.2\"\n  b/tool/x: \">=1 <3 || =4.0.0\"\nfiles:"), 1))
	f.Add(append([]byte("# "+objects.Signature{SignedAt: noon}.Line()+"\n"), body...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := objects.ParseManifest(raw)
		if err != nil {
			return
		}
		out, err := m.Encode()
		if err != nil || !bytes.Equal(out, m.Item().Body) {
			t.Fatalf("encoded again: %v\n%s", err, out)
		}
	})
}
