package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/modelhost"
)

// threadArena is a person with a project in which everything that drives a thread can be
// hostile: the model, its host, the loop, the items, the directory.
type threadArena struct {
	t, whole *testing.T // of the subtest, and of the test
	h        *home
	hosts    []string // of models that play scripts
	bound    string   // what the person says of secrets
	secrets  string   // the file that was made of it and of the hosts
}

func newThreadArena(t *testing.T) *threadArena {
	t.Helper()
	needBash(t)
	a := &threadArena{t: t, whole: t, h: newHome(t)}
	t.Cleanup(func() { // a thread that waits for somebody would wait on
		a.in(t)
		out, _, _ := a.run("thread", "list", "--json")
		for line := range strings.Lines(out) {
			var i struct {
				ID  string `json:"thread_id"`
				Pid int    `json:"pid"`
			}
			if json.Unmarshal([]byte(line), &i) == nil && i.Pid != 0 {
				a.run("thread", "kill", i.ID)
			}
		}
	})
	return a
}

// directive writes and signs directive:acme/<name>, driven by the provider acme/<provider>.
func (a *threadArena) directive(name, provider, more string) {
	a.h.write(".ai/directives/acme/"+name+".md", fmt.Sprintf(`# D

`+"```xml"+`
<directive name="%s" version="1.0.0">
  <metadata><description>d</description><category>acme</category><author>ann</author>
    <model tier="general" provider="acme/%s"/>
    %s
  </metadata>
%s
</directive>
`+"```"+`

Do the work.
`, name, provider, before(more), after(more)))
	a.h.rye("sign", "directive:acme/"+name)
}

// before and after part what stands in a directive's metadata from what stands behind it.
func before(more string) string { s, _, _ := strings.Cut(more, "<outputs>"); return s }
func after(more string) string {
	if _, s, ok := strings.Cut(more, "<outputs>"); ok {
		return "<outputs>" + s
	}
	return ""
}

// tool writes and signs tool:acme/<name>, a bash script.
func (a *threadArena) tool(name, needs, body string) {
	a.h.write(".ai/tools/acme/"+name+".sh", `# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: a tool
# config_schema:
#   type: object
#   properties: {text: {type: string}}
# needs: {`+needs+`}
`+body)
	a.h.rye("sign", "tool:acme/"+name)
}

// script writes and signs the provider acme/<name>, which answers from a script, strictly.
func (a *threadArena) script(name string, turns []any) {
	a.provider(name, map[string]any{"mock": map[string]any{"turns": turns}})
}

func (a *threadArena) provider(name string, config map[string]any) {
	a.strict(config)
	raw, err := json.Marshal(map[string]any{"version": "1.0.0", "tool_type": "provider", "executor_id": nil, "category": "acme", "description": "a model", "config": config})
	if err != nil {
		a.t.Fatal(err)
	}
	a.h.write(".ai/tools/acme/"+name+".yaml", string(raw)+"\n")
	a.h.rye("sign", "tool:acme/"+name)
}

// loop makes acme/<name> the loop of the project's threads.
func (a *threadArena) loop(name, source string) {
	a.h.write(".ai/tools/acme/"+name+".star", "# version: 1.0.0\n# tool_type: loop\n# executor_id: null\n# category: acme\n# description: a loop\n\n"+source)
	a.h.rye("sign", "tool:acme/"+name)
	a.config("loop: acme/" + name)
}

// config is what the project says of its threads. The person agreed to that once.
func (a *threadArena) config(line string) {
	a.h.write(".ai/config/rye/agent.yaml", "version: \"1.0.0\"\ndescription: of the project\ncategory: rye\n"+line+"\n")
	a.h.rye("trust", "override", "config:rye/agent", "--yes")
	a.h.rye("sign", "config:rye/agent")
}

// in has a subtest be what fails.
func (a *threadArena) in(t *testing.T) { a.t, a.h.t = t, t }

// told is one record of a thread.
type told struct {
	Seq     int64          `json:"seq"`
	Turn    int            `json:"turn"`
	Type    string         `json:"event_type"`
	Payload map[string]any `json:"payload"`
}

// threadRun is what a person finds of a thread that is over.
type threadRun struct {
	id, status, why string
	info            map[string]any
	events          []told
	raw             string // of the records
	exit            int
	stderr          string
}

// start runs a thread until it ends, or waits for somebody. What was refused has no id.
func (a *threadArena) start(directive string, flags ...string) *threadRun {
	a.t.Helper()
	r := &threadRun{}
	out, stderr, exit := a.run(append([]string{"thread", "start", "directive:acme/" + directive, "--wait", "--json"}, flags...)...)
	r.exit, r.stderr = exit, stderr
	if out == "" {
		out = stderr
	}
	if json.Unmarshal([]byte(out), &r.info) != nil {
		a.t.Fatalf("thread start: %s%s", out, stderr)
	}
	if e, ok := r.info["error"].(map[string]any); ok && r.info["thread_id"] == nil {
		r.status, r.why = fmt.Sprint(e["code"]), fmt.Sprint(e["message"])
		return r
	}
	r.id, r.status = fmt.Sprint(r.info["thread_id"]), fmt.Sprint(r.info["status"])
	r.why, _ = r.info["why"].(string)
	a.read(r)
	return r
}

// read reads the records of a thread.
func (a *threadArena) read(r *threadRun) {
	a.t.Helper()
	r.events = nil
	r.raw, _, _ = a.run("thread", "log", r.id, "--events")
	for line := range strings.Lines(r.raw) {
		var e told
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			a.t.Fatalf("record %q: %v", line, err)
		}
		r.events = append(r.events, e)
	}
}

func (a *threadArena) run(args ...string) (stdout, stderr string, exit int) {
	cmd := a.h.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		a.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// count counts the records of a type.
func (r *threadRun) count(typ string) (n int) {
	for _, e := range r.events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// results lists what came of the calls, in the order in which the model asked for them.
func (r *threadRun) results() (all []map[string]any) {
	by := map[string]map[string]any{}
	for _, e := range r.events {
		if e.Type == "tool_call_result" {
			by[fmt.Sprint(e.Payload["call_id"])] = e.Payload
		}
	}
	for _, e := range r.events {
		calls, _ := e.Payload["calls"].([]any)
		for _, c := range calls {
			all = append(all, by[fmt.Sprint(c.(map[string]any)["id"])])
		}
	}
	return all
}

// executes is a call that executes an item.
func executes(kind, id string, params map[string]any) map[string]any {
	return map[string]any{"name": "rye_execute", "args": map[string]any{"item_type": kind, "item_id": id, "parameters": params}}
}

func calls(name string, args map[string]any) map[string]any {
	return map[string]any{"name": name, "args": args}
}

// strict has a host on loopback play the script of a provider item, which refuses what a service
// would refuse. The scripted model of the program would not.
func (a *threadArena) strict(config map[string]any) {
	a.t.Helper()
	if config["mock"] == nil {
		return
	}
	raw, err := json.Marshal(config["mock"])
	if err != nil {
		a.t.Fatal(err)
	}
	if bytes.Contains(raw, []byte(`"times"`)) {
		return // each process of a thread counts for itself
	}
	script, err := modelhost.Parse(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	v, err := modelhost.Serve(context.Background(), script) // it lives as long as the whole test
	if err != nil {
		a.t.Fatal(err)
	}
	a.whole.Cleanup(v.Close)
	delete(config, "mock")
	for name, group := range map[string]any{
		"endpoint": obj{"base_url": v.URL, "path": "/v1/messages", "headers": obj{"anthropic-version": "2023-06-01"}},
		"request":  obj{"encoder": "anthropic-messages"}, "echo": obj{"blocks": []any{"thinking"}},
		"caching": obj{"mode": "breakpoints", "at": []any{"tools", "system"}, "last": 2},
		"finish":  obj{"end_turn": "end", "tool_use": "calls", "max_tokens": "length", "refusal": "refusal"},
		"usage":   obj{"input": "input_tokens", "output": "output_tokens"},
		"models": []any{obj{"id": "scripted", "tiers": []any{"fast", "general", "high", "max"}, "context": 200_000, "max_output": 8000,
			"prices": obj{"input": "1", "output": "5"}}},
		"retry": obj{"attempts": 4, "base": 0.01, "max": 1, "elapsed": 5},
	} {
		if config[name] == nil {
			config[name] = group
		}
	}
	a.hosts = append(a.hosts, strings.TrimPrefix(v.URL, "http://"))
	a.binds(a.bound)
}

// binds puts a file for the person's secrets into their configuration, with the hosts of models.
func (a *threadArena) binds(text string) {
	a.t.Helper()
	a.bound = text
	if len(a.hosts) > 0 {
		hosts, rest := strings.Join(a.hosts, ", "), text
		if more, ok := strings.CutPrefix(text, "hosts: ["); ok {
			more, rest, _ = strings.Cut(more, "]\n")
			hosts += ", " + more
		}
		text = "hosts: [" + hosts + "]\n" + rest
	}
	dir := strings.TrimSpace(a.h.rye("where", "config"))
	a.secrets = text
	if err := os.WriteFile(filepath.Join(dir, "secrets.yaml"), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// story is what a thread did, a line for each record, for who reads a failure.
func (r *threadRun) story() string {
	var b strings.Builder
	for i, e := range r.events {
		if i > 15 && i < len(r.events)-15 || e.Type == "host_call" || e.Type == "turn_done" || e.Type == "budget_held" {
			continue
		}
		raw, _ := json.Marshal(e.Payload)
		fmt.Fprintf(&b, "%d %s %.300s\n", e.Turn, e.Type, raw)
	}
	return b.String()
}

// gone waits until no process runs a thread that has ended: after its last record it still
// puts that on its branch.
func (a *threadArena) gone(id string) {
	a.t.Helper()
	for until := time.Now().Add(20 * time.Second); strings.Contains(a.h.rye("thread", "show", id, "--json"), `"pid":`); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			a.t.Fatalf("thread %s is still run", id)
		}
	}
}
