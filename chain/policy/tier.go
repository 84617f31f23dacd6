package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Floor returns the least tier of a tool with this primitive at the end of its chain, in a
// sandbox of the given name ("S2"). It is T2 for an unknown primitive.
func Floor(primitive, sandbox string) command.Tier {
	name := primitive[strings.LastIndexByte(primitive, '/')+1:]
	switch {
	case name == "subprocess" && sandbox >= "S2" && len(sandbox) == 2:
		return command.T1
	case name == "http_client":
		return command.T1
	case name == "builtin":
		return command.T0
	}
	return command.T2
}

// systemPaths are readable by every program; no need has to list them.
var systemPaths = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/etc/ssl", "/etc/alternatives",
	"/System", "/Library", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/tty"}

// Reach returns the least tier of a chain's needs, and the first need that raises it. Reading or
// writing outside of the project, every host ("*"), sockets of the machine, and serving at one of its ports are T2. Paths in
// the project, named hosts, and no needs are T0, and leave the tier to the primitive's floor.
// project is its absolute path with slashes, "" outside of one.
func Reach(n objects.Needs, project string) (command.Tier, string) {
	for _, p := range n.Write {
		if !inProject(p, project) {
			return command.T2, "it writes " + p
		}
	}
	for _, p := range n.Read {
		if !inProject(p, project) && !slices.ContainsFunc(systemPaths, func(s string) bool { return below(s, p) }) {
			return command.T2, "it reads " + p
		}
	}
	for _, h := range n.Net {
		switch h {
		case "*":
			return command.T2, "it reaches every host"
		case "unix":
			return command.T2, "it reaches sockets of this machine"
		}
	}
	if len(n.Listen) > 0 {
		return command.T2, "it serves at port " + n.Listen[0] + " of this machine"
	}
	return command.T0, ""
}

// inProject reports whether a need's path is inside the project.
func inProject(p, project string) bool {
	if clean := path.Clean(p); !absolute(clean) {
		return clean != ".." && !strings.HasPrefix(clean, "../")
	}
	return project != "" && below(project, p)
}

// absolute also recognises Windows paths, so that a chain has the same tier on every system.
func absolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || len(p) > 1 && p[1] == ':'
}

// below reports whether p is dir or is inside it.
func below(dir, p string) bool {
	p = path.Clean(p)
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// Declared reads the tier that an item declares; ok is false when it declares none. An item can
// only raise its tier this way, never lower it.
func Declared(fields map[string]any) (t command.Tier, ok bool, err error) {
	v, ok := fields["tier"]
	if !ok || v == nil {
		return 0, false, nil
	}
	s, isText := v.(string)
	if !isText {
		return 0, false, fault.New(fault.Malformed, "tier: want t0 to t4, have %v", v)
	}
	t, err = command.ParseTier(s)
	return t, err == nil, err
}
