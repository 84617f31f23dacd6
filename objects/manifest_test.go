package objects_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

var bundle = fstest.MapFS{
	"data.json":             {Data: []byte("{}\n")},
	"lib/python/helper.py":  {Data: []byte("x = 1\n")},
	"bin/run.sh":            {Data: []byte("#!/bin/sh\n")},
	"Upper_Case.TXT":        {Data: nil},
	objects.ManifestName:    {Data: []byte("itself")},
	"lib/python/__init__.p": {Data: []byte("\x00\xff")},
}

func manifest(t testing.TB) *objects.Manifest {
	t.Helper()
	m, err := objects.ManifestOf(bundle, "acme/bundle/reports", "1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestVector(t *testing.T) {
	const file = "../testdata/vectors/bundle.yaml"
	m := manifest(t)
	m.Deps = map[string]string{"beta/tool/fetch": "^1.2", "beta/bundle/charts": ">=2.0 <3"}
	body, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	k := testKey(seedPhrase)
	signed, err := objects.WithSignature(objects.ManifestName, body, sign(t, k, m.Ref(), objects.Ext(objects.ManifestName), m.Version, "", body, noon))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, signed, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(signed, want) {
		t.Fatalf("manifest %v:\n%s", err, signed)
	}
	got, err := objects.ParseManifest(want)
	if err != nil {
		t.Fatal(err)
	}
	it := got.Item()
	if it.Ref != (objects.Ref{Kind: objects.Bundle, ID: "acme/reports"}) || it.Meta.Version != "1.2.0" || !bytes.Equal(it.Body, body) ||
		it.Digest != objects.DigestOf(body) || it.Sum != objects.DigestOf(want) {
		t.Errorf("item %+v", it)
	}
	if !ed25519.Verify(k.Public().(ed25519.PublicKey), objects.SignedMessage(it.Ref, it.Bound(""), *it.Signature), it.Signature.Sig[:]) {
		t.Error("the signature does not verify")
	}
	again, err := got.Encode()
	if err != nil || !bytes.Equal(again, body) {
		t.Errorf("encoded again: %v\n%s", err, again)
	}
	if err := objects.DecodeYAML(want, 1<<20, new(any)); err != nil {
		t.Errorf("a manifest is not YAML: %v", err)
	}
	if f, ok := got.File("bin/run.sh"); !ok || !f.Executable || !f.Matches([]byte("#!/bin/sh\n")) || f.Matches([]byte("#!/bin/sh ")) {
		t.Errorf("bin/run.sh: %+v", f)
	}
	if _, ok := got.File("bin"); ok {
		t.Error("a directory is listed")
	}
}

func TestManifestCheck(t *testing.T) {
	m := manifest(t)
	if err := m.Check(bundle); err != nil {
		t.Fatal(err)
	}
	type lists struct{ extra, missing, changed []string }
	tests := []struct {
		name   string
		change func(fstest.MapFS)
		want   lists
	}{
		{"changed", func(f fstest.MapFS) { f["data.json"] = &fstest.MapFile{Data: []byte("{} ")} }, lists{changed: []string{"data.json"}}},
		{"longer", func(f fstest.MapFS) { f["data.json"] = &fstest.MapFile{Data: []byte("{}\n\n")} }, lists{changed: []string{"data.json"}}},
		{"missing", func(f fstest.MapFS) { delete(f, "data.json") }, lists{missing: []string{"data.json"}}},
		{"extra", func(f fstest.MapFS) { f["lib/evil.py"] = &fstest.MapFile{} }, lists{extra: []string{"lib/evil.py"}}},
		{"litter", func(f fstest.MapFS) {
			f[".hidden"], f["lib/x~"], f["lib/__pycache__/x.pyc"] = &fstest.MapFile{}, &fstest.MapFile{}, &fstest.MapFile{}
		}, lists{}},
		{"second manifest", func(f fstest.MapFS) { f["lib/"+objects.ManifestName] = &fstest.MapFile{} }, lists{extra: []string{"lib/" + objects.ManifestName}}},
		{"link", func(f fstest.MapFS) {
			f["data.json"] = &fstest.MapFile{Data: []byte("{}\n"), Mode: fs.ModeSymlink}
		}, lists{changed: []string{"data.json"}}},
		{"mode alone", func(f fstest.MapFS) { f["data.json"] = &fstest.MapFile{Data: []byte("{}\n"), Mode: 0o755} }, lists{}},
		{"all at once", func(f fstest.MapFS) {
			delete(f, "bin/run.sh")
			f["a"], f["b"] = &fstest.MapFile{}, &fstest.MapFile{}
			f["data.json"] = &fstest.MapFile{}
		}, lists{[]string{"a", "b"}, []string{"bin/run.sh"}, []string{"data.json"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := fstest.MapFS{}
			for k, v := range bundle {
				f[k] = v
			}
			tt.change(f)
			err := m.Check(f)
			var e *objects.BundleError
			if tt.want.extra == nil && tt.want.missing == nil && tt.want.changed == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &e) || !fault.Is(err, fault.Integrity) {
				t.Fatalf("error %v", err)
			}
			if !slices.Equal(e.Extra, tt.want.extra) || !slices.Equal(e.Missing, tt.want.missing) || !slices.Equal(e.Changed, tt.want.changed) {
				t.Errorf("%+v, want %+v", e, tt.want)
			}
		})
	}
}

func TestParseManifestRefuses(t *testing.T) {
	body, err := manifest(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(body)
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("%q is not in the manifest", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	entry := func(path string) string {
		return good + `  - {path: "` + path + `", mode: "0644", size: 0, sha256: "` + strings.Repeat("0", 64) + "\"}\n"
	}
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"other format", change("format: 1", "format: 2")},
		{"unknown field", change("bundle:\n", "bundle:\n  author: x\n")},
		{"field at the end", good + "more: 1\n"},
		{"comment", change("files:", "# x\nfiles:")},
		{"blank line", good + "\n"},
		{"no final newline", strings.TrimSuffix(good, "\n")},
		{"carriage returns", strings.ReplaceAll(good, "\n", "\r\n")},
		{"other id", change("acme/bundle/reports", "acme/reports")},
		{"id with a dot", change("acme/bundle/reports", "acme/bundle/../x")},
		{"version", change("1.2.0", "1.2")},
		{"mode", change("0755", "0777")},
		{"size", change("size: 3", "size: 03")},
		{"negative size", change("size: 3", "size: -3")},
		{"large size", change("size: 3", "size: 99999999999")},
		{"size beyond all", change("size: 3", "size: 99999999999999999999")},
		{"digest", change(`sha256: "ca`, `sha256: "CA`)},
		{"other spacing", change("  - {path", "  -  {path")},
		{"unsorted", entry("a")},
		{"twice", entry("zz") + strings.TrimPrefix(entry("zz"), good)},
		{"twice in other case", entry("lib/python/HELPER.py")},
		{"directory in other case", entry("libx") + `  - {path: "licence/x", mode: "0644", size: 0, sha256: "` + strings.Repeat("0", 64) + "\"}\n" +
			`  - {path: "liceNce", mode: "0644", size: 0, sha256: "` + strings.Repeat("0", 64) + "\"}\n"},
		{"file and directory", entry("lib/python/helper.py/x")},
		{"itself", entry(objects.ManifestName)},
		{"parent", entry("../x")},
		{"inner parent", entry("zz/../../x")},
		{"absolute", entry("/x")},
		{"dot", entry("zz/./x")},
		{"double slash", entry("zz//x")},
		{"hidden", entry("zz/.git")},
		{"backslash", entry(`zz\\x`)},
		{"quote", entry(`zz\"x`)},
		{"device", entry("zz/nul.txt")},
		{"device in capitals", entry("zz/COM1")},
		{"final dot", entry("zz.")},
		{"lock", entry("zz.LOCK")},
		{"blank", entry("z z")},
		{"not ASCII", entry("zé")},
		{"deep", entry(strings.Repeat("z/", 16) + "z")},
		{"long", entry("z" + strings.Repeat("z", 128))},
		{"deps, none", change("files:", "deps:\nfiles:")},
		{"deps, unsorted", change("files:", "deps:\n  b/tool/x: \"*\"\n  a/tool/x: \"*\"\nfiles:")},
		{"deps, twice", change("files:", "deps:\n  b/tool/x: \"*\"\n  b/tool/x: \"^1\"\nfiles:")},
		{"deps, a ref", change("files:", "deps:\n  tool:b/x: \"*\"\nfiles:")},
		{"deps, no range", change("files:", "deps:\n  b/tool/x: \"newest\"\nfiles:")},
		{"deps, an escape", change("files:", "deps:\n  b/tool/x: \"\\x2a\"\nfiles:")},
		{"deps, a tab", change("files:", "deps:\n  b/tool/x: \"^1\t\"\nfiles:")},
		{"deps, without quotes", change("files:", "deps:\n  b/tool/x: ^1\nfiles:")},
		{"deps, itself", change("files:", "deps:\n  acme/bundle/reports: \"^1\"\nfiles:")},
		{"deps, no files after them", change("files:\n", "deps:\n  b/tool/x: \"*\"\n")},
		{"second signature line", good + "# rye:signed:\n"},
		{"RYE OS's", hashed + good},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := objects.ParseManifest([]byte(tt.text))
			if err == nil {
				t.Fatalf("accepted: %+v", m.Files)
			}
			if c := fault.CodeOf(err); c != fault.Malformed && c != fault.Limit {
				t.Errorf("code %s: %v", c, err)
			}
		})
	}
	bad := manifest(t)
	bad.Files[0].Path = "zz"
	if out, err := bad.Encode(); err == nil {
		t.Errorf("encoded an unsorted manifest: %s", out)
	}
}

func TestManifestOfRefuses(t *testing.T) {
	for name, f := range map[string]fstest.MapFS{
		"name":       {"a\tb": {}},
		"link":       {"a": {Mode: fs.ModeSymlink}},
		"two cases":  {"a/X": {}, "a/x": {}},
		"two dirs":   {"a/x": {}, "A/y": {}},
		"alike":      {"Straße.md": {}, "STRAẞE.md": {}},
		"git's own":  {"lib/git~1/x": {}},
		"named pipe": {"a": {Mode: fs.ModeNamedPipe}},
	} {
		if m, err := objects.ManifestOf(f, "acme/bundle/x", "1.0.0"); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
