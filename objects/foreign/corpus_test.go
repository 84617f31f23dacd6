package foreign_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/fieldcorpus"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
)

// treeOf returns a version of a repository of the corpus as a source hands it over.
func treeOf(name string, files []fieldcorpus.File) foreign.Tree {
	t := foreign.Tree{Name: name, Origin: objects.Origin{Source: "https://example.org/" + name + ".git"}}
	for _, f := range files {
		switch {
		case strings.HasSuffix(f.Path, "/"):
		case f.Link != "":
			t.Links = append(t.Links, foreign.Link{Path: f.Path, Target: f.Link})
		default:
			t.Files = append(t.Files, foreign.File{Path: f.Path, Data: f.Data, Executable: f.Exec})
		}
	}
	return t
}

// outcome is what came of a tree.
type outcome struct {
	by    map[string]foreign.Found // skills, by their folder in the tree
	named map[string]foreign.Passed
	all   []foreign.Found
}

func read(t *testing.T, tree foreign.Tree) outcome {
	t.Helper()
	found, passed, err := foreign.Read(tree, foreign.Wish{Namespace: "acme"})
	if err != nil {
		t.Fatalf("%s: %v", tree.Name, err)
	}
	o := outcome{by: map[string]foreign.Found{}, named: map[string]foreign.Passed{}, all: found}
	for _, f := range found {
		if f.What == "Agent Skill" {
			o.by[f.From] = f
		}
	}
	for _, p := range passed {
		if p.Why == "" {
			t.Errorf("%s: %q is skipped without a reason", tree.Name, p.Path)
		}
		if _, twice := o.named[p.Path]; !twice {
			o.named[p.Path] = p
		}
	}
	return o
}

// nameOf returns how a path is named; "" where it is not.
func (o outcome) nameOf(p string) string {
	for at := p; at != "."; at = path.Dir(at) {
		if n, ok := o.named[at]; ok {
			return n.Why
		}
		if n, ok := o.named[path.Join(at, "SKILL.md")]; ok && n.Code != "" && o.by[at].Dir == "" {
			return n.Why // the whole folder is refused
		}
	}
	return ""
}

// TestCorpus: every usable skill of the corpus comes in with its bytes and modes, or with a name
// for each file that a bundle cannot hold. Every other one is named.
func TestCorpus(t *testing.T) {
	skills, files := 0, 0
	for _, repo := range fieldcorpus.Repositories() {
		tree := treeOf(repo.Name, repo.Versions[0])
		o := read(t, tree)
		for _, s := range repo.Skills {
			if why := checkSkill(o, repo, s); why != "" {
				t.Errorf("%s: %s (usable %v, %q, warning %q): %s", repo.Name, s.Dir, s.Usable, s.Why, s.Warn, why)
			}
			skills++
			files += len(s.Files)
		}
	}
	t.Logf("%d skills, %d files", skills, files)
}

// checkSkill returns what is wrong with what became of a skill.
func checkSkill(o outcome, repo fieldcorpus.Repository, s fieldcorpus.Skill) string {
	got, in := o.by[s.Dir]
	if !s.Usable {
		if in {
			return "it came in as " + got.Ref.String()
		}
		if o.nameOf(path.Join(s.Dir, "SKILL.md")) == "" {
			return "nothing names it"
		}
		return ""
	}
	if !in {
		why := o.nameOf(s.Dir)
		if strings.HasPrefix(why, "the same files as ") || strings.HasPrefix(why, "a link to ") {
			return ""
		}
		return fmt.Sprintf("it did not come in: %q", o.nameOf(path.Join(s.Dir, "SKILL.md")))
	}
	have := map[string]foreign.File{}
	for _, f := range got.Files {
		have[strings.TrimPrefix(f.Path, got.Dir+"/")] = f
	}
	at := map[string]fieldcorpus.File{}
	for _, f := range repo.Versions[0] {
		at[f.Path] = f
	}
	for _, p := range s.Files {
		rel := p
		if s.Dir != "." {
			rel = strings.TrimPrefix(p, s.Dir+"/")
		}
		f, ok := have[objects.NormalMember(rel)]
		if _, two := at[path.Join(s.Dir, "SKILL.md")]; !ok && !two && strings.EqualFold(rel, "SKILL.md") {
			f, ok = have["SKILL.md"]
		}
		switch want := at[p]; {
		case want.Link != "":
			if !ok && o.nameOf(p) == "" && !holdsBelow(have, rel) {
				return "nothing names the link " + p
			}
		case !ok:
			if o.nameOf(p) == "" {
				return fmt.Sprintf("nothing names %q", p)
			}
		case string(f.Data) != string(want.Data) || f.Executable != want.Exec:
			return fmt.Sprintf("%q differs", p)
		}
	}
	return ""
}

func holdsBelow(have map[string]foreign.File, rel string) bool {
	for p := range have {
		if strings.HasPrefix(p, rel+"/") {
			return true
		}
	}
	return false
}

// TestCorpusVersions: in every version, every regular file is in what came of the tree, byte for byte,
// or is named.
func TestCorpusVersions(t *testing.T) {
	for _, repo := range fieldcorpus.Repositories() {
		for v, files := range repo.Versions {
			tree := treeOf(repo.Name, files)
			o := read(t, tree)
			in := map[string]bool{}
			ids := map[string]bool{}
			for _, f := range o.all {
				if ids[f.Ref.String()] {
					t.Errorf("%s, version %d: two are called %s", repo.Name, v+1, f.Ref)
				}
				ids[f.Ref.String()] = true
				for _, file := range f.Files {
					in[string(file.Data)] = true
				}
			}
			for _, f := range tree.Files {
				if !in[string(f.Data)] && o.nameOf(f.Path) == "" {
					t.Errorf("%s, version %d: %q is lost without a word", repo.Name, v+1, f.Path)
				}
			}
		}
	}
}
