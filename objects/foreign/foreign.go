// Package foreign turns files that were written for other programs into items of ours:
// Agent Skills, plugins and marketplaces, the commands, agents and rules of coding clients,
// Ryvos's skills, plain scripts, the .ai of another project. It is pure: files go in, and files
// come out with a list of the parts that could not come along. It runs nothing and trusts nothing.
//
// # Reasons
//
// A skill keeps its bytes: it is a published format that other programs read again, so no
// rule of ours is asked of it. A command of Claude Code or a rule of Cursor needs fields
// here that it cannot hold there. It is written anew, and the parts that do not fit are
// listed. The original stays beside it in the bundle, so that an export gives back its bytes.
// Front matter of commands and rules is read line by line, because it is often no YAML
// (`globs: *.ts`).
//
// One thing that cannot come in never keeps the others out: a marketplace holds the work of many.
// It is named with its reason and with the code that the whole ends with.
//
// # Names
//
// A skill is called <namespace>/<folder>, and <namespace>/<plugin>-<folder> in a plugin. The
// plugin's name is left out where the folder begins with it. The commands, agents and rules of a
// plugin, or of a folder without one, are one bundle, <namespace>/<plugin>. Two skills with one
// name and the same files are one. Of two that differ, the later one by path gets the names of the
// folders above it in front, as many as it takes.
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
	Executable bool
}

// Link is a symbolic link as it came, or a submodule.
type Link struct {
	Path   string
	Target string // the text of the link; of a submodule its commit
	Module bool
}

// Passed is a file, a folder or a part of a manifest that is skipped, and why.
type Passed struct {
	Path, Why string
	Code      fault.Code // of a thing that should have come in; "" for one that need not
	Source    string     // the source that rye add takes for it; "" for none

	// Of content that is not what an index or a lock file promised: the rule of the hash, the
	// promised and the found one.
	Rule, Want, Got string
}

// Tree holds the files of one folder, archive or repository.
type Tree struct {
	Name   string // of the folder or archive: the name for a bundle without its own
	At     string // where it lay in its repository or on its disk, which shows what commands/ is; "" is unknown
	Files  []File
	Links  []Link
	Passed []Passed       // devices and what was too large
	Origin objects.Origin // of its root: Source, Ref, Commit and Path; without Source no origin is kept
	Listed string         // Remote.Entry of the marketplace that listed it as a plugin; "" for none
}

// Found is one thing that rye can add: an item of one file, or a bundle.
type Found struct {
	Ref     objects.Ref     // of the item or of the bundle's entry, else of the bundle
	What    string          // its kind in the other program: "Agent Skill"
	Name    string          // as its author calls it
	Plugin  string          // the plugin that it belongs to; "" for none
	From    string          // its path in the tree
	Dir     string          // of a bundle, below .ai; "" for an item
	Files   []File          // paths below .ai
	Holds   []objects.Ref   // the items in a bundle, beside its entry
	Version string          // semantic; "" is unknown
	Origin  *objects.Origin // of a bundle's content; nil without a source
	About   string          // its description, for a list; "" is none
	Lost    []string        // features that rye cannot keep
	Left    []string        // those of Lost that are about single files
}

// Wish holds the user's choices for names and kinds.
type Wish struct {
	Namespace string   // the default namespace
	As        string   // id for one thing, or a namespace for many
	Kind      string   // of a lone file
	Entry     string   // the file in a folder that rye executes
	Skills    []string // the names of the skills and plugins to take; empty is all
	Elsewhere []string // the plugins of its marketplaces that come in from their own sources: they need no name
	Windows   bool     // names that Windows cannot hold are refused, and not only mentioned
}

// reading is the state of one Read.
type reading struct {
	tree    Tree   // sorted by path
	all     []File // with the files behind links, sorted by path
	at      map[string]File
	linked  *linked
	wish    Wish
	plugins []*plugin
	remote  []Remote
	used    map[string]bool // paths that belong to something found, or were refused
	dirs    []string        // the folders of skills, but not the tree's root
	ids     map[objects.ID]int
	sames   map[string]int // by content and name: the place of a skill in found
	found   []Found
	pass    []Passed
}

func newReading(t Tree, w Wish) *reading {
	r := &reading{tree: t, wish: w, used: map[string]bool{}, at: map[string]File{}, ids: map[objects.ID]int{}, sames: map[string]int{}}
	slices.SortFunc(r.tree.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(r.tree.Links, func(a, b Link) int { return strings.Compare(a.Path, b.Path) })
	r.linked = follow(r.tree)
	r.all = r.linked.files
	for _, f := range r.all {
		r.at[f.Path] = f
	}
	return r
}

// Read returns the items and bundles in a tree, sorted by ref, and the skipped files, sorted
// by path. A thing that it cannot read does not stop the others: it is among the skipped, with a
// code.
func Read(t Tree, w Wish) ([]Found, []Passed, error) {
	t.Files, t.Links = slices.Clone(t.Files), slices.Clone(t.Links)
	r := newReading(t, w)
	r.findPlugins()
	for _, part := range []func(*reading){ownItems, skills, ryvosSkills, links} {
		part(r)
	}
	plain := len(r.found) == 0 && !r.failed()
	parts(r, plain && (w.Entry != "" || r.mainFile() != ""))
	if len(r.found) == 0 && !r.failed() {
		if err := r.programs(); err != nil {
			return nil, nil, err
		}
	}
	r.given()
	r.leftovers()
	if err := r.rename(); err != nil {
		return nil, nil, err
	}
	if err := r.choose(); err != nil {
		return nil, nil, err
	}
	if err := r.origins(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(r.found, func(a, b Found) int { return cmp.Compare(a.Ref.String(), b.Ref.String()) })
	slices.SortStableFunc(r.pass, func(a, b Passed) int { return cmp.Compare(a.Path, b.Path) })
	return r.found, slices.Compact(r.pass), nil
}

// given takes over what the reader of the source skipped. Outside of a bundle nobody misses it.
func (r *reading) given() {
	for _, p := range r.tree.Passed {
		if !slices.ContainsFunc(r.found, func(f Found) bool { return f.Dir != "" && under(p.Path, f.From) }) {
			p.Code = ""
		}
		r.pass = append(r.pass, p)
	}
}

// failed reports whether something should have come in and could not.
func (r *reading) failed() bool {
	return slices.ContainsFunc(r.pass, func(p Passed) bool { return p.Code != "" })
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
	if n := len(r.found); strings.Contains(r.wish.As, "/") && n > 1 && len(r.wish.Skills) == 0 {
		return fault.New(fault.Usage, "add: %s is one id, and there are %s", words.Brief(r.wish.As), words.Plural(n, "item")).
			Advise("give a namespace alone, such as --as acme, or choose one with --skill")
	}
	return nil
}

// choose keeps what the user named. A failure of something else is none then.
func (r *reading) choose() error {
	if len(r.wish.Skills) == 0 {
		return nil
	}
	wanted, taken := map[string]bool{}, map[string]bool{}
	for _, name := range r.wish.Skills {
		wanted[name] = true
	}
	hit := func(names ...string) (is bool) {
		for _, n := range names {
			if n != "" && wanted[n] {
				taken[n], is = true, true
			}
		}
		return is
	}
	var names []string
	var found []Found
	for _, f := range r.found {
		if f.Name != "" && !slices.Contains(names, words.Brief(f.Name)) {
			names = append(names, words.Brief(f.Name))
		}
		if hit(f.Name, f.Ref.ID.Name(), string(f.Ref.ID), path.Base(f.From), f.Plugin+":"+f.Name) {
			found = append(found, f)
		}
	}
	var pass []Passed
	for _, p := range r.pass {
		dir := path.Dir(p.Path)
		if path.Base(p.Path) != objects.SkillFile {
			dir = p.Path
		}
		if p.Code != "" && hit(path.Base(dir)) || slices.ContainsFunc(found, func(f Found) bool { return p.Code != "" && under(p.Path, f.From) }) {
			pass = append(pass, p)
		}
	}
	r.found, r.pass = found, pass
	for _, name := range r.wish.Skills {
		if plug, _, _ := strings.Cut(name, ":"); !taken[name] && !slices.Contains(r.wish.Elsewhere, plug) {
			return fault.New(fault.NotFound, "add: no skill is called %q there; there are %s", words.Brief(name), listed(names)).
				Advise("--list shows them with their descriptions")
		}
	}
	if strings.Contains(r.wish.As, "/") && len(r.found) > 1 {
		return fault.New(fault.Usage, "add: %s is one id, and there are %s", words.Brief(r.wish.As), words.Plural(len(r.found), "item")).
			Advise("give a namespace alone, such as --as acme, or choose one with --skill")
	}
	return nil
}

// listed joins a few names, and counts the others.
func listed(names []string) string {
	const most = 10
	slices.Sort(names)
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return strings.Join(names[:most], ", ") + " and " + words.Plural(n-most, "more name")
	}
	return strings.Join(names, ", ")
}

// origins completes the origins of the bundles.
func (r *reading) origins() error {
	if r.tree.Origin.Source == "" {
		return nil
	}
	for i := range r.found {
		f := &r.found[i]
		if f.Dir == "" {
			continue
		}
		o := r.tree.Origin
		o.Root, o.Entry, o.Listed = o.Path, path.Clean(r.wish.Entry), r.tree.Listed
		if r.wish.Entry == "" {
			o.Entry = ""
		}
		dir := r.realDir(f.From)
		if _, file := r.at[f.From]; file {
			dir = path.Dir(dir)
		}
		if o.Path = path.Join(o.Path, dir); o.Path == "." {
			o.Path = ""
		}
		var err error
		if o.Tree, o.Sum, err = Hash(r.tree, dir); err != nil {
			return err
		}
		f.Origin = &o
	}
	return nil
}

// realDir returns the path in the tree of a folder that may be behind links.
func (r *reading) realDir(dir string) string {
	for at := dir; at != "."; at = path.Dir(at) {
		if real, ok := r.linked.dirs[at]; ok {
			return path.Join(real, strings.TrimPrefix(dir, at))
		}
	}
	return dir
}

// namespace returns the namespace for things without one.
func (r *reading) namespace() string {
	if r.wish.As != "" {
		ns, _, _ := strings.Cut(r.wish.As, "/")
		return ns
	}
	return r.wish.Namespace
}

// refuse notes a thing that should have come in.
func (r *reading) refuse(p string, why error) {
	code := fault.CodeOf(why)
	if code == fault.Failed || code == fault.Usage {
		code = fault.Malformed
	}
	r.pass = append(r.pass, Passed{Path: p, Why: why.Error(), Code: code})
}

// skip notes a thing that need not come in.
func (r *reading) skip(p, why string) { r.pass = append(r.pass, Passed{Path: p, Why: why}) }

// under reports whether a path lies in a folder; "." is the whole tree.
func under(p, dir string) bool { return dir == "." || p == dir || strings.HasPrefix(p, dir+"/") }

// below returns the files in a folder, also those behind links; "." is the whole tree, but without
// links.
func (r *reading) below(dir string) []File {
	if dir == "." {
		return r.tree.Files
	}
	i, _ := slices.BinarySearchFunc(r.all, dir+"/", func(f File, p string) int { return strings.Compare(f.Path, p) })
	n := i
	for n < len(r.all) && strings.HasPrefix(r.all[n].Path, dir+"/") {
		n++
	}
	return r.all[i:n]
}

// use marks a path, and the file behind it, as belonging to something.
func (r *reading) use(p string) {
	r.used[p] = true
	if real, ok := r.linked.real[p]; ok {
		r.used[real] = true
	}
}

// close marks everything below a folder: it is named as a whole. Files that links lead to stay
// as they are.
func (r *reading) close(dir string) {
	for _, f := range r.below(dir) {
		r.used[f.Path] = true
	}
}

// dirName returns the name of a folder; the tree's root has the tree's name.
func (r *reading) dirName(dir string) string {
	if dir == "." {
		return r.tree.Name
	}
	return path.Base(dir)
}

func invalid(p objects.Problem) error { return fault.New(fault.Malformed, "%s", p) }
