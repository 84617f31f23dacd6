package builtin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// languageServer builds the server of testdata under a name.
func languageServer(t *testing.T, name string) string {
	t.Helper()
	if built == "" {
		built = filepath.Join(t.TempDir(), "built")
		t.Cleanup(func() { built = "" })
		if out, err := exec.Command("go", "build", "-o", built, "./testdata/languageserver").CombinedOutput(); err != nil {
			t.Fatalf("build the language server: %v\n%s", err, out)
		}
	}
	program := filepath.Join(t.TempDir(), name)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := os.Link(built, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// built is the server, while a test has it.
var built string

// lspCall runs lsp and returns its answer with the diagnostics.
func lspCall(w *world, params any) (answer, lspAnswer) {
	w.t.Helper()
	in := w.in
	in.Params, _ = json.Marshal(params)
	raw, _ := json.Marshal(in)
	var out bytes.Buffer
	Main(w.t.Context(), []string{"lsp"}, "b", bytes.NewReader(raw), &out)
	var a answer
	var l lspAnswer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		w.t.Fatal(err)
	}
	_ = json.Unmarshal(out.Bytes(), &l) // of a failure it holds nothing
	return a, l
}

func TestLSP(t *testing.T) {
	w := newWorld(t)
	w.file("src/a.go", "package a\n// häß😀 FIXME x BAD\n\n")
	w.file("clean.go", "package a\n")
	w.file("mute.go", "MUTE")
	w.file("crash.go", "CRASH")
	w.file("flood.go", "FLOOD")
	for _, name := range []string{"testls", "pullls"} { // those that publish, and those that are asked
		w.in.Program = languageServer(t, name)
		a, l := lspCall(w, m{"file_path": "src/a.go"})
		want := "src/a.go:2:9: warning: found FIXME [41]\nsrc/a.go:2:17: error: found BAD [40]\n"
		if !a.Success || l.Output != want || len(l.Diagnostics) != 2 || l.FileType != "go" || l.Checked[0] != name {
			t.Errorf("%s: lsp = %+v, %s; want %s", name, l, a.Error, want)
		}
		if d := l.Diagnostics[0]; d.EndColumn != 14 || d.Source != "test" {
			t.Errorf("%s: %+v", name, d)
		}
		if a, l := lspCall(w, m{"file_path": "clean.go"}); !a.Success || l.Output != "No issues found in clean.go\n" {
			t.Errorf("%s: of a clean file lsp = %+v, %s", name, l, a.Error)
		}
	}
	for file, want := range map[string]string{"mute.go": "limit", "crash.go": "failed", "flood.go": "failed"} {
		a, _ := lspCall(w, m{"file_path": file, "timeout": 1})
		if a.Success || a.Code != want {
			t.Errorf("lsp of %s = code %q (%s), want %q", file, a.Code, a.Error, want)
		}
		if file == "crash.go" && !strings.Contains(a.Error, "out of cheese") {
			t.Errorf("lsp of a server that ends: %s", a.Error)
		}
	}
	w.refused("lsp", m{"file_path": "clean.go", "linters": []string{"mypy"}}, "usage")
	w.refused("lsp", m{"file_path": "../outside.txt"}, "denied")
	w.refused("lsp", m{"file_path": "hidden/secret"}, "denied")
	w.refused("lsp", m{"file_path": "none.go"}, "not_found")
	w.refused("lsp", m{"file_path": "clean.go", "command": "sh"}, "usage")
}

// TestLSPNamesNoProgram: without a program of the item's own only servers of the table are
// started, and none that lies in the project.
func TestLSPNamesNoProgram(t *testing.T) {
	w := newWorld(t)
	w.file("a.go", "BAD")
	w.file("a.xyz", "BAD")
	server := languageServer(t, "gopls")
	for _, name := range []string{"sh", "/bin/sh", "./gopls", "../gopls", "gopls;sh"} {
		w.refused("lsp", m{"file_path": "a.go", "linters": []string{name}}, "usage")
	}
	w.refused("lsp", m{"file_path": "a.xyz"}, "not_found")

	t.Setenv("PATH", filepath.Dir(server))
	if a, l := lspCall(w, m{"file_path": "a.go"}); !a.Success || len(l.Diagnostics) != 1 {
		t.Errorf("lsp with gopls on PATH = %+v, %s", l, a.Error)
	}
	w.in.Project = filepath.Dir(server)
	w.file("a.go", "BAD")
	w.refused("lsp", m{"file_path": "a.go"}, "not_found")
}

func FuzzReadLSP(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}Content-Length: 17\r\nContent-Type: x\r\n\r\n{\"method\":\"exit\"}"))
	f.Add([]byte("Content-Length: 99999999999\r\n\r\n"))
	f.Add([]byte("content-length:0\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(raw), maxLSPHeader)
		m, err := readLSP(r)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := writeLSP(&b, m); err != nil {
			t.Fatalf("%q was read and cannot be written: %v", raw, err)
		}
		back, err := readLSP(bufio.NewReaderSize(&b, maxLSPHeader))
		if err != nil || back.Method != m.Method {
			t.Errorf("%q came back as %+v, %v", raw, back, err)
		}
	})
}
