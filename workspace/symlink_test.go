package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// TestProjectThroughALink: a project that is entered through a symbolic link is
// the same project: its tool reads it, writes it, and is kept from the same.
func TestProjectThroughALink(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	for _, name := range []string{"out/kept", ".git/config", "data"} {
		p.file(name, "old\n")
	}
	p.write("tools/acme/work.sh", `# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# description: Reads and writes the project, and tries what is kept from it
cat data && echo new >out/made && echo read and written
for f in .git/config .git/new .ai/rye.yaml .ai/tools/acme/work.sh .ai/new; do
	if (echo evil >>"$f") 2>/dev/null; then echo "BROKEN $f"; fi
done
`)
	p.sign("tool:acme/work")
	real, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	up := t.TempDir()
	link := filepath.Join(up, "link")
	if err := os.Symlink(filepath.Dir(real), filepath.Join(up, "parent")); err != nil {
		t.Skip("symbolic links are not allowed here: ", err)
	}
	if err := os.Symlink(filepath.Join(up, "parent", filepath.Base(real)), link); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(up, "home")
	if err := os.Symlink(p.home, home); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"the project": real, "a link": link, "below a link": filepath.Join(up, "parent", filepath.Base(real))} {
		for _, base := range []string{p.home, home} {
			p.o.User, p.o.ConfigDir, p.o.StateDir, p.o.CacheDir, p.o.DataDir = base, base+"/config", base+"/state", base+"/cache", base+"/data"
			p.enter(dir)
			os.Remove(filepath.Join(real, "out", "made"))
			res, err := p.run("tool:acme/work", nil)
			wantCode(t, name, err, fault.Code(""))
			if err != nil {
				continue
			}
			out := stdout(t, res)
			if res.Metadata.Sandbox == "S2" && strings.Contains(out, "BROKEN") || !strings.Contains(out, "read and written") {
				t.Errorf("%s (%s): %s printed %s%s", name, base, res.Metadata.Sandbox, out, res.Data)
			}
			if made, err := os.ReadFile(filepath.Join(real, "out", "made")); string(made) != "new\n" {
				t.Errorf("%s: made %q, %v", name, made, err)
			}
		}
	}
}
