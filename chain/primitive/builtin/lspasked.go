package builtin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/words"
)

// lspQuiet is how long a server must be silent about the file, and without a running task, until
// its diagnostics count as complete. Servers report syntax first, and types later.
const lspQuiet = 500 * time.Millisecond

// conversation is the exchange with a started language server about one file.
type conversation struct {
	doc  *document
	in   io.Writer
	from <-chan lspMessage // closed at the end of the server's output; fail has the reason
	fail *error
	sent int // requests

	busy  int                // tasks that the server began and did not end
	heard bool               // it reported on the file
	found []lspDiagnostic    // its last report
	pulls bool               // it must be asked for diagnostics
	got   map[int]lspMessage // responses by the number of the request
}

type lspPosition struct{ Line, Character int }

type lspDiagnostic struct {
	Range    struct{ Start, End lspPosition }
	Severity int
	Code     any
	Source   string
	Message  string
}

// diagnose starts a server, asks it about the file, and ends it.
func diagnose(ctx context.Context, s server, doc *document) ([]diagnostic, error) {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(run, s.program, serverArgs[s.name]...)
	said := primitive.NewExcerpt(4096)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = doc.root, said, 500*time.Millisecond
	group(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, stopped(ctx, s, err, "")
	}
	from, fail := make(chan lspMessage), error(nil)
	go func() {
		defer close(from)
		for r := bufio.NewReaderSize(out, maxLSPHeader); ; {
			m, err := readLSP(r)
			if err != nil {
				fail = err
				return
			}
			select {
			case from <- m:
			case <-run.Done():
				fail = run.Err()
				return
			}
		}
	}()
	c := &conversation{doc: doc, in: in, from: from, fail: &fail, got: map[int]lspMessage{}}
	err = c.hold(ctx)
	cancel() // its further work has no use
	out.Close()
	for range from {
	}
	_ = cmd.Wait() // it was killed, and all its output has been read
	if err != nil {
		err = stopped(ctx, s, err, string(said.Bytes()))
	}
	return doc.placed(c.found, s), err
}

// hold makes the whole conversation: initialize, the file, its diagnostics, shutdown.
func (c *conversation) hold(ctx context.Context) error {
	root := fileURI(c.doc.root)
	hello, err := c.ask(ctx, "initialize", map[string]any{
		"processId": nil, "rootUri": root, "clientInfo": map[string]any{"name": "rye"},
		"workspaceFolders": []any{map[string]any{"uri": root, "name": "project"}},
		"capabilities": map[string]any{
			"textDocument": map[string]any{"publishDiagnostics": map[string]any{}, "diagnostic": map[string]any{}},
			"window":       map[string]any{"workDoneProgress": true},
			"workspace":    map[string]any{"configuration": true, "workspaceFolders": true},
		},
	})
	if err != nil {
		return err
	}
	var can struct {
		Capabilities struct {
			DiagnosticProvider json.RawMessage `json:"diagnosticProvider"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(hello, &can); err != nil {
		return err
	}
	c.pulls = len(can.Capabilities.DiagnosticProvider) > 0 && string(can.Capabilities.DiagnosticProvider) != "null"
	if err := c.tell("initialized", map[string]any{}); err != nil {
		return err
	}
	about := map[string]any{"uri": c.doc.uri, "languageId": c.doc.language, "version": 1, "text": c.doc.text}
	if err := c.tell("textDocument/didOpen", map[string]any{"textDocument": about}); err != nil {
		return err
	}
	if c.pulls {
		err = c.pull(ctx)
	} else {
		err = c.listen(ctx)
	}
	if err != nil {
		return err
	}
	_, _ = c.ask(ctx, "shutdown", nil) // only a courtesy: it is killed next
	_ = c.tell("exit", nil)
	return nil
}

// pull requests the diagnostics, as servers since 3.17 expect.
func (c *conversation) pull(ctx context.Context) error {
	raw, err := c.ask(ctx, "textDocument/diagnostic", map[string]any{"textDocument": map[string]any{"uri": c.doc.uri}})
	if err != nil {
		return err
	}
	var report struct{ Items []lspDiagnostic }
	if err := json.Unmarshal(raw, &report); err != nil {
		return err
	}
	c.found = append(c.found, report.Items...)
	return nil
}

// listen waits until the server has reported everything about the file.
func (c *conversation) listen(ctx context.Context) error {
	quiet := time.NewTimer(lspQuiet)
	defer quiet.Stop()
	for {
		select {
		case m, ok := <-c.from:
			if !ok {
				return c.ended()
			}
			if err := c.take(m); err != nil {
				return err
			}
			quiet.Reset(lspQuiet)
		case <-quiet.C:
			if c.heard && c.busy <= 0 {
				return nil
			}
			quiet.Reset(lspQuiet)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *conversation) ended() error {
	if errors.Is(*c.fail, io.EOF) {
		return errors.New("it ended")
	}
	return *c.fail
}

// tell sends a notification.
func (c *conversation) tell(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return writeLSP(c.in, lspMessage{Method: method, Params: raw})
}

// ask sends a request and waits for its answer. Meanwhile it handles the server's messages.
func (c *conversation) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c.sent++
	number := c.sent
	if err := writeLSP(c.in, lspMessage{ID: json.RawMessage(strconv.Itoa(number)), Method: method, Params: raw}); err != nil {
		return nil, err
	}
	for {
		select {
		case m, ok := <-c.from:
			if !ok {
				return nil, c.ended()
			}
			if err := c.take(m); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if m, ok := c.got[number]; ok {
			delete(c.got, number)
			if m.Error != nil {
				return nil, errors.New(method + ": " + words.Clip(m.Error.Message, 300))
			}
			return m.Result, nil
		}
	}
}

// take handles one message of the server, and answers its requests.
func (c *conversation) take(m lspMessage) error {
	switch {
	case m.Method == "" && len(c.got) < 16:
		if n, err := strconv.Atoi(string(m.ID)); err == nil {
			c.got[n] = m
		}
		return nil
	case m.Method == "textDocument/publishDiagnostics":
		var p struct {
			URI         string
			Diagnostics []lspDiagnostic
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return err
		}
		if p.URI == c.doc.uri {
			c.heard, c.found = true, p.Diagnostics
		}
		return nil
	case m.Method == "$/progress":
		var p struct{ Value struct{ Kind string } }
		_ = json.Unmarshal(m.Params, &p) // a value without a kind has no effect
		c.busy += map[string]int{"begin": 1, "end": -1}[p.Value.Kind]
		return nil
	case len(m.ID) == 0:
		return nil // other notifications
	}
	return c.reply(m)
}

// reply answers a request of the server. There is no configuration, any capability may be
// registered, and every other request is refused.
func (c *conversation) reply(m lspMessage) error {
	answer := lspMessage{ID: m.ID, Result: json.RawMessage("null")}
	switch m.Method {
	case "workspace/configuration":
		var p struct{ Items []json.RawMessage }
		if err := json.Unmarshal(m.Params, &p); err != nil || len(p.Items) > 1000 {
			p.Items = nil
		}
		answer.Result = json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("null,", len(p.Items)), ",") + "]")
	case "workspace/workspaceFolders", "window/workDoneProgress/create", "client/registerCapability", "client/unregisterCapability":
	default:
		answer.Result, answer.Error = nil, &lspError{Code: -32601, Message: "rye does not do this"}
	}
	return writeLSP(c.in, answer)
}

// placed converts a server's diagnostics to lines and columns of the file.
func (d *document) placed(all []lspDiagnostic, s server) []diagnostic {
	lines := strings.SplitAfter(d.text, "\n")
	var out []diagnostic
	for _, x := range all {
		if len(out) > maxDiagnostics {
			break
		}
		p := diagnostic{
			Line: x.Range.Start.Line + 1, Column: column(lines, x.Range.Start), EndLine: x.Range.End.Line + 1, EndColumn: column(lines, x.Range.End),
			Severity: "error", Message: words.Clip(x.Message, maxDiagnosis), Source: words.Clip(x.Source, 100),
		}
		if names := []string{"error", "warning", "info", "hint"}; x.Severity >= 1 && x.Severity <= len(names) {
			p.Severity = names[x.Severity-1]
		}
		if p.Source == "" {
			p.Source = s.name
		}
		switch code := x.Code.(type) {
		case string:
			p.Code = words.Clip(code, 100)
		case float64:
			p.Code = strconv.FormatFloat(code, 'f', -1, 64)
		}
		out = append(out, p)
	}
	return out
}

// column returns the number of the character at a position, from 1. The protocol counts UTF-16
// units.
func column(lines []string, at lspPosition) int {
	if at.Line < 0 || at.Line >= len(lines) {
		return max(at.Character, 0) + 1
	}
	units, n := 0, 1
	for _, r := range lines[at.Line] {
		if units += utf16.RuneLen(r); units > at.Character {
			break
		}
		n++
	}
	return n
}
