package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// HEAD is adopted where it dangles, and left alone everywhere else.
func TestAdoptHead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.git")
	r, err := store.Init(dir, "refs/heads/master")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := t.Context()
	if moved, err := r.AdoptHead(ctx, "refs/heads/main"); moved || !fault.Is(err, fault.NotFound) {
		t.Errorf("to a branch that is not there: %v, %v", moved, err)
	}
	if _, err := r.AdoptHead(ctx, "main"); err == nil {
		t.Error("to no name of a ref")
	}
	b := r.NewBatch()
	tree, err := b.Add(store.TypeTree, nil)
	if err != nil {
		t.Fatal(err)
	}
	who := store.Ident{Name: "A", Email: "a@example.org"}.At(time.Unix(1_700_000_000, 0).UTC())
	raw, err := store.EncodeCommit(&store.Commit{Tree: tree, Author: who, Committer: who, Message: "x\n"})
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.Add(store.TypeCommit, raw)
	if err == nil {
		err = b.Flush(ctx)
	}
	if err == nil {
		err = r.Swap(ctx, "refs/heads/main", store.OID{}, id, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := r.AdoptHead(ctx, "refs/heads/main"); !moved || err != nil {
		t.Errorf("%v, %v", moved, err)
	}
	if head, err := r.Head(); head != "refs/heads/main" || err != nil {
		t.Errorf("HEAD names %s, %v", head, err)
	}
	if err := r.Swap(ctx, "refs/heads/other", store.OID{}, id, "test"); err != nil {
		t.Fatal(err)
	}
	if moved, err := r.AdoptHead(ctx, "refs/heads/other"); moved || err != nil {
		t.Errorf("away from a branch that is there: %v, %v", moved, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte(id.String()+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if moved, err := r.AdoptHead(ctx, "refs/heads/other"); moved || err != nil {
		t.Errorf("a detached HEAD: %v, %v", moved, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD.lock")); err == nil {
		t.Error("HEAD.lock stays")
	}
}
