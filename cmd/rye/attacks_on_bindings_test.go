package main_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// openRegistry is a registry in which anybody may claim a namespace; mallory claimed acme
// there, and victim uses it for something else.
func openRegistry(t *testing.T) (mallory, victim *home, url, id string) {
	mallory, victim = newHome(t), newHome(t)
	url = filepath.Join(t.TempDir(), "open.git")
	mallory.publishable("evil", 0)
	id = regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(mallory.rye("registry", "init", url, "--open", "--namespace", "acme", "--yes"))
	mallory.rye("push", "--all")
	victim.write(".ai/rye.yaml", strings.Replace(victim.read(".ai/rye.yaml"), "namespace: acme", "namespace: local", 1))
	victim.rye("registry", "add", url, "--scope", "free", "--identity", id)
	return mallory, victim, url, id
}

// clone makes a project beside h's as a clone would bring it, and returns h standing in it.
func (h *home) clone(yaml string) *home {
	h.t.Helper()
	c := *h
	c.dir = h.t.TempDir()
	c.write(".ai/rye.yaml", "format: 1\nproject: 0123456789abcdef0123456789abcdef\nnamespace: acme\n"+yaml)
	return &c
}

// trustPath is where the user's beliefs are.
func (h *home) trustPath() (path string) {
	for _, kv := range h.env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok { // the last one counts
			path = filepath.Join(dir, ".config", "rye", "trust.yaml")
		}
	}
	return path
}

// trustFile is what the user believes.
func (h *home) trustFile() string {
	h.t.Helper()
	return testkit.ReadFile(h.t, h.trustPath())
}

func (h *home) writeTrust(text string) {
	h.t.Helper()
	testkit.WriteFile(h.t, h.trustPath(), text, 0o600)
}

// reaching are the commands that would ask a registry of the project.
var reaching = [][]string{
	{"fetch"}, {"pull"}, {"update"}, {"add", "acme/knowledge/evil", "--yes"}, {"registry", "verify"}, {"registry", "log", "acme"},
	{"registry", "root", "show"}, {"registry", "members", "acme"}, {"registry", "grant", "acme", "SHA256:AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
	{"yank", "acme/knowledge/evil@1.0.0", "--reason", "x"}, {"push", "--all", "--yes"},
}

// T4 and T5: what a clone or a pull request says of scopes binds nothing, here or anywhere.
func TestCloneBindsNothing(t *testing.T) {
	t.Parallel()
	_, victim, url, id := openRegistry(t)
	registries := "registries:\n  main:\n    url: " + url + "\n    id: " + id + "\n"
	before := victim.trustFile()
	refused := func(t *testing.T, h *home, args ...string) {
		t.Helper()
		out, status := h.status(args...)
		if status != 11 && status != 3 && status != 2 || status == 11 && !strings.Contains(out, "rye trust") && args[0] != "push" {
			t.Errorf("rye %s: exit %d, %s; want 11 and rye trust", strings.Join(args, " "), status, out)
		}
		if now := victim.trustFile(); now != before {
			t.Fatalf("rye %s changed what the user believes:\n%s", strings.Join(args, " "), now)
		}
	}
	for name, scopes := range map[string]string{"a scope": "  acme: main\n", "every scope": "  \"*\": main\n"} {
		t.Run("clone, "+name, func(t *testing.T) {
			c := victim.clone(registries + "scopes:\n" + scopes + "deps:\n  acme/knowledge/evil: ^1.0\n")
			for _, args := range reaching {
				if args[1%len(args)] != "root" && args[1%len(args)] != "grant" { // these ask for no namespace
					refused(t, c, args...)
				}
			}
		})
		t.Run("pull request, "+name, func(t *testing.T) {
			yaml := victim.read(".ai/rye.yaml")
			defer victim.write(".ai/rye.yaml", yaml)
			victim.write(".ai/rye.yaml", strings.Replace(yaml, "scopes:\n", "scopes:\n"+scopes, 1))
			refused(t, victim, "registry", "log", "acme")
			refused(t, victim, "add", "acme/knowledge/evil", "--yes")
		})
	}
	for name, scopes := range map[string]string{"a scope": "  acme: main\n", "every scope": "  \"*\": main\n"} {
		t.Run("branch, "+name, func(t *testing.T) {
			yaml := victim.read(".ai/rye.yaml")
			defer func() {
				victim.write(".ai/rye.yaml", yaml)
				os.RemoveAll(filepath.Join(victim.dir, ".git"))
			}()
			testkit.OnBranch(t, victim.dir, func() { victim.write(".ai/rye.yaml", strings.Replace(yaml, "scopes:\n", "scopes:\n"+scopes, 1)) })
			if out, _ := victim.status("fetch"); victim.trustFile() != before { // of what it may bring up to date
				t.Fatalf("rye fetch changed what the user believes: %s", out)
			}
			refused(t, victim, "registry", "log", "acme")
			refused(t, victim, "add", "acme/knowledge/evil", "--yes")
		})
	}
	// Even where the user was brought to give it everything, an open registry gets what is named.
	t.Run("granted everything", func(t *testing.T) {
		c := victim.clone(registries + "scopes:\n  \"*\": main\n")
		place := filepath.Base(filepath.Dir(strings.TrimSpace(c.rye("where", "record"))))
		grant := "  - place: " + place + "\n    project: 0123456789abcdef0123456789abcdef\n    kind: scope\n    value: \"* " + id + "\"\n    at: \"2026-01-01T00:00:00Z\"\n"
		c.writeTrust(strings.Replace(before, "grants:\n", "grants:\n"+grant, 1))
		defer c.writeTrust(before)
		out, status := c.status("add", "acme/knowledge/evil", "--yes")
		if status != 16 || !strings.Contains(out, "anyone may claim a namespace there") {
			t.Errorf("exit %d, %s; want 16", status, out)
		}
		if strings.Contains(c.trustFile(), "\n  acme:\n") {
			t.Errorf("acme was bound:\n%s", c.trustFile())
		}
	})
	// The user's own word binds.
	victim.rye("registry", "add", url, "--scope", "acme")
	victim.rye("add", "acme/knowledge/evil", "--yes")
	if !strings.Contains(victim.trustFile(), "\n  acme:\n") {
		t.Error("rye registry add --scope acme, then add, bound nothing")
	}
}

// T12: another address for a known registry is contacted by nobody before it was agreed to,
// whatever it is spoken to by; no token goes there.
func TestCloneReachesNobody(t *testing.T) {
	t.Parallel()
	_, victim, _, id := openRegistry(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var calls atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	at := l.Addr().String()
	victim.env = append(victim.env, "RYE_TOKEN_127_0_0_1=secret")
	bait := filepath.Join(t.TempDir(), "bait.git")
	for _, url := range []string{"http://" + at + "/r.git", "https://" + at + "/r.git", "git://" + at + "/r.git",
		"ssh://" + at + "/r.git", "file://" + bait, bait} {
		c := victim.clone("registries:\n  main:\n    url: " + url + "\n    id: " + id + "\nscopes:\n  acme: main\n  free: main\ndeps:\n  acme/knowledge/evil: ^1.0\n")
		for _, args := range append(reaching, []string{"registry", "list"}, []string{"status"}, []string{"doctor"}, []string{"search", "evil"}) {
			out, status := c.status(args...)
			if args[0] == "fetch" && (status != 11 || !strings.Contains(out, "rye trust")) {
				t.Errorf("%s, rye fetch: exit %d, %s; want 11 and rye trust", url, status, out)
			}
			if n := calls.Swap(0); n != 0 {
				t.Errorf("%s, rye %s: %d connections to port %d", url, strings.Join(args, " "), n, port)
			}
		}
	}
	if _, err := os.Lstat(bait); err == nil {
		t.Error("a directory was made")
	}
}

// T19: only the user's own word is an expectation.
func TestCloneExpectsNothing(t *testing.T) {
	t.Parallel()
	_, victim, url, id := openRegistry(t)
	stranger := newHome(t)
	c := stranger.clone("registries:\n  main:\n    url: " + url + "\n    id: " + id + "\n")
	out, status := c.status("registry", "add", url, "--scope", "acme")
	if status != 16 || strings.Contains(out, "expected") || !strings.Contains(out, "identity "+id) {
		t.Errorf("a clone that names the identity: exit %d, %s", status, out)
	}
	wrong := "sha256:" + strings.Repeat("00", 32)
	if out, status := c.status("registry", "add", url, "--scope", "acme", "--identity", wrong); status != 11 || !strings.Contains(out, "you gave "+wrong) {
		t.Errorf("another identity than the user gave: exit %d, %s", status, out)
	}
	c = victim.clone("registries:\n  main:\n    url: " + url + "\n    id: " + wrong + "\n")
	if out, status := c.status("registry", "add", url, "--scope", "acme"); status != 11 || !strings.Contains(out, "rye.yaml names "+wrong) {
		t.Errorf("another identity than the project names: exit %d, %s", status, out)
	}
}

// status runs a command and returns everything that it printed, and its exit status.
func (h *home) status(args ...string) (string, int) {
	h.t.Helper()
	cmd := h.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		h.t.Fatalf("rye %s: %v", strings.Join(args, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
