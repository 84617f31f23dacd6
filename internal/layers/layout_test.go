package layers

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLayoutIsTrue holds docs/layout.md to the tree: it names every room, and what it
// names as a file or a directory is there.
func TestLayoutIsTrue(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "layout.md"))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(doc), -1) {
		named = append(named, m[1])
	}
	files := sources(t)
	for room := range rooms(files) {
		if room != "." && !slices.Contains(named, room) {
			t.Errorf("docs/layout.md does not name the room %s", room)
		}
	}
	isPath := regexp.MustCompile(`^[a-z][\w*./-]*(\.go|\.md|/[\w.*-]*)$`)
	for _, name := range named {
		if !isPath.MatchString(name) {
			continue
		}
		there, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		alone := !strings.Contains(name, "/") // of the room that the sentence is about
		if len(there) == 0 && !(alone && slices.ContainsFunc(files, func(f source) bool { return path.Base(f.name) == name })) {
			t.Errorf("docs/layout.md names %s, which is not there", name)
		}
	}
}
