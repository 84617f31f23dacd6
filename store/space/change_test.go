package space

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

const (
	oldPath = "knowledge/acme/old.md"
	newPath = "knowledge/acme/new.md"
)

// halfway returns a layer that holds oldPath, recorded, and where a process was killed that
// moved it to newPath: after the commit, before the files changed.
func halfway(t *testing.T) *Layer {
	l := &Layer{Space: objects.Project, Dir: filepath.Join(t.TempDir(), ".ai"), Store: filepath.Join(t.TempDir(), "store.git")}
	t.Cleanup(func() { l.Close() })
	ctx := context.Background()
	if _, err := l.Change(ctx, []store.Change{{Path: oldPath, Data: []byte("old")}}, []store.Change{{Path: oldPath, Data: []byte("old")}}, commitNow("add")); err != nil {
		t.Fatal(err)
	}
	changes := []store.Change{{Path: oldPath, Delete: true}, {Path: newPath, Data: []byte("new")}}
	w, err := l.plan(changes, changes, "move")
	if err == nil {
		err = w.stage(ctx)
	}
	if err == nil {
		err = w.begin()
	}
	if err == nil {
		_, err = l.repo.Edit(ctx, l.Ref(), changes, commitNow("move"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func commitNow(what string) store.CommitOptions {
	return store.CommitOptions{Message: what + "\n", Author: store.Ident{Name: "ann", Email: "ann@example.org"}, When: time.Unix(1, 0)}
}

// files says what a layer's files hold; "" for one that is not there.
func files(t *testing.T, l *Layer) (old, new string) {
	t.Helper()
	a, _ := os.ReadFile(filepath.Join(l.Dir, oldPath))
	b, _ := os.ReadFile(filepath.Join(l.Dir, newPath))
	return string(a), string(b)
}

// TestInterruptedReadsAsBefore: looks see the record of before until a command that records
// has finished the change.
func TestInterruptedReadsAsBefore(t *testing.T) {
	l := halfway(t)
	if blob, err := l.RecordedBlob(oldPath); err != nil || blob != l.BlobID([]byte("old")) {
		t.Errorf("halfway the record holds %v, %v at the old place", blob, err)
	}
	if what, err := l.Unfinished(); what != "move" || err != nil {
		t.Errorf("Unfinished() = %q, %v, want move", what, err)
	}
	if _, err := l.Record(t.Context(), []store.Change{{Path: "knowledge/acme/third.md", Data: nil}}, commitNow("third")); err != nil {
		t.Fatal(err)
	}
	if old, new := files(t, l); old != "" || new != "new" {
		t.Errorf("finished, the files hold %q and %q", old, new)
	}
	if blob, err := l.RecordedBlob(newPath); err != nil || blob != l.BlobID([]byte("new")) {
		t.Errorf("finished, the record holds %v, %v at the new place", blob, err)
	}
	if what, err := Finish(t.Context(), l); what != "" || err != nil {
		t.Errorf("Finish() again = %q, %v", what, err)
	}
}

// TestInterruptedSparesEdits: what somebody wrote after the kill is not replaced or removed.
func TestInterruptedSparesEdits(t *testing.T) {
	l := halfway(t)
	for p, text := range map[string]string{oldPath: "edited", newPath: "edited, too"} {
		if err := os.WriteFile(filepath.Join(l.Dir, p), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if what, err := Finish(t.Context(), l); what != "move" || err != nil {
		t.Fatalf("Finish() = %q, %v", what, err)
	}
	if old, new := files(t, l); old != "edited" || new != "edited, too" {
		t.Errorf("the files hold %q and %q", old, new)
	}
}

// TestInterruptedBeforeTheCommit: what was not committed is dropped.
func TestInterruptedBeforeTheCommit(t *testing.T) {
	l := halfway(t)
	if _, err := l.repo.Edit(t.Context(), l.Ref(), []store.Change{{Path: oldPath, Data: []byte("old")}, {Path: newPath, Delete: true}}, commitNow("as before")); err != nil {
		t.Fatal(err)
	}
	if what, err := Finish(t.Context(), l); what != "" || err != nil {
		t.Fatalf("Finish() = %q, %v", what, err)
	}
	if old, new := files(t, l); old != "old" || new != "" {
		t.Errorf("the files hold %q and %q", old, new)
	}
	if what, err := l.Unfinished(); what != "" || err != nil {
		t.Errorf("Unfinished() = %q, %v", what, err)
	}
}

// TestBadIntents are refused, by commands that look and by those that change.
func TestBadIntents(t *testing.T) {
	l := halfway(t)
	raw, err := os.ReadFile(intentPath(l))
	if err != nil {
		t.Fatal(err)
	}
	good := string(raw)
	for name, text := range map[string]string{
		"empty":            "",
		"another format":   strings.Replace(good, "change 1", "change 2", 1),
		"no tip":           strings.Replace(good, "\ntip ", "\ntop ", 1),
		"cut":              good[:len(good)-5],
		"more":             good + "more\n",
		"a path out of it": strings.ReplaceAll(good, `"knowledge/`, `"../knowledge/`),
		"spelled anew":     strings.ReplaceAll(good, `"knowledge/acme/old.md"`, "`knowledge/acme/old.md`"),
		"an unknown line":  strings.Replace(good, "record ", "recall ", 1),
	} {
		if err := os.WriteFile(intentPath(l), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Record(t.Context(), nil, commitNow("more")); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: Record = %v, want malformed", name, err)
		}
		if old, new := files(t, l); old != "old" || new != "" {
			t.Errorf("%s: the files hold %q and %q", name, old, new)
		}
	}
}

// FuzzIntent: what is read as an intent is what rye writes.
func FuzzIntent(f *testing.F) {
	f.Add("rye-change 1\nwhat \"remove knowledge:acme/style\"\ntip 94e43c331a2cbb5bd5c6e8c3d0e2a4f5b6c7d8e9\nfile 0644 3b18e512dba79e4c8300dd08aeb37f8e728b8dad - \"knowledge/acme/style.md\"\nrecord - - \"a\"\nend\n")
	f.Add("rye-change 1\nwhat \"\"\ntip -\nfile 0000 ? - \"a/b\"\nend\n")
	l := &Layer{Space: objects.Project}
	f.Fuzz(func(t *testing.T, text string) {
		if w, err := parseIntent(l, text); err == nil && string(w.encode()) != text {
			t.Errorf("%q is read, and written as %q", text, w.encode())
		}
	})
}
