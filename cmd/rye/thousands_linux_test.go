package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestThousandsOfItems: with 2,000 items, or 5,000 with RYE_SOAK, every command that looks at all
// of them prints the expected number of lines, in bounded memory. The test logs how long each
// command took, and judges no time.
func TestThousandsOfItems(t *testing.T) {
	t.Parallel()
	items, most := 2000, int64(200<<20) // bytes
	if soak {
		items = 5000
	}
	h := newHome(t)
	for i := range items {
		dir := filepath.Join(h.dir, ".ai", "knowledge", "acme", fmt.Sprintf("d%02d", i%50))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("---\nid: e%04d\ntitle: Entry %d\nversion: 1.0.0\nentry_type: reference\ncategory: acme/d%02d\n---\nText %d.\n", i, i, i%50, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("e%04d.md", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		line  string
		lines int // of standard output and error, at least
		over  int // and at most this many more
	}{
		{"sign --all", items, 5},
		{"list --space project", items + 1, 0},
		{"status", 1, 2},
		{"verify -q", 0, 2},
		{"show e1321", 5, 20},
		{"show e132", 2, 0},
		{"load knowledge:acme/d21/e1321", 8, 4},
		{"diff", 0, 0},
		{"log e1321", 1, 0},
		{"sign --all --check", items, 5},
		{"search Entry --space project --limit 5", 5, 40},
		{"lock", items + 1, 5},
		{"lock verify", 1, 2},
		{"doctor", 1, 60},
		{"fsck", 1, 20},
		{"__complete -- show knowledge:acme/d21/e13", 1, 30},
		{"rm knowledge:acme/d21/e1321 --dry-run", 1, 0},
		{"mv e1321 acme/elsewhere --dry-run", 1, 3},
	} {
		begun := time.Now()
		out, _, u := measured(t, h.command(strings.Fields(c.line)...))
		t.Logf("%-46s %6.2f s, %5.1f s of processors, %4d MiB", c.line, time.Since(begun).Seconds(), u.cpu.Seconds(), u.rss>>20)
		if n := strings.Count(string(out), "\n"); n < c.lines || n > c.lines+c.over {
			t.Errorf("%s: %d lines, want %d to %d: %.300s", c.line, n, c.lines, c.lines+c.over, out)
		}
		if u.rss > most {
			t.Errorf("%s took %d MiB, at most %d", c.line, u.rss>>20, most>>20)
		}
	}
}
