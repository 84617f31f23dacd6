//go:build unix

package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const helloRef = "tool:acme/hello"

// helloNeeding is the tool with needs.
func helloNeeding(needs, says string) string {
	return strings.Replace(fmt.Sprintf(hello, says), "# category", "# needs: "+needs+"\n# category", 1)
}

// commits makes a repository of the project, with a commit.
func (h *home) commits(git func(dir string, args ...string)) {
	h.t.Helper()
	git(h.dir, "init", "-q", "-b", "main")
	git(h.dir, "add", "-A")
	git(h.dir, "commit", "-qm", "first")
}

// changeNothing runs commands that look, and reports files of the person and the project that they
// changed; caches may change.
func changeNothing(t *testing.T, h *home, exit int, want string, commands ...[]string) {
	t.Helper()
	kept := func() (all string) {
		for line := range strings.Lines(everyFile(t, h.dir) + everyFile(t, h.variable("HOME"))) {
			if !strings.Contains(line, "/.cache/") {
				all += line
			}
		}
		return all
	}
	before := kept()
	for _, args := range commands {
		says(t, h.command(args...), exit, want)
	}
	if after := kept(); after != before {
		t.Errorf("%v changed files. They were\n%s\nand are\n%s", commands, before, after)
	}
}

// TestRemovedInEveryClone: what rye rm removed in one directory does not run in a linked
// worktree, a second clone and a copy, until it is signed there again.
func TestRemovedInEveryClone(t *testing.T) {
	t.Parallel()
	git := h2git(t)
	h := newHome(t)
	h.write(helloFile, fmt.Sprintf(hello, "hi"))
	h.rye("sign", "--all")
	h.commits(git)
	names := []string{"tree", "clone", "copy"}
	git(h.dir, "worktree", "add", "-q", h.beside("tree"))
	git(h.dir, "clone", "-q", h.dir, h.beside("clone"))
	must(t, os.CopyFS(h.beside("copy"), os.DirFS(h.dir)))
	for _, name := range names {
		at := h.at(h.beside(name))
		at.rye("trust", "--accept", statement(at))
		at.rye("execute", helloRef)
		at.rye("status")
	}
	h.rye("rm", helloRef)
	for _, name := range names {
		at := h.at(h.beside(name))
		changeNothing(t, at, 13, "the same project", []string{"load", helloRef}, []string{"trust", "explain", helloRef})
		changeNothing(t, at, 0, "returned  "+helloRef, []string{"status"})
		says(t, at.command("execute", helloRef), 13, "removed on 20")
		says(t, at.command("execute", helloRef), 13, "in "+h.dir) // by the index that the first one kept
		at.rye("sign", "--all")                                   // passes it over
		says(t, at.command("execute", helloRef), 13, "the same project")
	}
	tree := h.at(h.beside("tree"))
	tree.rye("sign", helloRef)
	tree.rye("execute", helloRef)
	says(t, h.at(h.beside("clone")).command("execute", helloRef), 13, "the same project")
}

// nextSecond waits until the clock shows another second.
func nextSecond() { time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) }

// TestWiderElsewhere: a version that may more than one that was signed later in another
// directory of the project does not run; one that may no more does.
func TestWiderElsewhere(t *testing.T) {
	t.Parallel()
	git := h2git(t)
	h := newHome(t)
	for i, needs := range []string{"{net: [a.example, b.example]}", "{net: [a.example]}", "{net: [a.example]}"} {
		h.write(helloFile, helloNeeding(needs, fmt.Sprint("v", i)))
		nextSecond() // which is older is told by the second
		h.rye("sign", "--all")
		if i == 0 {
			h.commits(git)
		} else {
			git(h.dir, "commit", "-qam", fmt.Sprint(i))
		}
	}
	git(h.dir, "clone", "-q", h.dir, h.beside("clone"))
	at := h.at(h.beside("clone"))
	git(at.dir, "checkout", "-q", "HEAD~2")
	at.rye("trust", "--accept", statement(at)) // its record never had another version
	changeNothing(t, at, 13, `reaches "b.example"`, []string{"load", helloRef})
	says(t, at.command("execute", helloRef), 13, "in "+h.dir+", which is the same project, and wider")
	git(at.dir, "checkout", "-q", "main~1")
	changeNothing(t, at, 0, "", []string{"load", helloRef}, []string{"status"})
	at.rye("execute", helloRef)
}

// TestStrangersClone: a clone that states the id of somebody's project and has another owner
// is a conflict when it asks for trust, and what is removed in it has no effect elsewhere.
func TestStrangersClone(t *testing.T) {
	t.Parallel()
	git := h2git(t)
	h := newHome(t)
	h.write(helloFile, fmt.Sprintf(hello, "good"))
	h.rye("sign", "--all")
	h.commits(git)
	thief := newHome(t)
	thief.write(".ai/rye.yaml", h.read(".ai/rye.yaml"))
	thief.write(helloFile, fmt.Sprintf(hello, "bad"))
	thief.rye("trust", "--yes")
	thief.rye("sign", "--all")
	at := h.at(h.beside("theirs"))
	must(t, os.CopyFS(at.dir, os.DirFS(thief.dir)))
	key := thief.key("default")
	before := h.trustFile()
	for _, args := range [][]string{{"trust", "--yes"}, {"trust", "--accept", statement(at)}} {
		out := says(t, at.command(args...), 11, "the same project")
		for _, want := range []string{key.Fingerprint, h.key("default").Fingerprint, h.dir, "hint: rye trust pin"} {
			if !strings.Contains(out, want) {
				t.Errorf("rye %v does not show %q:\n%s", args, want, out)
			}
		}
	}
	if h.trustFile() != before {
		t.Error("a conflict changed trust.yaml")
	}
	h.rye("execute", helloRef)
	// Its person agrees to that key by name: it counts there, and nowhere else.
	at.rye("trust", "pin", key.Fingerprint, "--namespace", "acme", "--space", "project", "--fingerprint", key.Fingerprint, "--yes")
	at.rye("trust", "--accept", statement(at))
	at.rye("execute", helloRef)
	at.rye("rm", helloRef)
	changeNothing(t, h, 0, "", []string{"load", helloRef})
	changeNothing(t, h, 0, "no effect here: 1 removal in "+at.dir+", because "+key.Fingerprint+" owns no acme/", []string{"status"})
	if _, said := h.exit("doctor"); !strings.Contains(said, "no effect here: 1 removal") {
		t.Errorf("doctor: %s", said)
	}
	h.rye("execute", helloRef)
}
