package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/store"
)

// The attacks on stores and on those who write them: 34, 35 and 84 to 86 of the list
// that the design was checked against, on the programs as they are. 24 to 33 are in
// registry, 30 in store.

// TestAttack34Bombs: what unpacks to more than it should is refused by registry add,
// fetch and add, in bounds, and a file that is too large to look at is not skipped.
func TestAttack34Bombs(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var repos sync.Map
	url := hostileHost(t, &repos)
	for _, row := range hostilePacks() {
		if row.exit != 20 {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			repo := &hostileRepo{}
			row.make(repo)
			repos.Store("bomb", repo)
			refusedCheaply(t, h, 20, "registry", "add", url+"/bomb.git", "--yes")
		})
	}
	t.Run("22 MB of padding", func(t *testing.T) {
		h.write("big.py", strings.Repeat("#\n", 11<<20))
		refusedCheaply(t, h, 20, "add", "./big.py", "--kind", "tool", "--as", "acme/big")
		h.write(".ai/tools/acme/big.py", h.read("big.py"))
		refusedCheaply(t, h, 20, "sign", "tool:acme/big")
	})
	if out := h.rye("registry", "list"); strings.Contains(out, "bomb") {
		t.Errorf("pinned: %s", out)
	}
}

// TestAttack35ReplaceRefsGraftsAlternates: in a repository of this machine they change
// nothing of what its ids mean.
func TestAttack35ReplaceRefsGraftsAlternates(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	knowledge := func(word string) []store.Change {
		text := "---\nname: x\ntitle: X\nversion: 1.0.0\nentry_type: reference\ncategory: eve\ntags: [a]\n---\n\n" + word + "\n"
		return []store.Change{{Path: ".ai/knowledge/eve/x.md", Data: []byte(text)}}
	}
	dir := filepath.Join(t.TempDir(), "theirs.git")
	r, err := store.Init(dir, "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := store.CommitOptions{Message: "m\n", Author: store.Ident{Name: "e", Email: "e@e"}, When: time.Unix(1700000000, 0)}
	real, err := r.Edit(t.Context(), "refs/heads/main", knowledge("real"), o)
	if err != nil {
		t.Fatal(err)
	}
	evil, err := r.Edit(t.Context(), "refs/heads/evil", knowledge("evil"), o)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("refs/replace/"+real.String(), evil.String()+"\n")
	write("info/grafts", real.String()+" "+evil.String()+"\n")
	h.rye("add", dir, "--yes")
	if got := h.read(".ai/knowledge/eve/x.md"); !strings.Contains(got, "real") {
		t.Errorf("what came: %s", got)
	}
	// An alternate lends no objects: without them the repository is broken.
	before := everyFile(t, h.dir)
	if err := os.Rename(filepath.Join(dir, "objects"), filepath.Join(t.TempDir(), "lent")); err != nil {
		t.Fatal(err)
	}
	lent := filepath.Join(filepath.Dir(dir), "lent")
	write("objects/info/alternates", lent+"\n")
	if out, exit, _ := measured(t, h.command("add", dir, "--yes", "--force")); exit == 0 {
		t.Errorf("objects of an alternate came in: %s", out)
	}
	if everyFile(t, h.dir) != before {
		t.Error("refusing changed files")
	}
}

// shared is a registry directory with two published items, and a reader's project.
func shared(t *testing.T) (alice, bob *home) {
	alice, bob = newHome(t), newHome(t)
	bob.write(".ai/rye.yaml", strings.Replace(bob.read(".ai/rye.yaml"), "namespace: acme", "namespace: local", 1))
	url := filepath.Join(t.TempDir(), "registry.git")
	for _, name := range []string{"a", "b"} {
		alice.publishable(name, 0)
	}
	alice.rye("registry", "init", url, "--yes")
	alice.rye("push", "--all")
	bob.rye("registry", "add", url, "--yes")
	return alice, bob
}

// publishable writes and signs a version of an item.
func (h *home) publishable(name string, patch int) {
	h.write(".ai/knowledge/acme/"+name+".md", fmt.Sprintf("---\nname: %s\ntitle: T\nversion: 1.0.%d\nentry_type: reference\ncategory: acme\ntags: [a]\n---\n\ntext %d\n", name, patch, patch))
	h.rye("sign", "knowledge:acme/"+name)
}

// TestAttack84Kill: add, push and pull, killed at random moments of their run. The next
// command needs no repair, and nothing is half there: what the lock names is in the
// store and verified, what was published is published once.
func TestAttack84Kill(t *testing.T) {
	t.Parallel()
	kills := 6
	if soak {
		kills = 60
	}
	alice, bob := shared(t)
	killed := 0
	kill := func(h *home, args ...string) {
		t.Helper()
		if h.killWithin(4, args...) {
			killed++
		}
	}
	for i := range kills {
		kill(bob, "add", "acme/knowledge/a", "--yes")
		bob.rye("add", "acme/knowledge/a", "--yes")
		bob.rye("load", "knowledge:acme/a")
		bob.rye("lock", "verify")
		alice.publishable("b", i+1)
		kill(alice, "push", "--all")
		alice.rye("push", "--all")
		kill(bob, "update", "--yes")
		bob.rye("update", "--yes")
		bob.rye("add", "acme/knowledge/b", "--yes")
		if got := bob.rye("load", "knowledge:acme/b"); !strings.Contains(got, fmt.Sprintf("text %d\n", i+1)) {
			t.Errorf("round %d: loaded %s", i, got)
		}
		kill(bob, "pull")
		bob.rye("pull", "--yes")
		bob.rye("lock", "verify")
		bob.rye("remove", "knowledge:acme/a")
	}
	log := alice.rye("registry", "log", "acme", "--json")
	for i := range kills {
		if n := strings.Count(log, fmt.Sprintf("acme/knowledge/b@1.0.%d\"", i+1)); n != 1 {
			t.Errorf("version %d was published %d times\n%s", i+1, n, log)
		}
	}
	for _, h := range []*home{alice, bob} {
		h.rye("registry", "verify")
		h.rye("fsck")
	}
	t.Logf("%d of %d were killed in time", killed, 4*kills)
}

// TestMoveKilled: moves of a whole namespace, killed at random moments. The same command again
// needs no repair: every file is in one of the two namespaces, signed, and recorded.
func TestMoveKilled(t *testing.T) {
	t.Parallel()
	kills := 6
	if soak {
		kills = 60
	}
	h := newHome(t)
	h.write(".ai/bundles/acme/kit/SKILL.md", "---\nname: kit\nversion: 1.0.0\ntitle: Kit\nentry_type: reference\ncategory: acme\ndescription: d\n---\ntext\n")
	h.write(".ai/bundles/acme/kit/data.txt", "data\n")
	for i := range 5 {
		h.write(fmt.Sprintf(".ai/knowledge/acme/n%d.md", i), fmt.Sprintf("---\nid: n%d\ntitle: T\nversion: 1.0.0\nentry_type: reference\ncategory: acme\n---\ntext\n", i))
	}
	h.rye("sign", "--all")
	h.rye("sign", ".ai/bundles/acme/kit")
	killed := 0
	from, to := "acme", "two"
	for range kills {
		if h.killWithin(2, "mv", "--namespace", from, to, "--yes") {
			killed++
		}
		again := h.command("mv", "--namespace", from, to, "--yes")
		if out, err := again.CombinedOutput(); err != nil && again.ProcessState.ExitCode() != 3 { // 3: all of it has moved
			t.Fatalf("again: %v\n%s", err, out)
		}
		h.rye("sign", "--all", "--check")
		if list := h.rye("list"); strings.Count(list, ":"+to+"/") < 6 || strings.Contains(list, ":"+from+"/") {
			t.Fatalf("moved from %s to %s:\n%s", from, to, list)
		}
		if raw := h.read(".ai/rye.yaml"); !strings.Contains(raw, "namespace: "+to) {
			t.Fatalf("rye.yaml does not name %s:\n%s", to, raw)
		}
		h.rye("fsck")
		from, to = to, from
	}
	t.Logf("%d of %d were killed in time", killed, kills)
}

// TestAttack85TwoProcesses: two that change one lock and one rye.yaml at the same time.
// Each either does its work or says that it did not; no file is torn, and what was
// acknowledged is there.
func TestAttack85TwoProcesses(t *testing.T) {
	t.Parallel()
	rounds := 3
	if soak {
		rounds = 30
	}
	_, bob := shared(t)
	for range rounds {
		var both sync.WaitGroup
		var done [2]bool
		for i, name := range []string{"a", "b"} {
			both.Go(func() {
				cmd := bob.command("add", "acme/knowledge/"+name, "--yes", "--json")
				out, err := cmd.CombinedOutput()
				if done[i] = err == nil; !done[i] && !strings.Contains(string(out), "conflict") && cmd.ProcessState.ExitCode() != 4 {
					t.Errorf("add %s: %v\n%s", name, err, out)
				}
			})
		}
		both.Wait()
		for i, name := range []string{"a", "b"} {
			if !done[i] {
				bob.rye("add", "acme/knowledge/"+name, "--yes")
			}
			bob.rye("load", "knowledge:acme/"+name)
			if !strings.Contains(bob.read(".ai/rye.yaml"), "acme/knowledge/"+name) {
				t.Fatalf("rye.yaml lost %s, which was acknowledged:\n%s", name, bob.read(".ai/rye.yaml"))
			}
		}
		bob.rye("lock", "verify")
		for _, name := range []string{"a", "b"} {
			bob.rye("remove", "knowledge:acme/"+name)
		}
	}
	bob.rye("fsck")
}

// TestAttack86EditedFile: what a person edited is not overwritten by what comes from
// elsewhere; --force keeps it in history.
func TestAttack86EditedFile(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	text := func(word string) string {
		return "---\nname: x\ntitle: X\nversion: 1.0.0\nentry_type: reference\ncategory: eve\ntags: [a]\n---\n\n" + word + "\n"
	}
	var repos sync.Map
	theirs := &hostileRepo{}
	theirs.item("knowledge/eve/x.md", text("theirs"))
	repos.Store("theirs", theirs)
	url := hostileHost(t, &repos) + "/theirs.git"
	h.rye("add", url, "--yes")
	const path = ".ai/knowledge/eve/x.md"
	h.write(path, text("edited by hand"))
	before := everyFile(t, h.dir)
	h.fails(4, "add", url, "--yes")
	if everyFile(t, h.dir) != before {
		t.Fatal("refusing changed files")
	}
	h.rye("add", url, "--yes", "--force")
	if h.read(path) != text("theirs") {
		t.Errorf("--force left %s", h.read(path))
	}
	r, err := store.Open(h.store())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	kept := false
	tip, err := r.Ref("refs/heads/spaces/project")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Log(t.Context(), tip, func(c *store.Commit) error {
		e, err := r.Lookup(c.Tree, "knowledge/eve/x.md")
		if err != nil {
			return nil
		}
		raw, err := r.Blob(e.ID, 0)
		kept = kept || string(raw) == text("edited by hand")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !kept {
		t.Error("--force lost what was edited by hand")
	}
	var reports []map[string]any
	for line := range strings.Lines(h.rye("add", url, "--yes", "--json")) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		reports = append(reports, m)
	}
	if len(reports) != 1 {
		t.Errorf("once more: %v", reports)
	}
}

// killWithin starts a command and kills it at a random time, within a few times the duration of a
// status. It reports whether the command did not end well.
func (h *home) killWithin(times time.Duration, args ...string) bool {
	h.t.Helper()
	begun := time.Now()
	h.rye("status")
	span := times*time.Since(begun) + 40*time.Millisecond
	cmd := h.command(args...)
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(rand.Int64N(int64(span))), func() { cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() != nil
}
