package store

import (
	"strings"
	"testing"
)

func TestEditIsReadByGit(t *testing.T) {
	for _, f := range []Format{SHA1, SHA256} {
		t.Run(f.String(), func(t *testing.T) {
			r := newRepoFormat(t, f)
			first := mustEdit(t, r, "first", put("tools/acme/hello.py", "print(1)\n"), put("README", "hi\n"))
			second := mustEdit(t, r, "second", put("tools/acme/hello.py", "print(2)\n"))
			if first == second {
				t.Fatal("two commits are one")
			}
			c, err := r.Commit(second)
			if err != nil {
				t.Fatal(err)
			}
			e, err := r.Lookup(c.Tree, "tools/acme/hello.py")
			if err != nil {
				t.Fatal(err)
			}
			if b, err := r.Blob(e.ID, 0); err != nil || string(b) != "print(2)\n" {
				t.Fatalf("Blob = %q, %v", b, err)
			}
			needGit(t)
			fsck(t, r.Dir())
			if got := git(t, r.Dir(), "show", "HEAD:tools/acme/hello.py"); got != "print(2)" {
				t.Errorf("git show: %q", got)
			}
			if got := git(t, r.Dir(), "log", "--format=%H %s"); got != second.String()+" second\n"+first.String()+" first" {
				t.Errorf("git log: %q", got)
			}
			if got := strings.Fields(git(t, r.Dir(), "ls-tree", "-r", "--name-only", "HEAD")); len(got) != 2 {
				t.Errorf("git ls-tree: %q", got)
			}
		})
	}
}
