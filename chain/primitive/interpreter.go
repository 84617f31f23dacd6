package primitive

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Spec is the interpreter in a runtime (env_config.interpreter).
type Spec struct {
	Type        string   // venv_python, node_modules, system_binary or version_manager
	Var         string   // variable of the user whose value takes precedence: RYE_PYTHON
	Binary      string   // system_binary: the program's name
	VenvPath    string   // venv_python: below the project; "" is .venv
	SearchPaths []string // node_modules: below the project; nil is node_modules/.bin
	Manager     string   // version_manager: pyenv, nvm, rbenv, asdf or volta
	Version     string   // version_manager: "" is the user's global version
	Fallback    string   // searched on the path when the above is missing
	MinVersion  string   // the least version for CheckVersion: 22.6; "" is any
}

// Search tells Interpreter where to search. A caller that may read the environment fills it.
type Search struct {
	Project   string            // "" outside a project
	Consented bool              // the user agreed to run programs inside the project
	Vars      map[string]string // RYE_PYTHON and similar variables
	Path      string            // the user's PATH; "" is SafePath
	Home      string            // for version managers
}

// Program is an interpreter that Interpreter found.
type Program struct {
	Path     string   // absolute; the first word of argv
	Prefixes []string // files and trees that it must be able to read and execute
	Project  bool     // it is inside the project, and unsigned
}

// Interpreter finds the real program for a runtime, and never a shim. A version manager's shim is
// a script that costs 300 ms and chooses by files of the current directory. For a shim on the path
// it takes the program of the version that the user chose globally. A program inside the
// project is used only with consent. Without consent the search continues. If it finds nothing
// else, the error names the skipped program.
func Interpreter(spec Spec, in Search) (Program, error) {
	if v := in.Vars[spec.Var]; spec.Var != "" && v != "" {
		p, ok := in.program(v)
		if !ok || !filepath.IsAbs(v) {
			return Program{}, fault.New(fault.NotFound, "interpreter %s=%q: want the absolute path of a program that is not a script", spec.Var, v)
		}
		return p, nil
	}
	refused := ""
	for _, path := range spec.candidates(in) {
		p, ok := in.program(path)
		for _, behind := range in.behind(path, ok) {
			if p, ok = in.program(behind); ok {
				break
			}
		}
		if !ok {
			continue
		}
		if p.Project && !in.Consented {
			refused = p.Path
			continue
		}
		return p, nil
	}
	if refused != "" {
		return Program{}, fault.New(fault.Denied, "interpreter %s lies in the project and is not signed", refused).
			Mend("rye policy allow interpreter")
	}
	return Program{}, fault.New(fault.NotFound, "interpreter %s: not found", spec.name()).Advise("install it, or set %s", cmp.Or(spec.Var, "PATH"))
}

func (s Spec) name() string {
	return cmp.Or(s.Binary, s.Fallback, s.Type, "(none named)")
}

// candidates lists the paths to try, in order.
func (s Spec) candidates(in Search) []string {
	var out []string
	below := func(parts ...string) {
		if in.Project == "" {
			return
		}
		p := filepath.Join(append([]string{in.Project}, parts...)...)
		if inside(p, in.Project) {
			out = append(out, p)
		}
	}
	switch s.Type {
	case "venv_python":
		venv := cmp.Or(s.VenvPath, ".venv")
		below(venv, "bin", "python")
		below(venv, "Scripts", "python.exe")
		below(venv, "bin", "python3")
	case "node_modules":
		dirs := s.SearchPaths
		if dirs == nil {
			dirs = []string{"node_modules/.bin"}
		}
		for _, d := range dirs {
			below(d, "node")
			below(d, "node.exe")
		}
	case "system_binary":
		out = append(out, onPath(s.Binary, in)...)
	case "version_manager":
		out = append(out, managed(s, in)...)
	}
	return append(out, onPath(s.Fallback, in)...)
}

// onPath lists every program of a name on the path. It skips relative directories, because they
// depend on the current directory.
func onPath(name string, in Search) []string {
	if name == "" || strings.ContainsAny(name, `/\`) {
		if filepath.IsAbs(name) {
			return []string{name}
		}
		return nil
	}
	var out []string
	for _, dir := range filepath.SplitList(cmp.Or(in.Path, SafePath)) {
		if !filepath.IsAbs(dir) {
			continue
		}
		out = append(out, filepath.Join(dir, name))
		if runtime.GOOS == "windows" {
			out = append(out, filepath.Join(dir, name+".exe"))
		}
	}
	return out
}

func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// through reports whether the way to a program leads into a directory. That may happen by its
// name, by a link to it, or by a link that a writer of that directory could change.
func through(path, dir string) bool {
	dirs := []string{dir}
	if at, err := filepath.EvalSymlinks(dir); err == nil && at != dir {
		dirs = append(dirs, at)
	}
	for range maxLinks {
		at := path
		if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			at = filepath.Join(parent, filepath.Base(path))
		}
		for _, d := range dirs {
			if inside(path, d) || inside(at, d) {
				return true
			}
		}
		to, err := os.Readlink(at)
		if err != nil {
			return false
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(filepath.Dir(at), to)
		}
	}
	return true // it is unknown where this leads
}
