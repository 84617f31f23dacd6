package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// world is a project on disk, and what its functions are told about it.
type world struct {
	t  testing.TB
	in Input
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, in: Input{Build: "b", Project: filepath.Join(dir, "project")}}
	w.in.Protect = []string{w.path(".ai"), w.path(".git")}
	w.in.Hide = []string{filepath.Join(dir, "keys"), w.path("hidden")}
	w.file("../keys/id", "KEY")
	w.file("../outside.txt", "OUTSIDE")
	w.file(".ai/tools/x.sh", "item")
	w.file(".ai/rye.lock", "lock")
	w.file(".git/hooks/pre-commit", "hook")
	w.file("hidden/secret", "SECRET")
	return w
}

func (w *world) path(rel string) string { return filepath.Join(w.in.Project, filepath.FromSlash(rel)) }

func (w *world) file(rel, text string) {
	w.t.Helper()
	testkit.WriteFile(w.t, w.path(rel), text, 0o644)
}

func (w *world) text(rel string) string {
	raw, err := os.ReadFile(w.path(rel))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(raw)
}

// answer is every answer that a test looks into.
type answer struct {
	Success   bool
	Error     string
	Code      string
	Content   string
	Lines     int
	Offset    int
	Total     int    `json:"total_lines"`
	Next      int    `json:"next_offset"`
	LineIDs   bool   `json:"line_ids"`
	Endings   string `json:"line_endings"`
	BadUTF8   bool   `json:"invalid_utf8"`
	Version   string
	Truncated bool
	Stopped   string
	Files     json.RawMessage
	Matches   []hit
	Entries   []entry
	Changes   []edited
	Count     int
	Stdout    string
	Stderr    string
	ExitCode  int  `json:"exit_code"`
	TimedOut  bool `json:"timed_out"`
}

// call runs a function as its process does.
func (w *world) call(function string, params any) answer {
	w.t.Helper()
	in := w.in
	var err error
	if in.Params, err = json.Marshal(params); err != nil {
		w.t.Fatal(err)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	var out bytes.Buffer
	exit := Main(context.Background(), []string{function}, "b", bytes.NewReader(raw), &out)
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		w.t.Fatalf("%s %s answered %q: %v", function, in.Params, out.Bytes(), err)
	}
	if (exit == 0) != a.Success || !a.Success && a.Code == "" && function != "bash" {
		w.t.Errorf("%s %s: exit %d with %s", function, in.Params, exit, out.Bytes())
	}
	return a
}

type m = map[string]any

func (w *world) refused(function string, params any, code string) {
	w.t.Helper()
	if a := w.call(function, params); a.Success || a.Code != code {
		w.t.Errorf("%s %v = success %v, code %q (%s), want code %q", function, params, a.Success, a.Code, a.Error, code)
	}
}
