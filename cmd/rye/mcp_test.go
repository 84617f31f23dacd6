package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye/internal/agents"
	"github.com/rye-os/rye/internal/testkit"
)

// home is a person with a project, and the programs at hand.
type home struct {
	t   testing.TB
	env []string
	dir string // the project
	as  *syscall.SysProcAttr

	wrap []string // the program, and its first arguments, that starts rye; nil is rye itself
}

func newHome(t testing.TB) *home {
	t.Helper()
	h := emptyHome(t)
	h.rye("init", "--namespace", "acme")
	return h
}

// ofAgent reports whether a variable (name=value) is the mark of an agent, which may run these tests.
func ofAgent(kv string) bool {
	_, ok := agents.Find([]string{kv}, agents.Known, false)
	return ok
}

// emptyHome is the home of somebody who has not used rye yet, and a directory for a project.
func emptyHome(t testing.TB) *home {
	t.Helper()
	top := t.TempDir()
	h := &home{t: t, dir: filepath.Join(top, "project")}
	user := filepath.Join(top, "home")
	for _, d := range []string{h.dir, user} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "RYE_") && !strings.HasPrefix(name, "XDG_") && name != "USER_SPACE" && !ofAgent(kv) {
			h.env = append(h.env, kv)
		}
	}
	h.env = append(h.env, "HOME="+user, "USERPROFILE="+user, "APPDATA="+filepath.Join(user, "a"), "LOCALAPPDATA="+filepath.Join(user, "l"))
	return h
}

// store returns the git repository that remembers the project.
func (h *home) store() string {
	h.t.Helper()
	return strings.TrimSpace(h.rye("where", "record"))
}

// variable returns what a variable of the person's is.
func (h *home) variable(name string) (value string) {
	for _, kv := range h.env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

func (h *home) command(args ...string) *exec.Cmd {
	argv := append(append(h.wrap[:len(h.wrap):len(h.wrap)], program("rye")), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = h.dir, h.env, h.as
	return cmd
}

// rye runs a command that must succeed and returns its standard output.
func (h *home) rye(args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("rye %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func (h *home) write(path, text string) {
	h.t.Helper()
	testkit.WriteFile(h.t, filepath.Join(h.dir, filepath.FromSlash(path)), text, 0o644)
}

// lists says in the person's policy that an MCP client shows them its questions.
func (h *home) lists(client string) {
	h.t.Helper()
	path := filepath.Join(strings.TrimSpace(h.rye("where", "config")), "policy.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		text = []byte("policy: 1\n")
	}
	if err := os.WriteFile(path, append(text, "\nelicitation: ["+client+"]\n"...), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// connect starts rye mcp, with these arguments, and returns the official client's session and what tells what
// the server has written to standard error.
func (h *home) connect(o *mcp.ClientOptions, args ...string) (_ *mcp.ClientSession, stderr func() string) {
	h.t.Helper()
	cmd := h.command(append([]string{"mcp"}, args...)...)
	file, err := os.Create(filepath.Join(h.t.TempDir(), "stderr"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer file.Close()
	cmd.Stderr = file
	stderr = func() string { text, _ := os.ReadFile(file.Name()); return string(text) }
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		h.t.Fatalf("connect: %v\n%s", err, stderr())
	}
	h.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			h.t.Errorf("rye mcp did not end well: %v\n%s", err, stderr())
		}
	})
	return s, stderr
}

// call returns the facts of an answer, with the text behind them as "text".
func call(t testing.TB, s *mcp.ClientSession, tool string, args map[string]any) (map[string]any, bool) {
	t.Helper()
	res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var got map[string]any
	for i, c := range res.Content {
		text, ok := c.(*mcp.TextContent)
		switch {
		case ok && i == 0:
			if err := json.Unmarshal([]byte(text.Text), &got); err != nil {
				t.Fatalf("%s: %q: %v", tool, text.Text, err)
			}
		case ok:
			got["text"] = text.Text
		}
	}
	return got, res.IsError
}

func needBash(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the tools here are for bash")
	}
}

const slowTool = `#!/usr/bin/env bash
# version: 1.0.0
# tool_type: bash
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Say that it began, and take its time.
echo begun
sleep 30
echo ended
`

const failingTool = `#!/usr/bin/env bash
# version: 1.0.0
# tool_type: bash
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Fail.
echo broken >&2
exit 3
`

// TestMCP goes through the four tools of the real process with the official client.
func TestMCP(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.rye("new", "tool", "acme/hello", "--lang", "bash", "--description", "Greet somebody")
	h.rye("new", "directive", "acme/review")
	h.write(".ai/tools/acme/fails.sh", failingTool)
	h.rye("sign", "--all")
	h.write(".ai/tools/acme/stranger.sh", failingTool)
	s, stderr := h.connect(nil)

	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "execute load search sign" {
		t.Errorf("tools: %s", got)
	}
	for _, c := range []struct {
		name, tool string
		args       map[string]any
		code       string // "" for success
		want       string // in the answer's JSON
	}{
		{"search", "search", map[string]any{"query": "greet", "scope": "tool"}, "", `"id":"acme/hello"`},
		{"load", "load", map[string]any{"item_type": "tool", "item_id": "acme/hello"}, "", "rye:signed:v2:"},
		{"load from the system", "load", map[string]any{"item_type": "tool", "item_id": "rye/core/runtimes/bash_runtime", "source": "system"}, "", "executor_id"},
		{"execute a tool", "execute", map[string]any{"item_type": "tool", "item_id": "acme/hello", "parameters": map[string]any{"name": "ada"}}, "", "hello, ada"},
		{"execute a directive", "execute", map[string]any{"item_type": "directive", "item_id": "acme/review", "parameters": map[string]any{"subject": "naming"}}, "", "Work on naming"},
		{"dry run", "execute", map[string]any{"item_type": "tool", "item_id": "acme/hello", "dry_run": true}, "", "validation_passed"},
		{"by project_path", "execute", map[string]any{"item_type": "tool", "item_id": "acme/hello", "project_path": h.dir}, "", "hello, world"},
		{"not found", "execute", map[string]any{"item_type": "tool", "item_id": "acme/nothing"}, "not_found", "acme/nothing"},
		{"unsigned", "execute", map[string]any{"item_type": "tool", "item_id": "acme/stranger"}, "untrusted", `"hint":{"arguments":{"item_id":"acme/stranger","item_type":"tool"},"tool":"sign"}`},
		{"failing", "execute", map[string]any{"item_type": "tool", "item_id": "acme/fails"}, "failed", "broken"},
		{"wrong parameters", "execute", map[string]any{"item_type": "tool", "item_id": "acme/hello", "parameters": map[string]any{"nme": "x"}}, "usage", `"parameters":"name`},
		{"dots", "load", map[string]any{"item_type": "tool", "item_id": "../../etc/passwd"}, "usage", "id"},
		{"another place", "load", map[string]any{"item_type": "tool", "item_id": "acme/hello", "project_path": t.TempDir()}, "denied", "does not serve that project"},
		{"copy", "load", map[string]any{"item_type": "tool", "item_id": "acme/hello", "destination": "user"}, "denied", "rye add"},
		{"sign with nobody to ask", "sign", map[string]any{"item_type": "tool", "item_id": "acme/stranger"}, "denied", "rye approve "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, isError := call(t, s, c.tool, c.args)
			raw, _ := json.Marshal(got)
			text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(raw))
			code, _ := got["code"].(string)
			if code != c.code || isError != (c.code != "") || !strings.Contains(text, c.want) {
				t.Errorf("%s, error %v; want code %q and %q", raw, isError, c.code, c.want)
			}
		})
	}
	if said := stderr(); said != "" {
		t.Errorf("the server said: %s", said)
	}
}

// TestMCPSign: a person sees the change, and only a yes signs it.
func TestMCPSign(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	var asked []string
	approve := false
	h.lists("test")
	s, _ := h.connect(&mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, q.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": approve}}, nil
	}})
	args := map[string]any{"item_type": "knowledge", "item_id": "acme/style"}
	if got, isError := call(t, s, "sign", args); !isError || got["code"] != "denied" {
		t.Errorf("not approved, yet: %v", got)
	}
	if status := h.rye("status"); !strings.Contains(status, "unsigned") {
		t.Errorf("not approved, yet: %s", status)
	}
	approve = true
	if got, isError := call(t, s, "sign", args); isError || got["status"] != "signed" {
		t.Errorf("approved, yet: %v", got)
	}
	if len(asked) != 2 || asked[0] != asked[1] || !strings.Contains(asked[0], "+What a reader should know.") || !strings.Contains(asked[0], "sha256:") {
		t.Errorf("asked %q", asked)
	}
	path := filepath.Join(h.dir, ".ai", "knowledge", "acme", "style.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(raw, []byte("What a reader should know."), []byte("Forget it all."), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, isError := call(t, s, "sign", args); isError {
		t.Fatalf("%v", got)
	}
	if last := asked[len(asked)-1]; !strings.Contains(last, "-What a reader should know.") || !strings.Contains(last, "+Forget it all.") || strings.Contains(last, "+---") {
		t.Errorf("the change was shown as %q", last)
	}
	if out := h.rye("load", "knowledge:acme/style"); !strings.Contains(out, "Forget it all.") {
		t.Errorf("after signing: %s", out)
	}
}

// TestMCPCancel: a cancelled call's process ends, and the server goes on.
func TestMCPCancel(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.write(".ai/tools/acme/slow.sh", slowTool)
	h.rye("sign", "--all")
	begun := make(chan struct{}, 16)
	s, _ := h.connect(&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
		if n.Params.Message == "begun" {
			begun <- struct{}{}
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	p := &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"item_type": "tool", "item_id": "acme/slow"}}
	p.SetProgressToken("slow")
	start := time.Now()
	if _, err := s.CallTool(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, isError := call(t, s, "search", map[string]any{"query": "*"}); isError {
		t.Error("the server does not answer any more")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v: the tool was waited for", took)
	}
}

// TestMCPEnds: on an interrupt and at the end of its input, the process ends.
func TestMCPEnds(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	cmd := h.command("mcp")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("empty input: %v %q", err, out)
	}
	cmd = h.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"))
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		cmd.Process.Kill() // Windows has no signal for this
		cmd.Wait()
		return
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("interrupted: %v, want status 130", err)
	}
}

// TestInterrupt: Ctrl-C ends the tool, and rye with its own status.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	needBash(t)
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent Ctrl-C there")
	}
	h := newHome(t)
	h.write(".ai/tools/acme/slow.sh", slowTool)
	h.rye("sign", "--all")
	cmd := h.command("execute", "tool:acme/slow")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "begun\n" {
		t.Fatalf("its output, while it runs: %q, %v", line, err)
	}
	cmd.Process.Signal(os.Interrupt)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 || !strings.Contains(stderr.String(), "rye: interrupted\n") {
		t.Errorf("%v, said %q; want status 130", err, stderr.String())
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v: the tool was waited for", took)
	}
}

// BenchmarkStart and BenchmarkStartBash stand beside each other: what a shell
// costs to start, and what rye does. make bench compares them properly.
func BenchmarkStart(b *testing.B) { benchmarkProcess(b, program("rye"), "version") }

func BenchmarkStartBash(b *testing.B) { benchmarkProcess(b, "bash", "-c", "true") }

func BenchmarkStartGit(b *testing.B) { benchmarkProcess(b, "git", "--version") }

func benchmarkProcess(b *testing.B, name string, args ...string) {
	path, err := exec.LookPath(name)
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		if err := exec.Command(path, args...).Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMCPCall is one round trip to the real server.
func BenchmarkMCPCall(b *testing.B) {
	h := newHome(b)
	h.rye("new", "knowledge", "acme/style")
	h.rye("sign", "--all")
	s, _ := h.connect(nil)
	for b.Loop() {
		call(b, s, "load", map[string]any{"item_type": "knowledge", "item_id": "acme/style"})
	}
}
