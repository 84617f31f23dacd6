package stdlib_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
)

// items parses every file of the library.
func items(t *testing.T) map[objects.Ref]*objects.Item {
	t.Helper()
	all := make(map[objects.Ref]*objects.Item)
	err := fs.WalkDir(stdlib.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(stdlib.Files(), path)
		if err != nil {
			return err
		}
		it, err := objects.Parse(path, raw)
		if err != nil {
			t.Errorf("Parse(%s): %v", path, err)
			return nil
		}
		if old := all[it.Ref]; old != nil {
			t.Errorf("%s and %s are both %s", old.Path, path, it.Ref)
		}
		all[it.Ref] = it
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestItemsAreValid(t *testing.T) {
	for ref, it := range items(t) {
		for _, p := range it.Validate() {
			t.Errorf("%s line %d: %s (%s)", it.Path, p.Line, p.Rule, p.Mend)
		}
		if ref.ID.Namespace() != "rye" {
			t.Errorf("%s: the library's namespace is rye", ref)
		}
		if len(it.Meta.Unknown) > 0 {
			t.Errorf("%s: fields that rye does not know: %s", ref, strings.Join(it.Meta.Unknown, ", "))
		}
		if it.Meta.Description == "" {
			t.Errorf("%s: no description: search could not show it", ref)
		}
		if it.Signature != nil || it.Legacy != nil {
			t.Errorf("%s: has a signature line of its own; the manifest signs for it", ref)
		}
	}
}

// TestNamesResolve follows the names that items give each other.
func TestNamesResolve(t *testing.T) {
	all := items(t)
	for ref, it := range all {
		if ref.Kind == objects.Tool && it.Meta.Executor != "" && all[objects.Ref{Kind: objects.Tool, ID: it.Meta.Executor}] == nil {
			t.Errorf("%s: executor %s is not in the library", ref, it.Meta.Executor)
		}
		if ref.Kind != objects.Directive && ref.Kind != objects.Knowledge {
			continue
		}
		for _, word := range strings.FieldsFunc(it.Meta.Prose, func(r rune) bool { return r == '`' || r == ' ' || r == '\n' }) {
			if strings.HasPrefix(word, "rye/") && !named(all, word) {
				t.Errorf("%s names %s, which is not in the library", ref, word)
			}
		}
		for _, in := range it.Meta.Inputs {
			if !strings.Contains(it.Meta.Prose, "{input:"+in.Name+"}") {
				t.Errorf("%s: input %s is never used", ref, in.Name)
			}
		}
	}
}

// named reports whether some kind has an item of this id. A name that an input
// completes, or one that ends in a slash, has to begin one.
func named(all map[objects.Ref]*objects.Item, word string) bool {
	start, _, open := strings.Cut(word, "{")
	for ref := range all {
		if string(ref.ID) == word || (open || strings.HasSuffix(word, "/")) && strings.HasPrefix(string(ref.ID), start) {
			return true
		}
	}
	return false
}

func TestParseReleases(t *testing.T) {
	const a = "1 sha256:aa ssh-ed25519 AA\n"
	for _, c := range []struct {
		name, text string
		want       int
		ok         bool
	}{
		{"comments only", "# x\n\n", 0, true},
		{"one", a, 1, true},
		{"two", a + "2 sha256:bb ssh-ed25519 BB\n", 2, true},
		{"a version twice", a + "1 sha256:bb ssh-ed25519 BB\n", 0, false},
		{"a key twice", a + "2 sha256:bb ssh-ed25519 AA\n", 0, false},
		{"a manifest twice", a + "2 sha256:aa ssh-ed25519 BB\n", 0, false},
		{"another algorithm", "1 sha256:aa ssh-rsa AA\n", 0, false},
		{"another digest", "1 sha1:aa ssh-ed25519 AA\n", 0, false},
		{"a field too many", "1 sha256:aa ssh-ed25519 AA me@home\n", 0, false},
		{"carriage return", "1 sha256:aa ssh-ed25519 AA\r\n2 sha256:aa ssh-ed25519 AA\r\n", 0, false},
	} {
		got, err := stdlib.ParseReleases(c.text)
		if (err == nil) != c.ok || len(got) != c.want {
			t.Errorf("%s: ParseReleases = %d releases, %v; want %d, ok %v", c.name, len(got), err, c.want, c.ok)
		}
	}
}
