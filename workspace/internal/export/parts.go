package export

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/clients/places"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
)

// partOf recognises a command, an agent or a rule that came in a client's form: Markdown below a
// folder of that name. The folders of a skill hold texts for the skill, and are none.
func partOf(f objects.File, data []byte) (part, bool) {
	ext := path.Ext(f.Path)
	if ext != ".md" && ext != ".mdc" {
		return part{}, false
	}
	dir := "/" + path.Dir(f.Path) + "/"
	for _, kind := range []string{"commands", "agents", "rules"} {
		i := strings.Index(dir, "/"+kind+"/")
		if i < 0 || own(f.Path) {
			continue
		}
		name := strings.TrimSuffix(("/" + f.Path)[i+len(kind)+2:], ext)
		fields, body := foreign.Head(data)
		t := places.Text{Name: name, Description: cmp.Or(fields["description"], firstLine(body)), Body: strings.TrimLeft(body, "\n"),
			Globs: fields["globs"], Always: fields["alwaysApply"] == "true", Source: string(places.Markdown), Raw: data}
		if ext == ".mdc" {
			t.Source = string(places.MDC)
		}
		return part{kind, f, t}, true
	}
	return part{}, false
}

// own reports whether a file of a bundle is an item of rye: those have their own folders.
func own(p string) bool {
	top, _, _ := strings.Cut(p, "/")
	return slices.ContainsFunc(objects.Kinds, func(k objects.Kind) bool { return k.Dir() == top })
}

func firstLine(body string) string {
	for line := range strings.Lines(body) {
		if s := strings.Trim(line, "#*-> \t\r\n"); s != "" {
			return words.Clip(s, 200)
		}
	}
	return "no description"
}

// fields returns the front matter of a part as a client reads it.
func (p part) fields() map[string]any {
	fields, _ := foreign.Head(p.text.Raw)
	all := map[string]any{}
	for k, v := range fields {
		all[k] = v
	}
	return all
}

// selfActing are the fields with which a client runs programs, or lets the model run them without
// a question.
var selfActing = []string{"allowed-tools", "hooks", "mcpServers", "mcp-servers", "permissionMode"}

// actsOf returns what a client does by itself because of a text: the fields above, and commands
// in !`…` and !{…}, which Claude Code and Gemini CLI run before the model reads the text.
func actsOf(p string, fields map[string]any, text string) (acts []string) {
	for _, name := range selfActing {
		if v, ok := fields[name]; ok && fmt.Sprint(v) != "" {
			acts = append(acts, p+": "+name+": "+words.Clip(strings.Join(strings.Fields(fmt.Sprint(v)), " "), 200))
		}
	}
	for line := range strings.Lines(text) {
		for _, mark := range []struct{ begin, end string }{{"!`", "`"}, {"!{", "}"}} {
			if _, rest, ok := strings.Cut(line, mark.begin); ok {
				command, _, _ := strings.Cut(rest, mark.end)
				acts = append(acts, p+": runs "+words.Clip(command, 200))
			}
		}
	}
	return acts
}

// configured are the files of a plugin with which a client starts programs by itself.
var configured = map[string]string{"hooks.json": "hooks", ".mcp.json": "servers", "mcp.json": "servers", ".lsp.json": "servers", "monitors.json": "monitors"}

// pluginActs returns what Claude Code does with the folder of a skill that is a plugin, too: it
// loads the folder with its hooks and servers. Other skills have none.
func pluginActs(files []objects.File) (acts []string) {
	if !slices.ContainsFunc(files, func(f objects.File) bool { return strings.EqualFold(f.Path, ".claude-plugin/plugin.json") }) {
		return nil
	}
	for _, f := range files {
		if strings.EqualFold(f.Path, ".claude-plugin/plugin.json") {
			acts = append(acts, f.Path+": makes Claude Code load the folder as a plugin, with the programs that the file names")
		} else if what := configured[strings.ToLower(path.Base(f.Path))]; what != "" {
			acts = append(acts, f.Path+": "+what+" that Claude Code starts")
		}
	}
	return acts
}

// unwritten names the files of a plugin with which a client would start programs by itself, and
// which rye writes for none.
func (p *plan) unwritten(src *source) {
	for _, f := range src.bundle.Files() {
		if what := configured[strings.ToLower(path.Base(f.Path))]; what != "" {
			p.left = append(p.left, left{ref: src.ref.String(), why: f.Path + ": rye writes no " + what + " of plugins for clients"})
		}
	}
}
