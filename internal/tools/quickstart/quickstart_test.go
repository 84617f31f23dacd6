package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	status := m.Run()
	if programs != "" {
		os.RemoveAll(programs)
	}
	os.Exit(status)
}

// TestQuickstart is `make quickstart`, whose output go test shows with -v or when
// it fails.
func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skipf("alice writes a tool in bash: %v", err)
	}
	var out bytes.Buffer
	err := run(t.Context(), &out, built(t), false)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n > 120 {
		t.Errorf("%d lines, want at most 120", n)
	}
}

// TestQuickstartWithoutGit does the same on a machine that never saw git.
func TestQuickstartWithoutGit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs")
	}
	bin := built(t) // needs the go command, which is about to go
	path := t.TempDir()
	for _, name := range []string{"bash", "sh", "find", "wc", "python3", "env"} {
		if real, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(real, filepath.Join(path, name)); err != nil {
				t.Skipf("no links here: %v", err)
			}
		} else if name == "bash" {
			t.Skipf("alice writes a tool in bash: %v", err)
		}
	}
	t.Setenv("PATH", path)
	var out bytes.Buffer
	err := run(t.Context(), &out, bin, false)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
}

// built returns the directory of both programs, made as `make build` does.
func built(t *testing.T) string {
	t.Helper()
	noteSources(t)
	dir, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var programs string // the directory, once they are built

var builtOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rye-quickstart-bin-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-tags", "urfave_cli_no_docs",
		"-ldflags", "-s -w -X github.com/rye-os/rye/internal/build.version=v0.0.0-test -X github.com/rye-os/rye/internal/build.id=test",
		"-o", dir+string(filepath.Separator), "github.com/rye-os/rye/cmd/...")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	programs = dir
	return dir, nil
})

// noteSources reads what the programs are made of, so that go test knows that a
// result of this test is out of date when one of these files changes.
func noteSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../../..", func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "bin" || name == "dist" || name == "testdata" || strings.HasPrefix(name, ".") && len(name) > 2) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || name == "go.mod" || strings.Contains(filepath.ToSlash(p), "/stdlib/") && !d.IsDir() {
			_, err = os.ReadFile(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
