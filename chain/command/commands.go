package command

import (
	"path"
	"slices"
	"strings"
)

// command analyses one command, given as words, and returns its output.
func (m *machine) command(args []value, in value) (out value) {
	if !m.spend(len(args)) {
		return value{}
	}
	before, raised := m.by, false
	defer func() { m.by = before }()
	for n := 0; ; n++ {
		if len(args) == 0 {
			return value{}
		}
		w, ok := wrapper(base(args[0].text))
		if !ok {
			break
		}
		if n == maxWrappers {
			m.flag("too-deep", line(args))
			return value{}
		}
		if w.name == "ssh" || w.name == "mosh" || w.name == "autossh" {
			defer m.goElsewhere()()
			c := m.call(w.name, args[1:], in)
			c.judgeSSHOptions()
			c.judge()
			out.from |= fetched
		} else if acts().byName[w.name] != nil {
			m.call(w.name, args[1:], in).judge()
		}
		if launchers.has(w.name) || w.name == "script" || raised && names("env unshare rlwrap").has(w.name) || w.name == "chroot" && len(args) > 1 && args[1].text == "/" {
			m.by = w.name
		}
		raised = raised || w.name == "sudo" || w.name == "doas"
		if text, ok := commandText(w.name, args); ok {
			return join(m.runsText(text, "sh", line(args), in), out)
		}
		rest := w.unwrap(args[1:])
		for _, v := range args[1 : len(args)-len(rest)] {
			if name, text, ok := strings.Cut(v.text, "="); ok && w.assigns() {
				m.noteVariable(name, value{text, v.from})
			}
		}
		if len(rest) == 0 {
			return join(m.bareWrapper(w.name, args, in), out)
		}
		if w.name == "xargs" || w.name == "gxargs" || w.name == "parallel" {
			rest, in = m.suppliedWords(w.name, args[1:], rest, in), value{}
		}
		args = rest
	}
	return join(m.simple(args, in), value{from: out.from})
}

// bareWrapper handles a wrapper without a command: env prints the environment, ssh opens a shell.
func (m *machine) bareWrapper(name string, args []value, in value) value {
	switch name {
	case "sudo", "su", "busybox", "unshare", "nsenter", "chroot":
		return m.becomes(in, value{}, "sh", line(args), true)
	case "parallel":
		m.runsText(in, "sh", line(args), value{})
	case "script":
		return value{from: in.from}
	case "capsh":
		m.flag("shell-escape", line(args))
		return value{}
	case "ssh", "mosh":
		return value{}
	}
	c := m.call(name, args[1:], in)
	c.judge()
	return c.output()
}

// goElsewhere marks commands on another machine, where the home directory is a different one.
func (m *machine) goElsewhere() func() {
	before := m.remote
	m.remote = true
	return func() { m.remote = before }
}

// call returns the call of a program, with its roles.
func (m *machine) call(name string, args []value, in value) *call {
	c := &call{machine: m, name: name, args: args, in: in, all: name + " " + line(args)}
	return c.cast()
}

// happens compares an event with the rules.
func (m *machine) happens(event string, args []value, in value, all string) {
	(&call{machine: m, name: event, args: args, in: in, all: all}).judge()
}

// simple analyses one command without wrappers.
func (m *machine) simple(args []value, in value) value {
	prog, rest := args[0], args[1:]
	name, all := base(prog.text), line(args)
	switch {
	case prog.is(fetched | unseen | built | encoded):
		return m.becomes(merged(args), value{}, "sh", all, true)
	case strings.ContainsAny(strings.TrimSpace(prog.text), " \t\n"):
		// A word with spaces was hidden in quotes: "rm -rf" as one name.
		return m.runsText(merged(args), "sh", all, value{})
	case prog.is(spelled):
		if prog, name = m.respelled(prog.text); name == "" {
			return value{}
		}
	}
	if f := m.funcs.get(prog.text); f != nil {
		return m.invoke(f, rest, in)
	}
	if a, ok := m.vars.alias(prog.text); ok {
		return m.runsText(join(a, value{text: " " + line(rest)}), "sh", all, value{})
	}
	if len(rest) == 1 && rest[0].text == "-p" && strings.HasPrefix(prog.text, "/tmp/") {
		m.flag("shell-escape", all) // a shell that keeps the rights of its owner
	}
	if strings.Contains(prog.text, "/") {
		if out, ok := m.runsFile(prog.text, "sh", all); ok {
			return out
		}
	}
	if at, ok := m.files.installed(name); ok {
		m.runsFile(at, "sh", all)
	}
	name = m.named(name, prog.text)
	c := &call{machine: m, name: name, args: rest, in: in, all: all}
	c.cast()
	c.judge()
	if c.is(runsShell | runsCode) {
		c.noteChanged()
		return c.interpret()
	}
	c.toldToRun()
	c.noteFiles()
	return c.output()
}

// named returns the name under which the rules know a program: python for python3.12, and
// Remove-Item for remove-item. A name in two alphabets is spelled to deceive.
func (m *machine) named(name, all string) string {
	if cut := strings.TrimRight(name, "0123456789."); cut != name && (interpreters.has(cut) || acts().byName[name] == nil && acts().byName[cut] != nil) {
		name = cut // python3.12, perl5.36, pip3.11
	}
	if strings.Contains(name, "-") && acts().byName[name] == nil {
		if known, ok := cmdlets()[strings.ToLower(name)]; ok {
			name = known
		}
	}
	if deceptive().MatchString(name) {
		m.flag("hidden", all)
	}
	return name
}

// deceptive matches a word with letters of two alphabets that look alike, or with characters that
// reverse the order of others.
var deceptive = lazy(`[a-zA-Z][\p{Cyrillic}\p{Greek}]|[\p{Cyrillic}\p{Greek}][a-zA-Z]|[\x{202A}-\x{202E}\x{2066}-\x{2069}]`)

// respelled returns a program that a pattern such as /bin/r? matches, the most dangerous one
// first. Such a spelling is never an accident.
func (m *machine) respelled(p string) (value, string) {
	pattern := base(p)
	for _, name := range strings.Fields("rm bash sh dd mkfs curl wget nc ncat python3 python perl cat chmod chown shred cp mv tee base64 git node ruby") {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			if strings.Contains(p, "/") {
				m.flag("hidden", p)
			}
			return value{text: name}, name
		}
	}
	return value{text: p}, pattern
}

// inlineCode are the short options after which a program in a language follows; the last letter
// of bundled options counts.
func inlineCode(name string) (letters string, words names) {
	switch {
	case shells.has(name), strings.HasPrefix(name, "python"), strings.HasPrefix(name, "pypy"), name == "expect":
		return "c", ""
	case name == "perl":
		return "eE", ""
	case name == "php":
		return "rR", "--run"
	case name == "pwsh", name == "powershell":
		return "", "-c -C -Command -command /c"
	case name == "guile", name == "swipl":
		return "c", ""
	}
	return "ep", "--eval --print --exec -E eval -eval"
}

// interpret analyses a shell or interpreter with a program in its words, in a file, or on its
// input.
func (c *call) interpret() value {
	letters, whole := inlineCode(c.name)
	args, used := c.args, ""
	for i := 0; i < len(args); i++ {
		w := args[i].text
		option, glued, isGlued := strings.Cut(w, "=")
		short := len(w) > 1 && w[0] == '-' && w[1] != '-'
		at := -1
		if letters != "" && short && !strings.ContainsRune("MIrWX", rune(w[1])) || c.name == "php" && short {
			at = strings.IndexAny(w, letters)
		}
		switch {
		case w == "-" || w == "-s" || w == "/dev/stdin":
			return c.becomes(c.in, value{}, c.name, c.all, true)
		case w == "--", w == "run" && (c.name == "deno" || c.name == "bun"):
		case isGlued && whole.has(option):
			return c.runGiven([]value{{text: glued, from: args[i].from}}, used)
		case whole.has(w), at == len(w)-1 && at > 0:
			if w == "eval" {
				for i+1 < len(args) && strings.HasPrefix(args[i+1].text, "-") {
					i++
				}
			}
			return c.runGiven(args[i+1:], used)
		case at > 0 && !c.is(runsShell) && at == 1:
			return c.runGiven([]value{{text: w[2:], from: args[i].from}}, used)
		case len(w) > 1 && (w[0] == '-' || w[0] == '+'):
			if short && (w[1] == 'M' || w[1] == 'r') {
				used += w[2:] + "; "
			}
			if names("-o -O +o -W -X -I").has(w) {
				i++
			}
			if w == "-n" && c.is(runsShell) {
				return value{} // reads the script without running it
			}
			if w == "-m" && !c.is(runsShell) {
				if i+1 < len(args) {
					c.happens(args[i+1].text, append(slices.Clip(args[i+2:]), value{text: c.files.here()}), value{}, c.all)
				}
				return value{from: c.in.from}
			}
		default:
			if (c.name == "powershell" || c.name == "pwsh") && strings.ContainsAny(w, " (") {
				return c.runGiven(args[i:], used)
			}
			saved := c.vars.arguments(args[i+1:])
			out, _ := c.runsFile(w, c.name, c.all)
			c.vars.restore(saved)
			return join(out, value{from: c.in.from & (secret | fetched)})
		}
	}
	if c.is(runsShell) {
		c.interactive()
	}
	return c.becomes(c.in, value{}, c.name, c.all, true)
}

// runGiven analyses a program among the words, with the words after it as its arguments, and the
// modules of perl -M and ruby -r before it.
func (c *call) runGiven(args []value, modules string) value {
	if len(args) == 0 {
		return value{}
	}
	program := value{modules + args[0].text, args[0].from}
	if c.is(runsShell) {
		saved := c.vars.arguments(args[min(2, len(args)):])
		if len(args) > 1 {
			c.vars["0"] = args[1:2]
		}
		defer c.vars.restore(saved)
		if program.is(listed) && strings.TrimSpace(program.text) == "" {
			c.flag("unseen-command", c.all)
		}
	} else if c.name == "pwsh" || c.name == "powershell" || c.name == "osascript" {
		program = value{text: line(args), from: merged(args).from}
	}
	return join(c.runsText(program, c.name, c.all, c.in), value{from: c.in.from & (secret | fetched)})
}

// runsText analyses a text among words that becomes a program. If only a part of it was fetched,
// the tier is lower, because the author wrote the rest.
func (m *machine) runsText(v value, lang, all string, in value) value {
	if v.is(fetched) && strings.TrimSpace(v.text) != "" {
		m.happens("part", nil, v, all)
		v.from &^= fetched
	}
	return m.becomes(v, in, lang, all, true)
}

// becomes analyses a text that becomes a program, by its origin. As far as the text is known, it
// also analyses the acts of the program, on an input of its own.
func (m *machine) becomes(v, in value, lang, all string, direct bool) value {
	event := "run"
	if direct {
		event = "pipe"
	}
	m.happens(event, nil, v, all)
	out := value{from: v.from & (fetched | secret)}
	if strings.TrimSpace(v.text) == "" {
		if shells.has(lang) && direct {
			out.from |= answers
		}
		return out
	}
	if shells.has(lang) {
		return join(m.script(v.text, in), out)
	}
	m.unread(lang, v.text)
	if (&call{machine: m, in: v}).reads("decode") {
		out.from |= built
	}
	return join(out, value{text: strings.Join(m.foreignCode(lang, v.text), " "), from: partial})
}

// runsFile analyses a file that becomes a program. It returns false for an unknown file.
func (m *machine) runsFile(p, lang, all string) (value, bool) {
	if names("/tmp /var/tmp /dev/shm").has(path.Dir(p)) && path.Base(p)[0] == '.' || strings.Contains(p, "/.../") {
		m.flag("hidden", p)
	}
	at := m.files.place(p)
	if v, ok := m.files.known(p); ok {
		if first, _, _ := strings.Cut(v.text, "\n"); strings.HasPrefix(first, "#!") && lang == "sh" {
			if f := strings.Fields(first); interpreters.has(base(f[len(f)-1])) {
				lang = base(f[len(f)-1])
			}
		}
		return m.becomes(v, value{}, lang, all, strings.HasPrefix(at, "/dev/fd/")), true
	}
	v := value{}
	switch {
	case m.files.brought(at) && !names("configure gradlew mvnw autogen.sh bootstrap manage.py").has(base(at)), m.files.broughtForeign(at),
		!shells.has(lang) && (strings.HasPrefix(p, "https://") || strings.HasPrefix(p, "http://")):
		v.from = fetched
	case documents.has(strings.ToLower(path.Ext(p))):
		v.from = document
	default:
		return value{}, false
	}
	m.happens("run", nil, v, all)
	return value{}, true
}
