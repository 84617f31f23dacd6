package main_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// peersAsked skips where nobody asked for foreign programs, or one is not there.
func peersAsked(t *testing.T, programs ...string) {
	t.Helper()
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("RYE_PEERS: make peers")
	}
	needGit(t)
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Logf("git host  %-34s SKIPPED  %s is not here (apt-get install openssh-server nginx-light fcgiwrap lighttpd)", t.Name(), p)
			t.SkipNow()
		}
	}
}

// hostLine is what make peers prints of a host.
func hostLine(t *testing.T, name string, steps []string) {
	t.Helper()
	t.Logf("git host  %-34s %-7s %s", name, map[bool]string{true: "FAILED", false: "ok"}[t.Failed()], strings.Join(steps, ", "))
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// child starts a program that serves until it is stopped, or the test is over, and waits
// for its port.
func child(t *testing.T, port int, cmd *exec.Cmd) (stop func()) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, said.String())
		}
	})
	for range 300 {
		if port == 0 {
			return stop
		}
		if c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second); err == nil {
			c.Close()
			return stop
		}
		select {
		case <-ended:
			t.Fatalf("%s ended:\n%s", cmd.Path, said.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen:\n%s", cmd.Path, said.String())
	return stop
}

// ownAuthority makes an authority and a certificate for 127.0.0.1, and returns the files.
func ownAuthority(t *testing.T, dir string) (ca, cert, key string) {
	make := func(name string, c, by *x509.Certificate, k, byKey *ecdsa.PrivateKey) {
		raw, err := x509.CreateCertificate(rand.Reader, c, by, k.Public(), byKey)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(filepath.Join(dir, name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o644)
		der, _ := x509.MarshalECPrivateKey(k)
		os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	caKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "own authority"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	make("ca", root, root, caKey, caKey)
	k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	make("host", &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotBefore: from, NotAfter: to,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, root, k, caKey)
	return filepath.Join(dir, "ca.pem"), filepath.Join(dir, "host.pem"), filepath.Join(dir, "host.key")
}

// TestPeersHostDirectory: a path, and file://.
func TestPeersHostDirectory(t *testing.T) {
	t.Parallel()
	peersAsked(t)
	dir := t.TempDir()
	g := &gitHost{url: filepath.Join(dir, "a.git"), repo: filepath.Join(dir, "a.git")}
	hostLine(t, "directory", g.journey(t))
	g = &gitHost{url: "file://" + filepath.Join(dir, "b.git"), repo: filepath.Join(dir, "b.git")}
	hostLine(t, "file://", g.journey(t))
}

// TestPeersHostDaemon: git daemon.
func TestPeersHostDaemon(t *testing.T) {
	t.Parallel()
	peersAsked(t)
	root, port := t.TempDir(), freePort(t)
	g := &gitHost{url: fmt.Sprintf("git://127.0.0.1:%d/reg.git", port), repo: bareRepo(t, root, "reg.git")}
	child(t, port, exec.Command(filepath.Join(needGit(t), "git-daemon"), "--listen=127.0.0.1", fmt.Sprintf("--port=%d", port),
		"--base-path="+root, "--export-all", "--enable=receive-pack", "--reuseaddr"))
	hostLine(t, "git daemon", g.journey(t))
}

// TestPeersHostNginx: http-backend behind nginx, with TLS of an own authority, HTTP/2 and a
// password; and what it says to bodies that are too large, strangers, and who does not know
// the authority.
func TestPeersHostNginx(t *testing.T) {
	t.Parallel()
	peersAsked(t, "nginx", "fcgiwrap")
	root, dir, port := t.TempDir(), t.TempDir(), freePort(t)
	ca, cert, key := ownAuthority(t, dir)
	sock := filepath.Join(dir, "f.sock")
	f := exec.Command("fcgiwrap", "-s", "unix:"+sock)
	child(t, 0, f)
	for range 100 {
		if _, err := os.Stat(sock); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	conf := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; user root; worker_processes 1;
events { worker_connections 256; }
http { access_log %[1]s/access.log; client_max_body_size 1m; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/t; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
 server { listen 127.0.0.1:%[2]d ssl http2; ssl_certificate %[3]s; ssl_certificate_key %[4]s;
  location / { auth_basic "git"; auth_basic_user_file %[1]s/passwd;
   fastcgi_pass unix:%[5]s; fastcgi_param SCRIPT_FILENAME %[6]s/git-http-backend; fastcgi_param PATH_INFO $uri; fastcgi_param GIT_PROJECT_ROOT %[7]s;
   fastcgi_param GIT_HTTP_EXPORT_ALL 1; fastcgi_param REMOTE_USER $remote_user; fastcgi_param REQUEST_METHOD $request_method; fastcgi_param QUERY_STRING $query_string;
   fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding; fastcgi_param GIT_PROTOCOL $http_git_protocol; } } }
`, dir, port, cert, key, sock, needGit(t), root)
	os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o644)
	os.WriteFile(filepath.Join(dir, "passwd"), []byte("x-access-token:{PLAIN}sesame-81\nada:{PLAIN}sesame-82\n"), 0o644)
	child(t, port, exec.Command("nginx", "-p", dir, "-c", filepath.Join(dir, "conf"), "-e", "stderr"))
	address := fmt.Sprintf("https://127.0.0.1:%d/", port)
	gitconfig := filepath.Join(dir, "gitconfig")
	os.WriteFile(gitconfig, fmt.Appendf(nil, "[http %q]\n\tsslCAInfo = %s\n", address, ca), 0o644)
	token := fmt.Sprintf("RYE_TOKEN_127_0_0_1___%d=", port)
	g := &gitHost{url: address + "reg.git", repo: bareRepo(t, root, "reg.git"), env: []string{"GIT_CONFIG_GLOBAL=" + gitconfig, token + "sesame-81"}}
	steps := g.journey(t)
	log, _ := os.ReadFile(filepath.Join(dir, "access.log"))
	if !strings.Contains(string(log), "HTTP/2.0\" 200") || bytes.Contains(log, []byte("sesame")) {
		t.Errorf("spoken, or told:\n%s", log)
	}
	bareRepo(t, root, "other.git")
	h := g.person(t, "acme")
	h.publishable("a", 0)
	if out := h.with("GIT_CONFIG_GLOBAL=/dev/null").fails(5, "registry", "add", g.url, "--yes"); !strings.Contains(out, "sslCAInfo") {
		t.Errorf("an unknown authority: %s", out)
	}
	if out := h.with(token+"wrong-83").fails(6, "registry", "add", g.url, "--yes"); strings.Contains(out, "wrong-83") {
		t.Errorf("a wrong password: %s", out)
	}
	netrc := filepath.Join(dir, "netrc")
	os.WriteFile(netrc, []byte("machine 127.0.0.1 login ada password sesame-82\n"), 0o600)
	n := h.with(token, "NETRC="+netrc)
	n.rye("registry", "init", address+"other.git", "--yes")
	big := make([]byte, 1<<20)
	rand.Read(big)
	h.write(".ai/knowledge/acme/big.md", fmt.Sprintf("---\nname: big\ntitle: T\nversion: 1.0.0\nentry_type: reference\ncategory: acme\ntags: [a]\n---\n\n%x\n", big))
	h.rye("sign", "knowledge:acme/big")
	if out := n.fails(20, "push", "--all"); !strings.Contains(out, "413") || !strings.Contains(out, "fewer or smaller") {
		t.Errorf("a body that is too large: %s", out)
	}
	hostLine(t, "nginx: TLS, own CA, HTTP/2, password", steps)
}

// TestPeersHostLighttpd: http-backend as a plain CGI program, which is the oldest way.
func TestPeersHostLighttpd(t *testing.T) {
	t.Parallel()
	peersAsked(t, "lighttpd")
	root, dir, port := t.TempDir(), t.TempDir(), freePort(t)
	conf := fmt.Sprintf(`server.modules = ("mod_alias", "mod_cgi", "mod_setenv")
server.document-root = %q
server.port = %d
server.bind = "127.0.0.1"
server.upload-dirs = (%q)
alias.url += ("/git" => %q)
$HTTP["url"] =~ "^/git" { cgi.assign = ("" => "")
 setenv.set-environment = ("GIT_PROJECT_ROOT" => %q, "GIT_HTTP_EXPORT_ALL" => "1", "REMOTE_USER" => "x") }
`, dir, port, dir, filepath.Join(needGit(t), "git-http-backend"), root)
	os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o644)
	child(t, port, exec.Command("lighttpd", "-D", "-f", filepath.Join(dir, "conf")))
	g := &gitHost{url: fmt.Sprintf("http://127.0.0.1:%d/git/reg.git", port), repo: bareRepo(t, root, "reg.git")}
	hostLine(t, "lighttpd: plain CGI", g.journey(t))
}

// TestPeersHostSSH: sshd with keys of its own, reached by the user's own ssh command.
func TestPeersHostSSH(t *testing.T) {
	t.Parallel()
	peersAsked(t, "sshd", "ssh", "ssh-keygen")
	root, dir, port := t.TempDir(), t.TempDir(), freePort(t)
	if os.Getuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755)
	}
	for _, k := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, k)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	public, _ := os.ReadFile(filepath.Join(dir, "user.pub"))
	host, _ := os.ReadFile(filepath.Join(dir, "host.pub"))
	os.WriteFile(filepath.Join(dir, "authorized"), public, 0o600)
	os.WriteFile(filepath.Join(dir, "known"), fmt.Appendf(nil, "[127.0.0.1]:%d %s", port, host), 0o600)
	conf := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nPidFile %[2]s/pid\nAuthorizedKeysFile %[2]s/authorized\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nAcceptEnv GIT_PROTOCOL\n", port, dir)
	os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600)
	sshd, _ := exec.LookPath("sshd")
	child(t, port, exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "conf")))
	command := fmt.Sprintf("ssh -F none -i %[1]s/user -o IdentitiesOnly=yes -o UserKnownHostsFile=%[1]s/known -o StrictHostKeyChecking=yes", dir)
	repo := bareRepo(t, root, "reg.git")
	g := &gitHost{url: fmt.Sprintf("ssh://127.0.0.1:%d%s", port, repo), repo: repo, env: []string{"GIT_SSH_COMMAND=" + command}}
	steps := g.journey(t)
	h := g.person(t, "acme")
	if out := h.with("GIT_SSH_COMMAND="+strings.Replace(command, "/known", "/none", 1)).fails(6, "registry", "add", g.url, "--yes"); !strings.Contains(out, "check the host's key") {
		t.Errorf("an unknown host: %s", out)
	}
	if out := h.fails(3, "registry", "add", g.url+"x", "--yes"); !strings.Contains(out, "does not appear to be") {
		t.Errorf("no repository: %s", out)
	}
	hostLine(t, "sshd, by GIT_SSH_COMMAND", steps)
}

// gitea is a forge that runs, and its two people: ada holds the repository, bob may write.
type gitea struct {
	t       *testing.T
	program string
	work    string
	port    int
	as      *syscall.SysProcAttr
	tokens  map[string]string
	stop    func()
}

// TestPeersHostGitea: a real forge. RYE_GITEA names its program; docs/hosts.md says how it is
// built. The rules of the forge are met: branches protected for all but one person, and
// required signatures.
func TestPeersHostGitea(t *testing.T) {
	t.Parallel()
	peersAsked(t, "ssh-keygen")
	program := os.Getenv("RYE_GITEA")
	if program == "" {
		t.Log("git host  Gitea                              SKIPPED  RYE_GITEA names no program (docs/hosts.md)")
		t.SkipNow()
	}
	g := newGitea(t, program)
	g.repository("free")
	h := &gitHost{url: g.url("free"), env: []string{g.variable() + g.tokens["ada"]}}
	hostLine(t, "Gitea", h.journey(t))

	g.repository("ruled")
	ruled := &gitHost{url: g.url("ruled"), env: []string{g.variable() + g.tokens["ada"]}}
	ada := ruled.person(t, "acme")
	ada.publishable("a", 0)
	var key struct{ SSH string }
	if err := json.Unmarshal([]byte(strings.SplitN(ada.rye("key", "list", "--json"), "\n", 2)[0]), &key); err != nil {
		t.Fatal(err)
	}
	for _, branches := range []string{"main", "ns/**", "content/**"} {
		g.api("ada", "POST", "/repos/ada/ruled/branch_protections", map[string]any{"rule_name": branches, "enable_push": true,
			"enable_push_whitelist": true, "push_whitelist_usernames": []string{"ada"}, "require_signed_commits": !strings.HasPrefix(branches, "content")})
	}
	ada.rye("config", "author.email", "ada@example.org")
	out := ada.fails(16, "registry", "init", ruled.url, "--yes") // a key that it does not know; it does not say so
	t.Logf("git host  Gitea refuses a strange key: %s", strings.Join(strings.Fields(out), " "))
	g.start(key.SSH)
	ada.rye("registry", "init", ruled.url, "--yes")
	ada.rye("push", "--all")
	ada.publishable("a", 1)
	ada.rye("push", "--all")
	ada.rye("registry", "verify")
	bob := ada.with(g.variable() + g.tokens["bob"])
	bob.publishable("a", 2)
	out = bob.fails(16, "push", "--all")
	if !strings.Contains(out, "protected branch") && !strings.Contains(out, "Not allowed to push") || !strings.Contains(out, "ns/acme") && !strings.Contains(out, "content/acme") {
		t.Errorf("a branch that is protected from bob: %s", out)
	}
	t.Logf("git host  Gitea refuses bob: %s", strings.Join(strings.Fields(out), " "))
	hostLine(t, "Gitea: protected, signatures required", []string{"init", "push", "push again", "verify", "refused with its words"})
}

func newGitea(t *testing.T, program string) *gitea {
	work, err := os.MkdirTemp("", "rye-gitea-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	g := &gitea{t: t, program: program, work: work, port: freePort(t), tokens: map[string]string{}, as: &syscall.SysProcAttr{}}
	if os.Getuid() == 0 { // it refuses to be root
		g.as.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		os.Chown(work, 65534, 65534)
		os.Chmod(work, 0o755)
	}
	g.configure("")
	g.run("migrate")
	for _, who := range []string{"ada", "bob"} {
		g.run("admin", "user", "create", "--username", who, "--password", "sesame-"+who+"-1", "--email", who+"@example.org", "--must-change-password=false")
		g.tokens[who] = strings.TrimSpace(g.run("admin", "user", "generate-access-token", "--username", who, "--scopes", "all", "--raw"))
	}
	g.start("")
	return g
}

func (g *gitea) url(name string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/ada/%s.git", g.port, name)
}

func (g *gitea) variable() string { return fmt.Sprintf("RYE_TOKEN_127_0_0_1___%d=", g.port) }

func (g *gitea) configure(trusted string) {
	user := "root"
	if g.as.Credential != nil {
		user = "nobody"
	}
	text := fmt.Sprintf(`RUN_USER = %s
WORK_PATH = %[2]s
RUN_MODE = prod
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]d
ROOT_URL = http://127.0.0.1:%[3]d/
STATIC_ROOT_PATH = %[4]s
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = %[2]s/gitea.db
[repository]
ROOT = %[2]s/repos
[repository.signing]
DEFAULT_TRUST_MODEL = committer
TRUSTED_SSH_KEYS = %[5]s
[security]
INSTALL_LOCK = true
[log]
LEVEL = Error
[service]
DISABLE_REGISTRATION = true
`, user, g.work, g.port, os.Getenv("RYE_GITEA_STATIC"), trusted)
	if err := os.WriteFile(filepath.Join(g.work, "app.ini"), []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
	if c := g.as.Credential; c != nil {
		os.Chown(filepath.Join(g.work, "app.ini"), int(c.Uid), int(c.Gid))
	}
}

func (g *gitea) command(args ...string) *exec.Cmd {
	cmd := exec.Command(g.program, append(args, "--config", filepath.Join(g.work, "app.ini"), "--work-path", g.work)...)
	cmd.Dir = g.work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.work, "TMPDIR=" + g.work, "GITEA_WORK_DIR=" + g.work}
	as := *g.as
	cmd.SysProcAttr = &as
	return cmd
}

func (g *gitea) run(args ...string) string {
	g.t.Helper()
	cmd := g.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("gitea %v: %v\n%s%s", args, err, out, stderr.String())
	}
	return string(out)
}

// start starts the forge anew, which then believes signatures by a key.
func (g *gitea) start(trusted string) {
	g.t.Helper()
	if g.stop != nil {
		g.stop()
	}
	g.configure(trusted)
	g.stop = child(g.t, g.port, g.command("web"))
}

func (g *gitea) api(who, method, path string, body any) {
	g.t.Helper()
	raw, _ := json.Marshal(body)
	req, _ := http.NewRequest(method, fmt.Sprintf("http://127.0.0.1:%d/api/v1%s", g.port, path), bytes.NewReader(raw))
	req.Header.Set("Authorization", "token "+g.tokens[who])
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if resp.StatusCode/100 != 2 {
		g.t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
}

// repository makes an empty repository of ada's that bob may write to.
func (g *gitea) repository(name string) {
	g.t.Helper()
	g.api("ada", "POST", "/user/repos", map[string]any{"name": name, "private": true})
	g.api("ada", "PUT", "/repos/ada/"+name+"/collaborators/bob", map[string]any{"permission": "write"})
}
