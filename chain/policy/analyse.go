package policy

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/rye-os/rye/internal/words"
)

// Finding is one dangerous act in a command.
type Finding struct {
	Label string // "recursive delete"
	Tier  Tier
	Text  string // the command or words that it was found in, clipped
	Param string // the parameter that it stands in; "" for the item's own text
}

// maxText bounds what is analysed of one text. A command longer than this is not
// one that a person could judge either; it is found as such.
const (
	maxText  = 256 << 10
	maxDepth = 6 // of commands within commands
)

// legacyPatterns are the nine of Ryvos, by its labels, tightened so that words
// which merely contain them pass. They are what judges a text that is no shell
// command; a text that parses is judged by what it does. Like the others here they
// are compiled when first needed, for most starts of rye judge nothing.
var legacyPatterns = sync.OnceValue(func() []Pattern {
	return []Pattern{
		{"recursive delete", T3, regexp.MustCompile(`(^|[^\w./-])rm\s+(-\w+\s+)*-(\w*[rR]|-recursive)`)},
		{"force push", T3, regexp.MustCompile(`git\s+push\s+.*(--force|\s-f\b)`)},
		{"hard reset", T3, regexp.MustCompile(`git\s+reset\s+--hard`)},
		{"SQL drop", T3, regexp.MustCompile(`(?i)\bDROP\s+(TABLE|DATABASE|SCHEMA)\b`)},
		{"wide-open permissions", T3, regexp.MustCompile(`chmod\s+(-\w+\s+)*0?777`)},
		{"format filesystem", T4, regexp.MustCompile(`(^|[^\w./-])mkfs(\.\w+)?\s+\S`)},
		{"raw disk write", T4, regexp.MustCompile(`(^|[^\w./-])dd\s+.*of=/dev/`)},
		{"write to device", T4, regexp.MustCompile(`>\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mem|kmem|loop|dm-|md)`)},
		{"pipe to shell", T4, regexp.MustCompile(`(curl|wget)\b.*\|\s*(sudo\s+)?(ba|z|da|k)?sh\b`)},
	}
})

var sqlDrop = lazy(`(?i)\b(DROP\s+(TABLE|DATABASE|SCHEMA)|TRUNCATE\s+TABLE)\b`)

func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// Analyse judges a tool's own shell text and the string parameters of one call,
// nested ones too, of any tool whose chain ends in a process. It reads shell
// syntax: quoting, options in any order and spelling, wrappers (sudo, env, xargs),
// commands within commands, and the redirections that go with them. It is a
// warning before the sandbox and not a boundary: a program can do anything inside.
func Analyse(script string, params map[string]any, extra []Pattern) []Finding {
	a := &analysis{extra: extra}
	if script != "" {
		a.text(script, "", 0)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		a.value(name, params[name], 0)
	}
	return a.found
}

type analysis struct {
	extra []Pattern
	found []Finding
	param string
	vars  map[string]string // simple assignments seen so far: X=rm; $X -r .
}

func (a *analysis) value(param string, v any, depth int) {
	if depth > 32 {
		return
	}
	switch v := v.(type) {
	case string:
		a.text(v, param, 0)
	case []any:
		// A list of words is often one command: ["rm", "-rf", "x"].
		var words []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				words = append(words, s)
			}
			a.value(param, e, depth+1)
		}
		if len(words) > 1 && len(words) == len(v) {
			a.param = param
			a.command(words, 0)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			a.value(param, v[k], depth+1)
		}
	}
}

func (a *analysis) add(label string, t Tier, text string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, f := range a.found {
		if f.Label == label && f.Param == a.param {
			return
		}
	}
	a.found = append(a.found, Finding{Label: label, Tier: t, Text: words.Brief(text), Param: a.param})
}

// text judges one text as a script.
func (a *analysis) text(src, param string, depth int) {
	a.param, a.vars = param, map[string]string{}
	if len(src) > maxText {
		a.add("too long to judge", T3, src[:80])
		src = src[:maxText]
	}
	for _, p := range a.extra {
		if m := p.re.FindString(src); m != "" {
			a.add(p.Label, p.Tier, m)
		}
	}
	a.script(src, depth)
}

// script parses and judges; text that is no shell is judged by patterns. The text
// is hostile and the parser is not ours, so a panic is a finding and not an end.
func (a *analysis) script(src string, depth int) {
	defer func() {
		if recover() != nil {
			a.add("cannot be judged", T3, src)
		}
	}()
	if depth > maxDepth {
		a.add("commands nested too deeply to judge", T3, src)
		return
	}
	if m := sqlDrop().FindString(src); m != "" {
		a.add("SQL drop", T3, m)
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		for _, p := range legacyPatterns() {
			if m := p.re.FindString(src); m != "" {
				a.add(p.Label, p.Tier, m)
			}
		}
		return
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			a.redirects(n)
		case *syntax.CallExpr:
			a.call(n, depth)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				a.pipe(n, depth)
			}
		case *syntax.FuncDecl:
			a.function(n)
		}
		return true
	})
}

// call judges one simple command, after noting its assignments.
func (a *analysis) call(c *syntax.CallExpr, depth int) {
	if len(c.Args) == 0 {
		for _, as := range c.Assigns {
			if as.Name != nil && as.Value != nil {
				a.vars[as.Name.Value], _ = a.word(as.Value)
			}
		}
		return
	}
	var words []string
	for _, w := range c.Args {
		s, fetched := a.word(w)
		if fetched {
			s += fetchedMark
		}
		// An unquoted variable is split into words: CMD="rm -rf"; $CMD x.
		if _, isParam := single(w).(*syntax.ParamExp); isParam {
			words = append(words, strings.Fields(s)...)
			continue
		}
		words = append(words, s)
	}
	a.command(words, depth)
}

func single(w *syntax.Word) syntax.WordPart {
	if len(w.Parts) == 1 {
		return w.Parts[0]
	}
	return nil
}

// fetchedMark stands for text that comes from a command which fetches or decodes.
const fetchedMark = "\x00fetched\x00"

// word gives the text that a shell would make of a word, as far as it stands in
// the source, and whether output of a fetching command is part of it.
func (a *analysis) word(w *syntax.Word) (text string, fetched bool) {
	var b strings.Builder
	var parts func([]syntax.WordPart, bool)
	parts = func(list []syntax.WordPart, quoted bool) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(unescape(p.Value, quoted))
			case *syntax.SglQuoted:
				if p.Dollar {
					b.WriteString(ansi(p.Value))
				} else {
					b.WriteString(p.Value)
				}
			case *syntax.DblQuoted:
				parts(p.Parts, true)
			case *syntax.ParamExp:
				if p.Param != nil {
					b.WriteString(a.variable(p.Param.Value))
				}
			case *syntax.CmdSubst:
				fetched = fetched || a.brings(p.Stmts)
				b.WriteString(a.echoed(p.Stmts))
			case *syntax.ProcSubst:
				fetched = fetched || a.brings(p.Stmts)
			}
		}
	}
	parts(w.Parts, false)
	return b.String(), fetched
}

// variable gives the value of a variable where the text shows it. IFS is how
// words are hidden (rm${IFS}-rf); HOME is worth knowing for what is deleted.
func (a *analysis) variable(name string) string {
	switch name {
	case "IFS":
		return " "
	case "HOME":
		return "~"
	}
	return a.vars[name]
}

// unescape removes the backslashes that a shell removes.
func unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
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

var ansiEscape = lazy(`\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|.)`)

// ansi decodes $'...'.
func ansi(s string) string {
	return ansiEscape().ReplaceAllStringFunc(s, func(m string) string {
		digits, base := m[1:], 8
		switch m[1] {
		case 'x', 'u':
			digits, base = m[2:], 16
		case 'n', 't', 'r':
			return " "
		}
		n := 0
		for _, c := range strings.ToLower(digits) {
			d := strings.IndexRune("0123456789abcdef", c)
			if d < 0 || d >= base {
				return m[1:]
			}
			n = n*base + d
		}
		return string(rune(n))
	})
}

// echoed gives the output of $(echo text) and $(printf text), a way to hide words.
func (a *analysis) echoed(stmts []*syntax.Stmt) string {
	if len(stmts) != 1 {
		return ""
	}
	if p, ok := stmts[0].Cmd.(*syntax.BinaryCmd); ok && p.Op == syntax.Pipe {
		if text, ok := a.printed(p.X); ok && a.decodes(p.Y) {
			return decoded(text)
		}
		return ""
	}
	text, _ := a.printed(stmts[0])
	return text
}

// printed gives what an echo or printf prints.
func (a *analysis) printed(s *syntax.Stmt) (string, bool) {
	words, _ := a.words(s)
	if len(words) == 0 || base(words[0]) != "echo" && base(words[0]) != "printf" {
		return "", false
	}
	var out []string
	for _, w := range words[1:] {
		if w != "-n" && w != "-e" && w != "%s" {
			out = append(out, w)
		}
	}
	return strings.Join(out, " "), true
}

// words gives the words of a simple command, false when it is another kind.
func (a *analysis) words(s *syntax.Stmt) ([]string, bool) {
	if s == nil {
		return nil, false
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return nil, false
	}
	var out []string
	for _, w := range c.Args {
		t, _ := a.word(w)
		out = append(out, t)
	}
	return out, true
}

func (a *analysis) decodes(s *syntax.Stmt) bool {
	words, _ := a.words(s)
	return len(words) > 0 && decoder(words)
}

func decoded(s string) string {
	s = strings.TrimSpace(s)
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding} {
		if b, err := enc.DecodeString(s); err == nil {
			return string(b)
		}
	}
	return ""
}
