package objects

import (
	"strings"
	"testing"
)

func TestRetitledProgram(t *testing.T) {
	from, to := Ref{Kind: Tool, ID: "local/hello"}, Ref{Kind: Tool, ID: "acme/text/hello"}
	for _, c := range []struct{ path, text, want string }{
		{"hello.sh", "#!/bin/bash\n# category: local\necho '# category: local'\n", "#!/bin/bash\n# category: acme/text\necho '# category: local'\n"},
		{"hello.js", "// category: local\n", "// category: acme/text\n"},
		{"hello.py", "__category__ = \"local\"\n__category__ = \"local\"\n", "__category__ = \"acme/text\"\n__category__ = \"local\"\n"},
		{"hello.sh", "# category: other\n# category: local\n", "# category: other\n# category: local\n"},
		{"hello.py", "print(1)\n", "print(1)\n"},
	} {
		it := &Item{Ref: from, Path: "tools/local/" + c.path, Body: []byte(c.text)}
		if got := string(Retitled(it, to).Body); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.path, c.text, got, c.want)
		}
	}
}

// FuzzRetitled: only lines of metadata that say the old id change, and nothing panics.
func FuzzRetitled(f *testing.F) {
	f.Add("---\nid: style\ncategory: acme\n---\nid: style\n")
	f.Add("```yaml\nid: 'style' # x\n```\n")
	f.Add("---\n")
	to, err := ParseRef("knowledge:acme/sub/manners")
	if err != nil {
		f.Fatal(err)
	}
	from, err := ParseRef("knowledge:acme/style")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		it := &Item{Ref: from, Path: "knowledge/acme/style.md", Body: []byte(text)}
		was, is := strings.SplitAfter(text, "\n"), strings.SplitAfter(string(Retitled(it, to).Body), "\n")
		if len(was) != len(is) {
			t.Fatalf("%q became %q", was, is)
		}
		for i := range was {
			if was[i] != is[i] && naming().FindString(was[i]) == "" {
				t.Fatalf("line %d: %q became %q", i, was[i], is[i])
			}
		}
	})
}
