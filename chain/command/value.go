package command

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A value is the knowledge about a text: its known part, and the origin of the rest.
type value struct {
	text string
	from origin
}

// origin is the source of a text. Its bits add up.
type origin uint16

const (
	fetched  origin = 1 << iota // from the network
	unseen                      // decoded from an unknown text
	encoded                     // decoded from a known text
	built                       // known, then changed in a way that the analysis does not follow
	document                    // from a file that is not a program: README.md, logo.png
	secret                      // keys, tokens, the environment
	partial                     // only a part is known
	listed                      // from a list of work: the input of xargs
	answers                     // a shell's answers to its input
	spelled                     // names a program by ? or [ ]
	packed                      // an archive, or everything in a store
	facts                       // what this machine is: its name, users, processes
	keyed                       // from a variable with the name of a secret
)

// originNames are the origins in the rows of rules, in their order.
var originNames = []string{"fetched", "unseen", "encoded", "built", "document", "secret", "partial", "listed", "answers", "spelled", "packed", "facts", "keyed"}

func (v value) is(o origin) bool { return v.from&o != 0 }

// join appends b to a.
func join(a, b value) value {
	switch {
	case a.text == "":
		return value{clip(b.text), a.from | b.from}
	case b.text == "":
		return value{a.text, a.from | b.from}
	}
	return value{clip(a.text + b.text), a.from | b.from}
}

// replaced is strings.Replace with a bound, because the result may be much larger than s.
func (m *machine) replaced(s, old, with string, n int) string {
	if old == "" || !strings.Contains(s, old) {
		return s
	}
	if count := strings.Count(s, old); n < 0 || n > count {
		n = count
	}
	if with != "" {
		n = min(n, 1+maxValue/len(with))
	}
	if !m.spend(n * len(with)) {
		return s
	}
	return clip(strings.Replace(s, old, with, n))
}

// clip bounds a value. Without it a few doublings would fill the memory.
func clip(s string) string { return s[:min(len(s), maxValue)] }

func texts(list []value) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.text
	}
	return out
}

func line(list []value) string { return strings.Join(texts(list), " ") }

// merged joins several words into one text.
func merged(list []value) value {
	out := value{text: clip(line(list))}
	for _, v := range list {
		out.from |= v.from
	}
	return out
}

// fields expands the words of a script as a shell does.
func (m *machine) fields(list []*syntax.Word) []value {
	var out []value
	for _, w := range list {
		for _, w := range braces(w) {
			out = append(out, m.split(w)...)
		}
	}
	return out
}

// word returns the text of a word that is not split: in an assignment or a redirection.
func (m *machine) word(w *syntax.Word) value {
	if w == nil {
		return value{}
	}
	s := splitter{ifs: ""}
	m.parts(&s, w.Parts, true)
	return merged(s.done())
}

func (m *machine) split(w *syntax.Word) []value {
	if lit, ok := single(w).(*syntax.Lit); ok {
		v := value{text: m.unescape(lit.Value, false)}
		if globbed(lit.Value) {
			v.from = spelled
		}
		m.spend(len(v.text))
		return []value{v}
	}
	s := splitter{ifs: " \t\n"}
	if ifs, ok := m.vars["IFS"]; ok && len(ifs) == 1 {
		s.ifs = ifs[0].text
	}
	m.parts(&s, w.Parts, false)
	return s.done()
}

// globbed reports whether a shell may expand a word as a pattern to the name of a program.
func globbed(s string) bool {
	return strings.ContainsAny(s, "?[") || s != "" && s[0] == '/' && strings.Contains(s, "*")
}

func single(w *syntax.Word) syntax.WordPart {
	if len(w.Parts) == 1 {
		return w.Parts[0]
	}
	return nil
}

// A splitter collects the fields of one word.
type splitter struct {
	ifs  string
	out  []value
	cur  value
	open bool
}

func (s *splitter) lit(v value) {
	s.cur, s.open = join(s.cur, v), true
}

// expand adds the result of an unquoted expansion, which a shell splits at IFS.
func (s *splitter) expand(v value) {
	rest := v.text
	for {
		i := strings.IndexAny(rest, s.ifs)
		if i < 0 {
			break
		}
		if i > 0 {
			s.lit(value{rest[:i], v.from})
		}
		s.end()
		rest = rest[i+1:]
	}
	if rest != "" || v.text == "" && v.from != 0 {
		s.lit(value{rest, v.from})
	}
}

func (s *splitter) end() {
	if s.open {
		s.out = append(s.out, s.cur)
	}
	s.cur, s.open = value{}, false
}

func (s *splitter) done() []value {
	s.end()
	return s.out
}

func (m *machine) parts(s *splitter, list []syntax.WordPart, quoted bool) {
	for _, p := range list {
		if !m.spend(1) {
			return
		}
		switch p := p.(type) {
		case *syntax.Lit:
			v := value{text: m.unescape(p.Value, quoted)}
			if !quoted && globbed(p.Value) {
				v.from = spelled
			}
			m.spend(len(v.text))
			s.lit(v)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = escapes(text)
			}
			s.lit(value{text: text})
		case *syntax.DblQuoted:
			s.open = true
			m.parts(s, p.Parts, true)
		case *syntax.ParamExp:
			m.expandInto(s, m.expandParam(p), quoted, at(p))
		case *syntax.CmdSubst:
			v := m.stmts(p.Stmts, value{})
			v.text = strings.TrimRight(v.text, "\n")
			m.expandInto(s, []value{v}, quoted, false)
		case *syntax.ProcSubst:
			s.lit(value{text: m.processFile(p)})
		case *syntax.ArithmExp:
			m.walkWithin(p.X)
			s.lit(value{text: "1", from: partial})
		case *syntax.ExtGlob:
			s.lit(value{text: p.Op.String() + p.Pattern.Value + ")", from: spelled})
		}
	}
}

// expandInto adds the values of an expansion. "$@" keeps them separate, even in quotes.
func (m *machine) expandInto(s *splitter, list []value, quoted, apart bool) {
	for i, v := range list {
		m.spend(len(v.text))
		if i > 0 && (apart || !quoted) {
			s.end()
		} else if i > 0 {
			s.lit(value{text: " "})
		}
		if quoted {
			s.lit(v)
		} else {
			s.expand(v)
		}
	}
}

// at reports whether an expansion is "$@" or "${list[@]}".
func at(p *syntax.ParamExp) bool {
	if p.Param != nil && p.Param.Value == "@" {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

// expandParam returns the values of ${...}.
func (m *machine) expandParam(p *syntax.ParamExp) []value {
	if p.Param == nil {
		return []value{{from: partial}}
	}
	list, known := m.vars.lookup(p.Param.Value)
	if p.Excl && known && len(list) == 1 {
		list, known = m.vars.lookup(list[0].text)
	}
	if w, ok := p.Index.(*syntax.Word); ok {
		if i, err := strconv.Atoi(w.Lit()); err == nil {
			if i < 0 || i >= len(list) {
				return []value{{from: partial}}
			}
			list = list[i : i+1]
		}
	} else if len(list) > 1 && !at(p) && p.Param.Value != "*" {
		list = list[:1] // $list is its first element
	}
	if p.Length {
		return []value{{text: "1", from: partial}}
	}
	if p.Exp != nil {
		return m.expandWith(p.Exp, list, known)
	}
	if p.Slice == nil && p.Repl == nil {
		return list
	}
	out := make([]value, len(list))
	for i, v := range list {
		out[i] = value{m.editParam(p, v.text), v.from}
	}
	return out
}

// editParam cuts or replaces, if the numbers and words are literals in the script.
func (m *machine) editParam(p *syntax.ParamExp, text string) string {
	if p.Repl != nil {
		from, to := m.word(p.Repl.Orig).text, m.word(p.Repl.With).text
		n := 1
		if p.Repl.All {
			n = -1
		}
		if match := globExpr(from); match != nil && m.spend(1000+len(text)*(1+len(to))) {
			return clip(match.ReplaceAllLiteralString(text, to))
		}
		return m.replaced(text, from, to, n)
	}
	if p.Param.Value == "HOME" && text == "~" {
		text = "/home/me" // scripts cut a slash out of it
	}
	start, ok := literal(p.Slice.Offset)
	if !ok {
		return text
	}
	if start < 0 {
		start += len(text)
	}
	text = text[min(max(start, 0), len(text)):]
	if n, ok := literal(p.Slice.Length); ok && n >= 0 {
		text = text[:min(n, len(text))]
	}
	return text
}

func literal(x syntax.ArithmExpr) (int, bool) {
	w, ok := x.(*syntax.Word)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(w.Lit())
	return n, err == nil
}

// expandWith returns the values of ${a:-b}, ${a#b} and similar expansions.
func (m *machine) expandWith(e *syntax.Expansion, list []value, known bool) []value {
	with := m.word(e.Word)
	edit := func(f func(string) string) []value {
		out := make([]value, len(list))
		for i, v := range list {
			out[i] = value{f(v.text), v.from}
		}
		return out
	}
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !known || merged(list).text == "" {
			return []value{with}
		}
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return []value{with}
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		return edit(func(s string) string { return m.withoutEnd(s, with.text, e.Op == syntax.RemLargePrefix, false) })
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		return edit(func(s string) string { return m.withoutEnd(s, with.text, e.Op == syntax.RemLargeSuffix, true) })
	case syntax.UpperAll, syntax.UpperFirst:
		return edit(strings.ToUpper)
	case syntax.LowerAll, syntax.LowerFirst:
		return edit(strings.ToLower)
	}
	return list
}

// globExpr returns the expression of a pattern with * ? or [ ], or nil for a plain text.
func globExpr(glob string) *regexp.Regexp {
	if !strings.ContainsAny(glob, "*?[") || len(glob) > 64 {
		return nil
	}
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			b.WriteString("(?s:.*)")
		case '?':
			b.WriteString("(?s:.)")
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end < 1 {
				return nil
			}
			set := glob[i+1 : i+1+end]
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + strings.ReplaceAll(set, `\`, `\\`) + "]")
			i += end + 1
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return re
}

// withoutEnd removes what a pattern matches at the start or at the end of a text.
func (m *machine) withoutEnd(s, glob string, longest, suffix bool) string {
	if !strings.ContainsAny(glob, "*?[") {
		if suffix {
			return strings.TrimSuffix(s, glob)
		}
		return strings.TrimPrefix(s, glob)
	}
	// The usual patterns have one star at the far end: ${x#*/}, ${x%.*}.
	fixed := strings.Trim(glob, "*")
	if fixed == "" || strings.ContainsAny(fixed, "*?[") || !m.spend(len(s)) {
		return s
	}
	at := strings.Index(s, fixed)
	if longest != suffix {
		at = strings.LastIndex(s, fixed)
	}
	switch {
	case at < 0:
		return s
	case suffix && strings.HasSuffix(glob, "*"):
		return s[:at]
	case !suffix && strings.HasPrefix(glob, "*"):
		return s[at+len(fixed):]
	}
	return s
}

// braces returns the words that {a,b} expands to.
func braces(w *syntax.Word) []*syntax.Word {
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") && strings.Contains(lit.Value, ",") {
			left := 64
			syntax.SplitBraces(w)
			return alternatives(w.Parts, &left)
		}
	}
	return []*syntax.Word{w}
}

func alternatives(parts []syntax.WordPart, left *int) []*syntax.Word {
	for i, p := range parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok || b.Sequence {
			continue
		}
		var out []*syntax.Word
		for _, e := range b.Elems {
			if *left--; *left < 0 {
				break
			}
			all := append(append(append([]syntax.WordPart{}, parts[:i]...), e.Parts...), parts[i+1:]...)
			out = append(out, alternatives(all, left)...)
		}
		return out
	}
	return []*syntax.Word{{Parts: parts}}
}

// unescape removes the backslashes that a shell removes. For a program of Windows they stand in
// paths.
func (m *machine) unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	if m.windows {
		return strings.ReplaceAll(s, `\`, "/")
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
