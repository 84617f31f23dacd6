package command

import (
	"path"
	"strings"
)

// base returns a program's name without its directory: /bin/rm is rm.
func base(word string) string {
	name := path.Base(strings.TrimSpace(word))
	for _, variant := range []string{".exe", ".traditional", ".openbsd"} {
		name = strings.TrimSuffix(name, variant)
	}
	return name
}

// command analyses one command, given as words, and returns its output.
func (m *machine) command(args []value, in value) (out value) {
	if !m.spend(len(args)) {
		return value{}
	}
	for n := 0; ; n++ {
		if len(args) == 0 {
			return value{}
		}
		w, ok := wrapper(base(args[0].text))
		if !ok {
			break
		}
		if n == maxWrappers {
			m.add("commands nested too deeply to judge", T3, line(args))
			return value{}
		}
		if w.name == "ssh" || w.name == "autossh" {
			(&call{machine: m, name: w.name, args: args[1:], all: line(args)}).judgeSSHOptions()
		}
		if text, ok := commandText(w.name, args); ok {
			defer m.goElsewhere(w.name)()
			return m.throughSSH(w.name, args, in, m.runsText(text, "sh", line(args), in))
		}
		if w.name == "ssh" {
			defer m.goElsewhere(w.name)()
			(&call{machine: m, name: w.name, args: args[1:], in: in}).judgeNetwork()
			out.from |= fetched
		}
		rest := w.unwrap(args[1:])
		for _, v := range args[1 : len(args)-len(rest)] {
			if name, text, ok := strings.Cut(v.text, "="); ok && w.assigns() {
				m.noteVariable(name, value{text, v.from})
			}
		}
		if len(rest) == 0 {
			return m.bareWrapper(w.name, args, in)
		}
		if w.name == "xargs" || w.name == "gxargs" || w.name == "parallel" {
			rest, in = m.suppliedWords(w.name, args[1:], rest, in), value{}
		}
		args = rest
	}
	return join(m.simple(args, in), value{from: out.from})
}

// throughSSH adds the data that goes to another machine and comes from it.
func (m *machine) throughSSH(name string, args []value, in, out value) value {
	if name == "ssh" || name == "mosh" {
		(&call{machine: m, name: "ssh", args: args[1:], in: in}).judgeNetwork()
		out.from |= fetched
	}
	return out
}

// bareWrapper handles a wrapper without a command: env prints the environment, ssh opens a shell.
func (m *machine) bareWrapper(name string, args []value, in value) value {
	switch name {
	case "env":
		return value{from: secret}
	case "ssh", "mosh":
		return value{from: fetched}
	case "sudo", "su", "busybox", "unshare", "nsenter", "chroot":
		return m.becomes(in, value{}, "sh", line(args), true)
	case "parallel":
		m.runList(in, line(args))
	case "script":
		return value{from: in.from}
	}
	return value{}
}

// goElsewhere marks commands on another machine, where the home directory is a different one.
func (m *machine) goElsewhere(name string) func() {
	before := m.remote
	m.remote = before || name == "ssh"
	return func() { m.remote = before }
}

// A call is one program with its words and its input.
type call struct {
	*machine
	name string // of the program, without directory
	args []value
	in   value  // its input
	all  string // the whole command, for a finding
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
	if strings.Contains(prog.text, "/") {
		if out, ok := m.runsFile(prog.text, "sh", all); ok {
			return out
		}
	}
	if shells.has(name) || interpreter(name) {
		return m.interpret(name, rest, in, all)
	}
	c := &call{machine: m, name: name, args: rest, in: in, all: all}
	c.judgeActs()
	c.toldToRun()
	c.judgeNetwork()
	c.noteFiles()
	return printsOf(m, name, rest, in)
}

// respelled returns a program that a pattern such as /bin/r? matches, the most dangerous one
// first. Such a spelling is never an accident.
func (m *machine) respelled(p string) (value, string) {
	pattern := base(p)
	for _, name := range strings.Fields("rm bash sh dd mkfs curl wget nc ncat python3 python perl cat chmod chown shred cp mv tee base64 git node ruby") {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			if strings.Contains(p, "/") {
				m.add("hidden command", T3, p)
			}
			return value{text: name}, name
		}
	}
	return value{text: p}, pattern
}

func interpreter(name string) bool {
	if interpreters.has(name) {
		return true
	}
	// python3.12, perl5.36
	cut := strings.TrimRight(name, "0123456789.")
	return cut != name && interpreters.has(cut)
}

// interpret analyses a shell or interpreter with a program in its words, in a file, or on its
// input.
func (m *machine) interpret(name string, args []value, in value, all string) value {
	if strings.HasPrefix(name, "perl") || strings.HasPrefix(name, "ruby") {
		(&call{machine: m, name: name, args: args}).judgeInPlace()
	}
	for i := 0; i < len(args); i++ {
		switch w := args[i].text; {
		case w == "-" || w == "-s" || w == "/dev/stdin":
			return m.becomes(in, value{}, name, all, true)
		case w == "--":
		case codeOption(name, w):
			if i+1 >= len(args) {
				return value{}
			}
			return m.runGiven(name, withModules(args, i), in, all)
		case inline(name, w) != "":
			return m.runGiven(name, []value{{text: inline(name, w), from: args[i].from}}, in, all)
		case name == "deno" && w == "eval":
			return m.runGiven(name, nextOperand(args[i+1:]), in, all)
		case (name == "deno" || name == "bun") && w == "run":
		case len(w) > 1 && (w[0] == '-' || w[0] == '+'):
			if w == "-o" || w == "-O" || w == "+o" || w == "-W" || w == "-X" || w == "-I" {
				i++
			}
			if w == "-n" && shells.has(name) {
				return value{} // reads the script without running it
			}
			if w == "-m" && !shells.has(name) {
				return m.runModule(args[i+1:], in, all)
			}
		default:
			saved := m.vars.arguments(args[i+1:])
			out, _ := m.runsFile(w, name, all)
			m.vars.restore(saved)
			return join(out, value{from: in.from & (secret | fetched)})
		}
	}
	return m.becomes(in, value{}, name, all, true)
}

// withModules returns the program after an option. Before it come the modules of perl -M and ruby
// -r.
func withModules(args []value, at int) []value {
	rest := args[at+1:]
	used := ""
	for _, v := range args[:at] {
		if len(v.text) > 2 && (strings.HasPrefix(v.text, "-M") || strings.HasPrefix(v.text, "-r")) {
			used += v.text[2:] + "; "
		}
	}
	if used == "" {
		return rest
	}
	return append([]value{{used + rest[0].text, rest[0].from}}, rest[1:]...)
}

// runModule analyses python -m: a module that serves files also serves keys.
func (m *machine) runModule(args []value, in value, all string) value {
	if len(args) > 0 && args[0].text == "http.server" {
		for _, v := range append(args[1:], value{text: m.files.here()}) {
			if secretPath(v.text) {
				m.add("secrets leave", T3, all)
			}
		}
	}
	return value{from: in.from}
}

func nextOperand(args []value) []value {
	for i, v := range args {
		if !strings.HasPrefix(v.text, "-") {
			return args[i:]
		}
	}
	return nil
}

// codeOption reports whether the word after the option is the program.
func codeOption(name, w string) bool {
	if len(w) < 2 || w[0] != '-' {
		return false
	}
	switch {
	case shells.has(name):
		return w[1] != '-' && strings.HasSuffix(w, "c")
	case strings.HasPrefix(name, "p") && (strings.HasPrefix(name, "pwsh") || strings.HasPrefix(name, "powershell")):
		return names("-c -Command -command -C").has(w)
	case w == "--eval" || w == "--print" || w == "--exec":
		return true
	case strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy"):
		return w[1] != '-' && strings.HasSuffix(w, "c")
	case strings.HasPrefix(name, "perl"):
		return w[1] != '-' && !strings.HasPrefix(w, "-M") && !strings.HasPrefix(w, "-I") && strings.IndexAny(w, "eE") == len(w)-1
	case strings.HasPrefix(name, "ruby"):
		return w[1] != '-' && !strings.HasPrefix(w, "-r") && strings.HasSuffix(w, "e")
	case strings.HasPrefix(name, "php"):
		return w == "-r" || w == "-R"
	}
	return w == "-c" && name == "expect" || w == "-e" || w == "-p" || w == "-pe" || w == "-E"
}

// inline returns the program in an option's own word: --eval=text.
func inline(name, w string) string {
	if shells.has(name) || len(w) < 3 {
		return ""
	}
	if glued := w[2:]; names("ruby perl").has(name) && strings.HasPrefix(w, "-e") || strings.HasPrefix(name, "python") && strings.HasPrefix(w, "-c") || name == "php" && strings.HasPrefix(w, "-r") {
		return glued
	}
	for _, o := range []string{"--eval=", "--print=", "--exec="} {
		if text, ok := strings.CutPrefix(w, o); ok {
			return text
		}
	}
	return ""
}

// runGiven analyses a program among the words, with the words after it as its arguments.
func (m *machine) runGiven(name string, args []value, in value, all string) value {
	if len(args) == 0 {
		return value{}
	}
	if shells.has(name) {
		saved := m.vars.arguments(args[min(2, len(args)):])
		if len(args) > 1 {
			m.vars["0"] = args[1:2]
		}
		defer m.vars.restore(saved)
		if args[0].is(listed) && strings.TrimSpace(args[0].text) == "" {
			m.add("unseen command", T3, all)
		}
	}
	return join(m.runsText(args[0], name, all, in), value{from: in.from & (secret | fetched)})
}

// runsText analyses a text among words that becomes a program. If only a part of it was fetched,
// the tier is lower, because the author wrote the rest.
func (m *machine) runsText(v value, lang, all string, in value) value {
	if v.is(fetched) && strings.TrimSpace(v.text) != "" {
		m.add("pipe to shell", T3, all)
		v.from &^= fetched
	}
	return m.becomes(v, in, lang, all, true)
}

// becomes analyses a text that becomes a program, by its origin. As far as the text is known, it
// also analyses the acts of the program, on an input of its own.
func (m *machine) becomes(v, in value, lang, all string, direct bool) value {
	switch {
	case v.is(fetched) && direct:
		m.add("pipe to shell", T4, all)
	case v.is(fetched):
		m.add("downloaded and run", T3, all)
	case v.is(unseen) && direct:
		m.add("pipe to shell", T4, all)
	case v.is(unseen), v.is(built):
		m.add("encoded command", T3, all)
	case v.is(encoded):
		m.add("encoded command", T4, v.text)
	case v.is(document):
		m.add("document run as a program", T3, all)
	}
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
	judgeCode(m, lang, v.text)
	return join(out, value{text: strings.Join(quoted(v.text), " "), from: partial})
}

// runsFile analyses a file that becomes a program. It returns false for an unknown file.
func (m *machine) runsFile(p, lang, all string) (value, bool) {
	at := m.files.place(p)
	if v, ok := m.files.known(p); ok {
		if first, _, _ := strings.Cut(v.text, "\n"); strings.HasPrefix(first, "#!") && lang == "sh" {
			if name := base(lastWord(first)); interpreter(name) {
				lang = name
			}
		}
		return m.becomes(v, value{}, lang, all, strings.HasPrefix(at, "/dev/fd/")), true
	}
	if m.files.brought(at) && !names("configure gradlew mvnw autogen.sh bootstrap manage.py").has(base(at)) {
		m.add("downloaded and run", T3, all)
		return value{}, true
	}
	if !shells.has(lang) && (strings.HasPrefix(p, "https://") || strings.HasPrefix(p, "http://")) {
		m.add("downloaded and run", T3, all)
		return value{}, true
	}
	if documents.has(strings.ToLower(path.Ext(p))) {
		m.add("document run as a program", T3, all)
		return value{}, true
	}
	return value{}, false
}

func lastWord(s string) string {
	f := strings.Fields(s)
	if len(f) == 0 {
		return ""
	}
	return f[len(f)-1]
}

// commandText returns the script in su -c '...' and ssh host '...'.
func commandText(name string, args []value) (value, bool) {
	behind := func(options ...string) (value, bool) {
		for i, v := range args[1:] {
			for _, o := range options {
				if v.text == o && i+2 < len(args) {
					return args[i+2], true
				}
				if text, ok := strings.CutPrefix(v.text, o+"="); ok && len(o) > 2 {
					return value{text, v.from}, true
				}
			}
		}
		return value{}, false
	}
	switch name {
	case "su", "runuser", "flock", "capsh":
		return behind("-c", "--command")
	case "script":
		return behind("-c", "-qc", "-qec", "-eqc", "-fqc", "-qfc", "-ec", "--command")
	case "cmd":
		return behind("/c", "/C", "/k")
	case "env":
		return behind("-S", "--split-string")
	case "ssh", "watch", "mosh", "hyperfine", "parallel", "autossh":
		if last := args[len(args)-1]; len(args) > 1 && strings.ContainsAny(last.text, " \t\n") && !strings.HasPrefix(args[len(args)-2].text, "-o") {
			return last, !strings.Contains(last.text, ":::")
		}
	}
	return value{}, false
}

// suppliedWords returns the command of xargs or parallel with the words from its input, or from
// the list after :::.
func (m *machine) suppliedWords(name string, own, rest []value, in value) []value {
	mark := ""
	if name == "parallel" {
		mark = "{}"
		for i, v := range rest {
			if v.text == ":::" {
				in, rest = merged(rest[i+1:]), rest[:i]
				break
			}
		}
	}
	for i, v := range own[:len(own)-len(rest)] {
		switch t := v.text; {
		case t == "-I" || t == "--replace":
			mark = "{}"
			if t == "-I" && i+1 < len(own) {
				mark = own[i+1].text
			}
		case strings.HasPrefix(t, "-I"), strings.HasPrefix(t, "-J"):
			mark = t[2:]
		case t == "-i":
			mark = "{}"
		case strings.HasPrefix(t, "--replace="):
			mark = t[len("--replace="):]
		case t == "-a" && i+1 < len(own):
			in = m.files.read(own[i+1].text)
		}
	}
	in.text, in.from = strings.TrimSpace(in.text), in.from|listed
	out := make([]value, 0, len(rest)+1)
	used := false
	for _, v := range rest {
		if mark != "" && strings.Contains(v.text, mark) {
			used = true
			v = value{m.replaced(v.text, mark, in.text, -1), v.from | in.from}
		}
		out = append(out, v)
	}
	if used {
		return out
	}
	if last := out[len(out)-1].text; strings.HasPrefix(last, "-") && strings.HasSuffix(last, "c") && len(out) > 1 && shells.has(base(out[len(out)-2].text)) {
		return append(out, in)
	}
	for _, f := range strings.Fields(in.text) {
		out = append(out, value{f, in.from})
	}
	if in.text == "" && in.is(fetched|secret) && !names("rm unlink").has(base(out[0].text)) {
		out = append(out, value{"...", in.from})
	}
	return out
}

// runList analyses a list of commands, one on each line.
func (m *machine) runList(in value, all string) {
	m.runsText(in, "sh", all, value{})
}
