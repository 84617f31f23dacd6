package foreign

import (
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Links inside a source are followed, because collections keep one folder and link it to the
// places where clients look. A link that leaves the source, and one that leads into itself, is
// refused by name. So is a link in place of a SKILL.md, which no client reads.

// Bounds of links, against a few links that make many paths.
const (
	maxHops    = 40     // links that one path goes through
	maxThrough = 20000  // files that are reached through links
	maxSteps   = 200000 // folders and files that are looked at for that
)

// linked is the tree with its links followed: every path at which a client would find a file.
type linked struct {
	files []File            // sorted by path; those behind links too
	real  map[string]string // for a path behind a link: the path of the file in the tree
	dirs  map[string]string // for a link to a folder: the folder's path in the tree
	bad   []Passed          // links that are not followed
}

// follow resolves the links of a tree.
func follow(t Tree) *linked {
	w := &walker{links: map[string]Link{}, files: map[string]File{}, below: map[string][]string{}, refused: map[Passed]bool{}}
	w.out = &linked{real: map[string]string{}, dirs: map[string]string{}}
	for _, f := range t.Files {
		w.files[f.Path] = f
		w.enter(f.Path)
	}
	for _, l := range t.Links {
		w.links[l.Path] = l
		w.enter(l.Path)
	}
	w.out.files = slices.Clone(t.Files)
	for _, l := range t.Links {
		w.link(l)
	}
	slices.SortFunc(w.out.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return w.out
}

type walker struct {
	links   map[string]Link
	files   map[string]File
	below   map[string][]string // the names in each folder, as paths
	through int
	steps   int
	refused map[Passed]bool
	out     *linked
}

// enter notes a path in its folder, and the folder in the one above.
func (w *walker) enter(p string) {
	for p != "." {
		dir := path.Dir(p)
		if _, there := w.below[dir]; there {
			w.below[dir] = append(w.below[dir], p)
			return
		}
		w.below[dir] = []string{p}
		p = dir
	}
}

func (w *walker) refuse(p, why string, code fault.Code) {
	if bad := (Passed{Path: p, Why: why, Code: code}); !w.refused[bad] {
		w.refused[bad] = true
		w.out.bad = append(w.out.bad, bad)
	}
}

// link follows one link of the tree.
func (w *walker) link(l Link) {
	switch {
	case l.Module:
		w.refuse(l.Path, "another repository (a submodule), which is not fetched", fault.NotFound)
		return
	case path.Base(l.Path) == objects.SkillFile:
		w.refuse(l.Path, "a link in place of a SKILL.md, which clients do not read", fault.Malformed)
		return
	}
	real, why := w.resolve(l.Path)
	if why != "" {
		w.refuse(l.Path, why, fault.Malformed)
		return
	}
	if f, ok := w.files[real]; ok {
		w.add(l.Path, f)
		return
	}
	w.out.dirs[l.Path] = real
	w.copy(l.Path, real, []string{path.Dir(l.Path)}, l.Path)
}

// resolve returns the path in the tree that p leads to, or why it leads to none.
func (w *walker) resolve(p string) (real, why string) {
	rest, at := strings.Split(p, "/"), "."
	for hops := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", "a link that leaves the source"
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		l, is := w.links[next]
		if !is || l.Module {
			at = next
			continue
		}
		if hops++; hops > maxHops {
			return "", "a link that leads to itself"
		}
		if strings.HasPrefix(l.Target, "/") || strings.ContainsAny(l.Target, "\\\x00") || len(l.Target) > 1 && l.Target[1] == ':' {
			return "", "a link that leaves the source"
		}
		rest = append(strings.Split(l.Target, "/"), rest...)
	}
	if _, file := w.files[at]; !file && w.below[at] == nil {
		return "", "a link that leads to nothing"
	}
	return at, ""
}

// copy adds the files below the folder real at the path to. within are the folders that are being
// copied: a link to one of them, or to a folder above, would never end.
func (w *walker) copy(to, real string, within []string, from string) {
	for _, dir := range within {
		if dir == real || real == "." || strings.HasPrefix(dir, real+"/") {
			w.refuse(from, "a link to a folder that holds it", fault.Malformed)
			return
		}
	}
	within = append(within[:len(within):len(within)], real)
	for _, p := range w.below[real] {
		if w.steps++; w.steps > maxSteps {
			w.refuse(from, "too many folders are reached through links", fault.Limit)
			return
		}
		at := path.Join(to, path.Base(p))
		if f, ok := w.files[p]; ok {
			w.add(at, f)
			continue
		}
		l, is := w.links[p]
		if !is {
			w.copy(at, p, within[:len(within)-1], from)
			continue
		}
		if l.Module || path.Base(p) == objects.SkillFile {
			continue // it is named once, at its own path
		}
		end, why := w.resolve(p)
		if why != "" {
			continue
		}
		if f, ok := w.files[end]; ok {
			w.add(at, f)
			continue
		}
		w.copy(at, end, within, from)
	}
}

func (w *walker) add(p string, f File) {
	if w.through++; w.through > maxThrough {
		if w.through == maxThrough+1 {
			w.refuse(p, words.Plural(maxThrough, "file")+" are reached through links, and no more are followed", fault.Limit)
		}
		return
	}
	w.out.real[p] = f.Path
	w.out.files = append(w.out.files, File{Path: p, Data: f.Data, Executable: f.Executable})
}
