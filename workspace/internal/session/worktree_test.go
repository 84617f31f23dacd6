package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store/records"
)

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
	testkit.Git(t, top, "init", "-q", "main")
	testkit.Git(t, main, "add", "-A")
	testkit.Git(t, main, "commit", "-qm", "base")
	testkit.Git(t, main, "worktree", "add", "-q", "../linked")
	testkit.Git(t, top, "clone", "-q", "--bare", "main", "hub.git")
	testkit.Git(t, filepath.Join(top, "hub.git"), "worktree", "add", "-q", "../beside", "-b", "beside")
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
