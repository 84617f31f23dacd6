package chain

import (
	"strings"

	"github.com/rye-os/rye/objects/expr"
)

// scope is what templates of a configuration can name.
type scope struct {
	env    map[string]string // ${NAME}
	values map[string]any    // {name}: variables of the plan, then parameters, then other configuration
	params map[string]any    // the part of values that came from the caller
	schema map[string]bool   // parameters that the tool declares, given or not
}

// fill replaces ${NAME}, ${NAME:-default} and {name} in one text of the
// configuration, in one pass over that text. What is put in is never looked at
// again: a parameter that holds ${SECRET} or {tool_path} arrives as it was sent.
func (s *scope) fill(text string) (string, error) {
	var b strings.Builder
	for text != "" {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			b.WriteString(text)
			break
		}
		dollar := i > 0 && text[i-1] == '$'
		end := strings.IndexByte(text[i:], '}')
		if end < 0 {
			b.WriteString(text)
			break
		}
		end += i + 1
		from := i
		if dollar {
			from--
		}
		b.WriteString(text[:from])
		piece := text[from:end]
		var v any
		var err error
		if dollar {
			v, err = s.expand(piece)
		} else if name := piece[1 : len(piece)-1]; s.schema[name] && s.values[name] == nil {
			v = "" // declared, not given
		} else if v, err = expr.Fill(piece, s.lookup); v == piece {
			// Not a name: the brace is a brace, and another may follow inside.
			b.WriteByte('{')
			text = text[i+1:]
			continue
		}
		if err != nil {
			return "", err
		}
		b.WriteString(paramText(v))
		text = text[end:]
	}
	return b.String(), nil
}

// expand handles one ${...}. Only names of variables are templates: upper case,
// digits, underscore, as the ancestor's later version has it.
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
