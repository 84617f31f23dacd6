package session

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// TestGitDirs: the repository of a linked worktree and of a submodule is found where it names the
// tree in return; a copy, and .git files that an archive can bring, find nothing.
func TestGitDirs(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(top, filepath.FromSlash(path)) }
	put := func(path, text string) {
		os.MkdirAll(filepath.Dir(at(path)), 0o755)
		if err := os.WriteFile(at(path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Git(t, top, "init", "-q", "main")
	put("main/sub/file", "text")
	testkit.Git(t, at("main"), "add", "-A")
	testkit.Git(t, at("main"), "commit", "-qm", "base")
	testkit.Git(t, at("main"), "worktree", "add", "-q", "../linked")
	testkit.Git(t, top, "clone", "-q", "--bare", "main", "hub.git")
	put("hub.git/secret", "text")
	testkit.Git(t, at("hub.git"), "worktree", "add", "-q", "../beside", "-b", "beside")
	testkit.Git(t, at("main"), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", at("hub.git"), "module")
	if err := os.CopyFS(at("copied"), os.DirFS(at("linked"))); err != nil {
		t.Fatal(err)
	}
	put("forged/.git", "gitdir: "+at("main/.git/worktrees/linked"))
	put("main2/.git", "gitdir: "+at("main/.git")) // no submodule: the repository names no tree
	// What an archive can bring: both sides name the other, and the shared directory is a secret one.
	put("evil/p/.git", "gitdir: ../worktrees/p")
	put("evil/worktrees/p/gitdir", at("evil/p/.git"))
	put("evil/worktrees/p/commondir", at("main/.git"))
	put("own/p/.git", "gitdir: ../g")
	put("own/g/config", "[core]\n\tworktree = ../p\n")
	put("loop/.git", "gitdir: .git")
	for dir, want := range map[string]string{"main": "", "linked": "main/.git", "linked/sub": "main/.git", "main/module": "main/.git/modules/module/HEAD",
		"beside": "hub.git/HEAD", "copied": "", "forged": "", "main2": "", "evil/p": "", "own/p": "", "loop": ""} {
		os.MkdirAll(at(dir), 0o755)
		g, ok := GitDirsOf(at(dir))
		got := ""
		if ok {
			got, _ = filepath.Rel(top, g.Dirs[0])
		}
		if filepath.ToSlash(got) != want || ok != (want != "") {
			t.Errorf("the git directory of %s is %q, want %q", dir, got, want)
		}
		for _, d := range g.Dirs {
			if d == at("hub.git/secret") {
				t.Errorf("%s shows %s", dir, d)
			}
		}
	}
}
