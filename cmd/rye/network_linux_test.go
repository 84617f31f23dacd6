package main_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// netSecret is the password in every setting of these tests, and must come out nowhere.
const netSecret = "s3cr3t-of-bob"

// company is a proxy, an index without TLS and one with it, all on loopback.
type company struct {
	proxy, index, secure *httptest.Server
	mu                   sync.Mutex
	asked                []string // what the proxy and the indexes were asked
}

func newCompany(t *testing.T) *company {
	c := &company{}
	note := func(who string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.asked = append(c.asked, fmt.Sprintf("%s %s %v", who, r.URL, r.Header))
			io.WriteString(w, "from "+who+"\n")
		})
	}
	// A tunnel leads to the proxy itself.
	tunnel := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			note("proxy").ServeHTTP(w, r)
			return
		}
		login := http.Header{"Authorization": r.Header["Proxy-Authorization"]}
		_, password, _ := (&http.Request{Header: login}).BasicAuth()
		c.mu.Lock()
		c.asked = append(c.asked, fmt.Sprintf("tunnel %s, logged in %v", r.Host, password == netSecret))
		c.mu.Unlock()
		conn, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		if _, err := http.ReadRequest(in.Reader); err == nil {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nfrom proxy\n")
		}
	})
	c.proxy, c.index, c.secure = httptest.NewServer(tunnel), httptest.NewServer(note("index")), httptest.NewTLSServer(note("secure"))
	t.Cleanup(func() { c.proxy.Close(); c.index.Close(); c.secure.Close() })
	return c
}

// authority is the certificate of the index with TLS, with a key beside it.
func (c *company) authority() string {
	block := func(typ string, raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: raw}))
	}
	return "password: " + netSecret + "\n" + block("PRIVATE KEY", []byte(netSecret)) + block("CERTIFICATE", c.secure.Certificate().Raw)
}

// withUser puts a user and a password into an address.
func withUser(address string) string {
	return strings.Replace(address, "://", "://bob:"+netSecret+"@", 1)
}

// employ gives a person the settings of the company.
func (h *home) employ(c *company) (user string) {
	user = h.variable("HOME")
	h.env = append(withoutNetwork(h.env), "http_proxy="+withUser(c.proxy.URL), "no_proxy=127.0.0.1", "CURL_CA_BUNDLE="+filepath.Join(user, "ca.pem"), "PIP_EXTRA_INDEX_URL="+withUser(c.secure.URL)+"/?token="+netSecret)
	write := func(name, text string) { testkit.WriteFile(h.t, filepath.Join(user, name), text, 0o600) }
	write("ca.pem", c.authority())
	write(".config/pip/pip.conf", "[global]\nindex-url = "+withUser(c.index.URL)+"/simple\n")
	write(".npmrc", "registry="+withUser(c.index.URL)+"/npm\n//x/:_authToken="+netSecret+"\n")
	return user
}

// withoutNetwork drops the settings of the machine that runs the test.
func withoutNetwork(env []string) (out []string) {
	for _, kv := range env {
		name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		if !strings.HasSuffix(name, "_PROXY") && !strings.HasPrefix(name, "PIP_") && !strings.HasPrefix(name, "NPM_") && !strings.HasPrefix(name, "SSL_CERT") &&
			name != "GOPROXY" && name != "GOSUMDB" && name != "REQUESTS_CA_BUNDLE" && name != "CURL_CA_BUNDLE" && name != "NODE_EXTRA_CA_CERTS" && name != "GIT_SSL_CAINFO" {
			out = append(out, kv)
		}
	}
	return out
}

func netTool(name, needs, script string) string {
	return "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: " + name + "\n# needs: " + needs + "\n" + script
}

// TestUsersNetwork: a tool that may reach the index of Python reaches the mirror that its user has
// in its place, through the proxy, with the certificates, at each tier, and gets no password. One
// that may not gets nothing of it.
func TestUsersNetwork(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not here, which is the program behind a proxy")
	}
	c := newCompany(t)
	h := newHome(t)
	user := h.employ(c)
	const fetch = `env
cat "$CURL_CA_BUNDLE"
curl -sS -m 20 http://package.test/simple
curl -sS -m 20 "$PIP_INDEX_URL"
curl -sS -m 20 "$PIP_EXTRA_INDEX_URL"
echo x 2>/dev/null >>"$CURL_CA_BUNDLE" && echo the copy was written
true
`
	h.write(".ai/tools/acme/fetch.sh", netTool("Fetch", "{net: [pypi.org, 'package.test:80']}", fetch))
	h.write(".ai/tools/acme/other.sh", netTool("Fetch from elsewhere", "{net: ['example.org:8443']}", "env\n"))
	h.write(".ai/tools/acme/alone.sh", netTool("Compute", "{read: [.]}", "env\n"))
	h.rye("sign", "--all")
	alone := filepath.Join(t.TempDir(), "rye") // without rye-cage there are no namespaces
	raw, err := os.ReadFile(program("rye"))
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(alone, raw, 0o755))
	var said strings.Builder
	for _, tier := range []string{"S3", "S2"} {
		run := func(tool string, more ...string) (stdout string) {
			t.Helper()
			cmd := h.command(append([]string{"run", tool, "--json"}, more...)...)
			if tier == "S2" {
				cmd.Path = alone
			}
			out, err := cmd.CombinedOutput()
			said.Write(out)
			if err != nil {
				t.Fatalf("%s: %v\n%s", tool, err, out)
			}
			var res struct {
				Data     struct{ Stdout, Stderr string }
				Metadata struct{ Unbound []string }
			}
			testkit.Must(t, json.Unmarshal(out[strings.IndexByte(string(out), '{'):], &res))
			return res.Data.Stdout + res.Data.Stderr + strings.Join(res.Metadata.Unbound, "\n")
		}
		got := run("tool:acme/fetch")
		wants := []string{"http_proxy=" + c.proxy.URL + "\n", "no_proxy=127.0.0.1\n"}
		if tier == "S3" && namespaces() { // where rye dials
			wants = []string{"resolves their names"}
		}
		for _, want := range append(wants, "PIP_INDEX_URL="+c.index.URL+"/simple\n", "PIP_EXTRA_INDEX_URL="+c.secure.URL+"/\n",
			"BEGIN CERTIFICATE", "from proxy\n", "from index\n", "from secure\n") {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", tier, want, got)
			}
		}
		for _, no := range []string{"npm_config", "PRIVATE KEY", "the copy was written", user + "/ca.pem"} {
			if strings.Contains(got, no) {
				t.Errorf("%s: %q in\n%s", tier, no, got)
			}
		}
		if got := run("tool:acme/other"); strings.Contains(got, "PIP_INDEX") || strings.Contains(got, "PIP_EXTRA") || strings.Contains(got, "http_proxy=") == (tier == "S3" && namespaces()) {
			t.Errorf("%s: a tool for another host gets\n%s", tier, got)
		}
		if got := run("tool:rye/bash/bash", "-p", `command=head -n 1 "$CURL_CA_BUNDLE"; env`); !strings.Contains(got, "BEGIN CERTIFICATE") || !strings.Contains(got, "PIP_INDEX_URL=") {
			t.Errorf("%s: rye's own bash gets\n%s", tier, got)
		}
		if got := run("tool:acme/alone"); strings.Contains(got, "proxy") || strings.Contains(got, "PIP_") || strings.Contains(got, "CURL_") {
			t.Errorf("%s: a tool without network gets\n%s", tier, got)
		}
	}
	for _, args := range [][]string{{"run", "tool:acme/fetch", "--dry-run", "--json"}, {"doctor"}, {"doctor", "--json"}, {"log"}, {"status"}} {
		out, _ := h.command(args...).CombinedOutput()
		said.Write(out)
		if args[0] == "doctor" && len(args) == 1 {
			for _, want := range []string{"PIP_INDEX_URL, from ~/.config/pip/pip.conf: " + c.index.URL + "/simple reaches tools that may reach pypi.org; its password does not", "by themselves cannot use a proxy that asks for one", "CURL_CA_BUNDLE, from the environment: a copy of the certificates in "} {
				if !strings.Contains(string(out), want) {
					t.Errorf("doctor shows no %q:\n%s", want, out)
				}
			}
		}
	}
	for _, line := range c.asked {
		said.WriteString(line)
	}
	if namespaces() && !slices.Contains(c.asked, "tunnel package.test:80, logged in true") {
		t.Errorf("rye did not use the proxy: %q", c.asked)
	}
	if strings.Contains(said.String(), netSecret) || strings.Contains(said.String(), "Authorization") {
		t.Errorf("a password came out:\n%s", said.String())
	}
	h.holdsNowhere(netSecret, "ca.pem", "pip.conf", ".npmrc")
}

// holdsNowhere looks for a text in every file of the person's and the project, except in named ones.
func (h *home) holdsNowhere(text string, except ...string) {
	h.t.Helper()
	testkit.Must(h.t, filepath.WalkDir(filepath.Dir(h.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		for _, name := range except {
			if path == filepath.Join(h.variable("HOME"), name) || path == filepath.Join(h.variable("HOME"), ".config/pip", name) {
				return nil
			}
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), text) {
			h.t.Errorf("%s holds it", path)
		}
		return err
	}))
}

// TestNetworkOfAClone: a clone that brings settings, and whose .envrc names them, chooses no
// mirror, and doctor says so.
func TestNetworkOfAClone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.env = withoutNetwork(h.env)
	h.write(".npmrc", "registry=http://evil.test/\n")
	h.write("pip.conf", "[global]\nindex-url = http://evil.test/simple\n")
	h.write(".pip/pip.conf", "[global]\nindex-url = http://evil.test/simple\n")
	h.write(".ai/.env", "PIP_INDEX_URL=http://evil.test/\nhttps_proxy=http://evil.test\n")
	h.write(".ai/tools/acme/show.sh", netTool("Show", "{net: ['*']}", "env\n"))
	testkit.Must(t, os.Symlink(filepath.Join(h.dir, ".npmrc"), filepath.Join(h.variable("HOME"), ".npmrc")))
	h.env = append(h.env, "PIP_CONFIG_FILE="+filepath.Join(h.dir, "pip.conf"), "SSL_CERT_FILE="+filepath.Join(h.dir, "pip.conf"))
	h.rye("sign", "--all")
	if out := h.rye("run", "tool:acme/show", "--yes"); strings.Contains(out, "evil") || strings.Contains(out, "PIP_") || strings.Contains(out, "npm_") || strings.Contains(out, "SSL_") {
		t.Errorf("the clone's settings reach a tool:\n%s", out)
	}
	out, _ := h.command("doctor").CombinedOutput()
	for _, want := range []string{"PIP_CONFIG_FILE lies in this project", "SSL_CERT_FILE lies in this project", "~/.npmrc lies in this project"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("doctor says no %q:\n%s", want, out)
		}
	}
}
