//go:build unix

package ward

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// userGit makes a repository of a user with two branches: in two there is an .envrc, an AGENTS.md
// with other text and a directory .claude.
const userGit = `git init -q -b one; git config user.name A; git config user.email a@b
	echo one >AGENTS.md; echo x >main.go; git add .; git commit -qm one
	git checkout -qb two; echo two >AGENTS.md; echo use nix >.envrc; mkdir -p .claude/skills/a; echo '{}' >.claude/settings.json; echo s >.claude/skills/a/SKILL.md; ln -s AGENTS.md CLAUDE.md
	git add .; git commit -qm two; git checkout -q one`

// TestExcused: what the user, git and rye do during a run stays, and what the tool does goes.
func TestExcused(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	held := Excuses{Held: true, Git: true}
	for _, c := range []struct {
		name     string
		first    string
		excuses  Excuses
		write    []string
		vanished []string
		does     string
		want     []string
		left     []string
		stays    []string
	}{
		{name: "a checkout", excuses: held, vanished: []string{"AGENTS.md"}, does: "git checkout -q two", stays: []string{".envrc", ".claude/settings.json", "CLAUDE.md"}},
		{name: "a checkout and back", excuses: held, vanished: []string{"AGENTS.md"}, does: "git checkout -q two; git checkout -q one", stays: []string{"AGENTS.md"}},
		{name: "a checkout and back, of a directory", first: userGit + "; git checkout -q two", excuses: held, vanished: []string{"AGENTS.md", ".envrc", ".claude", "CLAUDE.md"}, does: "git checkout -q one; git checkout -q two", stays: []string{".envrc", ".claude/settings.json", "CLAUDE.md"}},
		{name: "a stash, a merge and a worktree", excuses: held, does: "git merge -q two; echo y >>AGENTS.md; git stash -q; git worktree add -q -b w wt two; git clone -q . cl 2>/dev/null",
			stays: []string{".envrc", "wt/.git", "wt/AGENTS.md", "wt/.envrc", "cl/.git/HEAD"}, vanished: []string{"AGENTS.md"}, want: []string{"new cl/.claude", "new cl/.envrc", "new cl/AGENTS.md", "new cl/CLAUDE.md"}},
		{name: "a worktree that the tool changed", excuses: held, does: "git worktree add -q -b w wt two; echo evil >wt/.envrc", want: []string{"new wt/.envrc"}, stays: []string{"wt/.git", "wt/AGENTS.md", "wt/.claude/settings.json"}},
		{name: "a checkout that is not over", first: userGit + "; git checkout -q two; cp .git/index .git/two; git checkout -q one", excuses: held,
			does: "cp .git/two .git/index.lock; git show two:.envrc >.envrc; (sleep 0.3; mv .git/index.lock .git/index) >/dev/null 2>&1 &", stays: []string{".envrc"}},
		{name: "a checkout that has made a directory", first: userGit + "; git checkout -q two; cp .git/index .git/two; git checkout -q one", excuses: held,
			does: "cp .git/two .git/index.lock; mkdir .claude; (sleep 0.3; git show two:.claude/settings.json >.claude/settings.json; mv .git/index.lock .git/index) >/dev/null 2>&1 &", stays: []string{".claude/settings.json"}},
		{name: "a checkout that is never over", excuses: held, does: "touch -d '2 minutes ago' .git/index.lock; git show two:.envrc >.envrc", want: []string{"new .envrc"}},
		{name: "a file of another branch, without a checkout", excuses: held, does: "git show two:.envrc >.envrc", want: []string{"new .envrc"}},
		{name: "a checked out file that the tool changed", excuses: held, vanished: []string{"AGENTS.md"}, does: "git checkout -q two; echo evil >>AGENTS.md; echo evil >>.envrc; ln -sf main.go CLAUDE.md",
			want: []string{"changed AGENTS.md", "new .envrc", "new CLAUDE.md"}, stays: []string{".claude/settings.json"}},
		{name: "a file beside checked out ones", excuses: held, vanished: []string{"AGENTS.md"}, does: "git checkout -q two; echo evil >.claude/hooks.json; mkdir -p .claude/skills/b; echo evil >.claude/skills/b/SKILL.md",
			want: []string{"new .claude/hooks.json", "new .claude/skills/b"}, stays: []string{".claude/settings.json", ".claude/skills/a/SKILL.md"}},
		{name: "what the user had removed, brought back", first: userGit + "; git checkout -q two; rm .envrc", excuses: held, does: "echo use nix >.envrc", want: []string{"new .envrc"}},
		{name: "a repository that the run may write", excuses: held, write: []string{".git"}, vanished: []string{"AGENTS.md"}, does: "git checkout -q two",
			want: []string{"changed AGENTS.md", "new .envrc", "new .claude", "new CLAUDE.md"}},
		{name: "a repository that an overlapping run may write", excuses: Excuses{Held: true}, vanished: []string{"AGENTS.md"}, does: "git checkout -q two",
			want: []string{"changed AGENTS.md", "new .envrc", "new .claude", "new CLAUDE.md"}},
		{name: "a repository that is new", first: "mkdir sub", excuses: held, does: "cd sub; " + userGit + "; git checkout -q two", want: []string{"new sub/AGENTS.md", "new sub/.envrc", "new sub/.claude", "new sub/CLAUDE.md"}, stays: []string{"sub/.git/HEAD"}},
		{name: "held to the end, and replaced outside", excuses: held, does: "echo x >n; mv n AGENTS.md", stays: []string{"AGENTS.md"}},
		{name: "another run may write it", excuses: Excuses{Held: true, Git: true, Others: []Other{{Tool: "tool:acme/env", Write: []string{".envrc", ".vscode/tasks.json"}}}}, does: "echo x >.envrc; mkdir .vscode; echo x >.vscode/tasks.json; echo x >.vscode/settings.json",
			want: []string{"new .vscode/settings.json"}, left: []string{".envrc by tool:acme/env", ".vscode/tasks.json by tool:acme/env"}, stays: []string{".envrc", ".vscode/tasks.json"}},
		{name: "rye wrote it", excuses: Excuses{Held: true, Git: true, Own: func(rel string, link bool, read func() ([]byte, error)) bool {
			raw, err := read()
			return err == nil && !link && rel == ".claude/skills/a/SKILL.md" && string(raw) == "s\n"
		}}, does: "mkdir -p .claude/skills/a; echo s >.claude/skills/a/SKILL.md; echo s >.claude/skills/a/more; ln -s SKILL.md .claude/skills/a/other", want: []string{"new .claude/skills/a/more", "new .claude/skills/a/other"}, stays: []string{".claude/skills/a/SKILL.md"}},
		{name: "hooks, keys, a rebase and links in a new repository", excuses: held, does: "git clone -q . cl 2>/dev/null; rm cl/AGENTS.md; cd cl/.git; echo x >hooks/post-checkout; echo x >hooks/a.sample; mkdir rebase-merge sequencer; echo exec x >rebase-merge/git-rebase-todo; git config alias.a '!x'; ln -s /tmp refs/heads/out; echo '* filter=x' >info/attributes; echo x >unknown",
			want:  []string{"new cl/.git/hooks/post-checkout", "new cl/.git/rebase-merge", "new cl/.git/sequencer", "new cl/.git/config", "new cl/.git/refs/heads/out", "new cl/.git/info/attributes", "new cl/.git/unknown"},
			stays: []string{"cl/.git/HEAD", "cl/.git/config", "cl/.git/info/exclude"}},
		{name: "a .git file that no repository knows", excuses: held, does: "git worktree add -q -b w wt one; rm wt/AGENTS.md; mkdir a b c; cp wt/.git a/.git; echo gitdir: $PWD/.git >b/.git; echo gitdir: /tmp >c/.git", want: []string{"new a/.git", "new b/.git", "new c/.git"}, stays: []string{"wt/.git"}},
		{name: "an unfinished rebase in a repository that the run may write", excuses: held, write: []string{".git"}, does: "mkdir .git/rebase-merge; echo exec x >.git/rebase-merge/git-rebase-todo; echo x >.git/MERGE_MSG",
			want: []string{"new .git/rebase-merge"}, stays: []string{".git/MERGE_MSG"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := project(t)
			first := c.first
			if first == "" {
				first = userGit
			}
			run(t, dir, first)
			settle(t)
			o := Options{Project: dir}
			for _, p := range c.write {
				o.Write = append(o.Write, filepath.Join(dir, p))
			}
			for i := range c.excuses.Others {
				o := &c.excuses.Others[i]
				o.Write = slices.Clone(o.Write)
				for k := range o.Write {
					o.Write[k] = filepath.Join(dir, o.Write[k])
				}
			}
			w := look(t, o)
			w.Excuse(c.excuses)
			w.Watch()
			run(t, dir, c.does)
			var vanished []string
			for _, p := range c.vanished {
				vanished = append(vanished, filepath.Join(dir, p))
			}
			taken, err := w.After(context.Background(), vanished, filepath.Join(t.TempDir(), "to"))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "taken", says(taken), c.want)
			left := []string{}
			for _, l := range w.Left() {
				left = append(left, l.Path+" by "+l.By)
			}
			equal(t, "left", left, c.left)
			for _, p := range c.stays {
				if _, err := os.Lstat(filepath.Join(dir, p)); err != nil {
					t.Errorf("%s is gone", p)
				}
			}
		})
	}
}

// TestIndex compares the parser with git.
func TestIndex(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for name, how := range map[string]string{
		"version 2": "", "version 3": "echo y >later; git add -N later", "version 4": "git update-index --index-version 4; echo z >zz; git add zz",
		"sha256": "", "an untracked cache": "git update-index --untracked-cache; git status >/dev/null", "a conflict": "git checkout -q two; echo z >AGENTS.md; git commit -qam z; git merge -q one >/dev/null || true",
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t)
			setup := userGit
			if name == "sha256" {
				setup = strings.Replace(setup, "git init", "git init --object-format=sha256", 1)
			}
			if name == "a conflict" {
				setup += "; echo o >AGENTS.md; git commit -qam o"
			}
			run(t, dir, setup+"; mkdir -p a/b; for i in 1 2 3 4 5 6 7 8 9; do echo $i >a/b/file$i; done; git add a; "+how)
			out, err := exec.Command("git", "-C", dir, "ls-files", "-s").Output()
			if err != nil {
				t.Fatal(err)
			}
			want := []string{}
			for line := range strings.Lines(string(out)) {
				head, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				f := strings.Fields(head)
				if f[2] == "0" {
					want = append(want, f[0]+" "+f[1]+" "+path)
				}
			}
			raw, err := os.ReadFile(filepath.Join(dir, ".git/index"))
			if err != nil {
				t.Fatal(err)
			}
			x, err := parseIndex(raw)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "files", listIndex(x), want)
		})
	}
	dir := project(t)
	run(t, dir, userGit+"; git update-index --split-index")
	raw, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseIndex(raw); err == nil {
		t.Error("a split index is taken for a whole one")
	}
}

func listIndex(x *index) []string {
	out := []string{}
	for name, b := range x.files {
		out = append(out, fmt.Sprintf("%06o %x %s", b.mode, b.sum, name))
	}
	return out
}

// FuzzIndex: a damaged index is refused, and takes no more memory than it has bytes.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00" + strings.Repeat("\x00", 20)))
	if _, err := exec.LookPath("git"); err == nil {
		for _, v := range []string{"2", "4"} {
			dir := project(f)
			run(f, dir, userGit+"; git update-index --index-version "+v)
			if raw, err := os.ReadFile(filepath.Join(dir, ".git/index")); err == nil {
				f.Add(raw)
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		x, err := parseIndex(raw)
		if err != nil {
			return
		}
		for name, b := range x.files {
			if name == "" || len(b.sum) != 20 && len(b.sum) != 32 {
				t.Errorf("%q has %x", name, b.sum)
			}
		}
	})
}
