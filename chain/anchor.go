package chain

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Deps selects the files around a tool that the tool can load. They are verified with the tool.
type Deps struct {
	Dir        string   // slash path below .ai; only files below it are selected
	Recursive  bool     // false: only the files directly in Dir
	Extensions []string // with their dot; empty means all
	Exclude    []string // names of directories that are skipped
	Markers    []string // if set, Dir must hold a file with one of these names
}

// Deps returns the selection that verify_deps and anchor of the chain declare. It returns false
// when the tool is a single file.
func (p *Plan) Deps() (Deps, bool) {
	d := p.config.deps
	if on, ok := d["enabled"].(bool); d == nil || ok && !on {
		return Deps{}, false
	}
	out := Deps{Recursive: true, Exclude: []string{"__pycache__", ".venv", "node_modules", ".git"}}
	if v, ok := d["recursive"].(bool); ok {
		out.Recursive = v
	}
	out.Extensions, _ = texts(d["extensions"])
	if v, ok := texts(d["exclude_dirs"]); ok && v != nil {
		// Tools read config directories as data. RYE OS left them unverified; rye verifies them.
		out.Exclude = slices.DeleteFunc(v, func(s string) bool { return s == "config" })
	}
	dir := path.Dir(p.Tool().Path)
	switch scope, _ := d["scope"].(string); scope {
	case "tool_file":
		return Deps{}, false
	case "tool_siblings":
		out.Recursive = false
	case "anchor", "":
		mode, _ := p.config.anchor["mode"].(string)
		if on, ok := p.config.anchor["enabled"].(bool); p.config.anchor == nil || mode == "never" || ok && !on {
			return Deps{}, false
		}
		if mode != "always" {
			out.Markers, _ = texts(p.config.anchor["markers_any"])
		}
		if root, _ := p.config.anchor["root"].(string); root == "tool_parent" {
			dir = path.Dir(dir)
		}
	}
	// A tool directly below tools/ has no directory of its own. Its directory would also select
	// the items of others.
	if !strings.Contains(dir, "/") {
		return Deps{}, false
	}
	out.Dir = dir
	return out, true
}

// anchored reports whether the tool runs with the files around it.
func (p *Plan) anchored() bool {
	mode, _ := p.config.anchor["mode"].(string)
	return len(p.Around) > 0 || mode == "always"
}

// anchorPath is the directory from which the tool's imports are resolved.
func (p *Plan) anchorPath(in Inputs) string {
	dir := filepath.Dir(filepath.Join(in.RunDir, filepath.FromSlash(p.Tool().Path)))
	switch root, _ := p.config.anchor["root"].(string); root {
	case "tool_parent":
		return filepath.Dir(dir)
	case "project_path":
		return in.ProjectPath
	}
	return dir
}

// anchorEnv sets search paths such as PYTHONPATH. It drops paths outside of the run's directory,
// because only the files in that directory were verified.
func (p *Plan) anchorEnv(s *scope, env map[string]string) error {
	paths, _ := p.config.anchor["env_paths"].(map[string]any)
	if !p.anchored() {
		return nil
	}
	run, _ := s.values["run_dir"].(string)
	for name, v := range paths {
		m, _ := v.(map[string]any)
		pre, ok1 := texts(m["prepend"])
		app, ok2 := texts(m["append"])
		if !ok1 || !ok2 {
			return fault.New(fault.Malformed, "plan %s: anchor.env_paths.%s: want lists of paths", p.Tool().Ref, name)
		}
		var out []string
		for _, t := range append(pre, app...) {
			dir, err := s.fill(t)
			if err != nil {
				return err
			}
			if rel, err := filepath.Rel(run, dir); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || strings.ContainsRune(dir, '{') {
				continue // outside: these files are not verified
			}
			out = append(out, dir)
		}
		if len(out) > 0 {
			env[name] = strings.Join(out, string(filepath.ListSeparator))
		}
	}
	return nil
}
