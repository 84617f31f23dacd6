package primitive

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"sort"
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
// a script that costs 300 ms and chooses by files of the current directory. A program inside the
// project is used only with consent. Without consent the search continues. If it finds nothing
// else, the error names the skipped program.
func Interpreter(spec Spec, in Search) (Program, error) {
	if v := in.Vars[spec.Var]; spec.Var != "" && v != "" {
		p, ok := real(v)
		if !ok || !filepath.IsAbs(v) {
			return Program{}, fault.New(fault.NotFound, "interpreter %s=%q: want the absolute path of a program that is not a script", spec.Var, v)
		}
		p.Project = in.Project != "" && through(p.Path, in.Project)
		return p, nil
	}
	refused := ""
	for _, path := range spec.candidates(in) {
		p, ok := real(path)
		if !ok {
			continue
		}
		p.Project = in.Project != "" && through(path, in.Project)
		if p.Project && !in.Consented {
			refused = path
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

// posers are programs that some version managers link to the names of interpreters. They are not
// scripts, but choose by files of the current directory, as shims do.
var posers = map[string]bool{"volta-shim": true, "volta": true, "mise": true, "rtx": true, "proto-shim": true, "rustup": true}

// real reports whether path is a program and not a script, and returns it with its libraries. It
// keeps path itself, because a virtual environment is recognised by it.
func real(path string) (Program, bool) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Program{}, false
	}
	if posers[filepath.Base(target)] && filepath.Base(path) != filepath.Base(target) {
		return Program{}, false
	}
	info, err := os.Stat(target)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return Program{}, false
	}
	f, err := os.Open(target)
	if err != nil {
		return Program{}, false
	}
	defer f.Close()
	var magic [2]byte
	if n, _ := f.Read(magic[:]); n < 2 || magic == [2]byte{'#', '!'} {
		return Program{}, false
	}
	p := Program{Path: path, Prefixes: libraries(target)}
	if path != target {
		p.Prefixes = append(p.Prefixes, libraries(path)...)
	}
	return p, true
}

// libraries lists the paths that a program must be able to read. These are the program itself
// and, for a program in .../bin, the directories next to bin where interpreters keep their files.
// The whole prefix would be too much: the prefix of ~/bin is a user's home.
func libraries(path string) []string {
	out := []string{path}
	dir := filepath.Dir(path)
	switch filepath.Base(dir) {
	case "bin", "sbin", "Scripts":
		for _, name := range []string{"lib", "lib64", "libexec", "include", "pyvenv.cfg"} {
			out = append(out, filepath.Join(filepath.Dir(dir), name))
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

// maxLinks is the number of links that the kernel also follows (path_resolution(7)).
const maxLinks = 40

// managed lists the real programs of a version manager, found by its layout.
func managed(s Spec, in Search) []string {
	if in.Home == "" {
		return nil
	}
	name := cmp.Or(s.Binary, map[string]string{"pyenv": "python3", "nvm": "node", "rbenv": "ruby", "asdf": s.Fallback, "volta": "node"}[s.Manager])
	if name == "" || strings.ContainsAny(name+s.Version, `/\`) || s.Version == ".." {
		return nil
	}
	switch s.Manager {
	case "pyenv", "rbenv":
		root := filepath.Join(in.Home, "."+s.Manager)
		return versions(filepath.Join(root, "versions"), cmp.Or(s.Version, firstWord(filepath.Join(root, "version"))), name)
	case "nvm":
		root := filepath.Join(in.Home, ".nvm")
		v := cmp.Or(s.Version, firstWord(filepath.Join(root, "alias", "default")))
		if v != "" && v[0] >= '0' && v[0] <= '9' {
			v = "v" + v
		}
		return versions(filepath.Join(root, "versions", "node"), v, name)
	case "asdf":
		plugin := cmp.Or(map[string]string{"node": "nodejs", "python3": "python"}[name], name)
		return versions(filepath.Join(in.Home, ".asdf", "installs", plugin), cmp.Or(s.Version, toolVersion(in.Home, plugin)), name)
	case "volta":
		return versions(filepath.Join(in.Home, ".volta", "tools", "image", name), s.Version, name)
	}
	return nil
}

// versions lists dir/<version>*/bin/name, the highest version first. Without a version it lists
// all.
func versions(dir, version, name string) []string {
	if strings.ContainsAny(version, `/\*`) || version == ".." {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		if version == "" || e.Name() == version || strings.HasPrefix(e.Name(), version+".") {
			found = append(found, e.Name())
		}
	}
	sort.Slice(found, func(i, j int) bool { return naturalLess(found[j], found[i]) })
	for i, v := range found {
		found[i] = filepath.Join(dir, v, "bin", name)
	}
	return found
}

// naturalLess compares runs of digits as numbers, so that 3.9 comes before 3.12.
func naturalLess(a, b string) bool {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			da, db := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(da) != len(db) {
				return len(da) < len(db)
			}
			if da != db {
				return da < db
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// toolVersion returns the version of a plugin in the user's own .tool-versions, or "".
func toolVersion(home, plugin string) string {
	text, _ := os.ReadFile(filepath.Join(home, ".tool-versions")) // an unreadable file counts as empty
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == plugin {
			return f[1]
		}
	}
	return ""
}

func firstWord(path string) string {
	text, _ := os.ReadFile(path) // an unreadable file counts as empty
	if words := strings.Fields(string(text)); len(words) > 0 {
		return words[0]
	}
	return ""
}
