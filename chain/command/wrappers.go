package command

import (
	"slices"
	"strings"
	"sync"
)

// A wrapped program runs the rest of its words as a command.
type wrapped struct {
	name     string
	valued   string // short options that take a value of their own
	operands int    // words of its own before the command
}

var wrapperTable = sync.OnceValue(func() map[string]wrapped {
	out := map[string]wrapped{}
	for _, entry := range strings.FieldsFunc(wrappers, func(r rune) bool { return r == '|' || r == '\n' }) {
		f := strings.Fields(entry)
		w := wrapped{name: f[0]}
		if len(f) > 1 && f[1] != "-" {
			w.valued = f[1]
		}
		if len(f) > 2 {
			w.operands = int(f[2][0] - '0')
		}
		out[w.name] = w
	}
	return out
})

// wrapper returns the wrapper of a name.
func wrapper(name string) (wrapped, bool) {
	w, ok := wrapperTable()[name]
	return w, ok
}

// unwrap drops a wrapper's own options, assignments and operands.
func (w wrapped) unwrap(args []value) []value {
	skip, first := w.operands, true
	for len(args) > 0 {
		t := args[0].text
		switch {
		case t == "--":
			args = args[1:]
			if skip == 0 {
				return args
			}
		case len(t) > 1 && t[0] == '-':
			args = args[1:]
			if len(t) == 2 && strings.ContainsRune(w.valued, rune(t[1])) && len(args) > 0 {
				args = args[1:]
			}
		case w.assigns() && strings.Contains(t, "="):
			args = args[1:]
		case skip > 0:
			skip--
			args = args[1:]
		case first && w.needsSub():
			if first = false; !names("run exec r run0 stat record tool").has(t) {
				return nil
			}
			args = args[1:]
		default:
			return args
		}
	}
	return nil
}

// assigns reports whether a wrapper accepts NAME=value before the command.
func (w wrapped) assigns() bool { return names("env sudo doas").has(w.name) }

// needsSub reports whether a program is a wrapper only with a word such as run.
func (w wrapped) needsSub() bool {
	return names("uv poetry pipenv bundle conda doppler op perf").has(w.name)
}

// commandText returns the script in su -c '...' and ssh host '...'.
func commandText(name string, args []value) (value, bool) {
	options := names("")
	switch name {
	case "su", "runuser", "flock", "capsh":
		options = "-c --command"
	case "script":
		options = "-c -qc -qec -eqc -fqc -qfc -ec --command"
	case "env":
		options = "-S --split-string"
	case "ssh", "watch", "mosh", "hyperfine", "parallel", "autossh":
		if last := args[len(args)-1]; len(args) > 1 && strings.ContainsAny(last.text, " \t\n") && !strings.HasPrefix(args[len(args)-2].text, "-o") {
			return last, !strings.Contains(last.text, ":::")
		}
	}
	for i, v := range args[1:] {
		if options.has(v.text) && i+2 < len(args) {
			return args[i+2], true
		}
		if o, text, ok := strings.Cut(v.text, "="); ok && len(o) > 2 && options.has(o) {
			return value{text, v.from}, true
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
	if used || len(out) == 0 {
		return out
	}
	if last := out[len(out)-1].text; strings.HasPrefix(last, "-") && strings.HasSuffix(last, "c") && len(out) > 1 && shells.has(base(out[len(out)-2].text)) {
		return append(out, in)
	}
	for _, f := range strings.Fields(in.text) {
		out = append(out, value{f, in.from})
	}
	if len(out) == 1 && shells.has(base(out[0].text)) && slices.Contains(texts(own), "/dev/null") {
		return out
	}
	if in.text == "" && !names("rm unlink").has(base(out[0].text)) {
		out = append(out, value{"...", in.from})
	}
	return out
}
