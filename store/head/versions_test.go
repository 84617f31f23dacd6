package head

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// versionsOf returns the texts that the item had, sorted.
func versionsOf(dir string) ([]string, error) {
	h, err := Open(dir, "", time.Now())
	if err != nil {
		return nil, err
	}
	defer h.Close()
	all, err := h.Versions(item, 1<<20, time.Now)
	var texts []string
	for _, v := range all {
		texts = append(texts, string(v.Raw))
	}
	slices.Sort(texts)
	return texts, err
}

// TestVersions: every branch, local or of a remote, loose or packed, has a say, so that no branch
// can leave a version out. A removal, a merge and the same content twice add nothing.
func TestVersions(t *testing.T) {
	dir := repository(t)
	testkit.Git(t, dir, "checkout", "-q", "-b", "side", "HEAD~1")
	testkit.WriteFile(t, filepath.Join(dir, item), "three\n", 0o644)
	testkit.Git(t, dir, "commit", "-q", "-am", "three")
	testkit.Git(t, dir, "update-ref", "refs/remotes/origin/gone", "HEAD")
	testkit.Git(t, dir, "checkout", "-q", "--detach", "main~1")
	testkit.Git(t, dir, "branch", "-q", "-D", "side")
	want := []string{"one\n", "three\n", "two\n"}
	for _, pack := range []bool{false, true} {
		if pack {
			testkit.Git(t, dir, "gc", "-q")
		}
		if got, err := versionsOf(dir); err != nil || !slices.Equal(got, want) {
			t.Errorf("packed %v: %q, %v, want %q", pack, got, err, want)
		}
	}
	testkit.Git(t, dir, "rm", "-q", item)
	testkit.Git(t, dir, "commit", "-q", "-m", "gone")
	testkit.Git(t, dir, "merge", "-q", "-s", "ours", "-m", "merged", "main")
	if got, err := versionsOf(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("after a merge: %q, %v, want %q", got, err, want)
	}
}

// TestVersionsOfAShallowClone: a history that is not all here is no history.
func TestVersionsOfAShallowClone(t *testing.T) {
	dir := repository(t)
	to := filepath.Join(tempDir(t), "shallow")
	testkit.Git(t, dir, "clone", "-q", "--depth=1", "file://"+dir, to)
	if got, err := versionsOf(to); err == nil {
		t.Errorf("%q, want an error", got)
	}
}

// TestVersionsRefuses: refs that are no refs, and a history without an end in time.
func TestVersionsRefuses(t *testing.T) {
	dir := repository(t)
	ref := filepath.Join(dir, ".git", "refs", "heads", "odd")
	for name, text := range map[string]string{"words": "hello\n", "another format": strings.Repeat("a", 64) + "\n"} {
		if err := os.WriteFile(ref, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := versionsOf(dir)
		if name == "words" && err == nil {
			t.Errorf("%s: %q, want an error", name, got)
		}
	}
	if err := os.Remove(ref); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	h, err := Open(dir, "", now)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Versions(item, 1<<20, func() time.Time { return now.Add(time.Hour) }); err == nil {
		t.Error("no end of time")
	}
}
