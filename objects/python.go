package objects

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// The metadata of a Python tool are assignments of literals, each at the beginning
// of a line of the module. The scanner here knows strings, comments and brackets,
// and nothing else of Python. It never imports the module.

// pythonNames maps known names to the fields that they fill.
var pythonNames = map[string]string{
	"__version__":          "version",
	"__tool_type__":        "tool_type",
	"__executor_id__":      "executor_id",
	"__category__":         "category",
	"__tool_description__": "description",
	"__description__":      "description",
	"__title__":            "title",
	"__author__":           "author",
	"__license__":          "license",
	"__tags__":             "tags",
	"__examples__":         "examples",
	"__deps__":             "deps",
	"__needs__":            "needs",
	"__limits__":           "limits",
	"__tier__":             "tier",
	"CONFIG_SCHEMA":        "config_schema",
	"ENV_CONFIG":           "env_config",
	"CONFIG":               "config",
	"ANCHOR":               "anchor",
	"VERIFY_DEPS":          "verify_deps",
}

// customary are fields that modules of all kinds assign. They alone do not make a tool.
var customary = names("__version__ __description__ __title__ __author__ __license__ __examples__ CONFIG")

// limiting are the fields that limit a tool. Their values must be literals.
var limiting = names("needs limits tier")

// extractorNames are read in extractors, in addition to pythonNames. In other
// modules these names have no meaning for rye.
var extractorNames = map[string]string{
	"EXTENSIONS":        "extensions",
	"PARSER":            "parser",
	"SIGNATURE_FORMAT":  "signature_format",
	"EXTRACTION_RULES":  "extraction_rules",
	"SEARCH_FIELDS":     "search_fields",
	"VALIDATION_SCHEMA": "validation_schema",
}

// extractors is the prefix of the ids of extractors; see objects/extract.
const extractors = "rye/core/extractors/"

// pythonOwn are the names between double underscores that have a meaning in Python.
const pythonOwn = " all slots doc file path package spec loader builtins dict debug future annotations main init new del class module qualname bases mro match_args "

// PythonField returns the field that an assignment to name fills in a Python tool: a
// field that rye knows, or the one that any other __name__ stands for. It returns ""
// when the name fills none.
func PythonField(name string) string {
	if f := pythonNames[name]; f != "" {
		return f
	}
	return freeName(name)
}

// freeName returns the field for a __name__ that is free. It returns "" for a name
// that Python uses, and for a field that rye reads under another spelling.
func freeName(name string) string {
	if len(name) < 5 || name[:2] != "__" || name[len(name)-2:] != "__" {
		return ""
	}
	f := name[2 : len(name)-2]
	if f[0] < 'a' || f[0] > 'z' || strings.Trim(f, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	if strings.Contains(pythonOwn, " "+f+" ") || toolFields[f] || commonFields[f] {
		return ""
	}
	return f
}

// nonLiteral stands for an expression that is not a literal.
type nonLiteral struct{}

// pyError is a place and a reason. The scanner panics with it, and rescue turns it
// into an error.
type pyError struct {
	off int
	msg string
}

// rescue recovers from a panic of the scanner's fail, and passes its pyError to told.
// It must be deferred.
func rescue(told func(pyError)) {
	switch r := recover().(type) {
	case nil:
	case pyError:
		told(r)
	default:
		panic(r)
	}
}

// readPython fills the fields from the module's assignments.
func (p *parser) readPython() (err error) {
	p.dialect = dialectPython
	defer rescue(func(e pyError) { err = p.bad(p.at(e.off), "python: %s", e.msg) })
	s := &pyScanner{b: p.body, budget: MaxMetaSize, extractor: strings.HasPrefix(string(p.ref.ID), extractors)}
	for s.i < len(s.b) {
		at := s.i
		name, field, ok := s.assignment()
		if !ok {
			s.skipLine()
			continue
		}
		if f := misspelt(name); f != "" { // with any value
			p.places[f] = p.at(at)
			p.unknown = append(p.unknown, f)
			p.tooled = true
			s.skipLine()
			continue
		}
		if pythonNames[name] == "" && extractorNames[name] == "" {
			p.freeField(s, field, at)
			s.skipLine()
			continue
		}
		v, text := s.assigned()
		if err := p.pythonField(name, field, v, text, at); err != nil {
			return err
		}
		s.skipLine()
	}
	return nil
}

// freeField keeps an unknown field when its value is short and on one line. It never
// fails, because the name may have any meaning to the module.
func (p *parser) freeField(s *pyScanner, field string, at int) {
	s.blanks()
	line := s.b[s.i:min(lineEnd(s.b, s.i), s.i+1024)]
	if len(line) == 0 || line[len(line)-1] != '\n' && s.i+len(line) < len(s.b) || bytes.ContainsAny(line, "{\\") ||
		bytes.Contains(line, []byte(`"""`)) || bytes.Contains(line, []byte("'''")) || line[0] == '[' && !bytes.Contains(line, []byte("]")) {
		return
	}
	one := &pyScanner{b: line, budget: len(line)}
	v, text, err := one.alone()
	if _, open := v.(nonLiteral); err != nil || open || v == nil {
		return
	}
	if _, twice := p.fields[field]; !twice {
		p.fields[field], p.places[field] = literalsOnly(v), p.at(at)
		if text != "" {
			p.texts[field] = text
		}
	}
}

// alone is assigned for a separate text. A mistake is returned and does not panic.
func (s *pyScanner) alone() (v any, text string, err error) {
	defer rescue(func(e pyError) { err = errors.New(e.msg) })
	v, text = s.assigned()
	return v, text, nil
}

// pythonField keeps one assignment. A second assignment to a field is an error, and
// so is an expression in a field that decides about execution.
func (p *parser) pythonField(name, field string, v any, text string, at int) error {
	_, isMap := v.(map[string]any)
	if name[0] != '_' && !isMap && extractorNames[name] == "" {
		return nil // an ordinary constant that happens to have the name
	}
	if _, twice := p.fields[field]; twice {
		return p.bad(p.at(at), "python: %s is assigned twice", name)
	}
	p.tooled = p.tooled || !customary[name]
	if _, open := v.(nonLiteral); open {
		if field == "executor_id" || limiting[field] || extractorNames[name] != "" {
			return p.bad(p.at(at), "python: %s must be a literal", name)
		}
		if _, known := p.places[field]; !known {
			p.places[field] = p.at(at) // a message about the missing value can name the place
		}
		return nil // as if it were absent
	}
	p.places[field] = p.at(at)
	p.fields[field] = literalsOnly(v)
	if text != "" {
		p.texts[field] = text
	}
	return nil
}

// literalsOnly replaces every value that is not a literal by nil, at all levels.
func literalsOnly(v any) any {
	switch v := v.(type) {
	case nonLiteral:
		return nil
	case []any:
		for i := range v {
			v[i] = literalsOnly(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = literalsOnly(v[k])
		}
	}
	return v
}

// pyScanner walks over Python source.
type pyScanner struct {
	b      []byte
	i      int
	budget int // bytes of literals that may still be read
	nest   int // open template fields

	extractor bool // the module is an extractor
}

func (s *pyScanner) fail(off int, format string, args ...any) {
	panic(pyError{off, fmt.Sprintf(format, args...)})
}

// peek returns the byte n after the current one, 0 at the end.
func (s *pyScanner) peek(n int) byte {
	if s.i+n < len(s.b) {
		return s.b[s.i+n]
	}
	return 0
}

// assignment reads "name =" or "name: type =" at the beginning of a line, and stops
// after the "=". The name must fill a field, or look as if it did. Otherwise ok is
// false, and the scanner stops anywhere in the line.
func (s *pyScanner) assignment() (name, field string, ok bool) {
	start := s.i
	for isWord(s.peek(0)) {
		s.i++
	}
	if word := s.b[start:s.i]; len(word) < 4 || word[0] != '_' && (word[0] < 'A' || word[0] > 'Z') {
		return "", "", false
	}
	name = string(s.b[start:s.i])
	if field = PythonField(name); field == "" && s.extractor {
		field = extractorNames[name]
	}
	if field == "" {
		field = misspelt(name)
	}
	if field == "" {
		return "", "", false
	}
	s.blanks()
	if s.peek(0) == ':' {
		s.i++
		s.expression("=\n")
	}
	if s.peek(0) != '=' || s.peek(1) == '=' {
		return "", "", false
	}
	s.i++
	return name, field, true
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// assigned reads the right side up to the end of the statement. For a number it also
// returns the literal as written.
func (s *pyScanner) assigned() (any, string) {
	start := s.i
	s.blanks()
	from := s.i
	v := s.literal(1, false)
	text := string(s.b[from:s.i])
	s.blanks()
	switch s.peek(0) {
	case 0, '\n', '\r', ';', '#':
	case ',':
		v = nonLiteral{} // a tuple without brackets: metadata never has this form
	default:
		v = nonLiteral{}
	}
	s.expression(";\n")
	if s.budget -= s.i - start; s.budget < 0 {
		s.fail(start, "more than %d bytes of metadata", MaxMetaSize)
	}
	switch v.(type) {
	case int, float64:
		return v, text
	}
	return v, ""
}

// blanks skips spaces, tabs and joined lines.
func (s *pyScanner) blanks() {
	for {
		switch c := s.peek(0); {
		case c == ' ' || c == '\t' || c == '\f':
			s.i++
		case c == '\\' && s.peek(1) == '\n':
			s.i += 2
		case c == '\\' && s.peek(1) == '\r' && s.peek(2) == '\n':
			s.i += 3
		default:
			return
		}
	}
}

// space skips blanks, line ends and comments, as between brackets.
func (s *pyScanner) space() {
	for {
		s.blanks()
		switch s.peek(0) {
		case '\n', '\r':
			s.i++
		case '#':
			s.comment()
		default:
			return
		}
	}
}

// comment skips to the end of the line and leaves the line feed.
func (s *pyScanner) comment() {
	for s.i < len(s.b) && s.b[s.i] != '\n' {
		s.i++
	}
}

// skipLine skips to the beginning of the next logical line.
func (s *pyScanner) skipLine() {
	s.expression("\n")
	if s.i < len(s.b) {
		s.i++
	}
}

// expression skips to one of the bytes of stop outside strings and brackets, or to
// the end. Unless stop ends in a line feed, it also stops at a closing bracket that
// it did not open.
func (s *pyScanner) expression(stop string) {
	depth := 0
	opened := 0
	for s.i < len(s.b) {
		c := s.b[s.i]
		switch {
		case c == '"' || c == '\'':
			s.skipString()
			continue
		case c == '#':
			s.comment()
			continue
		case c == '\\':
			s.i++ // a joined line, or nonsense
			if s.peek(0) == '\r' && s.peek(1) == '\n' {
				s.i++
			}
		case c == '(' || c == '[' || c == '{':
			if depth == 0 {
				opened = s.i
			}
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth == 0 && (len(stop) == 0 || stop[len(stop)-1] != '\n') {
				return
			}
			depth = max(0, depth-1)
		case depth == 0 && strings.IndexByte(stop, c) >= 0:
			return
		}
		s.i++
	}
	s.i = min(s.i, len(s.b))
	if depth > 0 {
		s.fail(opened, "the bracket that opens here is never closed")
	}
}
