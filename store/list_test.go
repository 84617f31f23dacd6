package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// TestIDs: loose, packed and both, reachable or not, each once.
func TestIDs(t *testing.T) {
	r, err := Init(t.TempDir()+"/r.git", "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	var want []OID
	b := r.NewBatch()
	defer b.Discard()
	for n := range 10 {
		text := []byte(fmt.Sprint(n))
		id := SHA1.Hash(TypeBlob, text)
		if n < 7 {
			_, err = r.Put(ctx, TypeBlob, text)
		}
		if n > 3 && err == nil {
			_, err = b.Add(TypeBlob, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, id)
	}
	if err := b.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(want, OID.Compare)
	if got, err := r.IDs(ctx); err != nil || !slices.Equal(got, want) {
		t.Errorf("IDs: %v, %v; want %v", got, err, want)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.IDs(cancelled); err != context.Canceled {
		t.Errorf("after it was cancelled: %v", err)
	}
}
