package export

import (
	"slices"
	"strings"
)

// attributesName is a file that git reads. In the directory of a client it says that no line
// ending of a copy is rewritten: otherwise each copy differs on Windows.
const attributesName = ".gitattributes"

// attributes adds one file of attributes to each directory of skills. kept are folders of copies
// that stay and are not in the plan.
func (p *plan) attributes(kept []string) {
	lines := map[string][]string{}
	for _, folder := range kept {
		dir, name, _ := cutLast(folder)
		lines[dir] = append(lines[dir], "/"+name+"/** -text")
	}
	for _, c := range p.copies {
		if dir, name, ok := cutLast(c.folder); ok && c.link == "" && strings.HasPrefix(c.path, c.folder+"/") && isSkills(dir) {
			if line := "/" + name + "/** -text"; !slices.Contains(lines[dir], line) {
				lines[dir] = append(lines[dir], line)
			}
		}
	}
	for dir, all := range lines {
		slices.Sort(all)
		p.copies = append(p.copies, copyOf{path: dir + "/" + attributesName, data: []byte(strings.Join(all, "\n") + "\n"), folder: dir + "/" + attributesName})
	}
	slices.SortFunc(p.copies, func(a, b copyOf) int { return strings.Compare(a.path, b.path) })
}

func cutLast(p string) (dir, name string, ok bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", "", false
	}
	return p[:i], p[i+1:], true
}

func isSkills(dir string) bool { return dir == "skills" || strings.HasSuffix(dir, "/skills") }
