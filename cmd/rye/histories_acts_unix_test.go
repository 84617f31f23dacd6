//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/objects"
)

// A historyAct is one step that somebody takes. Each word behind its name is one of a list.
type historyAct struct {
	name   string
	weight int
	words  [][]string
	do     func(w *world, o *oracle, words []string)
}

var (
	branches = []string{"main", "main", "b1", "b2"}
	atPlaces = []string{"main", "tree", "second", "new"}
	treeRefs = []string{"tool:mine/own", "tool:mine/gone", "tool:col/c", "tool:acme/patched", "tool:acme/vendored"}
	tracked  = []string{".ai/allowed_signers", ".ai/denied", ".ai/denied-keys", ".ai/rye.lock"}
	inTree   = []string{"tool:mine/own@1.0.0", "tool:mine/own@1.1.0", "tool:mine/own@1.4.0", "tool:mine/own@1.5.0", "tool:mine/gone@1.0.0", "tool:col/c@1.0.0",
		"tool:col/c@1.1.0", "tool:col/c@1.2.0", "tool:col/c@1.3.0", "tool:acme/patched@1.0.0", "tool:acme/patched@1.1.0", "tool:acme/vendored@1.0.0", "tool:acme/vendored@1.1.0", "tool:acme/vendored@1.6.0"}
	victims = append([]string{"tool:acme/locked@1.0.0"}, inTree...)
	inUse   = []string{"tool:mine/own@1.1.0", "tool:mine/own@1.0.0", "tool:col/c@1.1.0", "tool:acme/patched@1.1.0", "tool:acme/locked@1.0.0"}
	acme    = []string{"tool:acme/locked", "tool:acme/vendored"}
)

// historyActs lists the acts of all people. A larger weight makes an act more frequent.
var historyActs = []historyAct{
	// In the registry a.
	{"publish", 3, [][]string{{"ann", "thief"}, acme, {"1", "2", "3"}}, func(w *world, o *oracle, a []string) {
		if e := w.edition(a[1], a[0], number(a[2])); e != nil {
			w.publishes(a[0], e)
		}
		w.fetches()
	}},
	{"revoke", 4, [][]string{{"ann", "thief"}, acme, {"1", "2"}}, func(w *world, o *oracle, a []string) {
		e := w.edition(a[1], "ann", number(a[2]))
		o.acts(a[0], w, e.ref, e.digest)
		w.revokes(a[0], "a", e)
		w.fetches()
	}},
	{"forge", 6, [][]string{{"ann", "thief"}, acme, inUse}, func(w *world, o *oracle, a []string) {
		e, victim := w.edition(a[1], "ann", 1), w.at(a[2])
		o.acts(a[0], w, e.ref, e.digest)
		o.acts(a[0], w, victim.ref, victim.digest)
		if w.revokes(a[0], "a", e) {
			w.forge("a", a[0], e, victim)
		}
		w.fetches()
	}},
	{"transfer", 1, [][]string{{"stranger"}}, func(w *world, o *oracle, a []string) {
		o.actsOnAll("ann", w, "acme", "")
		w.rely(w.joins(a[0]), func(request string) bool {
			_, code := w.rye("ann", w.people["ann"].dir, "registry", "transfer", "acme", request, "--yes")
			return code == 0
		})
		w.fetches()
	}},
	// In the registry b, whose operator may grant itself any namespace.
	{"op-publish", 4, [][]string{{"tool:mine/own", "tool:mine/new", "tool:col/c", "tool:acme/locked"}}, func(w *world, o *oracle, a []string) {
		w.publishes("op", w.edition(a[0], "op", 1))
		w.fetches()
	}},
	{"op-forge", 3, [][]string{inUse}, func(w *world, o *oracle, a []string) {
		e := w.edition("tool:mine/new", "op", 1)
		w.publishes("op", e)
		if w.revokes("op", "b", e) {
			w.forge("b", "op", e, w.at(a[0]))
		}
		w.fetches()
	}},
	{"add-registry", 4, [][]string{{"main", "main", "second", "tree"}}, func(w *world, o *oracle, a []string) {
		if p := w.place(a[0]); p != nil {
			w.rye("me", p.dir, "registry", "add", w.registry("b"), "--name", "b", "--yes")
			w.shares(p, "another registry")
			w.fetches()
		}
	}},
	// On branches of the reader's project, by the colleague.
	{"delete", 4, [][]string{append(tracked, inTree...), branches}, func(w *world, o *oracle, a []string) {
		w.onBranch(a[1], func(dir string) { w.git("col", dir, "rm", "-q", w.file(a[0])) })
	}},
	{"bring", 8, [][]string{inTree, branches}, func(w *world, o *oracle, a []string) {
		w.onBranch(a[1], func(dir string) { w.put(dir, w.at(a[0])) })
	}},
	{"put-back", 2, [][]string{{".ai/allowed_signers", ".ai/rye.lock"}, branches}, func(w *world, o *oracle, a []string) {
		w.onBranch(a[1], func(dir string) { w.git("col", dir, "checkout", "-q", "base", "--", a[0]) })
	}},
	{"declare", 2, [][]string{{"col", "stranger", "thief", "op"}, {"col", "mine", "acme"}, branches}, func(w *world, o *oracle, a []string) {
		w.onBranch(a[2], func(dir string) { w.declare(dir, a[0], a[1]) })
	}},
	{"deny", 6, [][]string{{"stranger", "thief", "ann", "op", "col", "col"}, victims, branches}, func(w *world, o *oracle, a []string) {
		e := w.at(a[1])
		o.acts(a[0], w, e.ref, e.digest)
		w.onBranch(a[2], func(dir string) { w.append(dir, ".ai/denied", w.denial(a[0], e)) })
	}},
	{"take-back", 4, [][]string{{"tool:col/c@1.1.0", "tool:col/c@1.2.0"}, branches}, func(w *world, o *oracle, a []string) {
		e := w.at(a[0])
		o.acts("col", w, e.ref, e.digest)
		w.onBranch(a[1], func(dir string) { w.append(dir, ".ai/denied", w.denial("col", e)) })
	}},
	{"deny-key", 3, [][]string{{"stranger", "thief", "ann", "op", "col"}, {"mine", "col", "acme"}, {"me", "col", "ann"}, branches}, func(w *world, o *oracle, a []string) {
		o.actsOnAll(a[0], w, a[1], a[2])
		w.onBranch(a[3], func(dir string) { w.append(dir, ".ai/denied-keys", w.dismissal(objects.KeyDenied, a[0], a[1], a[2])) })
	}},
	{"dismiss", 3, [][]string{{"stranger", "thief", "ann", "op", "col"}, {"mine", "col", "acme"}, {"me", "col", "ann"}, branches}, func(w *world, o *oracle, a []string) {
		o.actsOnAll(a[0], w, a[1], a[2])
		w.onBranch(a[3], func(dir string) {
			w.append(dir, ".ai/allowed_signers", w.dismissal(objects.SignerRemoved, a[0], a[1], a[2]))
		})
	}},
	{"junk", 1, [][]string{branches}, func(w *world, o *oracle, a []string) {
		w.onBranch(a[0], func(dir string) {
			w.append(dir, ".ai/denied-keys", "rye:key-denied:v9:x\nnothing\n")
			w.append(dir, ".ai/allowed_signers", "# rye:removed:v1:mine:x\n")
		})
	}},
	{"other-project", 1, [][]string{branches}, func(w *world, o *oracle, a []string) {
		w.onBranch(a[0], func(dir string) {
			w.write(dir, ".ai/rye.yaml", strings.ReplaceAll(w.read(dir, ".ai/rye.yaml"), w.id, "0123456789abcdef0123456789abcdef"))
		})
	}},
	{"merge", 2, [][]string{{"b1", "b2"}, {"main", "b1", "b2"}}, func(w *world, o *oracle, a []string) {
		w.onBranch(a[1], func(dir string) {
			w.git("col", dir, "merge", "-q", "-m", "merge", "-X", "theirs", "origin/"+a[0])
		})
	}},
	// By the reader, without an answer to any question.
	{"switch", 8, [][]string{atPlaces, branches}, func(w *world, o *oracle, a []string) {
		if p := w.place(a[0]); p != nil {
			p.branch = a[1]
			w.follow(p)
		}
	}},
	{"worktree", 2, [][]string{branches}, func(w *world, o *oracle, a []string) {
		if p := w.another(a[0]); p != nil {
			w.git("me", w.places[0].dir, "worktree", "add", "-q", "--detach", p.dir, "origin/"+a[0])
			w.day(p)
		}
	}},
	{"clone", 2, [][]string{branches}, func(w *world, o *oracle, a []string) {
		if p := w.another(a[0]); p != nil {
			w.git("me", w.top, "clone", "-q", "-b", a[0], filepath.Join(w.top, "project.git"), p.dir)
			w.day(p)
		}
	}},
	{"work", 3, [][]string{atPlaces, {"sign", "pull", "lock", "gc"}}, func(w *world, o *oracle, a []string) {
		if p := w.place(a[0]); p != nil {
			args := a[1:]
			if a[1] == "sign" {
				args = []string{"sign", "--all"}
			}
			w.rye("me", p.dir, args...)
			w.day(p)
		}
	}},
	// By the reader, who decides something.
	{"my-deny", 2, [][]string{victims}, func(w *world, o *oracle, a []string) {
		e := w.at(a[0])
		o.acts("me", w, e.ref, e.digest)
		w.rye("me", w.places[0].dir, "trust", "deny", e.digest, "--share", "--yes")
		w.shares(w.places[0], "a denial")
	}},
	{"my-rm", 2, [][]string{treeRefs}, func(w *world, o *oracle, a []string) {
		o.acts("me", w, a[0], "")
		w.rye("me", w.places[0].dir, "rm", a[0], "--yes")
		w.shares(w.places[0], "a removal")
	}},
	{"my-sign", 2, [][]string{{"3", "4"}}, func(w *world, o *oracle, a []string) {
		e := w.edition("tool:mine/own", "me", number(a[0]))
		o.acts("me", w, e.ref, "")
		w.put(w.places[0].dir, e)
		w.rye("me", w.places[0].dir, "sign", "--all")
		w.shares(w.places[0], "an edition")
	}},
	{"my-unpin", 2, nil, func(w *world, o *oracle, _ []string) {
		o.actsOnAll("me", w, "col", "col")
		w.rye("me", w.places[0].dir, "trust", "unpin", w.people["col"].key.Public().Fingerprint().String(), "--yes")
		w.shares(w.places[0], "a signer less")
	}},
	{"my-deny-key", 1, nil, func(w *world, o *oracle, _ []string) {
		o.actsOnAll("me", w, "col", "col")
		w.rye("me", w.places[0].dir, "trust", "deny", w.people["col"].key.Public().Fingerprint().String(), "--share", "--namespace", "col", "--yes")
		w.shares(w.places[0], "a key less")
	}},
	{"my-trust", 2, [][]string{atPlaces}, func(w *world, o *oracle, a []string) {
		if p := w.place(a[0]); p != nil {
			o.answered(w, p)
			w.trusts("me", p.dir)
			w.day(p)
		}
	}},
	{"my-update", 1, nil, func(w *world, o *oracle, _ []string) {
		o.acts("me", w, "tool:acme/locked", "")
		w.rye("me", w.places[0].dir, "update", "--yes")
		w.shares(w.places[0], "an update")
	}},
}

func number(s string) int { return int(s[0] - '0') }

// file returns the path that a word names: a file, or an edition's.
func (w *world) file(word string) string {
	if e := w.at(word); e != nil {
		return e.file()
	}
	return word
}

func (w *world) place(name string) *place {
	for _, p := range w.places {
		if p.name == name {
			return p
		}
	}
	return nil
}

// another returns a place to be made, nil where the history has made one.
func (w *world) another(branch string) *place {
	if w.place("new") != nil {
		return nil
	}
	p := &place{"new", filepath.Join(w.people["me"].dir, "new"), branch, false}
	w.places = append(w.places, p)
	return p
}

func (w *world) append(dir, name, text string) {
	w.t.Helper()
	w.write(dir, name, w.read(dir, name)+text)
}

func (w *world) publishes(who string, e *edition) {
	w.t.Helper()
	w.put(w.people[who].dir, e)
	w.rye(who, w.people[who].dir, "push", e.ref, "--yes")
}

func (w *world) revokes(who, registry string, e *edition) bool {
	w.t.Helper()
	name := strings.Replace(e.name(), "/", "/tool/", 1)
	_, code := w.rye(who, w.people[who].dir, "revoke", name+"@"+e.version, "--reason", "broken", "--yes")
	return code == 0
}

// onBranch lets the colleague change a branch; the reader's places on it follow.
func (w *world) onBranch(branch string, change func(dir string)) {
	w.t.Helper()
	dir := w.people["col"].dir
	w.git("col", dir, "fetch", "-q")
	w.git("col", dir, "checkout", "-q", "-f", "--detach", "origin/"+branch)
	change(dir)
	w.save("col", dir, branch, fmt.Sprintf("on %s", branch))
	for _, p := range w.places {
		if p.branch == branch {
			w.follow(p)
		}
	}
}

// shares commits and pushes the reader's changes in a place.
func (w *world) shares(p *place, what string) {
	w.t.Helper()
	w.save("me", p.dir, p.branch, what)
	for _, q := range w.places {
		if q.branch == p.branch {
			w.follow(q)
		}
	}
}

// follow brings a place to where its branch is.
func (w *world) follow(p *place) {
	w.t.Helper()
	w.git("me", p.dir, "fetch", "-q")
	w.git("me", p.dir, "checkout", "-q", "-f", "--detach", "origin/"+p.branch)
	w.day(p)
}

// day uses an item in a place. An execution keeps the denials that it sees.
func (w *world) day(p *place) {
	w.t.Helper()
	w.rye("me", p.dir, "execute", historyNoteRef)
}

// fetches lets the reader ask the registries in the first place, and use something in each.
func (w *world) fetches() {
	w.t.Helper()
	w.rye("me", w.places[0].dir, "fetch")
	for _, p := range w.places {
		w.day(p)
	}
}
