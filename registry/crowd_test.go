package registry

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
)

// crowdHosts are git's own servers over the repository of a world.
func crowdHosts(t *testing.T, w *world) map[string]string {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("no git here whose servers could be asked")
	}
	programs := strings.TrimSpace(string(out))
	testkit.Git(t, w.dir, "config", "http.receivepack", "true")
	root, name := filepath.Dir(w.dir), filepath.Base(w.dir)
	h := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		env := []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + root, "GIT_PROTOCOL=" + r.Header.Get("Git-Protocol")}
		r.TransferEncoding = nil
		testkit.GitBackend(rw, r, programs+"/git-http-backend", "/git", env)
	}))
	t.Cleanup(h.Close)
	w.ssh = plainSSH(t)
	return map[string]string{"ssh, protocol 0": "ssh://example.org" + w.dir, "http-backend": h.URL + "/" + name, "git daemon": gitDaemon(t, programs, root) + "/" + name}
}

// plainSSH is an ssh to a host that does not hand on GIT_PROTOCOL, as OpenSSH is unless it is
// told to: git speaks its protocol 0 there, and serves only what a ref names.
func plainSSH(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "ssh")
	script := "#!/bin/sh\nunset GIT_PROTOCOL\nfor last; do :; done\nexec sh -c \"$last\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// gitDaemon serves root, to few at a time, as it does everywhere: others are hung up on.
func gitDaemon(t *testing.T, programs, root string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	c := exec.Command(programs+"/git-daemon", "--listen=127.0.0.1", fmt.Sprintf("--port=%d", port), "--base-path="+root, "--export-all",
		"--enable=receive-pack", "--reuseaddr", "--verbose", "--log-destination=stderr", "--timeout=30")
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Skip("no git daemon here")
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	up := bufio.NewScanner(errs)
	for up.Scan() && !strings.Contains(up.Text(), "Ready to rumble") {
	}
	go io.Copy(io.Discard, errs)
	return fmt.Sprintf("git://127.0.0.1:%d", port)
}

// TestCrowd: publishers at once, into one namespace and into one each, on git's own servers.
// All land, none twice and none lost. The times are shown: RYE_SOAK for 20 of each, and 40 at
// a git daemon.
func TestCrowd(t *testing.T) {
	n := 4
	if os.Getenv("RYE_SOAK") != "" {
		n = 20
	}
	crowd := func(t *testing.T, w *world, url string, n int, namespace func(i int) string, round string) time.Duration {
		var wg sync.WaitGroup
		machines := make([]*machine, n)
		pubs := make([]Publication, n)
		for i := range n {
			machines[i] = w.machine(t)
			pubs[i] = publication(t, w.ada, fmt.Sprintf("%s/knowledge/%s%d@1.0.0", namespace(i), round, i))
		}
		begun, tries := time.Now(), make([]int, n)
		for i := range n {
			wg.Go(func() {
				got, err := machines[i].Publish(w.ctx, pubs[i])
				tries[i] = got.Tries
				if err != nil || len(got.Published) != 1 {
					t.Errorf("publisher %d: %+v, %v", i, got, err)
				}
			})
		}
		wg.Wait()
		took := time.Since(begun)
		m := w.machine(t)
		for i := range n {
			ns := namespace(i)
			ref := mustRef(fmt.Sprintf("%s/knowledge/%s%d", ns, round, i))
			w.sync(m, ns)
			if err := m.Look(w.ctx, ns, ref); err != nil {
				t.Fatal(err)
			}
			s, err := m.View(ns)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Entry(ref, "1.0.0"); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%d publishers: %v, tries %v", n, took.Round(time.Millisecond), tries)
		return took
	}
	for _, name := range []string{"ssh, protocol 0", "http-backend", "git daemon"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, oplog.ClaimsGranted)
			admin := w.machine(t)
			for i := range n {
				if err := admin.Grant(w.ctx, By{Signer: w.root}, fmt.Sprintf("n%d", i), trust.PublicKey(w.ada.pub)); err != nil {
					t.Fatal(err)
				}
				w.publish(admin, w.ada, fmt.Sprintf("n%d/knowledge/first@1.0.0", i)) // so that both have as much to read
			}
			w.publish(w.machine(t), w.ada, "acme/knowledge/first@1.0.0")
			url := crowdHosts(t, w)[name]
			w.url = url
			if strings.HasPrefix(url, "ssh:") { // a repository as git init makes it
				for _, key := range []string{"uploadpack.allowReachableSHA1InWant", "uploadpack.allowFilter"} {
					testkit.Git(t, w.dir, "config", key, "false")
				}
			}
			one := crowd(t, w, url, n, func(int) string { return "acme" }, "a")
			many := crowd(t, w, url, n, func(i int) string { return fmt.Sprintf("n%d", i) }, "b")
			t.Logf("one namespace / one each = %.1f", one.Seconds()/many.Seconds())
			if name == "git daemon" && n == 20 {
				crowd(t, w, url, 40, func(int) string { return "acme" }, "c")
			}
			testkit.Git(t, w.dir, "fsck", "--strict")
		})
	}
}
