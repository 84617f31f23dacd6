package session

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
	text, err := os.ReadFile("../../../docs/format/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("../../../docs/format/%s holds no yaml example", page)
	}
	return []byte(block)
}

// The documented example is a rye.yaml, and writing it again gives the same bytes.
func TestProjectExample(t *testing.T) {
	raw := docExample(t, "project.md")
	c, err := ParseProject(raw)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := c.Write(dir); err != nil {
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
		if c, err := ParseProject([]byte(bad)); err == nil {
			t.Errorf("%s: accepted as %+v", name, c)
		}
	}
	if _, err := ParseProject([]byte(strings.Repeat("#", maxProjectFile+1))); !fault.Is(err, fault.Limit) {
		t.Errorf("too large: %v, want code limit", err)
	}
}

func FuzzParseProject(f *testing.F) {
	f.Add(docExample(f, "project.md"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseProject(raw)
		if err != nil {
			return
		}
		text, err := objects.EncodeYAML(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseProject(text)
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
