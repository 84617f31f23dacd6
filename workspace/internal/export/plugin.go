package export

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients/places"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// pluginSchema is the only value that Agent Plugins 1.0.0 allows. Nobody fetches it.
const pluginSchema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"

// Plugin writes one folder that is a plugin for the clients of Agent Plugins 1.0, for Codex and
// for Claude Code: the same skills, and a manifest for each. Commands and agents are in the places
// of Claude Code, which the others pass over.
func Plugin(ctx context.Context, s *session.Session, q rye.PluginExport) (*rye.PluginExported, error) {
	name := q.Name
	if name == "" && s.Project != nil {
		name = strings.ReplaceAll(s.Project.Namespace, "_", "-")
	}
	if !places.ValidSkill(name) {
		return nil, fault.New(fault.Usage, "export --plugin: %s is no name for a plugin", words.Quote(words.Brief(name))).Advise("give one with --as: 1 to 64 lower-case letters, digits and hyphens")
	}
	sources, out, err := sourcesOf(ctx, s, objects.Project, q.Targets, false)
	if err != nil {
		return nil, err
	}
	client := places.Client{Name: "plugin", Skills: "skills", Commands: places.Dir{Path: "commands", Form: places.Markdown}, Agents: "agents"}
	p, err := planFor([]places.Client{client}, sources, out, options{})
	if err != nil {
		return nil, err
	}
	p.copies = slices.DeleteFunc(p.copies, func(c copyOf) bool { return strings.HasSuffix(c.path, "/"+attributesName) && c.from == "" })
	if err := p.denied(); err != nil {
		return nil, err
	}
	if len(p.copies) == 0 {
		return nil, fault.New(fault.NotFound, "export --plugin: no skill, command or agent here verifies").Advise("rye verify shows the reasons")
	}
	about := "Skills of " + name + ", exported from signed items"
	for path, manifest := range map[string]any{
		"plugin.json": struct {
			Schema      string `json:"$schema"`
			Name        string `json:"name"`
			Description string `json:"description"`
		}{pluginSchema, name, about},
		".claude-plugin/plugin.json": struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		}{name, about},
	} {
		raw, err := json.MarshalIndent(manifest, "", "  ")
		if err != nil {
			return nil, err
		}
		p.copies = append(p.copies, copyOf{path: path, data: append(raw, '\n')})
	}
	slices.SortFunc(p.copies, func(a, b copyOf) int { return strings.Compare(a.path, b.path) })
	rep := &rye.PluginExported{Name: name}
	for _, l := range p.left {
		rep.Left = append(rep.Left, rye.ClientLeft{Ref: l.ref, Why: l.why})
	}
	rep.Dir, err = into(q.Dir, func(dir string) error {
		for _, c := range p.copies {
			rep.Files = append(rep.Files, c.path)
			if err := writeOut(dir, objects.File{Path: c.path, Executable: c.exec}, c.data); err != nil {
				return err
			}
		}
		return nil
	})
	return rep, err
}

// into fills a new folder, which appears whole or not at all. It may exist already if it is empty.
func into(dir string, fill func(dir string) error) (string, error) {
	to, err := filepath.Abs(dir)
	if err == nil {
		err = vacant(to)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), space.TempPrefix+"*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return "", err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return to, os.Rename(tmp, to)
}

// Clients lists the clients that rye knows.
func Clients(context.Context, *session.Session, struct{}) ([]rye.ExportClient, error) {
	var all []rye.ExportClient
	for _, c := range places.All() {
		all = append(all, rye.ExportClient{Name: c.Name, Title: c.Title, Tried: c.Tried, Skills: c.Skills, Commands: c.Commands.Path, Agents: c.Agents, Rules: c.Rules.Path, User: c.UserSkills})
	}
	return all, nil
}
