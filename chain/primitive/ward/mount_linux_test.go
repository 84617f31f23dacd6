package ward

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnderMounts does with real mounts what the cage does: a process in a mount namespace
// of its own, in which all that is protected is read-only, attacks, while somebody outside
// replaces a file that is covered.
func TestUnderMounts(t *testing.T) {
	if exec.Command("unshare", "-m", "true").Run() != nil {
		t.Skip("mount namespaces cannot be made here")
	}
	dir := project(t, append(gitDir("sub/.git"), ".envrc", ".mcp.json", "AGENTS.md", "doc/GEMINI.md", "doc/CLAUDE.md", ".vscode/tasks.json", "sub/src", ".git/HEAD", ".git/config", ".git/hooks/a.sample", ".git/objects/", ".git/refs/")...)
	settle(t)
	o := Options{Project: dir, Write: []string{filepath.Join(dir, ".git")}}
	w := look(t, o)
	w.Excuse(Excuses{Held: true, Git: true})
	w.Watch()
	var b strings.Builder
	for _, m := range w.Protected() {
		fmt.Fprintf(&b, "mount --bind '%s' '%[1]s'; mount -o remount,bind,ro '%[1]s'\n", m.Path)
	}
	b.WriteString(`
		denied() { if sh -c "$1" 2>/dev/null; then echo "WORKED: $1"; fi; }
		for f in .envrc .vscode/tasks.json .vscode/new sub/.git/HEAD sub/.git/hooks .git/config .git/hooks/pre-commit; do denied "echo x >$f"; done
		denied 'mv .vscode v2'; denied 'mv sub/.git g2'; denied 'rm .envrc'; denied 'ln .envrc e2'; denied 'ln sub/.git/HEAD h2'; denied 'mv .git/hooks .git/h2'; denied 'mv new .git/config'
		echo ready; read go
		echo evil >.envrc || echo "the mount is still there"
		echo evil >e; mv e AGENTS.md || echo "the mount is still there"
		echo evil >e; ln -f e doc/CLAUDE.md || echo "the mount is still there"
		mv sub s2; mkdir -p sub/.git/hooks; echo x >.git/index; echo x >.git/commondir
		echo done`)
	cmd := exec.Command("unshare", "-m", "sh", "-c", b.String())
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "done" {
		if lines.Text() != "ready" {
			t.Error(lines.Text())
			continue
		}
		for _, name := range []string{".envrc", ".mcp.json", "AGENTS.md", "doc/GEMINI.md", "doc/CLAUDE.md"} { // an editor of the user saves
			put(t, dir, name+"~")
			if err := os.Rename(filepath.Join(dir, name+"~"), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintln(in, "go")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var gone []string
	for _, name := range []string{".envrc", ".mcp.json", "AGENTS.md", "doc/GEMINI.md", "doc/CLAUDE.md", "sub/.git"} {
		gone = append(gone, filepath.Join(dir, name))
	}
	taken, err := w.After(context.Background(), gone, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range taken {
		names = append(names, k.Path)
	}
	equal(t, "taken", names, []string{".envrc", "AGENTS.md", "doc/CLAUDE.md", "sub/.git", ".git/commondir"})
}
