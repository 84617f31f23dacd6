package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestTreeFollowsNoLink: neither the directory nor a file in it may be a link, and what is
// written replaces a link instead of what it leads to.
func TestTreeFollowsNoLink(t *testing.T) {
	top := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, victim := filepath.Join(top, ".ai"), filepath.Join(top, "victim")
	must(os.Mkdir(dir, 0o755))
	must(os.WriteFile(victim, []byte("precious"), 0o644))
	must(os.WriteFile(filepath.Join(dir, "plain"), []byte("text"), 0o644))
	if err := os.Symlink(dir, filepath.Join(top, "link")); err != nil {
		t.Skip(err)
	}
	for name, to := range map[string]string{"out": victim, "in": "plain", "loop": "loop", "dangling": filepath.Join(top, "made")} {
		must(os.Symlink(to, filepath.Join(dir, name)))
	}
	for path, code := range map[string]fault.Code{filepath.Join(top, "link"): fault.Malformed, victim: fault.Malformed} {
		if _, err := Tree(path); fault.CodeOf(err) != code {
			t.Errorf("Tree(%s) = %v, want %s", path, err, code)
		}
	}
	if _, err := Tree(filepath.Join(top, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	root, err := Tree(dir)
	must(err)
	defer root.Close()
	if raw, err := ReadIn(root, "plain", 4); string(raw) != "text" || err != nil {
		t.Errorf("a file: %q, %v", raw, err)
	}
	if _, err := ReadIn(root, "plain", 3); !fault.Is(err, fault.Limit) {
		t.Errorf("a file of 4 bytes, at most 3: %v", err)
	}
	for _, name := range []string{"out", "in", "loop", "dangling"} {
		if raw, err := ReadIn(root, name, 100); !fault.Is(err, fault.Malformed) {
			t.Errorf("the link %s: %q, %v", name, raw, err)
		}
		must(FileIn(root, name, []byte("new"), 0o644))
		if raw, err := ReadIn(root, name, 100); string(raw) != "new" || err != nil {
			t.Errorf("%s after it was written: %q, %v", name, raw, err)
		}
	}
	if raw, err := os.ReadFile(victim); string(raw) != "precious" || err != nil {
		t.Errorf("behind the link: %q, %v", raw, err)
	}
	if _, err := os.Lstat(filepath.Join(top, "made")); err == nil {
		t.Error("a file was made through a dangling link")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".rye-tmp-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := FileIn(root, "../x", nil, 0o644); err == nil {
		t.Error("a name above the directory was written")
	}
}
