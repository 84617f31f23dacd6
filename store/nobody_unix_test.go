//go:build unix

package store

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// TestAsNobody runs the tests of permissions as an ordinary user, where it is not one.
func TestAsNobody(t *testing.T) {
	testkit.RunAsNobody(t, "TestUnwritable", "TestUnreadable")
}

// TestUnwritable: where one of the directories of a repository cannot be written, an edit says
// so, nothing has moved and nothing is left, and when it can be again the next edit works.
func TestUnwritable(t *testing.T) {
	testkit.NeedPermissions(t)
	for _, name := range []string{"objects", path.Dir(testHead), "logs/" + path.Dir(testHead), ".", tempName} {
		r := newRepo(t)
		first := mustEdit(t, r, "start", put("start", "1"))
		dir := filepath.Join(r.Dir(), filepath.FromSlash(name))
		deny(t, dir)
		next := reopen(t, r)
		_, err := next.Edit(t.Context(), testHead, []Change{put("start", "2")}, opts("second"))
		if err == nil && name != "." && name != "logs/"+path.Dir(testHead) { // files that are there already
			t.Errorf("%s: an edit was made", name)
		}
		if err != nil && !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", name, err)
		}
		if tip, _ := next.Ref(testHead); err != nil && tip != first {
			t.Errorf("%s: the branch moved to %s by an edit that failed: %v", name, tip, err)
		}
		must(t, os.Chmod(dir, 0o755))
		if l := refLocks(t, r); len(l) > 0 {
			t.Errorf("%s: left %v", name, l)
		}
		last := reopen(t, r)
		if _, err := last.Edit(t.Context(), testHead, []Change{put("start", "3")}, opts("third")); err != nil {
			t.Errorf("%s: the next edit: %v", name, err)
		}
		fsck(t, r.Dir())
	}
}

// deny takes the right to write away, and gives it back at the end.
func deny(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
}

// TestUnreadable: what cannot be read is not missing, so that nobody takes it for never
// recorded and records over it.
func TestUnreadable(t *testing.T) {
	testkit.NeedPermissions(t)
	r := newRepo(t)
	tip := mustEdit(t, r, "start", put("start", "1"))
	blob, err := r.Put(t.Context(), TypeBlob, []byte("1"))
	must(t, err)
	file := filepath.Join(r.Dir(), filepath.FromSlash(testHead))
	for name, path := range map[string]string{"object": looseFile(r, blob), "ref": file} {
		was, err := os.Stat(path)
		must(t, err)
		must(t, os.Chmod(path, 0))
		next := reopen(t, r)
		if name == "object" {
			_, err = next.Blob(blob, 0)
		} else {
			_, err = next.Ref(testHead)
		}
		if err == nil || fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("an unreadable %s: %v", name, err)
		}
		if name == "ref" {
			if _, err := next.Edit(t.Context(), testHead, []Change{put("start", "2")}, opts("over it")); err == nil {
				t.Error("a branch that cannot be read was begun anew")
			}
		}
		must(t, os.Chmod(path, was.Mode().Perm()))
	}
	if got, err := reopen(t, r).Ref(testHead); err != nil || got != tip {
		t.Errorf("the branch is at %s, %v, want %s", got, err, tip)
	}
}
