package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// Objects come back whole in whatever order they are asked for, also by many at once:
// one after the other, which reads ahead, from the end, and here and there.
func TestWindows(t *testing.T) {
	r := newRepo(t)
	b := r.NewBatch()
	var ids []OID
	want := map[OID][]byte{}
	for i := range 3000 {
		data := fmt.Appendf(nil, "object %d\n%s", i, bytes.Repeat([]byte{byte(i), byte(i >> 8), 'x'}, i%90))
		if i%500 == 7 {
			data = samples(windowSize + i)["noise"] // stored, and larger than a window
		}
		id, err := b.Add(TypeBlob, data)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		want[id] = data
	}
	if err := b.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.Release()
	backwards := slices.Clone(ids)
	slices.Reverse(backwards)
	anyhow := slices.Clone(ids)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(anyhow), func(i, j int) { anyhow[i], anyhow[j] = anyhow[j], anyhow[i] })
	var readers sync.WaitGroup
	for _, order := range [][]OID{ids, backwards, anyhow, ids} {
		readers.Go(func() {
			for _, id := range order {
				if got, err := r.Blob(id, 1<<20); err != nil || !bytes.Equal(got, want[id]) {
					t.Errorf("%s: %d bytes of %d, %v", id, len(got), len(want[id]), err)
					return
				}
			}
		})
	}
	readers.Wait()
	read := false
	for _, p := range r.disk.packs {
		read = read || p.reads.now.Load() != nil
	}
	if !read {
		t.Error("no window was read")
	}
}
