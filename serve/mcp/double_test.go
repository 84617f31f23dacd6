package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// verbs stands for a project where a test needs what a real one does not do on
// command: panic, block, ask. The real one is tested through the process, in
// cmd/rye.
type verbs struct {
	execute func(context.Context, rye.ExecuteRequest) (*rye.ExecuteResult, error)
	sign    func(context.Context, rye.SignRequest) (*rye.SignReport, error)

	mu      sync.Mutex
	callers []rye.Caller
}

var item = rye.ItemInfo{Ref: "tool:acme/hello", Kind: "tool", ID: "acme/hello", Space: "project", State: "signed",
	Path: "tools/acme/hello.py", Name: "hello", Version: "1.0.0", Signer: "SHA256:x", Tags: []string{"a"}}

func (v *verbs) note(c rye.Caller) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.callers = append(v.callers, c)
}

func (v *verbs) Search(_ context.Context, c rye.Caller, q rye.SearchRequest) (*rye.SearchResult, error) {
	v.note(c)
	return &rye.SearchResult{Query: q.Query, Total: 1, Limit: 10, Results: []rye.Hit{{ItemInfo: item, Score: 0.5, Match: []string{"name"}}}}, nil
}

func (v *verbs) Load(_ context.Context, c rye.Caller, q rye.LoadRequest) (*rye.LoadResult, error) {
	v.note(c)
	if q.Ref.String() != "tool:acme/hello" {
		return nil, fault.New(fault.NotFound, "%s: not found", q.Ref).Mend("rye search x")
	}
	return &rye.LoadResult{ItemInfo: item, Content: "print(1)\n"}, nil
}

func (v *verbs) Execute(ctx context.Context, c rye.Caller, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
	v.note(c)
	if v.execute != nil {
		return v.execute(ctx, q)
	}
	return &rye.ExecuteResult{Status: "success", Type: "tool", ItemID: "acme/hello", Data: q.Params}, nil
}

func (v *verbs) Sign(ctx context.Context, c rye.Caller, q rye.SignRequest) (*rye.SignReport, error) {
	v.note(c)
	if v.sign != nil {
		return v.sign(ctx, q)
	}
	return &rye.SignReport{Signed: 1, Results: []rye.SignResult{{Ref: "tool:acme/hello", Status: "signed", Path: ".ai/tools/acme/hello.py", SHA256: "sha256:x"}}}, nil
}

// logWriter turns what the server logs into the test's log.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func options(t testing.TB, v rye.Verbs) Options {
	return Options{
		Version: "v0", Log: logWriter{t},
		Project: func(path string) (rye.Verbs, error) {
			if path == "" {
				return v, nil
			}
			return nil, fault.New(fault.NotFound, "project_path %q: no rye project there or above", path)
		},
	}
}

// raw is a client that writes lines.
type raw struct {
	t     testing.TB
	in    *io.PipeWriter
	out   *bufio.Scanner
	ended chan error
	next  int
}

func newRaw(t testing.TB, o Options) *raw {
	t.Helper()
	return rawOf(t, New(o))
}

func rawOf(t testing.TB, s *Server) *raw {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	r := &raw{t: t, in: inW, out: bufio.NewScanner(outR), ended: make(chan error, 1)}
	r.out.Buffer(nil, 32<<20)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := s.Serve(ctx, inR, outW)
		outW.Close()
		r.ended <- err
	}()
	t.Cleanup(func() {
		inW.Close()
		cancel()
		for r.out.Scan() {
		}
		select {
		case <-r.ended:
		case <-time.After(10 * time.Second):
			t.Error("the server did not end")
		}
	})
	return r
}

// send writes one line.
func (r *raw) send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// message is any line of the server.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Type, Text, URI string
		} `json:"content"`
		StructuredContent map[string]any `json:"-"` // the facts of an answer, which are its first content
		ResultType        string         `json:"resultType"`
		RequestState      string         `json:"requestState"`
		InputRequests     map[string]any `json:"inputRequests"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// UnmarshalJSON also reads the facts of an answer to a call.
func (m *message) UnmarshalJSON(raw []byte) error {
	type plainly message
	if err := json.Unmarshal(raw, (*plainly)(m)); err != nil || len(m.Result.Content) == 0 {
		return err
	}
	return json.Unmarshal([]byte(m.Result.Content[0].Text), &m.Result.StructuredContent)
}

// receive reads one line, which must be JSON.
func (r *raw) receive() message {
	r.t.Helper()
	if !r.out.Scan() {
		r.t.Fatalf("no answer: %v", r.out.Err())
	}
	var m message
	if err := json.Unmarshal(r.out.Bytes(), &m); err != nil {
		r.t.Fatalf("%q is no message: %v", r.out.Text(), err)
	}
	return m
}

const hello = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`

func (r *raw) initialize(capabilities string) {
	r.t.Helper()
	r.send(fmt.Sprintf(hello, capabilities))
	if m := r.receive(); m.Error != nil || string(m.ID) != `"init"` {
		r.t.Fatalf("initialize: %+v", m)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// call sends a tools/call and returns its id.
func (r *raw) call(tool, args string) string {
	r.t.Helper()
	r.next++
	id := fmt.Sprint(r.next)
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args))
	return id
}

// connect is the official SDK's client.
func connect(t *testing.T, o Options, co *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return connectAs(t, "test", o, co)
}

func connectAs(t *testing.T, name string, o Options, co *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := New(o).Serve(context.Background(), inR, outW)
		outW.Close()
		ended <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, co)
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// callTool returns the facts of an answer, with the text behind them as "text".
func callTool(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) (map[string]any, bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if res.StructuredContent != nil || len(res.Content) == 0 || len(res.Content) > 3 {
		t.Fatalf("%s: %d pieces of content, structured %v", tool, len(res.Content), res.StructuredContent)
	}
	head := res.Content[0].(*sdk.TextContent).Text
	var got map[string]any
	if err := json.Unmarshal([]byte(head), &got); err != nil || strings.Contains(head, "\n") {
		t.Fatalf("%s: its first content is no line of JSON: %q, %v", tool, head, err)
	}
	documented(t, got)
	if len(res.Content) > 1 {
		got["text"] = res.Content[1].(*sdk.TextContent).Text
	}
	return got, res.IsError
}

// documented fails the test for a field of an answer that the format does not know.
func documented(t *testing.T, head map[string]any) {
	t.Helper()
	page, err := os.ReadFile("../../docs/format/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range head {
		if !strings.Contains(string(page), `"`+name+`"`) && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/format/mcp.md does not know the field %q of an answer", name)
		}
	}
}
