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
		read = read || p.reads.made.Load() > 0
	}
	if !read {
		t.Error("no window was read")
	}
}

// Goroutines that read in several places do not take each other's window.
func TestWindowsApart(t *testing.T) {
	r := newRepo(t)
	b := r.NewBatch()
	rnd := rand.New(rand.NewPCG(2, 2))
	var ids []OID
	for i := range 400 {
		data := make([]byte, 1000) // random, so that the pack is larger than two windows
		for j := range data {
			data[j] = byte(rnd.Uint32())
		}
		id, err := b.Add(TypeBlob, append(data, byte(i), byte(i>>8)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := b.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.Release()
	p := func() *pack {
		if _, err := r.Blob(ids[0], 1<<20); err != nil {
			t.Fatal(err)
		}
		return r.disk.packs[0]
	}()
	for _, part := range [][]OID{ids[:20], ids[300:320], ids[:20], ids[300:320]} {
		for _, id := range part {
			if _, err := r.Blob(id, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := p.reads.made.Load(); n != 2 {
		t.Errorf("%d windows were read, want 2", n)
	}
}
