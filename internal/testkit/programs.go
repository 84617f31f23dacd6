package testkit

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// NeedProgram returns the path of a program, or skips the test.
func NeedProgram(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// Git runs git in a directory, without the user's configuration, and returns its output without
// the final line end. It skips the test where git is not installed.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(NeedProgram(t, "git"), append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "HOME=" + t.TempDir(), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return strings.TrimRight(string(out), "\n")
}

// OnBranch commits the files below a directory, calls change, commits its result on another
// branch, and checks out both branches in turn, so that git writes the changed files. Where git
// is not installed it only calls change.
func OnBranch(t testing.TB, dir string, change func()) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		change()
		return
	}
	git := func(args ...string) {
		t.Helper()
		Git(t, dir, append([]string{"-c", "core.hooksPath=" + os.DevNull}, args...)...)
	}
	git("init", "--quiet", "--initial-branch=main")
	git("add", "--all")
	git("commit", "--quiet", "--message=mine")
	git("checkout", "--quiet", "-b", "theirs")
	change()
	git("add", "--all")
	git("commit", "--quiet", "--message=theirs")
	git("checkout", "--quiet", "main")
	git("checkout", "--quiet", "theirs")
}

// Serve serves HTTP on loopback until the test ends, and returns the address.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}
