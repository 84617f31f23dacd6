package space_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// TestFsckFindsDamage damages a store in every way that a machine or a person might:
// Fsck tells each, with a hint, and what needs the record refuses instead of taking the
// item for one that was never recorded.
func TestFsckFindsDamage(t *testing.T) {
	const ref1 = "refs/heads/spaces/project"
	file := func(parts ...string) func(w *world) string {
		return func(w *world) string {
			return filepath.Join(append([]string{w.project.Store}, parts...)...)
		}
	}
	put := func(path func(w *world) string, text string) func(w *world) error {
		return func(w *world) error { return os.WriteFile(path(w), []byte(text), 0o644) }
	}
	gone := func(path func(w *world) string) func(w *world) error {
		return func(w *world) error { return os.RemoveAll(path(w)) }
	}
	for _, c := range []struct {
		name   string
		damage func(w *world) error
		says   string
		reads  bool // the record can be read all the same
	}{
		{"HEAD gone", gone(file("HEAD")), "no HEAD", false},
		{"HEAD junk", put(file("HEAD"), "junk\n"), `"junk"`, true},
		{"HEAD elsewhere", put(file("HEAD"), "ref: refs/heads/master\n"), "HEAD names refs/heads/master", true},
		{"HEAD detached", put(file("HEAD"), strings.Repeat("1", 40)+"\n"), "HEAD is detached", true},
		{"ref gone", gone(file(ref1)), "is gone", false},
		{"ref empty", put(file(ref1), ""), `its file holds ""`, false},
		{"ref junk", put(file(ref1), "\x00\x00\x00"), "its file holds", false},
		{"ref to itself", put(file(ref1), "ref: "+ref1+"\n"), "symbolic refs more than", false},
		{"ref to nothing", put(file(ref1), strings.Repeat("1", 40)+"\n"), "not exist", false},
		{"another ref junk", put(file("refs", "heads", "other"), "junk"), "refs/heads/other", true},
		{"packed-refs junk", put(file("packed-refs"), "zz\n"), "packed-refs", true},
		{"config gone", gone(file("config")), "store.git", false},
		{"config junk", put(file("config"), "[core"), "config line 1", false},
		{"objects gone", gone(file("objects")), "no directory objects", false},
		{"a file instead", func(w *world) error {
			if err := os.RemoveAll(file()(w)); err != nil {
				return err
			}
			return os.WriteFile(file()(w), nil, 0o644)
		}, "not a directory", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.put(w.project, greet, "1.0.0", "hello")
			w.put(w.project, greet, "1.1.0", "hello again")
			w.project.Close()
			w.must(c.damage(w))
			f, err := w.stack().Project.Fsck(t.Context())
			if err != nil || len(f.Damage) == 0 {
				t.Fatalf("Fsck = %+v, %v: found nothing", f, err)
			}
			if got := f.Damage[0].Error(); !strings.Contains(got, c.says) {
				t.Errorf("Fsck says %q, want it to say %q", got, c.says)
			}
			for _, d := range f.Damage {
				if fault.HintOf(d).IsZero() {
					t.Errorf("no hint to mend %q", d)
				}
			}
			code := fault.Integrity
			if c.reads {
				code = ""
			}
			if _, err := w.stack().Find(t.Context(), ref("tool:acme/greet")); c.name != "config junk" && fault.CodeOf(err) != code || fault.CodeOf(err) == "" != c.reads {
				t.Errorf("Find: %v (code %q), want %q", err, fault.CodeOf(err), code)
			} else if err != nil && fault.HintOf(err).IsZero() {
				t.Errorf("no hint to mend %q", err)
			}
		})
	}
}

// TestFsckNamesEachObject empties every object in turn: one that a ref reaches, and
// where it belongs, is named.
func TestFsckNamesEachObject(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	w.put(w.project, "tools/acme/other.sh", "1.0.0", "hello")
	w.put(w.project, greet, "1.1.0", "hello again")
	f, err := w.project.Fsck(t.Context())
	if err != nil || len(f.Damage) > 0 || f.Commits != 3 || f.Signers[w.key.Public()] != 3 || f.Unsigned != 0 {
		t.Fatalf("Fsck of a good store = %+v, %v", f, err)
	}
	all, err := filepath.Glob(filepath.Join(w.project.Store, "objects", "??", "*"))
	w.must(err)
	if len(all) != f.Objects {
		t.Errorf("%d objects checked of %d", f.Objects, len(all))
	}
	w.project.Close()
	for _, file := range all {
		raw, err := os.ReadFile(file)
		w.must(err)
		w.must(os.Chmod(file, 0o644))
		w.must(os.WriteFile(file, nil, 0o644))
		id := filepath.Base(filepath.Dir(file)) + filepath.Base(file)
		f, err := w.stack().Project.Fsck(t.Context())
		if err != nil || len(f.Damage) == 0 || !strings.Contains(f.Damage[0].Error(), id) {
			t.Errorf("object %s empty: %+v, %v", id, f, err)
		}
		w.must(os.WriteFile(file, raw, 0o644))
	}
	for _, file := range all { // all of them: told once each, as far as they can be found
		w.must(os.WriteFile(file, nil, 0o644))
	}
	if f, err := w.stack().Project.Fsck(t.Context()); err != nil || len(f.Damage) == 0 || len(f.Damage) > 21 {
		t.Errorf("everything empty: %d damages, %v", len(f.Damage), err)
	}
}

// TestFsckChecksSignatures puts commits on the layer's ref that no command of rye makes.
func TestFsckChecksSignatures(t *testing.T) {
	w := newWorld(t)
	w.put(w.project, greet, "1.0.0", "hello")
	repo, err := w.project.Repo()
	w.must(err)
	tip, err := w.project.Tip()
	w.must(err)
	good, err := repo.Commit(tip)
	w.must(err)

	// The signature of these bytes under another message.
	forged := *good
	forged.Message = "something else\n"
	raw, err := store.EncodeCommit(&forged)
	w.must(err)
	b := repo.NewBatch()
	defer b.Release()
	id, err := b.Add(store.TypeCommit, raw)
	w.must(err)
	w.must(b.Flush(t.Context()))
	w.must(repo.Swap(t.Context(), w.project.Ref(), tip, id, "test"))
	f, err := w.stack().Project.Fsck(t.Context())
	if err != nil || len(f.Damage) != 1 || !strings.Contains(f.Damage[0].Error(), "its signature") {
		t.Errorf("a forged commit: %+v, %v", f, err)
	}
	w.must(repo.Swap(t.Context(), w.project.Ref(), id, tip, "test"))
	if f, err := w.stack().Project.Fsck(t.Context()); err != nil || len(f.Damage) != 0 {
		t.Errorf("taken back: %+v, %v", f, err)
	}
}

// TestFsckRefusesBadEntries puts trees into the record that no command of rye makes: a
// checkout of one would write outside of its directory.
func TestFsckRefusesBadEntries(t *testing.T) {
	for name, mode := range map[string]string{"..": "40000", ".": "40000", ".git": "40000", ".GIT": "40000", "a\\b": "100644", "link": "120000", "module": "160000"} {
		w := newWorld(t)
		w.put(w.project, greet, "1.0.0", "hello")
		blob := w.object(store.TypeBlob, []byte("x"))
		inner := w.object(store.TypeTree, treeEntry("100644", "inner.md", blob))
		id := map[bool]store.OID{true: inner, false: blob}[mode == "40000"]
		w.commitTree(w.object(store.TypeTree, treeEntry(mode, name, id)))
		w.project.Close()
		f, err := w.stack().Project.Fsck(t.Context())
		w.must(err)
		var said []string
		for _, d := range f.Damage {
			said = append(said, d.Error())
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, "is a ") && !strings.Contains(all, "name") {
			t.Errorf("%q (%s): %q", name, mode, all)
		}
	}
}

// TestFsckReportsLimits makes a record and a working tree that every look refuses, with objects
// that are all whole.
func TestFsckReportsLimits(t *testing.T) {
	for name, c := range map[string]struct {
		exceed func(w *world)
		says   string
	}{
		"names in the record": {func(w *world) {
			id := w.object(store.TypeTree, treeEntry("100644", "x", w.object(store.TypeBlob, []byte("x"))))
			for range 5 { // 24^5 files in 120 entries
				var entries []byte
				for i := range 24 {
					entries = append(entries, treeEntry("40000", string(rune('a'+i)), id)...)
				}
				id = w.object(store.TypeTree, entries)
			}
			w.commitTree(id)
		}, "a tree names more than 262144 files and directories"},
		"bytes in the working tree": {func(w *world) {
			dir := filepath.Join(w.project.Dir, "knowledge", "large")
			w.must(os.MkdirAll(dir, 0o755))
			for i := range space.MaxBytes/space.MaxItem + 1 { // sparse
				file := filepath.Join(dir, "x"+strconv.Itoa(i)+".md")
				w.must(os.WriteFile(file, nil, 0o644))
				w.must(os.Truncate(file, space.MaxItem))
			}
		}, "files of the project space have more than 512 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(w.project, greet, "1.0.0", "hello")
			c.exceed(w)
			w.project.Close()
			looks := w.stack()
			if _, err := looks.Scan(t.Context(), looks.Project, nil); !fault.Is(err, fault.Limit) {
				t.Fatalf("a look ends with %v, want %s", err, fault.Limit)
			}
			f, err := w.stack().Project.Fsck(t.Context())
			w.must(err)
			if len(f.Damage) != 1 || !fault.Is(f.Damage[0], fault.Limit) || !strings.Contains(f.Damage[0].Error(), c.says) || fault.HintOf(f.Damage[0]).IsZero() {
				t.Errorf("Fsck = %q, want only %q with a hint", f.Damage, c.says)
			}
		})
	}
}

// treeEntry is a tree with one entry, spelled out: EncodeTree refuses such names.
func treeEntry(mode, name string, id store.OID) []byte {
	raw, err := hex.DecodeString(id.String())
	if err != nil {
		panic(err)
	}
	return append([]byte(mode+" "+name+"\x00"), raw...)
}

// object puts an object into the project's store.
func (w *world) object(typ store.Type, raw []byte) store.OID {
	w.t.Helper()
	repo, err := w.project.Repo()
	w.must(err)
	id, err := repo.Put(w.t.Context(), typ, raw)
	w.must(err)
	return id
}

// commitTree moves the project's ref to a new commit of a tree, whatever the tree holds.
func (w *world) commitTree(tree store.OID) {
	w.t.Helper()
	repo, err := w.project.Repo()
	w.must(err)
	tip, err := w.project.Tip()
	w.must(err)
	by := store.Stamp{Name: "a", Email: "a@b", Unix: 1, Zone: "+0000"}
	raw, err := store.EncodeCommit(&store.Commit{Tree: tree, Parents: []store.OID{tip}, Author: by, Committer: by, Message: "bad\n"})
	w.must(err)
	w.must(repo.Swap(w.t.Context(), w.project.Ref(), tip, w.object(store.TypeCommit, raw), "bad"))
}
