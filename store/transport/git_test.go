package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
)

// git is the peer: it runs with an environment of its own and no configuration
// of the machine.
type git struct {
	t    testing.TB
	dir  string
	home string
	env  []string
}

func newGit(t testing.TB) *git {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	home := t.TempDir()
	return &git{t: t, dir: home, home: home, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=1700000000 +0000",
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
	}}
}

func (g *git) in(dir string) *git { h := *g; h.dir = dir; return &h }

func (g *git) cmd(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	g.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, "git", append([]string{"-c", "init.defaultBranch=main", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	c.Dir, c.Env = g.dir, g.env
	return c
}

// try runs git and returns what it prints on both streams.
func (g *git) try(args ...string) (string, error) {
	out, err := g.cmd(args...).CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}

func (g *git) run(args ...string) string {
	g.t.Helper()
	out, err := g.try(args...)
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// fsck checks the repository with git's own, strict check.
func (g *git) fsck() {
	g.t.Helper()
	for line := range strings.Lines(g.run("fsck", "--strict", "--no-dangling")) {
		if !strings.HasPrefix(line, "notice: ") {
			g.t.Errorf("git fsck: %s", line)
		}
	}
}

// oid runs git and parses its output as an id.
func (g *git) oid(args ...string) store.OID {
	g.t.Helper()
	id, err := store.ParseOID(g.run(args...))
	if err != nil {
		g.t.Fatal(err)
	}
	return id
}

// bare makes a bare repository root/name with n commits of one file each on
// main, a tag and a branch, and returns its path.
func (g *git) bare(root, name string, n int) string {
	g.t.Helper()
	dir := filepath.Join(root, name)
	g.run("init", "-q", "--bare", dir)
	b := g.in(dir)
	b.run("config", "http.receivepack", "true")
	b.run("config", "uploadpack.allowFilter", "true")
	b.run("config", "uploadpack.allowAnySHA1InWant", "true")
	if n == 0 {
		return dir
	}
	c := b.cmd("fast-import", "--quiet")
	c.Stdin = strings.NewReader(fastImport(n))
	if out, err := c.CombinedOutput(); err != nil {
		g.t.Fatalf("fast-import: %v\n%s", err, out)
	}
	b.run("branch", "side", "main")
	b.run("tag", "-a", "-m", "one", "v1", "main")
	return dir
}

// fastImport is the stream of n commits on main, each adding one file.
func fastImport(n int) string {
	var s strings.Builder
	for i := range n {
		body := fmt.Sprintf("item %d\n%s", i, strings.Repeat(fmt.Sprintf("line %d\n", i*7919), 20))
		fmt.Fprintf(&s, "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata 2\nc\n", 1700000000+i)
		fmt.Fprintf(&s, "M 100644 inline d%02d/f%d.txt\ndata %d\n%s\n", i%50, i, len(body), body)
	}
	return s.String()
}

// backend serves root by git http-backend. net/http/cgi refuses bodies of unknown
// length, but hands them on when it does not notice.
func (g *git) backend(root string, v2 bool) *httptest.Server {
	g.t.Helper()
	return g.cgi(root, v2, false)
}

func (g *git) cgi(root string, v2, refuseChunks bool) *httptest.Server {
	g.t.Helper()
	path := g.run("--exec-path") + "/git-http-backend"
	if _, err := os.Stat(path); err != nil {
		g.t.Skip("git http-backend is not installed")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		env := []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + g.home}
		if v2 {
			env = append(env, "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
		}
		if !refuseChunks {
			r.TransferEncoding = nil
		}
		testkit.GitBackend(w, r, path, "/git", env)
	}))
	g.t.Cleanup(s.Close)
	return s
}

// daemon serves root by git daemon and returns its address.
func (g *git) daemon(root string) string {
	g.t.Helper()
	path := g.run("--exec-path") + "/git-daemon"
	if _, err := os.Stat(path); err != nil {
		g.t.Skip("git daemon is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	c := exec.Command(path, "--listen=127.0.0.1", fmt.Sprintf("--port=%d", port), "--base-path="+root, "--export-all",
		"--enable=receive-pack", "--reuseaddr", "--verbose", "--log-destination=stderr", "--timeout=30")
	c.Env = g.env
	errs, err := c.StderrPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	up := bufio.NewScanner(errs)
	for up.Scan() && !strings.Contains(up.Text(), "Ready to rumble") {
	}
	go io.Copy(io.Discard, errs)
	return fmt.Sprintf("git://127.0.0.1:%d", port)
}
