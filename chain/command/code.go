package command

import (
	"strconv"
	"strings"
)

// Programs in other languages are not read. Rules judge them by the words in them that start,
// fetch, decode, send or delete, and by their strings.
var (
	literals = lazy("(?s)\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`")
	ticks    = lazy("(?s)`([^`]+)`|%x[({\\[]([^)}\\]]+)|\\bqx[({\\[/]([^)}\\]/]+)")
	comments = lazy(`(?m)^\s*(#|//).*$`)
	modules  = lazy(`\b(require|import|from)\s*\(?\s*(["'][\w@:/.-]+["'])`)
	deletes  = lazy(`\b(rmtree|rm_rf|rm_r|rimraf|remove_tree|remove_dir_all|RemoveAll|deleteRecursively|deleteDirectory|removeSync|emptyDirSync|secure_remove|remove_entry_secure)\b|\b(rmSync|rmdirSync|rm|remove|unlink)\b[^;]*\brecursive`)
	begins   = lazy(startWords)
	tclRuns  = lazy(`(?m)\b(?:exec|spawn)\s+([^\]\n;]+)`)
)

// foreignCode judges a program in another language by its words, and returns its strings. A
// string of a program that starts others may be a command.
func (m *machine) foreignCode(lang, src string) []string {
	if !m.spend(1000 + 8*len(src)) {
		return nil
	}
	if len(src) > maxCode {
		if lang != "" {
			m.flag("too-long", src[:80])
		}
		return nil
	}
	src = comments().ReplaceAllString(src, "")
	switch lang {
	case "lua", "luajit":
		src = strings.NewReplacer("[[", `"`, "]]", `"`).Replace(src)
	case "expect", "tclsh":
		for _, f := range tclRuns().FindAllStringSubmatch(src, 16) {
			m.startedBy(lang, func() { m.script(f[1], value{}) })
		}
	case "pwsh", "powershell":
		src = strings.ReplaceAll(src, `\`, "/")
		m.script(src, value{})
	}
	bare := literals().ReplaceAllStringFunc(src, func(s string) string { return s[:1] + strings.Repeat(" ", len(s)-2) + s[:1] })
	own := modules().ReplaceAllString(src, "$1()")
	c := &call{machine: m, name: "code", in: value{text: src}, bare: bare, all: src}
	var all []string
	for _, q := range stringsOf(own) {
		all = append(all, q)
		c.args = append(c.args, value{text: strings.TrimLeft(q, "> ")})
	}
	if lang == "pwsh" || lang == "powershell" || lang == "cmdlets" {
		for _, w := range strings.FieldsFunc(src, func(r rune) bool { return strings.ContainsRune(" \t\n();|,'\"", r) }) {
			c.args = append(c.args, value{text: w})
		}
	}
	c.judge()
	for _, at := range deletes().FindAllStringIndex(bare, 16) {
		end := strings.IndexAny(bare[at[0]:], ";\n")
		if end < 0 {
			end = len(bare) - at[0]
		}
		var first []value
		if q := stringsOf(src[at[0] : at[0]+end]); len(q) > 0 {
			first = []value{{text: q[0]}}
		}
		m.happens("code-delete", first, value{}, src)
	}
	if c.reads("query") {
		for _, q := range all {
			m.happens("sql", nil, value{text: q}, q)
		}
	}
	if at := begins().FindStringIndex(bare); at != nil {
		from := at[0]
		if strings.Contains(bare[from:at[1]], "|") {
			from = 0 // awk: "command" | getline
		}
		m.ordersIn(lang, src[from:], src)
	}
	if strings.HasPrefix(lang, "perl") || strings.HasPrefix(lang, "ruby") || lang == "php" {
		for _, f := range ticks().FindAllStringSubmatch(src, 16) {
			m.script(f[1]+f[2]+f[3], value{})
		}
	}
	return all
}

// ordersIn analyses the strings of a program from the place on where it starts another: each as
// a line of commands, and all together as the words of one.
func (m *machine) ordersIn(lang, src, all string) {
	list := stringsOf(modules().ReplaceAllString(src, "$1()"))
	if len(list) == 0 && strings.HasPrefix(lang, "awk") {
		m.flag("told-to-run", "awk: "+all)
	}
	var words []value
	for i, q := range list[:min(len(list), 32)] {
		if i == 0 || strings.ContainsAny(q, " \t") {
			m.script(q, value{})
		}
		words = append(words, value{text: q})
	}
	if len(words) > 1 {
		m.command(words, value{})
	}
	if lang == "awk" {
		if text := strings.Join(list, " "); strings.Contains(text, " ") {
			m.script(text, value{})
		}
		for _, q := range list {
			if shells.has(base(q)) {
				m.flag("told-to-run", "awk: "+all)
			}
		}
	}
}

// stringsOf returns the strings of a program.
func stringsOf(src string) (out []string) {
	for _, q := range literals().FindAllString(src, 256) {
		out = append(out, escapes(q[1:len(q)-1]))
	}
	return out
}

var escape = lazy(`\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|u[0-9a-fA-F]{1,4}|(?s:.))`)

// escapes replaces backslash sequences as printf, echo -e and $'...' do.
func escapes(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escape().ReplaceAllStringFunc(s, func(e string) string {
		digits, radix := e[1:], 8
		switch e[1] {
		case 'x', 'u':
			digits, radix = e[2:], 16
		case 'n':
			return "\n"
		case 't':
			return "\t"
		case 'r':
			return "\r"
		}
		n, err := strconv.ParseUint(digits, radix, 32)
		if err != nil {
			return e[1:]
		}
		return string(rune(n))
	})
}
