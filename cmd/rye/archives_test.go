package main_test

import (
	"archive/tar"
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
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// pinnedTo is the argument of --sha256 in a hint.
var pinnedTo = regexp.MustCompile(`--sha256 (sha256:[0-9a-f]{64})`)

// TestArchive: an archive by https comes in with the digest that the user pins or is shown, and
// is compared anew later.
func TestArchive(t *testing.T) {
	t.Parallel()
	s, h := newSite(t), newHome(t)
	one, two := siteArchive("tide"), siteArchive("tide", tar.Header{Name: "new.md", Typeflag: tar.TypeReg, Mode: 0o644})
	s.put("/x/tide.tar.gz", one)
	url := s.url + "/x/tide.tar.gz"
	nothing := func(what string) {
		t.Helper()
		if exists(filepath.Join(h.dir, ".ai/bundles")) || strings.Contains(h.trustFile(), "origin") {
			t.Fatalf("%s changed something", what)
		}
	}
	wants(t, h.rye("add", url, "--list"), "tide")
	wants(t, h.rye("add", url, "--dry-run"), "would add knowledge:acme/tide")
	for _, flags := range [][]string{nil, {"--yes"}, {"--yes", "--accept-needs", "--accept-signer"}} {
		out := h.fails(16, append([]string{"add", url}, flags...)...)
		wants(t, out, "archive  "+digestOf(one))
		if m := pinnedTo.FindStringSubmatch(out); m == nil || m[1] != digestOf(one) {
			t.Fatalf("the hint names no digest:\n%s", out)
		}
	}
	// The host changes between the two requests.
	s.put("/x/tide.tar.gz", two)
	wants(t, h.fails(10, "add", url, "--sha256", digestOf(one), "--yes"), "sha256 differs")
	h.fails(2, "add", url, "--sha256", "abc", "--yes")
	h.fails(16, "add", url, "--no-vendor", "--yes")
	h.fails(3, "add", url+"//none", "--yes")
	h.fails(2, "add", ".", "--sha256", digestOf(one))
	h.fails(17, "add", url, "--sha256", digestOf(two), "--yes", "--offline")
	nothing("a refusal")
	s.put("/x/tide.tar.gz", one)
	h.rye("add", url, "--sha256", strings.TrimPrefix(digestOf(one), "sha256:"), "--yes")
	wants(t, h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), `source: "`+url+`"`, `tree_sha256: "[0-9a-f]{64}"`, `scripts/run.sh", mode: "0755"`)
	wants(t, h.trustFile(), "kind: origin", regexp.QuoteMeta(url))
	h.rye("sign", ".ai/bundles/acme/tide", "--yes")
	wants(t, h.rye("outdated"), "acme/bundle/tide .* ok ")
	// The same content packed again is no new version.
	s.put("/x/tide.tar.gz", append(siteArchive("tide"), make([]byte, 512)...))
	wants(t, h.rye("outdated"), "acme/bundle/tide .* ok ")
	s.put("/x/tide.tar.gz", two)
	wants(t, h.rye("outdated"), "acme/bundle/tide .*outdated")
	wants(t, h.rye("outdated", "--offline"), "acme/bundle/tide .*outdated")
	h.fails(17, "update", "--offline", "acme/tide")
	before := h.read(".ai/bundles/acme/tide/rye.bundle.yaml")
	for _, flags := range [][]string{{"--yes"}, {"--yes", "--sha256", digestOf(one)}, {"--yes", "--accept-tag", "--accept-rewrite", "--accept-needs"}} {
		out := h.fails(16, append([]string{"update", "acme/tide"}, flags...)...)
		wants(t, out, "archive  "+digestOf(one)+" -> "+digestOf(two), "rye update acme/tide --sha256 "+digestOf(two)+" --yes")
	}
	s.put("/x/tide.tar.gz", siteArchive("tide", tar.Header{Name: "evil.md", Typeflag: tar.TypeReg, Mode: 0o644}))
	h.fails(16, "update", "acme/tide", "--yes", "--sha256", digestOf(two))
	if h.read(".ai/bundles/acme/tide/rye.bundle.yaml") != before {
		t.Error("a refused update changed the manifest")
	}
	s.put("/x/tide.tar.gz", two)
	wants(t, h.rye("update", "acme/tide", "--yes", "--sha256", digestOf(two)), "updated +acme/bundle/tide")
	wants(t, h.read(".ai/bundles/acme/tide/new.md"), "x")
	h.rye("verify")
	// Another person's clone has no grant, and an address inside is asked about by its own flag alone.
	c := newHome(t)
	for _, f := range []string{"SKILL.md", "new.md", "scripts/run.sh", "rye.bundle.yaml"} {
		c.write(".ai/bundles/acme/tide/"+f, h.read(".ai/bundles/acme/tide/"+f))
	}
	s.requests()
	wants(t, c.rye("outdated"), "acme/bundle/tide .*not asked")
	wants(t, c.fails(16, "update", "--yes", "--sha256", digestOf(two)), "not public", "--accept-source")
	if got := s.requests(); len(got) > 0 {
		t.Errorf("a manifest led to requests for %q", got)
	}
	// Gone.
	s.mu.Lock()
	delete(s.files, "/x/tide.tar.gz")
	s.mu.Unlock()
	wants(t, h.rye("outdated"), "acme/bundle/tide .*gone")
	h.fails(3, "update", "acme/tide")
	h.rye("verify")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.auth) > 0 {
		t.Errorf("credentials were sent: %q", s.auth)
	}
}

// TestArchiveLocal: an archive of this machine is read anew. One that became a link, or lies behind one
// now, is refused.
func TestArchiveLocal(t *testing.T) {
	t.Parallel()
	h, root := newHome(t), t.TempDir()
	if at, err := filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	} else {
		root = at
	}
	dir := filepath.Join(root, "a", "b")
	file := filepath.Join(dir, "tide.tar.gz")
	put := func(path string, raw []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	more := siteArchive("tide", tar.Header{Name: "new.md", Typeflag: tar.TypeReg, Mode: 0o644})
	put(file, siteArchive("tide"))
	h.rye("add", file)
	h.rye("sign", ".ai/bundles/acme/tide", "--yes")
	m := h.read(".ai/bundles/acme/tide/rye.bundle.yaml")
	wants(t, m, `source: "file:tide.tar.gz"`)
	if strings.Contains(m, root) {
		t.Errorf("the manifest has a path of this machine:\n%s", m)
	}
	wants(t, h.rye("outdated"), "acme/bundle/tide .* ok ")
	put(file, more)
	wants(t, h.rye("outdated"), "acme/bundle/tide .*outdated")
	// A link in its place, and one above it, to an archive that somebody else chose.
	evil := filepath.Join(root, "evil", "b", "tide.tar.gz")
	put(evil, siteArchive("tide", tar.Header{Name: "evil.md", Typeflag: tar.TypeReg, Mode: 0o644}))
	refused := func(how string) {
		t.Helper()
		wants(t, h.rye("outdated"), "acme/bundle/tide .*unknown")
		wants(t, h.fails(16, "update", "acme/tide", "--yes", "--accept-needs"), "leads elsewhere now")
		if got := h.read(".ai/bundles/acme/tide/rye.bundle.yaml"); got != m {
			t.Errorf("%s changed the manifest:\n%s", how, got)
		}
	}
	must(os.Rename(file, file+".old"))
	if err := os.Symlink(evil, file); err != nil {
		t.Skip("this machine makes no links:", err)
	}
	refused("a link")
	must(os.Remove(file))
	must(os.Rename(file+".old", file))
	must(os.Rename(filepath.Join(root, "a"), filepath.Join(root, "kept")))
	must(os.Symlink(filepath.Join(root, "evil"), filepath.Join(root, "a")))
	refused("a link above it")
	must(os.Remove(filepath.Join(root, "a")))
	must(os.Rename(filepath.Join(root, "kept"), filepath.Join(root, "a")))
	put(file, []byte("no archive"))
	wants(t, h.rye("outdated"), "acme/bundle/tide .*unknown")
	h.fails(19, "update", "acme/tide", "--yes")
	put(file, more)
	wants(t, h.rye("update", "--yes", "--offline"), "updated +acme/bundle/tide")
	wants(t, h.read(".ai/bundles/acme/tide/new.md"), "x")
	h.rye("verify")
	must(os.Remove(file))
	wants(t, h.rye("outdated"), "acme/bundle/tide .*gone")
	h.fails(3, "update", "acme/tide")
}

// TestArchiveLies: a host that redirects inward, sends no archive, or one without an end, gains nothing.
func TestArchiveLies(t *testing.T) {
	t.Parallel()
	s, victim, h := newSite(t), newSite(t), newHome(t)
	victim.put("/x.zip", siteArchive("tide"))
	to := func(address string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", address); w.WriteHeader(302) }
	}
	for name, row := range map[string]struct {
		lie  http.HandlerFunc
		exit int
	}{
		"to another port": {to(victim.url + "/x.zip"), 16},
		"to another name": {to(strings.Replace(victim.url, "127.0.0.1", "localhost", 1) + "/x.zip"), 16},
		"to the metadata": {to("http://169.254.169.254/latest/x.zip"), 16},
		"to the network":  {to("https://10.0.0.7/x.zip"), 16},
		"to a file":       {to("file:///etc/passwd"), 16},
		"with a password": {to("https://ada:secret@example.org/x.zip"), 16},
		"to itself":       {to("/x/tide.tar.gz"), 20},
		"a page":          {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, 19},
		"nothing":         {func(w http.ResponseWriter, _ *http.Request) {}, 19},
		"half":            {func(w http.ResponseWriter, _ *http.Request) { raw := siteArchive("tide"); w.Write(raw[:len(raw)/2]) }, 19},
		"forbidden":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, 6},
		"an error":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 5},
		"a member outside": {func(w http.ResponseWriter, _ *http.Request) {
			w.Write(siteArchive("tide", tar.Header{Name: "../../x", Typeflag: tar.TypeReg, Mode: 0o644}))
		}, 19},
		"without an end": {zeros, 20},
		"shorter than said": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			w.Write(siteArchive("tide"))
		}, 5},
	} {
		s.mu.Lock()
		s.lies["/x/tide.tar.gz"] = row.lie
		s.mu.Unlock()
		if out, code := h.status("add", s.url+"/x/tide.tar.gz", "--yes"); code != row.exit || strings.Contains(out, "secret") {
			t.Errorf("%s: exit %d, want %d\n%s", name, code, row.exit, out)
		}
		if exists(filepath.Join(h.dir, ".ai/bundles")) || strings.Contains(h.trustFile(), "origin") {
			t.Fatalf("%s: something was written", name)
		}
	}
	if got := victim.requests(); len(got) > 0 {
		t.Errorf("a redirect led to requests for %q", got)
	}
}

func zeros(w http.ResponseWriter, r *http.Request) {
	for part := make([]byte, 1<<20); ; {
		if _, err := w.Write(part); err != nil || r.Context().Err() != nil {
			return
		}
	}
}

// farHosts is a proxy behind which every host is one server with TLS.
type farHosts struct {
	proxy *httptest.Server
	ca    []byte // PEM
	mu    sync.Mutex
	asked []string // hosts
}

func newFarHosts(t *testing.T, hosts []string, serve http.HandlerFunc) *farHosts {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: hosts, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	n := &farHosts{ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}
	server := httptest.NewUnstartedServer(serve)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	n.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.asked = append(n.asked, r.Host)
		n.mu.Unlock()
		up, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil || r.Method != http.MethodConnect {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		defer up.Close()
		w.WriteHeader(http.StatusOK)
		down, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer down.Close()
		done := make(chan bool)
		go func() { io.Copy(up, buffered); up.(*net.TCPConn).CloseWrite(); close(done) }()
		io.Copy(down, up)
		down.Close()
		<-done
	}))
	t.Cleanup(n.proxy.Close)
	return n
}

// given returns a person whose network this is.
func (n *farHosts) given(h *home) *home {
	file := filepath.Join(h.t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, n.ca, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.with("HTTPS_PROXY="+n.proxy.URL, "https_proxy="+n.proxy.URL, "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE="+file)
}

// TestArchiveElsewhere: a public host may keep its archives on another one, as forges do: rye asks, and
// remembers the answer for this source. A redirect from there inward, or to plain http, is refused.
func TestArchiveElsewhere(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	body, next := siteArchive("tide"), ""
	n := newFarHosts(t, []string{"forge.example.com", "files.example.net"}, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Host == "forge.example.com":
			http.Redirect(w, r, "https://files.example.net/store/tide?signature=1", http.StatusFound)
		case next != "":
			http.Redirect(w, r, next, http.StatusFound)
		default:
			w.Write(body)
		}
	})
	h := n.given(newHome(t))
	const url = "https://forge.example.com/tide.tar.gz"
	wants(t, h.fails(16, "add", url), "forge.example.com redirects to", "files.example.net", "rye add "+url+" --yes")
	if got := strings.Join(n.asked, " "); got != "forge.example.com:443" {
		t.Errorf("without an answer rye asked %s", got)
	}
	h.rye("add", url, "--yes", "--sha256", digestOf(body))
	wants(t, h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), `source: "`+url+`"`)
	wants(t, h.rye("outdated"), "acme/bundle/tide .* ok ")
	for name, address := range map[string]string{"inward": "https://169.254.169.254/x", "to loopback": "https://127.0.0.1/x", "without TLS": "http://files.example.net/x", "to a third host": "https://evil.example.org/x"} {
		mu.Lock()
		next = address
		mu.Unlock()
		wants(t, h.rye("outdated"), "acme/bundle/tide .*unknown")
		if out, code := h.status("update", "--yes"); code != 16 && !strings.Contains(name, "third") {
			t.Errorf("%s: update: exit %d\n%s", name, code, out)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, at := range n.asked {
		if at != "forge.example.com:443" && at != "files.example.net:443" && at != "evil.example.org:443" {
			t.Errorf("rye asked %s", at)
		}
	}
}
