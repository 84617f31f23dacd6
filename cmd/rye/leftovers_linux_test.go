package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLeftoversAreSwept: rye gc finds what processes that died left, in whichever folder of
// rye's own, and nothing else.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	alice, _ := shared(t)
	alice.rye("fetch")
	old := time.Now().Add(-2 * time.Hour)
	outside := t.TempDir()
	record := filepath.Dir(alice.store())
	where := func(what string) string { return strings.TrimSpace(alice.rye("where", what)) }
	gone, stay := map[string]bool{}, map[string]bool{}
	plant := func(set map[string]bool, path string, at time.Time) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		set[path] = true
	}
	for _, dir := range []string{
		record, filepath.Join(record, "questions"), where("state"), filepath.Join(where("state"), "registries"),
		filepath.Join(where("state"), "threads", "x"), filepath.Join(where("state"), "ledger"), where("cache"),
		filepath.Join(where("cache"), "catalogues"), filepath.Join(where("cache"), "shelves", "a"), where("config"),
	} {
		plant(gone, filepath.Join(dir, ".rye-tmp-123"), old)
		plant(stay, filepath.Join(dir, ".rye-tmp-456"), time.Now())
		plant(stay, filepath.Join(dir, "rye-tmp-no"), old)
	}
	plant(stay, filepath.Join(alice.store(), "objects", ".rye-tmp-mine"), old)
	plant(stay, filepath.Join(outside, ".rye-tmp-outside"), old)
	if err := os.Symlink(outside, filepath.Join(where("state"), "link")); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(record, ".store.git.0123456789abcdef")
	plant(gone, filepath.Join(half, "config"), old)
	for _, dir := range []string{filepath.Join(where("cache"), "rye-add-1"), filepath.Join(where("cache"), "rye-registry-1"), half} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
		gone[dir] = true
	}
	check := func(all map[string]bool, want bool) {
		t.Helper()
		for path := range all {
			if _, err := os.Lstat(path); (err == nil) != want {
				t.Errorf("%s: %v, want there: %v", path, err, want)
			}
		}
	}
	alice.rye("gc", "--dry-run")
	check(gone, true)
	alice.rye("gc")
	check(gone, false)
	check(stay, true)
	alice.rye("fsck")
}

// TestDoctorSeesReadOnly: where the directory of the records cannot be written, doctor says
// so and fails.
func TestDoctorSeesReadOnly(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	h.ordinary()
	h.rye("trust", "--yes")
	if f := h.doctor()["data"]; !f.OK {
		t.Errorf("a directory that can be written: %+v", f)
	}
	dir := filepath.Dir(filepath.Dir(filepath.Dir(h.store())))
	chmodDirs(t, dir, 0o555)
	f := h.doctor()["data"]
	exit, said := h.exit("doctor")
	if got := h.rye("thread", "list"); got != "" { // a look makes no directory
		t.Errorf("no threads are listed as %q", got)
	}
	chmodDirs(t, dir, 0o755)
	if f.OK || exit == 0 || !strings.Contains(said, "cannot be written") {
		t.Errorf("%+v, exit %d: %s", f, exit, said)
	}
}
