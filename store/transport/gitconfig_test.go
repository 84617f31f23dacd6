package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store/transport"
)

// settings is a user with a configuration of git.
type settings struct {
	*git
	file string
}

func newSettings(t *testing.T, g *git) *settings {
	return &settings{g, filepath.Join(t.TempDir(), "gitconfig")}
}

// set sets one line of the user's configuration.
func (s *settings) set(key, value string) {
	s.run("config", "--file", s.file, "--add", key, value)
}

func (s *settings) options(more ...string) transport.Options {
	path, _ := exec.LookPath("git")
	return transport.Options{Git: path, Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + s.file}, more...)}
}

// main asks for the branch main at an address.
func (s *settings) main(address string, more ...string) error {
	r, err := transport.Dial(address, s.options(more...))
	if err != nil {
		return err
	}
	defer r.Close()
	refs, err := r.Refs(ctxFor(s.t), "refs/heads/main")
	if err == nil && refs["refs/heads/main"].IsZero() {
		s.t.Errorf("%s: no main", address)
	}
	return err
}

var quiet = log.New(io.Discard, "", 0)

// authority makes certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string // its own certificate
}

func newAuthority(t *testing.T) *authority {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a := &authority{t: t, key: key, cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "own authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	raw, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, _ = x509.ParseCertificate(raw)
	a.file = a.pem("CERTIFICATE", raw)
	return a
}

func (a *authority) pem(kind string, raw []byte) string {
	path := filepath.Join(a.t.TempDir(), "x.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// issue makes a certificate for loopback, or for a person, and returns its files.
func (a *authority) issue(usage x509.ExtKeyUsage) (cert, key string) {
	k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "x"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{usage}},
		a.cert, k.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	der, _ := x509.MarshalECPrivateKey(k)
	return a.pem("CERTIFICATE", raw), a.pem("EC PRIVATE KEY", der)
}

// secure serves h with TLS, HTTP/2 too, and asks for certificates of clients when want.
func (a *authority) secure(h http.Handler, want bool) *httptest.Server {
	pair, err := tls.LoadX509KeyPair(a.issue(x509.ExtKeyUsageServerAuth))
	if err != nil {
		a.t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if want {
		s.TLS.ClientCAs = x509.NewCertPool()
		s.TLS.ClientCAs.AddCert(a.cert)
		s.TLS.ClientAuth = tls.RequireAndVerifyClientCert
	}
	s.Config.ErrorLog = quiet
	s.StartTLS()
	a.t.Cleanup(s.Close)
	return s
}

// The certificate of a host is believed when the user's git believes it, and not before.
func TestOwnAuthority(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	g.bare(root, "x.git", 2)
	behind, ca := g.backend(root, true).Config.Handler, newAuthority(t)
	proto := new(atomic.Value)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proto.Store(r.Proto); behind.ServeHTTP(w, r) })
	s := ca.secure(h, false)
	address := s.URL + "/x.git"

	u := newSettings(t, g)
	err := u.main(address)
	if !fault.Is(err, fault.Network) || !strings.Contains(fault.HintOf(err).String(), "git config --global http."+s.URL+"/.sslCAInfo") {
		t.Errorf("an unknown authority: %v (%s), hint %q", err, fault.CodeOf(err), fault.HintOf(err))
	}
	u.set("http.sslVerify", "false")
	if err := u.main(address); err == nil {
		t.Error("sslVerify=false is followed")
	}
	u.set("http."+s.URL+"/.sslCAInfo", ca.file) // the hint
	if err := u.main(address); err != nil {
		t.Error(err)
	}
	if proto.Load() != "HTTP/2.0" {
		t.Errorf("spoken: %v", proto.Load())
	}
	if err := newSettings(t, g).main(address, "GIT_SSL_CAINFO="+ca.file); err != nil {
		t.Errorf("GIT_SSL_CAINFO: %v", err)
	}
	other := newSettings(t, g)
	other.set("http.https://git.example.org/.sslCAInfo", ca.file)
	if err := other.main(address); err == nil {
		t.Error("the setting of another host counts")
	}
	broken := newSettings(t, g)
	broken.set("http.sslCAInfo", broken.file)
	if err := broken.main(address); !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), "sslCAInfo") {
		t.Errorf("a file without certificates: %v", err)
	}

	asking := ca.secure(h, true)
	u.set("http.sslCAInfo", ca.file)
	if err := u.main(asking.URL + "/x.git"); err == nil {
		t.Error("in without a certificate")
	}
	cert, key := ca.issue(x509.ExtKeyUsageClientAuth)
	u.set("http."+asking.URL+".sslCert", cert)
	u.set("http."+asking.URL+".sslKey", key)
	if err := u.main(asking.URL + "/x.git"); err != nil {
		t.Errorf("with a client's certificate: %v", err)
	}
}

// git's http.proxy is used, and an empty one for a host is none.
func TestGitProxy(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	g.bare(root, "x.git", 2)
	behind := g.backend(root, true)
	to, _ := url.Parse(behind.URL)
	var through atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Add(1)
		if r.Host != "git.example.org" {
			t.Errorf("asked for %s", r.Host)
		}
		httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	u := newSettings(t, g)
	u.set("http.proxy", proxy.URL)
	o := u.options()
	o.Plain = []string{"git.example.org"}
	r, err := transport.Dial("http://git.example.org/x.git", o)
	if err != nil {
		t.Fatal(err)
	}
	if refs, err := r.Refs(ctxFor(t), "refs/heads/main"); err != nil || len(refs) != 1 || through.Load() == 0 {
		t.Errorf("%v, %v, %d through the proxy", refs, err, through.Load())
	}
	through.Store(0)
	u.set("http."+behind.URL+".proxy", "")
	if err := u.main(behind.URL + "/x.git"); err != nil || through.Load() != 0 {
		t.Errorf("%v, %d through the proxy", err, through.Load())
	}
	// http to a host that nobody named stays refused.
	if _, err := transport.Dial("http://git.example.com/x.git", o); !fault.Is(err, fault.Usage) || !strings.Contains(fault.HintOf(err).String(), "rye config http.plain git.example.com") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

// insteadOf and pushInsteadOf lead where git would go, and a token in them is no part of
// an address that is shown.
func TestInsteadOf(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 2))
	h := &fake{next: g.backend(root, true).Config.Handler, check: func(r *http.Request) int {
		if _, p, _ := r.BasicAuth(); p == "geheim" {
			return 200
		}
		return 401
	}}
	at := testkit.Serve(t, h)
	u := newSettings(t, g)
	u.set("url."+strings.Replace(at, "http://", "http://ci:geheim@", 1)+"/.insteadOf", "https://git.example.org/")
	u.set("url."+at+"/wrong/.insteadOf", "https://git.example")
	r, err := transport.Dial("https://git.example.org/x.git", u.options())
	if err != nil {
		t.Fatal(err)
	}
	if refs, err := r.Refs(ctxFor(t), "refs/heads/main"); err != nil || len(refs) != 1 {
		t.Fatalf("%v, %v", refs, err)
	}
	if _, err := r.Refs(ctxFor(t)); err != nil || r.String() != "https://git.example.org/x.git" {
		t.Errorf("%v; shown as %s", err, r)
	}
	gone, err := transport.Dial("https://git.example.org/none.git", u.options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Refs(ctxFor(t)); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("not there: %v", err)
	}

	// Pushes elsewhere.
	p := newSettings(t, g)
	p.set("url."+root+"/.pushInsteadOf", "https://git.example.org/")
	p.set("url."+at+"/none/.insteadOf", "https://git.example.org/")
	r, err = transport.Dial("https://git.example.org/x.git", p.options())
	if err != nil {
		t.Fatal(err)
	}
	from := newStore(t)
	one := commitTo(t, from, "refs/heads/new", "a", []byte("x"))
	if err := r.Push(ctxFor(t), from, []transport.Update{{Name: "refs/heads/new", New: one}}); err != nil || b.oid("rev-parse", "new") != one {
		t.Errorf("push: %v", err)
	}
	if _, err := r.Refs(ctxFor(t)); err == nil {
		t.Error("pushInsteadOf counts for reading")
	}
}

// The user's own way to start ssh is used; that of a repository never is.
func TestSSHCommand(t *testing.T) {
	ssh := fakeSSH(t) // skips where there is no shell
	g, root := newGit(t), t.TempDir()
	dir := g.bare(root, "x.git", 2)
	mark := filepath.Join(t.TempDir(), "mark")
	command := "MARK=" + mark + "; touch \"$MARK\"; " + ssh
	used := func() bool { err := os.Remove(mark); return err == nil }
	address := "example.org:" + dir

	u := newSettings(t, g)
	u.set("core.sshCommand", command)
	if err := u.main(address); err != nil || !used() {
		t.Errorf("core.sshCommand: %v", err)
	}
	if err := newSettings(t, g).main(address, "GIT_SSH_COMMAND="+command); err != nil || !used() {
		t.Errorf("GIT_SSH_COMMAND: %v", err)
	}
	if err := newSettings(t, g).main(address, "GIT_SSH="+ssh); err != nil {
		t.Errorf("GIT_SSH: %v", err)
	}
	// A clone's: the working directory is in it.
	clone := t.TempDir()
	g.in(clone).run("init", "-q")
	g.in(clone).run("config", "core.sshCommand", command)
	g.in(clone).run("config", "url."+root+"/.insteadOf", "example.org:"+root+"/")
	g.in(clone).run("config", "http.proxy", "http://127.0.0.1:1")
	t.Chdir(clone)
	o := newSettings(t, g).options()
	o.SSH = filepath.Join(clone, "no-ssh")
	r, err := transport.Dial(address, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refs(ctxFor(t)); err == nil || used() {
		t.Errorf("a clone's configuration counts: %v", err)
	}
}

// A header that the user's git adds is sent to the host that it is for, and never printed.
func TestExtraHeader(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	g.bare(root, "x.git", 2)
	h := &fake{next: g.backend(root, true).Config.Handler, check: func(r *http.Request) int {
		if r.Header.Get("X-Gate") == "sesame-4711" {
			return 200
		}
		return 401
	}}
	at := testkit.Serve(t, h)
	u := newSettings(t, g)
	u.set("http."+at+"/.extraHeader", "X-Gate: sesame-4711")
	if err := u.main(at + "/x.git"); err != nil {
		t.Error(err)
	}
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Gate") != "" {
			t.Error("sent to another host")
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(away.Close)
	to := httptest.NewServer(http.RedirectHandler(away.URL+"/x.git/info/refs?service=git-upload-pack", http.StatusFound))
	t.Cleanup(to.Close)
	u.set("http."+to.URL+"/.extraHeader", "X-Gate: sesame-4711")
	if err := u.main(to.URL + "/x.git"); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("redirected: %v", err)
	}
}

// Git is not asked where none of its files can say anything of what is looked for: each way of
// saying it, in every spelling that git takes, makes a question.
func TestGitIsAskedWhereItWasTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("where git's own files are is known on Linux only")
	}
	none := filepath.Join(t.TempDir(), "none")
	ask := func(text string, global bool) bool {
		home := t.TempDir()
		o := transport.Options{Git: "/usr/bin/git", Env: []string{"HOME=" + home, "GIT_CONFIG_SYSTEM=" + none}}
		file := filepath.Join(home, ".gitconfig")
		if global {
			file = filepath.Join(home, "elsewhere")
			o.Env = append(o.Env, "GIT_CONFIG_GLOBAL="+file)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return !transport.Silent(o)
	}
	told := []string{
		"[url \"ssh://git@example.org/\"]\n\tinsteadOf = https://example.org/\n", "[URL \"x\"]\npushInsteadOf = y\n", "  [url \"x\"] insteadof = y\n",
		"[http]\n\tproxy = http://localhost:1\n", "[HTTP \"https://example.org\"]\n\tsslCAInfo = /x\n",
		"[core]\n\tsshCommand = ssh -v\n", "[core] SSHCOMMAND=x\n", "[ssh]\n\tvariant = simple\n",
		"[include]\n\tpath = other\n", "[includeIf \"gitdir:/x\"]\n\tpath = other\n", "\xef\xbb\xbf[url \"x\"]\ninsteadOf = y\n",
	}
	g := newGit(t)
	for _, text := range told {
		if !ask(text, false) || !ask(text, true) {
			t.Errorf("git is not asked about %q", text)
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := g.try("config", "--file", file, "--no-includes", "--list"); err != nil || list == "" {
			t.Errorf("git does not take %q: %s", text, list)
		}
	}
	for _, text := range []string{"", "[user]\n\tname = url http ssh include\n", "[credential \"https://example.org\"]\n\thelper = x\n", "[alias]\n\tco = checkout\n"} {
		if ask(text, false) || ask(text, true) {
			t.Errorf("git is asked about %q", text)
		}
	}
	for name, o := range map[string]transport.Options{
		"another git":                {Git: "/opt/git/bin/git"},
		"in the environment":         {Git: "/usr/bin/git", Env: []string{"HOME=" + none, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.proxy", "GIT_CONFIG_VALUE_0=x"}},
		"a file that cannot be read": {Git: "/usr/bin/git", Env: []string{"GIT_CONFIG_GLOBAL=" + t.TempDir(), "GIT_CONFIG_SYSTEM=" + none}},
	} {
		if transport.Silent(o) {
			t.Errorf("%s: git is not asked", name)
		}
	}
}
