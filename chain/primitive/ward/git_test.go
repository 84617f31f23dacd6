//go:build unix

package ward

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealGit: a repository that a tool may make works when the run is over, and one that
// it may not make is gone.
func TestRealGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	const commit = `cd sub; git init -q -b main; git config user.name A; git config user.email a@b; echo x >f; git add f; git commit -qm one; git remote add origin https://example.org/x.git`
	dir := project(t)
	o := Options{Project: dir, Write: []string{filepath.Join(dir, "sub/.git")}}
	after := func(does string) []Taken {
		t.Helper()
		w := look(t, o)
		w.Excuse(Excuses{Held: true, Git: true})
		run(t, dir, does)
		taken, err := w.After(context.Background(), nil, filepath.Join(t.TempDir(), "to"))
		if err != nil {
			t.Fatal(err)
		}
		return taken
	}
	if taken := after("mkdir sub; " + commit); len(taken) > 0 {
		t.Errorf("of a plain repository was taken: %v", taken)
	}
	run(t, dir, "cd sub; git fsck --strict; test -z \"$(git status --porcelain)\"; test \"$(git log --format=%s)\" = one; test \"$(git config remote.origin.url)\" = https://example.org/x.git")
	equal(t, "protected", mounts(t, look(t, o)), []string{"sub/.git/branches/", "sub/.git/config", "sub/.git/hooks/"})

	// A second repository's worth of malice, in a new one.
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	taken := after("mkdir sub; " + commit + `; git config core.fsmonitor "touch $PWD/ran"; git config alias.x '!touch ran'; git config core.hooksPath h; git config include.path ../x; printf '#!/bin/sh\ntouch ran\n' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout`)
	equal(t, "taken", says(taken), []string{"new sub/.git/config", "new sub/.git/hooks/post-checkout"})
	run(t, dir, "cd sub; git status >/dev/null; git checkout -qb two; git fsck --strict; test ! -e ran; test \"$(git config user.email)\" = a@b; test -z \"$(git config core.fsmonitor)$(git config alias.x)$(git config core.hooksPath)\"")

	// Submodules: what they need of their own config is what git finds out by itself.
	o.Write = append(o.Write, filepath.Join(dir, "sub/m/.git"))
	run(t, dir, "git init -q --bare -b main src.git; cd sub; git push -q ../src.git HEAD:main")
	after("cd sub; git -c protocol.file.allow=always submodule add -q $PWD/../src.git m; git commit -qm sub")
	run(t, dir, "cd sub; git status --porcelain; git submodule status; cd m; git log --format=%s; git fsck")

	// Nobody said that the run may make these. What git itself makes stays.
	o.Write = nil
	equal(t, "taken", says(after("mkdir other; cd other; git init -q")), nil)
	equal(t, "taken", says(after("git init -q --bare other/x")), nil)
	equal(t, "taken", says(after("git clone -q src.git other/clone 2>/dev/null")), nil)
	equal(t, "taken", says(after("git clone -q --depth 1 file://$PWD/src.git other/shallow")), nil)
	equal(t, "taken", says(after("git clone -q --filter=blob:none file://$PWD/src.git other/partial 2>/dev/null")), nil)
	equal(t, "taken", says(after("git -c protocol.file.allow=always clone -q --recurse-submodules sub other/deep")), nil)
	run(t, dir, "cd other/deep; git submodule status; git fsck; git status --porcelain; cd m; git log --format=%s")
	equal(t, "taken", says(after("git clone -q --reference src.git src.git other/borrows")), []string{"new other/borrows/.git/objects/info/alternates"})
	equal(t, "taken", says(after("cd other/clone; git worktree add -q ../tree")), nil)
	run(t, dir, "cd other/tree; git status --porcelain; git log --format=%s")
}

func TestHarmlessConfig(t *testing.T) {
	for _, c := range []struct{ name, text, keep string }{
		{"a new repository", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n", "all"},
		{"a clone", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", "all"},
		{"quotes", "[user]\n\tname = \"A # B\"\n", "all"},
		{"nothing", "", "all"},
		{"a program", "[core]\n\tbare = true\n\tfsmonitor = evil\n\tsshCommand = evil\n\tpager = evil\n", "[core]\n\tbare = true\n"},
		{"upper case", "[CORE]\n\tHooksPath = x\n\tBare = true\n", "[core]\n\tbare = true\n"},
		{"an include", "[include]\n\tpath = x\n[includeIf \"gitdir:/\"]\n\tpath = x\n", ""},
		{"filters, drivers, aliases, helpers", "[filter \"a\"]\n\tclean = x\n[diff \"a\"]\n\tcommand = x\n[alias]\n\tst = !x\n[credential]\n\thelper = !x\n", ""},
		{"a remote that is a command", "[remote \"a\"]\n\turl = ext::sh -c x\n\tuploadpack = x\n\tvcs = x\n\tproxy = x\n", ""},
		{"a host that is an option", "[remote \"a\"]\n\turl = ssh://-oProxyCommand=x/y\n[remote \"b\"]\n\turl = ssh://u@-oProxyCommand=x/y\n[remote \"c\"]\n\turl = -x@h:y\n", ""},
		{"a path", "[remote \"a\"]\n\turl = /etc\n", "all"},
		{"a path that is a transport", "[remote \"a\"]\n\turl = /x::y\n[branch \"x\"]\n\tremote = ext::x\n", ""},
		{"instead of", "[url \"ext::x\"]\n\tinsteadOf = https://\n", ""},
		{"the deprecated section", "[core.x]\n\tbare = true\n", "refused"},
		{"a continued line", "[core]\n\tbare = \\\nfalse\n", "refused"},
		{"a key beside its section", "[core] fsmonitor = x\n", "refused"},
		{"a key without a value", "[core]\n\tbare\n", "refused"},
		{"half a quote", "[core]\n\tbare = tr\"ue\"\n", "refused"},
		{"no section", "bare = true\n", "refused"},
		{"a carriage return", "[core]\r\n\tbare = true\n", "refused"},
		{"too long", "#" + strings.Repeat("x", maxGitFile), "refused"},
	} {
		keep, all := harmlessConfig(c.text)
		switch {
		case c.keep == "all" && !all:
			t.Errorf("%s: only %q is kept", c.name, keep)
		case c.keep != "all" && all:
			t.Errorf("%s: all is kept", c.name)
		case c.keep == "refused" && keep != "", c.keep != "all" && c.keep != "refused" && keep != c.keep:
			t.Errorf("%s: keeps %q, want %q", c.name, keep, c.keep)
		}
	}
}

// FuzzConfig: what is written of a config is read as the same, and is harmless; and git
// itself sees no key in it that was not meant.
func FuzzConfig(f *testing.F) {
	f.Add("[core]\n\tbare = true\n")
	f.Add("[remote \"origin\"]\n\turl = https://example.org/x\n[user]\n\tname = \" a;b \"\n")
	f.Add("[a \"b\"]\nc=d #e\n")
	f.Fuzz(func(t *testing.T, text string) {
		keep, _ := harmlessConfig(text)
		again, all := harmlessConfig(keep)
		if again != keep || !all {
			t.Errorf("%q keeps %q, and that %q", text, keep, again)
		}
		for line := range strings.Lines(keep) {
			if low := strings.ToLower(line); strings.Contains(low, "path =") || strings.HasPrefix(low, "[include") {
				t.Errorf("%q keeps %q", text, line)
			}
		}
	})
}

// TestLinksInGit: git writes through links. A run that may write a git directory leaves none that leads what the
// user's git writes next to a file of the user's.
func TestLinksInGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := project(t, "old", "victim")
	run(t, dir, "git init -q -b main; git config user.name A; git config user.email a@b; echo x >f; git add f; git commit -qm one; ln -s ../old .git/info/kept; rm .git/HEAD; ln -s refs/heads/main .git/HEAD")
	w := look(t, Options{Project: dir, Write: []string{filepath.Join(dir, ".git")}})
	w.Excuse(Excuses{Held: true})
	run(t, dir, `git commit -q --allow-empty -m two; rm .git/COMMIT_EDITMSG .git/logs/refs/heads/main
		ln -s $PWD/victim .git/COMMIT_EDITMSG; ln -s ../../../../victim .git/logs/refs/heads/main; ln -s /nowhere .git/FETCH_HEAD
		ln -s $PWD .git/refs/tags/x; mkdir -p .git/logs/refs/deep; ln -s x .git/logs/refs/deep/y; ln -s /nowhere .git/objects/aa; ln -s x .git/info/exclude2`)
	taken, err := w.After(context.Background(), nil, filepath.Join(t.TempDir(), "to"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "taken", says(taken), []string{"new .git/COMMIT_EDITMSG", "new .git/FETCH_HEAD", "new .git/info/exclude2", "new .git/logs/refs/deep/y",
		"new .git/logs/refs/heads/main", "new .git/objects/aa", "new .git/refs/tags/x"})
	run(t, dir, "git commit -q --allow-empty -m three; git fetch -q . main; git fsck; test \"$(cat victim)\" = victim; test -L .git/HEAD; test -L .git/info/kept")
}

// TestIncludedConfig: a file that the config includes is protected, and one that is not there yet is taken.
func TestIncludedConfig(t *testing.T) {
	dir := project(t, append(gitDir(".git"), "team.gitconfig", "src/x")...)
	const config = "[core]\n\tpath = src/x\n[include]\n\tpath = ../team.gitconfig\n\tpath = ../later\n\tpath = ~/x\n[includeIf \"onbranch:main\"]\n\tpath = \"../on-main\"\n"
	if err := os.WriteFile(filepath.Join(dir, ".git/config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	w := look(t, Options{Project: dir})
	equal(t, "protected", mounts(t, w), []string{".git/", "team.gitconfig"})
	put(t, dir, "later", "on-main", "src/y")
	taken, err := w.After(context.Background(), nil, filepath.Join(t.TempDir(), "to"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "taken", says(taken), []string{"new later", "new on-main"})
	equal(t, "with a need", mounts(t, look(t, Options{Project: dir, Write: []string{filepath.Join(dir, "team.gitconfig")}})), []string{".git/"})
}
