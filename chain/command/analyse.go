package command

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Pattern is a text that makes a command dangerous wherever it occurs.
type Pattern struct {
	Label string
	Tier  Tier
	Match *regexp.Regexp // the pattern; never nil
}

// The bounds of one analysis. A command beyond them could not be reviewed by a person either. It
// is a finding.
const (
	maxText   = 256 << 10 // bytes analysed of one text
	maxDepth  = 6         // of commands inside commands
	maxOpen   = 400       // brackets open at once: the parser recurses on the stack of this process
	maxNest   = 4000      // statements inside statements
	maxWork   = 2 << 20   // bytes parsed and produced, for all texts of a call
	maxValue  = 64 << 10  // bytes of one value
	maxParams = 32        // of parameters inside parameters
	maxCode   = 32 << 10  // bytes of one program in another language

	maxWrappers = 16 // sudo env nice ... before a command
)

// Analyse examines a tool's own shell text and the string parameters of one call, including
// nested ones. It serves every tool whose chain ends in a process. It reads shell syntax and
// follows the commands. It tracks which text becomes a program, the origin of that text, the
// commands handed to other programs, the files written, and the data sent away. It is a warning
// before the sandbox and not a boundary: a program can do anything inside.
func Analyse(script string, params map[string]any, extra []Pattern) []Finding {
	return analysed(script, params, extra).list
}

// Unread returns a finding for each program in another language that parameters hold: rules judge it
// by its words, but rye does not read it. It serves calls that a person did not make. What the
// tool's own text holds is signed, as a tool in that language is.
func Unread(params map[string]any) []Finding {
	return analysed("", params, nil).inline.list
}

func analysed(script string, params map[string]any, extra []Pattern) *analysis {
	a := &analysis{extra: extra}
	if script != "" {
		a.text(script, "")
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		a.value(name, params[name], 0)
	}
	return a
}

// unread records a program in another language.
func (a *analysis) unread(lang, text string) {
	a.inline.param = a.param
	a.inline.add(Finding{Rule: "unread-code", Label: "code that rye does not read", Tier: T2, Text: lang + ": " + text})
}

// plainWord reports whether a parameter is one word of letters, digits and the characters of
// paths. As a command it could only start a program by its name.
func plainWord(v string) bool {
	return v != "" && !strings.ContainsFunc(v, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("./_-@:+,", r))
	})
}

// An analysis collects the findings in the texts of one call.
type analysis struct {
	extra []Pattern
	findings
	inline findings // programs in other languages
	work   int      // done so far, for all texts
}

func (a *analysis) value(param string, v any, depth int) {
	if depth > maxParams {
		a.param = param
		a.flag("too-deep", "a parameter within parameters")
		return
	}
	switch v := v.(type) {
	case string:
		if plainWord(v) && !names("command cmd script code shell run exec").has(strings.ToLower(param)) {
			return // the name of a file or of another thing, and not a command
		}
		a.text(v, param)
	case []any:
		// A list of words is often one command: ["rm", "-rf", "x"].
		var words []value
		for _, e := range v {
			if s, ok := e.(string); ok {
				words = append(words, value{text: s})
			}
			a.value(param, e, depth+1)
		}
		if len(words) > 1 && len(words) == len(v) {
			a.param = param
			a.guarded(words[0].text, func(m *machine) { m.command(words, value{}) })
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			a.value(param, v[k], depth+1)
		}
	}
}

// text analyses one text as a script.
func (a *analysis) text(src, param string) {
	a.param = param
	if len(src) > maxText {
		a.flag("too-long", src[:80])
		src = src[:maxText]
	}
	for _, p := range a.extra {
		if m := p.Match.FindString(src); m != "" {
			a.add(Finding{Label: p.Label, Tier: p.Tier, Text: m})
		}
	}
	a.guarded(src, func(m *machine) {
		m.script(src, value{})
		m.judgeUncalled()
	})
}

// guarded runs judge with a new machine. The text is hostile and the parser is not rye's own, so
// a panic becomes a finding.
func (a *analysis) guarded(src string, judge func(*machine)) {
	defer func() {
		if recover() != nil {
			a.flag("unjudged", src)
		}
	}()
	judge(a.machine())
}

func (a *analysis) machine() *machine { return &machine{analysis: a, vars: variables{}} }

// script analyses a text that a shell runs, and returns its output. Patterns search a text that
// is not a shell's.
func (m *machine) script(text string, in value) value {
	if m.depth++; m.depth > maxDepth {
		m.flag("too-deep", text)
		m.depth--
		return value{}
	}
	defer func() { m.depth-- }()
	if strings.TrimSpace(text) == "" || !m.spend(len(text)) {
		return value{}
	}
	if tooOpen(text) {
		m.flag("too-deep", text)
		m.noShell(text)
		return value{}
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		m.noShell(text)
		return value{}
	}
	return m.stmts(f.Stmts, in)
}

// noShell judges a text that does not parse: by its words, as any other language, and by patterns.
func (m *machine) noShell(src string) {
	m.happens("text", nil, value{text: src}, src)
	lang := ""
	if powerShell().MatchString(src) {
		lang, src = "cmdlets", strings.ReplaceAll(src, `\`, "/")
	}
	m.foreignCode(lang, src)
}

// powerShell matches a text that is PowerShell's, which the parser of shells refuses.
var powerShell = lazy(`\]::\w+\(|\bNew-Object\b|\$env:|\b(Get|Set|Invoke|Start|Remove|Add|ConvertTo|ConvertFrom|Out|Import|Export)-[A-Z]\w+`)

// tooOpen reports whether more brackets are open at once than in any real command. The parser
// calls itself at each one, and a stack overflow ends the process.
func tooOpen(src string) bool {
	open := 0
	for i := range len(src) {
		switch src[i] {
		case '(', '[', '{':
			if open++; open > maxOpen {
				return true
			}
		case ')', ']', '}':
			open = max(open-1, 0)
		}
	}
	return false
}

// spend takes n bytes from the budget of one analysis. When the budget is used up, spend adds a
// finding and returns false.
func (a *analysis) spend(n int) bool {
	if a.work += n + 1; a.work <= maxWork {
		return true
	}
	a.flag("too-long", "too much is made of a few words")
	return false
}
