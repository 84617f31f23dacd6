package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/session"
)

// pluginSchema is the only value that Agent Plugins 1.0.0 allows. Nobody fetches it.
const pluginSchema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"

// person is an author or an owner in a manifest.
type person struct {
	Name string `json:"name"`
}

// manifest is the manifest of a plugin. Its fields stand in Agent Plugins 1.0 and in the form of
// Claude Code; Schema only in the former.
type manifest struct {
	Schema      string `json:"$schema,omitempty"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Author      person `json:"author"`
	License     string `json:"license,omitempty"`
}

// market is a marketplace in the form of Claude Code, which Codex and Copilot read too.
type market struct {
	Name        string  `json:"name"`
	Owner       person  `json:"owner"`
	Description string  `json:"description"`
	Plugins     []offer `json:"plugins"`
}

// offer is a plugin of a marketplace.
type offer struct {
	Name        string `json:"name"`
	Source      string `json:"source"`
	Description string `json:"description"`
}

// exporter is the name of whoever exports: the project's namespace.
func exporter(s *session.Session, plugin string) person {
	if s.Project != nil && s.Project.Namespace != "" {
		return person{s.Project.Namespace}
	}
	return person{plugin}
}

// packed adds the manifests of a plugin, a marketplace that offers it, and a text for people.
func (p *plan) packed(name string, by person) {
	m := manifest{Name: name, Version: p.version(), Description: "Skills of " + name + ", exported from signed items", Author: by, License: p.license()}
	open := m
	open.Schema = pluginSchema
	readme := p.readme(name)
	for _, f := range []struct {
		path  string
		value any
	}{
		{"plugin.json", open},
		{".claude-plugin/plugin.json", m},
		{".claude-plugin/marketplace.json", market{Name: name, Owner: by, Description: m.Description, Plugins: []offer{{name, "./", m.Description}}}},
	} {
		p.copies = append(p.copies, copyOf{path: f.path, data: pretty(f.value)})
	}
	p.copies = append(p.copies, copyOf{path: "README.md", data: readme})
}

// pretty writes a value of texts and lists as JSON for people.
func pretty(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // such a value never fails
	return b.Bytes()
}

// version names the content, so that clients notice a new one: they keep one copy for each version.
func (p *plan) version() string {
	h := sha256.New()
	for _, c := range p.copies {
		fmt.Fprintf(h, "%q %v %x\n", c.path, c.exec, sha256.Sum256(c.data))
	}
	return "0.1.0+" + hex.EncodeToString(h.Sum(nil))[:12]
}

// license is the license that all skills state; "" if they differ, or one states none.
func (p *plan) license() string {
	all := map[string]bool{}
	for i := range p.sources {
		if src := &p.sources[i]; src.skill != "" {
			all[src.license] = true
		}
	}
	if len(all) != 1 {
		return ""
	}
	for l := range all {
		return l
	}
	return ""
}

// readme tells people what a plugin holds and how clients install it.
func (p *plan) readme(name string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nThis folder is a plugin by Agent Plugins 1.0 and for Claude Code. rye exported it from signed items, byte for byte.\n\n", name)
	for i := range p.sources {
		if src := &p.sources[i]; src.skill != "" {
			fmt.Fprintf(&b, "- **%s**: %s\n", src.skill, words.Clip(strings.Join(strings.Fields(src.about), " "), 300))
		}
	}
	fmt.Fprintf(&b, `
The folder is a marketplace, too. To install the plugin:

    claude plugin marketplace add <this folder> && claude plugin install %[1]s@%[1]s
    codex plugin marketplace add <this folder> && codex plugin add %[1]s@%[1]s
    copilot plugin marketplace add <this folder> && copilot plugin install %[1]s@%[1]s
`, name)
	return []byte(b.String())
}
