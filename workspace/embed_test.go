package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// A module of its own, which imports public packages only, opens a workspace, adds, signs
// and executes, and matches errors by their codes.
func TestEmbed(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range []struct{ from, to string }{{"testdata/embed/main.go", "main.go"}, {"go.mod", "go.mod"}, {"go.sum", "go.sum"}} {
		raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.from)))
		if err != nil {
			t.Fatal(err)
		}
		if f.to == "go.mod" { // the same requirements, so that nothing has to be looked up, and the version of TestGoInstall, whose packages the build cache has
			text := strings.Replace(string(raw), "module github.com/rye-os/rye\n", "module example.org/embed\n", 1)
			raw = []byte(text + "\nrequire github.com/rye-os/rye v0.1.0-test1\nreplace github.com/rye-os/rye => " + root + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, f.to), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"added tool:acme/hello unsigned", `ran success {"hello":"world"}`, "refused a changed one; try: ", "refused a robot: denied"} {
		if !strings.Contains(strings.ReplaceAll(string(out), `": "`, `":"`), want) {
			t.Errorf("the program does not say %q:\n%s", want, out)
		}
	}
}
