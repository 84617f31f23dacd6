package objects

import (
	"bytes"
	"encoding/json"
	"strings"
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

// readJSON reads a file that is one JSON object.
func (p *parser) readJSON() error {
	p.dialect = dialectData
	places, err := checkJSON(p.path, p.body, MaxMetaSize)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(p.body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return jsonError(p.path, p.body, err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return p.bad(mark{1, 1}, "metadata is not an object")
	}
	for k, v := range fields {
		if n, ok := v.(json.Number); ok {
			p.texts[k] = n.String()
		}
		p.fields[k] = plainNumbers(v)
		p.places[k] = p.at(places[k])
	}
	return nil
}

// plainNumbers replaces json.Number as yamlValue spells numbers.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".eE") {
			return int(i)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}
