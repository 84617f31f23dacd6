package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestBatchDeltas: objects of a batch become deltas of each other, in each pack of its own,
// and every git reads them.
func TestBatchDeltas(t *testing.T) {
	for _, f := range []Format{SHA1, SHA256} {
		t.Run(f.String(), func(t *testing.T) {
			r := newRepoFormat(t, f)
			rnd := rand.New(rand.NewPCG(1, 2))
			text := prose(rnd, 3000)
			b := r.NewBatch()
			defer b.Discard()
			b.Deltas()
			want := map[OID][]byte{}
			for pack := range 2 {
				var parent []OID
				for i := range 80 {
					text = edited(rnd, text, 2)
					tree, err := b.EditTree(OID{}, []Change{{Path: "turn", Data: text}, put("state/one", fmt.Sprint(pack, i)), {Path: "state/same", Data: text[:100]}})
					must(t, err)
					id, err := b.Add(TypeBlob, text) // there already
					must(t, err)
					want[id] = bytes.Clone(text)
					id, err = b.Commit(t.Context(), tree, parent, opts(fmt.Sprint("turn ", i)))
					must(t, err)
					parent = []OID{id}
				}
				must(t, b.Flush(t.Context()))
				must(t, r.Swap(t.Context(), fmt.Sprint("refs/heads/b", pack), OID{}, parent[0], ""))
			}
			b.Release()
			packs, _, err := r.disk.rescan()
			must(t, err)
			for _, p := range packs {
				n, deepest := 0, 0
				for _, d := range depths(t, p) {
					if deepest = max(deepest, d); d > 0 {
						n++
					}
				}
				if n < 75 || deepest > maxDepth {
					t.Errorf("%d deltas, %d below each other", n, deepest)
				}
			}
			if n := packBytes(t, r.Dir()); n > 2*80*800 {
				t.Errorf("%d bytes of 160 turns", n)
			}
			wantReadable(t, r, want)
		})
	}
}

// wantReadable has every reader read objects, and git check all packs as if they came from
// a stranger.
func wantReadable(t *testing.T, r *Repo, want map[OID][]byte) {
	t.Helper()
	var ids []OID
	for id := range want {
		ids = append(ids, id)
	}
	for _, by := range implementations(t) {
		if by.name == "go-git" && r.Format() != SHA1 {
			continue // it reads SHA-1 alone
		}
		must(t, by.open(t, r.Dir()).objects(ids, func(id OID, _ Type, data []byte, err error) {
			if err != nil || !bytes.Equal(data, want[id]) {
				t.Errorf("%s reads %s: %d bytes, %v", by.name, id, len(data), err)
			}
		}))
	}
	fsck(t, r.Dir())
	if gitBin == "" {
		return
	}
	names, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.pack"))
	for _, name := range names {
		git(t, r.Dir(), "verify-pack", name)
		git(t, r.Dir(), "index-pack", "--strict", "-o", filepath.Join(t.TempDir(), "again.idx"), name)
	}
}

// TestCompactIsReadable: what compacting made of many versions is read by every git, after
// each of several rounds.
func TestCompactIsReadable(t *testing.T) {
	for _, f := range []Format{SHA1, SHA256} {
		t.Run(f.String(), func(t *testing.T) {
			r := newRepoFormat(t, f)
			rnd := rand.New(rand.NewPCG(5, 6))
			text := prose(rnd, 4000)
			want := map[OID][]byte{}
			for i := range 30 {
				if text = edited(rnd, text, 2); i%7 == 3 {
					text = prose(rnd, 4000)
				}
				mustEdit(t, r, "edit", Change{Path: "a/b", Data: text}, put("c", fmt.Sprint(i)))
				want[f.Hash(TypeBlob, text)] = bytes.Clone(text)
				if i%10 == 9 {
					_, err := r.Compact(t.Context(), CompactOptions{})
					must(t, err)
				}
			}
			wantDepths(t, r)
			wantReadable(t, r, want)
		})
	}
}

// TestHostileVersions: versions that are large, and made to be slow, are compacted with what
// ordinary ones take; what is larger than is held in memory stays as it is.
func TestHostileVersions(t *testing.T) {
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	rnd := rand.New(rand.NewPCG(7, 8))
	r := newRepo(t)
	noise := randomBytes(rnd, 1<<20)
	for i, text := range [][]byte{
		make([]byte, 4<<20), make([]byte, 4<<20+1), bytes.Repeat([]byte("ab"), 2<<20), bytes.Repeat([]byte("ba"), 2<<20+1),
		bytes.Repeat([]byte("0123456789abcdefg"), 1<<17), noise, append([]byte{1}, noise...), make([]byte, maxDelta+1), make([]byte, maxDelta+2), {}, {1},
	} {
		mustEdit(t, r, fmt.Sprint("version ", i), Change{Path: "f", Data: text})
	}
	all := everything(t, r)
	for range 2 {
		_, err := r.Compact(t.Context(), CompactOptions{})
		must(t, err)
		mustEdit(t, r, "one more", put("f", "small"))
	}
	if n := packBytes(t, r.Dir()); n > 1200<<10 {
		t.Errorf("%d bytes", n)
	}
	wantAll(t, r, all)
	fsck(t, r.Dir())
}

// TestWindowIsBounded: the window lets go of what is too much to hold.
func TestWindowIsBounded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	data := randomBytes(rnd, maxDelta)
	loads := 0
	var w deltaWindow
	for i := range 12 {
		other := bytes.Clone(data)
		other[i]++
		b, delta := w.find(other, nil, maxDepth)
		if i > 0 && (b == nil || len(delta) > 1000) {
			t.Errorf("version %d: a delta of %d bytes", i, len(delta))
		}
		w.push(&basis{spot: &spot{}, load: func() ([]byte, error) { loads++; return other, nil }})
		held := 0
		for _, b := range w.last {
			held += b.size()
		}
		if held > maxWindow {
			t.Fatalf("after %d versions the window holds %d bytes", i+1, held)
		}
	}
	if loads > 12*3 {
		t.Errorf("%d versions were read %d times", 12, loads)
	}
	w.clear()
	w.push(&basis{spot: &spot{}, data: data})
	if b, _ := w.find(append(data, 1), nil, maxDepth); b != nil {
		t.Error("what is too large became a delta")
	}
	w.clear()
	loads = 0
	for range windowObjects { // nobody asked for these yet
		w.push(&basis{spot: &spot{}, load: func() ([]byte, error) { loads++; return randomBytes(rnd, maxDelta), nil }})
	}
	if w.find(data, nil, maxDepth); loads > 3 {
		t.Errorf("%d versions of %d bytes were read at a time", loads, maxDelta)
	}
	w.clear()
	w.push(&basis{spot: &spot{}, data: data})
	w.push(&basis{spot: &spot{}, load: func() ([]byte, error) { return nil, os.ErrNotExist }})
	if b, _ := w.find(data, nil, maxDepth); b == nil {
		t.Error("behind what cannot be read, nothing was tried")
	}
}

// TestWindowTriesOnce: what was compared in a pack before is not read again.
func TestWindowTriesOnce(t *testing.T) {
	var w deltaWindow
	p := &pack{}
	loads := 0
	data := prose(rand.New(rand.NewPCG(1, 1)), 1000)
	w.push(&basis{spot: &spot{}, part: &part{from: p}, load: func() ([]byte, error) { loads++; return data, nil }})
	b, _ := w.find(data, p, maxDepth)
	if b != nil || loads != 0 || w.offers(p, maxDepth) {
		t.Errorf("tried again: %v, read %d times", b, loads)
	}
	b, _ = w.find(data, nil, maxDepth)
	if b == nil || !w.offers(&pack{}, maxDepth) || w.offers(nil, 0) {
		t.Error("not tried, though nobody had")
	}
}

// TestReadBackFindsDamage: the disk kept other bytes than those written of what others are
// made of. The files that the new pack would replace stay.
func TestReadBackFindsDamage(t *testing.T) {
	const stored = "what is short is stored as it is"
	for _, where := range []int{50, 500, 2000, 0} { // in a commit, a tree, the newest version; in what no checksum shows
		r := newRepo(t)
		mustEdit(t, r, "stored", put("stored", stored))
		rnd := rand.New(rand.NewPCG(2, 3))
		text := randomText(3000)
		for i := range 10 {
			mustEdit(t, r, "edit", put("f", text+fmt.Sprint(i, rnd.Uint32())))
		}
		all := everything(t, r)
		loose, _ := counts(t, r)
		testOnlySync = func(f *os.File, _ string) {
			if f != nil && strings.HasSuffix(f.Name(), ".pack") {
				b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
				must(t, err)
				if where > 0 {
					b[where] ^= 0x10
				} else {
					at := bytes.Index(b, []byte(stored))
					b[at], b[at+1], b[at+2] = b[at]+1, b[at+1]-2, b[at+2]+1 // Adler-32 stays
				}
				f.WriteAt(b, 0)
			}
		}
		_, err := r.Compact(context.Background(), CompactOptions{})
		testOnlySync = nil
		if !fault.Is(err, fault.Integrity) {
			t.Errorf("a flipped bit at %d: %v, want integrity", where, err)
		}
		if l, packs := counts(t, r); l != loose || packs != 0 {
			t.Errorf("left %d files of %d, %d packs", l, loose, packs)
		}
		wantAll(t, r, all)
	}
}

// TestBaseIsDamaged: what deltas in a pack were made of is damaged. Compacting says so and
// keeps everything as it is, or finds what it needs elsewhere.
func TestBaseIsDamaged(t *testing.T) {
	for _, copied := range []bool{false, true} {
		r := newRepo(t)
		text := randomText(5000)
		for i := range 10 {
			mustEdit(t, r, "edit", put("f", text+fmt.Sprint(i)))
		}
		newest := []byte(text + "9")
		_, err := r.Compact(t.Context(), CompactOptions{})
		must(t, err)
		packs, _, err := r.disk.rescan()
		must(t, err)
		i, ok, err := packs[0].find(SHA1.Hash(TypeBlob, newest))
		if must(t, err); !ok {
			t.Fatal("the newest version is not in the pack")
		}
		off, err := packs[0].idx.offset(i)
		must(t, err)
		path := r.files.path(packs[0].path + ".pack")
		raw, err := os.ReadFile(path)
		must(t, err)
		raw[off+1000] ^= 1
		must(t, os.Chmod(path, 0o644))
		must(t, os.WriteFile(path, raw, 0o644))
		next := reopen(t, r)
		if copied {
			b := next.NewBatch()
			_, err := b.Add(TypeBlob, newest)
			must(t, err)
			_, err = b.Add(TypeBlob, []byte(randomText(30000))) // so that the damaged pack is the smaller, and comes first
			must(t, err)
			must(t, b.Flush(t.Context()))
			b.Release()
		}
		if !copied { // else what is damaged stays the newest, and is taken over as it is
			mustEdit(t, next, "more", put("f", text+"10"))
		}
		loose, before := counts(t, next)
		c, err := next.Compact(t.Context(), CompactOptions{})
		if l, p := counts(t, next); !copied && (!fault.Is(err, fault.Integrity) || l != loose || p != before) {
			t.Errorf("%+v, %v; %d files and %d packs, before %d and %d", c, err, l, p, loose, before)
		}
		if copied {
			must(t, err)
			fsck(t, next.Dir())
		}
		next.Close()
	}
}
