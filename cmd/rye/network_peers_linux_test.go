package main_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// TestPeersNetwork: the real pip, npm, Go, git and curl find a mirror or a proxy that stands in the
// user's own files, in the sandbox and without the password there.
func TestPeersNetwork(t *testing.T) {
	peersAsked(t)
	var mu sync.Mutex
	var asked strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fmt.Fprintf(&asked, "%s %v\n", r.URL, r.Header)
		mu.Unlock()
		mirrorAnswer(w, r)
	}))
	defer s.Close()
	for _, p := range []struct{ program, file, text, net, does, want, asks string }{
		{"pip", ".config/pip/pip.conf", "[global]\nindex-url = " + withUser(s.URL) + "/simple\n", "pypi.org", "", "Successfully downloaded demo", "/simple/demo/"},
		{"npm", ".npmrc", "registry=" + withUser(s.URL) + "/npm/\n//" + strings.TrimPrefix(s.URL, "http://") + "/npm/:_authToken=" + netSecret + "\n", "registry.npmjs.org", "npm view demo version", "1.2.3", "/npm/demo"},
		{"go", ".config/go/env", "GOPROXY=" + withUser(s.URL) + "/go\nGOSUMDB=off\n", "proxy.golang.org", "cd && GO list -m -versions example.test/demo", "v1.2.3", "/go/example.test/demo/@v/list"},
		{"git", ".gitconfig", "[http]\n\tproxy = " + withUser(s.URL) + "\n", "'git.test:80'", "git ls-remote http://git.test/x || true", "", "http://git.test/x/info/refs"},
		{"curl", ".curlrc", "proxy = \"" + withUser(s.URL) + "\"\nuser = bob:" + netSecret + "\n", "'curl.test:80'", "curl -sS http://curl.test/x", "mirror", "http://curl.test/x"},
	} {
		t.Run(p.program, func(t *testing.T) {
			path, err := exec.LookPath(p.program)
			if err != nil {
				t.Logf("network   %-6s SKIPPED  it is not here", p.program)
				t.SkipNow()
			}
			h := newHome(t)
			h.env = withoutNetwork(h.env)
			testkit.WriteFile(t, filepath.Join(h.variable("HOME"), p.file), p.text, 0o600)
			if p.program == "pip" {
				h.write(".ai/tools/acme/it.py", pipTool)
			} else {
				h.write(".ai/tools/acme/it.sh", netTool("Use "+p.program, "{net: ["+p.net+"]}", strings.Replace(p.does, "GO", path, 1)+"\n"))
			}
			h.rye("sign", "--all")
			out, err := h.command("run", "tool:acme/it", "--json").CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err != nil || !strings.Contains(string(out), p.want) || !strings.Contains(asked.String(), p.asks) {
				t.Errorf("%v\n%s\nasked:\n%s", err, out, asked.String())
			}
			if strings.Contains(string(out)+asked.String(), netSecret) || strings.Contains(asked.String(), "uthorization") {
				t.Errorf("a password came out:\n%s\n%s", out, asked.String())
			}
			t.Logf("network   %-6s finds what %s names", p.program, p.file)
		})
	}
}

const pipTool = `__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_function_runtime"
__category__ = "acme"
__tool_description__ = "Download with pip"
__needs__ = {"net": ["pypi.org"]}

import os
import subprocess
import sys


def execute(params, project_path):
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "-d", os.environ["TMPDIR"], "demo"], capture_output=True, text=True)
    return {"out": done.stdout + done.stderr}
`

// mirrorAnswer is an index of Python, a registry of npm and a proxy of Go with one package, and
// any other server.
func mirrorAnswer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/simple/demo/":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="/files/demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>`)
	case "/files/demo-1.0-py3-none-any.whl":
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, f := range [][2]string{{"demo.py", ""}, {"demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"},
			{"demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}, {"demo-1.0.dist-info/RECORD", ""}} {
			if in, err := z.Create(f[0]); err == nil {
				io.WriteString(in, f[1])
			}
		}
		z.Close()
		w.Write(b.Bytes())
	case "/npm/demo":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"name":"demo","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"demo","version":"1.2.3","dist":{"tarball":"http://x/demo.tgz","shasum":"0000000000000000000000000000000000000000"}}}}`)
	case "/go/example.test/demo/@v/list":
		io.WriteString(w, "v1.2.3\n")
	case "/go/example.test/demo/@v/v1.2.3.info", "/go/example.test/demo/@latest":
		io.WriteString(w, `{"Version":"v1.2.3","Time":"2020-01-01T00:00:00Z"}`)
	case "/go/example.test/demo/@v/v1.2.3.mod":
		io.WriteString(w, "module example.test/demo\n")
	case "/x":
		io.WriteString(w, "mirror\n")
	default:
		http.NotFound(w, r)
	}
}
