package main_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata/mistakes")

// TestMistakes signs files as strangers write them, one mistake each, and compares
// what they are told: the line, the field, the rule, and what to write instead.
func TestMistakes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "mistakes", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("%d mistakes, want at least 20", len(files))
	}
	home := t.TempDir()
	rye := func(args ...string) (string, int) {
		cmd := exec.Command(program("rye"), args...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "APPDATA="+home, "LOCALAPPDATA="+home,
			"XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "RYE_USER=", "USER_SPACE=")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, exit := rye("init", "--namespace", "acme", "p"); exit != 0 {
		t.Fatal(out)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(raw)
			item := a.Files[0]
			path := filepath.Join(home, "p", ".ai", filepath.FromSlash(item.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, item.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(path)
			out, exit := rye("-C", "p", "sign", filepath.ToSlash(filepath.Join(".ai", item.Name)))
			got := fmt.Sprintf("%sexit %d\n", out, exit)
			if exit == 0 || !strings.Contains(got, "fix  |") && !strings.Contains(got, "hint:") {
				t.Errorf("it names no mend, or was signed:\n%s", got)
			}
			if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, item.Data) {
				t.Errorf("the file changed: %v", err)
			}
			if *update {
				a.Files = []txtar.File{item, {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 2 || string(a.Files[1].Data) != got {
				t.Errorf("got:\n%s\nread it, then: go test ./cmd/rye -run Mistakes -update", got)
			}
		})
	}
}
