package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye"
)

func TestFourTools(t *testing.T) {
	s := connect(t, options(t, &verbs{}), nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		readOnly := tool.Name == "search" || tool.Name == "load"
		a := tool.Annotations
		destructive := !readOnly && (a == nil || a.DestructiveHint == nil || *a.DestructiveHint) // by the protocol's defaults
		if a != nil && a.ReadOnlyHint != readOnly || readOnly && a == nil || destructive != (tool.Name == "execute") {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		if tool.InputSchema == nil || tool.Description == "" {
			t.Errorf("%s: its schema or its description is missing", tool.Name)
		}
		if in, _ := json.Marshal(tool.InputSchema); !strings.Contains(string(in), `"additionalProperties":false`) || !strings.Contains(string(in), `"project_path"`) {
			t.Errorf("%s: input schema %s", tool.Name, in)
		}
	}
	slices.Sort(names)
	if got, want := strings.Join(names, " "), "execute load search sign"; got != want {
		t.Errorf("tools: %s, want %s", got, want)
	}
}

// TestAnswers: each fact of an answer is one that the format knows (callTool).
func TestAnswers(t *testing.T) {
	v := &verbs{}
	s := connect(t, options(t, v), &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return nil, errors.New("nothing to ask here")
	}})
	for _, c := range []struct {
		tool string
		args map[string]any
		want string // in the answer's JSON
	}{
		{"search", map[string]any{"query": "hello", "scope": "tool.acme.*", "space": "all"}, `"id":"acme/hello"`},
		{"load", map[string]any{"item_type": "tool", "item_id": "acme/hello"}, `"text":"print(1)\n"`},
		{"execute", map[string]any{"item_type": "tool", "item_id": "acme/hello", "parameters": map[string]any{"n": 1}}, `"data":{"n":1}`},
		{"sign", map[string]any{"item_type": "tool", "item_id": "acme/hello"}, `"status":"signed"`},
		{"sign", map[string]any{"item_type": "tool", "item_id": "acme/*"}, `"signed":["tool:acme/hello"],"status":"completed","total":1`},
	} {
		got, isError := callTool(t, s, c.tool, c.args)
		b, _ := json.Marshal(got)
		if isError || !strings.Contains(string(b), c.want) {
			t.Errorf("%s %v = %s (error %v), want %s in it", c.tool, c.args, b, isError, c.want)
		}
	}
	for _, c := range v.callers {
		if c.Name() != rye.Client().Name() {
			t.Errorf("called on behalf of %q: an MCP client must never be taken for a person", c.Name())
		}
	}
}

func TestErrors(t *testing.T) {
	v := &verbs{execute: func(_ context.Context, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		switch q.Ref.String() {
		case "tool:acme/panic":
			panic("at the disco")
		case "tool:acme/fails":
			return &rye.ExecuteResult{Status: "error", Type: "tool", ItemID: "acme/fails", Error: "boom", Exit: 3}, nil
		}
		return nil, errors.New("no code")
	}}
	s := connect(t, options(t, v), nil)
	for _, c := range []struct {
		name, tool string
		args       map[string]any
		code, word string
	}{
		{"not found", "load", map[string]any{"item_type": "tool", "item_id": "acme/other"}, "not_found", "acme/other: not found"},
		{"misspelled", "execute", map[string]any{"item_type": "tool", "item_id": "a", "dryrun": true}, "usage", "dryrun"},
		{"other case", "execute", map[string]any{"item_type": "tool", "item_id": "a", "Dry_Run": true}, "usage", "Dry_Run"},
		{"wrong type", "execute", map[string]any{"item_type": "tool", "item_id": 7}, "usage", "item_id"},
		{"no id", "load", map[string]any{"item_type": "tool"}, "usage", "item_id"},
		{"no type", "load", map[string]any{"item_id": "acme/hello"}, "usage", "item_type"},
		{"no query", "search", map[string]any{"query": " "}, "usage", `"query":"*"`},
		{"no number", "search", map[string]any{"query": "x", "limit": "many"}, "usage", "limit: string, want a whole number"},
		{"no address", "load", map[string]any{"item_id": "rye://nowhere/tool/a"}, "usage", "rye://"},
		{"no result", "load", map[string]any{"item_id": "rye://results/abc"}, "not_found", "expired"},
		{"no kind", "load", map[string]any{"item_type": "gadget", "item_id": "a"}, "usage", "gadget"},
		{"limit", "search", map[string]any{"query": "x", "limit": 1001}, "usage", "1001"},
		{"project", "search", map[string]any{"query": "x", "project_path": "/nowhere"}, "not_found", "/nowhere"},
		{"panic", "execute", map[string]any{"item_type": "tool", "item_id": "acme/panic"}, "failed", "internal error"},
		{"failing tool", "execute", map[string]any{"item_type": "tool", "item_id": "acme/fails"}, "failed", "boom"},
		{"no code", "execute", map[string]any{"item_type": "tool", "item_id": "acme/x"}, "failed", "no code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, isError := callTool(t, s, c.tool, c.args)
			b, _ := json.Marshal(got)
			if !isError || got["code"] != c.code || got["status"] != "error" || !strings.Contains(string(b), c.word) {
				t.Errorf("%s, error %v; want code %s and %q", b, isError, c.code, c.word)
			}
		})
	}
	if _, isError := callTool(t, s, "search", map[string]any{"query": "x"}); isError {
		t.Error("the server does not answer any more")
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "delete"}); err == nil {
		t.Error("there is no tool delete, yet it was called")
	}
}

// TestCancellation: the call stops, gets no answer, and nothing else suffers.
func TestCancellation(t *testing.T) {
	begun, stopped := make(chan struct{}), make(chan struct{})
	v := &verbs{execute: func(ctx context.Context, _ rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		close(begun)
		<-ctx.Done()
		close(stopped)
		return nil, ctx.Err()
	}}
	s := connect(t, options(t, v), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "execute", Arguments: map[string]any{"item_type": "tool", "item_id": "a"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
	<-stopped
	if _, isError := callTool(t, s, "search", map[string]any{"query": "x"}); isError {
		t.Error("the server does not answer any more")
	}
}

// TestCancelBeforeItBegins: a call that waits for a worker can be cancelled, too.
func TestCancelBeforeItBegins(t *testing.T) {
	var began atomic.Int32
	release := make(chan struct{})
	o := options(t, &verbs{execute: func(context.Context, rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		began.Add(1)
		<-release
		return &rye.ExecuteResult{Status: "success", Type: "tool"}, nil
	}})
	o.Workers = 1
	r := newRaw(t, o)
	r.initialize("{}")
	const args = `{"item_type":"tool","item_id":"a"}`
	first := r.call("execute", args)
	for began.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	second := r.call("execute", args)
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, second))
	r.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	if m := r.receive(); string(m.ID) != `"ping"` {
		t.Fatalf("got %s before the ping", m.ID)
	}
	close(release)
	if m := r.receive(); string(m.ID) != first {
		t.Errorf("got an answer to %s, want %s", m.ID, first)
	}
	if n := began.Load(); n != 1 {
		t.Errorf("%d calls began, want 1", n)
	}
}

// TestProgress: in order, and before the answer.
func TestProgress(t *testing.T) {
	o := options(t, &verbs{execute: func(_ context.Context, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		q.Stdout([]byte("one\ntwo \x1b[2J\n"))
		return &rye.ExecuteResult{Status: "success", Type: "tool"}, nil
	}})
	r := newRaw(t, o)
	r.initialize("{}")
	r.send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"},"_meta":{"progressToken":"p"}}}`)
	m := r.receive()
	if m.Method != "notifications/progress" || m.Params["progressToken"] != "p" || m.Params["message"] != `two \u001b[2J` {
		t.Errorf("first came %+v", m)
	}
	if m := r.receive(); string(m.ID) != "9" {
		t.Errorf("then came %+v", m)
	}
}

// TestEndOfInput: whoever pipes requests in still gets the answers.
func TestEndOfInput(t *testing.T) {
	v := &verbs{execute: func(_ context.Context, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		time.Sleep(20 * time.Millisecond)
		return &rye.ExecuteResult{Status: "success", Type: "tool"}, nil
	}}
	in := fmt.Sprintf(hello, "{}") + "\n"
	for i := range 40 {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"}}}`, i) + "\n"
	}
	var out strings.Builder
	if err := New(options(t, v)).Serve(t.Context(), strings.NewReader(strings.TrimSpace(in)), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `\"status\":\"success\"`); n != 40 {
		t.Errorf("%d answers, want 40", n)
	}
}

// TestEndsWhenCancelled: Ctrl-C stops calls and waits for them.
func TestEndsWhenCancelled(t *testing.T) {
	begun, stopped := make(chan struct{}), make(chan struct{})
	v := &verbs{execute: func(ctx context.Context, _ rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		close(begun)
		<-ctx.Done()
		close(stopped)
		return nil, ctx.Err()
	}}
	inR, inW := io.Pipe()
	defer inW.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(options(t, v)).Serve(ctx, inR, io.Discard) }()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"}}}`+"\n")
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
	select {
	case <-stopped:
	default:
		t.Error("Serve returned while a call was running")
	}
}

// TestClientGone: a client that does not read any more ends the connection.
func TestClientGone(t *testing.T) {
	inR, inW := io.Pipe()
	defer inW.Close()
	outR, outW := io.Pipe()
	outR.Close()
	ended := make(chan error, 1)
	go func() { ended <- New(options(t, &verbs{})).Serve(t.Context(), inR, outW) }()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if err := <-ended; err == nil || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Serve: %v", err)
	}
}

// FuzzServe: whatever comes in, each line that goes out is a JSON-RPC message
// and the server ends with its input.
func FuzzServe(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(hello, "{}") + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"}}}`))
	f.Add([]byte("{}\n[]\nnull\n\"\\ud800\""))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out strings.Builder
		o := options(t, &verbs{})
		o.MaxMessage, o.Drain = 1<<16, time.Second
		if err := New(o).Serve(t.Context(), strings.NewReader(string(in)), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var m struct {
				JSONRPC string `json:"jsonrpc"`
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
				t.Fatalf("wrote %q (%v)", line, err)
			}
		}
	})
}

func BenchmarkCall(b *testing.B) {
	r := newRaw(b, options(b, &verbs{}))
	r.initialize("{}")
	for b.Loop() {
		r.call("load", `{"item_type":"tool","item_id":"acme/hello"}`)
		r.receive()
	}
}
