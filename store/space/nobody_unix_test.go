//go:build unix

package space_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store/space"
)

// TestAsNobody runs the tests of permissions as an ordinary user, where it is not one.
func TestAsNobody(t *testing.T) {
	testkit.RunAsNobody(t, "TestUnreadable", "TestFolderWithoutPermission", "TestUnwritable")
}

func TestUnreadable(t *testing.T) {
	testkit.NeedPermissions(t)
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	w.put(w.project, greet, "1.0.0", "hello")
	w.put(w.project, "tools/acme/other.sh", "1.0.0", "hello")
	w.must(os.Chmod(filepath.Join(w.project.Dir, filepath.FromSlash(greet)), 0))
	w.want("unreadable", fault.Failed)
	if got, want := w.states(w.project), greet+" malformed\ntools/acme/other.sh signed recorded\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFolderWithoutPermission: what may be in it must not answer from below.
func TestFolderWithoutPermission(t *testing.T) {
	testkit.NeedPermissions(t)
	w := newWorld(t)
	w.put(w.user, greet, "1.0.0", "user")
	w.write(w.project, greet, w.sign(w.project, greet, body("1.0.0", "hello")))
	dir := filepath.Join(w.project.Dir, "tools", "acme")
	w.must(os.Chmod(dir, 0))
	defer os.Chmod(dir, 0o755)
	w.want("a folder without permission", fault.Failed)
}

// TestUnwritable: a working file in a folder that takes none stays as it was, nothing is left
// beside it, and the error says that it was not written.
func TestUnwritable(t *testing.T) {
	testkit.NeedPermissions(t)
	w := newWorld(t)
	raw := w.put(w.project, greet, "1.0.0", "hello")
	dir := filepath.Join(w.project.Dir, "tools", "acme")
	w.must(os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	if err := w.project.Write(greet, body("1.1.0", "hi"), space.WaitAll); !os.IsPermission(err) {
		t.Errorf("written: %v", err)
	}
	if err := w.project.Remove(greet); !os.IsPermission(err) {
		t.Errorf("removed: %v", err)
	}
	if got, err := w.project.Read(greet); err != nil || string(got) != string(raw) {
		t.Errorf("the file is %q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	if got := w.states(w.project); got != greet+" signed recorded\n" {
		t.Errorf("got %q", got)
	}
}
