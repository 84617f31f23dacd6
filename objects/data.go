package objects

import (
	"bytes"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// readYAML reads a file that is one YAML mapping.
func (p *parser) readYAML() error {
	p.dialect = dialectData
	off := 0
	if bytes.HasPrefix(p.body, []byte("#!")) {
		off = bytes.IndexByte(p.body, '\n') + 1
	}
	return p.yamlFields(p.body[off:], mark{p.at(off).line, 1})
}

// yamlFields reads a mapping that begins at the given place of the file.
func (p *parser) yamlFields(text []byte, at mark) error {
	root, err := yamlTree(p.path, text, MaxMetaSize, at)
	if err != nil {
		return err
	}
	if root == nil {
		return nil
	}
	p.yaml, p.yamlAt = text, at
	if root.Kind != yaml.MappingNode {
		return p.bad(mark{root.Line, root.Column}, "metadata is not a mapping of names to values")
	}
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
