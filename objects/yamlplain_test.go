package objects

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// plainTexts are front matter that plainTree reads, and texts near to it that it must leave to
// the library or read as the library does.
var plainTexts = []struct {
	text  string
	plain bool
}{
	{"id: e00001\ntitle: Entry 1\nversion: 1.0.0\nentry_type: reference\ncategory: acme/t001\ntags: [bench]\n", true},
	{"version: 10.20.30\ntags: [a, b-c, d_e, f/g, h.i]\ndescription: What it is, and how \"long\" it takes {x} [y] 'z' & * ! | > % @ `", true},
	{"a: b\na: c\n", true}, // twice: refused later, at the same place
	{"", false}, {"\n", false}, {"a\n", false}, {"a:\n", false}, {"a: \n", false}, {"a:  b\n", false}, {"a: b \n", false},
	{"a: b\n\nc: d\n", false}, {"a: b\n  c\n", false}, {" a: b\n", false}, {"a: b\n---\nc: d\n", false}, {"a: b\n...\n", false},
	{"a: b # c\n", false}, {"a: b#c\n", false}, {"a: b: c\n", false}, {"a: b:\n", false}, {"a:\tb\n", false}, {"a: b\tc\n", false}, {"a: b\r\n", false},
	{"a: &b c\n", false}, {"a: *b\n", false}, {"a: !!str c\n", false}, {"a: |\n  b\n", false}, {"a: 'b'\n", false}, {"<<: b\n", false},
	{"true: b\n", false}, {"null: b\n", false}, {"a: true\n", false}, {"a: Null\n", false}, {"a: ~\n", false}, {"a: yes\n", true}, {"a: n\n", true},
	{"a: 1\n", false}, {"a: 1.5\n", false}, {"a: 1.0.\n", false}, {"a: 1..0\n", false}, {"a: 1.0.0.0\n", false}, {"a: 2026-01-02\n", false}, {"a: 0x10\n", false},
	{"a: []\n", false}, {"a: [b\n", false}, {"a: [b,c]\n", false}, {"a: [b, true]\n", false}, {"a: [b, ]\n", false}, {"a: [b, [c]]\n", false}, {"a: [b]c\n", false}, {"a: [b, c: d]\n", false},
	{"a: ä\n", false}, {"ä: b\n", false}, {"a: b\x00\n", false}, {"a: b\u2028c: d\n", false},
	{strings.Repeat("a: b\n", 100), false},
}

func TestPlainTree(t *testing.T) {
	for _, c := range plainTexts {
		if _, ok := plainTree([]byte(c.text)); ok != c.plain {
			t.Errorf("plainTree(%q): ok is %v, want %v", c.text, ok, c.plain)
		}
		samePlainTree(t, c.text)
	}
}

// FuzzPlainTree: whatever plainTree reads, the library reads to the same tree.
func FuzzPlainTree(f *testing.F) {
	for _, c := range plainTexts {
		f.Add(c.text)
	}
	f.Fuzz(samePlainTree)
}

func samePlainTree(t *testing.T, text string) {
	got, ok := plainTree([]byte(text))
	if !ok {
		return
	}
	want, err := libraryTree("", []byte(text), mark{1, 1})
	if err != nil {
		t.Fatalf("plainTree reads %q, and the library refuses it: %v", text, err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("plainTree(%q) = %s, the library reads %s", text, nodesOf(got), nodesOf(want))
	}
}

func nodesOf(n *yaml.Node) string {
	s := fmt.Sprintf("%d:%d %s %q", n.Line, n.Column, n.Tag, n.Value)
	for _, c := range n.Content {
		s += " (" + nodesOf(c) + ")"
	}
	return s
}
