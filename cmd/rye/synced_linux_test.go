package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// acts is what a program did to the disk, in the order in which that began.
type acts []*act

// first returns the first act of a kind that was begun after a place in the order; nil
// when there was none.
func (all acts) first(after int, call, path string) *act {
	for _, a := range all {
		if a.call == call && a.path == path && a.began > after {
			return a
		}
	}
	return nil
}

// of lists the acts of a kind whose new name, or else name, is below a directory.
func (all acts) of(call, below string) (some acts) {
	for _, a := range all {
		path := a.path
		if a.to != "" {
			path = a.to
		}
		if a.call == call && strings.HasPrefix(path, below+"/") {
			some = append(some, a)
		}
	}
	return some
}

// written returns when the bytes of a file that has a name at some time were last written
// until then, and the name that the file had at the time.
func (all acts) written(path string, until int) (at int, as string) {
	for _, a := range all {
		if a.call == "link" && a.to == path && a.end < until {
			path = a.path
		}
	}
	for _, a := range all {
		if a.call == "write" && a.path == path && a.began < until {
			at = a.end
		}
	}
	return at, path
}

// wholeBefore fails unless the bytes of a file were on the disk before it got its name, and
// the name before a place in the order, by when it is relied upon.
func (all acts) wholeBefore(t *testing.T, renamed *act, by int, what string) {
	t.Helper()
	at, as := all.written(renamed.path, renamed.began)
	if at == 0 {
		t.Errorf("nothing was seen of what %s holds", renamed.to)
	}
	if s := all.first(at, "fsync", as); s == nil || s.end > renamed.began {
		t.Errorf("%s got its name before its bytes were on the disk", renamed.to)
	}
	all.nameBefore(t, renamed, by, what)
}

// nameBefore fails unless the name that an act gave, or took, was on the disk before a place
// in the order.
func (all acts) nameBefore(t *testing.T, a *act, by int, what string) {
	t.Helper()
	path := a.path
	if a.to != "" {
		path = a.to
	}
	if s := all.first(a.end, "fsync", filepath.Dir(path)); s == nil || s.end > by {
		t.Errorf("%s of %s was not on the disk when %s", a.call, path, what)
	}
}

// TestSignSyncsInOrder: what rye sign asks of the system, seen from outside. Each object is
// on the disk before it has its name, all objects and their names are before the ref names
// the commit, and the ref and its log are before rye says that it is done.
func TestSignSyncsInOrder(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(".ai/tools/acme/first.sh", racer(0, 0))
	h.rye("sign", "--all")
	repo := h.store()
	h.write(".ai/tools/acme/hello.sh", racer(0, 1))
	all := acts(traced(t, h.command("sign", "tool:acme/hello")))

	refs := all.of("rename", filepath.Join(repo, "refs"))
	said := all.first(0, "answer", "")
	if len(refs) != 1 || said == nil {
		t.Fatalf("%d refs moved, answer %v; want one of each", len(refs), said)
	}
	all.wholeBefore(t, refs[0], said.began, "it was said to be done")

	objects := filepath.Join(repo, "objects")
	named := all.of("rename", objects)
	if len(named) < 4 { // the file, the trees above it, the commit
		t.Errorf("%d objects were named, want 4 at least", len(named))
	}
	for _, o := range named {
		all.wholeBefore(t, o, refs[0].began, "a ref led to it")
	}
	for _, dir := range all.of("mkdir", objects) {
		all.nameBefore(t, dir, refs[0].began, "a ref led into it")
	}
	for _, w := range all.of("write", filepath.Join(repo, "logs")) {
		if s := all.first(w.end, "fsync", w.path); s == nil || s.end > said.began {
			t.Errorf("%s was not on the disk when it was said to be done", w.path)
		}
	}
	if locks := all.of("link", repo); len(locks) == 0 {
		t.Error("no ref was locked")
	}
}

// TestKeysSyncInOrder: the trust store is whole whenever power fails, and what was said to
// be pinned is.
func TestKeysSyncInOrder(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("key", "new", "second")
	all := acts(traced(t, h.command("key", "new", "third")))
	said := all.first(0, "answer", "")
	if said == nil {
		t.Fatal("no answer")
	}
	kept := all.of("rename", filepath.Dir(h.dir))
	for _, a := range kept {
		if strings.Contains(a.to, string(os.PathSeparator)+"cache"+string(os.PathSeparator)) {
			continue // can be made again
		}
		all.wholeBefore(t, a, said.began, "it was said to be done")
	}
	if len(kept) == 0 {
		t.Error("no file was put in place")
	}
}
