package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// counts returns how many loose objects and packs there are.
func counts(t testing.TB, r *Repo) (loose, packs int) {
	t.Helper()
	ids, err := r.disk.looseIDs()
	if err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.pack"))
	return len(ids), len(names)
}

// crowd makes loose objects and packs, one of them held by a living writer, and
// returns everything that can be read afterwards, by id.
func crowd(t testing.TB, r *Repo) (held *Batch, all map[OID]string) {
	t.Helper()
	ctx := context.Background()
	long := strings.Repeat("what stays the same, ", 20) + randomText(500)
	for i := range 20 {
		mustEdit(t, r, fmt.Sprint("edit ", i), put(fmt.Sprintf("d%d/f", i%3), fmt.Sprint("text ", i)), put("long", fmt.Sprint(long, i)))
	}
	for i := range 5 {
		b := r.NewBatch()
		tree, err := b.EditTree(OID{}, []Change{put("x", fmt.Sprint("packed ", i)), put("y/z", "same")})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			b.Deltas()
		}
		for n := range 3 {
			if _, err := b.Add(TypeBlob, fmt.Append(nil, n, long, i)); err != nil {
				t.Fatal(err)
			}
		}
		id, err := b.Commit(ctx, tree, nil, opts(fmt.Sprint("packed ", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if i == 4 {
			held = b // no ref leads to it yet
			continue
		}
		if err := r.Swap(ctx, fmt.Sprint("refs/heads/p", i), OID{}, id, ""); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	if _, err := r.Put(ctx, TypeBlob, []byte("nobody's")); err != nil {
		t.Fatal(err)
	}
	return held, everything(t, r)
}

// everything returns all that can be read, by id.
func everything(t testing.TB, r *Repo) map[OID]string {
	t.Helper()
	all := map[OID]string{}
	loose, err := r.disk.looseIDs()
	must(t, err)
	packs, _, err := r.disk.rescan()
	must(t, err)
	var old []oldPack
	for _, p := range packs {
		old = append(old, oldPack{pack: p})
	}
	must(t, eachID(loose, old, func(id OID) error {
		typ, data, err := r.Object(id, 0)
		all[id] = typ.String() + string(data)
		return err
	}))
	return all
}

// wantAll fails for each object that a fresh Repo, and the open one, do not read.
func wantAll(t testing.TB, r *Repo, all map[OID]string) {
	t.Helper()
	fresh := reopen(t, r)
	defer fresh.Close()
	for id, want := range all {
		for _, from := range []*Repo{r, fresh} {
			if typ, data, err := from.Object(id, 0); err != nil || typ.String()+string(data) != want {
				t.Fatalf("object %s: %v", id, err)
			}
		}
	}
}

func TestCompact(t *testing.T) {
	r := newRepo(t)
	held, all := crowd(t, r)
	loose, packs := counts(t, r)
	plan, err := r.Compact(t.Context(), CompactOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if l, p := counts(t, r); l != loose || p != packs {
		t.Fatalf("a dry run left %d files and %d packs, before %d and %d", l, p, loose, packs)
	}
	got, err := r.Compact(t.Context(), CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Loose != loose-1 || got.Packs != 4 || got.Left != 1 || got.Objects == 0 || got.After == 0 || got.After >= got.Before {
		t.Errorf("%+v of %d loose objects", got, loose)
	}
	if plan.After = got.After; plan != got {
		t.Errorf("planned %+v, did %+v", plan, got)
	}
	if l, p := counts(t, r); l != 1 || p != 2 { // nobody's; the new one, and the one that is held
		t.Errorf("left %d loose objects and %d packs, want 1 and 2", l, p)
	}
	wantAll(t, r, all)
	fsck(t, r.Dir())
	held.Release()
	for range 2 { // the second time there is nothing to do
		if got, err = r.Compact(t.Context(), CompactOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got != (Compacted{Left: 1}) {
		t.Errorf("again: %+v, want nothing", got)
	}
	wantAll(t, r, all)
}

// TestCompactRefusesDamage: what cannot be read is not thrown away, nor is
// anything else.
func TestCompactRefusesDamage(t *testing.T) {
	for name, hurt := range map[string]func(t *testing.T, r *Repo){
		"loose":   func(t *testing.T, r *Repo) { damage(t, r, looseFile(r, blobOf("text 19"))) },
		"missing": func(t *testing.T, r *Repo) { os.Remove(looseFile(r, blobOf("text 19"))) },
		"packed": func(t *testing.T, r *Repo) {
			for _, p := range r.disk.packs {
				damage(t, r, r.files.path(p.path+".pack"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			held, _ := crowd(t, r)
			held.Release()
			hurt(t, r)
			next := reopen(t, r)
			defer next.Close()
			loose, packs := counts(t, r)
			got, err := next.Compact(t.Context(), CompactOptions{})
			if err == nil && name != "missing" || err != nil && !fault.Is(err, fault.Integrity) {
				t.Errorf("%+v, %v, want integrity", got, err)
			}
			if l, p := counts(t, r); err != nil && (l != loose || p != packs) {
				t.Errorf("left %d loose objects and %d packs, before %d and %d", l, p, loose, packs)
			}
		})
	}
}

func blobOf(text string) OID { return SHA1.Hash(TypeBlob, []byte(text)) }

// damage flips a bit in the middle of a file.
func damage(t testing.TB, r *Repo, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	os.Chmod(path, 0o644)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEditCompacts: a branch that is edited for long stays in few files, and no
// byte is written anew too often.
func TestEditCompacts(t *testing.T) {
	r := newRepo(t)
	n := 400
	if soak() {
		n = 4000
	}
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	for i := range n {
		mustEdit(t, r, fmt.Sprint("edit ", i), put(fmt.Sprintf("d%d/f%d", i%7, i%50), fmt.Sprint("text ", i)))
		if loose, packs := counts(t, r); loose > 2*maxLooseFiles || packs > maxPackFiles+1 {
			t.Fatalf("after %d edits: %d loose objects, %d packs", i, loose, packs)
		}
	}
	if _, packs := counts(t, r); packs == 0 {
		t.Error("nothing was compacted")
	}
	tip, _ := r.Ref(testHead)
	count := 0
	if err := r.Log(t.Context(), tip, func(*Commit) error { count++; return nil }); err != nil || count != n {
		t.Errorf("%d commits, %v, want %d", count, err, n)
	}
	fsck(t, r.Dir())
}

// TestLooseIsCounted: edits know without looking how many loose objects they made, also
// those of other processes, and look when nobody knows.
func TestLooseIsCounted(t *testing.T) {
	r := newRepo(t)
	edit := func(r *Repo, text string) {
		t.Helper()
		mustEdit(t, r, text, put("a/b/c", text))
		if loose, _ := counts(t, r); r.write.loose != loose || loose == 0 {
			t.Errorf("after %s: counted %d, there are %d", text, r.write.loose, loose)
		}
	}
	edit(r, "the first")
	edit(r, "the second")
	other := reopen(t, r)
	edit(other, "another process")
	edit(r, "and this one")
	must(t, os.Remove(filepath.Join(r.Dir(), lockName)))
	edit(r, "the lock is gone")
	c, err := r.Compact(t.Context(), CompactOptions{})
	if err != nil || c.Loose == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if fan, err := os.ReadDir(filepath.Join(r.dir, "objects")); err != nil || len(fan) != 2 || r.write.loose != 0 { // info, pack
		t.Errorf("after compacting: %v, %v, counted %d", fan, err, r.write.loose)
	}
	edit(other, "after compacting")
}

// TestUnreachableDoesNotCrowd: what Compact leaves alone does not bring it on again.
func TestUnreachableDoesNotCrowd(t *testing.T) {
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	r := newRepo(t)
	mustEdit(t, r, "start", put("start", "1"))
	for i := range 2 * maxLooseFiles {
		if _, err := r.Put(t.Context(), TypeBlob, fmt.Append(nil, "lost ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if !r.crowded(false) {
		t.Fatal("not crowded")
	}
	mustEdit(t, r, "more", put("more", "2"))
	r.Tidy(t.Context(), CompactOptions{}) // edits count only what they make themselves
	if loose, packs := counts(t, r); loose != 2*maxLooseFiles || packs != 1 || r.crowded(false) {
		t.Errorf("%d loose objects, %d packs, crowded %v", loose, packs, r.crowded(false))
	}
}

// TestCompactBesideWriters: eight processes edit, one compacts without pause, git
// repacks and reads.
func TestCompactBesideWriters(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "start", put("start", "1"))
	n := 10
	if soak() {
		n = 150
	}
	var procs []*proc
	for i := range 8 {
		procs = append(procs, spawn(t, "mixed", r.Dir(), fmt.Sprint("c", i), n))
	}
	stop, done := make(chan struct{}), make(chan struct{}, 3)
	run := func(f func()) { go func() { defer func() { done <- struct{}{} }(); f() }() }
	run(func() { compacting(t, r, stop) })
	run(func() { readers(t, r.Dir(), stop) })
	run(func() {
		if gitBin != "" {
			gitMaintaining(t, r.Dir(), stop)
		}
	})
	for _, p := range procs {
		if err := p.wait(); err != nil || len(p.errs) > 0 {
			t.Errorf("a writer failed: %v, %v", err, p.errs)
		}
	}
	close(stop)
	for range 3 {
		<-done
	}
	if got := wantAcks(t, r, procs...); got != 2*8*n {
		t.Errorf("%d commits acknowledged, want %d", got, 2*8*n)
	}
	fsck(t, r.Dir())
}

func compacting(t *testing.T, r *Repo, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := r.Compact(context.Background(), CompactOptions{}); err != nil {
			t.Errorf("compact: %v", err)
		}
	}
}

// TestKillCompact kills a process before each change to the disk that compacting
// makes: everything can be read, the next Compact ends the work.
func TestKillCompact(t *testing.T) {
	kills := 0
	every := 1
	if !soak() {
		every = 7
	}
	for at := 1; ; at += every {
		r := newRepo(t)
		held, all := crowd(t, r)
		held.Release()
		p := spawn(t, "compact", r.Dir(), "k", 1, fmt.Sprint("RYE_TEST_KILL_AT=", at))
		err := p.wait()
		if len(p.errs) > 0 {
			t.Errorf("step %d: %v", at, p.errs)
		}
		wantAll(t, r, all)
		fsck(t, r.Dir())
		next := reopen(t, r)
		if _, err := next.Compact(t.Context(), CompactOptions{}); err != nil {
			t.Errorf("step %d: the next: %v", at, err)
		}
		wantAll(t, next, all)
		if loose, packs := counts(t, next); loose != 1 || packs != 1 {
			t.Errorf("step %d: %d loose objects and %d packs after the next", at, loose, packs)
		}
		for _, ext := range []string{"keep", "idx"} {
			if left, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*."+ext)); len(left) > 1 || ext == "keep" && len(left) > 0 {
				t.Errorf("step %d: left %s", at, strings.Join(left, ", "))
			}
		}
		next.Close()
		if err == nil {
			break // it came to its end
		}
		kills++
	}
	if kills < 40/every {
		t.Errorf("%d kills: the steps are not where they should be", kills)
	}
}

// TestCompactPacksAlone: a repository that lacks parts of what its refs lead to can
// have its packs put together; loose objects stay where they are.
func TestCompactPacksAlone(t *testing.T) {
	r := newRepo(t)
	_, all := crowd(t, r)
	partial, err := EncodeCommit(&Commit{Tree: SHA1.Hash(TypeTree, []byte("not here")), Author: Ident{"a", "b"}.At(testTime), Committer: Ident{"a", "b"}.At(testTime), Message: "m\n"})
	must(t, err)
	id, err := r.Put(t.Context(), TypeCommit, partial)
	must(t, err)
	must(t, r.Swap(t.Context(), "refs/rye/partial", OID{}, id, ""))
	if _, err := r.Compact(t.Context(), CompactOptions{}); !fault.Is(err, fault.Integrity) {
		t.Errorf("Compact of a partial repository: %v", err)
	}
	before, _ := counts(t, r)
	c, err := r.Compact(t.Context(), CompactOptions{Packs: true, DryRun: true})
	if err != nil || c.Packs != 4 || c.Loose != 0 {
		t.Errorf("a dry run: %+v, %v", c, err)
	}
	c, err = r.Compact(t.Context(), CompactOptions{Packs: true})
	loose, packs := counts(t, r)
	if err != nil || c.Packs != 4 || loose != before || packs != 2 { // and the one that is held
		t.Errorf("Compact = %+v, %v; %d loose objects of %d, %d packs", c, err, loose, before, packs)
	}
	wantAll(t, r, all)
}

// TestTidy: a writer of packs has them put together before there are many.
func TestTidy(t *testing.T) {
	defer func() { testOnlyNoSync = false }()
	testOnlyNoSync = true
	r := newRepo(t)
	for i := range 40 {
		b := r.NewBatch()
		_, err := b.Add(TypeBlob, fmt.Append(nil, "blob ", i))
		must(t, err)
		must(t, b.Flush(t.Context()))
		b.Release()
		r.Tidy(t.Context(), CompactOptions{Packs: true})
		if _, packs := counts(t, r); packs > maxPackFiles {
			t.Fatalf("%d packs after %d batches", packs, i+1)
		}
	}
	for i := range 40 {
		if !r.Has(SHA1.Hash(TypeBlob, fmt.Append(nil, "blob ", i))) {
			t.Errorf("blob %d is lost", i)
		}
	}
}

// TestCompactTakesInDeltas: what git packed well does not become larger by compacting,
// beside how many packs ever it lies.
func TestCompactTakesInDeltas(t *testing.T) {
	needGit(t)
	r := newRepo(t)
	text := randomText(20000)
	for i := range 20 {
		mustEdit(t, r, fmt.Sprint("edit ", i), put("f", fmt.Sprint(text, i)))
	}
	git(t, r.Dir(), "-c", "repack.writeBitmaps=false", "-c", "pack.compression=9", "repack", "-adfq") // with a bitmap it stays
	before, made := packBytes(t, r.Dir()), streams(t, r)
	for i := range 3 {
		mustEdit(t, r, fmt.Sprint("more ", i), put("h", fmt.Sprint("more ", i)))
	}
	_, err := r.Compact(t.Context(), CompactOptions{})
	must(t, err)
	if loose, packs := counts(t, r); loose != 0 || packs != 1 {
		t.Errorf("%d loose, %d packs", loose, packs)
	}
	if after := packBytes(t, r.Dir()); after > before+before/8 {
		t.Errorf("compacting made %d bytes of %d", after, before)
	}
	kept := 0
	for s := range streams(t, r) {
		kept += made[s]
	}
	if kept*10 < len(made)*8 || kept == 0 {
		t.Errorf("%d of git's %d deltas were taken over", kept, len(made))
	}
	for i := range maxPackFiles + 1 {
		mustEdit(t, r, fmt.Sprint("delta ", i), put("f", fmt.Sprint(text, "b", i)), put("f2", fmt.Sprint(text, "c", i)))
		git(t, r.Dir(), "repack", "-dfq")
	}
	all := everything(t, r)
	_, err = r.Compact(t.Context(), CompactOptions{})
	must(t, err)
	if after := packBytes(t, r.Dir()); after > 3*before {
		t.Errorf("in the end %d bytes, at first %d", after, before)
	}
	wantAll(t, r, all)
	wantDepths(t, r)
	fsck(t, r.Dir())
}

// randomText returns n characters that no delta makes smaller.
func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)[:n]
}

// TestCompactDropsOrphansAnywhere removes an index without its pack, also where the path
// holds what means something in a pattern.
func TestCompactDropsOrphansAnywhere(t *testing.T) {
	for _, name := range []string{"plain.git", "[a]*?.git"} {
		if runtime.GOOS == "windows" && name != "plain.git" {
			name = "[a].git" // other characters cannot stand in a name there
		}
		r, err := Init(filepath.Join(t.TempDir(), name), "refs/heads/main")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		orphan := filepath.Join(r.dir, "objects", "pack", "pack-0123.idx")
		if err := os.WriteFile(orphan, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Compact(t.Context(), CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(orphan); !isMissing(err) {
			t.Errorf("%s: the index without a pack is still there (%v)", name, err)
		}
	}
}

// TestCompactDropsEmpty: no empty directory of loose objects stays behind.
func TestCompactDropsEmpty(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "one", put("a", "one"))
	mustEdit(t, r, "two", put("a", "two"))
	if _, err := r.Compact(t.Context(), CompactOptions{}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.Dir(), "objects", "??")); len(left) != 0 {
		t.Errorf("left %q", left)
	}
}
