package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// packBytes sums up packs and their indexes.
func packBytes(t testing.TB, dir string) (n int64) {
	t.Helper()
	for _, ext := range []string{"pack", "idx"} {
		names, _ := filepath.Glob(filepath.Join(dir, "objects/pack/*."+ext))
		for _, name := range names {
			fi, err := os.Stat(name)
			must(t, err)
			n += fi.Size()
		}
	}
	return n
}

// byGit returns how many bytes git makes of a copy of a repository.
func byGit(t testing.TB, r *Repo, args ...string) int64 {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "git.git")
	must(t, os.CopyFS(dir, os.DirFS(r.Dir())))
	git(t, dir, append([]string{"-c", "repack.writeBitmaps=false", "-c", "pack.threads=1"}, args...)...)
	return packBytes(t, dir)
}

// wantSmall compacts and fails where git gc, or git repack -adf, makes much less of it.
func wantSmall(t *testing.T, r *Repo) Compacted {
	t.Helper()
	gc := byGit(t, r, "gc", "--quiet", "--prune=now")
	c, err := r.Compact(t.Context(), CompactOptions{})
	must(t, err)
	ours := packBytes(t, r.Dir())
	again := byGit(t, r, "repack", "-adfq")
	t.Logf("%d objects: %d bytes, git gc %d, then git repack -adf %d", c.Objects, ours, gc, again)
	for what, theirs := range map[string]int64{"git gc": gc, "git repack -adf": again} {
		if 10*ours > 13*theirs {
			t.Errorf("%d bytes; %s makes %d", ours, what, theirs)
		}
	}
	fsck(t, r.Dir())
	return c
}

// signedItem is a text of n bytes with a line that is another for each version, as
// signatures are.
func signedItem(r *rand.Rand, text []byte) []byte {
	line := fmt.Sprintf("<!-- rye:signed:v2:2026-11-22T15:04:05Z:%x:%s -->\n", randomBytes(r, 32), base64.RawURLEncoding.EncodeToString(randomBytes(r, 96)))
	return append([]byte(line), text...)
}

// signedHistory makes commits of one item each, of items that are 1 to 4 KB long.
func signedHistory(t testing.TB, r *Repo, commits, items int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(commits)))
	text := make([][]byte, items)
	for i := range commits {
		n := i % items
		if i < items {
			text[n] = prose(rnd, 1000+rnd.IntN(3000))
		} else {
			text[n] = edited(rnd, text[n], 3)
		}
		change := Change{Path: fmt.Sprintf("knowledge/acme/t%d/item-%d.md", n%5, n), Data: signedItem(rnd, text[n])}
		o := opts(fmt.Sprint("sign knowledge:acme/item-", n))
		o.Signer = randomSigner{rnd}
		if _, err := r.Edit(context.Background(), testHead, []Change{change}, o); err != nil {
			t.Fatal(err)
		}
	}
}

// randomSigner makes what is as long as a signature by ssh-keygen, and as hard to deflate.
type randomSigner struct{ r *rand.Rand }

func (s randomSigner) SignCommit(context.Context, []byte) (string, error) {
	key := "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgq1VtGpJf1mXc2oVqQm9c\n7yH4v0sZ3hH0AAAAA2dpdAAAAAAAAAAGc2hhNTEyAAAAUwAAAAtzc2gtZWQyNTUx\nOQAAAEA"
	sig := base64.StdEncoding.EncodeToString(randomBytes(s.r, 64))
	return "-----BEGIN SSH SIGNATURE-----\n" + key + sig[:10] + "\n" + sig[10:70] + "\n" + sig[70:] + "\n-----END SSH SIGNATURE-----", nil
}

func TestCompactIsSmall(t *testing.T) {
	needGit(t)
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	r := newRepo(t)
	signedHistory(t, r, 500, 60)
	wantSmall(t, r)
}

// depths returns how many deltas are below each object of a pack.
func depths(t testing.TB, p *pack) map[OID]int {
	t.Helper()
	list, bases, err := p.entries(context.Background())
	must(t, err)
	out := map[OID]int{}
	for n := range list {
		for at := n; bases[at] >= 0; at = bases[at] {
			out[list[n].id]++
		}
	}
	return out
}

// wantDepths fails where a chain of deltas is longer than git's, and where what HEAD has is
// more than one delta away from being whole, or a tree of it, or what a ref names, at all.
func wantDepths(t testing.TB, r *Repo) (deltas int) {
	t.Helper()
	packs, _, err := r.disk.rescan()
	must(t, err)
	all := map[OID]int{}
	for _, p := range packs {
		for id, n := range depths(t, p) {
			if all[id] = n; n > maxDepth {
				t.Errorf("%s has %d deltas below it", id, n)
			}
			deltas++
		}
	}
	refs, err := r.Refs("refs/")
	must(t, err)
	for _, ref := range refs {
		if all[ref.ID] > 0 {
			t.Errorf("%s names a delta", ref.Name)
		}
	}
	tip, err := r.Commit(mustRef(t, r, testHead))
	must(t, err)
	most := map[bool]int{false: newestDepth, true: 0}
	must(t, r.Walk(context.Background(), tip.Tree, func(path string, e Entry) error {
		if all[e.ID] > most[e.IsDir()] {
			t.Errorf("%s of HEAD has %d deltas below it", path, all[e.ID])
		}
		return nil
	}))
	if all[tip.Tree] > 0 {
		t.Errorf("the tree of HEAD is a delta")
	}
	return deltas
}

// streams counts the entries of a repository's packs that are deltas, by their bytes.
func streams(t testing.TB, r *Repo) map[string]int {
	t.Helper()
	packs, _, err := r.disk.rescan()
	must(t, err)
	out := map[string]int{}
	for _, p := range packs {
		list, bases, err := p.entries(t.Context())
		must(t, err)
		for n, e := range list {
			if bases[n] >= 0 {
				j := packing{part: e}
				must(t, j.entry())
				out[string(j.raw)]++
			}
		}
	}
	return out
}

// TestCompactMakesDeltasOnce: what was made a delta is taken over as it is, so that a record
// that is compacted every few edits costs no more than what is new, and becomes no larger.
func TestCompactMakesDeltasOnce(t *testing.T) {
	needGit(t)
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	r := newRepo(t)
	rnd := rand.New(rand.NewPCG(3, 3))
	text := prose(rnd, 6000)
	made, kept := 0, 0
	for range 12 {
		for range 15 {
			text = edited(rnd, text, 2)
			mustEdit(t, r, "edit", Change{Path: "a/b", Data: signedItem(rnd, text)})
		}
		was := streams(t, r)
		_, err := r.Compact(t.Context(), CompactOptions{})
		must(t, err)
		now := streams(t, r)
		for s, n := range was {
			made, kept = made+n, kept+min(n, now[s])
		}
		wantDepths(t, r)
	}
	if kept*10 < made*8 {
		t.Errorf("%d of %d deltas were taken over as they were", kept, made)
	}
	wantSmall(t, r)
}

// TestCompactWide: a folder of 10,000 files costs what it costs git, signed a hundred times
// more, of files that are alike too. Each tree is read once, and not kept for long.
func TestCompactWide(t *testing.T) {
	needGit(t)
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	n := 2000
	if soak() {
		n = 10000
	}
	for name, head := range map[string]int{"unlike": 0, "alike": 1500} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			rnd := rand.New(rand.NewPCG(4, 4))
			same := prose(rnd, head)
			path := func(i int) string { return fmt.Sprintf("knowledge/acme/item-%05d.md", i) }
			item := func() []byte { return signedItem(rnd, append(same[:head:head], prose(rnd, 200+rnd.IntN(1000))...)) }
			all := make([]Change, n)
			for i := range all {
				all[i] = Change{Path: path(i), Data: item()}
			}
			mustEdit(t, r, "all", all...)
			for range 100 {
				mustEdit(t, r, "sign", Change{Path: path(rnd.IntN(n)), Data: item()})
			}
			reads := &treeReads{source: r.sources[0], n: map[OID]int{}}
			r.sources[0] = reads
			wantSmall(t, r)
			if n, most := len(reads.n), slices.Max(slices.Collect(maps.Values(reads.n))); n < 200 || most > 1 {
				t.Errorf("read %d trees, one of them %d times, want 200 or more, each once", n, most)
			}
			if r.kept > maxKeptTrees {
				t.Errorf("keeps %d bytes of trees afterwards, want at most %d", r.kept, maxKeptTrees)
			}
			wantDepths(t, r)
			if c, err := r.Compact(t.Context(), CompactOptions{}); err != nil || c != (Compacted{}) {
				t.Errorf("again: %+v, %v", c, err)
			}
		})
	}
}

// treeReads counts how often each tree is read.
type treeReads struct {
	source
	mu sync.Mutex
	n  map[OID]int
}

func (s *treeReads) load(id OID, limit int64) (Type, []byte, error) {
	t, data, err := s.source.load(id, limit)
	if s.mu.Lock(); t == TypeTree {
		s.n[id]++
	}
	s.mu.Unlock()
	return t, data, err
}

// TestCompactHaste: what was written in haste is written again when that is asked for, though
// it is one pack, and not a second time.
func TestCompactHaste(t *testing.T) {
	r := newRepo(t)
	rnd := rand.New(rand.NewPCG(6, 6))
	var all []Change
	for i := range 200 {
		all = append(all, Change{Path: fmt.Sprint("f", i), Data: prose(rnd, 2000)})
	}
	mustEdit(t, r, "all", all...)
	before := packBytes(t, r.Dir())
	for range 3 {
		r.Tidy(t.Context(), CompactOptions{})
	}
	if n := packBytes(t, r.Dir()); n != before {
		t.Errorf("an edit's own tidying made %d bytes of %d", n, before)
	}
	c, err := r.Compact(t.Context(), CompactOptions{})
	must(t, err)
	if after := packBytes(t, r.Dir()); c.Packs != 1 || after > before*9/10 {
		t.Errorf("%+v made %d bytes of %d", c, after, before)
	}
	if c, err = r.Compact(t.Context(), CompactOptions{}); err != nil || c != (Compacted{}) {
		t.Errorf("again: %+v, %v", c, err)
	}
	fsck(t, r.Dir())
}

// TestCompactKeepsHeadWhole: what HEAD has is whole, also where another branch is newer; so is
// what refs name, and what is the newest of its path anywhere.
func TestCompactKeepsHeadWhole(t *testing.T) {
	r := newRepo(t)
	rnd := rand.New(rand.NewPCG(8, 8))
	text := map[string][]byte{"d/one": prose(rnd, 9000)}
	text["d/two"] = edited(rnd, text["d/one"], 1)
	why := string(prose(rnd, 1000))
	edit := func(ref string, i int) (last OID) {
		for path := range text {
			text[path] = edited(rnd, text[path], 2)
			o := opts(fmt.Sprint(path, i, "\n\n", why))
			o.When = testTime.Add(time.Duration(i) * time.Minute)
			id, err := r.Edit(t.Context(), ref, []Change{{Path: path, Data: text[path]}, put(fmt.Sprint("n/", i%9), fmt.Sprint(i))}, o)
			must(t, err)
			last = id
		}
		return last
	}
	var tip OID
	for i := range 10 {
		if tip = edit(testHead, i); i == 4 {
			must(t, r.Swap(t.Context(), "refs/tags/old", OID{}, tip, ""))
		}
	}
	must(t, r.Swap(t.Context(), "refs/heads/newer", OID{}, tip, ""))
	for i := 10; i < 30; i++ {
		edit("refs/heads/newer", i)
	}
	for range 2 {
		_, err := r.Compact(t.Context(), CompactOptions{})
		must(t, err)
		if n := wantDepths(t, r); n < 40 {
			t.Errorf("%d deltas", n)
		}
		packs, _, err := r.disk.rescan()
		must(t, err)
		d := depths(t, packs[0])
		for path, data := range text {
			if n := d[SHA1.Hash(TypeBlob, data)]; n > newestDepth {
				t.Errorf("the newest %s has %d deltas below it", path, n)
			}
		}
		edit("refs/heads/newer", 30)
	}
}
