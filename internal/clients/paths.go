package clients

import (
	"slices"
	"strings"
)

// Machine holds the properties of a machine that paths depend on.
type Machine struct {
	OS     string // as in runtime.GOOS
	Home   string // absolute; "" when it is not known
	Getenv func(string) string
}

// Paths returns the possible paths of the client's file in a scope; a new file is made at the
// first. For User they are absolute. For Project they are relative to the project, with
// slashes. The result is nil when the client has no such file, or its directory is not known.
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

// path replaces the beginning of a path in the table by a directory:
//
//	~               the home directory
//	$VAR:~/x        the value of VAR, if it is absolute, else ~/x
//	@xdg            $XDG_CONFIG_HOME, else ~/.config
//	@app            the system's directory for settings of programs: as @xdg,
//	                ~/Library/Application Support on macOS, or %APPDATA% on Windows
//	@local          as @xdg, or %LOCALAPPDATA% on Windows
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

// variable returns a directory from the environment. It ignores a relative one, whose meaning
// depends on the directory where the client starts.
func (m Machine) variable(name string) string {
	v := m.Getenv(name)
	if strings.HasPrefix(v, "/") || m.OS == "windows" && len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/') {
		return v
	}
	return ""
}

// join joins paths with the separator of m's system.
func (m Machine) join(dir, rest string) string {
	if dir == "" {
		return ""
	}
	if m.OS == "windows" {
		return strings.TrimRight(dir, `\/`) + `\` + strings.ReplaceAll(rest, "/", `\`)
	}
	return strings.TrimRight(dir, "/") + "/" + rest
}
