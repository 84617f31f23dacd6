//go:build unix

package main_test

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newPair makes two people with a home and a clone each, whose keys both sign the tool.
func newPair(t *testing.T) (ann, bob *mergers) {
	t.Helper()
	ann = newMergers(t)
	h := newHome(t)
	h.dir = filepath.Join(filepath.Dir(h.dir), "clone")
	bob = &mergers{home: h, tool: filepath.Join(h.dir, ".ai", "tools", "acme", "hello.sh")}
	ann.git("clone", "-q", ann.dir, h.dir)
	_, statement, _ := strings.Cut(bob.fails(16, "trust", "--yes"), "--accept sha256:")
	bob.rye("trust", "--accept", "sha256:"+statement[:64])
	bob.put(bob.now() + "echo bob\n")
	bob.commit("bob signs here")
	ann.git("pull", "-q", bob.dir, "main")
	return ann, bob
}

// vary edits lines at random; every line that it writes begins with who.
func vary(r *rand.Rand, lines []string, who string, round int) []string {
	lines = append([]string(nil), lines...)
	for n := range 1 + r.Intn(3) {
		at, line := r.Intn(len(lines)), fmt.Sprintf("echo %s %d %d", who, round, n)
		if r.Intn(2) == 0 {
			lines = append(lines[:at], append([]string{line}, lines[at:]...)...)
		} else if lines[at] = line; r.Intn(3) == 0 && at+1 < len(lines) {
			lines = append(lines[:at+1], lines[at+2:]...)
		}
	}
	return lines
}

// by returns the lines of somebody.
func by(who string, lines []string) (all []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "echo "+who+" ") {
			all = append(all, line)
		}
	}
	return all
}

// aRound is one merge of edits by two people.
type aRound struct {
	n                 int
	r                 *rand.Rand
	ann               *mergers
	base, left, right []string
}

// after edits the present file once more, as a commit of one person.
func (a *aRound) after(who string) []string {
	lines := strings.Split(strings.TrimSpace(a.ann.unsigned("")), "\n")[5:]
	lines = vary(a.r, lines, who, a.n)
	a.ann.put(a.ann.text(lines...))
	a.ann.commit(who)
	return by(who, lines)
}

// kinds are the ways of git to bring two edits together. Each returns the lines that must be there
// or between marks, and whether git merged without a conflict.
var kinds = []struct {
	name string
	do   func(*aRound) (must []string, clean bool)
}{
	{"merge", func(a *aRound) ([]string, bool) {
		a.ann.git("checkout", "-q", "left")
		_, ok := a.ann.try("merge", "--no-edit", "right")
		return append(by("left", a.left), by("right", a.right)...), ok
	}},
	{"rebase", func(a *aRound) ([]string, bool) {
		a.ann.git("checkout", "-q", "left")
		_, ok := a.ann.try("rebase", "right")
		return append(by("left", a.left), by("right", a.right)...), ok
	}},
	{"cherry-pick", func(a *aRound) ([]string, bool) {
		a.ann.git("checkout", "-q", "left")
		_, ok := a.ann.try("cherry-pick", "right")
		return append(by("left", a.left), by("right", a.right)...), ok
	}},
	{"stash", func(a *aRound) ([]string, bool) {
		a.ann.git("checkout", "-q", "base")
		a.ann.put(a.ann.text(a.left...))
		a.ann.git("stash", "-q")
		a.ann.git("checkout", "-q", "right")
		_, ok := a.ann.try("stash", "pop")
		return append(by("left", a.left), by("right", a.right)...), ok
	}},
	{"revert", func(a *aRound) ([]string, bool) {
		a.ann.git("checkout", "-q", "left")
		later := a.after("later")
		_, ok := a.ann.try("revert", "--no-edit", "HEAD~1")
		return later, ok
	}},
	{"octopus", func(a *aRound) ([]string, bool) {
		a.ann.git("checkout", "-q", "base")
		_, ok := a.ann.try("merge", "--no-edit", "left", "right")
		if !ok {
			status, _ := a.ann.status("resolve")
			ok = !strings.Contains(status, "conflict")
		}
		return append(by("left", a.left), by("right", a.right)...), ok
	}},
	{"criss-cross", func(a *aRound) ([]string, bool) {
		a.ann.git("checkout", "-q", "-B", "x", "left")
		a.ann.git("checkout", "-q", "-B", "y", "right")
		must := append(by("left", a.left), by("right", a.right)...)
		if _, ok := a.ann.try("merge", "--no-edit", "x"); !ok {
			return must, false
		}
		a.ann.commit("y")
		y := a.after("why")
		a.ann.git("checkout", "-q", "x")
		a.ann.git("merge", "-q", "--no-edit", "right")
		a.ann.commit("x")
		x := a.after("ex")
		_, ok := a.ann.try("merge", "--no-edit", "y")
		return append(x, y...), ok
	}},
}

// TestMergesLoseNothing merges random edits by two people in every way of git: with rye, with a rye
// that is gone, and without its driver. Each line that a side wrote is in the result, or the marks
// of a conflict are; rye signs nothing; and it merges no text that git would not merge.
func TestMergesLoseNothing(t *testing.T) {
	t.Parallel()
	ann, bob := newPair(t)
	rounds := len(kinds)
	if os.Getenv("RYE_SOAK") != "" {
		rounds = 210
	}
	info := filepath.Join(ann.dir, ".git", "info", "attributes")
	attributes, line := ann.readAt(info), strings.TrimSpace(ann.git("config", "merge.rye.driver"))
	gone := strings.ReplaceAll(line, strings.Split(line, "'")[1], "/gone/rye")
	clean, tried := map[string]int{}, map[string]int{}
	for n := range rounds {
		kind, mode := kinds[n%len(kinds)], n/len(kinds)%3
		a := &aRound{n: n, r: rand.New(rand.NewSource(int64(n))), ann: ann}
		a.base = numbered(2 + a.r.Intn(20))
		a.left, a.right = vary(a.r, a.base, "left", n), vary(a.r, a.base, "right", n)
		ann.git("checkout", "-q", "-f", "-B", "base", "main")
		ann.put(ann.text(a.base...))
		ann.commit("base")
		ann.git("checkout", "-q", "-B", "left")
		ann.put(ann.text(a.left...))
		ann.commit("left")
		bob.git("fetch", "-q", "origin", "base")
		bob.git("checkout", "-q", "-f", "-B", "right", "FETCH_HEAD")
		bob.put(bob.text(a.right...))
		bob.commit("right")
		ann.git("fetch", "-q", bob.dir, "+right:right")

		driver, text := line, attributes
		switch mode {
		case 1:
			driver = gone
		case 2:
			text = ""
		}
		ann.git("config", "merge.rye.driver", driver)
		if err := os.WriteFile(info, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		must, ok := kind.do(a)
		now, name := ann.now(), fmt.Sprintf("round %d, %s, mode %d", n, kind.name, mode)
		if marked := strings.Contains(now, "<<<<<<<"); ok == marked {
			t.Fatalf("%s: clean: %v\n%s", name, ok, now)
		}
		for _, line := range must {
			if !strings.Contains(now, line+"\n") {
				t.Fatalf("%s: %q is lost:\n%s", name, line, now)
			}
		}
		if ok && strings.Contains(now, "rye:signed:") {
			t.Fatalf("%s: a merged text has a signature:\n%s", name, now)
		}
		if mode == 0 && kind.name == "merge" {
			a.asGit(t, name, ok)
		}
		if tried[kind.name]++; ok {
			clean[kind.name]++
		}
		for _, op := range []string{"merge", "rebase", "cherry-pick", "revert"} {
			ann.try(op, "--abort")
		}
		ann.git("reset", "-q", "--hard")
		ann.try("stash", "drop", "-q")
	}
	t.Logf("%d merges by two people, of each kind %v; merged without a conflict %v", rounds, tried, clean)
}

// asGit compares rye's merge of the texts with git's.
func (a *aRound) asGit(t *testing.T, name string, clean bool) {
	t.Helper()
	dir := t.TempDir()
	for file, lines := range map[string][]string{"base": a.base, "left": a.left, "right": a.right} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(a.ann.text(lines...)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "left", "base", "right")
	cmd.Dir = dir
	out, err := cmd.Output()
	if clean && err != nil {
		t.Fatalf("%s: git has a conflict where rye has none:\n%s", name, out)
	}
	if clean && string(out)+"\n" != a.ann.unsigned("") {
		t.Fatalf("%s: rye merges\n%s\ngit merges\n%s", name, a.ann.unsigned(""), out)
	}
}
