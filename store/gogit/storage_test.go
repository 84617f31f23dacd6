package gogit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

func (w *world) storage(l Limits) *Storage {
	w.Helper()
	s, err := NewStorage(context.Background(), w.Repo, l)
	w.must(err)
	return s
}

func ref(name string, id store.OID) *plumbing.Reference {
	return plumbing.NewHashReference(plumbing.ReferenceName(name), hashOf(id))
}

// TestRacingWriters: go-git and rye move one ref at once, through repositories opened apart.
// Whoever comes second hears go-git's word for it, and nothing that was acknowledged is lost.
func TestRacingWriters(t *testing.T) {
	w := newWorld(t)
	w.point(branch, w.commit(map[string]string{"f": "0\n"}))
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		acked int
	)
	const writers, tries = 6, 8
	for n := range writers {
		r, err := store.Open(w.Dir())
		w.must(err)
		t.Cleanup(func() { r.Close() })
		all.Go(func() {
			for i := range tries {
				err := addOne(r, fmt.Sprintf("w%d-%d", n, i), n%2 == 0)
				mu.Lock()
				switch {
				case err == nil:
					acked++
				case !errors.Is(err, storage.ErrReferenceHasChanged):
					t.Errorf("writer %d: %v", n, err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	tip, err := w.Ref(branch)
	w.must(err)
	reachable := -1 // the first commit
	w.must(w.Repo.Log(context.Background(), tip, func(*store.Commit) error { reachable++; return nil }))
	if reachable != acked || acked < writers/2*tries {
		t.Errorf("%d commits acknowledged, %d reachable, want at least those of rye, %d", acked, reachable, writers/2*tries)
	}
}

// addOne adds a file to the branch: by rye, which tries again by itself, or by go-git.
func addOne(r *store.Repo, name string, rye bool) error {
	if rye {
		_, err := r.Edit(context.Background(), branch, []store.Change{{Path: name, Data: []byte(name)}},
			store.CommitOptions{Message: name + "\n", Author: store.Ident{Name: "A", Email: "a@example.com"}, When: time.Unix(1_700_000_000, 0)})
		return err
	}
	s, err := NewStorage(context.Background(), r, Limits{})
	if err != nil {
		return err
	}
	was, err := s.Reference(branch)
	if err != nil {
		return err
	}
	before, err := object.GetCommit(s, was.Hash())
	if err != nil {
		return err
	}
	o, c := s.NewEncodedObject(), &object.Commit{Message: name + "\n", TreeHash: before.TreeHash, ParentHashes: []plumbing.Hash{was.Hash()}}
	if err := c.Encode(o); err != nil {
		return err
	}
	id, err := s.SetEncodedObject(o)
	if err != nil {
		return err
	}
	return s.CheckAndSetReference(plumbing.NewHashReference(branch, id), was)
}

// TestConcurrentReaders is for the race detector: one repository, many readers.
func TestConcurrentReaders(t *testing.T) {
	w := newWorld(t)
	at := last(w.line("a\n", "a\nb\n", "b\n"))
	w.point(branch, at)
	repo, err := Open(w.Repo)
	w.must(err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			log, err := repo.Log(&git.LogOptions{From: hashOf(at)})
			if err != nil {
				t.Error(err)
				return
			}
			n := 0
			if err := log.ForEach(func(*object.Commit) error { n++; return nil }); err != nil || n != 3 {
				t.Errorf("%d commits, %v", n, err)
			}
			if _, err := repo.Config(); err != nil {
				t.Error(err)
			}
			if _, err := repo.Storer.Index(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestRefsThatStay: HEAD and symbolic refs are no business of go-git's here, nor are names that
// rye does not have.
func TestRefsThatStay(t *testing.T) {
	w := newWorld(t)
	id := w.commit(map[string]string{"f": "1\n"})
	w.point(branch, id)
	s := w.storage(Limits{})
	for _, r := range []*plumbing.Reference{
		plumbing.NewSymbolicReference(plumbing.HEAD, "refs/heads/other"), ref("HEAD", id),
		plumbing.NewSymbolicReference("refs/heads/alias", branch),
		ref("refs/heads/a..b", id), ref("refs/heads/x.lock", id), ref("config", id), ref("refs/../config", id), ref("refs/heads/-x", id),
	} {
		if err := s.SetReference(r); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a refusal", r, err)
		}
	}
	if err := s.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, branch)); err != nil {
		t.Errorf("HEAD as it is: %v", err)
	}
	if err := s.CheckAndSetReference(ref("refs/heads/new", id), ref(branch, id)); fault.CodeOf(err) != fault.Usage {
		t.Errorf("compared with another ref: %v", err)
	}
	if err := s.CheckAndSetReference(ref(branch, id), ref(branch, store.OID{})); err != storage.ErrReferenceHasChanged {
		t.Errorf("a ref that must not exist, and does: %v", err)
	}
	if err := s.AddAlternate("/elsewhere"); err == nil {
		t.Error("an alternate was taken")
	}
	repo, err := Open(w.Repo)
	w.must(err)
	if err := repo.Prune(git.PruneOptions{Handler: repo.DeleteObject}); err == nil {
		t.Error("objects were pruned")
	}
	if err := repo.RepackObjects(&git.RepackConfig{}); err == nil {
		t.Error("objects were repacked")
	}
	if head, err := w.Head(); err != nil || head != branch {
		t.Errorf("HEAD is %q, %v", head, err)
	}
}

// TestMemoryStaysOutOfTheRecord: what go-git keeps beside objects and refs is on no disk.
func TestMemoryStaysOutOfTheRecord(t *testing.T) {
	w := newWorld(t)
	id := w.commit(map[string]string{"f": "1\n"})
	w.point(branch, id)
	before := files(w)
	s := w.storage(Limits{})
	repo, err := git.Open(s, memfs.New())
	w.must(err)
	tree, err := repo.Worktree()
	w.must(err)
	w.must(tree.Checkout(&git.CheckoutOptions{Branch: branch}))
	_, err = repo.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{"https://example.com/x"}})
	w.must(err)
	w.must(s.SetShallow([]plumbing.Hash{hashOf(id)}))
	_, err = s.Module("m")
	w.must(err)
	if after := files(w); after != before {
		t.Errorf("the record changed from\n%s\nto\n%s", before, after)
	}
	if raw, err := tree.Filesystem.Open("f"); err != nil {
		t.Errorf("the worktree lacks its file: %v", err)
	} else if text, _ := io.ReadAll(raw); string(text) != "1\n" {
		t.Errorf("the worktree has %q", text)
	}
}

func files(w *world) string {
	w.Helper()
	var b strings.Builder
	w.must(filepath.Walk(w.Dir(), func(path string, fi os.FileInfo, err error) error {
		if err == nil && !fi.IsDir() {
			raw, rerr := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %d %x\n", path, len(raw), raw[:min(len(raw), 64)])
			return rerr
		}
		return err
	}))
	return b.String()
}

// TestReadsAreHashed: go-git's own storage returns the bytes of one object under the id of
// another, when a file lies in the wrong place.
func TestReadsAreHashed(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	a, err := w.Put(ctx, store.TypeBlob, []byte("a"))
	w.must(err)
	b, err := w.Put(ctx, store.TypeBlob, []byte("b"))
	w.must(err)
	path := func(id store.OID) string {
		return filepath.Join(w.Dir(), "objects", id.String()[:2], id.String()[2:])
	}
	w.must(os.Remove(path(b)))
	w.must(os.Rename(path(a), path(b)))
	if o, err := w.storage(Limits{}).EncodedObject(plumbing.AnyObject, hashOf(b)); fault.CodeOf(err) != fault.Integrity {
		t.Errorf("read %v, %v; want %s", o, err, fault.Integrity)
	}
}

// TestHostileTrees: go-git by itself walks all of these.
func TestHostileTrees(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	blob, err := w.Put(ctx, store.TypeBlob, []byte("x"))
	w.must(err)
	entry := func(mode, name string) string { return mode + " " + name + "\x00" + string(blob.Bytes()) }
	for name, raw := range map[string]string{
		"a name of two parts": entry("100644", "a/b"),
		"an absolute name":    entry("100644", "/etc/passwd"),
		"one name twice":      entry("100644", "a") + entry("100644", "a"),
		"out of order":        entry("100644", "b") + entry("100644", "a"),
		"a strange mode":      entry("104755", "a"),
		"cut off":             entry("100644", "a")[:20],
	} {
		id, err := w.Put(ctx, store.TypeTree, []byte(raw))
		w.must(err)
		s := w.storage(Limits{})
		if _, err := object.GetTree(s, hashOf(id)); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("read %s: %v, want %s", name, err, fault.Malformed)
		}
		o := s.NewEncodedObject()
		o.SetType(plumbing.TreeObject)
		to, _ := o.Writer()
		to.Write([]byte(raw))
		if _, err := s.SetEncodedObject(o); fault.CodeOf(err) != fault.Malformed {
			t.Errorf("write %s: %v, want %s", name, err, fault.Malformed)
		}
	}
}

// TestTreeBomb: seven trees that name 22 thousand million files cost no more than the limit.
func TestTreeBomb(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	id, err := w.Put(ctx, store.TypeBlob, []byte("x"))
	w.must(err)
	mode := store.ModeFile
	for range 7 {
		var entries []store.Entry
		for n := range 30 {
			entries = append(entries, store.Entry{Name: fmt.Sprintf("%02d", n), Mode: mode, ID: id})
		}
		raw, err := store.EncodeTree(entries)
		w.must(err)
		id, err = w.Put(ctx, store.TypeTree, raw)
		w.must(err)
		mode = store.ModeDir
	}
	who := store.Stamp{Name: "a", Email: "a@example.com", Zone: "+0000"}
	raw, err := store.EncodeCommit(&store.Commit{Tree: id, Author: who, Committer: who, Message: "m\n"})
	w.must(err)
	at, err := w.Put(ctx, store.TypeCommit, raw)
	w.must(err)
	repo, err := Within(ctx, w.Repo, Limits{Reads: 5000})
	w.must(err)
	c, err := repo.CommitObject(hashOf(at))
	w.must(err)
	all, err := c.Files()
	w.must(err)
	if err := all.ForEach(func(*object.File) error { return nil }); fault.CodeOf(err) != fault.Limit {
		t.Errorf("walked a bomb: %v", err)
	}
}

// TestOversize: what is too large is refused by its header; a writer is bounded alike.
func TestOversize(t *testing.T) {
	w := newWorld(t)
	big, err := w.Put(context.Background(), store.TypeBlob, make([]byte, 5<<20))
	w.must(err)
	s := w.storage(Limits{Object: 1 << 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = s.EncodedObject(plumbing.BlobObject, hashOf(big))
	runtime.ReadMemStats(&after)
	if fault.CodeOf(err) != fault.Limit || after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%v, and %d bytes were made", err, after.TotalAlloc-before.TotalAlloc)
	}
	s = w.storage(Limits{Bytes: 6 << 20})
	_, first := s.EncodedObject(plumbing.BlobObject, hashOf(big))
	_, second := s.EncodedObject(plumbing.BlobObject, hashOf(big))
	if first != nil || fault.CodeOf(second) != fault.Limit {
		t.Errorf("%v, then %v; want one that fits", first, second)
	}
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.BlobObject)
	o.Write(make([]byte, 2<<20))
	if _, err := w.storage(Limits{Object: 1 << 20}).SetEncodedObject(o); fault.CodeOf(err) != fault.Limit {
		t.Errorf("wrote too much: %v", err)
	}
}

// TestHostilePacks come in through the quarantine, or not at all. By itself go-git makes room
// for as many objects as a pack claims, and ends the program.
func TestHostilePacks(t *testing.T) {
	w := newWorld(t)
	claim := append([]byte("PACK\x00\x00\x00\x02"), 0xff, 0xff, 0xff, 0xf0)
	claim = append(claim, make([]byte, 20)...)
	cut := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), 1)
	for name, raw := range map[string][]byte{"claims 4G objects": claim, "cut off": cut, "no pack": []byte("hello, world")} {
		to, err := w.storage(Limits{}).PackfileWriter()
		w.must(err)
		_, werr := io.Copy(to, bytes.NewReader(raw))
		if err := to.Close(); err == nil {
			t.Errorf("%s: taken in (write: %v)", name, werr)
		}
	}
	to, err := w.storage(Limits{}).PackfileWriter()
	w.must(err)
	if err := to.Close(); err != nil {
		t.Errorf("nothing at all: %v; go-git has a word for that itself", err)
	}
	if ids, err := w.Repo.IDs(context.Background()); err != nil || len(ids) > 0 {
		t.Errorf("%d objects stayed, %v", len(ids), err)
	}
}

// TestPacksAreHeld: what came in a pack is protected until a ref leads to it.
func TestPacksAreHeld(t *testing.T) {
	from, w := newWorld(t), newWorld(t)
	id := from.commit(map[string]string{"f": "1\n"})
	s := w.storage(Limits{})
	to, err := s.PackfileWriter()
	w.must(err)
	w.must(from.PackFor(context.Background(), to, []store.OID{id}, nil))
	w.must(to.Close())
	keeps := func() int {
		all, err := filepath.Glob(filepath.Join(w.Dir(), "objects", "pack", "*.keep"))
		w.must(err)
		return len(all)
	}
	if n := keeps(); n != 1 {
		t.Errorf("%d .keep files while nothing refers to the pack", n)
	}
	w.must(s.SetReference(ref(branch, id)))
	if n := keeps(); n != 0 {
		t.Errorf("%d .keep files after a ref does", n)
	}
	repo, err := Open(w.Repo)
	w.must(err)
	if c, err := repo.CommitObject(hashOf(id)); err != nil || c.Message != "commit 1\n" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestOtherFormat(t *testing.T) {
	r, err := store.InitFormat(t.TempDir()+"/r.git", branch, store.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := Open(r); fault.CodeOf(err) != fault.Malformed {
		t.Errorf("%v, want %s", err, fault.Malformed)
	}
}
