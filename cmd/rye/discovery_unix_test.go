//go:build unix

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Which directory is the project, and where its record lies, where that is less plain than
// in a home with one disk (docs/format/record.md, "What happens when").

// in returns a command that runs in a directory, with variables set or, with "NAME", not.
func (h *home) in(dir string, vars []string, args ...string) *exec.Cmd {
	cmd := h.command(args...)
	cmd.Dir, cmd.Env = dir, nil
	unset := map[string]bool{}
	for _, v := range vars {
		name, _, _ := strings.Cut(v, "=")
		unset[name] = true
	}
	for _, kv := range h.env {
		if name, _, _ := strings.Cut(kv, "="); !unset[name] {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	for _, v := range vars {
		if strings.Contains(v, "=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// says runs a command, wants its status, and wants what it prints to contain something.
func says(t *testing.T, cmd *exec.Cmd, exit int, want string) string {
	t.Helper()
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != exit || !strings.Contains(string(out), want) {
		t.Errorf("%s in %s: status %d, want %d and %q\n%s", strings.Join(cmd.Args[1:], " "), cmd.Dir, got, exit, want, out)
	}
	return string(out)
}

func TestHomeIsNoProject(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	deep := filepath.Join(h.dir, "a", "home", "b")
	must(t, os.MkdirAll(deep, 0o755))
	config := "XDG_CONFIG_HOME=" + filepath.Join(filepath.Dir(h.dir), "home", ".config")
	// HOME=$PWD: what stands there is no project, and nothing there is believed.
	says(t, h.in(h.dir, []string{"HOME=" + h.dir}, "status"), 6, "lies in the project")
	says(t, h.in(h.dir, []string{"HOME=" + h.dir, config}, "status"), 3, "is never a project")
	says(t, h.in(h.dir, []string{"HOME=" + h.dir, config}, "init"), 2, "holds your user space")
	// HOME below the project: the search ends there. Above it the project is one, but
	// neither its record nor what is believed may lie in it.
	inside := []string{"HOME=" + filepath.Dir(deep)}
	says(t, h.in(filepath.Join(h.dir, "a"), inside, "status"), 6, "lies in the project")
	inside = append(inside, config)
	says(t, h.in(deep, inside, "status"), 3, "the home directory "+filepath.Dir(deep)+" is never a project")
	says(t, h.in(filepath.Join(h.dir, "a"), inside, "status"), 0, "")
	says(t, h.in(filepath.Join(h.dir, "a"), inside, "where"), 0, "none: ")
}

// TestWithoutHome: in a container without HOME the directories of the user's are nowhere,
// and not in the working directory, where the clone has files of their names.
func TestWithoutHome(t *testing.T) {
	t.Parallel()
	needBash(t)
	eve, h := newHome(t), newHome(t)
	eve.signed(toolFile, toolRef, attackTool)
	config := filepath.Join(filepath.Dir(eve.dir), "home", ".config", "rye")
	must(t, os.CopyFS(eve.dir, os.DirFS(config))) // keys and trust.yaml that believe Eve
	eve.write("policy.yaml", "policy: 1\nallow_legacy: true\n")
	before := everyFile(t, eve.dir)
	for _, vars := range [][]string{{"HOME", "XDG_CONFIG_HOME"}, {"HOME=."}, {"HOME=relative"}, {"HOME", "XDG_CONFIG_HOME=.", "XDG_DATA_HOME=.", "XDG_CACHE_HOME=.", "XDG_STATE_HOME=."}} {
		for _, args := range [][]string{{"execute", toolRef}, {"sign", toolRef}, {"key", "new", "x"}, {"status"}} {
			says(t, h.in(eve.dir, vars, args...), 6, "no configuration directory")
		}
		for _, args := range [][]string{{"where"}, {"verify"}, {"doctor"}, {"gc"}, {"init"}, {"lock"}, {"trust", "list"}, {"policy", "log"}, {"fsck"}} {
			cmd := h.in(eve.dir, vars, args...)
			if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "this is a bug") {
				t.Errorf("%s: %s", args, out)
			}
		}
		if after := everyFile(t, eve.dir); after != before {
			t.Errorf("with %v:\n%s", vars, changed(before, after))
			before = after
		}
	}
}

// TestMounts: the search for a project ends where another file system begins, and one
// directory under two paths is said to be one.
func TestMounts(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	h := newHome(t)
	h.write(".ai/knowledge/acme/notes.md", attackNote)
	h.rye("sign", "knowledge:acme/notes")
	sub, other := filepath.Join(h.dir, "disk"), filepath.Join(filepath.Dir(h.dir), "other")
	must(t, os.Mkdir(sub, 0o755))
	must(t, os.Mkdir(other, 0o755))
	mounted := func(script string) (string, error) {
		cmd := exec.Command("unshare", "-m", "sh", "-c", script, "sh", program("rye"), h.dir, sub, other)
		cmd.Env = h.env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := mounted(`mount -t tmpfs none "$3"`); err != nil {
		t.Skipf("cannot mount: %v %s", err, out)
	}
	if out, err := mounted(`mount -t tmpfs none "$3" && mkdir "$3/x" && cd "$3/x" && "$1" status`); err == nil || !strings.Contains(out, "another file system is mounted at "+sub) {
		t.Errorf("on another disk: %v\n%s", err, out)
	}
	if out, err := mounted(`mount -t tmpfs none "$3" && mkdir "$3/x" && "$1" init "$3/x" && cd "$3/x" && "$1" status`); err != nil {
		t.Errorf("a project on another disk: %v\n%s", err, out)
	}
	out, err := mounted(`mount --bind "$2" "$4" && cd "$4" && "$1" status && "$1" where --all`)
	if err != nil || !strings.Contains(out, h.dir+", this directory under another path") {
		t.Errorf("by two paths: %v\n%s", err, out)
	}
}

// TestDirectoriesOfOthers: a data directory that somebody else could change is not used,
// and that is said; a configuration directory like that is refused.
func TestDirectoriesOfOthers(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.signed(toolFile, toolRef, attackTool)
	data := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(data, 0o755))
	use := []string{"XDG_DATA_HOME=" + data}
	says(t, h.in(h.dir, []string{"XDG_DATA_HOME=relative"}, "where"), 0, filepath.Join(".local", "share", "rye")) // as if it were not set
	must(t, os.Chmod(data, 0o777))
	says(t, h.in(h.dir, use, "where"), 0, "none: others may write")
	says(t, h.in(h.dir, use, "execute", toolRef), 0, "it ran")
	must(t, os.Chmod(data, 0o777|os.ModeSticky)) // as /tmp: nobody else can exchange what is mine
	says(t, h.in(h.dir, use, "where"), 0, filepath.Join(data, "rye"))
	says(t, h.in(h.dir, []string{"XDG_DATA_HOME=" + h.dir}, "where"), 0, "none: ")
	if os.Geteuid() == 0 {
		must(t, os.Chmod(data, 0o755))
		must(t, os.Chown(data, 61_238, 61_238))
		says(t, h.in(h.dir, use, "where"), 0, "none: "+data+" belongs to user 61238")
		says(t, h.in(h.dir, use, "verify"), 0, "")
		says(t, h.in(h.dir, []string{"XDG_CONFIG_HOME=" + data}, "status"), 6, "belongs to user 61238")
	}
	if left, _ := filepath.Glob(filepath.Join(data, "rye", "*")); len(left) > 0 {
		t.Errorf("a directory that is not to be used was written to: %v", left)
	}
}

// TestReadOnlyCheckout: a checkout that cannot be written, as on a build machine, is looked
// at and run; the record lies elsewhere and can be made.
func TestReadOnlyCheckout(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	must(t, os.RemoveAll(filepath.Join(h.dir, ".ai")))
	h.ordinary()
	h.rye("init", "--namespace", "acme")
	h.write(toolFile, attackTool)
	h.ordinary()
	h.rye("sign", "--all")
	h.rye("lock")
	freeze := func(mode os.FileMode) {
		must(t, filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, mode)
			}
			return err
		}))
	}
	freeze(0o555)
	defer freeze(0o755)
	for _, args := range [][]string{{"status"}, {"verify"}, {"list"}, {"lock", "verify"}, {"fsck"}, {"log"}, {"where"}, {"gc"}, {"sign", "--check", "--all"}} {
		says(t, h.in(h.dir, nil, args...), 0, "")
	}
	says(t, h.in(h.dir, nil, "execute", toolRef, "--locked"), 0, "it ran")
	says(t, h.in(h.dir, nil, "new", "knowledge", "acme/more"), 1, "permission denied")
}

// TestCaseInsensitiveNames: where the file system ignores case, one directory has one
// record. Linux has such folders too (chattr +F), where two spellings are two records.
func TestCaseInsensitiveNames(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	upper := filepath.Join(filepath.Dir(h.dir), strings.ToUpper(filepath.Base(h.dir)))
	if _, err := os.Stat(upper); err != nil {
		t.Skip("names differ in case here")
	}
	cmd := h.in(upper, nil, "where", "record")
	if out := says(t, cmd, 0, ""); strings.TrimSpace(out) != h.store() {
		t.Errorf("by another spelling: %s, want %s", out, h.store())
	}
}

// TestSudo: root has another record than the user whose project it is.
func TestSudo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root is somebody else")
	}
	h := newHome(t)
	mine := h.store()
	h.ordinary()
	theirs := says(t, h.in(h.dir, nil, "where", "record"), 0, "records")
	if strings.TrimSpace(theirs) == mine {
		t.Error("root and an ordinary user have one record")
	}
	h.as = nil
	for _, vars := range [][]string{nil, {fmt.Sprintf("SUDO_UID=%d", nobody)}} {
		cmd := h.in(h.dir, vars, "status")
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() == 1 {
			t.Errorf("sudo rye status with %v:\n%s", vars, out)
		}
	}
}

// TestWorktrees: a worktree of the user's git is a directory of its own.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	git := h2git(t)
	h := newHome(t)
	h.write(".ai/knowledge/acme/notes.md", attackNote)
	h.rye("sign", "knowledge:acme/notes")
	tree := filepath.Join(filepath.Dir(h.dir), "tree")
	git(h.dir, "init", "-q")
	git(h.dir, "add", "-A")
	git(h.dir, "commit", "-qm", "x")
	git(h.dir, "worktree", "add", "-q", tree)
	if out := says(t, h.in(tree, nil, "where", "record"), 0, "records"); strings.TrimSpace(out) == h.store() {
		t.Error("a worktree has the record of the main one")
	}
	says(t, h.in(tree, nil, "where"), 0, h.dir) // the sibling
}

// h2git returns what runs git as somebody, and skips where there is none.
func h2git(t *testing.T) func(dir string, args ...string) {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on PATH")
	}
	return func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command(path, append([]string{"-c", "user.name=A", "-c", "user.email=a@a", "-c", "safe.directory=*", "-c", "advice.detachedHead=false"}, args...)...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
