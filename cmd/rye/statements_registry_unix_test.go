//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// A guild is a registry and its people: rita holds the root, alice owns acme, oscar and mia are
// members of it, otto owns other, fred is nobody yet, and bob reads. The registry lies on
// rita's machine, and every machine can be set back to a stage.
type guild struct {
	t      *testing.T
	origin string
	mirror string // a copy of the registry that bob asks, too, in the stage "mirrored"
	people map[string]*machine
	stages map[string]map[string]map[string]file
	eve    trust.Signer // whose key nobody knows
	keys   map[string]trust.Signer
	lines  map[shown]bool
}

const otherLog = "refs/heads/ns/other"

func (g *guild) rita() *machine  { return g.people["rita"] }
func (g *guild) alice() *machine { return g.people["alice"] }
func (g *guild) oscar() *machine { return g.people["oscar"] }
func (g *guild) otto() *machine  { return g.people["otto"] }
func (g *guild) fred() *machine  { return g.people["fred"] }
func (g *guild) bob() *machine   { return g.people["bob"] }

func newGuild(t *testing.T) *guild {
	t.Helper()
	g := &guild{t: t, people: map[string]*machine{}, stages: map[string]map[string]map[string]file{}, keys: map[string]trust.Signer{}, lines: map[shown]bool{}}
	for _, name := range []string{"rita", "alice", "oscar", "mia", "otto", "fred", "bob"} {
		g.people[name] = newReader(t)
		g.keys[name] = loadKey(t, g.people[name].home, "default")
	}
	g.origin = filepath.Join(g.rita().top(), "origin.git")
	g.mirror = filepath.Join(g.bob().top(), "mirror.git")
	g.rita().rye("registry", "init", g.origin, "--name", "main", "--namespace", "roots", "--yes")
	g.rita().rye("registry", "add", g.origin, "--name", "main", "--scope", "acme", "--scope", "other", "--yes")
	for ns, who := range map[string]*machine{"acme": g.alice(), "other": g.otto()} {
		g.rita().rye("registry", "grant", ns, who.key("default").SSH, "--yes")
	}
	for name, m := range g.people {
		if name != "rita" {
			m.rye("registry", "add", g.origin, "--name", "main", "--scope", "acme", "--scope", "other", "--yes")
		}
	}
	g.otto().knowledge("other/b", "text 0")
	g.otto().rye("push", "knowledge:other/b", "--yes")
	g.alice().pushes("a", "c") // 2
	for _, name := range []string{"oscar", "mia"} {
		g.alice().rye("registry", "members", "acme", "--add", g.people[name].asksToJoin(), "--yes") // 3, 4
	}
	g.oscar().pushes("good")  // 5
	g.oscar().pushes("since") // 6
	for _, name := range []string{"acme/knowledge/a", "acme/knowledge/c", "acme/knowledge/good", "acme/knowledge/since", "other/knowledge/b"} {
		g.bob().rye("add", name, "--yes")
	}
	g.alice().rye("revoke", "acme/knowledge/c@1.0.0", "--reason", "wrong", "--yes") // 7
	g.bob().rye("fetch")
	for _, m := range g.people {
		m.save()
	}
	g.keep("now")
	testkit.CopyDir(t, g.origin, g.mirror)
	g.bob().rye("registry", "mirror", "add", "main", g.mirror, "--yes")
	g.keep("mirrored")
	g.enter("now")
	g.revokesOscar() // 8
	g.bob().rye("fetch")
	g.keep("stolen")
	var err error
	if g.eve, err = trust.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	return g
}

// in lets a subtest report.
func (g *guild) in(t *testing.T) {
	g.t = t
	for _, m := range g.people {
		m.t = t
	}
}

// asksToJoin returns what a member of acme lets this person in with.
func (h *home) asksToJoin() string {
	h.t.Helper()
	return (&mate{h, h.dir}).joins("acme")
}

// pushes signs items of acme and publishes them.
func (h *home) pushes(names ...string) {
	h.t.Helper()
	args := []string{"push", "--yes"}
	for _, name := range names {
		h.publishable(name, 0)
		args = append(args, "knowledge:acme/"+name)
	}
	h.rye(args...)
}

// keep remembers every machine as it is; enter sets all back.
func (g *guild) keep(stage string) {
	g.stages[stage] = map[string]map[string]file{}
	for name, m := range g.people {
		g.stages[stage][name] = m.files()
	}
}

func (g *guild) enter(stage string) {
	for name, m := range g.people {
		m.saved = g.stages[stage][name]
		m.restore()
	}
}

func (g *guild) key(who string) trust.Signer { return g.keys[who] }

// A claim is a column: what a statement about acme would do.
type claim struct {
	name    string
	tells   func(g *guild, m *machine) shown                      // somebody's own program states it
	genuine func(g *guild) (ref string)                           // somebody who may states it, so that another can sign it
	spoil   func(g *guild, h *registrytest.Host, c *store.Commit) // changes what is signed anew; nil for nothing
	done    func(g *guild) bool                                   // it has its effect at bob's
	refused func(g *guild) shown                                  // how bob's rye refuses it, where nothing else did
}

// forge lets the newest operation of a log be signed by a key.
func (c claim) forge(g *guild, dir, ref string, key trust.Signer) {
	g.t.Helper()
	h := registrytest.Open(g.t, dir)
	h.Forge(ref, registrytest.By(g.t, key), func(op *store.Commit) {
		if c.spoil != nil {
			c.spoil(g, h, op)
		}
	})
}

// tells states something by a command.
func tells(args ...string) func(*guild, *machine) shown {
	return func(_ *guild, m *machine) shown { return m.shows(append(args, "--yes")...) }
}

// byPerson lets somebody state a thing who may.
func byPerson(who, ref string, args ...string) func(*guild) string {
	return func(g *guild) string {
		g.people[who].rye(append(args, "--yes")...)
		return ref
	}
}

// about states something that names somebody: who asks to join, or whose key it is.
func about(what func(*guild) string, args ...string) (func(*guild, *machine) shown, func(*guild) string) {
	return func(g *guild, m *machine) shown { return m.shows(append(args, what(g), "--yes")...) },
		func(g *guild) string {
			g.alice().rye(append(args, what(g), "--yes")...)
			return logRef
		}
}

func fredsRequest(g *guild) string { return g.fred().asksToJoin() }
func miasKey(g *guild) string      { return g.key("mia").Public().Fingerprint().String() }

func claims() []claim {
	revoke := func(name string) []string { return []string{"revoke", name, "--reason", "x"} }
	transfer, transferred := about(fredsRequest, "registry", "transfer", "acme")
	add, added := about(fredsRequest, "registry", "members", "acme", "--add")
	retire, retired := about(miasKey, "registry", "members", "acme", "--retire")
	fredOwns := func(g *guild) bool { return g.binds("fred", trust.Current) }
	return []claim{
		{
			name:  "stop an item of its own namespace",
			tells: tells(revoke("acme/knowledge/a@1.0.0")...), genuine: byPerson("alice", logRef, revoke("acme/knowledge/a@1.0.0")...),
			done: func(g *guild) bool { return g.refuses("acme/a") },
		},
		{
			name:  "stop an item of another namespace",
			tells: tells(revoke("other/knowledge/b@1.0.0")...), genuine: byPerson("otto", otherLog, revoke("other/knowledge/b@1.0.0")...),
			done: func(g *guild) bool { return g.refuses("other/b") },
		},
		{
			name:    "bring back what was revoked",
			tells:   tells("yank", "--undo", "acme/knowledge/c@1.0.0"),
			done:    func(g *guild) bool { return !g.refuses("acme/c") },
			refused: func(g *guild) shown { return g.bob().looks("run", "knowledge:acme/c") },
		},
		{
			name: "other bytes under a published version",
			tells: func(g *guild, m *machine) shown {
				m.write(".ai/knowledge/acme/a.md", strings.Replace(g.alice().read(".ai/knowledge/acme/a.md"), "text 0", "text 9", 1))
				m.rye("sign", "knowledge:acme/a", "--yes")
				return m.shows("push", "knowledge:acme/a", "--yes")
			},
			genuine: func(g *guild) string {
				g.alice().pushes("d")
				g.bob().rye("add", "acme/knowledge/d", "--yes")
				g.alice().write(".ai/knowledge/acme/d.md", strings.Replace(g.alice().read(".ai/knowledge/acme/d.md"), "text 0", "text 9", 1))
				g.alice().rye("sign", "knowledge:acme/d")
				return logRef
			},
			spoil: func(g *guild, h *registrytest.Host, op *store.Commit) {
				text := g.alice().read(".ai/knowledge/acme/d.md")
				h.Replace(op, "acme/knowledge/d@1.0.0", "knowledge/acme/d.md", text, signedAt(text))
			},
			done: func(g *guild) bool {
				g.bob().shows("update", "--yes")
				for _, name := range []string{"a", "d"} {
					if text, _ := g.bob().status("load", "knowledge:acme/"+name); strings.Contains(text, "text 9") {
						return true
					}
				}
				return false
			},
		},
		{name: "other owners", tells: func(g *guild, m *machine) shown {
			if m == g.rita() { // who grants it, as nobody else can
				m.rye("registry", "grant", "acme", g.key("fred").Public().Authorized(), "--yes")
				m = g.fred()
				return m.shows("registry", "members", "acme", "--join", "--yes")
			}
			return transfer(g, m)
		}, genuine: transferred, done: fredOwns},
		{name: "another signer", tells: add, genuine: added, done: fredOwns},
		{name: "a signer taken back", tells: retire, genuine: retired, done: func(g *guild) bool { return g.binds("mia", trust.Retired) }},
	}
}

// refuses reports whether bob's rye refuses an item as revoked.
func (g *guild) refuses(id string) bool {
	g.t.Helper()
	s := g.bob().looks("run", "knowledge:"+id)
	if s.exit != 0 && s.exit != 12 {
		g.t.Errorf("execute knowledge:%s: %v", id, s)
	}
	return s.exit == 12
}

// binds reports whether bob's rye knows somebody's key for acme, in a state.
func (g *guild) binds(who string, state trust.KeyState) bool {
	g.t.Helper()
	return strings.Contains(g.bob().trustFile(), fmt.Sprintf("%s\n        state: %s\n", g.key(who).Public().Authorized(), state))
}

// told lets bob ask, and returns whether he now has what a claim would do.
func (g *guild) told(c claim) string {
	g.t.Helper()
	before := g.bob().files()
	s := g.bob().shows("fetch")
	if s.exit != 0 {
		list := slices.DeleteFunc(g.bob().changed(before), func(path string) bool { return strings.Contains(path, "/.cache/") || remembers(path) })
		if len(list) > 0 { // what the root and other namespaces show is verified, and remembered
			g.t.Errorf("rye fetch, status %d: changed %v", s.exit, list)
		}
	}
	if c.done(g) {
		if s.exit != 0 {
			g.t.Errorf("%s has its effect, and rye fetch fails: %v", c.name, s)
		}
		return "yes"
	}
	return g.no(c, s)
}

// no is the cell of what has no effect, by how it was refused.
func (g *guild) no(c claim, s shown) string {
	g.t.Helper()
	if s.exit == 0 && c.refused != nil {
		s = c.refused(g)
	}
	verdict := "no"
	if s.asks {
		verdict, s.command = "asks", s.command+" asks"
	}
	g.lines[s] = true
	return fmt.Sprintf("%s (%d)", verdict, s.exit)
}

// says is the cell of somebody with a key: by their own program, and where that refuses, by an
// operation of somebody else's that they sign, and a host that serves it.
func (g *guild) says(c claim, who, stage string) string {
	g.t.Helper()
	g.enter(stage)
	own := c.tells(g, g.people[who])
	if own.exit == 0 {
		return g.told(c)
	}
	if c.genuine == nil {
		if g.bob().shows("fetch"); c.done(g) {
			g.t.Errorf("%s by %s failed and has its effect", c.name, who)
		}
		return g.no(c, own)
	}
	g.enter(stage)
	c.forge(g, g.origin, c.genuine(g), g.key(who))
	return g.told(c)
}

// serves is the cell of a host, or of a mirror, that has no key.
func (g *guild) serves(c claim, stage string) string {
	g.t.Helper()
	g.enter(stage)
	dir, was := g.origin, ""
	if stage == "mirrored" {
		dir, was = g.mirror, filepath.Join(g.t.TempDir(), "was")
		testkit.CopyDir(g.t, g.origin, was)
	}
	switch {
	case c.genuine != nil:
		ref := c.genuine(g)
		if was != "" {
			testkit.CopyDir(g.t, g.origin, g.mirror)
			testkit.CopyDir(g.t, was, g.origin)
		}
		c.forge(g, dir, ref, g.eve)
	default: // the log as it was before
		h := registrytest.Open(g.t, dir)
		h.Set(logRef, h.Commit(h.At(logRef)).Parents[0])
	}
	return g.told(c)
}

// A theft is a row of what somebody with a member's key does to bob's use of an item, before
// the owner revokes the key from operation 6 on, and after.
type theft struct {
	name  string
	plays func(g *guild, revoked bool) shown
}

var thefts = []theft{
	{"a version that the key published before the named position", func(g *guild, _ bool) shown { return g.bob().looks("run", "knowledge:acme/good") }},
	{"a version that it published from there on", func(g *guild, _ bool) shown { return g.bob().looks("run", "knowledge:acme/since") }},
	{"a version that the thief publishes now", func(g *guild, _ bool) shown {
		g.oscar().publishable("new", 0)
		if s := g.oscar().shows("push", "knowledge:acme/new", "--yes"); s.exit != 0 {
			return s
		}
		return g.bob().shows("add", "acme/knowledge/new", "--yes")
	}},
	{"a file of the namespace in the reader's project, signed by the thief", func(g *guild, _ bool) shown {
		g.oscar().knowledge("acme/file", "text 0")
		g.bob().write(".ai/knowledge/acme/file.md", g.oscar().read(".ai/knowledge/acme/file.md"))
		return g.bob().looks("run", "knowledge:acme/file")
	}},
	{"an item by a key that the thief let in", func(g *guild, revoked bool) shown {
		g.enter("now")
		g.oscar().rye("registry", "members", "acme", "--add", g.fred().asksToJoin(), "--yes")
		g.fred().pushes("freds")
		g.bob().rye("add", "acme/knowledge/freds", "--yes")
		if revoked {
			g.revokesOscar()
			g.bob().rye("fetch")
		}
		return g.bob().looks("run", "knowledge:acme/freds")
	}},
}

// revokesOscar lets the owner revoke the stolen key from operation 6 on.
func (g *guild) revokesOscar() {
	g.t.Helper()
	g.alice().rye("registry", "revoke-key", "acme", g.key("oscar").Public().Fingerprint().String(), "--from", "6", "--reason", "stolen", "--yes")
}

// steals measures the table of what a thief can do.
func (g *guild) steals() {
	cells := map[[2]string]string{}
	for _, d := range thefts {
		for _, at := range []struct{ column, stage string }{{"before the key is revoked", "now"}, {"after, once the reader fetched", "stolen"}} {
			g.enter(at.stage)
			s := d.plays(g, at.stage == "stolen")
			cell := "runs"
			if s.exit != 0 {
				cell = fmt.Sprintf("refused (%d)", s.exit)
			}
			cells[[2]string{d.name, at.column}] = cell
		}
	}
	compare(g.t, "### What a thief with a member's key can do", cells)
}

func TestWhoStatesWhatInARegistry(t *testing.T) {
	t.Parallel()
	g := newGuild(t)
	cells := map[[2]string]string{}
	for _, c := range claims() {
		for _, a := range []struct{ name, who, stage string }{
			{"owner", "alice", "now"}, {"member", "oscar", "now"}, {"member whose key was revoked", "oscar", "stolen"}, {"root", "rita", "now"},
			{"host", "", "now"}, {"mirror", "", "mirrored"},
		} {
			t.Run(a.name+"/"+c.name, func(t *testing.T) {
				g.in(t)
				cell := ""
				if a.who == "" {
					cell = g.serves(c, a.stage)
				} else {
					cell = g.says(c, a.who, a.stage)
				}
				cells[[2]string{a.name, c.name}] = cell
			})
		}
	}
	t.Run("a thief", func(t *testing.T) {
		g.in(t)
		g.steals()
	})
	compare(t, "### Who can state what about whom, in a registry", cells)
	compareLines(t, "What each refusal reports:", g.lines)
}
