package objects

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// Other programs write skills, and other programs read them. So rye reads the front matter of a
// SKILL.md as they do, where its own items must be stricter: a byte order mark, anchors and tags are
// taken, and a value that holds a colon may lack its quotes. Nothing in it gives a right, and the
// manifest of the bundle signs every byte.

// maxSkillNodes bounds the values of a front matter, counted as often as an alias repeats them.
const maxSkillNodes = 5000

// readSkill reads the front matter that a skill must have.
func (p *parser) readSkill(m *Meta) error {
	p.dialect = dialectSkill
	skip := 0
	if bytes.HasPrefix(p.body, bom) {
		skip = len(bom)
	}
	text, end, after, ok := frontMatter(p.body[skip:])
	switch {
	case ok:
	case bytes.HasPrefix(p.body[skip:], []byte("---\n")) || bytes.HasPrefix(p.body[skip:], []byte("---\r\n")):
		return p.bad(p.at(0), "front matter that begins with --- and never ends")
	default:
		return p.bad(mark{1, 0}, "a skill begins with front matter: --- in line 1")
	}
	m.Prose = strings.ToValidUTF8(strings.TrimSpace(string(p.body[skip+after:])), "\ufffd")
	front, at := p.body[skip+text:skip+end], mark{p.at(skip + text).line, 1}
	err := p.yamlFields(front, at)
	if err == nil {
		return nil
	}
	for _, again := range [][]byte{front, quoteColons(front)} {
		if p.looseFields(again, at) == nil {
			return nil
		}
	}
	return err
}

// looseFields is yamlFields with anchors, aliases, merge keys and tags.
func (p *parser) looseFields(text []byte, at mark) error {
	if len(text) > MaxMetaSize {
		return p.bad(at, "more than %d bytes of front matter", MaxMetaSize)
	}
	if err := checkText(p.path, text, at); err != nil {
		return err
	}
	var doc yaml.Node
	if err := guard(func() error { return yaml.Unmarshal(text, &doc) }); err != nil {
		return yamlError(p.path, err, text, at)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return p.bad(at, "metadata is not a mapping of names to values")
	}
	left := maxSkillNodes
	root := plainNode(doc.Content[0], MaxDepth, &left)
	if root == nil {
		return p.bad(at, "more than %d values, or more than %d levels", maxSkillNodes, MaxDepth)
	}
	shift(root, at.line-1, at.col-1)
	if err := checkNode(p.path, root, 1); err != nil {
		return err
	}
	p.fields, p.texts, p.places = map[string]any{}, map[string]string{}, map[string]mark{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		p.fields[k.Value] = yamlValue(v)
		p.places[k.Value] = mark{k.Line, k.Column}
		if v.Kind == yaml.ScalarNode {
			p.texts[k.Value] = v.Value
		}
	}
	return nil
}

// plainNode returns a copy without anchors and tags, and with each alias replaced by its value. It
// returns nil beyond the bounds.
func plainNode(n *yaml.Node, depth int, left *int) *yaml.Node {
	if *left--; *left < 0 || depth == 0 {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return plainNode(n.Alias, depth-1, left)
	}
	c := &yaml.Node{Kind: n.Kind, Style: n.Style &^ yaml.TaggedStyle, Tag: n.Tag, Value: n.Value, Line: n.Line, Column: n.Column}
	if n.Style&yaml.TaggedStyle != 0 && n.Kind == yaml.ScalarNode {
		c.Tag = "!!str" // a tag asks for a type that only its writer knows
	}
	for _, below := range n.Content {
		b := plainNode(below, depth-1, left)
		if b == nil {
			return nil
		}
		c.Content = append(c.Content, b)
	}
	return c
}

// colonValue matches a field whose value begins as plain text and holds a colon.
var colonValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^([A-Za-z][A-Za-z0-9_-]*):[ \t]+([^\s"'|>\[{&*!#%@` + "`" + `][^\r\n]*:(?:[ \t][^\r\n]*)?)(\r?)$`)
})

// quoteColons puts quotes around the values at the left edge that hold a colon, as the guide for
// clients of Agent Skills advises.
func quoteColons(text []byte) []byte {
	return colonValue().ReplaceAllFunc(text, func(line []byte) []byte {
		part := colonValue().FindSubmatch(line)
		value, _ := json.Marshal(strings.TrimRight(string(part[2]), " \t")) // a string never fails
		return append(append(append(append([]byte{}, part[1]...), ": "...), value...), part[3]...)
	})
}
