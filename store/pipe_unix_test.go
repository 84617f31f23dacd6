//go:build unix

package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPipesAreNotOpened: a pipe in the place of a file of a repository is refused, and nobody
// waits for its other end.
func TestPipesAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	f, err := openFiles(dir)
	must(t, err)
	defer f.close()
	for name, open := range map[string]func() error{
		"read": func() error { _, err := f.read("pipe", 10); return err },
		"open": func() error {
			file, err := f.openFile("pipe", os.O_RDONLY, 0)
			if err == nil {
				file.Close()
			}
			return err
		},
	} {
		done := make(chan error, 1)
		go func() { done <- open() }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: it waits", name)
			if w, err := os.OpenFile(filepath.Join(dir, "pipe"), os.O_RDWR, 0); err == nil {
				w.Close()
			}
		}
	}
}
