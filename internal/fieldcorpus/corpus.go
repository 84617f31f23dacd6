package fieldcorpus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// Repository is one made-up upstream repository in three versions.
type Repository struct {
	Name     string   // unique, such as "claude-plugin-02"
	Form     string   // the client's or the standard's form, such as "claude-plugin"
	Notes    []string // the facts and accidents it stands for, and its changes, a sentence each
	Versions [][]File // three versions of the whole tree, each sorted by path
	Skills   []Skill  // the skills of Versions[0], sorted by directory
}

// File is one entry of a tree. A Path that ends in a slash is an empty directory.
type File struct {
	Path string // relative, with slashes; it need not be UTF-8 nor a name for every system
	Data []byte // shared between versions: read only
	Exec bool
	Link string // the target of a symbolic link, or "" for a regular file
}

// Skill is the truth about one skill.
type Skill struct {
	Name     string   // as its front matter has it; "" for none that can be read
	Dir      string   // its directory; "." is the root of the repository
	Files    []string // all paths below Dir, those of nested skills too; a linked Dir has itself only
	Usable   bool     // whether a client that follows the rules takes it
	Why      string   // why it is not usable
	Warn     string   // the rule that it breaks though it is usable
	Programs []string // the paths of Files that are scripts or programs, or have an executable bit
}

// Repositories returns the corpus, sorted by name. It is always the same. The caller must not
// change the bytes of the files.
func Repositories() []Repository {
	var all []Repository
	count := map[string]int{}
	for i, r := range slices.Concat(clientRecipes, pluginRecipes, accidentRecipes) {
		count[r.form]++
		b := &builder{
			dice:     dice{rand.NewPCG(2640, uint64(i))},
			repo:     Repository{Name: fmt.Sprintf("%s-%02d", r.form, count[r.form]), Form: r.form, Notes: slices.Clone(r.notes)},
			tree:     tree{},
			programs: map[string]bool{},
			names:    map[string]bool{},
		}
		b.cook(r, i)
		all = append(all, b.finish(i))
	}
	slices.SortFunc(all, func(a, b Repository) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// A recipe says how to make one repository.
type recipe struct {
	form  string
	roots []string // the directories that hold directories of skills
	each  int      // plain skills in each root; 0 for some
	clean bool     // no skill with an accident is strewn in
	files string   // an archive of other files, with {name} for the name of the project
	notes []string
	more  func(*builder)
}

// dice is PCG without the methods of rand.Rand, whose results may change with a release of Go.
type dice struct{ pcg *rand.PCG }

func (d dice) roll(n int) int { return int(d.pcg.Uint64() % uint64(n)) }

func (d dice) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.pcg.Uint64())
	}
	return b
}

func pick[T any](d dice, from []T) T { return from[d.roll(len(from))] }

type tree map[string]File

func (t tree) sorted() []File {
	var files []File
	for _, p := range slices.Sorted(maps.Keys(t)) {
		files = append(files, t[p])
	}
	return files
}

// below lists the paths of files below a directory.
func (t tree) below(dir string) []string {
	var paths []string
	for p := range t {
		if !strings.HasSuffix(p, "/") && (dir == "." || p == dir || strings.HasPrefix(p, dir+"/")) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

type builder struct {
	dice
	repo     Repository
	tree     tree
	programs map[string]bool
	names    map[string]bool // the names of skills that are taken
	plain    []string        // the directories of skills without an accident
}

func (b *builder) put(path, text string)    { b.tree[path] = File{Path: path, Data: []byte(text)} }
func (b *builder) link(path, target string) { b.tree[path] = File{Path: path, Link: target} }
func (b *builder) note(f string, arg ...any) {
	b.repo.Notes = append(b.repo.Notes, fmt.Sprintf(f, arg...))
}

func (b *builder) program(path, text string, exec bool) {
	b.programs[path] = true
	b.tree[path] = File{Path: path, Data: []byte(text), Exec: exec}
}

// add records the truth about a skill; the rest of it follows from the tree in the end.
func (b *builder) add(s Skill) { b.repo.Skills = append(b.repo.Skills, s) }

// last is the skill that was made last.
func (b *builder) last() *Skill { return &b.repo.Skills[len(b.repo.Skills)-1] }

// archive puts the files of a text of "-- path --" lines, each before the text of its file.
func (b *builder) archive(text string) {
	var at string
	var body strings.Builder
	flush := func() {
		if at != "" {
			b.put(at, body.String())
		}
		body.Reset()
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "{name}", b.project())) {
		if name, ok := strings.CutPrefix(line, "-- "); ok {
			flush()
			at = strings.TrimSuffix(name, " --\n")
		} else {
			body.WriteString(line)
		}
	}
	flush()
}

// project is a kebab-case name that fits in a manifest.
func (b *builder) project() string { return "acme-" + b.repo.Name }

func (b *builder) cook(r recipe, i int) {
	b.archive(commonFiles)
	b.archive(r.files)
	for _, root := range r.roots {
		each := r.each
		if each == 0 {
			each = 5 + b.roll(5)
		}
		for range each {
			b.skill(root)
		}
	}
	if !r.clean {
		for k := range 3 {
			b.accident(r.roots[k%len(r.roots)], skillAccidents[(3*i+k)%len(skillAccidents)])
		}
	}
	if r.more != nil {
		r.more(b)
	}
}

func (b *builder) finish(i int) Repository {
	for k := range b.repo.Skills {
		s := &b.repo.Skills[k]
		s.Usable = s.Why == ""
		s.Files = b.tree.below(s.Dir)
		for _, p := range s.Files {
			if b.programs[p] || b.tree[p].Exec {
				s.Programs = append(s.Programs, p)
			}
		}
	}
	slices.SortFunc(b.repo.Skills, func(a, b Skill) int { return strings.Compare(a.Dir, b.Dir) })
	b.repo.Versions = append(b.repo.Versions, b.tree.sorted())
	truth := b.repo.Skills
	for v := 1; v <= 2; v++ {
		b.change(i, v)
		b.repo.Versions = append(b.repo.Versions, b.tree.sorted())
	}
	b.repo.Skills = truth // without what the later versions add
	return b.repo
}

func join(root, name string) string { return path.Join(root, name) }
