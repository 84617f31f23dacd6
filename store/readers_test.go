package store

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// Readers beside a writer and two gits that repack at once never miss an object:
// packs vanish under them faster than they can be listed.
func TestReadersBesideRepacks(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on PATH")
	}
	length := 2 * time.Second
	if os.Getenv("RYE_SOAK") != "" {
		length = 40 * time.Second
	}
	dir := t.TempDir() + "/s.git"
	r, err := Init(dir, "refs/heads/x")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(ctx context.Context, i int) error {
		_, err := r.Edit(ctx, "refs/heads/x", []Change{{Path: fmt.Sprintf("d%d/f%d", i%7, i%50), Data: fmt.Append(nil, i)}},
			CommitOptions{Message: "x\n", Author: Ident{"a", "b"}, When: time.Unix(int64(1e9+i), 0)})
		return err
	}
	if err := edit(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var wg sync.WaitGroup
	for _, args := range [][]string{{"repack", "-adq"}, {"gc", "--quiet"}} {
		wg.Go(func() {
			for ctx.Err() == nil { // each other's work makes them fail; that is theirs
				exec.Command("git", append([]string{"-C", dir}, args...)...).Run()
			}
		})
	}
	wg.Go(func() {
		for i := 1; ctx.Err() == nil; i++ {
			if err := edit(context.WithoutCancel(ctx), i); err != nil {
				t.Errorf("edit %d: %v", i, err)
				return
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := readAll(dir); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if out, err := exec.Command("git", "-C", dir, "fsck", "--strict", "--no-dangling").CombinedOutput(); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// readAll opens a repository anew and reads every file at its tip.
func readAll(dir string) error {
	r, err := Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	id, err := r.Ref("refs/heads/x")
	if err != nil {
		return err
	}
	c, err := r.Commit(id)
	if err != nil {
		return err
	}
	return r.Walk(context.Background(), c.Tree, func(_ string, e Entry) error {
		if e.IsDir() {
			return nil
		}
		_, err := r.Blob(e.ID, 1<<20)
		return err
	})
}
