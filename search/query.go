package search

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Bounds of a query: longer ones are refused, so that parsing and matching stay
// cheap whatever a model sends.
const (
	MaxQuery = 4096 // bytes
	MaxTerms = 128
	maxDepth = 32
)

// Query is a parsed query. The zero value is not usable; Parse makes one.
type Query struct {
	root  node
	terms []term // those outside NOT: what the score is made of
}

type node interface{ match(*text) bool }

type (
	every struct{}
	not   struct{ node }
	and   []node
	or    []node
)

func (every) match(*text) bool   { return true }
func (n not) match(t *text) bool { return !n.node.match(t) }
func (n and) match(t *text) bool {
	return !slices.ContainsFunc(n, func(x node) bool { return !x.match(t) })
}
func (n or) match(t *text) bool {
	return slices.ContainsFunc(n, func(x node) bool { return x.match(t) })
}

// Parse reads a query. Binding is, loosest first: OR, AND (also unwritten), NOT.
// more names fields that may stand before a colon, besides those of every document.
func Parse(s string, more ...string) (Query, error) {
	if len(s) > MaxQuery {
		return Query{}, fault.New(fault.Usage, "query: %d bytes, want at most %d", len(s), MaxQuery)
	}
	p := parser{rest: s, more: more}
	p.next()
	if p.tok == "" && !p.quoted {
		return Query{root: every{}}, p.err
	}
	root := p.or(0)
	if p.err == nil && (p.tok != "" || p.quoted) {
		p.fail("unexpected %q", p.tok)
	}
	return Query{root: root, terms: p.terms}, p.err
}

// parser is a recursive descent over one token of look-ahead.
type parser struct {
	rest   string
	tok    string
	quoted bool   // tok was in quotes: never an operator
	field  string // of a quoted token with a field: before it
	more   []string
	negs   int // NOTs around the current place
	count  int
	terms  []term
	err    error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fault.New(fault.Usage, "query: "+format, args...)
	}
	p.rest, p.tok, p.quoted = "", "", false
}

// next reads a token: ( or ), a quoted phrase, or a run of anything else.
func (p *parser) next() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	p.tok, p.quoted, p.field = "", false, ""
	if p.rest == "" {
		return
	}
	if c := p.rest[0]; c == '(' || c == ')' {
		p.tok, p.rest = p.rest[:1], p.rest[1:]
		return
	}
	if name, after, ok := strings.Cut(p.rest, ":\""); ok && p.isField(name) {
		p.field, p.rest = name, "\""+after
	}
	if p.rest[0] == '"' {
		body, after, ok := strings.Cut(p.rest[1:], "\"")
		if !ok {
			p.fail("a quote is never closed")
			return
		}
		p.tok, p.rest, p.quoted = body, after, true
		return
	}
	end := strings.IndexAny(p.rest, " \t\r\n()\"")
	if end < 0 {
		end = len(p.rest)
	}
	p.tok, p.rest = p.rest[:end], p.rest[end:]
}

func (p *parser) is(op string) bool { return !p.quoted && strings.EqualFold(p.tok, op) }
func (p *parser) done() bool        { return p.err != nil || p.tok == "" && !p.quoted }

func (p *parser) or(depth int) node {
	n := or{p.and(depth)}
	for p.is("OR") {
		p.next()
		n = append(n, p.and(depth))
	}
	if len(n) == 1 {
		return n[0]
	}
	return n
}

func (p *parser) and(depth int) node {
	n := and{p.not(depth)}
	for !p.done() && !p.is("OR") && !p.is(")") {
		if p.is("AND") {
			p.next()
		}
		n = append(n, p.not(depth))
	}
	if len(n) == 1 {
		return n[0]
	}
	return n
}

func (p *parser) not(depth int) node {
	if depth > maxDepth {
		p.fail("nested deeper than %d", maxDepth)
	}
	if p.is("NOT") {
		p.next()
		p.negs++
		n := p.not(depth + 1)
		p.negs--
		return not{n}
	}
	return p.primary(depth)
}

func (p *parser) primary(depth int) node {
	switch {
	case p.done() || p.is(")") || p.is("AND") || p.is("OR"):
		p.fail("a word is missing")
		return every{}
	case p.is("("):
		p.next()
		n := p.or(depth + 1)
		if !p.is(")") {
			p.fail("a parenthesis is never closed")
		}
		p.next()
		return n
	}
	n := p.term()
	p.next()
	return n
}

// term makes a node of the current token.
func (p *parser) term() node {
	if p.count++; p.count > MaxTerms {
		p.fail("more than %d words", MaxTerms)
	}
	t := term{word: strings.ToLower(p.tok), field: p.field}
	if !p.quoted {
		if name, word, ok := strings.Cut(t.word, ":"); ok && p.isField(name) {
			t.field, t.word = name, word
		}
		t.wild = strings.Contains(t.word, "*")
		if strings.Trim(t.word, "*") == "" {
			return every{}
		}
	}
	if t.word == "" {
		return every{}
	}
	if p.negs%2 == 0 {
		p.terms = append(p.terms, t)
	}
	return t
}

func (p *parser) isField(name string) bool {
	return slices.Contains(standard, name) || slices.Contains(p.more, name)
}
