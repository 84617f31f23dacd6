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

// commands takes Claude Code's commands and agents as directives, from plugins and from a
// project's .claude. The name of a plugin becomes a prefix of the id.
func commands(r *reading) {
	for _, f := range r.tree.Files {
		if r.used[f.Path] || path.Ext(f.Path) != ".md" {
			continue
		}
		base, what, rest := r.commandPlace(f.Path)
		if what == "" {
			continue
		}
		name := strings.TrimSuffix(rest, ".md")
		parts := strings.Split(name, "/")
		for i := range parts {
			parts[i] = mainly(parts[i])
		}
		if base != "" {
			parts = append([]string{mainly(base)}, parts...)
		}
		r.used[f.Path] = true
		if err := r.command(f, what, strings.Join(parts, "/")); err != nil {
			r.refuse(f.Path, err)
		}
	}
}

// commandPlace recognizes a command or an agent by its path. It returns its plugin, its kind,
// and its path below the folder of commands or agents.
func (r *reading) commandPlace(p string) (plugin, what, rest string) {
	for _, kind := range []struct{ dir, what string }{{"commands", "command"}, {"agents", "agent"}} {
		if _, rest, ok := strings.Cut("/"+p, "/.claude/"+kind.dir+"/"); ok {
			return "", kind.what, rest
		}
		root, rest, ok := strings.Cut("/"+p, "/"+kind.dir+"/")
		if !ok {
			continue
		}
		root = strings.TrimPrefix(root, "/")
		if name, ok := r.pluginAt(root); ok {
			return name, kind.what, rest
		}
		if r.tree.Name == ".claude" && root == "" {
			return "", kind.what, rest
		}
	}
	return "", "", ""
}

// pluginAt returns the name of the plugin with this folder as its root.
func (r *reading) pluginAt(root string) (string, bool) {
	p := path.Join(root, ".claude-plugin/plugin.json")
	for _, f := range r.tree.Files {
		if f.Path != p {
			continue
		}
		var m struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(f.Data, &m) == nil && m.Name != "" {
			return m.Name, true
		}
		return r.dirName(path.Clean("./" + root)), true
	}
	return "", false
}

// positional matches the parameters of a command.
var positional = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(ARGUMENTS|[1-9])\b`) })

func (r *reading) command(f File, what, name string) error {
	id, err := r.id(name)
	if err != nil {
		return err
	}
	m := frontMatter(f.Data)
	found := Found{Ref: objects.Ref{Kind: objects.Directive, ID: id}, What: "Claude Code " + what, From: f.Path}
	found.Lost = m.lost("allowed-tools", "disallowed-tools", "tools", "model", "hooks", "color", "permissionMode", "mcpServers", "skills")
	inputs, body := arguments(m)
	for _, s := range []struct{ mark, why string }{{"!`", "commands in !`…` are not run beforehand"}, {"\n@", "files after @ are not read in"}} {
		if strings.Contains("\n"+body, s.mark) {
			found.Lost = append(found.Lost, s.why)
		}
	}
	about := plain(m.fields["description"], 500)
	if about == "" {
		about = plain(firstWords(body), 200)
	}
	if about == "" {
		return fault.New(fault.Malformed, "an empty %s", what)
	}
	text := "---\nversion: 0.1.0\ndescription: " + quoted(about) + "\n" + inputs + "---\n\n" + strings.TrimLeft(body, "\n")
	return r.keep(found, ".md", text)
}

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

// rules takes Cursor's rules as knowledge.
func rules(r *reading) {
	for _, f := range r.tree.Files {
		name, ok := ruleName(r.tree.Name, f.Path)
		if !ok || r.used[f.Path] {
			continue
		}
		r.used[f.Path] = true
		if err := r.rule(f, name); err != nil {
			r.refuse(f.Path, err)
		}
	}
}

func ruleName(tree, p string) (string, bool) {
	ext := path.Ext(p)
	switch {
	case path.Base(p) == ".cursorrules":
		return "cursorrules", true
	case ext == ".mdc":
	case ext != ".md" || !strings.Contains("/"+p, "/.cursor/rules/"):
		return "", false
	}
	return mainly(strings.TrimSuffix(path.Base(p), ext)), true
}

func (r *reading) rule(f File, name string) error {
	id, err := r.id(name)
	if err != nil {
		return err
	}
	m := frontMatter(f.Data)
	about := plain(m.fields["description"], 500)
	title := about
	if title == "" {
		title = plain(firstWords(m.body), 200)
	}
	if title == "" {
		return fault.New(fault.Malformed, "an empty rule")
	}
	found := Found{Ref: objects.Ref{Kind: objects.Knowledge, ID: id}, What: "Cursor rule", From: f.Path}
	for _, s := range m.lost("globs", "alwaysApply") {
		found.Lost = append(found.Lost, s+" (nothing applies it by itself)")
	}
	text := "---\nversion: 0.1.0\ntitle: " + quoted(title) + "\nentry_type: rule\n"
	if about != "" {
		text += "description: " + quoted(about) + "\n"
	}
	return r.keep(found, ".md", text+"---\n\n"+strings.TrimLeft(m.body, "\n"))
}

// keep adds an item of one file. Its text must be valid.
func (r *reading) keep(found Found, ext, text string) error {
	p := found.Ref.Path(ext)
	it, err := objects.Parse(p, []byte(text))
	if err != nil {
		return err
	}
	if ps := it.Validate(); len(ps) > 0 {
		return invalid(ps[0])
	}
	found.Files = []File{{Path: p, Data: []byte(text)}}
	r.found = append(r.found, found)
	return nil
}
