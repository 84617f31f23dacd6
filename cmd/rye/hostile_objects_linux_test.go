package main_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inStore runs git in the record of a home.
func (h *home) inStore(input []byte, args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", h.store(), "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Stdin, cmd.Env = bytes.NewReader(input), h.env
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// written makes an object of a type, whatever its bytes.
func (h *home) written(typ string, raw []byte) string {
	return h.inStore(raw, "hash-object", "-w", "-t", typ, "--literally", "--stdin")
}

// entry is a line of a tree.
func entry(t *testing.T, mode, name, id string) []byte {
	t.Helper()
	var raw []byte
	if _, err := fmt.Sscanf(id, "%x", &raw); err != nil {
		t.Fatal(err)
	}
	return append([]byte(mode+" "+name+"\x00"), raw...)
}

// commitOf is a commit of a tree, whatever that is.
func commitOf(tree string) []byte {
	return []byte("tree " + tree + "\nauthor t <t@example.com> 1700000000 +0000\ncommitter t <t@example.com> 1700000000 +0000\n\nm\n")
}

// TestHostileObjects: what lies among the objects of a record may be made by anybody. gc and
// fsck end by themselves, say what is wrong, and take no memory for a size that a header states.
func TestHostileObjects(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	// lie puts a loose object in the place of id that declares size.
	lie := func(h *home, id, typ string, size int64) {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		fmt.Fprintf(z, "%s %d\x00short", typ, size)
		z.Close()
		file := filepath.Join(h.store(), "objects", id[:2], id[2:])
		os.Remove(file)
		if err := os.WriteFile(file, b.Bytes(), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	pipe := func(h *home, id string) {
		file := filepath.Join(h.store(), "objects", id[:2], id[2:])
		os.Remove(file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type made struct{ blob, tree, commit string }
	for name, c := range map[string]struct {
		make func(h *home, m made) string // returns what the branch is to be
		gc   int
		fsck string // what it says; "" all is well
	}{
		"sound":               {func(h *home, m made) string { return m.commit }, 0, ""},
		"a blob that lies":    {func(h *home, m made) string { lie(h, m.blob, "blob", 1<<60); return m.commit }, 10, "declared"},
		"a blob of 900 MB":    {func(h *home, m made) string { lie(h, m.blob, "blob", 900<<20); return m.commit }, 10, "declared"},
		"a tree that lies":    {func(h *home, m made) string { lie(h, m.tree, "tree", 1<<60); return m.commit }, -1, "declare"},
		"a tree of 60 MB":     {func(h *home, m made) string { lie(h, m.tree, "tree", 60<<20); return m.commit }, 10, "declared"},
		"a commit that lies":  {func(h *home, m made) string { lie(h, m.commit, "commit", 1<<60); return m.commit }, -1, "declare"},
		"a pipe for a blob":   {func(h *home, m made) string { pipe(h, m.blob); return m.commit }, -1, "regular file"},
		"a pipe for a tree":   {func(h *home, m made) string { pipe(h, m.tree); return m.commit }, -1, "regular file"},
		"a pipe nobody names": {func(h *home, m made) string { pipe(h, strings.Repeat("ab", 20)); return m.commit }, 0, ""},
		"a tree as a file": {func(h *home, m made) string {
			return h.written("commit", commitOf(h.written("tree", entry(t, "100644", "file", m.tree))))
		}, -1, "is a tree, where a blob belongs"},
		"a file as a tree": {func(h *home, m made) string {
			return h.written("commit", commitOf(h.written("tree", entry(t, "40000", "dir", m.blob))))
		}, -1, "is a blob, where a tree belongs"},
		"a commit as a tree": {func(h *home, m made) string { return h.written("commit", commitOf(m.commit)) }, -1, "is a commit, where a tree belongs"},
		"a tree as a parent": {func(h *home, m made) string {
			return h.written("commit", []byte(strings.Replace(string(commitOf(m.tree)), "\nauthor", "\nparent "+m.tree+"\nauthor", 1)))
		}, -1, "is a tree, where a commit belongs"},
		"a tag of another type": {func(h *home, m made) string {
			tag := h.written("tag", []byte("object "+m.blob+"\ntype commit\ntag x\ntagger t <t@example.com> 1700000000 +0000\n\nm\n"))
			h.inStore(nil, "update-ref", "refs/tags/x", tag)
			return m.commit
		}, -1, "is a blob, where a commit belongs"},
		"a broken pack beside": {func(h *home, m made) string {
			h.inStore(nil, "update-ref", "refs/heads/other", m.commit)
			h.inStore(nil, "repack", "-q", "-a") // what is loose stays
			packs, _ := filepath.Glob(filepath.Join(h.store(), "objects", "pack", "*.pack"))
			for _, p := range packs {
				raw, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				raw[len(raw)/2] ^= 1
				os.Chmod(p, 0o644)
				if err := os.WriteFile(p, raw, 0o444); err != nil {
					t.Fatal(err)
				}
			}
			return m.commit
		}, -1, "pack file"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write(noteFile, attackNote)
			h.rye("sign", noteRef)
			var m made
			m.blob = h.written("blob", []byte("a text of a file\n"))
			m.tree = h.written("tree", entry(t, "100644", "file", m.blob))
			m.commit = h.written("commit", commitOf(m.tree))
			if err := os.WriteFile(filepath.Join(h.store(), "refs", "heads", "other"), []byte(c.make(h, m)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"fsck"}, {"gc", "--dry-run"}, {"fsck", "--repair", "--yes"}, {"gc"}, {"fsck"}} {
				exit, said := h.bounded(args...)
				if strings.Contains(said, "goroutine ") || strings.Contains(said, "out of memory") {
					t.Fatalf("rye %v:\n%s", args, said)
				}
				switch {
				case args[0] == "gc" && len(args) == 1 && c.gc >= 0 && exit != c.gc:
					t.Errorf("rye gc: exit %d, want %d: %s", exit, c.gc, said)
				case args[0] == "fsck" && c.fsck == "" && exit != 0:
					t.Errorf("rye %v: exit %d: %s", args, exit, said)
				case args[0] == "fsck" && c.fsck != "" && (exit != 10 || !strings.Contains(said, c.fsck)):
					t.Errorf("rye %v: exit %d, want 10 and %q: %s", args, exit, c.fsck, said)
				}
			}
		})
	}
}

// TestLargeObject: an object that is larger than what anybody needs in memory is read,
// packed and checked piece by piece.
func TestLargeObject(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	size, most := 128<<20, int64(110<<20)
	if soak {
		size, most = 300<<20, 150<<20
	}
	h := newHome(t)
	h.write(noteFile, attackNote)
	h.rye("sign", noteRef)
	blob := h.written("blob", bytes.Repeat([]byte("a line of a large file\n"), size/23))
	h.inStore(nil, "update-ref", "refs/heads/large", h.written("commit", commitOf(h.written("tree", entry(t, "100644", "large", blob)))))
	for _, args := range [][]string{{"fsck"}, {"gc"}, {"fsck"}, {"gc"}} {
		out, exit, u := measured(t, h.command(args...))
		if exit != 0 || u.rss > most {
			t.Errorf("rye %v: exit %d, %d MiB, at most %d: %s", args, exit, u.rss>>20, most>>20, out)
		}
		t.Logf("rye %v: %d MiB", args, u.rss>>20)
	}
	if _, err := os.Stat(filepath.Join(h.store(), "objects", blob[:2], blob[2:])); err == nil {
		t.Error("it was not packed")
	}
	h.inStore(nil, "fsck", "--strict")
}
