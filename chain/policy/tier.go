package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Floor returns the least tier of a tool whose chain ends in a primitive, run in a
// sandbox of the given name ("S2"). What is not known is T2.
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

// systemPaths are those that every program may read, with or without asking.
var systemPaths = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/etc/ssl", "/etc/alternatives",
	"/System", "/Library", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/tty"}

// Reach returns the least tier of what the items of a chain need of the sandbox together,
// and the first need that makes it so: T2 for reading or writing outside of the project,
// for every host, and for sockets of the machine. What stays in the project, hosts by name,
// and silence are T0: the primitive's floor is theirs. project is its absolute path with
// slashes, "" outside of one.
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
	return command.T0, ""
}

// inProject reports whether a need's path stays in the project.
func inProject(p, project string) bool {
	if clean := path.Clean(p); !absolute(clean) {
		return clean != ".." && !strings.HasPrefix(clean, "../")
	}
	return project != "" && below(project, p)
}

// absolute knows the paths of Windows, too: a chain is judged the same everywhere.
func absolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`) || len(p) > 1 && p[1] == ':'
}

// below reports whether p is dir or lies in it.
func below(dir, p string) bool {
	p = path.Clean(p)
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// Declared reads the tier that an item states about itself; ok is false when it
// is silent. An item can only raise its tier this way, never lower it.
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
