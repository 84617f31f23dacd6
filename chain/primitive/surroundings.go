package primitive

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// posers are programs that some version managers link to the names of interpreters. They are not
// scripts, but choose by files of the current directory, as shims do.
var posers = map[string]bool{"volta-shim": true, "volta": true, "mise": true, "rtx": true, "proto-shim": true, "rustup": true}

// program reports whether path is a program and not a script, and returns it with the paths that
// it must be able to read. It keeps path itself, because a virtual environment is recognised by
// it.
func (in Search) program(path string) (Program, bool) {
	w, ok := wayTo(path)
	if !ok || posers[filepath.Base(w.real)] && filepath.Base(path) != filepath.Base(w.real) || !executable(w.real) {
		return Program{}, false
	}
	p := Program{Path: path, Project: in.Project != "" && through(path, in.Project)}
	p.Prefixes = append(w.links, w.real)
	p.Prefixes = append(p.Prefixes, in.around(w.real, p.Project)...)
	if dir, ok := wayTo(filepath.Dir(path)); ok {
		p.Prefixes = append(p.Prefixes, in.environment(filepath.Dir(dir.real))...)
	}
	slices.Sort(p.Prefixes)
	p.Prefixes = slices.Compact(p.Prefixes)
	return p, true
}

// executable reports whether a path without links is a program and not a script.
func executable(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [2]byte
	n, _ := f.Read(magic[:])
	return n == 2 && magic != [2]byte{'#', '!'}
}

// libraryDirs are the directories next to bin where interpreters keep their files. The whole
// prefix would be too much: the prefix of ~/bin is a user's home.
var libraryDirs = []string{"lib", "lib64", "libexec", "include"}

// around lists the directories that a program in .../bin needs around it. A link of a project may
// lead to any program of the user's. So behind such a link only the files of an interpreter are
// shown, and not all that lies beside a program.
func (in Search) around(real string, project bool) []string {
	dir := filepath.Dir(real)
	switch filepath.Base(dir) {
	case "bin", "sbin", "Scripts":
	default:
		return nil
	}
	prefix := filepath.Dir(dir)
	if project && !inside(real, in.Project) {
		return in.installation(prefix)
	}
	return below(prefix, libraryDirs...)
}

func below(dir string, names ...string) (out []string) {
	for _, name := range names {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// landmarks are files that only the installation of an interpreter has. In a prefix that the
// user's other programs share, only the landmark's own directory is shown.
var landmarks = []string{"lib*/python3*/os.py", "lib/node_modules/npm", "lib/ruby/gems"}

// installation lists the parts of an interpreter's installation, and nothing if the prefix holds
// none.
func (in Search) installation(prefix string) []string {
	shared := in.Home == "" || inside(in.Home, prefix) || prefix == filepath.Join(in.Home, ".local")
	var out []string
	for _, l := range landmarks {
		found, _ := filepath.Glob(filepath.Join(globSafe(prefix), filepath.FromSlash(l)))
		for _, f := range found {
			out = append(out, filepath.Dir(f))
		}
	}
	if len(out) == 0 {
		if st, err := os.Lstat(filepath.Join(prefix, "include", "node", "node.h")); err != nil || !st.Mode().IsRegular() {
			return nil
		}
	}
	if !shared {
		return below(prefix, libraryDirs...)
	}
	libs, _ := filepath.Glob(filepath.Join(globSafe(prefix), "lib", "libpython3*"))
	return append(out, libs...)
}

// environment lists the parts of the virtual environment in a directory: its libraries, and the
// installation that its pyvenv.cfg names. That text is the project's, so nothing but the
// installation of an interpreter is shown for it.
func (in Search) environment(dir string) []string {
	cfg := filepath.Join(dir, "pyvenv.cfg")
	st, err := os.Lstat(cfg)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxStartupBytes {
		return nil
	}
	text, err := os.ReadFile(cfg)
	if err != nil {
		return nil
	}
	out := append(below(dir, libraryDirs...), cfg)
	home := homeOf(string(text))
	if w, ok := wayTo(home); ok && filepath.IsAbs(home) && filepath.Base(w.real) == "bin" {
		if base := in.installation(filepath.Dir(w.real)); base != nil {
			out = append(append(out, w.links...), base...)
		}
	}
	return out
}

// homeOf returns the directory of the base interpreter in the text of a pyvenv.cfg, or "".
func homeOf(text string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.EqualFold(strings.TrimSpace(key), "home") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
