package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/internal/clients"
)

// TestInstalledIsLaunched: what rye writes for a client is read from the client's file, and
// started exactly so; what answers is rye, for the project that was meant.
func TestInstalledIsLaunched(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths are those of this system")
	}
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	h.rye("sign", "--all")
	h.env = append(h.env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, c := range clients.All() {
		for _, scope := range clients.Scopes {
			if !c.Has(scope) {
				continue
			}
			t.Run(c.Name+"/"+string(scope), func(t *testing.T) {
				var rep struct{ Path, Status string }
				out := h.rye("mcp", "install", c.Name, "--scope", string(scope), "--json")
				if err := json.Unmarshal([]byte(out), &rep); err != nil || rep.Status != "installed" {
					t.Fatalf("%v: %s", err, out)
				}
				defer h.rye("mcp", "uninstall", c.Name, "--scope", string(scope))
				argv := written(t, c, rep.Path)
				dir := h.variable("HOME") // where a program is that was started from a desktop
				if c.Follows || scope == clients.Project {
					dir = h.dir
				}
				if got := askServer(t, h, argv, dir); !strings.Contains(got, `"name":"sign"`) || !strings.Contains(got, "acme/style") {
					t.Errorf("%q in %s answers\n%s", argv, dir, got)
				}
			})
		}
	}
}

// written returns the program and its arguments in a client's file. JSON is read without the
// help of what wrote it.
func written(t *testing.T, c clients.Client, path string) (argv []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if ext := filepath.Ext(path); ext == ".toml" || ext == ".yaml" {
		s, found, err := c.Entry(raw)
		if err != nil || !found {
			t.Fatalf("%v in %s", err, raw)
		}
		return append([]string{s.Command}, s.Args...)
	}
	var file map[string]map[string]struct {
		Command any
		Args    []string
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for _, servers := range file {
		switch command := servers["rye"].Command.(type) {
		case string:
			return append([]string{command}, servers["rye"].Args...)
		case []any:
			for _, word := range command {
				argv = append(argv, fmt.Sprint(word))
			}
			return argv
		}
	}
	t.Fatalf("no entry in %s", raw)
	return nil
}

// askServer starts a server, and returns what it says of its tools and of an item of the project.
func askServer(t *testing.T, h *home, argv []string, dir string) string {
	t.Helper()
	if !filepath.IsAbs(argv[0]) { // as a client finds it
		argv[0] = program(argv[0])
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, h.env
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search","arguments":{"query":"style"}}}
`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%q: %v", argv, err)
	}
	return string(out)
}

// TestInstallsAtOnce: processes that tell two clients with one file, while others take rye out
// of files beside it, lose nothing of it.
func TestInstallsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	before := "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n"
	h.write(".mcp.json", before)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			args := []string{"mcp", "install", []string{"claude-code", "copilot-cli"}[i%2], "--scope", "project"}
			if i > 5 {
				args = []string{"mcp", "install", "cursor", "vscode"}
			}
			if out, err := h.command(args...).CombinedOutput(); err != nil {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
		})
	}
	all.Wait()
	if got := h.read(".mcp.json"); strings.Count(got, `"rye": {`) != 1 || !strings.Contains(got, `"other": {"command": "x"}`) {
		t.Errorf("it became\n%s", got)
	}
	h.rye("mcp", "uninstall", "claude-code", "--scope", "project")
	if got := h.read(".mcp.json"); got != before {
		t.Errorf("%q is left", got)
	}
	left, err := filepath.Glob(filepath.Join(h.dir, ".rye-tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q are left: %v", left, err)
	}
}
