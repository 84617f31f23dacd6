package foreign

import (
	"path"
	"strings"

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
			r.pass = append(r.pass, Passed{f.Path, "belongs to the project there"})
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
		r.found = append(r.found, Found{Ref: ref, From: f.Path, Files: []File{{Path: p, Data: f.Data}}})
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

// skills takes each folder with a SKILL.md as one bundle. Its files stay byte for byte.
func skills(r *reading) {
	for _, f := range r.tree.Files {
		if path.Base(f.Path) != objects.SkillFile || r.used[f.Path] {
			continue
		}
		from := path.Dir(f.Path)
		if err := r.skill(from, f); err != nil {
			r.refuse(f.Path, err)
			for _, f := range r.below(from) {
				r.used[f.Path] = true
			}
		}
	}
}

func (r *reading) skill(from string, f File) error {
	folder := r.dirName(from)
	id, dir, err := r.packageDir(folder)
	if err != nil {
		return err
	}
	it, err := objects.Parse(dir+"/"+objects.SkillFile, f.Data)
	if err != nil {
		return err
	}
	if ps := it.Validate(); len(ps) > 0 {
		return invalid(ps[0])
	}
	found := Found{Ref: objects.Ref{Kind: objects.Knowledge, ID: id}, What: "Agent Skill", From: from, Dir: dir}
	for _, s := range objects.SkillFaults(it, folder) {
		found.Lost = append(found.Lost, "outside the specification: "+s)
	}
	if it.Meta.Fields["allowed-tools"] != nil {
		found.Lost = append(found.Lost, "allowed-tools grants nothing here")
	}
	found.Files = r.pack(from, dir)
	r.used[f.Path] = true
	r.found = append(r.found, found)
	return nil
}
