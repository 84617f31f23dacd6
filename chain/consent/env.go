package consent

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
)

// Bounds of a .env file.
const (
	MaxEnv  = 64 << 10 // bytes
	MaxVars = 1000
)

// ParseEnv reads a .env file: lines of NAME=value, with export before the name or without it.
// Empty lines and lines that begin with # are skipped. A value is one of
//
//	plain text        up to a # after a space, without the spaces around it
//	'literal text'    on one or several lines, without any special character
//	"text"            the same, with \n \t \r \" \\ \$ and a \ that joins lines
//
// Nothing is ever replaced or run: $HOME and $(command) stay literal. A repeated name, a quote
// without an end, text after a closing quote, and a control character are Malformed, with the
// line. Bytes that are not UTF-8 are Malformed. Exceeding a bound is Limit.
func ParseEnv(raw []byte) (map[string]string, error) {
	if len(raw) > MaxEnv {
		return nil, fault.New(fault.Limit, "more than %d bytes", MaxEnv)
	}
	if !utf8.Valid(raw) || bytes.HasPrefix(raw, []byte("\ufeff")) {
		return nil, fault.New(fault.Malformed, "not plain UTF-8 text")
	}
	p := envParser{rest: strings.ReplaceAll(string(raw), "\r\n", "\n"), line: 1, vars: map[string]string{}}
	if i := strings.IndexFunc(p.rest, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }); i >= 0 {
		return nil, fault.New(fault.Malformed, "line %d: a control character", 1+strings.Count(p.rest[:i], "\n"))
	}
	for p.rest != "" {
		if err := p.entry(); err != nil {
			return nil, err
		}
	}
	return p.vars, nil
}

type envParser struct {
	rest string
	line int
	vars map[string]string
}

func (p *envParser) bad(format string, args ...any) error {
	return fault.New(fault.Malformed, "line %d: "+format, append([]any{p.line}, args...)...)
}

// entry reads one line, or several for a quoted value.
func (p *envParser) entry() error {
	line, _, _ := strings.Cut(p.rest, "\n")
	text := strings.Trim(line, " \t")
	if text == "" || text[0] == '#' {
		p.skip(len(line) + 1)
		return nil
	}
	name, _, ok := strings.Cut(text, "=")
	if after, exported := strings.CutPrefix(name, "export "); exported {
		name = after
	}
	name = strings.Trim(name, " \t")
	switch {
	case !ok:
		return p.bad("want NAME=value")
	case !isName(name):
		return p.bad("a name has letters, digits and _, and does not begin with a digit")
	}
	if _, twice := p.vars[name]; twice {
		return p.bad("%s is set twice", name)
	}
	if len(p.vars) == MaxVars {
		return fault.New(fault.Limit, "more than %d variables", MaxVars)
	}
	p.rest = strings.TrimLeft(p.rest[strings.IndexByte(p.rest, '=')+1:], " \t")
	v, err := p.value()
	p.vars[name] = v
	return err
}

// value reads the text after the equals sign, up to the end of its line.
func (p *envParser) value() (string, error) {
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		line, _, _ := strings.Cut(p.rest, "\n")
		p.skip(len(line) + 1)
		for i := 0; i < len(line); i++ {
			if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
				line = line[:i]
			}
		}
		return strings.Trim(line, " \t"), nil
	}
	v, n, err := p.quoted(p.rest[0])
	if err != nil {
		return "", err
	}
	p.line += strings.Count(p.rest[:n], "\n")
	p.rest = p.rest[n:]
	line, _, _ := strings.Cut(p.rest, "\n")
	if after := strings.Trim(line, " \t"); after != "" && after[0] != '#' {
		return "", p.bad("text after the closing quote")
	}
	p.skip(len(line) + 1)
	return v, nil
}

// quoted returns a quoted value, and its length with the quotes.
func (p *envParser) quoted(quote byte) (string, int, error) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		c := p.rest[i]
		if c == quote {
			return b.String(), i + 1, nil
		}
		if c != '\\' || quote == '\'' || i+1 == len(p.rest) {
			b.WriteByte(c)
			continue
		}
		i++
		switch e := p.rest[i]; e {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\n':
		case '"', '\\', '$', '`':
			b.WriteByte(e)
		default:
			b.WriteByte('\\')
			b.WriteByte(e)
		}
	}
	return "", 0, p.bad("a quote that does not end")
}

func (p *envParser) skip(n int) {
	p.line++
	p.rest = p.rest[min(n, len(p.rest)):]
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}
