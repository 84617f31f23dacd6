package rye

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// docExample returns the first yaml block of a page of docs/format.
func docExample(t testing.TB, page string) []byte {
	t.Helper()
	text, err := os.ReadFile("docs/format/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("docs/format/%s holds no yaml example", page)
	}
	return []byte(block)
}

// The documented example is a rye.yaml, and writing it again gives the same bytes.
func TestProjectExample(t *testing.T) {
	raw := docExample(t, "project.md")
	c, err := parseProject(raw)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := c.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(dir + "/.ai/rye.yaml")
	if err != nil || string(got) != string(raw) {
		t.Errorf("written as\n%s, %v\nwant\n%s", got, err, raw)
	}
}

func TestProjectRefused(t *testing.T) {
	good := string(docExample(t, "project.md"))
	for name, bad := range map[string]string{
		"unknown field":         good + "trust: everybody\n",
		"unknown registry part": strings.Replace(good, "    url:", "    key: x\n    url:", 1),
		"newer format":          strings.Replace(good, "format: 1", "format: 2", 1),
		"short project id":      strings.Replace(good, "1b6e1f2f", "", 1),
		"upper-case project id": strings.Replace(good, "1b6e1f2f", "1B6E1F2F", 1),
		"namespace with slash":  strings.Replace(good, "namespace: acme", "namespace: a/b", 1),
		"scope of no registry":  strings.Replace(good, "acme: main", "acme: other", 1),
		"malformed dependency":  strings.Replace(good, "acme/tool/hello:", "acme/../hello:", 1),
		"malformed range":       strings.Replace(good, "^1.0", "newest", 1),
		"identity that is none": strings.Replace(good, "id: sha256:9f", "id: sha1:9f", 1),
		"root that is no key":   strings.Replace(good, "- SHA256:nT", "- SHA1:nT", 1),
		"registry nowhere":      strings.Replace(good, "https://git.example.org/acme/registry.git", "''", 1),
		"scope that is none":    strings.Replace(good, "acme: main", "acme/x: main", 1),
		"registry's name":       strings.NewReplacer("main:", "Main:", ": main", ": Main").Replace(good),
		"second document":       good + "---\nformat: 1\n",
		"alias":                 strings.Replace(good, "namespace: acme", "namespace: &a acme", 1),
		"empty":                 "",
	} {
		if c, err := parseProject([]byte(bad)); err == nil {
			t.Errorf("%s: accepted as %+v", name, c)
		}
	}
	if _, err := parseProject([]byte(strings.Repeat("#", maxProjectFile+1))); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v, want code limit", err)
	}
}

func FuzzParseProject(f *testing.F) {
	f.Add(docExample(f, "project.md"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parseProject(raw)
		if err != nil {
			return
		}
		text, err := objects.EncodeYAML(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseProject(text)
		same := err == nil
		if same { // an empty list and none are the same
			second, err := objects.EncodeYAML(again)
			same = err == nil && bytes.Equal(text, second)
		}
		if !same {
			t.Errorf("%+v written as\n%s\nreads as %+v, %v", c, text, again, err)
		}
	})
}

func TestInterpolate(t *testing.T) {
	in := map[string]any{"a": "x", "n": 3.0, "t": "{input:a}", "empty": ""}
	for text, want := range map[string]string{
		"":                               "",
		"{input:a}":                      "x",
		"{input:a}{input:n}":             "x3",
		"{input:t}":                      "{input:a}", // a value is never a template
		"{input:none}":                   "{input:none}",
		"{input:none?}":                  "",
		"{input:none:else}":              "else",
		"{input:a:else}":                 "x",
		"{input:empty:else}":             "",
		"{input:none:a:b}":               "a:b",
		"{input:":                        "{input:",
		"{input:}":                       "{input:}",
		"{ input:a}":                     "{ input:a}",
		"before {input:a} {other} after": "before x {other} after",
	} {
		if got := interpolate(text, in); got != want {
			t.Errorf("interpolate(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzInterpolate(f *testing.F) {
	f.Add("{input:a} {input:b?} {input:c:d} {input:", "{input:a}")
	f.Fuzz(func(t *testing.T, text, value string) {
		got := interpolate(text, map[string]any{"a": value})
		if !strings.Contains(text, "{input:") && got != text {
			t.Errorf("interpolate(%q) = %q", text, got)
		}
	})
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"*", "tool:a/b", true}, {"tool:*", "tool:a/b", true}, {"tool:*", "knowledge:a", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*/b*", "a/bc", true}, {"a*b*c", "axbxbxc", true}, {"a*b", "axbx", false},
		{"", "", true}, {"", "a", false}, {"**", "x", true}, {"a**", "a", true},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v, want %v", c.pattern, c.s, got, c.want)
		}
	}
}
