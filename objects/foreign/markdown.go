package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// matter is the front matter of a file of Claude Code or Cursor, read line by line. It is
// often not valid YAML ("globs: *.ts", "argument-hint: [file] [line]").
type matter struct {
	fields map[string]string
	body   string
}

// frontMatter reads "---", lines of "key: value", and "---". It joins indented continuation
// lines with blanks.
func frontMatter(data []byte) matter {
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\r\n", "\n")
	m := matter{fields: map[string]string{}, body: text}
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return m
	}
	head, body, ok := strings.Cut(rest, "\n---\n")
	if strings.HasPrefix(rest, "---\n") {
		head, body, ok = "", rest[4:], true
	}
	if !ok {
		if head, ok = strings.CutSuffix(rest, "\n---"); !ok {
			return m
		}
		body = ""
	}
	m.body = body
	last := ""
	for line := range strings.SplitSeq(head, "\n") {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "- ") {
			if last != "" {
				m.fields[last] = strings.TrimSpace(m.fields[last] + " " + strings.TrimPrefix(strings.TrimSpace(line), "- "))
			}
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if last = ""; ok && key != "" && !strings.ContainsAny(key, " \t#\"'") {
			last = key
			m.fields[key] = unquote(strings.TrimSpace(value))
		}
	}
	return m
}

// unquote removes the quotes of a value. A YAML block mark alone gives "".
func unquote(s string) string {
	switch s {
	case ">", "|", ">-", "|-", ">+", "|+":
		return ""
	}
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// plain turns text from outside into the text of a field: one line of at most n characters,
// without invisible ones.
func plain(s string, n int) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return ' '
		case !unicode.IsPrint(c):
			return -1
		}
		return c
	}, s)
	return words.Clip(strings.Join(strings.Fields(s), " "), n)
}

// quoted writes a text as a string that both YAML and JSON read.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string never fails
	return string(b)
}

// firstWords returns the first line of a body that has text, without Markdown marks.
func firstWords(body string) string {
	for line := range strings.SplitSeq(body, "\n") {
		if s := strings.Trim(line, "#*-> \t"); s != "" && !strings.HasPrefix(s, "```") && !strings.HasPrefix(s, "<!--") {
			return s
		}
	}
	return ""
}

// lost returns the named fields that exist in the front matter. rye has no counterpart to them.
func (m matter) lost(names ...string) []string {
	var all []string
	for _, n := range names {
		if v := m.fields[n]; v != "" {
			all = append(all, n+": "+plain(v, 80))
		}
	}
	return all
}

// positional matches the parameters of a command.
var positional = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(ARGUMENTS|[1-9])\b`) })

// arguments turns the parameters of a command into inputs.
func arguments(m matter) (inputs, body string) {
	var list strings.Builder
	seen := map[string]bool{}
	body = positional().ReplaceAllStringFunc(m.body, func(s string) string {
		name := "arguments"
		if s != "$ARGUMENTS" {
			name = "arg" + s[1:]
		}
		if !seen[name] {
			seen[name] = true
			about := plain(m.fields["argument-hint"], 200)
			fmt.Fprintf(&list, "  - {name: %s, type: string, description: %s}\n", name, quoted(about))
		}
		return "{input:" + name + "?}"
	})
	if list.Len() == 0 {
		return "", body
	}
	return "inputs:\n" + list.String(), body
}

// convert writes the item for a part: a directive for a command or an agent, knowledge for a rule.
func convert(p part) (objects.Kind, string, []string, error) {
	if path.Ext(p.Path) == ".toml" {
		m, lost, err := tomlPart(p)
		if err != nil {
			return "", "", nil, err
		}
		text, more, err := directive(p, m)
		return objects.Directive, text, append(lost, more...), err
	}
	if !utf8.Valid(p.Data) {
		return "", "", nil, fault.New(fault.Malformed, "it is not UTF-8 text")
	}
	m := frontMatter(p.Data)
	if p.what == "rule" {
		text, lost, err := knowledge(p, m)
		return objects.Knowledge, text, lost, err
	}
	text, lost, err := directive(p, m)
	return objects.Directive, text, lost, err
}

// unkept are the fields of commands and agents that nothing here keeps.
var unkept = []string{"allowed-tools", "disallowed-tools", "tools", "model", "hooks", "color", "permissionMode", "permission", "mcpServers",
	"mcp-servers", "skills", "agent", "mode", "handoffs", "target", "subtask", "temperature", "sandbox_mode", "model_reasoning_effort"}

// directive writes the directive for a command or an agent.
func directive(p part, m matter) (text string, lost []string, err error) {
	lost = m.lost(unkept...)
	inputs, body := arguments(m)
	for _, s := range []struct{ mark, why string }{{"!`", "commands in !`…` are not run beforehand"}, {"\n@", "files after @ are not read in"}} {
		if strings.Contains("\n"+body, s.mark) {
			lost = append(lost, s.why)
		}
	}
	about := plain(m.fields["description"], 500)
	if about == "" {
		about = plain(firstWords(body), 200)
	}
	if about == "" {
		return "", nil, fault.New(fault.Malformed, "an empty %s", p.what)
	}
	return "---\nversion: 0.1.0\ndescription: " + quoted(about) + "\n" + inputs + "---\n\n" + strings.TrimLeft(body, "\n"), lost, nil
}

// knowledge writes the knowledge for a rule.
func knowledge(p part, m matter) (text string, lost []string, err error) {
	about := plain(m.fields["description"], 500)
	title := about
	if title == "" {
		title = plain(firstWords(m.body), 200)
	}
	if title == "" {
		return "", nil, fault.New(fault.Malformed, "an empty rule")
	}
	for _, s := range m.lost("globs", "alwaysApply", "applyTo", "paths", "trigger", "inclusion", "fileMatchPattern", "excludeAgent") {
		lost = append(lost, s+" (nothing applies it by itself)")
	}
	if strings.Contains("\n"+m.body, "\n@") {
		lost = append(lost, "files after @ are not read in")
	}
	text = "---\nversion: 0.1.0\ntitle: " + quoted(title) + "\nentry_type: rule\n"
	if about != "" {
		text += "description: " + quoted(about) + "\n"
	}
	return text + "---\n\n" + strings.TrimLeft(m.body, "\n"), lost, nil
}
