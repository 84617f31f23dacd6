package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is what the three implementations in implementations_test.go can do:
// this package, go-git and plain git, on the same bytes.
type repository interface {
	// objects reads each, in this order; got's error is errNone when there is none.
	objects(ids []OID, got func(id OID, t Type, data []byte, err error)) error
	// ref follows symbolic refs; errNone when there is none.
	ref(name string) (OID, error)
	refs() (map[string]OID, error)
	write(t Type, data []byte) (OID, error)
	// swap moves, makes (old zero) or deletes (new zero) a ref; errMoved when it is
	// not at old.
	swap(name string, old, new OID) error
	// history lists the commits of HEAD's first-parent line that changed path,
	// newest first.
	history(path string) ([]OID, error)
	// fsck reads everything that refs lead to and compares it with its id.
	fsck() error
}

var (
	errNone  = errors.New("none")
	errMoved = errors.New("moved")
)

// layouts are the ways in which a repository may lie on disk.
var layouts = []struct {
	name string
	make func(t *testing.T) string
}{
	{"rye, loose", func(t *testing.T) string {
		r := newRepo(t)
		for i := range 9 {
			mustEdit(t, r, fmt.Sprint("edit ", i), put(fmt.Sprintf("a/f%d", i%7), fmt.Sprint(i)), put("a/b/big.txt", fmt.Sprint("text ", i)))
		}
		must(t, r.Swap(t.Context(), "refs/heads/side", OID{}, mustRef(t, r, testHead), ""))
		return r.Dir()
	}},
	{"rye, compacted", func(t *testing.T) string {
		r := newRepo(t)
		held, _ := crowd(t, r)
		held.Release()
		mustEdit(t, r, "history", put("a/f3", "1"))
		mustEdit(t, r, "more", put("a/b/big.txt", "1"))
		mustEdit(t, r, "history", put("a/f3", "2"))
		_, err := r.Compact(t.Context(), CompactOptions{})
		must(t, err)
		return r.Dir()
	}},
	{"git, loose", func(t *testing.T) string { return gitMade(t, 12) }},
	{"git, packed, offset deltas", func(t *testing.T) string { return gitPacked(t, "repack", "-adfq", "--depth=50") }},
	{"git, packed, deltas by id", func(t *testing.T) string {
		return gitPacked(t, "-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50")
	}},
	{"git, packed, 64-bit offsets", func(t *testing.T) string {
		dir := gitPacked(t, "repack", "-adq")
		pack := only(t, filepath.Join(dir, "objects/pack/*.pack"))
		os.Remove(strings.TrimSuffix(pack, ".pack") + ".rev")
		git(t, dir, "index-pack", "--index-version=2,0x40", pack)
		return dir
	}},
	{"git, refs packed and symbolic", func(t *testing.T) string {
		dir := gitPacked(t, "pack-refs", "--all", "--prune")
		git(t, dir, "update-ref", "refs/heads/loose", "main~2")
		git(t, dir, "update-ref", "refs/heads/main", "main~1") // hides what is packed
		git(t, dir, "symbolic-ref", "refs/heads/sym", "refs/heads/loose")
		return dir
	}},
}

func gitPacked(t *testing.T, how ...string) string {
	dir := gitMade(t, 12)
	git(t, dir, how...)
	return dir
}

// TestImplementations: this package, go-git and plain git give the same answers
// about the same repositories, whichever of them wrote last, and find the same damage.
func TestImplementations(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			dir := l.make(t)
			sameAnswers(t, dir)
			for _, im := range implementations(t) {
				t.Run(im.name+" writes", func(t *testing.T) {
					own := copyTree(t, dir)
					checkWriting(t, im.open(t, own))
					sameAnswers(t, own)
				})
			}
			t.Run("damage", func(t *testing.T) { sameDamage(t, dir) })
		})
	}
}

// answers is everything that a repository says.
type answers struct {
	objects map[OID]string
	refs    map[string]OID
	history map[string][]OID
}

func ask(t *testing.T, r repository, ids []OID) answers {
	t.Helper()
	a := answers{objects: map[OID]string{}, history: map[string][]OID{}}
	none := SHA1.Hash(TypeBlob, []byte("not there"))
	err := r.objects(append(ids[:len(ids):len(ids)], none), func(id OID, typ Type, data []byte, err error) {
		if id != none {
			must(t, err)
			a.objects[id] = typ.String() + " " + string(data)
		} else if !errors.Is(err, errNone) {
			t.Errorf("an object that is not there: %v", err)
		}
	})
	must(t, err)
	a.refs, err = r.refs()
	must(t, err)
	for name, want := range a.refs {
		if id, err := r.ref(name); err != nil || id != want {
			t.Errorf("ref %s is %s, %v; listed as %s", name, id, err, want)
		}
	}
	if _, err := r.ref("refs/heads/nowhere"); !errors.Is(err, errNone) {
		t.Errorf("a ref that is not there: %v", err)
	}
	for _, path := range []string{"a/f3", "a/b/big.txt", "a", "nowhere/at/all"} {
		a.history[path], err = r.history(path)
		must(t, err)
	}
	must(t, r.fsck())
	return a
}

// sameAnswers fails unless all say the same of the repository at dir.
func sameAnswers(t *testing.T, dir string) {
	t.Helper()
	o, err := Open(dir)
	must(t, err)
	defer o.Close()
	roots, err := o.Roots()
	must(t, err)
	all, err := o.Reach(t.Context(), roots, nil, ReachOptions{})
	must(t, err)
	if len(all.Objects) < 10 {
		t.Fatalf("only %d objects", len(all.Objects))
	}
	var first answers
	for i, im := range implementations(t) {
		got := ask(t, im.open(t, dir), all.Objects)
		if i == 0 {
			first = got
		}
		if !maps.Equal(got.objects, first.objects) {
			t.Errorf("%s reads other objects", im.name)
		}
		if !maps.Equal(got.refs, first.refs) || len(got.refs) == 0 {
			t.Errorf("%s: refs %v, want %v", im.name, got.refs, first.refs)
		}
		for path, want := range first.history {
			if !slices.Equal(got.history[path], want) || len(want) == 0 != strings.HasPrefix(path, "nowhere") {
				t.Errorf("%s: history of %s is %v, want %v", im.name, path, got.history[path], want)
			}
		}
	}
}

// checkWriting writes objects and moves refs, rightly and wrongly.
func checkWriting(t *testing.T, r repository) {
	t.Helper()
	refs, err := r.refs()
	must(t, err)
	at := refs[slices.Sorted(maps.Keys(refs))[0]]
	blob, err := r.write(TypeBlob, []byte("written\n"))
	if want := SHA1.Hash(TypeBlob, []byte("written\n")); err != nil || blob != want {
		t.Fatalf("write = %s, %v, want %s", blob, err, want)
	}
	tree, err := EncodeTree([]Entry{{Mode: ModeFile, Name: "w", ID: blob}})
	must(t, err)
	treeID, err := r.write(TypeTree, tree)
	must(t, err)
	who := Ident{"Ann", "ann@example.org"}.At(testTime)
	raw, err := EncodeCommit(&Commit{Tree: treeID, Parents: []OID{at}, Author: who, Committer: who, Message: "by hand\n"})
	must(t, err)
	next, err := r.write(TypeCommit, raw)
	must(t, err)
	for _, m := range []struct {
		name     string
		old, new OID
		want     error
	}{
		{"refs/heads/new", OID{}, next, nil},
		{"refs/heads/new", OID{}, at, errMoved},
		{"refs/heads/new", at, next, errMoved},
		{"refs/heads/new", next, at, nil},
		{"refs/heads/new", next, OID{}, errMoved},
		{"refs/heads/none", at, next, errMoved},
		{"refs/heads/two/deep", OID{}, next, nil},
		{"refs/heads/two/deep", next, OID{}, nil},
		{"refs/heads/two", OID{}, next, nil}, // where a directory was
	} {
		if err := r.swap(m.name, m.old, m.new); !errors.Is(err, m.want) || m.want == nil && err != nil {
			t.Errorf("swap(%s, %s, %s) = %v, want %v", m.name, m.old, m.new, err, m.want)
		}
	}
	packed := "refs/tags/v1" // in the layouts of git: loose or packed
	if id, err := r.ref(packed); err == nil {
		must(t, r.swap(packed, id, next))
		must(t, r.swap(packed, next, OID{}))
		if _, err := r.ref(packed); !errors.Is(err, errNone) {
			t.Errorf("deleted ref: %v", err)
		}
	}
}

// sameDamage breaks a repository in several ways; everybody must find each.
func sameDamage(t *testing.T, dir string) {
	for name, breakIt := range map[string]func(t *testing.T, dir string){
		"a ref to nothing": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "refs/heads/bad"), []byte(SHA1.Hash(TypeCommit, []byte("x")).String()+"\n"), 0o644))
		},
		"a bit": func(t *testing.T, dir string) {
			file := anObjectFile(t, dir)
			b, err := os.ReadFile(file)
			must(t, err)
			b[len(b)/2] ^= 4
			must(t, os.Remove(file))
			must(t, os.WriteFile(file, b, 0o444))
		},
		"a file that is gone": func(t *testing.T, dir string) { must(t, os.Remove(anObjectFile(t, dir))) },
		"another's bytes": func(t *testing.T, dir string) {
			o, err := Open(dir)
			must(t, err)
			defer o.Close()
			c, err := o.Commit(mustRef(t, o, mustHead(t, o)))
			must(t, err)
			var b bytes.Buffer
			must(t, deflate(&b, []byte("blob 2\x00hi")))
			path := loosePath(filepath.Join(dir, "objects"), c.Tree)
			packs, _ := filepath.Glob(filepath.Join(dir, "objects/pack/*"))
			for _, p := range packs {
				must(t, os.Remove(p))
			}
			os.Remove(path)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, b.Bytes(), 0o444))
		},
	} {
		broken := copyTree(t, dir)
		breakIt(t, broken)
		for _, im := range implementations(t) {
			if err := im.open(t, broken).fsck(); err == nil {
				t.Errorf("%s does not notice %s", im.name, name)
			}
		}
	}
}

func mustHead(t *testing.T, r *Repo) string {
	t.Helper()
	name, err := r.Head()
	must(t, err)
	return name
}

// anObjectFile returns the file of HEAD's commit: its own, or a pack.
func anObjectFile(t *testing.T, dir string) string {
	t.Helper()
	r, err := Open(dir)
	must(t, err)
	defer r.Close()
	id := mustRef(t, r, mustHead(t, r))
	if r.disk.hasLoose(id) {
		return looseFile(r, id)
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("no packs: %v", err)
	}
	return packs[0]
}

// copyTree copies a repository.
func copyTree(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.git")
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rel), 0o755))
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.Create(filepath.Join(to, rel))
		if err == nil {
			_, err = io.Copy(out, in)
			err = errors.Join(err, out.Close())
		}
		return err
	}))
	return to
}
