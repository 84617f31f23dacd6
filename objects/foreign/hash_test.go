package foreign

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHashIsGits compares the ids of folders with those that git gives them.
func TestHashIsGits(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.autocrlf=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	tree := Tree{
		Files: []File{{Path: "a.md", Data: []byte("a\n")}, {Path: "pdf/SKILL.md", Data: []byte("---\n")}, {Path: "pdf/run", Data: []byte("#!/bin/sh\n"), Executable: true},
			{Path: "pdf-x", Data: nil}, {Path: "pdf.d/x", Data: []byte("x")}, {Path: "deep/er/still/f", Data: []byte{0, 255}}, {Path: "ä b/ü", Data: []byte("ü")}},
		Links: []Link{{Path: "pdf/link", Target: "../a.md"}},
	}
	for _, f := range tree.Files {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, mode); err != nil {
			t.Fatal(err)
		}
	}
	git("add", "-A")
	git("update-index", "--chmod=+x", "pdf/run")
	git("update-index", "--add", "--cacheinfo", "120000,"+hashObject(t, dir, "../a.md")+",pdf/link")
	root := git("write-tree")
	for _, sub := range []string{".", "pdf", "pdf.d", "deep", "deep/er/still", "ä b"} {
		want := root
		if sub != "." {
			want = git("rev-parse", root+":"+sub)
		}
		if got, _, err := Hash(tree, sub); err != nil || got != want {
			t.Errorf("Hash(%s) = %s, %v; git says %s", sub, got, err, want)
		}
	}
	if _, _, err := Hash(tree, "pdf/run"); err == nil {
		t.Error("a file has the digest of a folder")
	}
	line := func(mode, name, data string) string {
		return fmt.Sprintf("%s %s %x\n", mode, name, sha256.Sum256([]byte(data)))
	}
	want := sha256.Sum256([]byte(line("100644", "SKILL.md", "---\n") + line("120000", "link", "../a.md") + line("100755", "run", "#!/bin/sh\n")))
	if _, got, err := Hash(tree, "pdf"); err != nil || got != want {
		t.Errorf("tree_sha256 of pdf = %x, %v; want %x", got, err, want)
	}
	above := sha256.Sum256(fmt.Appendf(nil, "040000 er %x\n", sha256.Sum256(fmt.Appendf(nil, "040000 still %x\n", sha256.Sum256([]byte(line("100644", "f", "\x00\xff")))))))
	if _, got, err := Hash(tree, "deep"); err != nil || got != above {
		t.Errorf("tree_sha256 of deep = %x, %v; want %x", got, err, above)
	}
}

func hashObject(t *testing.T, dir, data string) string {
	cmd := exec.Command("git", "-C", dir, "hash-object", "-w", "--stdin")
	cmd.Stdin = strings.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
