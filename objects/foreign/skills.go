package foreign

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// ownItems takes the items below an .ai, from another project or from RYE OS, unchanged. They
// keep their names, because the signature is for that name.
func ownItems(r *reading) {
	for _, f := range r.tree.Files {
		p, ok := belowAI(r.tree, f.Path)
		if !ok {
			continue
		}
		r.used[f.Path] = true
		if p == "" {
			r.skip(f.Path, "belongs to the project there")
			continue
		}
		ref, _, err := objects.RefOfPath(p)
		if err == nil {
			err = objects.CheckPath(p)
		}
		if err == nil {
			err = objects.CheckExtension(p)
		}
		if err == nil {
			_, err = objects.Parse(p, f.Data)
		}
		if err != nil {
			r.refuse(f.Path, err)
			continue
		}
		r.found = append(r.found, Found{Ref: ref, From: f.Path, Files: []File{{Path: p, Data: f.Data, Executable: f.Executable}}})
	}
}

// belowAI returns the path below .ai for a file in an .ai; the tree may be an .ai, or hold
// one. rest is "" for a file that cannot be an item.
func belowAI(t Tree, p string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(p, ".ai/")
	if !ok && t.Name == ".ai" {
		rest, ok = p, true
	}
	if !ok {
		return "", false
	}
	top, _, _ := strings.Cut(rest, "/")
	for _, k := range objects.Kinds {
		if top == k.Dir() && !strings.HasPrefix(path.Base(rest), ".") {
			return rest, true
		}
	}
	return "", true
}

// Where clients look for skills.
const (
	maxSkillDepth = 6 // folders from the root of a repository: the guide for clients says 4 to 6
	maxRootDepth  = 6 // folders below a folder of skills (codex-rs core-skills, loader.rs)
)

// without are folders that clients do not search: installed packages and results of builds.
var without = []string{"node_modules", ".git", "dist", "build", "__pycache__"}

// notSearched returns why clients find no skill in a folder; "" where they do.
func (r *reading) notSearched(dir string, p *plugin) string {
	if dir == "." {
		return ""
	}
	names := strings.Split(dir, "/")
	for _, n := range names {
		if slices.Contains(without, n) {
			return "clients do not search " + n
		}
	}
	if p != nil {
		if p.closed && (path.Dir(dir) != path.Join(p.root, "skills")) {
			return "an Agent Plugin has only the folders right below " + path.Join(p.root, "skills")
		}
		if slices.ContainsFunc(p.skills, func(at string) bool { return under(dir, at) }) {
			return ""
		}
	}
	if len(names) <= maxSkillDepth {
		return ""
	}
	for i, n := range names[1:] {
		if n == "skills" && strings.HasPrefix(names[i], ".") && len(names)-i-2 <= maxRootDepth {
			return ""
		}
	}
	if p != nil {
		if rest, ok := strings.CutPrefix(dir, path.Join(p.root, "skills")+"/"); ok && strings.Count(rest, "/") < maxRootDepth {
			return ""
		}
	}
	return fmt.Sprintf("it lies %d folders deep, and clients search %d", len(names), maxSkillDepth)
}

// skills takes each folder with a SKILL.md as one bundle. Its files stay byte for byte. A folder
// that links reach too is one skill.
func skills(r *reading) {
	ways := map[string][]string{} // by the real folder: the folders at which clients find it
	for _, f := range r.all {
		if strings.EqualFold(path.Base(f.Path), objects.SkillFile) {
			dir := path.Dir(f.Path)
			if slices.Contains(ways[r.realDir(dir)], dir) {
				continue // in two spellings; the box names the second one
			}
			real := r.realDir(dir)
			if own, behind := r.linked.real[f.Path]; behind {
				real = path.Dir(own)
			}
			ways[real] = append(ways[real], dir)
		}
	}
	var order []string
	for real := range ways {
		order = append(order, real)
	}
	slices.SortFunc(order, func(a, b string) int {
		if x, y := hiddenIn(a), hiddenIn(b); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	for _, real := range order {
		r.skillAt(real, ways[real])
	}
}

// hiddenIn is 1 for a path below a folder whose name begins with a dot. Of two same skills the
// other one is the original.
func hiddenIn(p string) int {
	if strings.HasPrefix(p, ".") && p != "." || strings.Contains(p, "/.") {
		return 1
	}
	return 0
}

// skillAt takes the skill in a folder, at the first way to it on which clients find it.
func (r *reading) skillAt(real string, ways []string) {
	slices.SortFunc(ways, func(a, b string) int {
		if (a == real) != (b == real) {
			if a == real {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	why := ""
	for _, dir := range ways {
		if _, own := belowAI(r.tree, dir+"/"+objects.SkillFile); own {
			return
		}
		p := r.owner(dir)
		not := r.notSearched(dir, p)
		if not != "" {
			if why == "" {
				why = not
			}
			continue
		}
		file := r.skillFile(dir)
		if err := r.skill(dir, real, p, r.at[file]); err != nil {
			if r.inSkill(dir) {
				r.skip(file, "a text of the skill around it: "+err.Error())
				return
			}
			r.refuse(file, err)
			r.used[file] = true
			if dir != "." {
				r.close(dir)
				r.dirs = append(r.dirs, dir, real)
			}
		}
		return
	}
	r.use(r.skillFile(ways[0]))
	r.skip(r.skillFile(ways[0]), why)
}

// inSkill reports whether a folder lies in that of a skill that came in: its files come in with that
// one, whatever they are.
func (r *reading) inSkill(dir string) bool {
	return slices.ContainsFunc(r.found, func(f Found) bool {
		return f.What == "Agent Skill" && f.From != "." && dir != f.From && under(dir, f.From)
	})
}

// skillFile returns the path of the SKILL.md in a folder, which may be spelled skill.md.
func (r *reading) skillFile(dir string) string {
	at := path.Join(dir, objects.SkillFile)
	if _, ok := r.at[at]; ok {
		return at
	}
	for _, f := range r.below(dir) {
		if path.Dir(f.Path) == dir && strings.EqualFold(path.Base(f.Path), objects.SkillFile) {
			return f.Path
		}
	}
	return at
}

// skill takes one folder.
func (r *reading) skill(from, real string, p *plugin, f File) error {
	it, err := objects.Parse(objects.BundlesDir+"/x/x/"+objects.SkillFile, f.Data)
	if at := (*objects.SyntaxError)(nil); errors.As(err, &at) {
		at.Path = "" // the report has the path there
		return fault.New(fault.CodeOf(err), "%w", at).With(fault.HintOf(err))
	}
	if err != nil {
		return err
	}
	if ps := it.Validate(); len(ps) > 0 {
		return fault.New(fault.Malformed, "%s", ps[0].Rule)
	}
	folder := r.dirName(from)
	title := it.Meta.Title
	if from == "." && r.tree.Origin.Path == "" && !strings.HasPrefix(r.tree.At, "/") && mainly(title) != "" {
		folder = title // a repository and an archive have any name
	}
	switch {
	case utf8.RuneCountInString(title) > objects.MaxSkillName:
		return fault.New(fault.Malformed, "field name has more than %d characters, and clients refuse it", objects.MaxSkillName)
	case utf8.RuneCountInString(it.Meta.Description) > objects.MaxSkillDescription:
		return fault.New(fault.Malformed, "field description has more than %d characters, and clients refuse it", objects.MaxSkillDescription)
	}
	if title == "" {
		title = folder
	}
	same := r.content(from)
	key := slug(folder) + "\x00" + same
	if i, ok := r.sames[key]; ok {
		r.skip(from, "the same files as "+words.Quote(words.Brief(r.found[i].From))+", which is "+r.found[i].Ref.String())
		if from != "." {
			r.close(from)
			r.dirs = append(r.dirs, from, real)
		}
		return nil
	}
	name := slug(folder)
	id, dir, err := r.bundleID(append([]string{inPlugin(p, name)}, longer(p, from, name)...)...)
	if err != nil {
		return err
	}
	r.sames[key] = len(r.found)
	found := Found{Ref: objects.Ref{Kind: objects.Knowledge, ID: id}, What: "Agent Skill", Name: title, About: plain(it.Meta.Description, 200), From: from, Dir: dir}
	if p != nil {
		found.Plugin = p.name
		found.Version = p.version
	}
	for _, s := range objects.SkillFaults(it, folder) {
		found.Lost = append(found.Lost, "outside the specification: "+s)
	}
	if it.Meta.Fields["allowed-tools"] != nil {
		found.Lost = append(found.Lost, "allowed-tools grants nothing here")
	}
	b := r.pack(from, dir, f.Path)
	found.Files, found.Lost, found.Left = b.files, append(found.Lost, b.lost...), b.lost
	if from != "." {
		r.dirs = append(r.dirs, from, real)
	}
	r.found = append(r.found, found)
	return nil
}

// content returns a digest of the names, modes and bytes in a folder.
func (r *reading) content(dir string) string {
	h := sha256.New()
	for _, f := range r.below(dir) {
		fmt.Fprintf(h, "%q %v %x\n", strings.TrimPrefix(f.Path, dir), f.Executable, sha256.Sum256(f.Data))
	}
	return string(h.Sum(nil))
}

// links names the links that belong to no skill.
func links(r *reading) {
	for _, l := range r.linked.bad {
		if r.used[l.Path] {
			continue
		}
		r.used[l.Path] = true
		if path.Base(l.Path) != objects.SkillFile && path.Base(path.Dir(l.Path)) != "skills" && l.Code != fault.Limit {
			l.Code = "" // nobody expects something there
		}
		r.pass = append(r.pass, l)
	}
	for _, l := range r.tree.Links {
		if r.used[l.Path] || slices.ContainsFunc(r.dirs, func(dir string) bool { return under(l.Path, dir) }) {
			continue
		}
		if real, ok := r.linked.dirs[l.Path]; ok {
			r.skip(l.Path, "a link to "+words.Quote(words.Brief(real))+", which is read once")
		}
	}
}
