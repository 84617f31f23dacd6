package store

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// childHolds is in the middle of everything that leaves something when it is
// killed: a pack whose ref has not moved, a quarantine, half a batch, prepared locks.
func childHolds(r *Repo, name string) error {
	ctx := context.Background()
	b := r.NewBatch()
	blob, err := b.Add(TypeBlob, []byte("held by "+name))
	if err != nil {
		return err
	}
	if err := b.Flush(ctx); err != nil {
		return err
	}
	var stream bytes.Buffer
	if err := r.PackFor(ctx, &stream, []OID{blob}, nil); err != nil {
		return err
	}
	if _, err := r.Import(ctx, &stream, Limits{}); err != nil {
		return err
	}
	if _, err := b.Add(TypeBlob, []byte("not flushed")); err != nil {
		return err
	}
	fmt.Println("ack", blob)
	<-time.After(time.Minute) // to be killed before
	return nil
}

// TestSweep: what a living process has in hand stays, what it leaves when it is
// killed goes, with its .keep file, and nothing that was durable goes with it.
func TestSweep(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "start", put("start", "1"))
	held := spawn(t, "hold", r.Dir(), "h", 1)
	<-held.first
	look := func() [3]int {
		var n [3]int
		for i, glob := range []string{"objects/pack/*.keep", tempName + "/*/q-*/*.pack", tempName + "/*/*.pack"} {
			found, err := filepath.Glob(filepath.Join(r.Dir(), filepath.FromSlash(glob)))
			must(t, err)
			n[i] = len(found)
		}
		return n
	}
	living := look()
	if living != [3]int{1, 1, 1} {
		t.Fatalf("%d keeps, %d quarantines, %d packs being written; want one of each", living[0], living[1], living[2])
	}
	next := reopen(t, r)
	sweep := func(dry bool, want int) {
		t.Helper()
		if n, err := next.Sweep(t.Context(), dry); err != nil || n != want {
			t.Errorf("Sweep(dry %v) = %d, %v, want %d", dry, n, err, want)
		}
	}
	sweep(true, 0)
	sweep(false, 0)
	if _, err := next.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Error(err)
	}
	if got := look(); got != living {
		t.Errorf("swept from under a living process: %v of %v are left", got, living)
	}
	must(t, held.cmd.Process.Kill())
	held.wait()
	sweep(true, 1)
	if got := look(); got != living {
		t.Errorf("a dry run swept: %v of %v are left", got, living)
	}
	sweep(false, 1)
	sweep(false, 0)
	if got := look(); got != [3]int{} {
		t.Errorf("left: %v", got)
	}
	if len(held.acks) != 1 || !next.Has(held.acks[0]) {
		t.Errorf("the pack that was flushed is gone: %v", held.acks)
	}
	fsck(t, r.Dir())
}
