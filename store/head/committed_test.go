package head

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
)

// TestCommitted: what a batch of signatures asks HEAD, where .ai lies in another repository than
// the directory above it, and names that one file can have.
func TestCommitted(t *testing.T) {
	if c, err := OpenCommitted(tempDir(t), ""); c != nil || err != nil {
		t.Errorf("no repository: %v, %v", c, err)
	}
	dir := repository(t)
	open := func(at string) *Committed {
		t.Helper()
		c, err := OpenCommitted(at, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	base := filepath.Base(item)
	below := strings.TrimPrefix(item, ".ai/")
	if raw, ok, err := open(filepath.Join(dir, ".ai")).File(below, 100); string(raw) != "two\n" || !ok || err != nil {
		t.Errorf("%q, %v, %v", raw, ok, err)
	}
	if raw, ok, err := open(dir).File(item+".new", 100); raw != nil || ok || err != nil {
		t.Errorf("a new file: %q, %v, %v", raw, ok, err)
	}
	blob := testkit.Git(t, dir, "rev-parse", "HEAD:"+item)
	for _, name := range []string{strings.ToUpper(base[:1]) + base[1:], base + ".", "\u200c" + base, "XX~1"} {
		testkit.Git(t, dir, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+filepath.ToSlash(filepath.Dir(item))+"/"+name)
		testkit.Git(t, dir, "commit", "-q", "-m", "a twin")
		for _, p := range []string{item, filepath.ToSlash(filepath.Dir(item)) + "/" + strings.ToUpper(base)} {
			if _, _, err := open(dir).File(p, 100); err == nil {
				t.Errorf("%s beside %q is no doubt", p, name)
			}
		}
		testkit.Git(t, dir, "reset", "-q", "--hard", "HEAD~1")
	}
	for _, name := range []string{"MERGE_HEAD", "MERGE_MSG", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge/x", "rebase-apply/x", "sequencer/x"} {
		at := repository(t)
		testkit.WriteFile(t, filepath.Join(at, ".git", name), "x", 0o644)
		if open(at).Pending == "" {
			t.Errorf("%s is nothing unfinished", name)
		}
	}
	outer := tempDir(t)
	testkit.Git(t, outer, "init", "-q")
	testkit.Git(t, outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", dir, ".ai")
	testkit.Git(t, outer, "commit", "-q", "-m", "a submodule")
	if raw, ok, err := open(filepath.Join(outer, ".ai")).File(item, 100); string(raw) != "two\n" || !ok || err != nil {
		t.Errorf("a submodule: %q, %v, %v", raw, ok, err)
	}
	if _, _, err := open(outer).File(".ai/"+item, 100); err == nil {
		t.Error("a path through a submodule is no doubt")
	}
}

// TestCachedTree: where git kept the tree of its index, it says whether anything is staged; after a
// change, the entries do.
func TestCachedTree(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		dir := repository(t)
		testkit.Git(t, dir, "update-index", "--index-version", version)
		testkit.Git(t, dir, "read-tree", "HEAD") // writes the cache
		cached := func() (store.OID, bool) {
			t.Helper()
			raw, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			return cachedTree(raw, 20)
		}
		id, ok := cached()
		if want := testkit.Git(t, dir, "rev-parse", "HEAD^{tree}"); !ok || id.String() != strings.TrimSpace(want) {
			t.Errorf("version %s: %s, %v, want %s", version, id, ok, want)
		}
		testkit.WriteFile(t, filepath.Join(dir, item), "staged\n", 0o644)
		testkit.Git(t, dir, "add", item)
		if id, ok := cached(); ok {
			t.Errorf("version %s: after a change, %s", version, id)
		}
		c, err := OpenCommitted(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		if all, err := c.Staged(); err != nil || len(all) != 1 || all[0].Path != item {
			t.Errorf("version %s: staged %v, %v", version, all, err)
		}
		c.Close()
	}
}
