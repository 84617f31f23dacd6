package space

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// recordOf returns a layer whose record has n commits, each of which adds, changes, renames
// or removes some of a few items.
func recordOf(t *testing.T, n int) (*Layer, []objects.Ref) {
	dir := t.TempDir()
	l := &Layer{Space: objects.Project, Dir: dir, Store: filepath.Join(dir, "store.git")}
	t.Cleanup(func() { l.Close() })
	if err := l.Create(); err != nil {
		t.Fatal(err)
	}
	var refs []objects.Ref
	for i := range 24 {
		refs = append(refs, objects.Ref{Kind: objects.Tool, ID: objects.ID(fmt.Sprintf("acme/t%d/e%02d", i%3, i))})
	}
	r := rand.New(rand.NewPCG(1, 2))
	held := map[objects.Ref]string{}
	b := l.repo.NewBatch()
	defer b.Discard()
	var tree, tip store.OID
	for i := range n {
		var changes []store.Change
		for range 1 + r.IntN(3) {
			ref := refs[r.IntN(len(refs)-1)] // the last is never recorded
			was := held[ref]
			if was != "" {
				changes = append(changes, store.Change{Path: was, Delete: true})
			}
			if held[ref] = ""; r.IntN(5) > 0 {
				held[ref] = ref.Path([]string{".sh", ".py"}[r.IntN(8)/7])
				changes = append(changes, store.Change{Path: held[ref], Data: fmt.Append(nil, "version ", r.IntN(40))})
			}
		}
		parents := []store.OID{tip}
		if tip.IsZero() {
			parents = nil
		}
		var err error
		if tree, err = b.EditTree(tree, changes); err == nil {
			tip, err = b.Commit(t.Context(), tree, parents, store.CommitOptions{Message: "x\n", Author: store.Ident{Name: "a", Email: "a@b"}, When: time.Unix(int64(1e9+i), 0)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.repo.Swap(t.Context(), l.Ref(), store.OID{}, tip, "test"); err != nil {
		t.Fatal(err)
	}
	return l, refs
}

// What is read of all names at once is what following each of them finds, whatever the
// number of commits that are looked at together.
func TestAnnals(t *testing.T) {
	for _, n := range []int{1, someCommits - 1, someCommits, someCommits + 1, 2*someCommits + 7} {
		l, refs := recordOf(t, n)
		c, err := l.tip()
		if err != nil {
			t.Fatal(err)
		}
		names, err := l.readAnnals(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range refs {
			want, err := versionsOf(t.Context(), l, c.ID, subject{ref: ref, path: ref.Path(".sh")})
			if err != nil {
				t.Fatal(err)
			}
			got := names[ref.String()]
			if got == nil {
				got = &versions{}
			}
			if !got.removed.Equal(want.removed) || !reflect.DeepEqual(got.versions, want.versions) {
				t.Errorf("%d commits, %s:\n%+v, removed %v\nwant\n%+v, removed %v", n, ref, got.versions, got.removed, want.versions, want.removed)
			}
		}
	}
}

// Whoever asks for many names has the record read once: nothing of it has to be there any
// more for the others.
func TestAnnalsReadTheRecordOnce(t *testing.T) {
	l, refs := recordOf(t, 300)
	c, err := l.tip()
	if err != nil {
		t.Fatal(err)
	}
	var a annals
	for i, ref := range refs {
		if i == 4 {
			if err := l.repo.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(l.Store, "objects")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.of(t.Context(), l, c, subject{ref: ref, path: ref.Path(".sh")}); err != nil {
			t.Fatalf("name %d: %v", i, err)
		}
	}
}
