package export

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/objects"
)

// TestSwappedDirectory: another process swaps the directory of a client for a link to the outside
// while rye writes there. Nothing arrives outside, whenever the swap happens.
func TestSwappedDirectory(t *testing.T) {
	top := t.TempDir()
	outside := filepath.Join(top, "outside")
	project := filepath.Join(top, "project")
	for _, dir := range []string{outside, filepath.Join(project, ".claude", "skills", "tide")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		swaps := 0
		skills, away := filepath.Join(project, ".claude", "skills"), filepath.Join(project, ".claude", "away")
		for !stop.Load() {
			if os.Rename(skills, away) == nil && os.Symlink(outside, skills) == nil {
				swaps++
				os.Remove(skills)
			}
			os.Rename(away, skills)
		}
		done <- swaps
	}()
	d, wrote := disk{project}, 0
	for i := range 600 {
		if d.write(fmt.Sprintf(".claude/skills/tide/%d.md", i%7), []byte("verified"), false) == nil {
			wrote++
		}
		_ = d.link(".claude/skills/other", "tide")
		_ = d.remove(".claude/skills/tide/1.md", ".claude")
	}
	stop.Store(true)
	swaps := <-done
	left, err := os.ReadDir(outside)
	if err != nil || len(left) > 0 {
		t.Fatalf("outside: %v, %v", left, err)
	}
	if swaps < 10 || wrote == 0 {
		t.Skipf("%d swaps and %d writes show nothing", swaps, wrote)
	}
}

// FuzzMemory: what is read is what is written, and nothing else is read.
func FuzzMemory(f *testing.F) {
	m := newMemory()
	m.clients["claude-code"] = true
	m.agreed["bundle:acme/tide"] = objects.DigestOf([]byte("programs"))
	m.files[".claude/skills/tide/SKILL.md"] = written{ref: "bundle:acme/tide", sum: objects.DigestOf(nil)}
	m.files[".kiro/skills/tide"] = written{ref: "bundle:acme/tide", link: "../../.agents/skills/tide"}
	f.Add(m.encode())
	f.Add([]byte(memoryHead + "\nfile\t../x\t-\t" + objects.DigestOf(nil).Hex() + "\n"))
	f.Add([]byte(memoryHead + "\nclient\ta\nclient\ta\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseMemory(raw)
		if err != nil {
			return
		}
		if string(m.encode()) != string(raw) {
			t.Errorf("read %q, wrote %q", raw, m.encode())
		}
	})
}

// TestRelative: a link leads from its own place to the shared copy.
func TestRelative(t *testing.T) {
	for _, row := range [][3]string{
		{".claude/skills/tide", ".agents/skills/tide", "../../.agents/skills/tide"},
		{".claude/skills/tide", ".claude/other/tide", "../other/tide"},
		{"a/b", "a/c", "c"},
	} {
		if got := relative(row[0], row[1]); got != row[2] {
			t.Errorf("relative(%q, %q) = %q, want %q", row[0], row[1], got, row[2])
		}
	}
}
