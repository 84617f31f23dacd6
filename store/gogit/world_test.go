package gogit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
)

const branch = "refs/heads/main"

// world is a repository, and a clock that goes on a minute with each commit.
type world struct {
	testing.TB
	*store.Repo
	minute int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	r, err := store.Init(t.TempDir()+"/r.git", branch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return &world{TB: t, Repo: r}
}

// commit writes files, by path and text, on top of the parents; "" removes one. Each file that
// is not named stays as it is in the first parent.
func (w *world) commit(files map[string]string, parents ...store.OID) store.OID {
	w.Helper()
	ctx := context.Background()
	b := w.NewBatch()
	defer b.Discard()
	base := store.OID{}
	if len(parents) > 0 {
		c, err := w.Commit(parents[0])
		w.must(err)
		base = c.Tree
	}
	var changes []store.Change
	for path, text := range files {
		changes = append(changes, store.Change{Path: path, Data: []byte(text), Delete: text == ""})
	}
	tree, err := b.EditTree(base, changes)
	w.must(err)
	w.minute++
	who := store.CommitOptions{Message: fmt.Sprintf("commit %d\n", w.minute), Author: store.Ident{Name: "A", Email: "a@example.com"},
		When: time.Unix(1_700_000_000+60*int64(w.minute), 0).UTC()}
	id, err := b.Commit(ctx, tree, parents, who)
	w.must(err)
	w.must(b.Flush(ctx))
	return id
}

// line makes commits on top of each other, each with one version of the file f.
func (w *world) line(versions ...string) (ids []store.OID) {
	w.Helper()
	var parents []store.OID
	for _, v := range versions {
		id := w.commit(map[string]string{"f": v}, parents...)
		ids, parents = append(ids, id), []store.OID{id}
	}
	return ids
}

func (w *world) point(ref string, id store.OID) {
	w.Helper()
	was, _ := w.Ref(ref)
	w.must(w.Swap(context.Background(), ref, was, id, "test"))
}

func (w *world) must(err error) {
	w.Helper()
	testkit.Must(w, err)
}

// git asks plain git about the repository.
func (w *world) git(args ...string) string {
	w.Helper()
	return testkit.Git(w, w.Dir(), args...)
}
