package foreign

import (
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// place is a folder in which a client reads commands, agents or rules.
type place struct{ dir, ext, client, what string }

// places are the folders of a project. The field's facts name their sources.
var places = []place{
	{".claude/commands", ".md", "Claude Code", "command"},
	{".claude/agents", ".md", "Claude Code", "agent"},
	{".claude/rules", ".md", "Claude Code", "rule"},
	{".codex/prompts", ".md", "Codex", "command"},
	{".codex/agents", ".toml", "Codex", "agent"},
	{".cursor/commands", ".md", "Cursor", "command"},
	{".cursor/agents", ".md", "Cursor", "agent"},
	{".cursor/rules", ".mdc", "Cursor", "rule"},
	{".cursor/rules", ".md", "Cursor", "rule"},
	{".github/prompts", ".prompt.md", "Copilot", "command"},
	{".github/agents", ".agent.md", "Copilot", "agent"},
	{".github/agents", ".md", "Copilot", "agent"},
	{".github/chatmodes", ".chatmode.md", "Copilot", "agent"},
	{".github/instructions", ".instructions.md", "Copilot", "rule"},
	{".gemini/commands", ".toml", "Gemini", "command"},
	{".gemini/agents", ".md", "Gemini", "agent"},
	{".opencode/commands", ".md", "opencode", "command"},
	{".opencode/command", ".md", "opencode", "command"},
	{".opencode/agents", ".md", "opencode", "agent"},
	{".opencode/agent", ".md", "opencode", "agent"},
	{".agents/commands", ".md", "project", "command"},
	{".agents/workflows", ".md", "Antigravity", "command"},
	{".agents/agents", ".md", "Antigravity", "agent"},
	{".agents/rules", ".md", "Antigravity", "rule"},
	{".windsurf/workflows", ".md", "Windsurf", "command"},
	{".windsurf/rules", ".md", "Windsurf", "rule"},
	{".devin/agents", ".md", "Devin", "agent"},
	{".goose/agents", ".md", "Goose", "agent"},
	{".clinerules/workflows", ".md", "Cline", "command"},
	{".clinerules", ".md", "Cline", "rule"},
	{".cline/agents", ".md", "Cline", "agent"},
	{".kiro/prompts", ".md", "Kiro", "command"},
	{".kiro/agents", ".md", "Kiro", "agent"},
	{".kiro/steering", ".md", "Kiro", "rule"},
}

// inPlugins are the folders of a plugin.
var inPlugins = []place{
	{"commands", ".md", "", "command"},
	{"commands", ".toml", "", "command"},
	{"agents", ".md", "", "agent"},
	{"rules", ".mdc", "", "rule"},
	{"rules", ".md", "", "rule"},
}

// contexts are files with instructions for everything in their folder.
var contexts = map[string]string{
	"AGENTS.md": "AGENTS.md", "AGENT.md": "AGENTS.md", "CLAUDE.md": "Claude Code", "GEMINI.md": "Gemini", "CRUSH.md": "Crush",
	"copilot-instructions.md": "Copilot", ".cursorrules": "Cursor", ".windsurfrules": "Windsurf", ".goosehints": "Goose", ".rules": "Zed",
}

// part is a file that becomes an item.
type part struct {
	File
	client  string
	what    string // command, agent or rule
	name    string // its path below its folder, without extension
	context bool   // it was found by its name alone
	owner   *plugin
}

// partAt recognizes a command, an agent or a rule by its path.
func (r *reading) partAt(f File) (part, bool) {
	p := part{File: f, owner: r.owner(f.Path)}
	if p.owner != nil && p.owner.closed {
		p.owner = nil
	}
	full := "/" + strings.TrimPrefix(path.Join(r.tree.At, f.Path), "/")
	for _, pl := range places {
		if i := strings.LastIndex(full, "/"+pl.dir+"/"); i >= 0 && p.in(pl, full[i+len(pl.dir)+2:]) {
			return p, true
		}
	}
	if q := p.owner; q != nil {
		rel := strings.TrimPrefix(f.Path, q.root+"/")
		for _, pl := range inPlugins {
			pl.client = q.form
			rest, ok := strings.CutPrefix(rel, pl.dir+"/")
			if ok && !q.list && !q.instead[pl.dir] && (pl.ext != ".toml" || q.toml) && p.in(pl, rest) {
				return p, true
			}
		}
		for _, l := range q.parts {
			if ext := path.Ext(f.Path); under(f.Path, l.path) && (ext == ".md" || ext == ".toml") {
				name := path.Base(f.Path)
				if f.Path != l.path {
					name = strings.TrimPrefix(f.Path, l.path+"/")
				}
				return p, p.in(place{"", ext, q.form, l.what}, name)
			}
		}
		if q.form == "Gemini extension" && f.Path == path.Join(q.root, q.context) {
			p.client, p.what, p.name = "Gemini", "rule", strings.TrimSuffix(path.Base(f.Path), path.Ext(f.Path))
			return p, true
		}
	}
	if client, ok := contexts[path.Base(f.Path)]; ok {
		name := strings.TrimPrefix(strings.TrimSuffix(path.Base(f.Path), ".md"), ".")
		p.client, p.what, p.name, p.context = client, "rule", path.Join(path.Dir(f.Path), name), true
		return p, true
	}
	if path.Ext(f.Path) == ".mdc" {
		p.client, p.what, p.name = "Cursor", "rule", strings.TrimSuffix(path.Base(f.Path), ".mdc")
		return p, true
	}
	return p, false
}

func (p *part) in(pl place, rest string) bool {
	name, ok := strings.CutSuffix(rest, pl.ext)
	if !ok || name == "" || strings.HasSuffix(name, "/") {
		return false
	}
	p.client, p.what, p.name = pl.client, pl.what, name
	return true
}

// parts takes the commands, agents and rules of each plugin, and those of no plugin, as one bundle
// each. A repository of plugins has instructions for the people who work on it; they are named.
func parts(r *reading, program bool) {
	groups := map[*plugin][]part{}
	var order []*plugin
	for _, behind := range []bool{false, true} {
		for _, f := range r.all {
			if real, is := r.linked.real[f.Path]; is != behind || r.used[f.Path] && !r.inRootSkill(f.Path) || behind && r.used[real] {
				continue
			}
			if slices.ContainsFunc(r.dirs, func(dir string) bool { return under(f.Path, dir) }) ||
				slices.ContainsFunc(strings.Split(path.Dir(f.Path), "/"), func(n string) bool { return slices.Contains(without, n) }) {
				continue
			}
			if why, ok := servers(f); ok && !behind {
				r.use(f.Path)
				r.skip(f.Path, why)
				continue
			}
			p, ok := r.partAt(f)
			switch {
			case !ok:
				continue
			case p.context && program:
				continue
			case p.context && len(r.plugins) > 0:
				r.use(f.Path)
				r.skip(f.Path, "instructions for work on these plugins, and no part of one")
				continue
			}
			r.use(f.Path)
			if groups[p.owner] == nil {
				order = append(order, p.owner)
			}
			groups[p.owner] = append(groups[p.owner], p)
		}
	}
	for _, q := range order {
		if err := r.partBundle(q, groups[q]); err != nil {
			at := groups[q][0].Path
			if q != nil && q.file != "" {
				at = q.file
			}
			r.refuse(at, err)
		}
	}
}

// inRootSkill reports whether a path is used only because the whole tree is one skill.
func (r *reading) inRootSkill(p string) bool {
	return slices.ContainsFunc(r.found, func(f Found) bool { return f.From == "." && f.What == "Agent Skill" }) && path.Base(p) != objects.SkillFile
}

// partBundle makes one bundle of parts: the originals at their paths, and the items written from
// them beside. The bundle of a plugin keeps its other files too, because commands call them.
func (r *reading) partBundle(q *plugin, all []part) error {
	from, names, what := ".", []string{slug(r.tree.Name), slug(r.tree.Name) + "-rules"}, summary(all)
	found := Found{Name: r.tree.Name, What: what, From: from}
	if q != nil {
		from, names = q.root, []string{slug(q.name), slug(q.name) + "-plugin"}
		found = Found{Name: q.name, Plugin: q.name, Version: q.version, What: q.form + ": " + what, From: from}
	}
	b := r.box(from, "") // its id is taken once an item is known to come in
	for _, f := range r.originals(q, all) {
		b.take(f)
		if path.Base(f.Path) == "hooks.json" {
			b.lost = append(b.lost, words.Quote(words.Brief(b.rel(f.Path)))+" is kept, and nothing runs it here")
		}
	}
	written := map[string]string{}
	for _, p := range all {
		kind, text, lost, err := convert(p)
		if err == nil {
			err = r.place(b, written, kind, p, text, &found)
		}
		if err != nil {
			r.refuse(p.Path, err)
			continue
		}
		for _, l := range lost {
			found.Lost = append(found.Lost, words.Quote(words.Brief(b.rel(p.Path)))+": "+l)
		}
	}
	if len(found.Holds) == 0 {
		return nil // each part is named
	}
	id, dir, err := r.bundleID(names...)
	if err != nil {
		return err
	}
	found.Ref, found.Dir = objects.Ref{Kind: objects.Bundle, ID: id}, dir
	for i := range found.Holds {
		found.Holds[i].ID = id + "/" + found.Holds[i].ID
	}
	for _, f := range b.files {
		f.Path = dir + f.Path
		found.Files = append(found.Files, f)
	}
	found.Lost, found.Left = append(found.Lost, b.lost...), b.lost
	r.found = append(r.found, found)
	return nil
}

// originals returns the files of a bundle of parts as they came.
func (r *reading) originals(q *plugin, all []part) (files []File) {
	whole := q != nil && q.file != "" && !q.list && slices.ContainsFunc(all, func(p part) bool { return !p.context })
	if !whole {
		for _, p := range all {
			files = append(files, p.File)
		}
		return files
	}
	for _, f := range r.below(q.root) {
		if _, own := belowAI(r.tree, f.Path); own {
			continue
		}
		if slices.ContainsFunc(r.dirs, func(dir string) bool { return under(f.Path, dir) }) ||
			slices.ContainsFunc(r.plugins, func(o *plugin) bool {
				return o != q && !o.list && o.root != q.root && under(o.root, q.root) && under(f.Path, o.root)
			}) ||
			slices.ContainsFunc(strings.Split(path.Dir(f.Path), "/"), func(n string) bool { return slices.Contains(without, n) }) {
			continue
		}
		if _, is := servers(f); is {
			continue
		}
		files = append(files, f)
	}
	return files
}

// place puts an item into a box under the first name that is free. An item with the same text
// under its name is one.
func (r *reading) place(b *box, written map[string]string, kind objects.Kind, p part, text string, found *Found) error {
	whole := strings.TrimSuffix(b.rel(p.Path), path.Ext(p.Path))
	for _, name := range []string{idPath(p.name), idPath(whole), idPath(whole + path.Ext(p.Path))} {
		at := kind.Dir() + "/" + name + ".md"
		if written[at] == text {
			return nil
		}
		if b.has(at) {
			continue
		}
		if _, err := objects.ParseID("x/x/" + name); err != nil {
			continue
		}
		ref := objects.Ref{Kind: kind, ID: objects.ID("x/x/" + name)}
		it, err := objects.Parse(ref.MemberPath(".md"), []byte(text))
		if err != nil {
			return err
		}
		if ps := it.Validate(); len(ps) > 0 {
			return invalid(ps[0])
		}
		if err := b.put(at, []byte(text)); err != nil {
			return err
		}
		written[at] = text
		found.Holds = append(found.Holds, objects.Ref{Kind: kind, ID: objects.ID(name)})
		return nil
	}
	return fault.New(fault.Conflict, "every name for it is taken")
}

// idPath turns a slash path into the end of an id.
func idPath(p string) string {
	var parts []string
	for name := range strings.SplitSeq(p, "/") {
		if name != "." && name != "" {
			parts = append(parts, slug(name))
		}
	}
	const most = 5
	if len(parts) > most {
		parts = append(parts[:most-1], strings.Join(parts[most-1:], "-"))
	}
	return strings.Join(parts, "/")
}

// summary counts parts: "2 commands and 1 rule".
func summary(all []part) string {
	var counts []string
	for _, what := range []string{"command", "agent", "rule"} {
		n := 0
		for _, p := range all {
			if p.what == what {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, words.Plural(n, what))
		}
	}
	return strings.Join(counts, ", ")
}
