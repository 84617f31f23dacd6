package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// plainGit runs git in the project, as its user does.
func (h *home) plainGit(args ...string) {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=u", "-c", "user.email=u@e", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Env = h.dir, append(slices.Clone(h.env), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (h *home) has(path, text string) error {
	raw, err := os.ReadFile(filepath.Join(h.dir, path))
	if err == nil && string(raw) != text {
		err = fmt.Errorf("%s is %q, want %q", path, raw, text)
	}
	return err
}

// A neighbour is somebody who works in the project while a tool runs there.
type neighbour struct {
	name   string
	before func(h *home, n int) // the run
	acts   func(h *home, n int) // during the run
	plants string               // what the tool plants besides the usual, after that
	gone   []string             // of it
	kept   map[string]string    // the neighbour's files, afterwards
	after  func(h *home, n int)
}

// save writes a file as many editors do: beside it, and then over it.
func (h *home) save(path, text string) {
	h.t.Helper()
	h.write(path+"~", text)
	if err := os.Rename(filepath.Join(h.dir, path+"~"), filepath.Join(h.dir, path)); err != nil {
		h.t.Fatal(err)
	}
}

func neighbours() []neighbour {
	return []neighbour{
		{name: "nobody"},
		{name: "an editor", acts: func(h *home, _ int) { h.save("AGENTS.md", "saved\n"); h.save("main.go", "package x\n") },
			kept: map[string]string{"AGENTS.md": "saved\n", "main.go": "package x\n"}, after: func(h *home, _ int) { h.plainGit("checkout", "-q", ".") }},
		{name: "an editor that writes in place", acts: func(h *home, _ int) { h.write("AGENTS.md", "in place\n") },
			kept: map[string]string{"AGENTS.md": "in place\n"}, after: func(h *home, _ int) { h.plainGit("checkout", "-q", ".") }},
		{name: "git checkout", acts: func(h *home, _ int) { h.plainGit("checkout", "-q", "two") }, plants: "echo evil >.claude/hooks.json", gone: []string{".claude/hooks.json"},
			kept: map[string]string{"AGENTS.md": "two\n", ".envrc": "use nix\n", ".claude/settings.json": "{}\n"}, after: func(h *home, _ int) { h.plainGit("checkout", "-q", "one") }},
		{name: "git checkout, twice", before: func(h *home, _ int) { h.plainGit("checkout", "-q", "two") },
			acts: func(h *home, _ int) { h.plainGit("checkout", "-q", "one"); h.plainGit("checkout", "-q", "two") },
			kept: map[string]string{"AGENTS.md": "two\n", ".envrc": "use nix\n", ".claude/settings.json": "{}\n"}, after: func(h *home, _ int) { h.plainGit("checkout", "-q", "one") }},
		{name: "git clone", acts: func(h *home, _ int) { h.plainGit("clone", "-q", "../source", "clone") },
			plants: "echo evil >clone/.git/hooks/post-checkout; git -C clone config core.fsmonitor evil", gone: []string{"clone/.git/hooks/post-checkout"},
			kept: map[string]string{"clone/.git/HEAD": "ref: refs/heads/main\n", "clone/readme": "hello\n"},
			after: func(h *home, _ int) {
				h.plainGit("-C", "clone", "status")
				if cmd := exec.Command("git", "-C", filepath.Join(h.dir, "clone"), "config", "core.fsmonitor"); cmd.Run() == nil {
					h.t.Error("the clone still has the tool's program in its config")
				}
				h.plainGit("-C", "clone", "pull", "-q")
			}},
		{name: "git worktree add", acts: func(h *home, n int) { h.plainGit("worktree", "add", "-q", "-b", fmt.Sprint("w", n), "tree", "two") }, plants: "echo evil >tree/GEMINI.md; mkdir other; cp tree/.git other/.git", gone: []string{"tree/GEMINI.md", "other/.git"},
			kept: map[string]string{"tree/AGENTS.md": "two\n", "tree/.envrc": "use nix\n"}, after: func(h *home, _ int) {
				h.plainGit("-C", "tree", "status")
				h.plainGit("worktree", "remove", "--force", "tree")
			}},
		{name: "a formatter", acts: func(h *home, _ int) {
			cmd := exec.Command("sed", "-i", "s/one/formatted/", "AGENTS.md", "main.go")
			if cmd.Dir = h.dir; cmd.Run() != nil {
				h.t.Error("sed failed")
			}
		}, kept: map[string]string{"AGENTS.md": "formatted\n"}, after: func(h *home, _ int) { h.plainGit("checkout", "-q", ".") }},
		{name: "rye export", acts: func(h *home, _ int) { h.rye("export", "--to", "claude-code", "--yes") }, plants: "echo evil >.claude/skills/tide/evil.md; mkdir .claude/commands; echo evil >.claude/commands/x.md",
			gone: []string{".claude/skills/tide/evil.md", ".claude/commands"}, kept: map[string]string{".claude/skills/tide/SKILL.md": tide}, after: func(h *home, _ int) { h.rye("export", "--to", "claude-code", "--remove", "--yes") }},
		{name: "another tool", acts: func(h *home, _ int) { h.rye("run", "tool:acme/env") }, kept: map[string]string{".envrc": "use mine\n"}, after: func(h *home, _ int) { os.Remove(filepath.Join(h.dir, ".envrc")) }},
	}
}

const tide = "---\nname: tide\ndescription: Work out tides. Use when somebody asks about water levels.\n---\n\nLook it up.\n"

// TestTheirs: while a tool runs and plants, others work in the same project. Nothing of theirs is taken,
// and everything planted is. TestTheirsAtRandom does it at random.
func TestTheirs(t *testing.T) {
	t.Parallel()
	needBash(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	h := newHome(t)
	source := *h
	source.dir = filepath.Join(filepath.Dir(h.dir), "source")
	source.write("readme", "hello\n")
	source.plainGit("init", "-q", "-b", "main")
	source.plainGit("add", ".")
	source.plainGit("commit", "-qm", "one")

	h.bash("env", "{read: [.], write: [., .envrc]}", "echo use mine > .envrc\n")
	h.bash("plant", "{read: [.], write: [.]}", `touch started
until [ -e go ]; do sleep 0.01; done
mkdir -p .vscode deep/.git/hooks
echo evil >.vscode/tasks.json; echo evil >deep/.git/hooks/post-checkout; echo evil >.mcp.json; echo evil >AGENT.md; mkdir ex; mv examples/.github ex/.github 2>/dev/null; mv ex/.github .github
eval "$RYE_PARAM_X"
exit 0
`)
	h.write(".ai/bundles/acme/tide/SKILL.md", tide)
	h.rye("sign", "--all")
	h.write("AGENTS.md", "one\n")
	h.write("main.go", "package one\n")
	h.write("examples/.github/workflows/ci.yml", "evil\n")
	h.write(".gitignore", "started\ngo\n")
	h.plainGit("init", "-q", "-b", "one")
	h.plainGit("add", ".")
	h.plainGit("commit", "-qm", "one")
	h.plainGit("checkout", "-qb", "two")
	h.write("AGENTS.md", "two\n")
	h.write(".envrc", "use nix\n")
	h.write(".claude/settings.json", "{}\n")
	h.plainGit("add", ".")
	h.plainGit("commit", "-qm", "two")
	h.plainGit("checkout", "-q", "one")
	for k, n := range neighbours() {
		if h.besideA(n, k); t.Failed() {
			return
		}
	}
}

// besideA runs the planting tool beside a neighbour.
func (h *home) besideA(n neighbour, i int) {
	h.t.Helper()
	if n.before != nil {
		n.before(h, i)
	}
	cmd := h.command("run", "tool:acme/plant", "-p", "x="+n.plants, "--yes")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(h.dir, "started")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			cmd.Wait()
			h.t.Fatal("the tool did not begin: ", said.String())
		}
	}
	if n.acts != nil {
		n.acts(h, i)
	}
	h.write("go", "")
	if err := cmd.Wait(); err != nil {
		h.t.Errorf("%s: %v\n%s", n.name, err, said.String())
	}
	for _, p := range append([]string{".vscode", "deep/.git", ".mcp.json", "AGENT.md", ".github/workflows"}, n.gone...) {
		if _, err := os.Lstat(filepath.Join(h.dir, p)); err == nil {
			h.t.Errorf("%s: %s was planted, and is still there\n%s", n.name, p, said.String())
		}
	}
	for p, text := range n.kept {
		if err := h.has(p, text); err != nil {
			h.t.Errorf("%s: %v\n%s", n.name, err, said.String())
		}
	}
	if n.after != nil {
		n.after(h, i)
	}
	h.rye("restore", "--taken", "--dismiss")
	for _, p := range []string{"started", "go", "deep", "ex", ".github", "clone", "other", ".claude"} {
		os.RemoveAll(filepath.Join(h.dir, p))
	}
	h.plainGit("checkout", "-q", ".")
}
