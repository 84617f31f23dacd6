package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPicture holds the picture in docs/layout.md to the law: at most 40 lines, a line that
// begins with a number opens that floor, every room in it stands on its floor, and every
// arrow points down.
func TestPicture(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "layout.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(doc), "## The rooms\n")
	_, picture, _ = strings.Cut(picture, "```\n")
	picture, _, _ = strings.Cut(picture, "```\n")
	lines := strings.Split(strings.TrimSuffix(picture, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("the picture has %d lines, want at most 40", len(lines))
	}
	floor := house[len(house)-1].floor + 1
	for _, line := range lines {
		if n, err := strconv.Atoi(line[:min(1, len(line))]); err == nil {
			if n != floor-1 {
				t.Errorf("the picture has floor %d below floor %d", n, floor)
			}
			floor = n
		}
		if strings.ContainsAny(line, "^<>") {
			t.Errorf("%q: an arrow points elsewhere than down", line)
		}
		for _, word := range regexp.MustCompile(`[a-z][\w/*-]*`).FindAllString(line, -1) {
			below, all := strings.CutSuffix(word, "*")
			for _, r := range house {
				if (r.path == word || all && strings.HasPrefix(r.path, below)) && r.floor != floor {
					t.Errorf("the picture has %s on floor %d, want %d", r.path, floor, r.floor)
				}
			}
			if _, ok := find(word); strings.Contains(word, "/") && !ok && !all {
				t.Errorf("the picture names %s, which is no room", word)
			}
		}
	}
	if floor != 0 {
		t.Errorf("the picture ends at floor %d", floor)
	}
}
