package audit

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/command"
)

// A block is a group of commands that are analysed together: a fence of a text, or a whole
// script.
type block struct {
	fence string // mark that ends it; "" outside of one
	shell bool   // a shell runs its content
	form  Form   // of its content
	plain bool   // its content may be prose
	from  int    // its first line
	text  strings.Builder
}

// triggers are words. A line of prose or code without any of them has no command that matters
// here.
var triggers = []string{"curl", "wget", "base64", "npx", "uvx", "pipx", "bunx", "pnpx", "dlx", "npm", "pip", " uv ", "uv run", "go run", "go install", "deno", "docker",
	"iwr", "irm", "iex", "Invoke-", "invoke-", "powershell", "eval", "exec", "/dev/tcp", "/dev/sd", "/dev/nvme", "mkfs", "bash", "| sh", "|sh", "sh -c", "nc -e", "ncat"}

func triggered(line string) bool {
	for _, t := range triggers {
		if strings.Contains(line, t) {
			return true
		}
	}
	return false
}

// commands finds the commands in a line.
func (s *scan) commands(line string) {
	hot := triggered(line)
	s.data(line, hot)
	if hot {
		s.hot(line)
	}
	switch s.form {
	case Shell:
		s.gather(line)
		s.signals(line, Shell)
	case Prose:
		s.asides(line)
		s.prose(line, hot)
	default:
		if hot {
			s.quoted(line)
		}
		s.signals(line, s.form)
	}
}

// signals applies the rules to a line, and to what it holds in another form.
func (s *scan) signals(line string, form Form) {
	hidden := unfold(line)
	for _, v := range s.watch.line(s.line, form, line, hidden) {
		s.add(v.rule.id, v.severity, s.line, line, v.rule.says)
	}
	for _, text := range hidden {
		if triggered(text) {
			s.judge(text, line)
		}
	}
}

// prose reads a line of a text: fences first, then text in backticks, then the whole line.
func (s *scan) prose(line string, hot bool) {
	trimmed := strings.TrimLeft(line, " \t>-*+0123456789.")
	switch mark := fence(trimmed); {
	case s.block.fence != "":
		if mark != "" && strings.HasPrefix(mark, s.block.fence) && strings.TrimSpace(strings.TrimLeft(trimmed, "`~")) == "" {
			s.flush()
			s.watch.reset(s.line)
			s.block.fence = ""
			return
		}
		if s.block.shell {
			s.gather(prompted(line))
		} else if hot {
			s.quoted(line)
		}
		if s.block.plain {
			s.paragraph(line)
		}
		s.signals(line, s.block.form)
		return
	case mark != "":
		s.watch.reset(s.line)
		lang := language(trimmed, mark)
		s.block.fence, s.block.shell = mark, shells[lang]
		s.block.form, s.block.plain = formOfFence(lang), lang == "" || lang == "text" || lang == "txt" || lang == "markdown" || lang == "md"
		return
	}
	s.paragraph(line)
	s.signals(line, Prose)
	if !hot {
		return
	}
	s.quoted(line)
	s.judge(prompted(strings.TrimRight(trimmed, " .:")), line)
}

// fence returns the mark that opens or closes a fence, or "".
func fence(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

func language(line, mark string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(line[len(mark):]), " ")
	return strings.ToLower(strings.Trim(word, "{}.,"))
}

// shells are the languages of fences whose text a shell runs. A fence without a language may be
// one.
var shells = map[string]bool{"": true, "sh": true, "bash": true, "zsh": true, "shell": true, "console": true, "shell-session": true,
	"shellsession": true, "terminal": true, "bash-session": true, "sh-session": true, "cmd": true, "text": true, "txt": true}

// formOfFence returns the form of the text in a fence.
func formOfFence(language string) Form {
	switch language {
	case "python", "py", "python3", "ipython":
		return Python
	case "js", "javascript", "mjs", "cjs", "jsx", "ts", "typescript", "tsx", "node":
		return JavaScript
	case "powershell", "pwsh", "ps1", "ps", "batch", "bat", "cmd":
		return PowerShell
	}
	if shells[language] {
		return Shell
	}
	return Code
}

// prompted removes a prompt from the start of a command.
func prompted(line string) string {
	t := strings.TrimLeft(line, " \t")
	for _, p := range []string{"$ ", "% ", "> "} {
		if rest, ok := strings.CutPrefix(t, p); ok {
			return rest
		}
	}
	return line
}

// gather collects a line of commands until the block ends or reaches its largest size.
func (s *scan) gather(line string) {
	b := &s.block
	if b.text.Len() == 0 {
		b.from = s.line
	}
	b.text.WriteString(line)
	b.text.WriteByte('\n')
	if n := b.text.Len(); n >= maxBlock || n >= manyBlock && s.rep.Bytes > maxScript {
		s.flush()
	}
}

// flush analyses the gathered commands.
func (s *scan) flush() {
	text := s.block.text.String()
	s.block.text.Reset()
	if strings.TrimSpace(text) == "" {
		return
	}
	if s.tooMany(s.block.from, text) {
		return
	}
	for _, f := range command.Analyse(text, nil, nil) {
		n, line := lineOf(text, f.Text)
		s.found(f, s.block.from+n, line, text)
	}
}

// lineOf returns the line of a finding as well as its words can show it. The words are clipped,
// and their spaces differ from the text's.
func lineOf(text, found string) (int, string) {
	words := strings.Fields(found)
	lines := strings.Split(text, "\n")
	best, most := 0, 0
	for i, l := range lines {
		if n := likeness(l, words); n > most {
			best, most = i, n
		}
	}
	return best, lines[best]
}

// likeness measures how much of the words a line has. A comment has none. A line with a trigger
// gets one more.
func likeness(line string, words []string) (n int) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return 0
	}
	fields := strings.Fields(line)
	for _, w := range words {
		w = strings.TrimRight(w, "…")
		switch {
		case w != "" && slices.Contains(fields, w):
			n += 2 * len(w)
		case len(w) > 2 && strings.Contains(line, w):
			n += len(w)
		}
	}
	if n > 0 && triggered(line) {
		n++
	}
	return n
}

// quoted analyses the texts in quotes or backticks in a line.
func (s *scan) quoted(line string) {
	for _, q := range []byte{'`', '"', '\''} {
		rest := line
		for {
			i := strings.IndexByte(rest, q)
			if i < 0 {
				break
			}
			j := strings.IndexByte(rest[i+1:], q)
			if j < 0 {
				break
			}
			if text := rest[i+1 : i+1+j]; triggered(text) {
				s.judge(prompted(text), line)
				rest = rest[i+j+2:]
			} else {
				rest = rest[i+1+j:] // a closing quote may also open the next text
			}
		}
	}
}

// judge analyses one command of a text. A single word cannot run a download.
func (s *scan) judge(text, line string) {
	if !strings.ContainsAny(strings.TrimSpace(text), " \t") {
		return
	}
	if s.tooMany(s.line, line) {
		return
	}
	for _, f := range command.Analyse(text, nil, nil) {
		s.found(f, s.line, line, "")
	}
	s.unpinned(text, line, false)
}

// tooMany counts the pieces that are analysed one by one. A text with more pieces than any author
// writes gets a finding, and the line rules alone check its rest.
func (s *scan) tooMany(at int, line string) bool {
	if s.judged++; s.judged <= maxJudged {
		return false
	}
	if s.judged == maxJudged+1 {
		s.add("not-judged", High, at, line, "too many commands to judge one by one")
	}
	return true
}

// meaning maps a finding of the policy's analysis to a rule here. In prose only serious findings
// are kept, because a sentence is not a script.
var meaning = map[string]struct {
	rule     string
	severity Severity
	prose    bool
}{
	"pipe to shell": {"pipe-to-shell", High, true}, "downloaded and run": {"pipe-to-shell", High, true}, "document run as a program": {"pipe-to-shell", High, false},
	"encoded command": {"encoded-command", High, true}, "hidden command": {"encoded-command", High, true}, "unseen command": {"encoded-command", Medium, false},
	"reverse shell": {"remote-shell", High, true}, "secrets leave": {"secrets-leave", High, true},
	"fork bomb": {"destructive-command", High, true}, "raw disk write": {"destructive-command", High, true},
	"format filesystem": {"destructive-command", High, true}, "write to device": {"destructive-command", High, true},
	"too long to judge": {"not-judged", High, false}, "cannot be judged": {"not-judged", High, false},
	"commands nested too deeply to judge": {"not-judged", High, false},
}

// found records a finding of the analysis in a script, or, when script is "", in a command in
// prose.
func (s *scan) found(f command.Finding, at int, line, script string) {
	m, known := meaning[f.Label]
	if !known {
		m.rule, m.severity = "risky-command", Medium
	}
	if f.Label == "downloaded and run" && !downloads(line+script) {
		m.severity = Low // a clone, which a person inspects
	}
	if script != "" || m.prose {
		s.add(m.rule, m.severity, at, line, f.Label)
	}
}

// downloads reports whether a text of commands fetches in another way than by a clone.
func downloads(text string) bool {
	for _, w := range []string{"curl", "wget", "http:", "ftp", "aria2c", "scp", "s3", "fetch", "iwr", "irm", "Invoke-"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// hot examines a line that may hold a command. For text that a shell runs, the analysis of its
// syntax replaces the patterns.
func (s *scan) hot(line string) {
	if s.judged < maxJudged && (s.form == Shell || s.block.fence != "" && s.block.shell) {
		s.unpinned(prompted(line), line, false)
		return
	}
	if at := listed.get().FindStringIndex(line); at != nil {
		s.unpinned(strings.ReplaceAll(line[at[0]:], ",", " "), line, true)
	}
	if s.form.code() || s.block.fence != "" {
		s.unpinned(prompted(line), line, false)
	}
}

// listed matches a launch as a list of words, as programs write it.
var listed = &pattern{text: `["'](npx|uvx|bunx|pnpx|pipx)["']\s*,`}
