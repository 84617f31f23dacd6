package store

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gitBin is the git program; "" when there is none.
var gitBin, _ = exec.LookPath("git")

func needGit(t testing.TB) {
	t.Helper()
	if gitBin == "" {
		t.Skip("no git program on PATH to compare with")
	}
}

// gitEnv is the environment of the git programs that tests run: no configuration
// of the machine or of its user, a fixed identity.
func gitEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "HOME="+os.DevNull,
		"GIT_AUTHOR_NAME=Git", "GIT_AUTHOR_EMAIL=git@example.org", "GIT_COMMITTER_NAME=Git", "GIT_COMMITTER_EMAIL=git@example.org",
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
}

// tryGit runs git in dir and returns what it printed.
func tryGit(dir string, stdin []byte, args ...string) (string, error) {
	cmd := exec.Command(gitBin, args...)
	cmd.Dir, cmd.Env = dir, gitEnv()
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		return out.String() + errs.String(), err
	}
	return out.String(), nil
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, nil, args...)
}

func gitIn(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, stdin, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// fsck fails the test unless git fsck --strict has nothing to say.
func fsck(t testing.TB, dir string) {
	t.Helper()
	if gitBin == "" {
		return
	}
	cmd := exec.Command(gitBin, "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
	cmd.Dir, cmd.Env = dir, gitEnv()
	out, err := cmd.CombinedOutput()
	var bad []string
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if line != "" && !strings.HasPrefix(line, "notice:") {
			bad = append(bad, line)
		}
	}
	if err != nil || len(bad) > 0 {
		t.Fatalf("git fsck: %v\n%s", err, strings.Join(bad, "\n"))
	}
}

const testHead = "refs/heads/spaces/project"

func newRepo(t testing.TB) *Repo { return newRepoFormat(t, SHA1) }

func newRepoFormat(t testing.TB, f Format) *Repo {
	t.Helper()
	r, err := InitFormat(filepath.Join(t.TempDir(), "store.git"), testHead, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func reopen(t testing.TB, r *Repo) *Repo {
	t.Helper()
	n, err := Open(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// opts are commit options with the message msg.
func opts(msg string) CommitOptions {
	return CommitOptions{Message: msg + "\n", Author: Ident{"Ann", "ann@example.org"}, When: testTime}
}

func mustEdit(t testing.TB, r *Repo, msg string, changes ...Change) OID {
	t.Helper()
	id, err := r.Edit(t.Context(), testHead, changes, opts(msg))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func put(path, data string) Change { return Change{Path: path, Data: []byte(data)} }
