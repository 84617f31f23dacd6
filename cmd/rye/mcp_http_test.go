package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

// served is a rye that serves over HTTP.
type served struct {
	h      *home
	cmd    *exec.Cmd
	url    string // of /mcp
	stderr func() string
	ended  chan struct{}
}

// serveHTTP starts rye mcp serve --http on a free port. It ends with the test.
func (h *home) serveHTTP(args ...string) *served {
	h.t.Helper()
	cmd := h.command(append([]string{"mcp", "serve", "--http", "127.0.0.1:0"}, args...)...)
	file, err := os.Create(filepath.Join(h.t.TempDir(), "stderr"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer file.Close()
	cmd.Stderr = file
	s := &served{h: h, cmd: cmd, ended: make(chan struct{}), stderr: func() string { text, _ := os.ReadFile(file.Name()); return string(text) }}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { cmd.Wait(); close(s.ended) }()
	h.t.Cleanup(func() { cmd.Process.Kill(); <-s.ended })
	for range 1000 {
		if _, url, ok := strings.Cut(s.stderr(), "listening on "); ok && strings.HasSuffix(url, "\n") {
			s.url = strings.TrimSpace(url)
			return s
		}
		select {
		case <-s.ended:
			h.t.Fatalf("it ended: %s", s.stderr())
		case <-time.After(10 * time.Millisecond):
		}
	}
	h.t.Fatalf("it does not listen: %s", s.stderr())
	return nil
}

func (h *home) token(client string) string {
	h.t.Helper()
	return strings.TrimSpace(h.rye("mcp", "token", "add", client))
}

// withToken adds a token to requests.
type withToken string

func (b withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect is the official client, by streamable HTTP or by the transport of 2024-11-05.
func (s *served) connect(token string, o *mcp.ClientOptions, old bool) *mcp.ClientSession {
	s.h.t.Helper()
	web := &http.Client{Transport: withToken(token)}
	var by mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: web}
	if old {
		by = &mcp.SSEClientTransport{Endpoint: strings.TrimSuffix(s.url, "/mcp") + "/sse", HTTPClient: web}
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(context.Background(), by, nil)
	if err != nil {
		s.h.t.Fatalf("connect: %v\n%s", err, s.stderr())
	}
	s.h.t.Cleanup(func() { c.Close() })
	return c
}

// post sends one message of 2026-07-28, with the headers that belong to it.
func (s *served) post(token, method, name, params string) (*http.Response, string) {
	s.h.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, method, params)
	r, err := http.NewRequest("POST", s.url, strings.NewReader(body))
	if err != nil {
		s.h.t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.h.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.h.t.Fatal(err)
	}
	return res, string(text)
}

// TestOneTruth: the same request gives the same result and the same code, whichever way it
// comes: the command line, the Go API, MCP over pipes, over HTTP in both eras, and over the
// transport of 2024-11-05.
func TestOneTruth(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.write(".ai/tools/acme/count.sh", strings.Replace(failingTool, "echo broken >&2\nexit 3", `echo '{"n":12345678901234567890,"text":"<ü> & \"more\""}'`, 1))
	h.write(".ai/tools/acme/fails.sh", failingTool)
	h.write(".ai/tools/acme/denied.sh", failingTool)
	h.rye("new", "tool", "acme/hello", "--lang", "bash", "--description", "Greet somebody")
	h.rye("new", "knowledge", "acme/style")
	h.rye("new", "directive", "acme/review")
	h.rye("sign", "--all")
	h.write(".ai/tools/acme/stranger.sh", failingTool)
	if err := os.WriteFile(filepath.Join(strings.TrimSpace(h.rye("where", "config")), "policy.yaml"), []byte("policy: 1\ndeny: [rye.execute.tool.acme.denied]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := h.token("test")
	s := h.serveHTTP()
	pipes, _ := h.connect(nil)
	faces := map[string]func(truth) (string, string){
		"command line": h.byCommand,
		"Go API":       h.byAPI(),
		"stdio":        bySession(pipes),
		"HTTP":         bySession(s.connect(token, nil, false)),
		"old HTTP":     bySession(s.connect(token, nil, true)),
		"HTTP, 2026-07-28": func(q truth) (string, string) {
			raw, _ := json.Marshal(q.args)
			_, text := s.post(token, "tools/call", q.tool, fmt.Sprintf(`"name":%q,"arguments":%s,`, q.tool, raw))
			var m struct {
				Result mcp.CallToolResult `json:"result"`
			}
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return answerOf(&m.Result)
		},
	}
	params := func(text string) json.RawMessage { return json.RawMessage(text) }
	item := func(kind, id string) map[string]any { return map[string]any{"item_type": kind, "item_id": id} }
	with := func(m map[string]any, text string) map[string]any { m["parameters"] = params(text); return m }
	for _, q := range []truth{
		{"a tool that answers in JSON", "execute", "tool:acme/count", item("tool", "acme/count"), "", "12345678901234567890"},
		{"a tool with parameters", "execute", "tool:acme/hello", with(item("tool", "acme/hello"), `{"name":"ada"}`), "", "hello, ada"},
		{"a directive", "execute", "directive:acme/review", with(item("directive", "acme/review"), `{"subject":"naming"}`), "", "Work on naming"},
		{"an entry", "execute", "knowledge:acme/style", item("knowledge", "acme/style"), "", "What a reader should know."},
		{"an entry that is read", "load", "knowledge:acme/style", item("knowledge", "acme/style"), "", "rye:signed:v2:"},
		{"nothing", "execute", "tool:acme/nothing", item("tool", "acme/nothing"), "not_found", ""},
		{"nothing that is read", "load", "tool:acme/nothing", item("tool", "acme/nothing"), "not_found", ""},
		{"what nobody signed", "execute", "tool:acme/stranger", item("tool", "acme/stranger"), "untrusted", ""},
		{"a tool that fails", "execute", "tool:acme/fails", item("tool", "acme/fails"), "failed", ""},
		{"a parameter that is none", "execute", "tool:acme/hello", with(item("tool", "acme/hello"), `{"nme":"x"}`), "usage", ""},
		{"a name that is none", "load", "tool:../../etc/passwd", item("tool", "../../etc/passwd"), "usage", ""},
		{"what the policy denies", "execute", "tool:acme/denied", item("tool", "acme/denied"), "denied", ""},
		{"nothing that is signed", "sign", "tool:acme/nothing", item("tool", "acme/nothing"), "not_found", ""},
	} {
		for name, ask := range faces {
			code, text := ask(q)
			if code != q.code || !strings.Contains(text, q.want) {
				t.Errorf("%s, by %s: code %q, %.300q; want %q and %q", q.name, name, code, text, q.code, q.want)
			}
		}
	}
	if said := strings.SplitN(s.stderr(), "\n", 2)[1]; said != "" {
		t.Errorf("the server said: %s", said)
	}
}

// A truth is a request, and what it has to come to.
type truth struct {
	name, tool, ref string
	args            map[string]any
	code, want      string
}

func (h *home) byCommand(q truth) (code, text string) {
	args := []string{q.tool, q.ref}
	if p, ok := q.args["parameters"].(json.RawMessage); ok {
		args = append(args, "--params", string(p))
	}
	out, err := h.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		for _, c := range []fault.Code{fault.Failed, fault.Usage, fault.NotFound, fault.Untrusted, fault.Denied} {
			if c.Exit() == exit.ExitCode() {
				code = string(c)
			}
		}
	}
	return code, string(out)
}

// byAPI calls a workspace in this process, as the client that the servers are for.
func (h *home) byAPI() func(truth) (code, text string) {
	where := func(name string) string { return strings.TrimSpace(h.rye("where", name)) }
	w := workspace.Open(workspace.Options{Project: h.dir, User: h.variable("HOME"), Home: h.variable("HOME"), ConfigDir: where("config"), DataDir: where("data"),
		StateDir: where("state"), CacheDir: where("cache"), Path: h.variable("PATH"), Env: h.env})
	return func(q truth) (string, string) {
		ctx, c := h.t.Context(), rye.Client()
		ref, err := objects.ParseRef(q.ref)
		if err != nil {
			return string(fault.CodeOf(err)), ""
		}
		var value any
		switch q.tool {
		case "load":
			value, err = w.Load(ctx, c, rye.LoadRequest{Ref: ref})
		case "sign":
			value, err = w.Sign(ctx, c, rye.SignRequest{Targets: []rye.Target{rye.Target(q.ref)}})
		default:
			p, _ := q.args["parameters"].(json.RawMessage)
			res, e := w.Execute(ctx, c, rye.ExecuteRequest{Ref: ref, Params: p})
			if value, err = res, e; e == nil && res.Status == "error" {
				err = fault.New(fault.Failed, "%s", res.Error)
			}
		}
		raw, _ := json.Marshal(value)
		if err != nil {
			return string(fault.CodeOf(err)), string(raw)
		}
		return "", string(raw)
	}
}

func bySession(s *mcp.ClientSession) func(truth) (code, text string) {
	return func(q truth) (string, string) {
		res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: q.tool, Arguments: q.args})
		if err != nil {
			return "error of the protocol", err.Error()
		}
		return answerOf(res)
	}
}

// answerOf is the code of an answer, and all of its text.
func answerOf(res *mcp.CallToolResult) (code, text string) {
	for i, c := range res.Content {
		t, ok := c.(*mcp.TextContent)
		if !ok {
			continue
		}
		var head struct{ Code string }
		if i == 0 && json.Unmarshal([]byte(t.Text), &head) == nil {
			code = head.Code
		}
		text += t.Text + "\n"
	}
	if res.IsError != (code != "") {
		code += " (isError is wrong)"
	}
	return code, text
}

// TestHTTPTokens: a token counts from when it is added to when it is removed, while the server
// runs; and nothing that a client sends gets into the server's log.
func TestHTTPTokens(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	ann := h.token("ann")
	s := h.serveHTTP()
	list := func(token string) int {
		t.Helper()
		res, _ := s.post(token, "tools/list", "", "")
		return res.StatusCode
	}
	bob := h.token("bob")
	if a, b, nobody := list(ann), list(bob), list("x"); a != 200 || b != 200 || nobody != 401 {
		t.Errorf("ann %d, bob %d, nobody %d", a, b, nobody)
	}
	next := strings.TrimSpace(h.rye("mcp", "token", "rotate", "ann"))
	if old, new := list(ann), list(next); old != 200 || new != 200 {
		t.Errorf("after a rotation: old %d, new %d", old, new)
	}
	h.rye("mcp", "token", "remove", "ann")
	if old, new, b := list(ann), list(next), list(bob); old != 401 || new != 401 || b != 200 {
		t.Errorf("after the removal: old %d, new %d, bob %d", old, new, b)
	}
	s.post(bob, "tools/call", "load", `"name":"load","arguments":{"item_type":"tool","item_id":"acme/canary-7351"},`)
	s.post(bob, "tools/call", "canary-7351", `"name":"load",`)
	s.post("canary-7351", "tools/list", "", "")
	if said := s.stderr(); strings.Contains(said, "canary-7351") || strings.Contains(said, bob) || strings.Count(said, "\n") != 1 {
		t.Errorf("the server said: %s", said)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(h.rye("where", "config")), "mcp-tokens.json"))
	if err != nil || bytes.Contains(raw, []byte(bob)) {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestHTTPApproval: over HTTP a person is asked as over pipes; a restart voids what is open.
func TestHTTPApproval(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.lists("test")
	h.rye("new", "knowledge", "acme/style")
	token := h.token("test")
	var asked []string
	s := h.serveHTTP()
	c := s.connect(token, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, q.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": len(asked) > 1}}, nil
	}}, false)
	args := map[string]any{"item_type": "knowledge", "item_id": "acme/style"}
	for i, want := range []string{"denied", ""} {
		if code, text := bySession(c)(truth{tool: "sign", args: args}); code != want || len(asked) != i+1 || !strings.Contains(asked[i], "+What a reader should know.") {
			t.Errorf("answer %d: %q %s, asked %q", i, code, text, asked)
		}
	}
	if who := h.rye("status"); strings.Contains(who, "unsigned") {
		t.Errorf("approved, yet: %s", who)
	}
	h.rye("new", "knowledge", "acme/more")
	call := func(s *served, extra string) (state, text string) {
		_, text = s.post(token, "tools/call", "sign", `"name":"sign","arguments":{"item_type":"knowledge","item_id":"acme/more"},`+extra)
		var m struct{ Result struct{ RequestState string } }
		_ = json.Unmarshal([]byte(text), &m)
		return m.Result.RequestState, text
	}
	state, text := call(s, "")
	if state == "" {
		t.Fatal(text)
	}
	yes := fmt.Sprintf(`"requestState":%q,"inputResponses":{"approval":{"action":"accept","content":{"approve":true}}},`, state)
	again := h.serveHTTP()
	if _, text := call(again, yes); !strings.Contains(text, "denied") {
		t.Errorf("the state of a server that was there before: %s", text)
	}
	if _, text := call(s, yes); strings.Contains(text, "denied") {
		t.Errorf("its own state: %s", text)
	}
	if _, text := call(s, yes); !strings.Contains(text, "denied") {
		t.Errorf("its own state again: %s", text)
	}
}

// TestHTTPEnds: SIGTERM lets a running call answer, and ends the server well.
func TestHTTPEnds(t *testing.T) {
	t.Parallel()
	needBash(t)
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent SIGTERM there")
	}
	h := newHome(t)
	h.write(".ai/tools/acme/slow.sh", strings.Replace(slowTool, "sleep 30", "sleep 1", 1))
	h.rye("sign", "--all")
	token := h.token("test")
	s := h.serveHTTP()
	begun := make(chan struct{}, 16)
	c := s.connect(token, &mcp.ClientOptions{ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { begun <- struct{}{} }}, true)
	p := &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"item_type": "tool", "item_id": "acme/slow"}}
	p.SetProgressToken("p")
	go func() {
		<-begun
		s.cmd.Process.Signal(syscall.SIGTERM)
	}()
	res, err := c.CallTool(context.Background(), p)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.stderr())
	}
	if _, text := answerOf(res); !strings.Contains(text, "ended") {
		t.Errorf("answer %s", text)
	}
	c.Close()
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if s.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("it ended with %v: %s", s.cmd.ProcessState, s.stderr())
	}
}

// TestMCPSaysWhatIsMissing: a server that was started where there is no project, by somebody
// who has no key, says both, and serves the project once it is made (M2).
func TestMCPSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.dir = t.TempDir()
	for i, kv := range h.env {
		if strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "APPDATA=") || strings.HasPrefix(kv, "LOCALAPPDATA=") || strings.HasPrefix(kv, "USERPROFILE=") {
			name, _, _ := strings.Cut(kv, "=")
			h.env[i] = name + "=" + t.TempDir()
		}
	}
	cmd := h.command("mcp")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	answers := bufio.NewReader(out)
	ask := func(line string) string {
		t.Helper()
		io.WriteString(in, line+"\n")
		text, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	if got := ask(initialize); !strings.Contains(got, "rye init") || !strings.Contains(got, "rye key new") {
		t.Errorf("nothing is there: %s", got)
	}
	h.rye("init", "--namespace", "acme")
	h.rye("new", "knowledge", "acme/style")
	h.rye("sign", "--all")
	if got := ask(initialize); strings.Contains(got, "rye init") || strings.Contains(got, "rye key new") {
		t.Errorf("all is there: %s", got)
	}
	if got := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"load","arguments":{"item_type":"knowledge","item_id":"acme/style"}}}`); !strings.Contains(got, "What a reader should know.") {
		t.Errorf("a project that was made later: %s", got)
	}
}

const greeting = `# Greet

` + "```xml" + `
<directive name="greet" version="1.0.0">
  <metadata>
    <description>Says hello</description>
    <category>acme</category>
    <author>ann</author>
    <model tier="general" provider="acme/scripted"/>
    <limits turns="6" spend="0.25"/>
    <permissions><search>tool</search></permissions>
  </metadata>
</directive>
` + "```" + `

Say hello.
`

const scripted = `version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: A model that answers from a script
config:
  mock:
    turns:
      - say: "Hello."
      - say: "Hello."
`

// TestHTTPThreadsAreApart: the threads of one client are not there for another, whatever both
// call themselves.
func TestHTTPThreadsAreApart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.lists("test")
	h.write(".ai/directives/acme/greet.md", greeting)
	h.write(".ai/tools/acme/scripted.yaml", scripted)
	h.rye("sign", "--all")
	yes := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	}}
	anns, bobs := h.token("ann"), h.token("bob")
	s := h.serveHTTP()
	ann, bob := bySession(s.connect(anns, yes, false)), bySession(s.connect(bobs, yes, false))
	greet := func(more string, value any) truth {
		return truth{tool: "execute", args: map[string]any{"item_type": "directive", "item_id": "acme/greet", more: value}}
	}
	code, text := ann(greet("thread", true))
	_, id, _ := strings.Cut(text, `"thread_id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if code != "" || id == "" || !strings.Contains(text, "completed") {
		t.Fatalf("%s %s", code, text)
	}
	if code, text := bob(greet("thread_id", id)); code != "not_found" {
		t.Errorf("bob sees ann's thread: %s %s", code, text)
	}
	if code, text := ann(greet("thread_id", id)); code != "" {
		t.Errorf("ann does not see her thread: %s %s", code, text)
	}
	if code, text := bySession(s.connect(bobs, yes, true))(greet("thread_id", id[:10])); code != "not_found" {
		t.Errorf("bob sees it by its beginning: %s %s", code, text)
	}
}
