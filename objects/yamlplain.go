package objects

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// plainTree returns the tree of a YAML text in the simplest form of front matter: each line has a
// name, a colon, a blank, and a word, a sentence, a version or a list of words in brackets. ok is
// false for every other text, which only the library reads. Most items have this form, and the
// library spends more time on it than the check of a signature takes on the rest of the item.
// FuzzPlainTree compares the trees of both.
func plainTree(text []byte) (root *yaml.Node, ok bool) {
	s := string(text)
	lines := strings.Count(s, "\n") + 1
	if lines > maxPlain {
		return nil, false
	}
	t := plainText{nodes: make([]yaml.Node, 0, 1+2*lines), refs: make([]*yaml.Node, 0, 2*lines)}
	t.nodes = append(t.nodes, yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1})
	root = &t.nodes[0]
	for n := 1; s != ""; n++ {
		var line string
		line, s, _ = strings.Cut(s, "\n")
		if !t.line(line, n) {
			return nil, false
		}
	}
	root.Content = t.refs
	return root, len(t.refs) > 0
}

// maxPlain bounds the lines that plainTree reads. Nobody writes more in this form.
const maxPlain = 64

// plainText collects the nodes of a text.
type plainText struct {
	nodes []yaml.Node // has room for every name and value, so that no node moves
	refs  []*yaml.Node
}

func (t *plainText) add(n yaml.Node) {
	t.nodes = append(t.nodes, n)
	t.refs = append(t.refs, &t.nodes[len(t.nodes)-1])
}

// line reads one line with its number.
func (t *plainText) line(line string, n int) bool {
	name, value, ok := strings.Cut(line, ": ")
	if !ok || !plainWord(name, "_-") || len(name) > 64 {
		return false
	}
	t.add(yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: n, Column: 1})
	at := len(name) + 3
	if list, ok := strings.CutPrefix(value, "["); ok {
		list, ok = strings.CutSuffix(list, "]")
		all := yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Line: n, Column: at}
		if !ok || !plainList(&all, list) {
			return false
		}
		t.add(all)
		return true
	}
	t.add(yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: n, Column: at})
	return plainVersion(value) || plainSentence(value)
}

// plainList reads the words of a list, which begins after the bracket of all.
func plainList(all *yaml.Node, list string) bool {
	at := all.Column + 1
	for more := true; more; {
		var word string
		word, list, more = strings.Cut(list, ", ")
		if !plainWord(word, "_-./") {
			return false
		}
		all.Content = append(all.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: word, Line: all.Line, Column: at})
		at += len(word) + 2
	}
	return true
}

// plainWord reports whether a text is a letter, then letters, digits and the characters of more,
// and not one of the words that YAML takes for another type.
func plainWord(s, more string) bool {
	if !plainStart(s) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !letter(c) && !digit(c) && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}

// plainSentence reports whether a text begins like a word and has only characters that are
// visible ASCII, without those that may begin a comment or a value. A blank is never the last one.
func plainSentence(s string) bool {
	if !plainStart(s) || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == ':' || c == '#' {
			return false
		}
	}
	return true
}

func plainStart(s string) bool {
	if s == "" || !letter(s[0]) {
		return false
	}
	switch s {
	case "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE":
		return false
	}
	return true
}

// plainVersion reports whether a text is three numbers with dots between them, which is no number
// and no date.
func plainVersion(s string) bool {
	major, rest, _ := strings.Cut(s, ".")
	minor, patch, _ := strings.Cut(rest, ".")
	return digits(major) && digits(minor) && digits(patch)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
