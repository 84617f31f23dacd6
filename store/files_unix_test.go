//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// TestComponents: the way by one call for each component refuses what openat2 refuses.
func TestComponents(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a", "b", "file"), []byte("text"), 0o644))
	must(t, os.WriteFile(filepath.Join(outside, "file"), []byte("outside"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(dir, "a", "out")))
	must(t, os.Symlink("b", filepath.Join(dir, "a", "in")))
	must(t, os.Symlink("b/file", filepath.Join(dir, "a", "last")))
	top, err := openTop(dir)
	must(t, err)
	defer top.Close()
	for name, opener := range map[string]func(int, string, int, uint32) (int, error){"beneath": openBeneath, "components": openComponents} {
		for path, want := range map[string]error{
			"a/b/file": nil, ".": nil, "a/b": nil,
			"a/out/file": errLink, "a/in/file": errLink, "a/last": errLink, "a/out": errLink,
			"a/none/file": unix.ENOENT, "a/b/file/x": unix.ENOTDIR,
		} {
			fd, err := opener(int(top.Fd()), path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if err == nil {
				unix.Close(fd)
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: %s: %v, want %v", name, path, err, want)
			}
		}
	}
	f, err := openFiles(dir)
	must(t, err)
	defer f.close()
	for _, path := range []string{"../x", "a/../../x", "/etc", "", "a//b", "a/./b", ".."} {
		if _, err := f.open(path); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v, want invalid", path, err)
		}
	}
	for what, do := range map[string]func() error{
		"remove":    func() error { return f.remove("a/out/file") },
		"removeDir": func() error { return f.removeDir("a/in") },
		"removeAll": func() error { return f.removeAll("a/out") },
		"mkdir":     func() error { return f.mkdir("a/out/made") },
		"rename":    func() error { return f.rename("a/b/file", "a/out/file") },
		"link":      func() error { return f.link("a/b/file", "a/out/other") },
		"time":      func() error { return f.setTime("a/out/file", time.Unix(0, 0)) },
		"create":    func() error { _, err := f.create("a/out/made", 0o644); return err },
		"append":    func() error { _, err := f.openTo("a/last", os.O_APPEND, 0); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s went through a link", what)
		} else if !fault.Is(err, fault.Malformed) && what != "removeDir" {
			t.Errorf("%s: %v, want malformed", what, err)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
		t.Errorf("outside: %v, %v", list, err)
	}
}

// TestRemoveDirs: only empty directories go, and none behind a link.
func TestRemoveDirs(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, d := range []string{"a/empty", "a/full/sub", "a/other"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(dir, "a", "file"), nil, 0o644))
	must(t, os.Mkdir(filepath.Join(outside, "empty"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink(filepath.Join(outside, "empty"), filepath.Join(dir, "a", "link")))
	f, err := openFiles(dir)
	must(t, err)
	defer f.close()
	f.removeDirs("a", []string{"none", "empty", "full", "file", "link", "full/sub", "../a/other", "..", "."})
	f.removeDirs("out", []string{"empty"})
	var left []string
	must(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		left = append(left, strings.TrimPrefix(p, dir))
		return err
	}))
	if want := []string{"", "/a", "/a/file", "/a/full", "/a/full/sub", "/a/link", "/a/other", "/out"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	if _, err := os.Stat(filepath.Join(outside, "empty")); err != nil {
		t.Error(err)
	}
}
