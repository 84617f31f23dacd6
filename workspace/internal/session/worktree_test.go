package session

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/store/records"
)

// git runs git in a directory, with no settings of the user.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// TestMainTree: a project in a linked worktree belongs to the same directory in the main
// working tree. The repository names no copy of it. Beside a bare repository there is no main
// working tree.
func TestMainTree(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, data := filepath.Join(top, "main"), records.Open("")
	project := NewProject("acme", "")
	for _, dir := range []string{main, filepath.Join(main, "sub")} {
		if err := os.MkdirAll(filepath.Join(dir, ".ai"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := project.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	git(t, top, "init", "-q", "main")
	git(t, main, "add", "-A")
	git(t, main, "commit", "-qm", "base")
	git(t, main, "worktree", "add", "-q", "../linked")
	git(t, top, "clone", "-q", "--bare", "main", "hub.git")
	git(t, filepath.Join(top, "hub.git"), "worktree", "add", "-q", "../beside", "-b", "beside")
	if err := os.CopyFS(filepath.Join(top, "copied"), os.DirFS(filepath.Join(top, "linked"))); err != nil {
		t.Fatal(err)
	}
	for dir, as := range map[string]string{"main": "", "main/sub": "", "linked": "main", "linked/sub": "main/sub", "copied": "",
		"beside": "", "beside/sub": ""} {
		h := &Host{ProjectDir: filepath.Join(top, dir), Dirs: Dirs{ConfigDir: t.TempDir(), CacheDir: t.TempDir()}, Records: data, Now: time.Now}
		s, err := h.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := MainTree(s)
		s.Close()
		if got.Path != "" {
			got.Path, _ = filepath.Rel(top, got.Path)
		}
		if got.Path != as || ok != (as != "") {
			t.Errorf("the main tree of %s is %q, want %q", dir, got.Path, as)
		}
	}
}
