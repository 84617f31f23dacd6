package objects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// TestSkillFrontMatter: a skill is read as clients read it, and what no client reads is refused.
func TestSkillFrontMatter(t *testing.T) {
	for _, c := range []struct{ name, text, title, about string }{
		{"plain", "---\nname: tide\ndescription: Works out tides.\n---\nx\n", "tide", "Works out tides."},
		{"a byte order mark", "\ufeff---\nname: tide\ndescription: x\n---\n", "tide", "x"},
		{"CR LF", "---\r\nname: tide\r\ndescription: x\r\n---\r\n", "tide", "x"},
		{"no name", "---\ndescription: x\n---\n", "", "x"},
		{"an anchor", "---\nname: &n tide\ndescription: *n\n---\n", "tide", "tide"},
		{"a tag", "---\nname: !!str 7\ndescription: !x y\n---\n", "7", "y"},
		{"a colon", "---\nname: tide\ndescription: Use it: often\n---\n", "tide", "Use it: often"},
		{"a colon and CR LF", "---\r\nname: tide\r\ndescription: Use it: \"often\"\r\n---\r\n", "tide", `Use it: "often"`},
		{"not UTF-8 below", "---\nname: tide\ndescription: x\n---\n\xe9\n", "tide", "x"},
		{"blank", "---\nname: tide\ndescription: \" \"\n---\n", "", ""},
		{"no description", "---\nname: tide\n---\n", "", ""},
		{"no front matter", "# tide\n", "", ""},
		{"it never ends", "---\nname: tide\ndescription: x\n", "", ""},
		{"an open map", "---\nname: {tide\ndescription: x\n---\n", "", ""},
		{"a key twice", "---\nname: tide\nname: moon\ndescription: x\n---\n", "", ""},
		{"not UTF-8 in it", "---\nname: tide\ndescription: \xe9\n---\n", "", ""},
		{"a NUL in it", "---\nname: tide\ndescription: \"\x00\"\n---\n", "", ""},
		{"a list", "---\n- name\n---\n", "", ""},
		{"itself", "---\ndescription: &a [*a]\n---\n", "", ""},
		{"aliases that grow", "---\ndescription: x\na: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n---\n", "", ""},
		{"nested deeply", "---\ndescription: x\na: &a " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "\n---\n", "", ""},
	} {
		it, err := objects.Parse("bundles/a/b/SKILL.md", []byte(c.text))
		if err == nil && len(it.Validate()) > 0 {
			err = fmt.Errorf("%v", it.Validate())
		}
		switch {
		case (err != nil) != (c.about == ""):
			t.Errorf("%s: %v", c.name, err)
		case err == nil && (it.Meta.Title != c.title || it.Meta.Description != c.about):
			t.Errorf("%s: name %q, description %q, want %q, %q", c.name, it.Meta.Title, it.Meta.Description, c.title, c.about)
		}
	}
}

// TestOwnItemsStayStrict: what skills may have, rye's own items may not.
func TestOwnItemsStayStrict(t *testing.T) {
	for _, text := range []string{"\ufeff---\ntitle: x\n---\n", "---\ntitle: &a x\n---\n", "---\ntitle: a: b\n---\n", "---\ntitle: x\n---\n\xe9\n"} {
		if _, err := objects.Parse("knowledge/a/b.md", []byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
