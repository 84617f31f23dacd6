package expr

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Expand replaces each ${…} in s. It holds alternatives joined by "||", each a name or
// a text in quotation marks; the first one that exists and is not nil is used.
// ${name:-text} gives the text when the name is absent, nil or empty. If no alternative
// exists, the result is "". "$${" stands for "${".
//
// When s is one ${…} and nothing else, the value keeps its type. A value is never
// expanded again, so data from outside cannot read other names.
func Expand(s string, look Lookup) (any, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		i := strings.Index(rest, "${")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		if i > 0 && rest[i-1] == '$' {
			b.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		n := closing(rest[i+2:])
		if n < 0 {
			return nil, fault.New(fault.Malformed, "template %q: ${ is never closed", words.Brief(s)).Advise("write $${ for the text ${")
		}
		v, err := value(rest[i+2:i+2+n], look)
		if err != nil {
			return nil, err
		}
		after := rest[i+2+n+1:]
		if i == 0 && after == "" && len(rest) == len(s) {
			return v, nil
		}
		b.WriteString(rest[:i])
		b.WriteString(Text(v))
		if b.Len() > MaxText {
			return nil, fault.New(fault.Limit, "template %q: gives more than %d bytes", words.Brief(s), MaxText)
		}
		rest = after
	}
	return b.String(), nil
}

// closing returns the offset of the "}" that ends an expression, outside quotes.
func closing(s string) int {
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '}':
			return i
		case (c == '"' || c == '\'') && quoteStarts(s[:i]):
			quote = c
		}
	}
	return -1
}

// quoteStarts reports whether a quotation mark after s begins a text. It does so at the
// beginning and after "||"; elsewhere it is an apostrophe.
func quoteStarts(s string) bool {
	s = strings.TrimRight(s, " \t")
	return s == "" || strings.HasSuffix(s, "||")
}

// value evaluates the text between ${ and }.
func value(s string, look Lookup) (any, error) {
	if name, text, ok := strings.Cut(s, ":-"); ok && IsName(strings.TrimSpace(name)) {
		v, there := look(strings.TrimSpace(name))
		if !there || v == nil || v == "" {
			return text, nil
		}
		return v, nil
	}
	var found any
	for _, alt := range alternatives(s) {
		alt = strings.TrimSpace(alt)
		n := len(alt)
		quoted := n >= 2 && (alt[0] == '"' || alt[0] == '\'') && alt[n-1] == alt[0]
		if !quoted && !IsName(alt) {
			return nil, fault.New(fault.Malformed, "template ${%s}: %q is neither a name nor a text in quotation marks", words.Brief(s), words.Brief(alt)).
				Advise("write $${ for the text ${")
		}
		if found != nil {
			continue // already answered; the rest must still be well formed
		}
		if quoted {
			found = alt[1 : n-1]
		} else if v, ok := look(alt); ok {
			found = v
		}
	}
	return found, nil
}

// alternatives splits at "||" outside quotes.
func alternatives(s string) []string {
	var out []string
	start, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && quoteStarts(s[:i]):
			quote = c
		case c == '|' && i+1 < len(s) && s[i+1] == '|':
			out = append(out, s[start:i])
			start = i + 2
			i++
		}
	}
	return append(out, s[start:])
}

// IsName reports whether s can be looked up: letters, digits, "_", "-" and ".".
func IsName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != "" && s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Fill replaces each {name} in s that look knows, the second form of the data
// files. Unknown names, other braces and ${name} stay as they are. When s is one {name}
// and nothing else, the value keeps its type.
func Fill(s string, look Lookup) (any, error) {
	var b strings.Builder
	for rest := s; rest != ""; {
		i := strings.IndexByte(rest, '{')
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		n := nameLength(rest[i+1:])
		v, ok := any(nil), false
		dollar := i > 0 && rest[i-1] == '$' // ${...} belongs to Expand
		if end := i + 1 + n; n > 0 && !dollar && end < len(rest) && rest[end] == '}' {
			v, ok = look(rest[i+1 : end])
		}
		if !ok {
			b.WriteByte('{')
			rest = rest[i+1:]
			continue
		}
		after := rest[i+1+n+1:]
		if i == 0 && after == "" && len(rest) == len(s) {
			return v, nil
		}
		b.WriteString(Text(v))
		if b.Len() > MaxText {
			return nil, fault.New(fault.Limit, "template %q: gives more than %d bytes", words.Brief(s), MaxText)
		}
		rest = after
	}
	return b.String(), nil
}

// nameLength returns how many bytes at the beginning of s make a name.
func nameLength(s string) int {
	n := 0
	for n < len(s) && n < 256 && isNameByte(s[n]) {
		n++
	}
	if !IsName(s[:n]) {
		return 0
	}
	return n
}

// Each returns a copy of v with f applied to every text in it, except keys. Callers use it
// to run Expand or Fill over the parameters of an action.
func Each(v any, f func(string) (any, error)) (any, error) { return each(v, f, 0) }

func each(v any, f func(string) (any, error), depth int) (any, error) {
	if depth > MaxDepth {
		return nil, fault.New(fault.Limit, "template: nested deeper than %d levels", MaxDepth)
	}
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			r, err := each(e, f, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			r, err := each(e, f, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = r
		}
		return out, nil
	}
	return v, nil
}
