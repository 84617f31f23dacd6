package search

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of a query. Longer ones are refused, so that the cost is bounded for any input from a
// model.
const (
	MaxQuery = 4096 // bytes
	MaxTerms = 128
	maxDepth = 32
)

// Query is a parsed query. The zero value is not usable; Parse makes one.
type Query struct {
	Text   string
	Loose  string // why Read took the words alone; "" where the text was parsed
	root   node
	leaves []*leaf // in order
}

// Every reports whether the query matches every item, so that there is nothing to rank.
func (q *Query) Every() bool { return q.root == nil }

// node is a part of a query: *leaf, allOf, anyOf, noneOf, run or mixed.
type node interface{}

type (
	allOf  []node            // all of them
	anyOf  []node            // any of them
	noneOf struct{ of node } // everything except its matches
	run    []node            // words written as one: src/main.go

	// mixed holds parts side by side. All parts that are more than a word must match; without such
	// parts, one of the words must.
	mixed struct{ must, words, never []node }
)

// leaf is a word, a phrase or a pattern.
type leaf struct {
	text   string
	parts  []string // folded; several make a phrase or a compound
	whole  string   // the parts of a compound, joined
	phrase bool
	slop   int    // words allowed between the words of a phrase
	wild   bool   // text is a pattern with *
	fuzzy  int    // allowed edits
	field  string // "" for any
	never  bool   // below NOT
	aside  bool   // beside a quotation, so that it says little
	at     int    // index in leaves
}

// Parse parses a query. Precedence, lowest first: OR, AND, side by side, NOT. fields are the names
// allowed before a colon.
func Parse(s string, fields []string) (*Query, error) {
	if len(s) > MaxQuery {
		return nil, fault.New(fault.Usage, "query: %d bytes, want at most %d", len(s), MaxQuery)
	}
	p := parser{rest: s, fields: fields}
	p.next()
	q := &Query{Text: s}
	if !p.done() {
		q.root = p.or(0)
	}
	if p.err == nil && !p.done() {
		p.fail("unexpected %q", words.Brief(p.tok))
	}
	if q.leaves = p.leaves; strings.Trim(s, "* \t\r\n") == "" {
		q.root = nil
	}
	return q, p.err
}

// parser is a recursive-descent parser with one token of look-ahead.
type parser struct {
	rest   string
	tok    string
	quoted bool   // tok was quoted: never an operator
	slop   int    // of a quoted token
	field  string // of a quoted token with a field before it
	fields []string
	nots   int // number of NOTs around the current token
	leaves []*leaf
	err    error
}

func (p *parser) fail(format string, args ...interface{}) {
	if p.err == nil {
		p.err = fault.New(fault.Usage, "query: "+format, args...)
	}
	p.rest, p.tok, p.quoted = "", "", false
}

// next reads a token: ( or ), a quoted phrase, or a run of anything else.
func (p *parser) next() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	p.tok, p.quoted, p.field, p.slop = "", false, "", 0
	if p.rest == "" {
		return
	}
	if c := p.rest[0]; c == '(' || c == ')' {
		p.tok, p.rest = p.rest[:1], p.rest[1:]
		return
	}
	if name, after, ok := strings.Cut(p.rest, ":\""); ok && isName(name) {
		if !p.known(name) {
			return
		}
		p.field, p.rest = strings.ToLower(name), "\""+after
	}
	if p.rest[0] == '"' {
		p.phrase()
		return
	}
	end := strings.IndexAny(p.rest, " \t\r\n()\"")
	if end < 0 {
		end = len(p.rest)
	}
	p.tok, p.rest = p.rest[:end], p.rest[end:]
}

// phrase reads a quoted token and the allowed distance of its words: "a b"~5.
func (p *parser) phrase() {
	body, after, ok := strings.Cut(p.rest[1:], "\"")
	if !ok {
		p.fail("a quote is never closed")
		return
	}
	if strings.HasPrefix(after, ":") { // {"key": "value"}
		p.fail("a colon follows a quote")
		return
	}
	p.tok, p.quoted = body, true
	if digits := len(after) - len(strings.TrimLeft(strings.TrimPrefix(after, "~"), "0123456789")); digits > 1 && after[0] == '~' {
		p.slop, _ = strconv.Atoi(after[1:min(digits, 4)])
		after = after[digits:]
	}
	p.rest = after
}

// is reports whether the token is op. Operators are upper case: "search and replace" is words.
func (p *parser) is(op string) bool { return !p.quoted && p.tok == op }
func (p *parser) done() bool        { return p.err != nil || p.tok == "" && !p.quoted }

func (p *parser) or(depth int) node {
	list := anyOf{p.and(depth)}
	for p.is("OR") {
		p.next()
		list = append(list, p.and(depth))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

func (p *parser) and(depth int) node {
	list := allOf{p.side(depth)}
	for p.is("AND") {
		p.next()
		list = append(list, p.side(depth))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// side reads parts side by side.
func (p *parser) side(depth int) node {
	var m mixed
	for first := true; first || !p.done() && !p.is("OR") && !p.is("AND") && !p.is(")"); first = false {
		switch n := p.not(depth).(type) {
		case nil:
		case noneOf:
			m.never = append(m.never, n.of)
		case run:
			m.words = append(m.words, n...)
		case mixed: // a remark in parentheses is words
			if plain(n) {
				m.words = append(m.words, n.words...)
			} else {
				m.must = append(m.must, n)
			}
		case *leaf:
			if n.phrase || n.field != "" {
				m.must = append(m.must, n)
			} else {
				m.words = append(m.words, n)
			}
		default:
			m.must = append(m.must, n)
		}
	}
	if len(m.must)+len(m.words) == 1 && len(m.never) == 0 {
		return append(m.must, m.words...)[0]
	}
	return m
}

func (p *parser) not(depth int) node {
	if depth > maxDepth {
		p.fail("nested deeper than %d", maxDepth)
	}
	if !p.is("NOT") {
		return p.primary(depth)
	}
	p.next()
	p.nots++
	n := p.not(depth + 1)
	p.nots--
	if twice, ok := n.(noneOf); ok {
		return twice.of
	}
	return noneOf{n}
}

func (p *parser) primary(depth int) node {
	switch {
	case p.done() || p.is(")") || p.is("AND") || p.is("OR"):
		p.fail("a word is missing")
		return nil
	case p.is("("):
		p.next()
		n := p.or(depth + 1)
		if !p.is(")") {
			p.fail("a parenthesis is never closed")
		}
		p.next()
		return n
	}
	list := p.leaf()
	p.next()
	for _, l := range list {
		l.at = len(p.leaves)
		p.leaves = append(p.leaves, l)
	}
	if len(p.leaves) > MaxTerms {
		p.fail("more than %d words", MaxTerms)
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	var r run
	for _, l := range list {
		r = append(r, l)
	}
	return r
}

// leaf makes leaves from the token: none without a word, several from src/main.go.
func (p *parser) leaf() []*leaf {
	l := &leaf{text: p.tok, field: p.field, phrase: p.quoted, slop: p.slop, never: p.nots%2 == 1}
	if !p.quoted {
		if name, word, ok := strings.Cut(l.text, ":"); ok && word != "" && isName(name) && !strings.HasPrefix(word, "//") {
			if name = strings.ToLower(name); slices.Contains(kinds, name) && !slices.Contains(p.fields, name) {
				l.text = word // tool:acme/hello is a name
			} else if !p.known(name) {
				return nil
			} else {
				l.field, l.text = strings.ToLower(name), word
			}
		}
		l.takeFuzzy()
		l.wild = strings.Contains(l.text, "*") && strings.Trim(l.text, "*") != "" && !strings.Contains(l.text, "**") // **bold**
	}
	var words [][]string
	scan(l.text, func(parts []part) bool {
		var word []string
		for _, x := range parts {
			word = append(word, x.text)
		}
		words, l.parts = append(words, word), append(l.parts, word...)
		return true
	})
	switch {
	case l.wild:
		return []*leaf{l}
	case len(words) > 1 && !l.phrase && l.field == "":
		return l.split(words)
	case len(l.parts) == 0:
		return nil
	case l.phrase || len(words) > 1:
		l.phrase = len(l.parts) > 1 || l.field == ""
	case len(l.parts) > 1:
		l.whole = strings.Join(l.parts, "")
	}
	return []*leaf{l}
}

// split makes a leaf of each word.
func (l *leaf) split(words [][]string) (all []*leaf) {
	for _, parts := range words {
		one := *l
		one.text, one.parts = strings.Join(parts, "-"), parts
		if len(parts) > 1 {
			one.whole = strings.Join(parts, "")
		}
		all = append(all, &one)
	}
	return all
}

// takeFuzzy removes ~ or ~2 from the end of a word.
func (l *leaf) takeFuzzy() {
	for edits, end := range []string{"~", "~1", "~2"} {
		if word, ok := strings.CutSuffix(l.text, end); ok && word != "" {
			l.text, l.fuzzy = word, max(edits, 1)
			return
		}
	}
}

// kinds may stand before a name, as in tool:acme/hello.
var kinds = []string{"directive", "tool", "knowledge", "config"}

func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz_") == ""
}

// known refuses an unknown field.
func (p *parser) known(name string) bool {
	if slices.Contains(p.fields, strings.ToLower(name)) {
		return true
	}
	p.fail("there is no field %q; there are %s", words.Brief(name), strings.Join(p.fields, ", "))
	return false
}
