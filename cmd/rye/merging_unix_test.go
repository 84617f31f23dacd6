//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mergers is a project in a git repository that merges with rye.
type mergers struct {
	*home
	tool string // the working file of tool:acme/hello
}

// text is a tool with places to edit.
func (m *mergers) text(lines ...string) string {
	return "#!/bin/bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: says something\n# needs: {read: [.], write: [.], net: []}\n" + strings.Join(lines, "\n") + "\n"
}

// numbered returns lines that say their numbers.
func numbered(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("echo step %d", i))
	}
	return lines
}

func newMergers(t *testing.T) *mergers {
	t.Helper()
	needGit(t)
	needBash(t)
	h := newHome(t)
	m := &mergers{home: h, tool: filepath.Join(h.dir, ".ai", "tools", "acme", "hello.sh")}
	m.git("init", "-q", "-b", "main")
	m.rye("doctor", "--fix", "--yes")
	m.put(m.text(numbered(12)...))
	m.commit("base")
	return m
}

func (m *mergers) environment() []string {
	return append(m.env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_EDITOR=true")
}

// try runs git, and reports whether it succeeded.
func (m *mergers) try(args ...string) (string, bool) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = m.dir, m.environment()
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (m *mergers) git(args ...string) string {
	m.t.Helper()
	out, ok := m.try(args...)
	if !ok {
		m.t.Fatalf("git %s:\n%s", strings.Join(args, " "), out)
	}
	return out
}

func (m *mergers) put(text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.tool), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.tool, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mergers) now() string { return m.readAt(m.tool) }

// commit signs the tool and commits everything.
func (m *mergers) commit(message string) {
	m.t.Helper()
	m.rye("sign", "tool:acme/hello", "--yes")
	m.git("add", "-A")
	m.git("commit", "-qm", message)
}

// edit replaces a line of the tool, signs it and commits it.
func (m *mergers) edit(line int, text string) {
	m.t.Helper()
	m.put(strings.Replace(m.now(), fmt.Sprintf("echo step %d\n", line), text+"\n", 1))
	m.commit(text)
}

// branches makes a branch for each line, from main, that edits this line.
func (m *mergers) branches(names ...string) {
	m.t.Helper()
	for i, name := range names {
		m.git("checkout", "-q", "-b", name, "main")
		m.edit(3*i, "echo "+name)
	}
}

// isMerged fails the test unless the tool holds all texts, and neither marks nor a signature.
func (m *mergers) isMerged(name string, texts ...string) {
	m.t.Helper()
	now := m.now()
	for _, text := range texts {
		if !strings.Contains(now, text+"\n") {
			m.t.Errorf("%s: %q is lost:\n%s", name, text, now)
		}
	}
	if strings.Contains(now, "<<<<<<<") || strings.Contains(now, "rye:signed:") || !strings.Contains(now, "# rye:merged:") {
		m.t.Errorf("%s: not merged and unsigned:\n%s", name, now)
	}
	if out := m.rye("status"); !strings.Contains(out, "merged  tool:acme/hello") || !strings.Contains(out, "rye sign tool:acme/hello, then git add, commit and push") {
		m.t.Errorf("%s: status:\n%s", name, out)
	}
	m.fails(11, "run", "tool:acme/hello")
	m.fails(11, "verify", "tool:acme/hello")
}

// TestMergesOfGit has git merge items in each way it knows, with rye as its driver.
func TestMergesOfGit(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	m.branches("one", "two", "three")

	m.git("checkout", "-q", "-b", "merge", "one")
	m.git("merge", "-q", "--no-edit", "two")
	m.isMerged("merge", "echo one", "echo two")
	if out := m.fails(16, "sign", "--all"); !strings.Contains(out, "skipped") {
		t.Errorf("sign --all signs a merge:\n%s", out)
	}
	m.commit("signed")
	if out := m.rye("run", "tool:acme/hello"); !strings.Contains(out, "one\n") || !strings.Contains(out, "two\n") {
		t.Errorf("the signed merge runs as\n%s", out)
	}

	m.git("checkout", "-q", "-b", "rebase", "two")
	m.edit(9, "echo second")
	m.git("rebase", "-q", "one")
	m.isMerged("rebase of two commits", "echo one", "echo two", "echo second")

	m.git("checkout", "-q", "-b", "pick", "one")
	m.git("cherry-pick", "two")
	m.isMerged("cherry-pick", "echo one", "echo two")

	m.git("checkout", "-q", "-b", "stash", "one")
	m.put(strings.Replace(m.now(), "echo step 9\n", "echo stashed\n", 1))
	m.git("stash")
	m.edit(6, "echo later")
	m.git("stash", "pop")
	m.isMerged("stash pop", "echo one", "echo later", "echo stashed")
	m.git("checkout", "-q", "-f", "one")

	m.git("checkout", "-q", "-b", "revert", "one")
	m.edit(6, "echo later")
	m.git("revert", "--no-edit", "HEAD~1")
	m.isMerged("revert", "echo later", "echo step 0")

	m.git("checkout", "-q", "-b", "x", "one")
	m.git("checkout", "-q", "-b", "y", "two")
	m.git("merge", "-q", "--no-edit", "one")
	m.commit("y")
	m.edit(9, "echo y")
	m.git("checkout", "-q", "x")
	m.git("merge", "-q", "--no-edit", "two")
	m.commit("x")
	m.edit(6, "echo x")
	m.git("merge", "-q", "--no-edit", "y")
	m.isMerged("criss-cross", "echo one", "echo two", "echo x", "echo y")

	m.git("checkout", "-q", "-b", "same", "main")
	m.put(strings.Replace(m.now(), "echo step 0\n", "echo one\n", 1))
	m.commit("the same as one")
	m.git("merge", "-q", "--no-edit", "one")
	m.rye("verify", "tool:acme/hello")

	m.git("checkout", "-q", "-b", "conflict", "one")
	m.edit(3, "echo other")
	if out, ok := m.try("merge", "--no-edit", "two"); ok {
		t.Fatalf("a conflict is none: %s", out)
	}
	if out := m.rye("status"); !strings.Contains(out, "conflict  tool:acme/hello") || strings.Contains(out, "malformed") || !strings.Contains(out, "a web site cannot merge it") {
		t.Errorf("a conflict is shown as\n%s", out)
	}
	for _, args := range [][]string{{"run", "tool:acme/hello"}, {"sign", "tool:acme/hello"}, {"sign", "--all"}, {"resolve"}} {
		m.fails(4, args...)
	}
	m.put(strings.NewReplacer("<<<<<<< ours\n", "", "=======\n", "", ">>>>>>> theirs\n", "").Replace(m.now()))
	m.isMerged("finished by hand", "echo other", "echo two")
	m.commit("finished")
	m.rye("verify", "tool:acme/hello")
}

// TestMergesWithoutRye: where rye cannot answer, git merge-file merges, and both sides are
// still there.
func TestMergesWithoutRye(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	m.branches("one", "two")
	line := m.git("config", "merge.rye.driver")
	dir := t.TempDir()
	self := strings.Split(line, "'")[1]
	for name, script := range map[string]string{
		"gone": "", "no program": "exit 127", "exit 0": "exit 0", "killed": "kill -9 $$", "killed after a word": "echo merged; kill -9 $$",
		"an older rye": "echo rye: unknown command >&2; exit 2", "exit 1": "exit 1", "another word": "echo conflict, perhaps",
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if script != "" {
				if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			m.git("config", "merge.rye.driver", strings.TrimSpace(strings.ReplaceAll(line, self, program)))
			m.git("checkout", "-q", "-f", "-B", "try", "one")
			out, ok := m.try("merge", "--no-edit", "two")
			if name == "killed after a word" { // it answered; a real rye writes the file before
				return
			}
			now := m.now()
			if ok || !strings.Contains(now, "echo one\n") || !strings.Contains(now, "echo two\n") || !strings.Contains(now, "<<<<<<< ours") {
				t.Errorf("a side is lost (clean: %v):\n%s\n%s", ok, out, now)
			}
		})
	}
}

// TestResolve: where git did not start rye, rye resolve merges as rye would have.
func TestResolve(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	m.branches("one", "two", "three")
	info := filepath.Join(m.dir, ".git", "info", "attributes")
	attributes := m.readAt(info)
	if err := os.Remove(info); err != nil {
		t.Fatal(err)
	}
	begin := func() {
		m.git("checkout", "-q", "-f", "-B", "try", "one")
		if out, ok := m.try("merge", "--no-edit", "two"); ok {
			t.Fatalf("without rye the signature lines do not conflict: %s", out)
		}
	}

	begin()
	if out := m.rye("status"); !strings.Contains(out, "conflict  tool:acme/hello") {
		t.Errorf("status:\n%s", out)
	}
	before := m.now()
	m.rye("resolve", "--dry-run")
	if m.now() != before {
		t.Error("a dry run changed the file")
	}
	if out := m.rye("resolve", "--json"); !strings.Contains(out, `"status":"merged"`) || !strings.Contains(out, `"next":"git commit"`) {
		t.Errorf("resolve --json: %s", out)
	}
	m.isMerged("resolve", "echo one", "echo two")
	if out := m.rye("resolve"); !strings.Contains(out, "merged") {
		t.Errorf("a second resolve: %s", out)
	}
	m.rye("sign", "tool:acme/hello", "--yes")
	m.git("add", ".ai")
	m.git("commit", "-qm", "merge")
	if out := m.rye("resolve"); strings.Contains(out, "hello.sh") {
		t.Errorf("nothing is left: %s", out)
	}

	for _, style := range []string{"diff3", "zdiff3"} {
		m.git("config", "merge.conflictStyle", style)
		begin()
		if out, _ := m.try("diff", "--name-only", "--diff-filter=U"); !strings.Contains(out, "hello.sh") {
			t.Fatal(out)
		}
		m.rye("resolve", "tool:acme/hello")
		m.isMerged(style, "echo one", "echo two")
	}
	m.git("config", "--unset", "merge.conflictStyle")

	begin()
	edited := strings.Replace(m.now(), "echo step 9", "echo by hand", 1)
	m.put(edited)
	m.fails(4, "resolve")
	if m.now() != edited {
		t.Error("resolve overwrote an edit")
	}
	m.fails(3, "resolve", "tool:acme/other")

	m.git("checkout", "-q", "-f", "-B", "try", "one")
	m.git("rm", "-q", ".ai/tools/acme/hello.sh")
	m.git("commit", "-qm", "gone")
	_, _ = m.try("merge", "--no-edit", "two")
	if said := m.fails(4, "resolve"); !strings.Contains(said, "removed") {
		t.Errorf("removed on one side:\n%s", said)
	}
	m.git("checkout", "-q", "-f", "main")

	t.Run("octopus", func(t *testing.T) {
		m.git("checkout", "-q", "-f", "-B", "try", "one")
		if _, ok := m.try("merge", "--no-edit", "two", "three"); ok || m.now() != m.git("show", "one:.ai/tools/acme/hello.sh") {
			t.Errorf("a conflict before the last branch leaves\n%s", m.now())
		}
		m.git("checkout", "-q", "-f", "-B", "try", "main")
		if out, ok := m.try("merge", "--no-edit", "one", "two"); ok {
			t.Fatalf("the signature lines do not conflict: %s", out)
		}
		m.rye("resolve")
		m.isMerged("octopus", "echo one", "echo two")
		m.commit("both")
	})
	t.Run("-s ours", func(t *testing.T) {
		m.git("checkout", "-q", "-f", "-B", "try", "one")
		m.git("merge", "-q", "--no-edit", "-s", "ours", "two")
		m.rye("resolve")
		m.rye("verify", "tool:acme/hello")
	})
	t.Run("-X theirs", func(t *testing.T) {
		m.git("checkout", "-q", "-f", "-B", "try", "one")
		m.edit(3, "echo mine")
		m.git("merge", "-q", "--no-edit", "-X", "theirs", "two") // without rye, so with their signature line
		m.rye("resolve")
		m.fails(10, "verify", "tool:acme/hello")
		m.fails(16, "sign", "--all")
		if err := os.WriteFile(info, []byte(attributes), 0o644); err != nil {
			t.Fatal(err)
		}
		m.git("reset", "-q", "--hard", "HEAD~1")
		if _, ok := m.try("merge", "--no-edit", "-X", "theirs", "two"); ok {
			t.Error("with rye, a conflict is settled by itself")
		}
		m.fails(4, "resolve")
		if now := m.now(); !strings.Contains(now, "echo mine\n") || !strings.Contains(now, "echo two\n") {
			t.Errorf("a side is lost:\n%s", now)
		}
		m.git("merge", "--abort")
		os.Remove(info)
	})
	t.Run("rebase", func(t *testing.T) {
		m.git("checkout", "-q", "-f", "-B", "try", "two")
		if _, ok := m.try("rebase", "one"); ok {
			t.Fatal("the rebase does not stop")
		}
		if out := m.rye("resolve", "--json"); !strings.Contains(out, `"next":"git rebase --continue"`) {
			t.Errorf("resolve --json: %s", out)
		}
		m.rye("sign", "tool:acme/hello", "--yes")
		m.git("add", ".ai")
		m.git("rebase", "--continue")
		if now := m.now(); !strings.Contains(now, "echo one\n") || !strings.Contains(now, "echo two\n") {
			t.Errorf("rebase:\n%s", now)
		}
	})
}

// TestResolveHostileIndex: an index from an archive names no file outside of .ai's items, and a
// link in the working tree leads resolve nowhere.
func TestResolveHostileIndex(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	blob := func(text string) string {
		cmd := exec.Command("git", "hash-object", "-w", "--stdin")
		cmd.Dir, cmd.Env, cmd.Stdin = m.dir, m.environment(), strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	a, b, c := blob("1\n2\n3\n4\n5\n"), blob("one\n2\n3\n4\n5\n"), blob("1\n2\n3\n4\nfive\n")
	index := func(mode string, paths ...string) {
		t.Helper()
		var in bytes.Buffer
		for _, p := range paths {
			fmt.Fprintf(&in, "%s %s 1\t%s\x00%s %s 2\t%s\x00%s %s 3\t%s\x00", mode, a, p, mode, b, p, mode, c, p)
		}
		m.git("reset", "-q", "--hard")
		cmd := exec.Command("git", "update-index", "-z", "--index-info")
		cmd.Dir, cmd.Env, cmd.Stdin = m.dir, m.environment(), &in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	tools := filepath.Join(m.dir, ".ai", "tools")
	link := func(target, name string) {
		t.Helper()
		_ = os.RemoveAll(name)
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	clean := func(name string) {
		t.Helper()
		if got := m.readAt(victim); got != "mine\n" {
			t.Fatalf("%s: the victim is %q", name, got)
		}
	}

	index("100644", ".ai/tools/acme/evil.sh")
	link(victim, filepath.Join(tools, "acme", "evil.sh"))
	m.fails(4, "resolve")
	clean("a linked file")

	index("100644", ".ai/tools/evil/victim")
	link(filepath.Dir(victim), filepath.Join(tools, "evil"))
	m.fails(4, "resolve")
	clean("a linked directory")
	_ = os.Remove(filepath.Join(tools, "evil"))

	index("120000", ".ai/tools/acme/hello.sh")
	if said := m.fails(4, "resolve"); !strings.Contains(said, "link") {
		t.Errorf("a link in the index:\n%s", said)
	}
	for _, p := range []string{".ai/tools/acme/$(touch PWN).sh", ".ai/tools/acme/a\nb.sh", ".ai/allowed_signers", ".ai/denied", ".ai/rye.yaml"} {
		index("100644", p)
		m.fails(4, "resolve")
	}
	index("100644", "src/auth.c", "x/.ai/tools/acme/a.sh")
	if out := m.rye("resolve"); strings.Contains(out, "auth") || strings.Contains(out, "x/.ai") {
		t.Errorf("files outside of the project's .ai:\n%s", out)
	}
	index("100644", ".ai/tools/acme/A.sh", ".ai/tools/acme/a.sh")
	m.fails(19, "resolve")

	// git itself refuses to put such paths into an index, so the bytes are changed.
	index("100644", ".ai/tools/acme/evil.sh")
	at := filepath.Join(m.dir, ".git", "index")
	raw := []byte(m.readAt(at))
	for _, p := range []string{".ai/../../../../victim", ".ai/tools/acme/.git/xx", ".ai/tools/acme/git~1xx", ".ai/tools/a\\b/c/d/e.sh"} {
		changed := bytes.ReplaceAll(raw, []byte(".ai/tools/acme/evil.sh"), []byte(p))
		if bytes.Equal(raw, changed) || len(raw) != len(changed) {
			t.Fatalf("%s is not in the index", p)
		}
		if err := os.WriteFile(at, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		m.fails(4, "resolve")
	}
	for _, n := range []int{11, 40, len(raw) / 2} {
		if err := os.WriteFile(at, raw[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		m.fails(10, "resolve")
	}
	clean("a path that leads out")
	if _, err := os.Lstat(filepath.Join(m.dir, "PWN")); err == nil {
		t.Error("a name ran as a command")
	}
}

// TestDriverHostileNames: git passes the path of a file to sh, and no name runs as a command.
func TestDriverHostileNames(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	dir := filepath.Join(m.dir, ".ai", "bundles", "acme", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	names := []string{"$(touch PWN)", "`touch PWN`", "'; touch PWN; '", `"; touch PWN; "`, "a\nb", "-x", "--help", "%A", "%P$(touch PWN)", "é\xff", "\\", "a b", "*"}
	write := func(text string) {
		for _, n := range names {
			if err := os.WriteFile(filepath.Join(dir, n), []byte(text), 0o644); err != nil {
				t.Skipf("this disk has no name %q: %v", n, err)
			}
		}
		m.git("add", "-A")
		m.git("commit", "-qm", text)
	}
	write("1\n2\n3\n4\n5\n")
	m.git("checkout", "-q", "-b", "other")
	write("1\n2\n3\n4\nfive\n")
	for _, missing := range []bool{false, true} {
		m.git("checkout", "-q", "-f", "-B", "mine", "main")
		if missing {
			line := strings.TrimSpace(m.git("config", "merge.rye.driver"))
			m.git("config", "merge.rye.driver", strings.ReplaceAll(line, strings.Split(line, "'")[1], "/nowhere/rye"))
		}
		write("one\n2\n3\n4\n5\n")
		m.git("merge", "-q", "--no-edit", "other")
		for _, n := range names {
			if got := m.readAt(filepath.Join(dir, n)); got != "one\n2\n3\n4\nfive\n" {
				t.Errorf("%q: %q", n, got)
			}
		}
		if _, err := os.Lstat(filepath.Join(m.dir, "PWN")); err == nil {
			t.Fatal("a name ran as a command")
		}
	}
}

// TestDriverSetUp: rye writes the driver into the repository's own files, once, and reports
// another program there.
func TestDriverSetUp(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	config, info := filepath.Join(m.dir, ".git", "config"), filepath.Join(m.dir, ".git", "info", "attributes")
	was, lines := m.readAt(config), m.readAt(info)
	m.rye("init")
	m.rye("doctor", "--fix", "--yes")
	if m.readAt(config) != was || m.readAt(info) != lines || strings.Count(was, `[merge "rye"]`) != 1 {
		t.Errorf("not once:\n%s\n%s", m.readAt(config), m.readAt(info))
	}
	check := func(want string) {
		t.Helper()
		cmd := exec.Command(program("rye"), "doctor")
		cmd.Dir, cmd.Env = m.dir, m.env
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
	check("ok  merge driver")
	for _, name := range []string{".ai/allowed_signers", ".ai/rye.yaml", ".ai/denied", "src/a.c"} {
		if out := m.git("check-attr", "merge", name); strings.Contains(out, ": rye") {
			t.Errorf("%s", out)
		}
	}
	for _, name := range []string{".ai/tools/acme/a.sh", "sub/.ai/config/a/b.yaml", ".ai/rye.lock", ".ai/bundles/a/b/rye.bundle.yaml"} {
		if out := m.git("check-attr", "merge", name); !strings.Contains(out, "merge: rye") {
			t.Errorf("%s", out)
		}
	}

	line := strings.TrimSpace(m.git("config", "merge.rye.driver"))
	m.git("config", "merge.rye.driver", strings.ReplaceAll(line, strings.Split(line, "'")[1], "/gone/rye"))
	check("no  merge driver: git merges items here with /gone/rye")
	m.rye("init")
	if got := strings.TrimSpace(m.git("config", "merge.rye.driver")); got != line {
		t.Errorf("a stale path stays: %s", got)
	}

	m.git("config", "merge.rye.driver", "sh -c evil")
	check("no  merge driver: git's configuration here has a merge driver rye that rye did not write")
	m.rye("init")
	if got := strings.TrimSpace(m.git("config", "merge.rye.driver")); got != "sh -c evil" {
		t.Errorf("rye took a foreign driver for its own: %s", got)
	}
	m.fails(16, "doctor", "--fix")
	m.rye("doctor", "--fix", "--yes")
	if got := strings.TrimSpace(m.git("config", "merge.rye.driver")); got != line {
		t.Errorf("after --fix: %s", got)
	}

	tree := filepath.Join(filepath.Dir(m.dir), "linked")
	m.git("worktree", "add", "-q", tree, "-b", "linked")
	if out, err := exec.Command("git", "-C", tree, "check-attr", "merge", ".ai/rye.lock").CombinedOutput(); err != nil || !strings.Contains(string(out), "merge: rye") {
		t.Errorf("a linked worktree: %v %s", err, out)
	}

	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), config); err != nil {
		t.Fatal(err)
	}
	m.rye("init")
	if target, err := os.Readlink(config); err != nil {
		t.Errorf("a link was replaced: %s %v", target, err)
	}
}
