package space_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
