package store

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	gogitobject "github.com/go-git/go-git/v5/plumbing/object"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// gitMade makes a repository with git: n commits that change large files a
// little, so that packing makes deltas.
func gitMade(t testing.TB, n int, args ...string) string {
	t.Helper()
	needGit(t)
	dir := filepath.Join(t.TempDir(), "made.git")
	git(t, "", append([]string{"init", "-q", "--bare", "-b", "main"}, append(args, dir)...)...)
	rng := rand.New(rand.NewSource(1))
	lines := make([]string, 300)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d %x", i, rng.Int63())
	}
	var b bytes.Buffer
	for i := range n {
		lines[rng.Intn(len(lines))] = fmt.Sprintf("changed %d %x", i, rng.Int63())
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter G <g@example.org> %d +0200\ndata 5\nmsg\n\n", 1700000000+i)
		text := strings.Join(lines, "\n")
		for _, path := range []string{"a/b/big.txt", fmt.Sprintf("a/f%d", i%7)} {
			fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
		}
	}
	b.WriteString("tag v1\nfrom refs/heads/main\ntagger G <g@example.org> 1700000000 +0000\ndata 4\ntag\n\n")
	gitIn(t, dir, b.Bytes(), "-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet")
	return dir
}

// sameAsGit compares every object that git lists with what we read.
func sameAsGit(t *testing.T, dir string) {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	list := strings.Split(git(t, dir, "cat-file", "--batch-all-objects", "--batch-check"), "\n")
	if len(list) < 10 {
		t.Fatalf("git lists %d objects", len(list))
	}
	for _, line := range list {
		var hex, typ string
		var size int64
		fmt.Sscan(line, &hex, &typ, &size)
		id, err := ParseOID(hex)
		if err != nil {
			t.Fatal(err)
		}
		gt, gs, err := r.Stat(id)
		if err != nil || gt.String() != typ || gs != size {
			t.Fatalf("Stat(%s) = %v %d, %v, want %s %d", hex, gt, gs, err, typ, size)
		}
		gt, data, err := r.Object(id, 0)
		if err != nil || gt.String() != typ || int64(len(data)) != size {
			t.Fatalf("Object(%s) = %v, %d bytes, %v", hex, gt, len(data), err)
		}
		switch gt {
		case TypeCommit:
			c, err := r.Commit(id)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := EncodeCommit(c); err != nil || !bytes.Equal(back, data) {
				t.Fatalf("commit %s encodes to %q, %v", hex, back, err)
			}
		case TypeTree:
			es, err := r.Tree(id)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := EncodeTree(es); err != nil || !bytes.Equal(back, data) {
				t.Fatalf("tree %s encodes to %q, %v", hex, back, err)
			}
		case TypeTag:
			if _, err := ParseTag(data); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestReadWhatGitWrites(t *testing.T) {
	for _, f := range []string{"sha1", "sha256"} {
		t.Run(f, func(t *testing.T) {
			dir := gitMade(t, 60, "--object-format="+f)
			t.Run("loose", func(t *testing.T) { sameAsGit(t, dir) })
			for _, how := range [][]string{
				{"repack", "-adq"},
				{"repack", "-adfq", "--window=50", "--depth=200"},
				{"-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=200"},
				{"repack", "-Adq"},
				{"gc", "-q"},
				{"multi-pack-index", "write"},
			} {
				git(t, dir, how...)
				t.Run(strings.Join(how, " "), func(t *testing.T) { sameAsGit(t, dir) })
			}
		})
	}
}

func TestReadLargeOffsets(t *testing.T) {
	dir := gitMade(t, 20)
	git(t, dir, "repack", "-adq")
	pack := only(t, filepath.Join(dir, "objects", "pack", "*.pack"))
	os.Remove(strings.TrimSuffix(pack, ".pack") + ".rev")
	git(t, dir, "index-pack", "--index-version=2,0x40", pack) // offsets from 64 on become 64-bit
	sameAsGit(t, dir)
}

func only(t testing.TB, glob string) string {
	t.Helper()
	got, err := filepath.Glob(glob)
	if err != nil || len(got) != 1 {
		t.Fatalf("%s: %v, %v", glob, got, err)
	}
	return got[0]
}

func TestGoGitReadsWhatWeWrite(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "loose", put("tools/a.py", "1"), put("x", "2"))
	var many []Change
	for i := range 100 {
		many = append(many, put(fmt.Sprintf("knowledge/k%d.md", i), fmt.Sprint("text ", i)))
	}
	tip := mustEdit(t, r, "packed", many...)
	g, err := gogit.PlainOpen(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	head, err := g.Head()
	if err != nil || head.Hash().String() != tip.String() {
		t.Fatalf("Head = %v, %v, want %s", head, err, tip)
	}
	c, err := g.CommitObject(plumbing.NewHash(tip.String()))
	if err != nil {
		t.Fatal(err)
	}
	files, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = files.ForEach(func(f *gogitobject.File) error {
		text, err := f.Contents()
		if strings.HasPrefix(f.Name, "knowledge/k") && text != "text "+strings.TrimSuffix(f.Name[len("knowledge/k"):], ".md") {
			t.Errorf("%s: %q", f.Name, text)
		}
		n++
		return err
	})
	if err != nil || n != 102 {
		t.Errorf("%d files, %v", n, err)
	}
	fsck(t, r.Dir())
}

func TestBatch(t *testing.T) {
	for _, f := range []Format{SHA1, SHA256} {
		r := newRepoFormat(t, f)
		b := r.NewBatch()
		defer b.Discard()
		var ids []OID
		for i := range 1000 {
			id, err := b.Add(TypeBlob, []byte(fmt.Sprint("blob ", i)))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if r.Has(ids[0]) {
			t.Error("readable before Flush")
		}
		tree, err := b.EditTree(OID{}, []Change{put("a/b/c", "1"), {Path: "a/x", ID: ids[3]}})
		if err != nil {
			t.Fatal(err)
		}
		tree2, err := b.EditTree(tree, []Change{put("a/b/d", "2"), {Path: "a/x", Delete: true}}) // on a tree of the same batch
		if err != nil {
			t.Fatal(err)
		}
		c1, err := b.Commit(t.Context(), tree, nil, opts("one"))
		if err != nil {
			t.Fatal(err)
		}
		c2, err := b.Commit(t.Context(), tree2, []OID{c1}, opts("two"))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if k, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.keep")); len(k) != 1 {
			t.Errorf("keep files after Flush: %v", k)
		}
		if gitBin != "" { // unreachable so far, but protected
			git(t, r.Dir(), "repack", "-adq")
		}
		if err := r.Swap(t.Context(), testHead, OID{}, c2, "test"); err != nil {
			t.Fatal(err)
		}
		b.Release()
		if k, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.keep")); len(k) != 0 {
			t.Errorf("keep files after Release: %v", k)
		}
		if e, err := reopen(t, r).Lookup(tree2, "a/b/d"); err != nil || e.Mode != ModeFile {
			t.Errorf("Lookup = %v, %v", e, err)
		}
		needGit(t)
		fsck(t, r.Dir())
		for _, p := range mustGlob(t, filepath.Join(r.Dir(), "objects/pack/*.idx")) {
			git(t, r.Dir(), "verify-pack", p)
		}
		if got := git(t, r.Dir(), "log", "--format=%s", "HEAD"); got != "two\none" {
			t.Errorf("git log: %q", got)
		}
	}
}

func mustGlob(t testing.TB, glob string) []string {
	t.Helper()
	got, err := filepath.Glob(glob)
	if err != nil || len(got) == 0 {
		t.Fatalf("%s: %v, %v", glob, got, err)
	}
	return got
}

func TestPut(t *testing.T) {
	r := newRepo(t)
	id, err := r.Put(t.Context(), TypeBlob, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	path := looseFile(r, id)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if id2, err := r.Put(t.Context(), TypeBlob, []byte("x")); err != nil || id2 != id {
		t.Fatal(id2, err)
	}
	after, _ := os.Stat(path)
	if !os.SameFile(before, after) {
		t.Error("an existing object was rewritten")
	}
	os.Chmod(path, 0o644)
	if err := os.WriteFile(path, []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Put(t.Context(), TypeBlob, []byte("x")); err != nil {
		t.Fatalf("Put over a broken object: %v", err)
	}
	if b, err := r.Blob(id, 0); err != nil || string(b) != "x" {
		t.Errorf("Blob = %q, %v", b, err)
	}
	if len(leftovers(t, r)) != 0 {
		t.Errorf("left in the nest: %v", leftovers(t, r))
	}
}

// looseFile is the path of an object that is a file of its own.
func looseFile(r *Repo, id OID) string { return filepath.FromSlash(r.files.path(r.disk.loose(id))) }

// leftovers lists the temporary files of r's own nest and of the write lock.
func leftovers(t testing.TB, r *Repo) []string {
	_, left, err := r.deadNests()
	must(t, err)
	if r.nest == "" {
		return left
	}
	got, err := filepath.Glob(filepath.Join(r.dir, r.nest, "*"))
	must(t, err)
	for _, f := range got {
		if filepath.Base(f) != pinName {
			left = append(left, f)
		}
	}
	return left
}

// writeLooseRaw puts bytes, deflated, at the place of id.
func writeLooseRaw(t testing.TB, r *Repo, id OID, raw []byte, after string) {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(raw)
	z.Close()
	b.WriteString(after)
	path := looseFile(r, id)
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestHostileLooseObjects is the table of security.md: each row is refused, fast.
func TestHostileLooseObjects(t *testing.T) {
	id := SHA1.Hash(TypeBlob, []byte("hello"))
	bomb := append([]byte("blob 10\x00"), make([]byte, 64<<20)...)
	for name, c := range map[string]struct {
		raw, after string
		code       fault.Code
	}{
		"fine":             {"blob 5\x00hello", "", ""},
		"another's bytes":  {"blob 5\x00jello", "", fault.Integrity},
		"another type":     {"tree 5\x00hello", "", fault.Integrity},
		"unknown type":     {"bolb 5\x00hello", "", fault.Integrity},
		"1 TiB declared":   {"blob 1099511627776\x00hello", "", fault.Limit},
		"negative":         {"blob -5\x00hello", "", fault.Integrity},
		"size with zero":   {"blob 05\x00hello", "", fault.Integrity},
		"size with plus":   {"blob +5\x00hello", "", fault.Integrity},
		"size overflows":   {"blob 99999999999999999999\x00hello", "", fault.Integrity},
		"no size":          {"blob \x00hello", "", fault.Integrity},
		"long header":      {"blob " + strings.Repeat("1", 100) + "\x00hello", "", fault.Integrity},
		"no header":        {"hello", "", fault.Integrity},
		"short":            {"blob 6\x00hello", "", fault.Integrity},
		"long":             {"blob 4\x00hello", "", fault.Integrity},
		"inflates forever": {string(bomb), "", fault.Integrity},
		"bytes after":      {"blob 5\x00hello", "x", fault.Integrity},
	} {
		r := newRepo(t)
		writeLooseRaw(t, r, id, []byte(c.raw), c.after)
		start := testkit.CPUTime()
		_, _, err := r.Object(id, 0)
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want code %q", name, err, c.code)
		}
		if took := testkit.CPUTime() - start; took > 2*time.Second*slowdown {
			t.Errorf("%s took %v of processor time", name, took)
		}
	}
	r := newRepo(t)
	path := looseFile(r, id)
	os.MkdirAll(filepath.Dir(path), 0o755)
	for name, raw := range map[string]string{"empty": "", "not zlib": "hello"} {
		if err := os.WriteFile(path, []byte(raw), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Object(id, 0); !fault.Is(err, fault.Integrity) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestObjectLimits(t *testing.T) {
	r := newRepo(t)
	id, err := r.Put(t.Context(), TypeBlob, make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Object(id, 999); !fault.Is(err, fault.Limit) {
		t.Errorf("limit 999: %v", err)
	}
	if _, _, err := r.Object(id, 1000); err != nil {
		t.Errorf("limit 1000: %v", err)
	}
	missing := SHA1.Hash(TypeBlob, []byte("missing"))
	if _, _, err := r.Object(missing, 0); !fault.Is(err, fault.NotFound) || !isMissing(err) {
		t.Errorf("missing: %v", err)
	}
	if _, err := r.Tree(id); !fault.Is(err, fault.Malformed) {
		t.Errorf("a blob as tree: %v", err)
	}
}

// TestOnlyOwnObjectsCount: alternates, replace refs and grafts do not change what
// an id means.
func TestOnlyOwnObjectsCount(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	tip := mustEdit(t, r, "real", put("a", "real"))
	foreign, err := other.Put(t.Context(), TypeBlob, []byte("foreign"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		path := filepath.Join(r.Dir(), filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("objects/info/alternates", filepath.Join(other.dir, "objects")+"\n")
	if r.Has(foreign) || reopen(t, r).Has(foreign) {
		t.Error("an alternate's object was found")
	}
	os.Remove(filepath.Join(r.Dir(), "objects/info/alternates"))
	evil := mustEdit(t, r, "evil", put("a", "evil"))
	write("refs/replace/"+tip.String(), evil.String()+"\n")
	write("info/grafts", tip.String()+" "+evil.String()+"\n")
	c, err := reopen(t, r).Commit(tip)
	if err != nil || c.Message != "real\n" || len(c.Parents) != 0 {
		t.Errorf("Commit = %+v, %v", c, err)
	}
}

// TestTemporaryNamesOfOthers: git and go-git leave files in objects/pack.
func TestTemporaryNamesOfOthers(t *testing.T) {
	r := newRepo(t)
	tip := mustEdit(t, r, "one", put("a", "1"))
	for _, n := range []string{"tmp_obj_123", "tmp_pack_x.idx", ".tmp-123-pack-ab.idx", "pack-dead.idx", "pack-alone.pack", "multi-pack-index"} {
		if err := os.WriteFile(filepath.Join(r.dir, "objects", "pack", n), []byte("junk"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := reopen(t, r)
	if _, err := n.Commit(tip); err != nil {
		t.Error(err)
	}
	missing := SHA1.Hash(TypeBlob, []byte("missing"))
	if _, _, err := n.Object(missing, 0); err == nil {
		t.Error("found what is not there")
	}
}

// TestPacksVanish: an open Repo keeps reading while git repacks under it.
func TestPacksVanish(t *testing.T) {
	needGit(t)
	r := newRepo(t)
	var ids []OID
	for i := range 5 {
		b := r.NewBatch()
		for j := range 20 {
			b.Add(TypeBlob, []byte(fmt.Sprint(i, "-", j)))
		}
		tree, err := b.EditTree(OID{}, []Change{put("a", fmt.Sprint(i))})
		if err != nil {
			t.Fatal(err)
		}
		c, err := b.Commit(t.Context(), tree, ids[max(0, len(ids)-1):], opts("m"))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var old OID
		if len(ids) > 0 {
			old = ids[len(ids)-1]
		}
		if err := r.Swap(t.Context(), testHead, old, c, ""); err != nil {
			t.Fatal(err)
		}
		b.Release()
		ids = append(ids, c)
	}
	n := reopen(t, r)
	if _, err := n.Commit(ids[0]); err != nil {
		t.Fatal(err)
	}
	git(t, r.Dir(), "repack", "-adq")
	for _, id := range ids {
		c, err := n.Commit(id)
		if err != nil {
			t.Fatalf("after repack: %v", err)
		}
		if _, err := n.Lookup(c.Tree, "a"); err != nil {
			t.Fatalf("after repack: %v", err)
		}
	}
}

// TestPackNamesAnother: a pack that is whole, by its own sums, and whose index says of each
// object that it is the other, gives neither.
func TestPackNamesAnother(t *testing.T) {
	r := newRepo(t)
	b := r.NewBatch()
	defer b.Discard()
	var ids []OID
	for _, text := range []string{"one", "two"} {
		id, err := b.Add(TypeBlob, []byte(text))
		must(t, err)
		ids = append(ids, id)
	}
	b.pack.list[0].id, b.pack.list[1].id = ids[1], ids[0]
	must(t, b.Flush(t.Context()))
	for _, id := range ids {
		if _, data, err := reopen(t, r).Object(id, 0); !fault.Is(err, fault.Integrity) {
			t.Errorf("object %s is %q, %v", id, data, err)
		}
	}
}

// TestPackOfAnotherIndex: an index that belongs to another pack with as many objects says
// nothing of this one, not even how large its objects are.
func TestPackOfAnotherIndex(t *testing.T) {
	r, from := newRepo(t), newRepo(t)
	packed := func(r *Repo, text string) (OID, string) {
		b := r.NewBatch()
		defer b.Discard()
		id, err := b.Add(TypeBlob, []byte(text))
		must(t, err)
		must(t, b.Flush(t.Context()))
		found, err := filepath.Glob(filepath.Join(r.Dir(), "objects", "pack", "*.pack"))
		must(t, err)
		return id, strings.TrimSuffix(found[0], ".pack")
	}
	_, here := packed(r, "one")
	id, there := packed(from, "another")
	index, err := os.ReadFile(there + ".idx")
	must(t, err)
	must(t, os.Remove(here+".idx"))
	must(t, os.WriteFile(here+".idx", index, 0o444))
	if typ, size, err := reopen(t, r).Stat(id); !fault.Is(err, fault.Integrity) {
		t.Errorf("Stat = %v, %d bytes, %v", typ, size, err)
	}
}

// TestPutMakesYoung: who writes an object that is there makes it young, so that git prune,
// which removes what is old and not yet reached, leaves it until a ref leads to it.
func TestPutMakesYoung(t *testing.T) {
	r := newRepo(t)
	id, err := r.Put(t.Context(), TypeBlob, []byte("x"))
	must(t, err)
	file := looseFile(r, id)
	old := time.Now().Add(-90 * 24 * time.Hour)
	must(t, os.Chtimes(file, old, old))
	if _, err := r.Put(t.Context(), TypeBlob, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(file); err != nil || fi.ModTime().Before(old.Add(time.Hour)) {
		t.Errorf("its file is of %v, %v", fi.ModTime(), err)
	}
}

// TestPutReplacesTorn: a file with the name of an object, whose bytes a lost power tore, is
// not taken for it by who writes it again, and hides no good copy in a pack.
func TestPutReplacesTorn(t *testing.T) {
	r := newRepo(t)
	id, err := r.Put(t.Context(), TypeBlob, []byte("whole"))
	must(t, err)
	file := looseFile(r, id)
	tear := func() {
		t.Helper()
		raw, err := os.ReadFile(file)
		must(t, err)
		must(t, os.Remove(file))
		must(t, os.WriteFile(file, raw[:len(raw)/2], 0o444))
	}
	tear()
	if _, err := r.Put(t.Context(), TypeBlob, []byte("whole")); err != nil {
		t.Fatal(err)
	}
	if got, err := reopen(t, r).Blob(id, 0); err != nil || string(got) != "whole" {
		t.Errorf("written again: %q, %v", got, err)
	}
	b := r.NewBatch()
	defer b.Discard()
	_, err = b.Add(TypeBlob, []byte("whole"))
	must(t, err)
	must(t, b.Flush(t.Context()))
	tear()
	if got, err := reopen(t, r).Blob(id, 0); err != nil || string(got) != "whole" {
		t.Errorf("in a pack, too: %q, %v", got, err)
	}
}

// TestBitRot: every single flipped byte of a pack or index is noticed, or harmless.
func TestBitRot(t *testing.T) {
	dir := gitMade(t, 8)
	git(t, dir, "repack", "-adfq", "--depth=20")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[OID][]byte{}
	for _, line := range strings.Fields(git(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")) {
		id, _ := ParseOID(line)
		_, want[id], err = r.Object(id, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	r.Close()
	rng := rand.New(rand.NewSource(2))
	for _, ext := range []string{"pack", "idx"} {
		path := only(t, filepath.Join(dir, "objects/pack/*."+ext))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, 0o644)
		for range 150 {
			bad := bytes.Clone(good)
			bad[rng.Intn(len(bad))] ^= 1 << rng.Intn(8)
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for id, data := range want {
				if _, got, err := r.Object(id, 0); err == nil && !bytes.Equal(got, data) {
					t.Fatalf("%s: wrong bytes for %s", ext, id)
				}
			}
			r.Close()
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !fault.Is(err, fault.NotFound) {
		t.Errorf("Open of nothing: %v", err)
	}
	r := newRepo(t)
	if _, err := Init(r.Dir(), testHead); !fault.Is(err, fault.Conflict) {
		t.Errorf("Init twice: %v", err)
	}
	if h, err := r.Head(); err != nil || h != testHead {
		t.Errorf("Head = %q, %v", h, err)
	}
	for _, head := range []string{"main", "refs/rye/x", "refs/heads/a..b"} {
		if _, err := Init(filepath.Join(t.TempDir(), "x"), head); !fault.Is(err, fault.Usage) {
			t.Errorf("Init with HEAD %q: %v", head, err)
		}
	}
	config := filepath.Join(r.Dir(), "config")
	for text, ok := range map[string]bool{
		"[core]\n\trepositoryformatversion = 2\n":                                                false,
		"[core]\nrepositoryformatversion=1\n[extensions]\nrefstorage = reftable\n":               false,
		"[core]\nrepositoryformatversion=1\n[extensions]\nobjectformat = md5\n":                  false,
		"[core]\nrepositoryformatversion=1\n[extensions]\nfuture = true\n":                       false,
		"[core]\nrepositoryformatversion=1 # c\n[Extensions]\n\tObjectFormat = \"sha256\" ; d\n": true,
		"[core\n": false,
		"":        true,
	} {
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if n, err := Open(r.Dir()); (err == nil) != ok {
			t.Errorf("Open with config %q: %v", text, err)
		} else if strings.Contains(text, "sha256") && n.Format() != SHA256 {
			t.Errorf("format %v", n.Format())
		}
	}
}

// TestReadingNeverWrites: every read works, and changes nothing, on a directory
// that cannot be written.
func TestReadingNeverWrites(t *testing.T) {
	r := newRepo(t)
	tip := mustEdit(t, r, "one", put("a/b", "1"))
	r.Close()
	before := listing(t, r.Dir())
	n := reopen(t, r)
	c, err := n.Commit(tip)
	if err != nil {
		t.Fatal(err)
	}
	n.Lookup(c.Tree, "a/b")
	n.Refs("refs/")
	n.Ref(testHead)
	n.Log(t.Context(), tip, func(*Commit) error { return nil })
	n.Close()
	if after := listing(t, r.Dir()); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listing(t testing.TB, dir string) string {
	var sb strings.Builder
	filepath.Walk(dir, func(path string, fi os.FileInfo, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&sb, path, fi.Mode(), fi.ModTime().UnixNano(), fi.Size())
		return nil
	})
	return sb.String()
}
