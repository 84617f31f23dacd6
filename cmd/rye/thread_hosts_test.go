package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// modelHost is a model's host on loopback, which answers as Anthropic does, or does not.
type modelHost struct {
	*httptest.Server
	asked  atomic.Int32
	answer http.HandlerFunc
}

func newModelHost(t *testing.T) *modelHost {
	m := &modelHost{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		m.asked.Add(1)
		m.answer(w, q)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *modelHost) address() string { return m.Listener.Addr().String() }

// config is a provider item of the host; more replaces groups.
func (m *modelHost) config(more map[string]any) map[string]any {
	c := map[string]any{
		"endpoint": map[string]any{"base_url": m.URL, "path": "/v1/messages", "auth": map[string]any{"type": "header", "name": "x-api-key", "secret": "HOSTILE_KEY"},
			"timeouts": map[string]any{"connect": 5, "first_byte": 5, "idle": 5}},
		"request": map[string]any{"encoder": "anthropic-messages", "max_tokens": "max_tokens"},
		"stream":  map[string]any{"decoder": "anthropic-messages"},
		"usage":   map[string]any{"input": "input_tokens", "output": "output_tokens"},
		"models": []any{map[string]any{"id": "m", "tiers": []any{"fast", "general"}, "context": 200_000, "max_output": 8000,
			"prices": map[string]any{"input": "1", "output": "5"}}},
		"retry": map[string]any{"attempts": 3, "base": 0.01, "max": 1, "elapsed": 5},
	}
	for k, v := range more {
		c[k] = v
	}
	return c
}

func event(w http.ResponseWriter, name string, data any) {
	raw, _ := json.Marshal(data)
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, raw)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

type obj = map[string]any

// answers streams an answer: pieces of text, then calls, and what it bills.
func answers(w http.ResponseWriter, pieces []string, calls []obj, input, output any) {
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "message_start", obj{"type": "message_start", "message": obj{"id": "x", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": obj{"input_tokens": input, "output_tokens": 1}}})
	event(w, "content_block_start", obj{"type": "content_block_start", "index": 0, "content_block": obj{"type": "text", "text": ""}})
	for _, p := range pieces {
		event(w, "content_block_delta", obj{"type": "content_block_delta", "index": 0, "delta": obj{"type": "text_delta", "text": p}})
	}
	event(w, "content_block_stop", obj{"type": "content_block_stop", "index": 0})
	for i, c := range calls {
		event(w, "content_block_start", obj{"type": "content_block_start", "index": i + 1, "content_block": obj{"type": "tool_use", "id": c["id"], "name": c["name"], "input": obj{}}})
		event(w, "content_block_delta", obj{"type": "content_block_delta", "index": i + 1, "delta": obj{"type": "input_json_delta", "partial_json": c["raw"]}})
		event(w, "content_block_stop", obj{"type": "content_block_stop", "index": i + 1})
	}
	stop := "end_turn"
	if len(calls) > 0 {
		stop = "tool_use"
	}
	event(w, "message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": stop}, "usage": obj{"output_tokens": output}})
	event(w, "message_stop", obj{"type": "message_stop"})
}

const hostKey = "sk-canary-5517-aZ\"/+=end"

// TestHostileHosts: what a provider item of the project, or the host behind one, can try.
func TestHostileHosts(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	m := newModelHost(t)
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	a.h.env = append(a.h.env, "HOSTILE_KEY="+hostKey, "OTHER_KEY="+hostKey)
	a.binds("hosts: [" + m.address() + "]\nsecrets: {HOSTILE_KEY: {hosts: [" + m.address() + "]}}\n")
	done := func(w http.ResponseWriter, _ *http.Request) { answers(w, []string{"done"}, nil, 100, 10) }
	endpoint := func(base, secret string) map[string]any {
		auth := obj{"type": "bearer", "secret": secret}
		if secret == "" {
			auth = obj{"type": "none"}
		}
		return obj{"endpoint": obj{"base_url": base, "path": "/v1/messages", "auth": auth}}
	}
	rows := []struct {
		name        string
		config      map[string]any
		answer      http.HandlerFunc
		status, why string
		most        int32 // requests
		holds       func(r *threadRun) bool
	}{
		{"an honest one", nil, done, "completed", "", 2, func(r *threadRun) bool { return r.used("spend") > 0 }},
		{"a host without a name in the policy", endpoint(other.URL, ""), done, "denied", "you have not allowed this host", 0, nil},
		{"… for a secret that is bound elsewhere", endpoint(other.URL, "HOSTILE_KEY"), done, "denied", "", 0, nil},
		{"a secret without a host", endpoint(m.URL, "OTHER_KEY"), done, "authentication", "it is bound to no host", 0, nil},
		{"the user's own name in the address", endpoint("http://"+m.address()+"@127.0.0.1:9", ""), done, "malformed", "", 0, nil},
		{"the same host by another name", endpoint("http://localhost:"+portOf(m.address()), "HOSTILE_KEY"), done, "denied", "", 0, nil},
		{"plain http to elsewhere", endpoint("http://models.example.com", "HOSTILE_KEY"), done, "malformed", "", 0, nil},
		{"a redirect", nil, func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, other.URL, http.StatusTemporaryRedirect)
		}, "error", "rye follows no redirect", 1, nil},
		{"10^15 tokens", nil, func(w http.ResponseWriter, _ *http.Request) { answers(w, []string{"x"}, nil, 100, int64(1e15)) }, "suspended", "network", 2, func(r *threadRun) bool { return r.used("spend") < 200_000 }},
		{"10^12 tokens", nil, func(w http.ResponseWriter, _ *http.Request) { answers(w, []string{"x"}, nil, 100, int64(1e12)) }, "suspended", "limit: overdrawn", 1, func(r *threadRun) bool { return r.used("spend") < 2_000_000 && r.used("tokens") < 100_000 }},
		{"10^12 tokens for free", obj{"models": []any{obj{"id": "m", "tiers": []any{"general"}, "prices": obj{"input": "0", "output": "0"}}}},
			func(w http.ResponseWriter, _ *http.Request) { answers(w, []string{"x"}, nil, int64(1e12), int64(1e12)) }, "suspended", "limit: overdrawn", 1, func(r *threadRun) bool { return r.used("tokens") < 600_000 }},
		{"fewer tokens than none", nil, func(w http.ResponseWriter, _ *http.Request) { answers(w, []string{"x"}, nil, -1000, -1000) }, "suspended", "network", 2, func(r *threadRun) bool { return r.used("spend") > 0 }},
		{"tokens that are no number", nil, func(w http.ResponseWriter, _ *http.Request) { answers(w, []string{"x"}, nil, "1e400", "many") }, "suspended", "network", 2, nil},
		{"try again in a year", nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31536000")
			w.WriteHeader(429)
		}, "suspended", "network: model: rate_limited", 1, func(r *threadRun) bool { return r.used("spend") == 0 }},
		{"try again at once, for ever", nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(503)
		}, "suspended", "network", 3, nil},
		{"pings without end", nil, func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for q.Context().Err() == nil {
				event(w, "ping", obj{"type": "ping"})
				time.Sleep(20 * time.Millisecond)
			}
		}, "suspended", "limit: duration_seconds", 1, nil},
		{"text without end", nil, func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			piece := strings.Repeat("x", 1<<20)
			event(w, "message_start", obj{"type": "message_start", "message": obj{"id": "x", "role": "assistant", "usage": obj{"input_tokens": 1, "output_tokens": 1}}})
			event(w, "content_block_start", obj{"type": "content_block_start", "index": 0, "content_block": obj{"type": "text", "text": ""}})
			for range 1024 { // a gigabyte
				if q.Context().Err() != nil {
					return
				}
				event(w, "content_block_delta", obj{"type": "content_block_delta", "index": 0, "delta": obj{"type": "text_delta", "text": piece}})
			}
		}, "error", "more bytes than the", 1, nil},
		{"a line without end", nil, func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: ")
			for range 256 {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
					return
				}
			}
		}, "error", "invalid", 1, nil},
		{"a head without end", nil, func(w http.ResponseWriter, q *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-H%d", i), strings.Repeat("x", 8000))
			}
			done(w, q)
		}, "suspended", "network", 3, nil},
		{"10,000 calls in one answer", nil, func(w http.ResponseWriter, q *http.Request) {
			var all []obj
			for i := range 10_000 {
				all = append(all, obj{"id": fmt.Sprint("c", i), "name": "rye_execute", "raw": `{"item_type":"tool","item_id":"acme/echo","parameters":{}}`})
			}
			if m.asked.Load() > 1 {
				all = nil
			}
			answers(w, []string{"x"}, all, 100, 10)
		}, "completed", "", 2, func(r *threadRun) bool {
			return r.count("tool_call_start") == 64 && r.count("tool_call_result") == 64 && strings.Contains(r.raw, "9936 more were left out")
		}},
		{"calls of one id", nil, func(w http.ResponseWriter, q *http.Request) {
			all := []obj{{"id": "../../x", "name": "rye_execute", "raw": `{"item_type":"tool","item_id":"acme/echo","parameters":{}}`}, {"id": "../../x", "name": "rye_execute", "raw": `{"item_type":"tool","item_id":"acme/echo","parameters":{}}`}, {"id": strings.Repeat("x", 100_000), "name": "rye_execute", "raw": "{}"}}
			if m.asked.Load() > 1 {
				all = nil
			}
			answers(w, []string{"x"}, all, 100, 10)
		}, "completed", "", 2, func(r *threadRun) bool { return r.count("tool_call_start") == 2 && r.count("tool_call_result") == 3 }},
		{"names and arguments of a megabyte", nil, func(w http.ResponseWriter, q *http.Request) {
			huge := strings.Repeat("\x1b[2J", 200_000)
			all := []obj{{"id": "1", "name": huge, "raw": "{}"}, {"id": "2", "name": "rye_execute", "raw": `{"item_type":"tool","item_id":"` + strings.Repeat("../", 300_000) + `"}`}, {"id": "3", "name": "rye_execute", "raw": strings.Repeat("[", 100_000)}, {"id": "4", "name": "rye_search", "raw": `{"query":"` + strings.Repeat("q ", 400_000) + `"}`}}
			if m.asked.Load() > 1 {
				all = nil
			}
			answers(w, []string{"x"}, all, 100, 10)
		}, "error", "the newest turn alone fills", 1, func(r *threadRun) bool {
			return r.count("tool_call_result") == 4 && r.count("tool_call_start") == 1 && len(r.raw) < 100_000
		}},
	}
	a.tool("echo", "", "echo hello\n")
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a.in(t)
			m.asked.Store(0)
			m.answer = row.answer
			name := fmt.Sprintf("h%d", i)
			a.provider(name, m.config(row.config))
			seconds := 8
			if strings.HasPrefix(row.name, "pings") {
				seconds = 1
			}
			a.directive(name, name, fmt.Sprintf(`<permissions><execute><tool>acme.*</tool></execute></permissions><limits turns="4" duration_seconds="%d"/>`, seconds))
			begun := time.Now()
			r := a.start(name)
			t.Logf("%-45s %s: %.130q (%d asked, %v µ$, %v)", row.name, r.status, r.why, m.asked.Load(), r.used("spend"), time.Since(begun).Round(10*time.Millisecond))
			if r.status != row.status || !strings.Contains(r.why, row.why) || m.asked.Load() > row.most || row.holds != nil && !row.holds(r) {
				t.Errorf("%s: %s\n%s%s", r.status, r.why, r.story(), r.stderr)
			}
			if elsewhere.Load() != 0 {
				t.Errorf("another host was asked %d times", elsewhere.Load())
			}
		})
	}
	a.in(t)
	a.nowhere(hostKey)
}

// nowhere looks for a secret in every file of the person's home and project.
func (a *threadArena) nowhere(secret string) {
	a.t.Helper()
	quoted, _ := json.Marshal(secret)
	forms := []string{secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)), secret[4:16]}
	files := 0
	err := filepath.WalkDir(filepath.Dir(a.h.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		for _, f := range forms {
			if bytes.Contains(raw, []byte(f)) {
				at := bytes.Index(raw, []byte(f))
				a.t.Errorf("%s holds the secret: %.200q", path, raw[max(0, at-100):])
				break
			}
		}
		return err
	})
	if err != nil || files < 10 {
		a.t.Errorf("looked at %d files: %v", files, err)
	}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
