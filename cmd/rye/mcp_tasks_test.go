package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wire is a client of the real rye mcp that sees its messages as they are sent. Its person
// agrees to everything.
type wire struct {
	t     testing.TB
	in    io.Writer
	out   *bufio.Reader
	id    int
	asked []string // questions to the person
	notes []string // notifications, as they came

	yes bool // what the person says

	calls, bytes int    // of tools/call, and of all messages but bodies and outputs
	known        string // all that the model was told
	last         reply
}

// reply is an answer as a model reads it.
type reply struct {
	facts  string // its line of JSON
	text   string // behind it
	link   string // to the whole text
	failed bool
	line   string // as it was sent
}

// speak starts rye mcp for a client that asks its person.
func (h *home) speak(t testing.TB, capabilities string) *wire {
	t.Helper()
	cmd := h.command("mcp")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal("rye mcp does not start")
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	w := &wire{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20), yes: true}
	w.request("initialize", fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":%s,"clientInfo":{"name":"test","version":"1"}}`, capabilities))
	fmt.Fprintln(w.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

// request sends one request and returns its answer as it was sent.
func (w *wire) request(method, params string) string {
	w.t.Helper()
	w.id++
	sent := strings.ReplaceAll(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.id, method, params), "\n", " ")
	fmt.Fprintln(w.in, sent)
	w.bytes += len(sent)
	for {
		line, err := w.out.ReadString('\n')
		if err != nil {
			w.t.Fatalf("%s: %v", method, err)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Message string }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		switch {
		case m.Method == "elicitation/create":
			w.asked = append(w.asked, m.Params.Message)
			fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":%t}}}`+"\n", m.ID, w.yes)
		case string(m.ID) == fmt.Sprint(w.id):
			w.bytes += len(line)
			return line
		case m.ID == nil:
			w.notes = append(w.notes, line)
		}
	}
}

// call makes one call. Bodies and outputs are in its answer once, and are not counted.
func (w *wire) call(tool string, args map[string]any) reply {
	w.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	line := w.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, raw))
	w.calls++
	var m struct {
		Result struct {
			IsError bool
			Content []struct{ Type, Text, URI string }
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) == 0 {
		w.t.Fatalf("%s %s: %s", tool, raw, line)
	}
	r := reply{facts: m.Result.Content[0].Text, failed: m.Result.IsError, line: line}
	for _, c := range m.Result.Content[1:] {
		r.text, r.link = r.text+c.Text, r.link+c.URI
	}
	w.bytes -= w.once(line, r.text)
	var facts struct{ Data json.RawMessage }
	if json.Unmarshal([]byte(r.facts), &facts) == nil && !r.failed {
		w.bytes -= w.once(line, string(facts.Data))
	}
	w.known += "\n" + r.facts + "\n" + unquoted(r.facts) + "\n" + r.text
	w.last = r
	return r
}

// once returns how many bytes a text takes of a message, in which it may stand once.
func (w *wire) once(line, text string) int {
	w.t.Helper()
	if text == "" {
		return 0
	}
	raw := quoted(text)
	if n := strings.Count(line, raw); len(raw) > 20 && n != 1 {
		w.t.Errorf("%.60s… is %d times in %.300s…", raw, n, line)
	}
	return len(raw)
}

func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// unquoted is a line of JSON as a model understands it: with the texts that it holds.
func unquoted(facts string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(facts)
}

// learned fails the test for an argument that nobody told the model: each name, each line of
// each value (where it is a name and a value, both), and each word of a query has to occur in
// what it was told.
func (w *wire) learned(v any) {
	w.t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			w.learned(name)
			if name == "query" {
				value = strings.ReplaceAll(value.(string), " ", "\n")
			}
			w.learned(value)
		}
	case []any:
		for _, value := range v {
			w.learned(value)
		}
	default:
		for line := range strings.Lines(fmt.Sprint(v)) {
			line = strings.TrimSpace(line)
			name, value, _ := strings.Cut(line, ": ")
			if !strings.Contains(w.known, line) && (!strings.Contains(w.known, name+":") || !strings.Contains(w.known, value)) {
				w.t.Errorf("nobody told the model %q", line)
			}
		}
	}
}

// find returns what an expression captures in the answer before.
func (w *wire) find(expr string) string {
	w.t.Helper()
	m := regexp.MustCompile(expr).FindStringSubmatch(unquoted(w.last.facts) + "\n" + w.last.text)
	if m == nil {
		w.t.Fatalf("%s is not in %s\n%s", expr, w.last.facts, w.last.text)
	}
	return m[len(m)-1]
}

type step struct {
	tool string
	args func(*wire) map[string]any
}

func does(tool string, args map[string]any) step {
	return step{tool, func(*wire) map[string]any { return args }}
}

func runsTool(id string, parameters map[string]any) step {
	return does("execute", map[string]any{"item_type": "tool", "item_id": id, "parameters": parameters})
}

// tasks are what a person asks of a model in a day, and how it does it.
var tasks = []struct {
	text  string
	steps []step
	want  string // in the last answer
}{
	{"Find and read what this project decided about commits.", []step{
		does("search", map[string]any{"query": "commits"}),
		does("load", map[string]any{"item_type": "knowledge", "item_id": "acme/commits"}),
	}, "in the imperative"},
	{"grep the project for FIXME.", []step{
		does("search", map[string]any{"query": "grep", "item_type": "tool"}),
		runsTool("rye/file-system/grep", map[string]any{"pattern": "FIXME"}),
	}, "src/a.go"},
	{"Run the command: ls -1 src", []step{
		does("search", map[string]any{"query": "command", "item_type": "tool"}),
		runsTool("rye/bash/bash", map[string]any{"command": "ls -1 src"}),
	}, "a.go"},
	{"Make a tool acme/count, which says how many lines a file has:\n#!/usr/bin/env bash\n# needs: {read: [src]}\n" +
		`wc -l < "$RYE_PARAM_FILE"` + "\nRun it; the file is src/a.go.", []step{
		does("sign", map[string]any{"item_type": "tool", "item_id": "acme/count", "content": "#!/usr/bin/env bash\n# needs: {read: [src]}\n" + `wc -l < "$RYE_PARAM_FILE"` + "\n"}),
		runsTool("acme/count", map[string]any{"file": "src/a.go"}),
	}, "2"},
	{"What are the parameters of acme/deploy? Deploy to staging.", []step{
		runsTool("acme/deploy", map[string]any{}),
		runsTool("acme/deploy", map[string]any{"to": "staging"}),
	}, "deployed to staging"},
	{"In src/a.go, edit the lines: instead of // FIXME say // done", []step{
		does("search", map[string]any{"query": "edit lines"}),
		runsTool("rye/file-system/read", map[string]any{"path": "src/a.go"}),
		{"execute", func(w *wire) map[string]any {
			id := w.find(`2\t([0-9a-f]{6})\t// FIXME`)
			return map[string]any{"item_type": "tool", "item_id": "rye/file-system/edit_lines", "parameters": map[string]any{
				"path": "src/a.go", "changes": []any{map[string]any{"line_id": id, "new_content": "// done"}}}}
		}},
	}, "// done"},
	{"Read up on drift: what does the lock pin?", []step{
		does("search", map[string]any{"query": "drift lock"}),
		does("load", map[string]any{"item_type": "knowledge", "item_id": "rye/reference/locks"}),
	}, "rye.lock"},
	{"Follow the directive that greets, for ada.", []step{
		does("search", map[string]any{"query": "greets", "item_type": "directive"}),
		does("execute", map[string]any{"item_type": "directive", "item_id": "acme/greet", "parameters": map[string]any{"name": "ada"}}),
		runsTool("acme/hello", map[string]any{"name": "ada"}),
	}, "hello, ada"},
}

const deployTool = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Deploy
# config_schema:
#   type: object
#   properties:
#     to: {type: string, enum: [staging, production], description: Where to}
#   required: [to]
#   additionalProperties: false
echo "deployed to $RYE_PARAM_TO"
`

const greetDirective = "# Greet\n\n```xml\n" + `<directive name="greet" version="1.0.0">
  <metadata>
    <description>Greets somebody</description>
    <category>acme</category>
    <author>ann</author>
    <permissions><execute><tool>acme/hello</tool></execute></permissions>
  </metadata>
  <inputs><input name="name" type="string" required="true">Whom</input></inputs>
</directive>
` + "```\n\nExecute the tool acme/hello with the parameter name: {input:name}\n"

const saluteDirective = "# Salute\n\n```xml\n" + `<directive name="salute" version="1.0.0">
  <metadata>
    <description>Salutes</description>
    <category>acme</category>
    <author>ann</author>
  </metadata>
  <inputs><input name="how" type="string" default="warmly">How</input></inputs>
</directive>
` + "```\n\nSalute {input:how}.\n"

const commitsEntry = `---
id: commits
title: Commits
version: 1.0.0
entry_type: reference
category: acme
description: How this project writes its commits
tags: [commits]
---

# Commits

A commit's subject is in the imperative.
`

// ordinary is a project in which a model has something to do.
func ordinary(t testing.TB) *home {
	needBash(t)
	h := newHome(t)
	h.rye("new", "tool", "acme/hello", "--lang", "bash", "--description", "Say hello")
	h.write(".ai/tools/acme/deploy.sh", deployTool)
	h.write(".ai/directives/acme/greet.md", greetDirective)
	h.write(".ai/directives/acme/salute.md", saluteDirective)
	h.write(".ai/knowledge/acme/commits.md", commitsEntry)
	h.write("src/a.go", "package a\n// FIXME\n")
	h.rye("sign", "--all")
	h.lists("test")
	return h
}

// Bounds of what a day costs a model. A token is four bytes of JSON as it is sent.
const (
	mostCalls    = 22
	mostTokens   = 5000
	mostList     = 3600 // bytes of the answer to tools/list, without what no model is shown
	mostEnvelope = 200  // bytes of an answer beside its data
)

// TestEightTasks: what a model is told is enough for the next call, and little.
func TestEightTasks(t *testing.T) {
	t.Parallel()
	w := ordinary(t).speak(t, `{"elicitation":{}}`)
	list := w.request("tools/list", "{}")
	const unshown = `"_meta":{"anthropic/alwaysLoad":true},`
	if n := strings.Count(list, unshown); n != 4 {
		t.Errorf("tools/list has %s %d times, want 4", unshown, n)
	}
	if shown := len(list) - 4*len(unshown); shown > mostList {
		t.Errorf("tools/list has %d bytes, at most %d", shown, mostList)
	}
	w.known = unquoted(list)
	for _, task := range tasks {
		w.known += "\n" + task.text
		refused := false
		for _, s := range task.steps {
			args := s.args(w)
			w.learned(args)
			before := w.bytes
			r := w.call(s.tool, args)
			t.Logf("%-8s %5d bytes", s.tool, w.bytes-before)
			if refused && r.failed {
				t.Errorf("%s: what was said of a refusal did not mend it: %s", task.text, r.facts)
			}
			refused = r.failed
		}
		if refused || !strings.Contains(unquoted(w.last.facts)+w.last.text, task.want) {
			t.Errorf("%s: %s\n%s", task.text, w.last.facts, w.last.text)
		}
	}
	t.Logf("%d calls, %d tokens; tools/list %d bytes", w.calls, w.bytes/4, len(list))
	if w.calls > mostCalls || w.bytes/4 > mostTokens {
		t.Errorf("%d calls and %d tokens, at most %d and %d", w.calls, w.bytes/4, mostCalls, mostTokens)
	}
	if !slices.ContainsFunc(w.asked, func(q string) bool { return strings.Contains(q, `+wc -l < "$RYE_PARAM_FILE"`) }) {
		t.Errorf("the person was not shown the tool: %q", w.asked)
	}
}

// limited returns facts without the limits that do not bind, which depend on the machine and the user.
func limited(facts string) string { return notLimited.ReplaceAllString(facts, "") }

var notLimited = regexp.MustCompile(`,"not_limited":\[[^\]]*\]`)

// TestEnvelope: what stands around a result is less than people write on envelopes.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	w := ordinary(t).speak(t, `{}`)
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"execute", map[string]any{"item_type": "tool", "item_id": "acme/hello", "parameters": map[string]any{"name": "ada"}}},
		{"execute", map[string]any{"item_type": "tool", "item_id": "rye/file-system/ls"}},
		{"load", map[string]any{"item_type": "knowledge", "item_id": "acme/commits"}},
	} {
		r := w.call(c.tool, c.args)
		around := len(r.line) - w.once(r.line, r.text) - (len(r.facts) - len(limited(r.facts)))
		var facts struct{ Data json.RawMessage }
		if json.Unmarshal([]byte(r.facts), &facts) == nil {
			around -= w.once(r.line, string(facts.Data))
		}
		if around > mostEnvelope || r.failed {
			t.Errorf("%s %v: %d bytes around its data: %s", c.tool, c.args, around, r.line)
		}
	}
}
