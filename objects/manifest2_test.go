package objects_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// come is the content of a bundle that other programs made.
var come = fstest.MapFS{
	"SKILL.md":                   {Data: []byte("---\nname: tide-table\ndescription: Works out tides.\n---\n")},
	".claude-plugin/plugin.json": {Data: []byte("{}\n")},
	"uv.lock":                    {Data: nil},
	"Gezeiten Übersicht.md":      {Data: []byte("x\n")},
	"say \"hello\".txt":          {Data: nil},
	"bin/tide":                   {Data: []byte("\x7fELF"), Mode: 0o755},
	"bin/quiet.sh":               {Data: []byte("#!/bin/sh\n"), Mode: 0o644},
	".DS_Store":                  {Data: []byte("litter")},
}

func imported(t testing.TB) *objects.Manifest {
	t.Helper()
	was := &objects.Manifest{Files: []objects.File{{Path: ".claude-plugin/plugin.json"}, {Path: "bin/quiet.sh"}}}
	m, err := was.Renewed(come, "acme/bundle/tide-table", "1.0.0", true)
	if err != nil {
		t.Fatal(err)
	}
	m.Origin = &objects.Origin{
		Source: "https://git.example.com/ada/skills.git", Ref: "refs/tags/v1.2",
		Commit: "1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b", Path: "skills/tide-table",
		Root: "skills", Entry: "main.sh", Listed: `{"name":"tides","skills":["./tide-table"]}`,
		Tree: "2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c", Sum: objects.DigestOf([]byte("tree")),
	}
	m.Needs = objects.Needs{Declared: true, Read: []string{"."}, Net: []string{"tides.example.com:443"}}
	return m
}

// TestManifestTwo: an imported bundle keeps names, modes, origin and needs, in one text.
func TestManifestTwo(t *testing.T) {
	const file = "../testdata/vectors/bundle-2.yaml"
	m := imported(t)
	body, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := objects.WithSignature(objects.ManifestName, body, sign(t, testKey(seedPhrase), m.Ref(), objects.Ext(objects.ManifestName), m.Version, "", body, noon))
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
	if again, err := got.Encode(); err != nil || !bytes.Equal(again, body) || got.Format() != 2 {
		t.Errorf("format %d, encoded again: %v\n%s", got.Format(), err, again)
	}
	if err := objects.DecodeYAML(want, 1<<20, new(any)); err != nil {
		t.Errorf("a manifest is not YAML: %v", err)
	}
	for path, executable := range map[string]bool{"bin/tide": true, "bin/quiet.sh": false, "uv.lock": false} {
		if f, ok := got.File(path); !ok || f.Executable != executable {
			t.Errorf("%s: listed %v, executable %v", path, ok, f.Executable)
		}
	}
	if _, ok := got.File(".DS_Store"); ok {
		t.Error("litter is listed")
	}
	if *got.Origin != *m.Origin || got.Needs.String() != m.Needs.String() || got.Item().Meta.Needs.String() != m.Needs.String() {
		t.Errorf("%+v, needs %s", got.Origin, got.Needs)
	}
	if err := got.Check(come); err != nil {
		t.Error(err)
	}
}

// TestOneFormat: a content that format 1 can hold has no second text in format 2.
func TestOneFormat(t *testing.T) {
	plain, err := manifest(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	two := bytes.Replace(plain, []byte("format: 1"), []byte("format: 2"), 1)
	if _, err := objects.ParseManifest(two); !fault.Is(err, fault.Malformed) {
		t.Errorf("format 2 without a reason: %v", err)
	}
	came, err := imported(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	one := bytes.Replace(came, []byte("format: 2"), []byte("format: 1"), 1)
	if _, err := objects.ParseManifest(one); !fault.Is(err, fault.Malformed) {
		t.Errorf("an origin in format 1: %v", err)
	}
}

// TestManifestTwoRefuses: each of these texts differs in one place from a manifest that is read.
func TestManifestTwoRefuses(t *testing.T) {
	good, err := imported(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"no source":             {"  source: \"https://git.example.com/ada/skills.git\"\n", ""},
		"a source that is none": {"https://git.example.com/ada/skills.git", "skills"},
		"a password":            {"https://git.", "https://ada:secret@git."},
		"a token as the user":   {"https://git.", "https://token@git."},
		"a blank in the source": {"ada/skills.git", "ada/ skills.git"},
		"a remote branch":       {"refs/tags/v1.2", "refs/remotes/v1.2"},
		"a ref that climbs":     {"refs/tags/v1.2", "refs/tags/../v1.2"},
		"a ref that is a flag":  {"refs/tags/v1.2", "refs/tags/-v1.2"},
		"a short commit":        {"1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b", "1b1b"},
		"an empty line":         {"\"skills/tide-table\"", "\"\""},
		"a path that climbs":    {"\"skills/tide-table\"", "\"skills/../../tide-table\""},
		"a root that climbs":    {"root: \"skills\"", "root: \"skills/..\""},
		"a root beside":         {"root: \"skills\"", "root: \"skill\""},
		"an empty root":         {"root: \"skills\"", "root: \"\""},
		"an absolute entry":     {"entry: \"main", "entry: \"/main"},
		"a list for an object":  {"{\\\"name\\\":\\\"tides\\\",\\\"skills\\\":[\\\"./tide-table\\\"]}", "[]"},
		"half an object":        {"tide-table\\\"]}", "tide-table\\\"]"},
		"more than ASCII":       {"\\\"tides\\\"", "\\\"tïdes\\\""},
		"an absolute path":      {"\"skills/tide-table\"", "\"/skills/tide-table\""},
		"no tree":               {"  tree: \"2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c\"\n", ""},
		"fields in other order": {"  ref: \"refs/tags/v1.2\"\n  commit: \"1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b\"\n", "  commit: \"1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b\"\n  ref: \"refs/tags/v1.2\"\n"},
		"an unknown field":      {"  ref:", "  branch: \"main\"\n  ref:"},
		"needs twice":           {"[\".\"]", "[\".\", \".\"]"},
		"needs without quotes":  {"[\".\"]", "[.]"},
		"needs that are open":   {"[\".\"]", "[\".\""},
		"needs of no host":      {"tides.example.com:443", "tides.example.com:0"},
		"needs of rye, empty":   {"deps:\n", "  rye: []\ndeps:\n"},
		"needs before origin":   {"origin:\n", "needs:\n  read: []\n  write: []\n  net: []\norigin:\n"},
		"a tab in a name":       {"Gezeiten Übersicht", "Gezeiten\tÜbersicht"},
		"a name in NFD":         {"Übersicht", "U\u0308bersicht"},
		"a reversed name":       {"uv.lock", "\u202euv.lock"},
		"a backslash":           {"uv.lock", `uv\\lock`},
		"an unknown escape":     {"uv.lock", `uv\u002elock`},
		"a needless escape":     {"uv.lock", `\uv.lock`},
		"git's own directory":   {"bin/tide\"", "bin/.Git/tide\""},
		"its short name":        {"bin/tide\"", "bin/git~1/tide\""},
		"its stream":            {"bin/tide\"", "bin/.git::$INDEX_ALLOCATION\""},
		"git, hidden":           {"bin/tide\"", "bin/.g\u200cit\""},
	} {
		text := strings.Replace(string(good), change[0], change[1], 1)
		if text == string(good) {
			if change[0] == "deps:\n" {
				text = strings.Replace(text, "files:\n", "  rye: []\nfiles:\n", 1)
			} else {
				t.Errorf("%s: the text has no %q", name, change[0])
				continue
			}
		}
		if m, err := objects.ParseManifest([]byte(text)); err == nil {
			t.Errorf("%s: accepted: %+v", name, m)
		} else if !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: code %s: %v", name, fault.CodeOf(err), err)
		}
	}
}

// TestOnWindows: rye keeps such names, and says which systems cannot.
func TestOnWindows(t *testing.T) {
	for path, held := range map[string]bool{
		"docs/Übersicht.md": true, "a b/c": true, ".env": true, "x.lock": true, "com0x": true,
		"a:b": false, "what?": false, "docs/aux.md": false, "con": false, "nul .txt": false, "end.": false, "end /x": false, "a\"b": false,
	} {
		if err := objects.CheckMember(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if why := objects.OnWindows(path); (why == "") != held {
			t.Errorf("OnWindows(%q) = %q", path, why)
		}
	}
}

// TestModesAreKept: what a file system or git lost takes no mode away.
func TestModesAreKept(t *testing.T) {
	was := imported(t)
	lost := fstest.MapFS{}
	for p, f := range come {
		lost[p] = &fstest.MapFile{Data: f.Data}
	}
	lost["new.sh"] = &fstest.MapFile{Data: []byte("#!/bin/sh\n")}
	now, err := was.Renewed(lost, was.ID, "", false)
	if err != nil {
		t.Fatal(err)
	}
	for path, executable := range map[string]bool{"bin/tide": true, "bin/quiet.sh": false, "new.sh": true, "uv.lock": false} {
		if f, ok := now.File(path); !ok || f.Executable != executable {
			t.Errorf("%s: listed %v, executable %v", path, ok, f.Executable)
		}
	}
	if now.Origin == nil || !now.Needs.Declared {
		t.Error("origin or needs are gone")
	}
}
