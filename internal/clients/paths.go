package clients

import (
	"slices"
	"strings"
)

// Machine is what paths depend on.
type Machine struct {
	OS     string // as runtime.GOOS says it
	Home   string // absolute; "" when it is not known
	Getenv func(string) string
}

// Paths returns where the client's file of a scope may lie, the first being where one is
// made when there is none. For User the paths are absolute; for Project they are relative to
// the project, and written with slashes. They are nil where the client has no such file, or
// where nobody knows where its home is.
func (c Client) Paths(s Scope, m Machine) (paths []string) {
	if s == Project {
		return slices.Clone(c.project)
	}
	list := c.user
	switch {
	case m.OS == "darwin" && c.darwin != nil:
		list = c.darwin
	case m.OS == "windows" && c.windows != nil:
		list = c.windows
	}
	for _, p := range list {
		if at := m.path(p); at != "" {
			paths = append(paths, at)
		}
	}
	return paths
}

// path puts a directory in place of how a path of the table begins:
//
//	~               the home directory
//	$VAR:~/x        what VAR says, where that is absolute, else ~/x
//	@xdg            $XDG_CONFIG_HOME, else ~/.config
//	@app            where programs of this system keep what is set: as @xdg, or
//	                ~/Library/Application Support, or %APPDATA%
//	@local          as @xdg, or %LOCALAPPDATA%
//
// It returns "" when the directory is not known.
func (m Machine) path(p string) string {
	root, rest, _ := strings.Cut(p, "/")
	if name, other, ok := strings.Cut(root, ":"); ok { // $VAR:~/.dir/file
		dir, file, _ := strings.Cut(rest, "/")
		if at := m.variable(name[1:]); at != "" {
			return m.join(at, file)
		}
		root, rest = other, dir+"/"+file
	}
	return m.join(m.root(root), rest)
}

func (m Machine) root(name string) string {
	switch {
	case name == "~":
		return m.Home
	case m.OS == "windows" && name == "@app":
		return or(m.variable("APPDATA"), m.join(m.Home, "AppData/Roaming"))
	case m.OS == "windows" && name == "@local":
		return or(m.variable("LOCALAPPDATA"), m.join(m.Home, "AppData/Local"))
	case m.OS == "darwin" && name == "@app":
		return m.join(m.Home, "Library/Application Support")
	}
	return or(m.variable("XDG_CONFIG_HOME"), m.join(m.Home, ".config"))
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// variable returns a directory that the environment names; one that is relative means
// another place wherever the client is started, so it is none.
func (m Machine) variable(name string) string {
	v := m.Getenv(name)
	if strings.HasPrefix(v, "/") || m.OS == "windows" && len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/') {
		return v
	}
	return ""
}

// join is filepath.Join as m's system does it.
func (m Machine) join(dir, rest string) string {
	if dir == "" {
		return ""
	}
	if m.OS == "windows" {
		return strings.TrimRight(dir, `\/`) + `\` + strings.ReplaceAll(rest, "/", `\`)
	}
	return strings.TrimRight(dir, "/") + "/" + rest
}
