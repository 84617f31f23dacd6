package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// A gitHost is a server of git with an empty repository, and what a person's machine needs
// to reach it.
type gitHost struct {
	url  string
	repo string   // its directory, "" where it is out of reach
	env  []string // of everybody who speaks with it
	set  [][2]string
}

// needGit skips where there is no git, and returns the directory of its programs.
func needGit(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no git here whose servers could be asked")
	}
	return strings.TrimSpace(string(out))
}

// bareRepo makes root/name as a host makes it, with settings (section.key=value).
func bareRepo(t testing.TB, root, name string, settings ...string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	config := testkit.ReadFile(t, filepath.Join(dir, "config"))
	for _, kv := range append([]string{"http.receivepack=true"}, settings...) {
		section, rest, _ := strings.Cut(kv, ".")
		key, value, _ := strings.Cut(rest, "=")
		config += fmt.Sprintf("[%s]\n\t%s = %s\n", section, key, value) // git config would be a process for each
	}
	testkit.WriteFile(t, filepath.Join(dir, "config"), config, 0o644)
	return dir
}

// backend serves root by git http-backend; version 0 of the protocol only where old.
func backend(t testing.TB, root string, old bool) http.Handler {
	path := filepath.Join(needGit(t), "git-http-backend")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		env := []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + root}
		if !old {
			env = append(env, "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
		}
		r.TransferEncoding = nil // net/http/cgi refuses what it notices
		testkit.GitBackend(w, r, path, "/git", env)
	})
}

// person is somebody who uses a host.
func (g *gitHost) person(t testing.TB, namespace string) *home {
	h := newHome(t).with(append([]string{"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_SSL_CAINFO=", "GIT_SSH_COMMAND="}, g.env...)...)
	h.write(".ai/rye.yaml", strings.Replace(h.read(".ai/rye.yaml"), "namespace: acme", "namespace: "+namespace, 1))
	for _, kv := range g.set {
		h.rye("config", kv[0], kv[1])
	}
	return h
}

// journey is everything that people do with a registry, on one host. It returns what took
// how long.
func (g *gitHost) journey(t *testing.T) (steps []string) {
	t.Helper()
	alice, bob := g.person(t, "acme"), g.person(t, "local")
	last := time.Now()
	step := func(name string, h *home, args ...string) string {
		t.Helper()
		out := h.rye(args...)
		steps = append(steps, fmt.Sprintf("%s %dms", name, time.Since(last).Milliseconds()))
		last = time.Now()
		return out
	}
	alice.publishable("a", 0)
	alice.publishable("b", 0)
	last = time.Now()
	step("init", alice, "registry", "init", g.url, "--yes")
	if out := step("push", alice, "push", "--all"); strings.Count(out, "published") != 2 {
		t.Fatalf("push: %s", out)
	}
	step("add registry", bob, "registry", "add", g.url, "--yes")
	step("add", bob, "add", "acme/knowledge/a", "--yes")
	alice.publishable("a", 1)
	step("push again", alice, "push", "--all")
	step("update", bob, "update", "--yes")
	if lock := bob.read(".ai/rye.lock"); !strings.Contains(lock, "1.0.1") {
		t.Errorf("update: the lock names no 1.0.1:\n%s", lock)
	}
	step("mark", alice, "deprecate", "acme/knowledge/b@1.0.0", "--reason", "there is a better one")
	if out := step("members", alice, "registry", "members", "acme"); !strings.Contains(out, "SHA256:") {
		t.Errorf("members: %s", out)
	}
	step("checkpoint", alice, "registry", "checkpoint", "acme", "--yes")
	step("rebuild", alice, "registry", "rebuild", "acme", "--yes")
	if out := step("verify", bob, "registry", "verify"); !strings.Contains(out, "3 versions") {
		t.Errorf("verify: %s", out)
	}
	step("fetch", bob, "fetch")
	bob.rye("load", "knowledge:acme/a")
	if g.repo != "" {
		fsck(t, g.repo)
	}
	return steps
}

func fsck(t testing.TB, repo string) {
	t.Helper()
	out, err := exec.Command("git", "-C", repo, "fsck", "--strict", "--no-dangling").CombinedOutput()
	if err != nil || strings.Contains(string(out), "error") {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// TestGitHosts: the whole journey on git http-backend, as new and as old and narrow as hosts
// are: one that speaks version 0 only, with and without filters, with and without wants by
// id, and one that takes no chunks.
func TestGitHosts(t *testing.T) {
	t.Parallel()
	needGit(t)
	rows := []struct {
		name     string
		old      bool
		settings []string
		soak     bool
	}{
		{"version 0, filters, no ids", true, []string{"uploadpack.allowFilter=true"}, false},
		{"version 2", false, []string{"uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true"}, true},
		{"version 2, nothing allowed", false, nil, true},
		{"version 0, nothing allowed", true, nil, true},
		{"version 0, everything", true, []string{"uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true"}, true},
		{"version 0, ids", true, []string{"uploadpack.allowAnySHA1InWant=true"}, true},
		{"version 0, reachable ids", true, []string{"uploadpack.allowReachableSHA1InWant=true"}, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.soak && !soak {
				t.Skip("RYE_SOAK")
			}
			root := t.TempDir()
			g := &gitHost{repo: bareRepo(t, root, "reg.git", row.settings...)}
			s := httptest.NewServer(backend(t, root, row.old))
			t.Cleanup(s.Close)
			g.url = s.URL + "/reg.git"
			t.Log(strings.Join(g.journey(t), ", "))
		})
	}
}

// signedRule is a hook as a forge's rule "require signed commits": every commit of the root
// and of the log, and of the merges of the content, must verify, with a key of the person
// whose address it names.
const signedRule = `#!/bin/sh
while read old new ref; do
  range=$new; case $old in *[!0]*) range=$old..$new;; esac
  case $ref in
  refs/heads/main|refs/heads/ns/*) list=$(git rev-list $range);;
  *) list=$(git rev-list --merges --first-parent $range);;
  esac
  for c in $list; do
    git -c gpg.ssh.allowedSignersFile=SIGNERS verify-commit $c || { echo "commit $c must have a verified signature" >&2; exit 1; }
    test "$(git -c gpg.ssh.allowedSignersFile=SIGNERS log -1 --format=%GS $c)" = "$(git log -1 --format=%ce $c)" || { echo "commit $c is signed by somebody else than its committer: not verified" >&2; exit 1; }
  done
done
`

// TestSignedCommitsRule: a host that requires signed commits of people that it knows is
// satisfied once the person says which address it knows; before, the refusal says so.
func TestSignedCommitsRule(t *testing.T) {
	t.Parallel()
	needGit(t)
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("git needs ssh-keygen to verify")
	}
	root := t.TempDir()
	g := &gitHost{repo: bareRepo(t, root, "reg.git")}
	s := httptest.NewServer(backend(t, root, false))
	t.Cleanup(s.Close)
	g.url = s.URL + "/reg.git"
	h := g.person(t, "acme")
	signers := filepath.Join(t.TempDir(), "signers")
	var key struct{ SSH string }
	list := strings.SplitN(h.rye("key", "list", "--json"), "\n", 2)[0]
	if err := json.Unmarshal([]byte(list), &key); err != nil || !strings.HasPrefix(key.SSH, "ssh-ed25519 ") {
		t.Fatalf("%v: %s", err, list)
	}
	if err := os.WriteFile(signers, []byte("ada@example.org "+key.SSH+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(g.repo, "hooks", "pre-receive")
	if err := os.WriteFile(hook, []byte(strings.ReplaceAll(signedRule, "SIGNERS", signers)), 0o755); err != nil {
		t.Fatal(err)
	}
	h.publishable("a", 0)
	out := h.fails(16, "registry", "init", g.url, "--yes")
	if !strings.Contains(out, "not verified") || !strings.Contains(out, "rye config author.email") {
		t.Errorf("the refusal: %s", out)
	}
	h.rye("config", "author.email", "ada@example.org")
	h.rye("registry", "init", g.url, "--yes")
	h.rye("push", "--all")
	h.publishable("a", 1)
	h.rye("push", "--all")
	h.rye("deprecate", "acme/knowledge/a@1.0.0", "--reason", "old")
	h.rye("registry", "checkpoint", "acme", "--yes")
	h.rye("registry", "verify")
}

// cutter is a proxy on loopback that ends every connection after so many bytes, counted in
// both directions; below zero it ends none.
type cutter struct {
	addr  string
	left  atomic.Int64
	moved atomic.Int64
	cuts  atomic.Int64 // connections that were ended
}

func newCutter(t testing.TB, to string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &cutter{addr: l.Addr().String()}
	c.left.Store(-1)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			limit := c.left.Load()
			go c.pipe(in, out, limit)
			go c.pipe(out, in, limit)
		}
	}()
	return c
}

// pipe copies until the limit, then ends both with a reset, as a machine that dies does.
func (c *cutter) pipe(from, to net.Conn, limit int64) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		c.moved.Add(int64(n))
		if limit >= 0 {
			if left := c.left.Add(int64(-n)); left < 0 {
				c.cuts.Add(1)
				to.Write(buf[:max(0, int64(n)+left)])
				from.(*net.TCPConn).SetLinger(0)
				return
			}
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestCutConnections: push, add, update and fetch through connections that end after any
// number of bytes, and rye killed in between. What is run next needs no repair: nothing is
// half trusted, and what was published is there once.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	needGit(t)
	rounds := 2
	if soak {
		rounds = 40
	}
	root := t.TempDir()
	g := &gitHost{repo: bareRepo(t, root, "reg.git", "uploadpack.allowFilter=true")}
	s := httptest.NewServer(backend(t, root, false))
	t.Cleanup(s.Close)
	c := newCutter(t, s.Listener.Addr().String())
	g.url = "http://" + c.addr + "/reg.git"
	alice, bob := g.person(t, "acme"), g.person(t, "local")
	alice.publishable("a", 0)
	alice.rye("registry", "init", g.url, "--yes")
	alice.rye("push", "--all")
	bob.rye("registry", "add", g.url, "--yes")
	bob.rye("add", "acme/knowledge/a", "--yes")
	failed := 0
	cut := func(h *home, most int64, kill time.Duration, args ...string) {
		t.Helper()
		c.left.Store(most)
		cmd := h.command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(kill, func() { cmd.Process.Kill() })
		if cmd.Wait() != nil {
			failed++
		}
		timer.Stop()
		c.left.Store(-1)
	}
	for i := range rounds {
		patch := i + 1
		alice.publishable("a", patch)
		c.moved.Store(0)
		before := strings.Count(alice.rye("registry", "log", "acme"), "\n")
		cut(alice, int64(1500+7919*i%24_000), time.Duration(120+61*i%900)*time.Millisecond, "push", "--all")
		alice.rye("push", "--all") // published it, or finds it there
		if n := strings.Count(alice.rye("registry", "log", "acme"), "\n"); n != before+1 {
			t.Fatalf("round %d: %d operations after one more version, want %d", i, n, before+1)
		}
		cut(bob, int64(900+6367*i%16_000), time.Duration(90+53*i%700)*time.Millisecond, "update", "--yes")
		bob.rye("load", "knowledge:acme/a") // the old one or the new one, verified
		bob.rye("lock", "verify")
		cut(bob, int64(400+4111*i%9_000), time.Minute, "fetch")
		bob.rye("update", "--yes")
		if lock := bob.read(".ai/rye.lock"); !strings.Contains(lock, fmt.Sprintf("1.0.%d", patch)) {
			t.Fatalf("round %d: the lock is not at 1.0.%d:\n%s", i, patch, lock)
		}
	}
	if c.cuts.Load() == 0 {
		t.Error("nothing was cut: the test proves nothing")
	}
	bob.rye("registry", "verify")
	fsck(t, g.repo)
	t.Logf("%d connections were cut, %d of %d commands failed or were killed", c.cuts.Load(), failed, 3*rounds)
}

// TestCredentialsStay: a token reaches the host and nothing else: no program's arguments, no
// file, no output, by any way in which it is known.
func TestCredentialsStay(t *testing.T) {
	t.Parallel()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	needGit(t)
	const secret = "sesame-4c81f0"
	root, dir := t.TempDir(), t.TempDir()
	behind := backend(t, root, false)
	var in atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != secret {
			w.Header().Set("WWW-Authenticate", "Basic realm=git")
			http.Error(w, "who are you, "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		in.Add(1)
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	said := filepath.Join(dir, "said") // the arguments and variables of every git that is started
	os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n{ echo \"$0 $*\"; env; } >>"+said+"\nexec "+real+" \"$@\"\n"), 0o755)
	helper := filepath.Join(dir, "helper")
	os.WriteFile(helper, []byte("#!/bin/sh\necho username=ada\necho password="+secret+"\n"), 0o755)
	gitconfig := filepath.Join(dir, "gitconfig")
	netrc := filepath.Join(dir, "netrc")
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for name, known := range map[string]struct{ env, gitconfig, netrc string }{
		"token":     {env: "RYE_TOKEN_127_0_0_1___" + port + "=" + secret},
		"netrc":     {netrc: "machine 127.0.0.1 login ada password " + secret + "\n"},
		"helper":    {gitconfig: "[credential]\n\thelper = " + helper + "\n"},
		"insteadOf": {gitconfig: "[url \"http://ada:" + secret + "@127.0.0.1:" + port + "/\"]\n\tinsteadOf = http://127.0.0.1:" + port + "/\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if !soak && (name == "token" || name == "netrc") {
				t.Skip("RYE_SOAK")
			}
			os.Remove(said)
			in.Store(0)
			os.WriteFile(gitconfig, []byte(known.gitconfig), 0o600)
			os.WriteFile(netrc, []byte(known.netrc), 0o600)
			repo := strings.ToLower(name) + ".git"
			g := &gitHost{url: s.URL + "/" + repo, repo: bareRepo(t, root, repo), env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + gitconfig, "NETRC=" + netrc, known.env}}
			h := g.person(t, "acme")
			h.publishable("a", 0)
			var out strings.Builder
			for _, args := range [][]string{{"registry", "init", g.url, "--yes", "--json"}, {"push", "--all", "--json"}, {"fetch", "--json"}, {"registry", "list", "--json"}, {"config", "--json"},
				{"doctor", "--json"}, {"registry", "add", s.URL + "/none.git", "--name", "none", "--yes"}, {"registry", "log", "acme", "--json"}} {
				text, _ := h.status(args...)
				out.WriteString(text)
			}
			if in.Load() == 0 {
				t.Fatalf("nobody came in: the test proves nothing\n%s", out.String())
			}
			if strings.Contains(out.String(), secret) {
				t.Errorf("printed:\n%s", out.String())
			}
			calls, _ := os.ReadFile(said)
			if strings.Contains(string(calls), secret) {
				t.Errorf("handed to git:\n%s", calls)
			}
			for _, top := range []string{filepath.Dir(h.dir), g.repo} {
				filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
					if err == nil && d.Type().IsRegular() {
						if raw, _ := os.ReadFile(path); strings.Contains(string(raw), secret) {
							t.Errorf("written into %s", path)
						}
					}
					return nil
				})
			}
		})
	}
}
