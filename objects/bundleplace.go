package objects

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// BundleID returns the id that a bundle must have to count for the items of dir,
// a slash path below .ai: tools/acme/report is acme/bundle/report, and
// knowledge/acme/guide is acme/bundle/knowledge/guide. The signature of a manifest
// binds its id, so files that carry no line of their own cannot be moved to other
// ids or another kind with it. A bundle has a directory of its own, at least two
// below its kind's.
func BundleID(dir string) (ID, error) {
	bad := func(why string) (ID, error) {
		return "", fault.New(fault.Usage, "bundle in %q: %s", words.Brief(dir), why).Advise("put it in tools/<namespace>/<name>")
	}
	for _, k := range Kinds {
		rest, ok := strings.CutPrefix(dir, k.Dir()+"/")
		if !ok {
			continue
		}
		ns, rest, ok := strings.Cut(rest, "/")
		if !ok {
			return bad("it needs a directory of its own below its namespace")
		}
		if first, _, _ := strings.Cut(rest, "/"); k == Tool && kindDir(first) {
			return bad("below tools the name " + first + " would be mistaken for a kind")
		}
		if k != Tool {
			rest = k.Dir() + "/" + rest
		}
		return ParseID(ns + "/bundle/" + rest)
	}
	return bad("not below directives/, tools/, knowledge/ or config/")
}

// BundleDir returns the directory below .ai where a bundle with an id counts: the
// inverse of BundleID.
func BundleDir(id ID) (string, error) {
	parts := strings.Split(string(id), "/")
	if len(parts) < 3 || parts[1] != "bundle" {
		return "", fault.New(fault.Usage, "bundle %q: want <namespace>/bundle/<name>", words.Brief(string(id)))
	}
	dir, rest := Tool.Dir(), parts[2:]
	if kindDir(rest[0]) {
		if dir, rest = rest[0], rest[1:]; len(rest) == 0 || dir == Tool.Dir() {
			return "", fault.New(fault.Usage, "bundle %q: no directory below .ai has this id", words.Brief(string(id)))
		}
	}
	return dir + "/" + parts[0] + "/" + strings.Join(rest, "/"), nil
}

func kindDir(name string) bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Dir() == name })
}
