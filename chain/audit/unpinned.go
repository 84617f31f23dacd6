package audit

import (
	"strings"
)

// A launcher that fetches a program is only as safe as that program. A name without a version
// stands for the next release of its owner, or of a thief of the name.

var (
	exact    = &pattern{text: `^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-.+][0-9A-Za-z.+-]+)?$`}
	commit   = &pattern{text: `@[0-9a-f]{40}\b`}
	cutting  = &pattern{text: `&&|\|\||[;|&\n]`}
	packaged = &pattern{text: `^(@[A-Za-z0-9_.-]+/)?[A-Za-z0-9_.-]+(\[[A-Za-z0-9_,.-]+\])?((@|==)\S+)?$`}
)

// unpinned finds launches of the newest version in a text of commands. server means that a
// program launches it, without asking a person.
func (s *scan) unpinned(text, line string, server bool) {
	for _, part := range cutting.get().Split(text, -1) {
		argv := argvOf(part)
		if what, severity := newestOf(argv, server); severity > 0 {
			s.add("unpinned", severity, s.line, line, what+": the newest version at each run")
		}
	}
}

// argvOf splits a command into words, without quotes, assignments and wrappers.
func argvOf(part string) (argv []string) {
	for _, w := range strings.Fields(part) {
		w = strings.Trim(w, "\"'`,()[]")
		if len(argv) == 0 && (w == "" || strings.Contains(w, "=") && !strings.HasPrefix(w, "-") || wrappers[w]) {
			continue
		}
		if w != "" {
			argv = append(argv, w)
		}
		if len(argv) == 64 {
			break
		}
	}
	return argv
}

var wrappers = map[string]bool{"sudo": true, "env": true, "command": true, "exec": true, "nohup": true, "time": true, "then": true, "do": true,
	"Run:": true, "run": true, "Run": true, "$": true, "cmd": true, "/c": true, "RUN": true}

// newestOf returns the thing that a command fetches without a version, and the severity; 0 for
// none.
func newestOf(argv []string, server bool) (string, Severity) {
	if len(argv) < 2 {
		return "", 0
	}
	name, rest := base(argv[0]), argv[1:]
	switch two := name + " " + rest[0]; {
	case name == "npx" || name == "bunx" || name == "pnpx":
		return ofNPM(rest, server, name != "npx")
	case two == "pnpm dlx" || two == "yarn dlx" || two == "npm exec" || two == "npm x" || two == "bun x":
		return ofNPM(rest[1:], server, true)
	case name == "uvx":
		return ofPython(rest, true)
	case two == "pipx run" || two == "uv tool" && len(rest) > 1 && rest[1] == "run":
		return ofPython(rest[strings.Count(two, "tool")+1:], true)
	case name == "pip" || name == "pip3":
		return installed(rest, "install")
	case two == "uv pip":
		return installed(rest[1:], "install")
	case two == "uv add" || two == "pipx install":
		return installed(rest, rest[0])
	case (name == "python" || name == "python3") && len(rest) > 2 && rest[0] == "-m" && rest[1] == "pip":
		return installed(rest[2:], "install")
	case two == "go run" || two == "go install":
		return ofGo(rest)
	case name == "deno" && (rest[0] == "run" || rest[0] == "install"):
		for _, w := range rest[1:] {
			if strings.HasPrefix(w, "https://") && !strings.Contains(w, "@") {
				return w, High
			}
		}
	case two == "docker run" && server:
		for _, w := range rest[1:] {
			if strings.Contains(w, "/") && !strings.ContainsAny(w, "=") && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "/") &&
				(!strings.Contains(w[strings.LastIndex(w, "/"):], ":") && !strings.Contains(w, "@sha256:") || strings.HasSuffix(w, ":latest")) {
				return w, Medium
			}
		}
	}
	return "", 0
}

func base(w string) string {
	w = w[strings.LastIndexAny(w, `/\`)+1:]
	return strings.TrimSuffix(strings.TrimSuffix(w, ".cmd"), ".exe")
}

// ofNPM checks the package that npx or a similar program runs. Plain npx asks before it fetches,
// and runs the project's own copy without fetching.
func ofNPM(rest []string, server, asksNot bool) (string, Severity) {
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		switch {
		case w == "-y" || w == "--yes":
			asksNot = true
		case w == "-p" || w == "--package":
			continue // its value is the package
		case strings.HasPrefix(w, "--package="):
			return npmPackage(strings.TrimPrefix(w, "--package="), asksNot || server)
		case w == "--no-install" || w == "--no":
			return "", 0
		case !strings.HasPrefix(w, "-"):
			return npmPackage(w, asksNot || server)
		}
	}
	return "", 0
}

func npmPackage(w string, fetches bool) (string, Severity) {
	at := strings.LastIndexByte(w, '@')
	switch {
	case strings.HasPrefix(w, ".") || strings.HasPrefix(w, "/") || strings.ContainsAny(w, "$<>{}"):
		return "", 0
	case strings.Contains(w, "github:") || strings.HasPrefix(w, "git+") || strings.HasPrefix(w, "http"):
		if atCommit.get().MatchString(w) {
			return "", 0
		}
		return w, High
	case !packaged.get().MatchString(w):
		return "", 0
	case at > 0 && exact.get().MatchString(w[at+1:]):
		return "", 0
	case at > 0 || fetches:
		return w, High
	}
	return "", 0
}

var atCommit = &pattern{text: `[#@][0-9a-f]{40}$`}

// ofPython checks the package that uvx or a similar program fetches and runs.
func ofPython(rest []string, first bool) (string, Severity) {
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		switch {
		case (w == "--from" || w == "--spec" || w == "--with") && i+1 < len(rest):
			return pyPackage(rest[i+1], High)
		case strings.HasPrefix(w, "--from="):
			return pyPackage(strings.TrimPrefix(w, "--from="), High)
		case w == "-p" || w == "--python":
			i++
		case !strings.HasPrefix(w, "-"):
			return pyPackage(w, High)
		}
	}
	return "", 0
}

func pyPackage(w string, severity Severity) (string, Severity) {
	_, version, pinned := strings.Cut(w, "==")
	if !pinned && !strings.Contains(w, "://") {
		_, version, pinned = strings.Cut(w, "@")
	}
	switch {
	case strings.Contains(w, "://"):
		if commit.get().MatchString(w) || strings.Contains(w, "#sha256=") {
			return "", 0
		}
		return w, max(severity, High)
	case pinned && exact.get().MatchString(version), strings.ContainsAny(w, "$<{"), strings.HasPrefix(w, "."), strings.HasPrefix(w, "/"):
		return "", 0
	case !packaged.get().MatchString(w), strings.HasSuffix(w, ".whl"), strings.HasSuffix(w, ".txt"):
		return "", 0
	}
	return w, severity
}

// installed returns the first package without a version that pip or a similar program installs.
func installed(rest []string, verb string) (string, Severity) {
	if len(rest) < 2 || rest[0] != verb {
		return "", 0
	}
	for i := 1; i < len(rest); i++ {
		w := rest[i]
		switch {
		case w == "-r" || w == "-c" || w == "-e" || w == "--requirement" || w == "--constraint" || w == "--editable" || w == "-t" || w == "--target" || w == "-i" || w == "--index-url" || w == "-f" || w == "--find-links":
			i++
		case w == "pip" || w == "setuptools" || w == "wheel" || strings.HasPrefix(w, "-"):
		default:
			if what, severity := pyPackage(w, Medium); severity > 0 {
				return what, severity
			}
			if !packaged.get().MatchString(w) && !strings.Contains(w, "://") {
				return "", 0 // the rest of a sentence
			}
		}
	}
	return "", 0
}

// ofGo checks go run and go install of another module.
func ofGo(rest []string) (string, Severity) {
	for _, w := range rest[1:] {
		if strings.HasPrefix(w, "-") {
			continue
		}
		_, version, ok := strings.Cut(w, "@")
		if !ok || version == "version" || version == "VERSION" || strings.HasPrefix(version, "v") && exact.get().MatchString(version) || len(version) == 40 || strings.ContainsAny(w, "$<{") {
			return "", 0
		}
		if rest[0] == "run" {
			return w, High
		}
		return w, Low // once installed it does not change
	}
	return "", 0
}

// A launch is a server's start in a configuration: a command on one line, its arguments on the
// lines below.
type launch struct {
	at   int // line of the command; 0 for none
	line string
	text strings.Builder
}

var (
	launcher    = &pattern{text: `["']?command["']?\s*[:=]\s*\[?\s*["']?(\S*/)?(npx|bunx|pnpx|uvx|pipx|docker|npm|pnpm|yarn|uv|cmd|deno|bun)(\.cmd|\.exe)?["']?\s*(,|$|\})`}
	quotedWords = &pattern{text: `"([^"]*)"|'([^']*)'|[^\s,\[\]{}:"']+`}
)

// data collects the launch of a server in a configuration in JSON, YAML or TOML.
func (s *scan) data(line string, hot bool) {
	l := &s.launch
	if l.at == 0 {
		if !hot && !strings.Contains(line, "command") || !strings.Contains(line, "command") {
			return
		}
		at := launcher.get().FindStringIndex(line)
		if at == nil {
			return
		}
		l.at, l.line = s.line, line
		line = line[at[0]:]
	}
	l.text.WriteString(line)
	l.text.WriteByte(' ')
	if l.text.Len() > 2<<10 || s.line > l.at+16 || closes(l.text.String()) {
		s.launched()
	}
}

// closes reports whether the arguments of a launch are complete.
func closes(text string) bool {
	i := strings.Index(text, "args")
	return i >= 0 && strings.Contains(text[i:], "]") || i < 0 && strings.Contains(text, "]")
}

// launched checks the collected launch.
func (s *scan) launched() {
	l := &s.launch
	if l.at == 0 {
		return
	}
	text := l.text.String()
	if i := strings.Index(text, "args"); i >= 0 {
		if j := strings.IndexByte(text[i:], ']'); j >= 0 {
			text = text[:i+j]
		}
	}
	var argv []string
	for _, w := range quotedWords.get().FindAllString(text, 64) {
		if w = strings.Trim(w, `"' `); w != "command" && w != "args" && w != "" && w != "=" && w != "-" {
			argv = append(argv, w)
		}
	}
	at, line := l.at, l.line
	*l = launch{}
	was := s.line
	s.line = at
	s.unpinned(strings.Join(argv, " "), line, true)
	s.line = was
}
