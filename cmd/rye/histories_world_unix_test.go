//go:build unix

package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// A world is a reader with three places of one project, and other people. ann owns acme/ in
// the registry a, and a thief has the key of a member. op runs the registry b. col signs in
// col/ and pushes to the reader's project. Nobody knows the stranger.
type world struct {
	t      testing.TB
	disk   *machine // all files, which are set back before each history
	top    string
	people map[string]*person
	works  map[string][]*edition // by item, oldest first
	digest map[string]*edition
	places []*place
	start  time.Time
	id     string   // of the project
	script []string // the commands so far, for a shell
	made   int      // how many of them made the world
}

type person struct {
	name, dir string
	env       []string
	key       *trust.FileKey
}

// An edition is signed bytes of an item.
type edition struct {
	ref, by, version, digest string
	text                     []byte
}

func (e *edition) file() string { return ".ai/tools/" + e.name() + ".sh" }
func (e *edition) name() string { return strings.TrimPrefix(e.ref, "tool:") }

func namespaceOf(ref string) string {
	ns, _, _ := strings.Cut(strings.TrimPrefix(ref, "tool:"), "/")
	return ns
}

// A place is a directory of the reader's with the project in it, on some branch. answered tells
// whether the reader agreed there to what the project asked.
type place struct {
	name, dir, branch string
	answered          bool
}

// The reader's note is an item that a day uses.
const (
	historyNote    = ".ai/knowledge/mine/note.md"
	historyNoteRef = "knowledge:mine/note"
)

// editions lists an item, its signer, and the number of editions. The first of several needs
// every host and the others none, so that it is wider.
var editions = []struct {
	ref, by string
	n       int
}{
	{"tool:mine/own", "me", 4}, {"tool:mine/gone", "me", 1}, {"tool:col/c", "col", 3}, {"tool:acme/patched", "me", 2},
	{"tool:acme/locked", "ann", 4}, {"tool:acme/vendored", "ann", 4}, {"tool:acme/locked", "thief", 2}, {"tool:acme/vendored", "thief", 2},
	{"tool:acme/vendored", "stranger", 1},
	{"tool:mine/own", "op", 1}, {"tool:mine/new", "op", 1}, {"tool:col/c", "op", 1}, {"tool:acme/locked", "op", 1},
	{"tool:col/c", "stranger", 1}, {"tool:mine/own", "col", 1},
}

func newWorld(t testing.TB) *world {
	t.Helper()
	top := t.TempDir()
	w := &world{t: t, top: top, people: map[string]*person{}, works: map[string][]*edition{}, digest: map[string]*edition{},
		start: time.Now().Add(-1000 * time.Hour).Truncate(time.Second), script: []string{scriptHead}}
	w.disk = &machine{home: &home{t: t, dir: filepath.Join(top, "disk")}}
	for _, name := range []string{"me", "ann", "thief", "op", "col", "stranger"} {
		w.meet(name)
	}
	w.sign()
	w.registries()
	w.project()
	w.disk.save()
	w.made = len(w.script)
	return w
}

// scriptHead begins a script: it keeps each person apart from the one who runs it.
const scriptHead = `W=$(mktemp -d)
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
as() { who=$1; shift; env HOME=$W/homes/$who GIT_AUTHOR_NAME=$who GIT_COMMITTER_NAME=$who GIT_AUTHOR_EMAIL=$who@example.org GIT_COMMITTER_EMAIL=$who@example.org "$@"; }
mkdir -p $W/homes/me $W/me $W/ann $W/thief $W/op $W/col $W/stranger`

// meet makes a person with a home, a key and a directory.
func (w *world) meet(name string) {
	w.t.Helper()
	p := &person{name: name, dir: filepath.Join(w.top, name)}
	user := filepath.Join(w.top, "homes", name)
	for _, kv := range os.Environ() {
		if key, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(key, "RYE_") && !strings.HasPrefix(key, "XDG_") && !strings.HasPrefix(key, "GIT_") && key != "USER_SPACE" {
			p.env = append(p.env, kv)
		}
	}
	p.env = append(p.env, "HOME="+user, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME="+name, "GIT_COMMITTER_NAME="+name,
		"GIT_AUTHOR_EMAIL="+name+"@example.org", "GIT_COMMITTER_EMAIL="+name+"@example.org")
	for _, dir := range []string{user, p.dir} {
		w.can(os.MkdirAll(dir, 0o755))
	}
	w.people[name] = p
	var err error
	p.key, err = trust.GenerateKey()
	w.can(err)
	raw, err := p.key.OpenSSH(name, nil)
	w.can(err)
	w.write(p.dir, "key", string(raw))
	w.must(name, p.dir, "chmod", "600", "key")
	w.must(name, p.dir, "rye", "key", "import", "key", "--yes")
}

// sign makes all editions, an hour apart and long ago: a second is the finest time of a
// signature, and no history waits for one.
func (w *world) sign() {
	w.t.Helper()
	at := w.start
	for _, e := range editions {
		for i := range e.n {
			ed := &edition{ref: e.ref, by: e.by, version: fmt.Sprintf("1.%d.0", len(w.works[e.ref]))}
			net := "[]"
			if i == 0 && e.n > 1 && e.by != "thief" {
				net = `["*"]`
			}
			text := fmt.Sprintf("#!/usr/bin/env bash\n# version: %s\n# executor_id: rye/core/runtimes/bash_runtime\n# category: %s\n# description: Says who made it.\n# needs:\n#   net: %s\necho %s\n",
				ed.version, path.Dir(ed.name()), net, e.by)
			it, err := objects.Parse(strings.TrimPrefix(ed.file(), ".ai/"), []byte(text))
			w.can(err)
			at = at.Add(time.Hour)
			ed.text, err = trust.SignItem(w.t.Context(), w.people[e.by].key, it, trust.Scope{Space: objects.Project}, at)
			w.can(err)
			ed.digest = objects.DigestOf(ed.text).String()
			w.works[e.ref] = append(w.works[e.ref], ed)
			w.digest[ed.digest] = ed
		}
	}
}

// edition returns the n-th edition by somebody of an item, from 1.
func (w *world) edition(ref, by string, n int) *edition {
	for _, e := range w.works[ref] {
		if e.by == by {
			if n--; n == 0 {
				return e
			}
		}
	}
	return nil
}

// at returns the edition with this ref and version.
func (w *world) at(name string) *edition {
	for _, e := range w.works[cutAt(name, "@")] {
		if strings.HasSuffix(name, "@"+e.version) {
			return e
		}
	}
	return nil
}

func cutAt(s, sep string) string { s, _, _ = strings.Cut(s, sep); return s }

func (w *world) registries() {
	w.t.Helper()
	a, b := w.registry("a"), w.registry("b")
	ann, thief, op := w.people["ann"], w.people["thief"], w.people["op"]
	w.must("ann", ann.dir, "rye", "init", "--namespace", "acme")
	for _, ref := range []string{"tool:acme/locked", "tool:acme/vendored"} {
		w.put(ann.dir, w.edition(ref, "ann", 1))
	}
	w.must("ann", ann.dir, "rye", "registry", "init", a, "--name", "a", "--yes")
	w.must("ann", ann.dir, "rye", "push", "tool:acme/locked", "tool:acme/vendored", "--yes")
	w.must("thief", thief.dir, "rye", "init", "--namespace", "acme")
	w.must("thief", thief.dir, "rye", "registry", "add", a, "--scope", "acme", "--yes")
	if !w.rely(w.joins("thief"), func(request string) bool {
		_, code := w.rye("ann", ann.dir, "registry", "members", "acme", "--add", request, "--yes")
		return code == 0
	}) {
		w.t.Fatal("the thief's key is no member's")
	}
	w.must("op", op.dir, "rye", "init", "--namespace", "mine")
	w.must("op", op.dir, "rye", "registry", "init", b, "--name", "b", "--yes")
	w.must("op", op.dir, "rye", "registry", "add", b, "--name", "b", "--scope", "col", "--scope", "acme", "--yes")
}

func (w *world) registry(name string) string { return filepath.Join(w.top, name+".git") }

// rely runs a command that needs the output of the one before. A script has it in $R.
func (w *world) rely(text string, run func(text string) bool) bool {
	at := len(w.script)
	w.script[at-1] = "R=$(" + w.script[at-1] + ` | grep -o 'ssh-ed25519 [^ ]* [A-Za-z0-9_-]\{86\}\|sha256:[0-9a-f]\{64\}' | head -1)`
	is := run(text)
	for i := range w.script[at:] {
		w.script[at+i] = strings.NewReplacer("'"+text+"'", `"$R"`, text, `"$R"`).Replace(w.script[at+i])
	}
	return is
}

// joins returns the request of somebody to become a member of acme.
func (w *world) joins(who string) string {
	w.t.Helper()
	p := w.people[who]
	w.rye(who, p.dir, "init")
	w.rye(who, p.dir, "registry", "add", w.registry("a"), "--name", "a", "--scope", "acme", "--yes")
	out, _ := w.rye(who, p.dir, "registry", "members", "acme", "--join", "--json")
	return regexp.MustCompile(`ssh-ed25519 \S+ [A-Za-z0-9_-]{86}`).FindString(out)
}

func (w *world) project() {
	w.t.Helper()
	me := w.people["me"]
	shared := filepath.Join(w.top, "project.git")
	w.must("me", w.top, "git", "init", "-q", "--bare", "-b", "main", shared)
	for _, name := range []string{"main", "tree", "second"} {
		w.places = append(w.places, &place{name, filepath.Join(me.dir, name), "main", true})
	}
	main := w.places[0].dir
	w.must("me", me.dir, "git", "clone", "-q", shared, main)
	w.must("me", main, "git", "checkout", "-q", "-b", "main")
	w.id = "1b6e1f2f2c9d4a5f8a0d7e3c4b5a6978" // lines against keys bind it
	w.write(main, ".ai/rye.yaml", "format: 1\nproject: "+w.id+"\nnamespace: mine\n")
	w.must("me", main, "rye", "init")
	w.trusts("me", main)
	w.write(main, historyNote, "---\nname: note\ntitle: T\nversion: 1.0.0\nentry_type: reference\ncategory: mine\ntags: [a]\n---\n\nwords\n")
	for _, e := range []struct{ ref, by string }{{"tool:mine/own", "me"}, {"tool:mine/gone", "me"}, {"tool:col/c", "col"}, {"tool:acme/patched", "me"}, {"tool:acme/vendored", "ann"}} {
		w.put(main, w.edition(e.ref, e.by, 1))
	}
	w.must("me", main, "rye", "sign", historyNoteRef)
	w.declare(main, "col", "col")
	w.must("me", main, "rye", "registry", "add", w.registry("a"), "--name", "a", "--scope", "acme", "--yes")
	w.must("me", main, "rye", "trust", "override", "tool:acme/patched", "--yes")
	w.trusts("me", main)
	w.must("me", main, "rye", "add", "acme/tool/locked@1.0.0", "--yes")
	w.must("me", main, "rye", "sign", "--all")
	w.save("me", main, "main", "the first editions")
	w.must("me", main, "git", "tag", "base")
	w.must("me", main, "git", "push", "-q", "origin", "HEAD:b1", "HEAD:b2", "base")
	for _, e := range []struct{ ref, by string }{{"tool:mine/own", "me"}, {"tool:col/c", "col"}, {"tool:acme/patched", "me"}} {
		w.put(main, w.edition(e.ref, e.by, 2))
	}
	w.must("me", main, "rye", "rm", "tool:mine/gone")
	w.must("me", main, "rye", "sign", "--all")
	w.save("me", main, "main", "the second editions")
	w.must("me", main, "git", "worktree", "add", "-q", "--detach", w.places[1].dir)
	w.must("me", me.dir, "git", "clone", "-q", shared, w.places[2].dir)
	for _, p := range w.places[1:] {
		w.trusts("me", p.dir)
		w.must("me", p.dir, "rye", "pull")
	}
	w.must("col", w.people["col"].dir, "git", "clone", "-q", shared, "work")
	w.people["col"].dir = filepath.Join(w.people["col"].dir, "work")
	w.trusts("col", w.people["col"].dir)
}

// trusts lets somebody agree to all that a directory asks.
func (w *world) trusts(who, dir string) {
	w.t.Helper()
	out, _ := w.rye(who, dir, "trust", "--json", "--dry-run")
	if all := regexp.MustCompile(`"digest":"(sha256:[0-9a-f]{64})"`).FindStringSubmatch(out); all != nil {
		w.rely(all[1], func(digest string) bool {
			_, code := w.rye(who, dir, "trust", "--accept", digest)
			return code == 0
		})
	}
}

// declare adds a key to the signers that a directory states.
func (w *world) declare(dir, who, ns string) {
	w.t.Helper()
	raw, _ := os.ReadFile(filepath.Join(dir, ".ai/allowed_signers"))
	s, err := trust.ParseSigners(raw)
	w.can(err)
	s.Add(w.people[who].key.Public(), ns)
	w.write(dir, ".ai/allowed_signers", string(s.Encode()))
}

// testedRye is another built program that histories are played with; "" is this one.
var testedRye = os.Getenv("RYE_HISTORY_PROGRAM")

// command runs a program as a person and returns what it printed and its exit status.
func (w *world) command(who, dir string, args ...string) (string, int) {
	w.t.Helper()
	p := w.people[who]
	w.script = append(w.script, fmt.Sprintf("(cd %s && as %s %s)", w.words(dir), who, w.words(args...)))
	if args[0] == "rye" {
		args = slices.Clone(args)
		if args[0] = testedRye; args[0] == "" {
			args[0] = program("rye")
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, p.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s: %s: %v", who, strings.Join(args, " "), err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		w.script[len(w.script)-1] += fmt.Sprintf(" # exit %d", code)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// words quotes words for a shell, with $W for the directory of the world.
func (w *world) words(args ...string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if strings.ContainsAny(a, " *\n#'\"") {
			a = "'" + a + "'"
		}
		b.WriteString(strings.ReplaceAll(a, w.top, "$W"))
	}
	return b.String()
}

func (w *world) rye(who, dir string, args ...string) (string, int) {
	w.t.Helper()
	return w.command(who, dir, append([]string{"rye"}, args...)...)
}

func (w *world) git(who, dir string, args ...string) bool {
	w.t.Helper()
	_, code := w.command(who, dir, append([]string{"git"}, args...)...)
	return code == 0
}

// must runs a command that makes the world.
func (w *world) must(who, dir string, args ...string) {
	w.t.Helper()
	if out, code := w.command(who, dir, args...); code != 0 {
		w.t.Fatalf("%s: %s: exit %d\n%s", who, strings.Join(args, " "), code, out)
	}
}

func (w *world) can(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(dir, name string) string {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(raw)
}

func (w *world) write(dir, name, text string) {
	w.t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	w.can(os.MkdirAll(filepath.Dir(file), 0o755))
	w.can(os.WriteFile(file, []byte(text), 0o644))
	w.script = append(w.script, fmt.Sprintf("mkdir -p %s; cat > %s <<'EOF'\n%sEOF", w.words(filepath.Dir(file)), w.words(file), text))
}

func (w *world) put(dir string, e *edition) {
	w.t.Helper()
	w.write(dir, e.file(), string(e.text))
}

// save commits everything and pushes the branch.
func (w *world) save(who, dir, branch, message string) {
	w.t.Helper()
	w.git(who, dir, "add", "-A")
	w.git(who, dir, "commit", "-q", "-m", message)
	w.git(who, dir, "push", "-q", "origin", "HEAD:"+branch)
}

// denial returns a line of .ai/denied that takes an edition back.
func (w *world) denial(by string, e *edition) string {
	w.t.Helper()
	key := w.people[by].key
	ref, err := objects.ParseRef(e.ref)
	w.can(err)
	d, err := objects.ParseDigest(e.digest)
	w.can(err)
	t := objects.Taken{Ref: ref, Digest: d, At: time.Now().UTC().Truncate(time.Second), Key: key.Public().Fingerprint()}
	sig, err := key.Sign(w.t.Context(), t.Message(w.id))
	w.can(err)
	copy(t.Sig[:], sig)
	return t.Line() + "\n"
}

// dismissal returns a line that takes a key out of a namespace.
func (w *world) dismissal(kind objects.DismissalKind, by, ns, whose string) string {
	w.t.Helper()
	key := w.people[by].key
	d := objects.Dismissal{Kind: kind, Namespace: ns, Signer: w.people[whose].key.Public().Fingerprint(),
		At: time.Now().UTC().Truncate(time.Second), Key: key.Public().Fingerprint()}
	sig, err := key.Sign(w.t.Context(), d.Message(w.id))
	w.can(err)
	copy(d.Sig[:], sig)
	return d.Line() + "\n"
}

// forge lets the newest operation of a log, which revoked one edition, name another's digest.
func (w *world) forge(registry, by string, revoked, victim *edition) {
	w.t.Helper()
	w.script = append(w.script, fmt.Sprintf("# %s rewrites the newest operation of %s in $W/%s.git: its change list names %s instead of %s",
		by, namespaceOf(revoked.ref), registry, victim.digest, revoked.digest))
	h := registrytest.Open(w.t, w.registry(registry))
	h.Forge("refs/heads/ns/"+namespaceOf(revoked.ref), registrytest.By(w.t, w.people[by].key), func(c *store.Commit) {
		words := strings.Fields(registrytest.Trailer(c.Message, "Rye-Changes"))
		if len(words) < 4 {
			return
		}
		id, err := store.ParseOID(words[3])
		w.can(err)
		list := strings.ReplaceAll(h.Raw(id), revoked.digest, victim.digest)
		words[2], words[3] = objects.DigestOf([]byte(list)).String(), h.Put(store.TypeBlob, list).String()
		registrytest.SetTrailer(c, "Rye-Changes", strings.Join(words, " "))
	})
}
