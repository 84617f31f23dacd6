package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
)

// Tests of what others see or do between two steps of ours.

// meanwhile has f run before each change to the disk, until the test ends.
func meanwhile(t *testing.T, f func()) {
	t.Helper()
	testOnlyStep = func() error { f(); return nil }
	t.Cleanup(func() { testOnlyStep = nil })
}

// TestDeletedRefDoesNotGoBack: a ref that is in packed-refs with an older value, and is
// deleted, is at each moment where it was, or gone.
func TestDeletedRefDoesNotGoBack(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 2)
	const name = "refs/heads/x"
	swap(t, r, name, OID{}, c[0])
	packByHand(t, r)
	swap(t, r, name, c[0], c[1])
	beside := reopen(t, r)
	looks := 0
	meanwhile(t, func() {
		looks++
		if id, err := beside.Ref(name); err == nil && id != c[1] || err != nil && !fault.Is(err, fault.NotFound) {
			t.Errorf("look %d: it is at %s, %v", looks, id, err)
		}
	})
	swap(t, r, name, c[1], OID{})
	if _, err := beside.Ref(name); !fault.Is(err, fault.NotFound) || looks < 3 {
		t.Errorf("after %d looks: %v", looks, err)
	}
}

// TestPackedRefsAreLockedToDelete: while git rewrites packed-refs, a ref in it is not deleted:
// either would undo what the other did.
func TestPackedRefsAreLockedToDelete(t *testing.T) {
	r := newRepo(t)
	c := someCommits(t, r, 1)
	const name = "refs/heads/x"
	swap(t, r, name, OID{}, c[0])
	packByHand(t, r)
	lock := filepath.Join(r.Dir(), packedRefsName+".lock")
	must(t, os.WriteFile(lock, nil, 0o644))
	was, err := os.ReadFile(filepath.Join(r.Dir(), packedRefsName))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.Swap(ctx, name, c[0], OID{}, "while git works"); err == nil {
		t.Error("deleted under git's lock")
	}
	if now, err := os.ReadFile(filepath.Join(r.Dir(), packedRefsName)); err != nil || string(now) != string(was) {
		t.Errorf("packed-refs became\n%s\n%v", now, err)
	}
	must(t, os.Remove(lock))
	swap(t, r, name, c[0], OID{})
}

// TestRefsNeverGoBack: a ref moves all the time, and git packs it each time. Whoever looks, at
// it or at all, sees where it was when they began, or later.
func TestRefsNeverGoBack(t *testing.T) {
	r := newRepo(t)
	const name, rounds = "refs/heads/x", 500
	place := map[OID]int64{}
	write := func(path string, text string) {
		temp := filepath.Join(r.Dir(), "temp-by-git")
		if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
			t.Error(err)
		} else if err := os.Rename(temp, path); err != nil {
			t.Error(err)
		}
	}
	var ids []OID
	for i := range int64(rounds) {
		id := r.format.Hash(TypeBlob, fmt.Append(nil, i))
		ids, place[id] = append(ids, id), i
	}
	file := filepath.Join(r.Dir(), filepath.FromSlash(name))
	write(file, ids[0].String()+"\n")
	var now atomic.Int64
	var git sync.WaitGroup
	defer git.Wait()
	git.Go(func() {
		for i, id := range ids {
			write(file, id.String()+"\n")
			now.Store(int64(i))
			write(filepath.Join(r.Dir(), packedRefsName), id.String()+" "+name+"\n")
			os.Remove(file)
		}
	})
	for last := false; !last; {
		began := now.Load()
		last = began == rounds-1
		if id, err := r.Ref(name); err != nil || place[id] < began {
			t.Fatalf("at %d: Ref = %d, %v", began, place[id], err)
		}
		began = now.Load()
		if refs, err := r.Refs(name); err != nil || len(refs) != 1 || place[refs[0].ID] < began {
			t.Fatalf("at %d: Refs = %v, %v", began, refs, err)
		}
	}
}

// TestCompactLeavesWhatIsKeptMeanwhile: a pack that somebody marks as kept while Compact
// works, because they make the same one, stays.
func TestCompactLeavesWhatIsKeptMeanwhile(t *testing.T) {
	r := newRepo(t)
	b := r.NewBatch()
	defer b.Discard()
	id, err := b.Add(TypeBlob, []byte("in a pack"))
	must(t, err)
	must(t, b.Flush(t.Context()))
	b.Release()
	mustEdit(t, r, "loose", put("a", "1"))
	found, err := filepath.Glob(filepath.Join(r.Dir(), "objects", "pack", "*.pack"))
	must(t, err)
	keep := strings.TrimSuffix(found[0], ".pack") + ".keep"
	listed := false
	meanwhile(t, func() {
		if !listed { // the first change is the new pack: the old ones are listed by then
			listed = true
			if err := os.WriteFile(keep, nil, 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	done, err := r.Compact(t.Context(), CompactOptions{})
	if err != nil || done.Packs != 1 || !listed {
		t.Fatalf("Compact = %+v, %v; want one pack taken in", done, err)
	}
	if _, err := os.Stat(found[0]); err != nil {
		t.Errorf("a pack that was kept meanwhile: %v", err)
	}
	if !reopen(t, r).Has(id) {
		t.Error("its object is gone")
	}
}

// TestCompactReadsBack: what a disk garbled while the new pack was written is found before
// anything is removed, in any object.
func TestCompactReadsBack(t *testing.T) {
	for name, at := range map[string]int64{"first": 40, "last": -22} {
		t.Run(name, func(t *testing.T) { compactGarbled(t, at) })
	}
}

// compactGarbled compacts many objects, and garbles one byte of the new pack; a negative place
// counts from its end.
func compactGarbled(t *testing.T, at int64) {
	r := newRepo(t)
	var many []Change
	for i := range 100 {
		many = append(many, put(fmt.Sprintf("d/%d", i), strings.Repeat(fmt.Sprint(i, " text "), 20)))
	}
	mustEdit(t, r, "start", append(many, put("a", strings.Repeat("text ", 100)))...)
	tip := mustEdit(t, r, "more", put("a", strings.Repeat("more ", 100)))
	garbled := 0
	testOnlySync = func(f *os.File, _ string) {
		if f == nil || !strings.HasSuffix(f.Name(), ".pack") {
			return
		}
		st, err := f.Stat()
		must(t, err)
		place := at
		if at < 0 {
			place += st.Size()
		}
		var b [1]byte
		if _, err := f.ReadAt(b[:], place); err != nil {
			t.Error(err)
		}
		b[0] ^= 1
		if _, err := f.WriteAt(b[:], place); err != nil {
			t.Error(err)
		}
		garbled++
	}
	defer func() { testOnlySync = nil }()
	if done, err := r.Compact(t.Context(), CompactOptions{}); err == nil || garbled == 0 {
		t.Errorf("Compact = %+v, although %d packs were garbled", done, garbled)
	}
	testOnlySync = nil
	next := reopen(t, r)
	must(t, whole(next, []OID{tip}))
	fsck(t, r.Dir())
}
