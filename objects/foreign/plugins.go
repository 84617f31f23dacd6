package foreign

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// maxManifest bounds a manifest of a plugin or a marketplace, in bytes.
const maxManifest = 2 << 20

// A plugin is a folder with a manifest, or an entry of a marketplace.
type plugin struct {
	root    string // its folder in the tree; "." is the whole tree
	name    string
	version string
	form    string   // "Claude Code plugin"
	file    string   // its manifest in the tree; "" for an entry of a marketplace
	closed  bool     // Agent Plugins: skills/<name>/SKILL.md and nothing else
	list    bool     // only what it lists belongs to it, because another one has the same folder
	skills  []string // more folders with skills, as paths in the tree
	parts   []listedPart
	instead map[string]bool // "commands", "agents": it lists them, so that the usual folder does not count
	context string          // Gemini: the file with instructions
	toml    bool            // Gemini: commands are TOML
}

// listedPart is a file or a folder of commands or agents that a manifest names.
type listedPart struct{ path, what string }

// agentSchemas are the schemas of Agent Plugins that rye reads; the second one is a draft.
var agentSchemas = []string{"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "https://agent-plugins.org/schemas/1.1.0/plugin.schema.json"}

// manifests are the places of a plugin's manifest, the folder above first.
var manifests = []struct{ dir, file, form string }{
	{"", "plugin.json", "Agent Plugin"},
	{".claude-plugin", "plugin.json", "Claude Code plugin"},
	{".codex-plugin", "plugin.json", "Codex plugin"},
	{".cursor-plugin", "plugin.json", "Cursor plugin"},
	{".github/plugin", "plugin.json", "Copilot plugin"},
	{"", "gemini-extension.json", "Gemini extension"},
}

// findPlugins reads the manifests of plugins and marketplaces. A marketplace names plugins that
// have no manifest, and those that lie elsewhere.
func (r *reading) findPlugins() {
	for _, m := range manifests {
		for _, f := range r.tree.Files {
			rest, ok := strings.CutSuffix("/"+f.Path, "/"+path.Join(m.dir, m.file))
			if !ok || path.Base(path.Dir(f.Path)) != path.Base(path.Join(".", m.dir)) && m.dir != "" {
				continue
			}
			root := path.Clean("./" + rest)
			if m.form == "Agent Plugin" && (strings.HasPrefix(path.Base(root), ".") && root != "." || path.Base(root) == "plugin" && strings.HasSuffix(root, ".github/plugin")) {
				continue // the manifest of another form
			}
			r.readPlugin(root, m.form, f)
		}
	}
	if r.tree.Listed != "" {
		r.readListed()
	} else {
		r.readMarkets()
	}
	r.byParts()
	slices.SortStableFunc(r.plugins, func(a, b *plugin) int { return strings.Compare(a.root, b.root) })
}

// readMarkets reads the marketplaces of the tree.
func (r *reading) readMarkets() {
	for _, name := range marketplaces {
		for _, f := range r.tree.Files {
			if rest, ok := strings.CutSuffix("/"+f.Path, "/"+name); ok {
				r.readMarket(path.Clean("./"+rest), f)
			}
		}
	}
}

// fields is a JSON object whose values are read one by one, so that a wrong one can be named.
type fields map[string]json.RawMessage

func readFields(data []byte) (fields, error) {
	var m fields
	if len(data) > maxManifest {
		return nil, fault.New(fault.Limit, "more than %d bytes", maxManifest)
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &m); err != nil {
		return nil, fault.New(fault.Malformed, "not a JSON object: %w", err)
	}
	return m, nil
}

// text returns a field that is text; ok is false for one that is something else.
func (m fields) text(name string) (s string, ok bool) {
	raw, there := m[name]
	if !there {
		return "", true
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil && string(raw) != "null"
}

// texts returns a field that is a text or a list of texts.
func (m fields) texts(name string) (all []string, ok bool) {
	raw, there := m[name]
	if !there {
		return nil, true
	}
	if s, ok := m.text(name); ok {
		return []string{s}, true
	}
	err := json.Unmarshal(raw, &all)
	return all, err == nil
}

func wrongType(name, want string) error {
	return fault.New(fault.Malformed, "field %q: want %s", words.Brief(name), want)
}

// readPlugin reads one manifest.
func (r *reading) readPlugin(root, form string, f File) {
	m, err := readFields(f.Data)
	if form == "Agent Plugin" {
		// Many programs have a plugin.json. The schema tells this one.
		schema, _ := m.text("$schema")
		if !strings.HasPrefix(schema, "https://agent-plugins.org/") && !r.looksLikeAgentPlugin(root, m) {
			return
		}
	}
	p := &plugin{root: root, form: form, file: f.Path, instead: map[string]bool{}, context: "GEMINI.md"}
	if err == nil {
		err = p.read(r, m)
	}
	if err != nil {
		r.refuse(f.Path, err) // what lies in its folder stands alone
		return
	}
	if p.name == "" {
		p.name = r.dirName(root)
	}
	r.plugins = append(r.plugins, p)
}

// looksLikeAgentPlugin reports whether a plugin.json without the schema was meant as one of Agent
// Plugins: a folder skills/ beside it, and no manifest of another program.
func (r *reading) looksLikeAgentPlugin(root string, m fields) bool {
	if _, schema := m["$schema"]; m != nil && !schema && m["name"] == nil {
		return false
	}
	for _, k := range manifests[1:] {
		if _, ok := r.at[path.Join(root, k.dir, k.file)]; ok {
			return false
		}
	}
	return len(r.below(path.Join(root, "skills"))) > 0
}

func (p *plugin) read(r *reading, m fields) error {
	for _, f := range []struct {
		name string
		into *string
	}{{"name", &p.name}, {"version", &p.version}} {
		var ok bool
		if *f.into, ok = m.text(f.name); !ok {
			return wrongType(f.name, "text")
		}
	}
	if p.form == "Agent Plugin" {
		p.closed = true
		return p.readAgent(r, m)
	}
	if servers := serverNames(m["mcpServers"]); len(servers) > 0 {
		r.skip(p.file, "its MCP servers do not come in: "+strings.Join(servers, ", "))
	}
	if p.form == "Gemini extension" {
		p.toml = true
		if p.name == "" {
			return fault.New(fault.Malformed, "field name is missing")
		}
		if raw, given := m["contextFileName"]; given {
			if name, ok := m.text("contextFileName"); ok {
				p.context = name
			} else {
				return wrongType("contextFileName", "text, not "+words.Brief(string(raw)))
			}
		}
		return nil
	}
	return p.lists(m)
}

// readAgent applies the rules of Agent Plugins 1.0.0: a closed object, where a field with the
// wrong type refuses the plugin, and an unknown one is named and ignored.
func (p *plugin) readAgent(r *reading, m fields) error {
	schema, _ := m.text("$schema")
	switch {
	case schema == "":
		return fault.New(fault.Malformed, "field $schema is missing, want %s", agentSchemas[0])
	case !slices.Contains(agentSchemas, schema):
		return fault.New(fault.Malformed, "schema %q: rye reads %s", words.Brief(schema), agentSchemas[0])
	case !agentName(p.name):
		return fault.New(fault.Malformed, "name %q: want 1 to 64 of a-z, 0-9, dot and hyphen, neither doubled nor at an end", words.Brief(p.name))
	}
	known := []string{"$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"}
	text := []string{"description", "homepage", "repository", "license"}
	if schema == agentSchemas[1] {
		known, text = append(known, "displayName", "icon"), append(text, "displayName", "icon")
	}
	for _, name := range text {
		if _, ok := m.text(name); !ok {
			return wrongType(name, "text")
		}
	}
	if raw, ok := m["author"]; ok {
		var author map[string]string
		if json.Unmarshal(raw, &author) != nil || author == nil {
			return wrongType("author", "an object of texts")
		}
		for key := range author {
			if key != "name" && key != "email" && key != "url" {
				return wrongType("author", "name, email and url, not "+words.Brief(key))
			}
		}
	}
	if raw, ok := m["keywords"]; ok {
		var words []string
		if json.Unmarshal(raw, &words) != nil || words == nil {
			return wrongType("keywords", "a list of texts")
		}
	}
	if raw, ok := m["extensions"]; ok {
		var extensions map[string]json.RawMessage
		if json.Unmarshal(raw, &extensions) != nil || extensions == nil {
			return wrongType("extensions", "an object")
		}
	}
	var unknown []string
	for name := range m {
		if !slices.Contains(known, name) {
			unknown = append(unknown, words.Brief(name))
		}
	}
	if len(unknown) > 0 {
		r.skip(p.file, "fields that Agent Plugins does not have are ignored: "+listed(unknown))
	}
	return nil
}

// agentName applies the rule of Agent Plugins for names.
func agentName(s string) bool {
	if s == "" || len(s) > 64 || strings.Contains(s, "--") || strings.Contains(s, "..") {
		return false
	}
	alnum := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for i := range len(s) {
		if !alnum(s[i]) && s[i] != '.' && s[i] != '-' {
			return false
		}
	}
	return alnum(s[0]) && alnum(s[len(s)-1])
}

// lists reads the fields that name skills, commands and agents, of a manifest or of an entry of a
// marketplace. Skills come in addition to the usual folder, the others instead of it.
func (p *plugin) lists(m fields) error {
	for _, name := range []string{"skills", "commands", "agents"} {
		all, ok := m.texts(name)
		if !ok {
			var named map[string]struct {
				Source string `json:"source"`
			}
			if name != "commands" || json.Unmarshal(m[name], &named) != nil {
				return wrongType(name, "a path or a list of paths")
			}
			for _, one := range named {
				if one.Source != "" {
					all = append(all, one.Source)
				}
			}
			slices.Sort(all)
		}
		for _, one := range all {
			at, err := inside(p.root, one)
			if err != nil {
				return fault.Wrap(err, "field %q", name)
			}
			if name == "skills" {
				p.skills = append(p.skills, at)
				continue
			}
			p.instead[name] = true
			p.parts = append(p.parts, listedPart{at, strings.TrimSuffix(name, "s")})
		}
	}
	return nil
}

// inside returns the path in the tree for a path that a manifest names below root.
func inside(root, rel string) (string, error) {
	at := path.Join(root, rel)
	if rel == "" || strings.HasPrefix(rel, "/") || strings.ContainsAny(rel, "\\\x00") || at == ".." || strings.HasPrefix(at, "../") || !under(at, root) {
		return "", fault.New(fault.Malformed, "%q does not lie below the plugin", words.Brief(rel))
	}
	return at, nil
}

// byParts joins the manifests of one folder. A folder that is a plugin for several programs is
// one plugin; the name is that of the first form of the list.
func (r *reading) byParts() {
	var all []*plugin
	first := map[string]*plugin{}
	for _, p := range r.plugins {
		if p.list {
			all = append(all, p)
			continue
		}
		have := first[p.root]
		switch {
		case have == nil:
			first[p.root] = p
			all = append(all, p)
			continue
		}
		have.closed = have.closed && p.closed
		have.toml = have.toml || p.toml
		if p.form == "Gemini extension" {
			have.context = p.context
		}
		have.skills, have.parts = append(have.skills, p.skills...), append(have.parts, p.parts...)
		for name := range p.instead {
			have.instead[name] = true
		}
		if _, err := objects.ParseVersion(have.version); err != nil {
			have.version = p.version
		}
	}
	r.plugins = all
}

// owner returns the plugin that a path belongs to; nil for none. One that lists the path goes before
// one that has its folder, and an inner folder before an outer one.
func (r *reading) owner(p string) (best *plugin) {
	for _, q := range r.plugins {
		if q.list {
			if slices.ContainsFunc(q.skills, func(dir string) bool { return under(p, dir) }) ||
				slices.ContainsFunc(q.parts, func(l listedPart) bool { return under(p, l.path) }) {
				return q
			}
			continue
		}
		if under(p, q.root) && (best == nil || len(q.root) > len(best.root) && best.root != "." || best.root == "." && q.root != ".") {
			best = q
		}
	}
	return best
}
