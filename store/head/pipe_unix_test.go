//go:build unix

package head

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// TestPipes: what is no file in the place of one is never waited for.
func TestPipes(t *testing.T) {
	for _, name := range []string{"HEAD", "config", "refs/heads/main", "objects/info/alternates", "pack", "loose"} {
		t.Run(name, func(t *testing.T) {
			dir := repository(t)
			p := filepath.Join(dir, ".git", name)
			switch name {
			case "pack":
				testkit.Git(t, dir, "gc", "-q")
				packs, _ := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
				p = packs[0]
			case "loose":
				id := testkit.Git(t, dir, "rev-parse", "HEAD")
				p = filepath.Join(dir, ".git/objects", id[:2], id[2:])
			}
			os.Remove(p)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(p, 0o644); err != nil {
				t.Skip(err)
			}
			done := make(chan error, 1)
			go func() {
				got, err := look(dir, "two\n")
				if got {
					t.Error("HEAD has it")
				}
				done <- err
			}()
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), "git repository here") {
					t.Errorf("%s is a pipe: %v, want an error", name, err)
				}
			case <-time.After(patience):
				t.Fatal("it waits for the pipe")
			}
		})
	}
}
