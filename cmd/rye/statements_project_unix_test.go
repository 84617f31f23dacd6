//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A team shares a project by git. Ann and bob sign in acme/ and eve in other/; dan did, until
// ann removed him; col pushes and signs nothing that anybody granted. Cat reads: she granted
// what was declared, and has items of her own in mine/. She has another project, and one that
// states this one's id; in both sam's key has acme/ and other/ too.
type team struct {
	t     *testing.T
	mates map[string]*mate
	saved map[string]*machine // of each
	asked string              // the digest of what cat's project asks for
	lines map[shown]bool
}

func (g *team) mate(name string) *mate { return g.mates[name] }
func (g *team) cat() *mate             { return g.mates["cat"] }

// note writes an item that says a text.
func (m *mate) note(id, text string) {
	m.t.Helper()
	ns, name, _ := strings.Cut(id, "/")
	m.write(".ai/knowledge/"+id+".md", fmt.Sprintf("---\nname: %s\ntitle: T\nversion: 1.0.0\nentry_type: reference\ncategory: %s\ntags: [a]\n---\n\n%s\n", name, ns, text))
	m.rye("sign", "knowledge:"+id, "--yes")
}

// shares commits what is there.
func (m *mate) shares(message string) {
	m.t.Helper()
	m.git("add", "--all")
	m.git("commit", "--quiet", "--allow-empty", "-m", message)
}

// gets takes over what somebody shared.
func (m *mate) gets(from *mate) {
	m.t.Helper()
	m.git("pull", "--quiet", "--no-edit", from.dir, "main")
}

// agrees grants what the directory asks for.
func (m *mate) agrees() { m.rye("trust", "--accept", m.asked()) }

func newTeam(t *testing.T) *team {
	t.Helper()
	g := &team{t: t, mates: map[string]*mate{}, saved: map[string]*machine{}, lines: map[shown]bool{}}
	ann := newMate(t, "ann", "")
	g.mates["ann"] = ann
	ann.rye("init", "--namespace", "acme")
	ann.shares("empty")
	for _, name := range []string{"bob", "eve", "dan", "sam", "col", "cat"} {
		m := newMate(t, name, ann.dir)
		g.mates[name] = m
		m.rye("key", "new")
		m.agrees()
	}
	ann.note("acme/a", "text 0")
	ann.note("acme/c", "bad")
	ann.shares("ann's")
	last := ann
	for _, by := range []struct{ name, id string }{{"bob", "acme/b"}, {"eve", "other/e"}, {"dan", "acme/d"}, {"cat", "mine/m"}} {
		m := g.mate(by.name)
		m.gets(last)
		m.note(by.id, "text 0")
		m.shares(by.name + "'s")
		last = m
	}
	cat := g.cat()
	cat.git("tag", "bad")
	cat.agrees()
	cat.rye("run", "knowledge:acme/d")
	ann.gets(cat)
	ann.agrees()
	ann.rye("trust", "deny", ann.digestOf(".ai/knowledge/acme/c.md"), "--share")
	ann.note("acme/c", "good")
	ann.rye("trust", "unpin", g.mate("dan").key("default").Fingerprint, "--namespace", "acme")
	ann.shares("the bad version and dan are gone")
	cat.gets(ann)
	cat.rye("run", "knowledge:mine/m") // and keeps the denial

	sam := g.mate("sam").key("default")
	for dir, id := range otherTrees {
		in := g.at(dir)
		cat.git("clone", "--quiet", cat.dir, in.dir)
		if id != "" {
			in.write(".ai/rye.yaml", strings.Replace(in.read(".ai/rye.yaml"), projectID(in.home), id, 1))
		}
		in.agrees()
		in.rye("trust", "pin", sam.SSH, "--namespace", "acme", "--namespace", "other", "--space", "project", "--fingerprint", sam.Fingerprint, "--yes")
		in.shares("sam signs here")
	}
	for name, m := range g.mates {
		if name != "cat" {
			m.gets(cat)
			m.git("fetch", "--quiet", cat.dir, "tag", "bad")
			m.agrees()
		}
		g.saved[name] = &machine{home: m.home}
		g.saved[name].save()
	}
	g.asked = cat.asked()
	return g
}

// otherTrees are cat's other directories, with the id of the project where it is another.
var otherTrees = map[string]string{"other": strings.Repeat("7", 32), "twin": ""}

// at returns cat in another directory.
func (g *team) at(dir string) *mate { return &mate{g.cat().home.at(g.cat().beside(dir)), "cat"} }

// A word is a column: what somebody writes into the files of a project, and what it does to cat.
type word struct {
	name   string
	writes func(g *team, m *mate)
	ref    string
	did    func(s shown, text string) bool
	comes  func(g *team, m *mate) // what cat gets besides, in her project
}

func did(exit int) func(shown, string) bool {
	return func(s shown, _ string) bool { return s.exit == exit }
}

func deniesShared(path string) func(*team, *mate) {
	return func(_ *team, m *mate) { m.rye("trust", "deny", m.digestOf(path), "--share") }
}

// bringsBack lets a tree have the version that was taken back, and no denial.
func bringsBack(_ *team, m *mate) {
	m.git("checkout", "--quiet", "bad", "--", ".ai/knowledge/acme/c.md")
	must(m.t, os.Remove(filepath.Join(m.dir, ".ai", "denied")))
}

var projectWords = []word{
	{name: "stop an item of its own namespace", writes: deniesShared(".ai/knowledge/acme/a.md"), ref: "acme/a", did: did(12)},
	{name: "stop an item of another namespace", writes: deniesShared(".ai/knowledge/other/e.md"), ref: "other/e", did: did(12)},
	{name: "bring back what was taken back", writes: bringsBack, ref: "acme/c", did: func(s shown, text string) bool { return strings.Contains(text, "bad") }, comes: bringsBack},
	{name: "other bytes of an item", writes: func(_ *team, m *mate) { m.note("acme/b", "text 9") }, ref: "acme/b", did: func(s shown, text string) bool { return strings.Contains(text, "text 9") }},
	{name: "other owners", writes: func(_ *team, m *mate) {
		m.write(".ai/rye.yaml", m.read(".ai/rye.yaml")+"registries:\n  main:\n    url: "+filepath.Join(m.dir, "none")+"\n    id: sha256:"+strings.Repeat("0", 64)+"\n    roots: ["+m.key("default").Fingerprint+"]\nscopes:\n  acme: main\n")
	}, ref: "acme/a", did: func(s shown, text string) bool { return false }},
	{name: "another signer", writes: func(g *team, m *mate) {
		who := g.mate("sam")
		if m.name == "dan" {
			who = m // who was removed, and declares himself
		}
		m.write(".ai/allowed_signers", m.read(".ai/allowed_signers")+"acme namespaces=\"git\" "+who.key("default").SSH+"\n")
		who.note("acme/f", "text 0")
		m.write(".ai/knowledge/acme/f.md", who.read(".ai/knowledge/acme/f.md"))
	}, ref: "acme/f", did: did(0), comes: func(g *team, m *mate) {
		m.write(".ai/knowledge/acme/f.md", g.mate("sam").read(".ai/knowledge/acme/f.md"))
	}},
	{name: "a signer taken back", writes: func(g *team, m *mate) {
		declared := m.read(".ai/allowed_signers")
		m.rye("trust", "unpin", g.mate("bob").key("default").Fingerprint, "--namespace", "acme")
		if m.name == "dan" { // whose signed line somebody takes over, and nothing else
			m.write(".ai/allowed_signers", m.read(".ai/allowed_signers")+declared)
		}
	}, ref: "acme/b", did: did(11)},
}

// states lets somebody write a word, brings it to cat, and returns the cell.
func (g *team) states(w word, who, way string) string {
	g.t.Helper()
	m, cat := g.mate(who), g.cat()
	at := cat
	if _, ok := otherTrees[way]; ok {
		at = g.at(way)
		m.git("pull", "--quiet", "--no-edit", at.dir, "HEAD")
		m.agrees()
	}
	w.writes(g, m)
	m.shares(w.name)
	switch way {
	case "pull":
		cat.gets(m)
	case "branch":
		cat.git("fetch", "--quiet", m.dir, "main")
		cat.git("checkout", "--quiet", "FETCH_HEAD")
	default:
		at.gets(m)
		at.shows("run", "knowledge:mine/m") // and keeps
		if w.comes != nil {
			w.comes(g, cat)
		}
	}
	cell := g.finds(w)
	if way == "branch" { // and what it did ends with it
		cat.git("checkout", "--quiet", "main")
		if s := cat.shows("run", "knowledge:"+w.ref); s.exit != 0 && w.ref != "acme/f" {
			g.t.Errorf("%s, back on main: %v", w.name, s)
		}
	}
	if s := cat.shows("run", "knowledge:mine/m"); s.exit != 0 {
		g.t.Errorf("%s stopped an item of the reader's own: %v", w.name, s)
	}
	return cell
}

// finds returns the cell of a word that was brought to cat. Looking changes no file.
func (g *team) finds(w word) string {
	g.t.Helper()
	cat := &machine{home: g.cat().home}
	looked := cat.looks("load", "knowledge:"+w.ref)
	s, text := cat.prints("run", "knowledge:"+w.ref)
	if looked.exit != s.exit {
		g.t.Errorf("load %s: %v, execute: %v", w.ref, looked, s)
	}
	if w.name == "other owners" {
		s = cat.looks("fetch")
	}
	verdict := "no"
	switch {
	case w.did(s, text):
		verdict = "yes"
	case s.exit == 11 && g.cat().asked() != g.asked:
		verdict = "asks"
	}
	if s.exit == 0 {
		return verdict
	}
	s.command += ", " + w.name
	g.lines[s] = true
	return fmt.Sprintf("%s (%d)", verdict, s.exit)
}

// TestWhoStatesWhatInAProject compares the table of docs/security.md with what each statement
// does to a reader who gets it by git.
func TestWhoStatesWhatInAProject(t *testing.T) {
	t.Parallel()
	g := newTeam(t)
	cells := map[[2]string]string{}
	for _, a := range []struct{ name, who, way string }{
		{"author", "ann", "pull"}, {"colleague", "col", "pull"}, {"unmerged branch, while it is checked out", "col", "branch"}, {"past signer", "dan", "pull"},
		{"signer of another project of the reader's", "sam", "other"}, {"signer of a project that states the same id", "sam", "twin"},
		{"author, in a project that states the same id", "ann", "twin"},
	} {
		for _, w := range projectWords {
			t.Run(a.name+"/"+w.name, func(t *testing.T) {
				g.t = t
				for _, m := range g.saved {
					m.t = t
				}
				defer func() {
					for _, m := range g.saved {
						m.restore()
					}
				}()
				cells[[2]string{a.name, w.name}] = g.states(w, a.who, a.way)
			})
		}
	}
	compare(t, "### Who can state what about whom, in a project", cells)
	compareLines(t, "What the reader is shown:", g.lines)
}
