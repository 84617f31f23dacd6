package objects

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"
)

// Most metadata is a few lines of "key: words". The YAML library takes eight times as
// long for them (BenchmarkPlainYAML), more than hashing the file does, so they are read
// here. What is not of this form, to the letter, is left to the library;
// FuzzPlainYAML compares the trees.
//
//	key: words                 words begin with a letter, are no true, null or the like
//	key: 1.2.3                 a version
//	key: [word, word]          words of letters, digits, _ and -

// plainTree returns the tree that the YAML library gives for text; nil where text is not
// as simple as that.
func plainTree(text []byte) *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1}
	for line := 1; len(text) > 0; line++ {
		row, rest, ended := bytes.Cut(text, []byte{'\n'})
		if !ended {
			return nil
		}
		text = rest
		key, value, ok := strings.Cut(string(row), ": ")
		if !ok || !plainWord(key) {
			return nil
		}
		v := plainValue(value, line, len(key)+3)
		if v == nil {
			return nil
		}
		root.Content = append(root.Content, plainNode(key, line, 1), v)
	}
	if len(root.Content) == 0 {
		return nil
	}
	return root
}

func plainNode(s string, line, col int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: line, Column: col}
}

func plainValue(s string, line, col int) *yaml.Node {
	if list, ok := strings.CutPrefix(s, "["); ok {
		return plainList(list, line, col)
	}
	if plainWords(s) || plainVersion(s) {
		return plainNode(s, line, col)
	}
	return nil
}

// plainList reads "word, word]".
func plainList(s string, line, col int) *yaml.Node {
	list, ok := strings.CutSuffix(s, "]")
	if !ok {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Tag: "!!seq", Line: line, Column: col}
	at := col + 1
	for word := range strings.SplitSeq(list, ", ") {
		if !plainWord(word) {
			return nil
		}
		n.Content = append(n.Content, plainNode(word, line, at))
		at += len(word) + 2
	}
	return n
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

// plainWord: letters, digits, _ and -, a letter first.
func plainWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (i == 0 || !digit(c) && c != '_' && c != '-') {
			return false
		}
	}
	return s != "" && len(s) < 128 && !special(s)
}

// plainWords: what begins with a letter and holds nothing that means anything to YAML in
// a value of one line.
func plainWords(s string) bool {
	if s == "" || !letter(s[0]) || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !letter(c) && !digit(c) && !strings.ContainsRune(" _-./,;()", rune(c)) {
			return false
		}
	}
	return !special(s)
}

// plainVersion: three numbers with dots between them, which is no number.
func plainVersion(s string) bool {
	dots := 0
	for i := range len(s) {
		switch {
		case digit(s[i]):
		case s[i] == '.' && i > 0 && s[i-1] != '.' && i+1 < len(s):
			dots++
		default:
			return false
		}
	}
	return dots == 2
}

// special reports words that YAML takes for something else than themselves.
func special(s string) bool {
	if len(s) > len("false") {
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
		return true
	}
	return false
}
