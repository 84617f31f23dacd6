// Package foreign turns files that were written for other programs into items of ours:
// Agent Skills, Claude Code's commands and agents, Cursor's rules, Ryvos's skills, plain
// scripts, the .ai of another project. It is pure: files go in, and files come out with a
// list of the parts that could not come along. It runs nothing and trusts nothing.
//
// # Reasons
//
// A skill keeps its bytes: it is a published format that other programs read again, so no
// rule of ours is asked of it. A command of Claude Code or a rule of Cursor needs fields
// here that it cannot hold there. It is written anew, and the parts that do not fit are
// listed. Their front matter is read line by line, because it is often no YAML (`globs:
// *.ts`).
//
// Names that no bundle can hold are skipped and reported, and links are not followed: a
// wider rule for names would reach every format that came from outside.
package foreign

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// File is one file of a folder, an archive or a repository.
type File struct {
	Path       string // slash path below it, clean
	Data       []byte
	Executable bool // by the mode of the git tree, the archive or the disk
}

// Link is a symbolic link of a tree, as it came. Nothing follows it unchecked.
type Link struct{ Path, Target string }

// Passed is a file that is skipped, and why.
type Passed struct{ Path, Why string }

// Tree holds the files of one folder, archive or repository.
type Tree struct {
	Name   string // of the folder or archive: the name for a bundle without its own
	Files  []File
	Links  []Link
	Passed []Passed // devices, names that no item can have

	// Origin is where the root came from: its source, ref, commit and path. Its digests are zero.
	Origin objects.Origin
	// Sums has the digests of every folder, by its path below the root ("." for the root), where the
	// source knows more than the files here: a repository has files that rye does not take.
	// nil computes them from Files and Links.
	Sums map[string]Sum
}

// Found is one thing that rye can add: an item of one file, or a bundle.
type Found struct {
	Ref   objects.Ref // of the item, or of the bundle's entry
	What  string      // its kind in the other program: "Agent Skill"
	From  string      // its path in the tree
	Dir   string      // of a bundle, below .ai; "" for an item
	Files []File      // paths below .ai
	Lost  []string    // features that rye cannot keep

	Origin *objects.Origin // nil where the tree has none
}

// Wish holds the user's choices for names and kinds.
type Wish struct {
	Namespace string // the default namespace
	As        string // id for one thing, or a namespace for many
	Kind      string // of a lone file
	Entry     string // the file in a folder that rye executes
}

// reading is the state of one Read.
type reading struct {
	tree  Tree
	wish  Wish
	used  map[string]bool // paths that belong to something found, or were refused
	found []Found
	pass  []Passed
}

// Read returns the items and packages in a tree, sorted by ref, and the skipped files, sorted
// by path. A file that it cannot read does not stop the others.
func Read(t Tree, w Wish) ([]Found, []Passed, error) {
	r := &reading{tree: t, wish: w, used: map[string]bool{}, pass: slices.Clone(t.Passed)}
	slices.SortFunc(r.tree.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, part := range []func(*reading){ownItems, skills, ryvosSkills, commands, rules} {
		part(r)
	}
	if len(r.found) == 0 {
		if err := r.programs(); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range r.tree.Files {
		if !r.used[f.Path] {
			r.pass = append(r.pass, Passed{f.Path, leftover(f.Path)})
		}
	}
	if err := r.rename(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(r.found, func(a, b Found) int { return cmp.Compare(a.Ref.String(), b.Ref.String()) })
	slices.SortFunc(r.pass, func(a, b Passed) int { return cmp.Compare(a.Path, b.Path) })
	if err := r.origins(); err != nil {
		return nil, nil, err
	}
	return r.found, r.pass, twice(r.found)
}

// origins tells each bundle where its folder came from.
func (r *reading) origins() error {
	if r.tree.Origin.Source == "" {
		return nil
	}
	sums := r.tree.Sums
	if sums == nil {
		sums = SumsOf(r.tree)
	}
	for i := range r.found {
		f := &r.found[i]
		if f.Dir == "" {
			continue
		}
		from := f.From
		if _, folder := sums[from]; !folder {
			from = path.Dir(from)
		}
		s, ok := sums[from]
		if !ok {
			return fault.New(fault.Failed, "add %s: its folder %q has no digest", f.Ref, words.Brief(from))
		}
		o := r.tree.Origin
		if from != "." {
			o.Path = path.Join(o.Path, from)
		}
		o.Tree, o.Sum = s.Tree, s.Sum
		f.Origin = &o
	}
	return nil
}

// leftover returns why a file is not an item, for a user who expected one.
func leftover(p string) string {
	switch {
	case path.Base(p) == "hooks.json":
		return "rye has no counterpart to the hooks of Claude Code"
	case path.Base(p) == ".mcp.json":
		return "rye does not run foreign MCP servers"
	case path.Base(p) == "plugin.json" || path.Base(p) == "marketplace.json":
		return "its content is in the imported items"
	}
	return "not a skill, command, rule or script"
}

// rename refuses a wish As that cannot apply. Two segments and more are an id for one thing;
// one segment is a namespace for everything. An item from an .ai keeps its id.
func (r *reading) rename() error {
	if r.wish.As == "" {
		return nil
	}
	for _, f := range r.found {
		if f.What == "" {
			return fault.New(fault.Usage, "add: %s is an item, and keeps its id", f.Ref).Advise("leave out --as")
		}
	}
	if !strings.Contains(r.wish.As, "/") {
		return nil
	}
	if len(r.found) != 1 {
		return fault.New(fault.Usage, "add: %s is one id, and there are %s", words.Brief(r.wish.As), words.Plural(len(r.found), "item")).
			Advise("give a namespace alone, such as --as acme, or one folder")
	}
	return nil
}

// twice refuses two things with the same ref.
func twice(found []Found) error {
	for i := 1; i < len(found); i++ {
		if found[i].Ref == found[i-1].Ref {
			return fault.New(fault.Conflict, "add: %s and %s would both be %s", found[i-1].From, found[i].From, found[i].Ref).
				Advise("add them one by one, each with --as <id>")
		}
	}
	return nil
}

// namespace returns the namespace for things without one.
func (r *reading) namespace() string {
	if r.wish.As != "" {
		ns, _, _ := strings.Cut(r.wish.As, "/")
		return ns
	}
	return r.wish.Namespace
}

// id returns the id that the user wants, else the id for a thing with this name.
func (r *reading) id(name string) (objects.ID, error) {
	if strings.Contains(r.wish.As, "/") {
		return objects.ParseID(r.wish.As)
	}
	id, err := objects.ParseID(r.namespace() + "/" + name)
	if err != nil {
		err = fault.Wrap(err, "add %q", words.Brief(name)).Advise("rye add <it> --as %s/<name>", r.namespace())
	}
	return id, err
}

// packageDir returns the id and the directory for a bundle with this name.
func (r *reading) packageDir(name string) (objects.ID, string, error) {
	id, err := r.id(name)
	if err != nil {
		return "", "", err
	}
	if strings.Count(string(id), "/") != 1 {
		return "", "", fault.New(fault.Usage, "add: a bundle is called <namespace>/<name>, and %q is not", id)
	}
	return id, objects.BundlesDir + "/" + string(id), nil
}

// refuse notes that a file is skipped.
func (r *reading) refuse(p string, why error) { r.pass = append(r.pass, Passed{p, why.Error()}) }

// below returns the unused files of the tree in a folder; "." is the whole tree.
func (r *reading) below(dir string) []File {
	var all []File
	for _, f := range r.tree.Files {
		if !r.used[f.Path] && (dir == "." || strings.HasPrefix(f.Path, dir+"/")) {
			all = append(all, f)
		}
	}
	return all
}

// dirName returns the name of a folder; the tree's root has the tree's name.
func (r *reading) dirName(dir string) string {
	if dir == "." {
		return r.tree.Name
	}
	return path.Base(dir)
}

// pack takes the files below from into a bundle in dir and keeps their relative paths. It
// skips a file that a bundle cannot hold.
func (r *reading) pack(from, dir string) []File {
	var files []File
	for _, f := range r.below(from) {
		r.used[f.Path] = true
		rel := f.Path
		if from != "." {
			rel = strings.TrimPrefix(f.Path, from+"/")
		}
		if err := packable(rel, f.Data); err != nil {
			r.refuse(f.Path, err)
			continue
		}
		files = append(files, File{Path: dir + "/" + rel, Data: f.Data, Executable: f.Executable})
	}
	return files
}

func packable(rel string, data []byte) error {
	switch {
	case path.Base(rel) == objects.ManifestName:
		return fault.New(fault.Malformed, "rye signs a manifest of its own")
	case len(data) > objects.MaxItemSize:
		return fault.New(fault.Limit, "more than %d bytes", objects.MaxItemSize)
	case slices.Contains(strings.Split(rel, "/"), "__pycache__"):
		return fault.New(fault.Malformed, "a cache of Python")
	}
	return objects.CheckPath(rel)
}

// mainly turns a foreign name into one for rye, in lower case. Every character except letters,
// digits and _ becomes a hyphen, but not at the ends.
func mainly(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_':
			b.WriteRune(c)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String(), "-")
}

func invalid(p objects.Problem) error { return fault.New(fault.Malformed, "%s", p) }
