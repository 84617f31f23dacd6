package objects

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// treeText is everything that a reader of a node can see.
func treeText(n *yaml.Node) string {
	var b strings.Builder
	var walk func(n *yaml.Node, depth int)
	walk = func(n *yaml.Node, depth int) {
		fmt.Fprintf(&b, "%*s%d %d %q %q %q %v %q%q%q %d:%d\n", depth, "", n.Kind, n.Style, n.Tag, n.Value, n.Anchor, n.Alias,
			n.HeadComment, n.LineComment, n.FootComment, n.Line, n.Column)
		for _, c := range n.Content {
			walk(c, depth+1)
		}
	}
	walk(n, 0)
	return b.String()
}

// comparePlain compares what is read here with what the library reads, and returns
// whether it was read here.
func comparePlain(t *testing.T, text string) bool {
	t.Helper()
	got := plainTree([]byte(text))
	if got == nil {
		return false
	}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%q: read here, and the library says %v", text, err)
	}
	if err := dec.Decode(&second); err == nil {
		t.Fatalf("%q: read here, and holds two documents", text)
	}
	if want := treeText(doc.Content[0]); treeText(got) != want {
		t.Fatalf("%q:\n%s\nthe library:\n%s", text, treeText(got), want)
	}
	return true
}

func TestPlainYAML(t *testing.T) {
	for text, plain := range map[string]bool{
		"title: Entry\n":                        true,
		"title: Entry 7, of (a) few; no. 3\n":   true,
		"version: 1.0.0\ntags: [a, b-c, d_1]\n": true,
		"a: b\na: c\n":                          true, // checkNode refuses it, as it always did
		"name: a/b\nx-y: z\n":                   true,
		"version: 10.20.30\n":                   true,
		"version: 1.0\n":                        false, // a number
		"version: 1.2.3.4\n":                    false,
		"version: 1..2\n":                       false,
		"version: .1.2\n":                       false,
		"a: true\n":                             false,
		"a: Null\n":                             false,
		"a: ON\n":                               false,
		"a: y\n":                                false,
		"yes: a\n":                              false,
		"a: [true]\n":                           false,
		"a: []\n":                               false,
		"a: [b,c]\n":                            false,
		"a: [b, c] \n":                          false,
		"a: [[b]]\n":                            false,
		"a: b: c\n":                             false,
		"a: b #c\n":                             false,
		"a: b:\n":                               false,
		"a:  b\n":                               false,
		"a: b \n":                               false,
		"a: b\n c\n":                            false,
		"a: b\n\n":                              false,
		"a: b":                                  false,
		"a: b\r\n":                              false,
		"a:\tb\n":                               false,
		"a: \"b\"\n":                            false,
		"a: 'b'\n":                              false,
		"a: |\n":                                false,
		"a: &b\n":                               false,
		"a: *b\n":                               false,
		"a: !!b c\n":                            false,
		"a: é\n":                                false,
		"a: bé\n":                               false,
		"? a\n: b\n":                            false,
		"- a: b\n":                              false,
		"a: 2026-01-01\n":                       false,
		"a: 0x1f\n":                             false,
		"---\na: b\n":                           false,
		"a: b\n---\nc: d\n":                     false,
		"<<: a\n":                               false,
		"":                                      false,
		"a: " + strings.Repeat("b ", 600) + "c\n": true,
		strings.Repeat("k", 127) + ": c\n":        true,
		strings.Repeat("k", 1100) + ": c\n":       false, // longer than a simple key may be
	} {
		if got := comparePlain(t, text); got != plain {
			t.Errorf("%q: read here %v, want %v", text, got, plain)
		}
	}
}

func FuzzPlainYAML(f *testing.F) {
	f.Add("id: e1\ntitle: Entry 1\nversion: 1.0.0\ncategory: acme/t0\ntags: [bench]\n")
	for _, word := range []string{"yes", "inf", "NaN", "e5", "a-", "--", "a, b", "(a", "a)", "a;b", "a.", "No.", "a--- b", "1.0.0", "010.0.0"} {
		f.Add("a: " + word + "\n")
		f.Add(word + ": a\n")
		f.Add("a: [" + word + ", b]\n")
		f.Add("a: b\n" + word + ": a\n")
	}
	f.Fuzz(func(t *testing.T, text string) { comparePlain(t, text) })
}

func BenchmarkPlainYAML(b *testing.B) {
	text := []byte("id: e1\ntitle: Entry 1\nversion: 1.0.0\nentry_type: reference\ncategory: acme/t000\ntags: [bench]\n")
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			if plainTree(text) == nil {
				b.Fatal("not plain")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			var doc yaml.Node
			if err := yaml.Unmarshal(text, &doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
