package objects

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// DecodeYAML reads rye's own files strictly: at most limit bytes of UTF-8, one
// document, no anchors, aliases, merge keys or tags, no repeated key, at most
// MaxDepth levels, and no field that the structs of into lack. Errors are Malformed
// with a line, or Limit.
func DecodeYAML(raw []byte, limit int, into any) error {
	root, err := yamlTree("", raw, limit, mark{1, 1})
	if err != nil || root == nil {
		return err
	}
	if err := knownFields(root, reflect.TypeOf(into)); err != nil {
		return err
	}
	if err := guard(func() error { return root.Decode(into) }); err != nil {
		return yamlError("", err, raw, mark{1, 1})
	}
	return nil
}

// YAMLValue reads the YAML of another program as Go values: map[string]any, []any, string, bool,
// int, float64 or nil. The syntax is that of DecodeYAML, and any field is accepted.
func YAMLValue(raw []byte, limit int) (any, error) {
	root, err := yamlTree("", raw, limit, mark{1, 1})
	if err != nil || root == nil {
		return nil, err
	}
	return yamlValue(root), nil
}

// knownFields refuses fields that a struct does not have. The library can do this too, but
// only by reading the text a second time.
func knownFields(n *yaml.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	below := func(*yaml.Node) (reflect.Type, bool) { return t.Elem(), true }
	values, step := n.Content, 1
	switch {
	case n.Kind == yaml.SequenceNode && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		step = 2
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		step = 2
		below = func(key *yaml.Node) (reflect.Type, bool) { return yamlField(t, key.Value) }
	default:
		return nil // decoding reports a value that does not fit
	}
	for i := 0; i+step <= len(values); i += step {
		in, ok := below(values[i])
		if !ok {
			return malformed("", values[i].Line, 0, "there is no field %q here", words.Brief(values[i].Value))
		}
		if err := knownFields(values[i+step-1], in); err != nil {
			return err
		}
	}
	return nil
}

// yamlField returns the type of the struct field with this name in YAML.
func yamlField(t reflect.Type, name string) (reflect.Type, bool) {
	for f := range t.Fields() {
		own, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported(), own == "-":
		case strings.Contains(options, "inline") && f.Type.Kind() == reflect.Struct:
			if in, ok := yamlField(f.Type, name); ok {
				return in, true
			}
		case own != "" && own == name, own == "" && strings.ToLower(f.Name) == name:
			return f.Type, true
		}
	}
	return nil, false
}

// YAMLValues reads a file that is one mapping, by the rules of DecodeYAML. The values are
// map[string]any, []any, string, bool, int, float64 (int64 or uint64 for a number that an
// int cannot hold) and nil. Dates stay text. An empty file is an empty mapping.
func YAMLValues(raw []byte, limit int) (map[string]any, error) {
	root, err := yamlTree("", raw, limit, mark{1, 1})
	if err != nil {
		return nil, err
	}
	if root == nil {
		return map[string]any{}, nil
	}
	m, ok := yamlValue(root).(map[string]any)
	if !ok {
		return nil, malformed("", root.Line, root.Column, "not a mapping of names to values")
	}
	return m, nil
}

// EncodeYAML returns v as block YAML, indented by two spaces, maps sorted by key.
// Equal values give equal bytes.
func EncodeYAML(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := guard(func() error {
		if err := enc.Encode(v); err != nil {
			return err
		}
		return enc.Close()
	})
	if err != nil {
		return nil, fault.New(fault.Malformed, "encode yaml: %w", err)
	}
	return b.Bytes(), nil
}

// guard turns a panic of the YAML library into an error. Its input may be hostile,
// and a crash would also end unrelated work in the process.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return f()
}

// yamlTree parses text that starts at the given place of the file at path and
// applies every strict rule. It returns the root node, nil for an empty document.
func yamlTree(path string, text []byte, limit int, at mark) (*yaml.Node, error) {
	if len(text) > limit {
		return nil, fault.New(fault.Limit, "%s: %d bytes of metadata, at most %d are allowed", cmp.Or(path, "yaml"), len(text), limit)
	}
	if err := checkText(path, text, at); err != nil {
		return nil, err
	}
	root, ok := plainTree(text)
	if !ok {
		var err error
		if root, err = libraryTree(path, text, at); root == nil || err != nil {
			return nil, err
		}
	}
	if at != (mark{1, 1}) {
		shift(root, at.line-1, at.col-1)
	}
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" && root.Value == "" {
		return nil, nil
	}
	return root, checkNode(path, root, 1)
}

// libraryTree is yamlTree without the checks of nodes, and with places in text.
func libraryTree(path string, text []byte, at mark) (*yaml.Node, error) {
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := guard(func() error { return dec.Decode(&doc) })
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, yamlError(path, err, text, at)
	}
	switch err := guard(func() error { return dec.Decode(&second) }); {
	case err == nil:
		return nil, malformed(path, second.Line+at.line-1, 0, "a second YAML document")
	case !errors.Is(err, io.EOF):
		return nil, yamlError(path, err, text, at)
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// shift moves the places of n and of all nodes below it.
func shift(n *yaml.Node, lines, columns int) {
	n.Line += lines
	n.Column += columns
	for _, c := range n.Content {
		shift(c, lines, columns)
	}
}

// checkText refuses text that two readers could see differently: bytes that are not
// UTF-8, a byte order mark, control characters and invisible direction marks.
func checkText(path string, text []byte, at mark) error {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < 0x20 && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
				return badChar(path, text, i, at, "control character U+%04X", rune(c))
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return badChar(path, text, i, at, "byte 0x%02X is not UTF-8", rune(text[i]))
		case hidden(r):
			return badChar(path, text, i, at, "invisible character U+%04X", r)
		}
		i += n
	}
	return nil
}

func badChar(path string, text []byte, off int, at mark, format string, r rune) error {
	m := markOf(text, off)
	return malformed(path, m.line+at.line-1, m.col+at.col-1, format, r)
}

// hidden reports whether a character makes text look different from its bytes: C1
// controls, marks that reverse direction, the byte order mark and tag characters.
func hidden(r rune) bool {
	return r >= 0x80 && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x200e || r == 0x200f || r == 0x061c || r == 0xfeff || r >= 0xe0000 && r <= 0xe0fff
}

// checkNode applies the strict rules to n, which is depth levels deep.
func checkNode(path string, n *yaml.Node, depth int) error {
	bad := func(format string, args ...any) error {
		return malformed(path, n.Line, n.Column, format, args...)
	}
	switch {
	case depth > MaxDepth:
		return bad("nested deeper than %d levels", MaxDepth)
	case n.Kind == yaml.AliasNode:
		return bad("an alias (*%s); write the value out", n.Value)
	case n.Anchor != "":
		return bad("an anchor (&%s); write the value out", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		return bad("a tag (%s)", words.Brief(n.Tag))
	}
	if n.Kind == yaml.MappingNode {
		if err := checkKeys(path, n); err != nil {
			return err
		}
	}
	for _, c := range n.Content {
		if err := checkNode(path, c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys refuses merge keys, keys that are not scalars, and repeated ones.
func checkKeys(path string, n *yaml.Node) error {
	var seen map[string]bool
	if len(n.Content) > 32 {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			return malformed(path, k.Line, k.Column, "a key that is not a plain value")
		case k.Value == "<<" && k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0:
			return malformed(path, k.Line, k.Column, "a merge key (<<); write the values out")
		}
		again := seen[k.Value]
		if seen == nil {
			for j := 0; j < i && !again; j += 2 {
				again = n.Content[j].Value == k.Value
			}
		} else {
			seen[k.Value] = true
		}
		if again {
			return malformed(path, k.Line, k.Column, "key %q is given twice", words.Brief(k.Value))
		}
	}
	return nil
}

var yamlLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s+)?line (\d+): `)
})

// countsFromZero are the first words of messages from the library's parser, whose line
// numbers are one too low. The numbers from its scanner and decoder are right.
var countsFromZero = []string{"did not find expected <", "did not find expected node content",
	"did not find expected '-' indicator", "did not find expected key", "did not find expected ',' or"}

// yamlError turns an error of the library into one with a place. It finds the line in
// the message, relative to the given place of the text. The library omits line 1.
func yamlError(path string, err error, text []byte, at mark) error {
	msg := strings.TrimSpace(err.Error())
	line := 1
	if m := yamlLine().FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
		if slices.ContainsFunc(countsFromZero, func(s string) bool { return strings.HasPrefix(msg, s) }) {
			line++
		}
	}
	last := 1 + bytes.Count(bytes.TrimRight(text, "\r\n"), []byte{'\n'})
	msg = words.FirstLine(strings.TrimPrefix(msg, "yaml: "))
	return malformed(path, min(line, last)+at.line-1, 0, "%s", msg)
}

// yamlValue returns n as Go values: map[string]any, []any, string, bool, int,
// float64 or nil. Dates stay text, because YAML 1.1 guesses them.
func yamlValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = yamlValue(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, c := range n.Content {
			l[i] = yamlValue(c)
		}
		return l
	}
	return yamlScalar(n)
}

func yamlScalar(n *yaml.Node) any {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if guard(func() error { return n.Decode(&v) }) == nil {
			return v
		}
	}
	return n.Value
}
