package export

import (
	"context"
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

// Plugin writes one folder that is a plugin for the clients of Agent Plugins 1.0 and for Claude
// Code, and a marketplace that offers it: the same skills, and a manifest for each. Commands and
// agents are in the places of Claude Code, which the others pass over.
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
	p.packed(name, exporter(s, name))
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
		all = append(all, rye.ExportClient{Name: c.Name, Title: c.Title, Tried: c.Tried.Version != "", With: c.Tried.String(), Skills: c.Skills, Commands: c.Commands.Path, Agents: c.Agents, Rules: c.Rules.Path, User: c.UserSkills})
	}
	return all, nil
}
