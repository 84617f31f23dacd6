package space_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store/space"
)

// What a killed process left is in the way of no other, whatever pid that has: the first
// process of a container always has the same.
func TestWriteBesideLeftovers(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.project.Dir, "tools", "acme")
	w.must(os.MkdirAll(dir, 0o755))
	left := []string{fmt.Sprintf(".rye-%d-greet.sh", os.Getpid()), space.TempPrefix + "greet.sh"}
	for _, name := range left {
		w.must(os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644))
	}
	for range 3 {
		w.must(w.project.Write("tools/acme/greet.sh", []byte("#!/bin/sh\n"), space.WaitAll))
	}
	entries, err := os.ReadDir(dir)
	w.must(err)
	if len(entries) != len(left)+1 {
		t.Errorf("%d files, want the one that was written and what lay there: %v", len(entries), entries)
	}
	// While a file is written its name begins so, in a folder that git looks at.
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "format", "project.md"))
	w.must(err)
	if !strings.Contains(string(raw), "`"+space.TempPrefix+"*`") {
		t.Errorf("docs/format/project.md does not name %s*", space.TempPrefix)
	}
}

// TestWriteKeepsWhatStandsThere: a file keeps the mode that a person gave it, and a folder in
// the place of a file is nobody's to replace.
func TestWriteKeepsWhatStandsThere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	w := newWorld(t)
	const name = "tools/acme/greet.sh"
	file := filepath.Join(w.project.Dir, filepath.FromSlash(name))
	w.must(os.MkdirAll(w.project.Dir, 0o755))
	for _, mode := range []fs.FileMode{0, 0o600, 0o644, 0o755} { // 0: it is new
		if mode != 0 {
			w.must(os.Chmod(file, mode))
		} else {
			mode = 0o755
		}
		w.must(w.project.Write(name, []byte("#!/bin/sh\n"), space.WaitAll))
		if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("mode %v, %v, want %v", fi.Mode().Perm(), err, mode)
		}
	}
	w.must(os.MkdirAll(filepath.Join(w.project.Dir, "tools", "acme", "folder.sh"), 0o755))
	if err := w.project.Write("tools/acme/folder.sh", []byte("#!/bin/sh\n"), space.WaitAll); !fault.Is(err, fault.Conflict) {
		t.Errorf("over a folder: %v", err)
	}
}
