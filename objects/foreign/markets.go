package foreign

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// marketplaces are the places of the list of plugins of a repository.
var marketplaces = []string{".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json", ".cursor-plugin/marketplace.json", ".github/plugin/marketplace.json"}

// maxPlugins bounds the entries of a marketplace.
const maxPlugins = 5000

// readMarket reads a marketplace. Each entry stands for itself.
func (r *reading) readMarket(root string, f File) {
	m, err := readFields(f.Data)
	var list []json.RawMessage
	if err == nil && json.Unmarshal(m["plugins"], &list) != nil {
		err = wrongType("plugins", "a list")
	}
	if err == nil && len(list) > maxPlugins {
		err = fault.New(fault.Limit, "more than %d plugins", maxPlugins)
	}
	if err != nil {
		r.refuse(f.Path, err)
		return
	}
	base := root
	if meta, err := readFields(m["metadata"]); err == nil {
		if at, ok := meta.text("pluginRoot"); ok && at != "" {
			if base, err = inside(root, at); err != nil {
				r.refuse(f.Path, fault.Wrap(err, `field "pluginRoot"`))
				return
			}
		}
	}
	for i, raw := range list {
		e, err := readFields(raw)
		name := "plugin " + words.Quote(words.Brief(string(raw[:min(len(raw), 40)])))
		if err == nil {
			if s, ok := e.text("name"); ok && s != "" {
				name = s
			} else {
				err = fault.New(fault.Malformed, "entry %d has no name", i+1)
			}
		}
		if err == nil {
			err = r.listing(root, base, name, e, f)
		}
		if err != nil {
			r.refuse(f.Path, fault.Wrap(err, "%s", words.Quote(words.Brief(name))))
		}
	}
}

// listing takes one entry of a marketplace: a plugin here, or one elsewhere, which is named.
func (r *reading) listing(root, base, name string, e fields, f File) error {
	at, ok := e.text("source")
	if !ok {
		var s source
		if err := json.Unmarshal(e["source"], &s); err != nil {
			return wrongType("source", "a path or an object")
		}
		if s.Source != "local" {
			return r.elsewhere(name, e, s, f)
		}
		at, base = s.Path, root
	}
	if at == "" {
		return fault.New(fault.Malformed, "field source is missing")
	}
	if !strings.HasPrefix(at, "./") && at != "." && base == root && !strings.Contains(at, "/") && len(r.below(path.Join(root, at))) == 0 {
		return fault.New(fault.NotFound, "no folder %q there", words.Brief(at))
	}
	dir, err := inside(base, at)
	if err != nil {
		return err
	}
	dir = r.realDir(dir)
	if len(r.below(dir)) == 0 {
		return fault.New(fault.NotFound, "no folder %q there", words.Brief(at))
	}
	return r.entry(dir, name, e, f.Path)
}

// entry takes a folder as the plugin of an entry of a marketplace. file is the marketplace's.
func (r *reading) entry(dir, name string, e fields, file string) error {
	p := &plugin{root: dir, name: name, form: "plugin of a marketplace", instead: map[string]bool{}, context: "GEMINI.md"}
	var ok bool
	if p.version, ok = e.text("version"); !ok {
		return wrongType("version", "text")
	}
	if err := p.lists(e); err != nil {
		return err
	}
	if servers := serverNames(e["mcpServers"]); len(servers) > 0 {
		r.skip(file, words.Quote(words.Brief(name))+": its MCP servers do not come in: "+strings.Join(servers, ", "))
	}
	for _, q := range r.plugins {
		if q.root != dir || q.list || q.file == "" {
			continue
		}
		if len(p.skills)+len(p.parts) == 0 {
			return nil // its own manifest says everything
		}
	}
	// Several entries may share one folder, and each lists its own skills. A listed tree is one plugin's.
	p.list = r.tree.Listed == "" && len(p.skills)+len(p.parts) > 0
	if slices.ContainsFunc(r.plugins, func(q *plugin) bool { return q.root == dir && !q.list && q.file == "" }) && !p.list {
		return nil // the entry before names it
	}
	r.plugins = append(r.plugins, p)
	return nil
}
