package chain

import (
	"strings"

	"github.com/rye-os/rye/objects/expr"
)

// scope holds the names that templates of a configuration can use.
type scope struct {
	env    map[string]string // ${NAME}
	values map[string]any    // {name}: variables of the plan, then parameters, then other configuration
	params map[string]any    // the part of values that came from the caller
	schema map[string]bool   // parameters that the tool declares, given or not
}

// piece is a part of a text of the configuration: a literal, or a template with its value.
type piece struct {
	literal  string
	template string // "{name}" or "${NAME...}"; "" for a literal
	value    any
}

// variable returns the name of a ${NAME}.
func (p piece) variable() (string, bool) {
	if !strings.HasPrefix(p.template, "$") {
		return "", false
	}
	name, _, _ := strings.Cut(p.template[2:len(p.template)-1], ":-")
	return name, isVariable(name)
}

// fill replaces ${NAME}, ${NAME:-default} and {name} in one text of the configuration, in one
// pass over that text. It never reads an inserted value again: a parameter that holds ${SECRET}
// or {tool_path} arrives unchanged.
func (s *scope) fill(text string) (string, error) {
	var b strings.Builder
	err := s.pieces(text, func(p piece) error {
		if p.template == "" {
			b.WriteString(p.literal)
		} else {
			b.WriteString(paramText(p.value))
		}
		return nil
	})
	return b.String(), err
}

// pieces splits a text into its pieces, in one pass from left to right.
func (s *scope) pieces(text string, take func(piece) error) error {
	for text != "" {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			return take(piece{literal: text})
		}
		dollar := i > 0 && text[i-1] == '$'
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			return take(piece{literal: text})
		}
		end += i + 1
		from := i
		if dollar {
			from--
		}
		tmpl := text[from:end]
		var v any
		var err error
		if dollar {
			v, err = s.expand(tmpl)
		} else if name := tmpl[1 : len(tmpl)-1]; s.schema[name] && s.values[name] == nil {
			v = nil // declared, not given
		} else if v, err = expr.Fill(tmpl, s.lookup); v == tmpl {
			// Not a name: the brace is literal, and a template may follow it.
			if err := take(piece{literal: text[:i+1]}); err != nil {
				return err
			}
			text = text[i+1:]
			continue
		}
		if err == nil && from > 0 {
			err = take(piece{literal: text[:from]})
		}
		if err == nil {
			err = take(piece{template: tmpl, value: v})
		}
		if err != nil {
			return err
		}
		text = text[end:]
	}
	return nil
}

// expand handles one ${...}. Only names of variables are templates: upper case, digits and
// underscore, as in RYE OS's later version.
func (s *scope) expand(piece string) (any, error) {
	name, _, _ := strings.Cut(piece[2:len(piece)-1], ":-")
	if !isVariable(name) {
		return piece, nil
	}
	return expr.Expand(piece, func(name string) (any, bool) {
		v, ok := s.env[name]
		return v, ok
	})
}

func isVariable(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c == '_' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

func (s *scope) lookup(name string) (any, bool) {
	v, ok := s.values[name]
	return v, ok
}

// whole returns the name when text is exactly one {name}.
func whole(text string) (string, bool) {
	if len(text) < 3 || text[0] != '{' || text[len(text)-1] != '}' || !expr.IsName(text[1:len(text)-1]) {
		return "", false
	}
	return text[1 : len(text)-1], true
}
