package objects

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// BundlesDir is the directory below .ai that holds bundles of items of all kinds,
// each in a separate directory <namespace>/<name>.
const BundlesDir = "bundles"

// SkillFile is the entry of a bundle that is a skill.
const SkillFile = "SKILL.md"

// entryStem is the file name, without extension, of the entry of a bundle.
const entryStem = "main"

// BundleID returns the id that a bundle must have to cover the items in dir, a slash
// path below .ai: bundles/acme/report is acme/bundle/report, and tools/acme/report is
// acme/bundle/tools/report. The signature of a manifest binds its id, so no one can
// move the files of a bundle to other ids or another kind. The directory of a bundle
// is at least two levels below .ai's, and exactly two below bundles/.
func BundleID(dir string) (ID, error) {
	bad := func(why string) (ID, error) {
		return "", fault.New(fault.Usage, "bundle in %q: %s", words.Brief(dir), why).Advise("put it in bundles/<namespace>/<name>")
	}
	top, rest, _ := strings.Cut(dir, "/")
	if top != BundlesDir && !kindDir(top) {
		return bad("not below bundles/, directives/, tools/, knowledge/ or config/")
	}
	ns, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return bad("it needs a directory of its own below its namespace")
	}
	if top == BundlesDir {
		if strings.Contains(rest, "/") {
			return bad("it lies inside the directory of another")
		}
		return ParseID(ns + "/bundle/" + rest)
	}
	return ParseID(ns + "/bundle/" + top + "/" + rest)
}

// BundleDir returns the directory below .ai for a bundle with an id. It is the inverse
// of BundleID.
func BundleDir(id ID) (string, error) {
	parts := strings.Split(string(id), "/")
	if len(parts) < 3 || parts[1] != "bundle" {
		return "", fault.New(fault.Usage, "bundle %q: want <namespace>/bundle/<name>", words.Brief(string(id)))
	}
	top, rest := BundlesDir, parts[2:]
	if len(rest) > 1 {
		if top, rest = rest[0], rest[1:]; !kindDir(top) {
			return "", fault.New(fault.Usage, "bundle %q: no directory below .ai has this id", words.Brief(string(id)))
		}
	}
	return top + "/" + parts[0] + "/" + strings.Join(rest, "/"), nil
}

// memberRef is RefOfPath for a file below bundles/. The entry has the bundle's own id:
// SKILL.md is knowledge, main.md a directive, and any other main a tool. Below it a
// directory of a kind holds items of that kind. Everything else is data.
func memberRef(path string) (Ref, string, error) {
	data := func() (Ref, string, error) {
		return Ref{}, "", fault.New(fault.Usage, "path %q: a data file of a bundle, not an item", words.Brief(path))
	}
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 4 {
		return data()
	}
	bundle, inner := parts[1]+"/"+parts[2], parts[3]
	if _, err := ParseID(bundle); err != nil {
		return Ref{}, "", err
	}
	if kind, rest, ok := strings.Cut(inner, "/"); ok {
		if !kindDir(kind) {
			return data()
		}
		return refBelow(kindOfDir(kind), bundle+"/"+rest, path)
	}
	if inner == SkillFile {
		return Ref{Kind: Knowledge, ID: ID(bundle)}, ".md", nil
	}
	ext, ok := strings.CutPrefix(inner, entryStem)
	if !ok || strings.LastIndexByte(ext, '.') != 0 {
		return data()
	}
	if ext == ".md" {
		return Ref{Kind: Directive, ID: ID(bundle)}, ext, nil
	}
	return Ref{Kind: Tool, ID: ID(bundle)}, ext, nil
}

// MemberPath returns the slash path below .ai that an item with extension ext (".py")
// would have as a member of a bundle. It returns "" when no bundle can hold the item.
func (r Ref) MemberPath(ext string) string {
	parts := strings.SplitN(string(r.ID), "/", 3)
	if len(parts) == 1 {
		return ""
	}
	dir := BundlesDir + "/" + parts[0] + "/" + parts[1] + "/"
	switch {
	case len(parts) == 3:
		return dir + r.Kind.Dir() + "/" + parts[2] + ext
	case r.Kind == Knowledge && ext == ".md":
		return dir + SkillFile
	case r.Kind == Directive && ext == ".md", r.Kind == Tool && ext != ".md":
		return dir + entryStem + ext
	}
	return ""
}

// MemberFolder returns the slash path below .ai of the folder that would hold the item as a
// member of a bundle. It returns "" when no bundle can hold the item.
func (r Ref) MemberFolder() string {
	parts := strings.SplitN(string(r.ID), "/", 3)
	switch {
	case len(parts) == 1, r.Kind == Config && len(parts) == 2:
		return ""
	case len(parts) == 2:
		return BundlesDir + "/" + string(r.ID)
	}
	p := BundlesDir + "/" + parts[0] + "/" + parts[1] + "/" + r.Kind.Dir() + "/" + parts[2]
	return p[:strings.LastIndexByte(p, '/')]
}

// InBundles reports whether a slash path below .ai lies in BundlesDir, and returns
// the directory of its bundle.
func InBundles(path string) (dir string, ok bool) {
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 3 || parts[0] != BundlesDir || len(parts) == 3 && parts[2] == "" {
		return "", false
	}
	return strings.Join(parts[:3], "/"), true
}

func kindOfDir(dir string) Kind {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Dir() == dir })
	return Kinds[i]
}

func kindDir(name string) bool {
	return slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Dir() == name })
}
