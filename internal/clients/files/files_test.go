package files

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/testkit"
)

// bench is a person's machine: a home, a project, and a rye.
type bench struct {
	*testing.T
	*Host
	asked []rye.Question
	yes   bool
}

func newBench(t *testing.T) *bench {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t}
	b.Host = &Host{
		Machine: clients.Machine{OS: "linux", Home: filepath.Join(top, "home"), Getenv: func(string) string { return "" }},
		Project: filepath.Join(top, "project"), State: filepath.Join(top, "state"), Rye: filepath.Join(top, "bin", "rye"),
		Dir:    func(dir string) bool { _, err := os.Stat(filepath.Join(dir, ".ai")); return err == nil },
		Lookup: func(string) string { return "" },
		Ask: func(_ context.Context, q rye.Question) (bool, error) {
			b.asked = append(b.asked, q)
			return b.yes, nil
		},
	}
	b.put(b.Rye, "program", 0o755)
	for _, dir := range []string{b.Home, filepath.Join(b.Project, ".ai")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) put(path, text string, mode fs.FileMode) {
	b.Helper()
	testkit.WriteFile(b, path, text, mode)
	testkit.Must(b, os.Chmod(path, mode))
}

func (b *bench) text(path string) string {
	b.Helper()
	return testkit.ReadFile(b, path)
}

func (b *bench) request(name string, scope clients.Scope) Request {
	b.Helper()
	c, err := clients.Find(name)
	if err != nil {
		b.Fatal(err)
	}
	return Request{Client: c, Scope: scope, Server: clients.Server{Command: b.Rye, Args: []string{"mcp"}}}
}

func (b *bench) install(q Request) *Report {
	b.Helper()
	rep, err := Install(b.Context(), rye.Terminal(), b.Host, q)
	if err != nil {
		b.Fatal(err)
	}
	return rep
}

func (b *bench) refused(q Request, code fault.Code, says string) {
	b.Helper()
	rep, err := Install(b.Context(), rye.Terminal(), b.Host, q)
	if !fault.Is(err, code) || !strings.Contains(fmt.Sprint(err), says) {
		b.Errorf("%v, %v; want %s: %q", rep, err, code, says)
	}
}

// TestEveryFile: in every client's file of every scope, whatever is there, the entry comes
// and goes, and the bytes that were there come back.
func TestEveryFile(t *testing.T) {
	for _, c := range clients.All() {
		for _, scope := range clients.Scopes {
			if !c.Has(scope) {
				continue
			}
			t.Run(c.Name+"/"+string(scope), func(t *testing.T) {
				t.Parallel()
				everyText(t, c.Name, scope)
			})
		}
	}
}

func everyText(t *testing.T, name string, scope clients.Scope) {
	b := newBench(t)
	q := b.request(name, scope)
	if scope == clients.Project {
		q.Server.Command = "rye"
	}
	f, err := b.file(q.Client, scope)
	if err != nil {
		t.Fatal(err)
	}
	older := q.Server
	older.Args = []string{"mcp", "-C", "/gone"}
	ours, err := q.Client.With(nil, older, false)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := q.Client.With(nil, clients.Server{Command: "/usr/bin/other", Args: []string{"--rye"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"absent": "-", "empty": "", "blank": "\n\n", "ours": string(ours), "theirs": string(theirs)} {
		os.RemoveAll(b.State)
		os.Remove(f.path)
		if text != "-" {
			b.put(f.path, text, 0o640)
		}
		q.Force, b.asked = false, nil
		if what == "theirs" {
			b.refused(q, fault.Denied, "declined")
			if b.text(f.path) != text || len(b.asked) != 1 || !strings.Contains(strings.Join(b.asked[0].Lines, "\n"), "/usr/bin/other") {
				t.Errorf("%s: asked %+v", what, b.asked)
			}
			q.Force = true
		}
		q.DryRun = true
		if rep := b.install(q); len(rep.Changes) == 0 || text != "-" && b.text(f.path) != text {
			t.Errorf("%s: a dry run: %+v", what, rep)
		}
		q.DryRun = false
		rep := b.install(q)
		if want := map[string]string{"ours": "updated", "theirs": "updated"}[what]; rep.Status != or(want, "installed") {
			t.Errorf("%s: %+v", what, rep)
		}
		if (rep.Copy != "") != (what == "theirs") || rep.Copy != "" && b.text(rep.Copy) != text {
			t.Errorf("%s: the copy %q", what, rep.Copy)
		}
		if again := b.install(q); again.Status != "unchanged" {
			t.Errorf("%s: a second time: %+v", what, again)
		}
		if s := b.state(name, scope); s.State != Known {
			t.Errorf("%s: %+v", what, s)
		}
		if info, err := os.Stat(f.path); err != nil || text != "-" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", what, info.Mode(), err)
		}
		gone, err := Uninstall(t.Context(), rye.Terminal(), b.Host, q)
		if err != nil || gone.Status != "removed" {
			t.Fatalf("%s: %+v, %v", what, gone, err)
		}
		if raw, err := os.ReadFile(f.path); text == "-" && err == nil || text != "-" && what != "theirs" && what != "ours" && string(raw) != text {
			t.Errorf("%s: %q was there, %q is left", what, text, raw)
		}
		if gone, err = Uninstall(t.Context(), rye.Terminal(), b.Host, q); err != nil || gone.Status != "absent" {
			t.Errorf("%s: a second time: %+v, %v", what, gone, err)
		}
	}
	b.put(f.path, "{ [ broken = ", 0o600)
	b.refused(q, fault.Malformed, f.path)
	if b.text(f.path) != "{ [ broken = " || b.state(name, scope).State != Unknown {
		t.Errorf("broken: %+v", b.state(name, scope))
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (b *bench) state(name string, scope clients.Scope) State {
	b.Helper()
	all, err := States(rye.Terminal(), b.Host)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range all {
		if s.Client == name && s.Scope == scope {
			return s
		}
	}
	b.Fatalf("no state of %s", name)
	return State{}
}

// TestLinks: a link that stays in the home directory is followed and stays a link; one that
// leaves it, or the project, is refused, and nothing is written where it leads.
func TestLinks(t *testing.T) {
	b := newBench(t)
	dotfile := filepath.Join(b.Home, "dotfiles", "claude.json")
	b.put(dotfile, "{\"a\": 1}\n", 0o600)
	link := filepath.Join(b.Home, ".claude.json")
	b.link(dotfile, link)
	b.install(b.request("claude-code", clients.User))
	if to, err := os.Readlink(link); err != nil || to != dotfile || !strings.Contains(b.text(dotfile), `"rye"`) {
		t.Errorf("%s, %v: %s", to, err, b.text(dotfile))
	}
	outside := filepath.Join(filepath.Dir(b.Home), "elsewhere")
	b.put(filepath.Join(outside, "mcp.json"), "{}", 0o600)
	for name, scope := range map[string]clients.Scope{".cursor": clients.User, ".vscode": clients.Project} {
		at := filepath.Join(b.Home, name)
		if scope == clients.Project {
			at = filepath.Join(b.Project, name)
		}
		b.link(outside, at)
		b.refused(b.request(strings.TrimPrefix(name, "."), scope), fault.Malformed, "outside of")
	}
	b.put(filepath.Join(b.Home, "mcp.json"), "{}", 0o600)
	b.link(filepath.Join(b.Home, "mcp.json"), filepath.Join(b.Project, ".mcp.json")) // of the project, into the home
	b.refused(b.request("claude-code", clients.Project), fault.Malformed, "outside of")
	b.link(filepath.Join(b.Home, "nowhere"), filepath.Join(b.Home, ".gemini"))
	b.refused(b.request("gemini-cli", clients.User), fault.Malformed, "a broken link")
	if got := b.text(filepath.Join(outside, "mcp.json")); got != "{}" {
		t.Errorf("outside was written: %s", got)
	}
}

func (b *bench) link(to, at string) {
	b.Helper()
	if err := os.Symlink(to, at); err != nil {
		b.Fatal(err)
	}
}

// TestNotOurs: a file of somebody else, one that is no file, and one that is too large are
// left alone.
func TestNotOurs(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(filepath.Join(b.Home, ".claude.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.refused(b.request("claude-code", clients.User), fault.Malformed, "not a regular file")
	b.put(filepath.Join(b.Home, ".cursor", "mcp.json"), strings.Repeat(" ", clients.MaxFile+1), 0o600)
	b.refused(b.request("cursor", clients.User), fault.Limit, "larger")
	if os.Geteuid() != 0 {
		return
	}
	theirs := filepath.Join(b.Home, ".gemini", "settings.json")
	b.put(theirs, "{}", 0o666)
	if err := os.Chown(theirs, 61_238, 61_238); err != nil {
		t.Fatal(err)
	}
	b.refused(b.request("gemini-cli", clients.User), fault.Auth, "belongs to user 61238")
	if err := os.Chown(b.Home, 61_238, 61_238); err != nil { // as with sudo
		t.Fatal(err)
	}
	b.refused(b.request("kiro", clients.User), fault.Auth, b.Home+" belongs to user 61238")
}

// TestLadenByAClone: an entry of a project's file that starts rye with more than rye says is
// not taken for rye's; the user's own additions are.
func TestLadenByAClone(t *testing.T) {
	b := newBench(t)
	for _, tc := range []struct{ client, path, text, says string }{
		{"claude-code", ".mcp.json", `{"mcpServers": {"rye": {"type": "stdio", "command": "rye", "args": ["mcp"], "env": {"LD_PRELOAD": "./x.so"}}}}`, "env"},
		{"cursor", ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": "rye", "args": ["mcp"], "envFile": "x"}}}`, "envFile"},
		{"codex", ".codex/config.toml", "[mcp_servers.rye]\ncommand = \"rye\"\nargs = [\"mcp\"]\ncwd = \"x\"\n", "cwd"},
		{"goose", ".goose/config.yaml", "extensions:\n  rye: {name: rye, type: stdio, cmd: rye, args: [mcp], envs: {A: b}}\n", "envs"},
	} {
		b.put(filepath.Join(b.Project, tc.path), tc.text, 0o644)
		q := b.request(tc.client, clients.Project)
		q.Server.Command = "rye"
		if s := b.state(tc.client, clients.Project); s.State != Other || !strings.HasSuffix(s.Text, "with "+tc.says) {
			t.Errorf("%+v", s)
		}
		b.refused(q, fault.Denied, "declined")
		q.Force = true
		b.install(q)
		if s := b.state(tc.client, clients.Project); s.State != Known {
			t.Errorf("%+v: %s", s, b.text(filepath.Join(b.Project, tc.path)))
		}
	}
	b.put(filepath.Join(b.Project, ".mcp.json"), `{"mcpServers": {"rye": {"command": "./rye", "args": ["mcp"]}}}`, 0o644)
	if s := b.state("claude-code", clients.Project); s.State != Stale || !strings.Contains(s.Text, "starts ./rye") {
		t.Errorf("%+v", s)
	}
	b.put(filepath.Join(b.Home, ".cursor", "mcp.json"), `{"mcpServers": {"rye": {"command": "`+b.Rye+`", "args": ["mcp"], "env": {"RYE_KEY": "work"}}}}`, 0o600)
	if s := b.state("cursor", clients.User); s.State != Known {
		t.Errorf("%+v", s)
	}
}

// TestNobodyElse: only a person tells other programs what to start.
func TestNobodyElse(t *testing.T) {
	b := newBench(t)
	q := b.request("claude-code", clients.User)
	for _, c := range []rye.Caller{{}, rye.Inside(), rye.Client(), rye.Program("x", "rye.*")} {
		_, in := Install(t.Context(), c, b.Host, q)
		_, out := Uninstall(t.Context(), c, b.Host, q)
		if _, err := States(c, b.Host); !fault.Is(err, fault.Denied) || !fault.Is(in, fault.Denied) || !fault.Is(out, fault.Denied) {
			t.Errorf("%q: %v, %v, %v", c.Name(), in, out, err)
		}
	}
	if _, err := os.Stat(filepath.Join(b.Home, ".claude.json")); err == nil {
		t.Error("it was written")
	}
}

// TestTokens: a token comes into a file that only the user reads, never into one that is
// shared or published; and nothing that is shown has it.
func TestTokens(t *testing.T) {
	b := newBench(t)
	q := b.request("cursor", clients.User)
	path := filepath.Join(b.Home, ".cursor", "mcp.json")
	b.put(path, "{}", 0o644)
	q.Server = clients.Server{URL: "http://127.0.0.1:1/mcp", Token: "hunter2"}
	rep := b.install(q)
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 || !strings.Contains(b.text(path), "Bearer hunter2") {
		t.Errorf("%v: %s", info.Mode(), b.text(path))
	}
	if s := b.state("cursor", clients.User); strings.Contains(fmt.Sprint(rep, s), "hunter2") || len(rep.Changes) == 0 {
		t.Errorf("shown: %+v %+v", rep, s)
	}
	q.Scope = clients.Project
	b.refused(q, fault.Denied, "everyone in it")
	b.put(filepath.Join(b.Home, "dotfiles", ".git", "HEAD"), "", 0o600)
	b.put(filepath.Join(b.Home, "dotfiles", "gemini", "settings.json"), "{}", 0o600)
	b.link(filepath.Join(b.Home, "dotfiles", "gemini"), filepath.Join(b.Home, ".gemini"))
	g := b.request("gemini-cli", clients.User)
	g.Server = q.Server
	b.refused(g, fault.Denied, "in the repository")
	g.Server = clients.Server{URL: q.Server.URL, Var: "RYE_MCP_TOKEN"}
	b.install(g)
	// Another address is another server: that is asked about, and says no token.
	q.Scope, q.Server.URL, q.Server.Token = clients.User, "http://127.0.0.1:2/mcp", "other"
	b.refused(q, fault.Denied, "declined")
	if strings.Contains(fmt.Sprint(b.asked), "hunter2") || strings.Contains(fmt.Sprint(b.asked), `"other"`) {
		t.Errorf("asked: %v", b.asked)
	}
}

// TestUninstallKeepsWhatCame: what was written into a file since the install stays.
func TestUninstallKeepsWhatCame(t *testing.T) {
	b := newBench(t)
	q, path := b.request("cursor", clients.User), filepath.Join(b.Home, ".cursor", "mcp.json")
	for _, before := range []string{"-", "{\"a\": 1}\n"} {
		os.RemoveAll(filepath.Dir(path))
		if before != "-" {
			b.put(path, before, 0o600)
		}
		b.install(q)
		b.put(path, strings.Replace(b.text(path), "\"rye\": {", "\"new\": {\"command\": \"y\"},\n    \"rye\": {", 1), 0o600)
		if _, err := Uninstall(t.Context(), rye.Terminal(), b.Host, q); err != nil || !strings.Contains(b.text(path), "\"new\": {\"command\": \"y\"}\n") || strings.Contains(b.text(path), "rye") {
			t.Errorf("%v: %s", err, b.text(path))
		}
	}
}

// TestUninstallStrict: an entry that is not as rye writes it stays, byte for byte, and the reason
// is named; --force removes it, and keeps a copy of the file.
func TestUninstallStrict(t *testing.T) {
	b := newBench(t)
	other := filepath.Join(filepath.Dir(b.Home), "elsewhere", "rye")
	b.put(other, "another program", 0o755)
	rye0 := fmt.Sprintf("%q", b.Rye)
	for name, tc := range map[string]struct {
		client string
		scope  clients.Scope
		path   string
		text   string
		why    string // "" for an entry of rye's own
	}{
		"own":                {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": ` + rye0 + `, "args": ["mcp"]}}}`, ""},
		"directories":        {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": ` + rye0 + `, "args": ["mcp", "-C", "/a", "--project", "/b", "--project", "/c"]}}}`, ""},
		"a default is gone":  {"claude-code", clients.User, ".claude.json", `{"mcpServers": {"rye": {"type": "stdio", "command": ` + rye0 + `, "args": ["mcp"]}}}`, ""},
		"a shared file":      {"claude-code", clients.Project, ".mcp.json", `{"mcpServers": {"rye": {"type": "stdio", "command": "rye", "args": ["mcp"], "env": {}, "tools": ["*"]}}}`, ""},
		"variables":          {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": ` + rye0 + `, "args": ["mcp"], "env": {"RYE_KEY": "work"}}}}`, "rye did not write its env"},
		"a limit, and more":  {"codex", clients.User, ".codex/config.toml", "[mcp_servers.rye]\ncommand = " + rye0 + "\nargs = [\"mcp\"]\ncwd = \"/x\"\nstartup_timeout_sec = 20\n", "rye did not write its cwd, startup_timeout_sec"},
		"switched off":       {"opencode", clients.User, ".config/opencode/opencode.jsonc", `{"mcp": {"rye": {"type": "local", "command": [` + rye0 + `, "mcp"], "enabled": false}}}`, "rye did not write its enabled"},
		"another kind":       {"vscode", clients.User, ".config/Code/User/mcp.json", `{"servers": {"rye": {"type": "sse", "command": ` + rye0 + `, "args": ["mcp"]}}}`, "rye did not write its type"},
		"a member is gone":   {"vscode", clients.User, ".config/Code/User/mcp.json", `{"servers": {"rye": {"command": ` + rye0 + `, "args": ["mcp"]}}}`, "type is missing"},
		"program and name":   {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": "` + other + `", "args": ["mcp"]}}}`, "it starts " + other + ", not this rye"},
		"through PATH":       {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": "rye", "args": ["mcp"]}}}`, "it starts rye, not this rye"},
		"no program":         {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"args": ["mcp"]}}}`, "not this rye"},
		"a flag":             {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": ` + rye0 + `, "args": ["mcp", "--offline"]}}}`, "rye did not write its args"},
		"another command":    {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": ` + rye0 + `, "args": ["mcp", "serve"]}}}`, "rye did not write its args"},
		"a relative project": {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": ` + rye0 + `, "args": ["mcp", "-C", "x"]}}}`, "rye did not write its args"},
		"a path in a clone":  {"cursor", clients.Project, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": "./rye", "args": ["mcp"]}}}`, "it starts ./rye, not this rye"},
		"this path, shared":  {"cursor", clients.Project, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": ` + rye0 + `, "args": ["mcp"]}}}`, "not this rye"},
		"args in a clone":    {"cursor", clients.Project, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": "rye", "args": ["mcp", "-C", "/a"]}}}`, "rye did not write its args"},
		"laden by a clone":   {"cursor", clients.Project, ".cursor/mcp.json", `{"mcpServers": {"rye": {"command": "rye", "args": ["mcp"], "envFile": "x"}}}`, "rye did not write its envFile"},
		"an address":         {"cursor", clients.User, ".cursor/mcp.json", `{"mcpServers": {"rye": {"url": "https://me:hunter2@rye.example.org/mcp"}}}`, "it calls an address that rye did not write"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T, b.asked = t, nil
			top := b.Home
			if tc.scope == clients.Project {
				top = b.Project
			}
			path := filepath.Join(top, filepath.FromSlash(tc.path))
			defer os.Remove(path)
			b.put(path, tc.text, 0o600)
			q := b.request(tc.client, tc.scope)
			q.DryRun = true
			dry, err := Uninstall(t.Context(), rye.Terminal(), b.Host, q)
			if err != nil || dry.Status != "removed" || !strings.HasSuffix(dry.Reason, tc.why) || (dry.Reason == "") != (tc.why == "") {
				t.Fatalf("%+v, %v; want the reason %q", dry, err, tc.why)
			}
			q.DryRun = false
			rep, err := Uninstall(t.Context(), rye.Terminal(), b.Host, q)
			if tc.why == "" {
				if err != nil || rep.Copy != "" || len(b.asked) != 0 || strings.Contains(b.text(path), "rye") {
					t.Errorf("%+v, %v: %s", rep, err, b.text(path))
				}
				return
			}
			if !fault.Is(err, fault.Denied) || len(b.asked) != 1 || !strings.Contains(b.asked[0].Text, tc.why) || b.text(path) != tc.text {
				t.Fatalf("%+v, %v, asked %+v: %s", rep, err, b.asked, b.text(path))
			}
			if said := fmt.Sprint(err, b.asked); strings.Contains(said, "hunter2") {
				t.Errorf("a secret is shown: %s", said)
			}
			q.Force = true
			if rep, err = Uninstall(t.Context(), rye.Terminal(), b.Host, q); err != nil || b.text(rep.Copy) != tc.text || strings.Contains(b.text(path), b.Rye) {
				t.Errorf("%+v, %v: %s", rep, err, b.text(path))
			}
		})
	}
}

// TestUninstallFormer: rye knows its entry after the program has moved, and an address that it
// wrote, and takes nobody else's word for either.
func TestUninstallFormer(t *testing.T) {
	b := newBench(t)
	q := b.request("cursor", clients.User)
	path := filepath.Join(b.Home, ".cursor", "mcp.json")
	b.put(path, "{}\n", 0o600)
	b.install(q)
	b.Rye = filepath.Join(filepath.Dir(b.Home), "new", "rye")
	b.put(b.Rye, "a newer program", 0o755)
	if rep, err := Uninstall(t.Context(), rye.Terminal(), b.Host, q); err != nil || rep.Status != "removed" || b.text(path) != "{}\n" {
		t.Errorf("%+v, %v: %s", rep, err, b.text(path))
	}
	q.Server = clients.Server{URL: "http://127.0.0.1:1/mcp", Token: "hunter2"}
	b.install(q)
	edited := strings.Replace(b.text(path), "Authorization", "X-More\": \"1\", \"Authorization", 1)
	whole := b.text(path)
	b.put(path, edited, 0o600)
	if _, err := Uninstall(t.Context(), rye.Terminal(), b.Host, q); !fault.Is(err, fault.Denied) || b.text(path) != edited {
		t.Errorf("a further header: %v", err)
	}
	b.put(path, whole, 0o600)
	if rep, err := Uninstall(t.Context(), rye.Terminal(), b.Host, q); err != nil || rep.Status != "removed" || b.text(path) != "{}\n" {
		t.Errorf("%+v, %v: %s", rep, err, b.text(path))
	}
	if noted := b.text(b.writtenPath()); strings.Contains(noted, "hunter2") || strings.Count(noted, "\n") != 2 {
		t.Errorf("noted: %q", noted)
	}
}

// TestStale: doctor's word for a client that knows another rye, or a directory that is gone.
func TestStale(t *testing.T) {
	b := newBench(t)
	q := b.request("claude-desktop", clients.User)
	q.Server.Args = []string{"mcp", "-C", b.Project}
	b.install(q)
	if s := b.state("claude-desktop", clients.User); s.State != Known || !s.Found {
		t.Errorf("%+v", s)
	}
	moved := b.Project + "2"
	if err := os.Rename(b.Project, moved); err != nil {
		t.Fatal(err)
	}
	if s := b.state("claude-desktop", clients.User); s.State != Stale || !strings.Contains(s.Text, "no longer a project") {
		t.Errorf("%+v", s)
	}
	b.Rye = b.Rye + "2"
	b.put(b.Rye, "another", 0o755)
	if s := b.state("claude-desktop", clients.User); s.State != Stale || !strings.Contains(s.Text, "this is "+b.Rye) {
		t.Errorf("%+v", s)
	}
}

// TestTwoAtOnce: installs and uninstalls of several clients that share a file, and a program
// that writes it meanwhile: nothing is lost.
func TestTwoAtOnce(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.Project, ".mcp.json") // of Claude Code and of Copilot
	var wg sync.WaitGroup
	for i := range 12 {
		q := b.request([]string{"claude-code", "copilot-cli"}[i%2], clients.Project)
		q.Force = true
		wg.Go(func() {
			if _, err := Install(context.Background(), rye.Terminal(), b.Host, q); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(b.text(path), `"rye"`); n != 1 {
		t.Errorf("%d entries:\n%s", n, b.text(path))
	}
	// The client itself writes between our reading and our writing.
	q := b.request("cursor", clients.User)
	f, err := b.file(q.Client, q.Scope)
	if err != nil {
		t.Fatal(err)
	}
	b.put(f.path, "{\"mcpServers\": {\"rye\": {\"command\": \"x\"}}}", 0o600)
	b.yes = true
	b.Ask = func(context.Context, rye.Question) (bool, error) {
		b.put(f.path, "{\"mcpServers\": {\"rye\": {\"command\": \"x\"}, \"new\": {\"command\": \"y\"}}}", 0o600)
		b.Ask = func(context.Context, rye.Question) (bool, error) { return true, nil }
		return true, nil
	}
	b.install(q)
	if got := b.text(f.path); !strings.Contains(got, `"new"`) || !strings.Contains(got, b.Rye) {
		t.Errorf("what the client wrote is lost: %s", got)
	}
}

// TestHalfWritten: what a process left that was killed while it wrote is in nobody's way, and
// the file is the old one until it is the new one.
func TestHalfWritten(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.Home, ".cursor", "mcp.json")
	b.put(path, "{}\n", 0o600)
	left := filepath.Join(filepath.Dir(path), tempName)
	b.put(left, "{\"mcpServ", 0o600)
	b.install(b.request("cursor", clients.User))
	if _, err := os.Stat(left); err == nil || !strings.Contains(b.text(path), `"rye"`) {
		t.Errorf("%v: %s", err, b.text(path))
	}
	if os.Geteuid() == 0 { // where root can write anywhere, nothing shows what follows
		return
	}
	if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
		t.Fatal(err)
	}
	before := b.text(path)
	q := b.request("cursor", clients.User)
	q.Server.Args = append(q.Server.Args, "--offline")
	b.refused(q, fault.Failed, path)
	if b.text(path) != before {
		t.Error("it changed")
	}
}
