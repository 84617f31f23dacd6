package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// item is a call of rye/agent/threads/<name>.
func item(name string, params map[string]any) map[string]any {
	if params == nil {
		params = map[string]any{}
	}
	return executes("tool", "rye/agent/threads/"+name, params)
}

// asked runs a thread whose model makes these calls at once, and returns what came of each.
func (a *threadArena) asked(name, permissions string, calls ...map[string]any) (*threadRun, []map[string]any) {
	a.t.Helper()
	list := []any{}
	for _, c := range calls {
		list = append(list, c)
	}
	a.script(name, []any{map[string]any{"say": "I look at the parcel.", "calls": list}, map[string]any{"say": "done"}})
	a.directive(name, name, permissions)
	r := a.start(name)
	return r, r.results()
}

// answerOf is the value that a call gave.
func outputOf(t *testing.T, res map[string]any) (v map[string]any) {
	t.Helper()
	if res["error"] != nil {
		t.Fatalf("failed: %v", res["error"])
	}
	if err := json.Unmarshal([]byte(fmt.Sprint(res["output"])), &v); err != nil {
		t.Fatalf("%v: %v", res["output"], err)
	}
	return v
}

const lookAfter = `<permissions><execute><tool>rye.agent.threads.*</tool></execute></permissions>`

// TestThreadLooksAtItself: a thread that may finds itself, in pages that are small, and no
// other thread by whatever name.
func TestThreadLooksAtItself(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("hello", []any{map[string]any{"say": "the word is swordfish"}})
	a.directive("other", "hello", "")
	other := a.start("other")
	const huge = 9007199254740991
	r, got := a.asked("looks", lookAfter,
		item("status", nil),
		item("read_transcript", nil),
		item("read_transcript", map[string]any{"from": huge, "limit": 1}),
		item("read_transcript", map[string]any{"from": -huge, "limit": 2, "bytes": 1000}),
		item("search", map[string]any{"words": "PARCEL look"}),
		item("search", map[string]any{"words": "swordfish nowhere"}),
		// refused
		item("wait", nil),
		item("resume", map[string]any{"message": "go on"}),
		item("status", map[string]any{"thread_id": other.id}),
		item("status", map[string]any{"thread_id": other.id[:4]}),
		item("read_transcript", map[string]any{"thread_id": strings.ToUpper(other.id)}),
		item("search", map[string]any{"thread_id": other.id, "words": "swordfish"}),
		item("cancel", map[string]any{"thread_id": other.id}),
		item("wait", map[string]any{"thread_id": other.id}),
		item("resume", map[string]any{"thread_id": other.id}),
		item("status", map[string]any{"thread_id": "../" + other.id}),
		item("status", map[string]any{"thread_id": "0"}),
		item("status", map[string]any{"thread_id": ""}),
		item("read_transcript", map[string]any{"limit": 101}),
		item("read_transcript", map[string]any{"from": 1e300}),
		item("search", map[string]any{"words": " "}),
		item("status", map[string]any{"loop": true}),
		item("resume", map[string]any{"accept": true}),
	)
	if r.status != "completed" {
		t.Fatalf("%s: %s\n%s", r.status, r.why, r.story())
	}
	if v := outputOf(t, got[0]); v["thread_id"] != r.id || v["status"] != "running" {
		t.Errorf("status: %v", v)
	}
	first := outputOf(t, got[1])
	records := first["records"].([]any)
	if rec := records[0].(map[string]any); rec["event_type"] != "thread_started" || !strings.Contains(fmt.Sprint(records), "I look at the parcel") {
		t.Errorf("read_transcript: %v", first)
	}
	if v := outputOf(t, got[2]); len(v["records"].([]any)) != 0 || v["next"] != nil {
		t.Errorf("from behind the end: %v", v)
	}
	if v := outputOf(t, got[3]); len(v["records"].([]any)) == 0 || v["next"] == nil {
		t.Errorf("from before the beginning: %v", v)
	}
	hits := outputOf(t, got[4])["hits"].([]any)
	if len(hits) == 0 || !strings.Contains(fmt.Sprint(hits), "I look at the parcel.") {
		t.Errorf("search: %v", hits)
	}
	for i, want := range []string{"usage", "usage", "not_found", "not_found", "not_found", "not_found", "not_found", "not_found", "not_found", "usage|not_found", "not_found", "x",
		"usage", "usage", "usage", "usage", "usage"} {
		failed, _ := got[6+i]["error"].(string)
		code, _, _ := strings.Cut(failed, ":")
		if failed == "" {
			code = "x"
		}
		if !strings.Contains("|"+want+"|", "|"+code+"|") {
			t.Errorf("refused call %d: %v, want %s", i, got[6+i], want)
		}
	}
	if strings.Contains(strings.ReplaceAll(r.raw, "swordfish nowhere", ""), "the word is swordfish") {
		t.Error("what another thread said is in the transcript")
	}
	// The transcript says of each whether it may be done again.
	for _, e := range r.events {
		tool := fmt.Sprint(e.Payload["tool"])
		if e.Type == "tool_call_start" && e.Payload["idempotent"] != !(strings.HasSuffix(tool, "cancel") || strings.HasSuffix(tool, "resume")) {
			t.Errorf("idempotent is %v of %v", e.Payload["idempotent"], e.Payload["tool"])
		}
	}
}

// TestThreadEndsItself: cancel without an id ends the thread that asks, and it does nothing
// more.
func TestThreadEndsItself(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("ends", []any{map[string]any{"calls": []any{item("cancel", nil)}}, map[string]any{"say": "on", "wait": "1m"}, map[string]any{"say": "still here"}})
	a.directive("ends", "ends", lookAfter)
	r := a.start("ends")
	if r.status != "cancelled" || r.why != "asked for by thread "+r.id || strings.Contains(r.raw, "still here") {
		t.Errorf("%s: %s\n%s", r.status, r.why, r.story())
	}
}

// TestThreadItemsNeedTheirCapability: what of these items a thread has its directive says.
func TestThreadItemsNeedTheirCapability(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	all := []map[string]any{item("status", nil), item("read_transcript", nil), item("search", map[string]any{"words": "x"}), item("cancel", nil)}
	for name, c := range map[string]struct{ permissions, want string }{
		"none":   {"", "----"},
		"acme":   {`<permissions><execute><tool>acme.*</tool></execute></permissions>`, "----"},
		"status": {`<permissions><execute><tool>rye.agent.threads.status</tool></execute></permissions>`, "x---"},
		"verbs":  {"<permissions>rye.thread.*</permissions>", "----"},
	} {
		r, _ := a.asked("n"+name, c.permissions, all...)
		if got := r.allowed(); got != c.want || r.status == "cancelled" {
			t.Errorf("%s: %s, want %s (%s)\n%s", name, got, c.want, r.status, r.story())
		}
	}
}

// TestOnlyTheLibraryIsServed: a project's item that names a function of threads, or that is
// executed by a tool of the library which does, acts for nobody; and one that takes a name of
// the library's is a tool like any other, in its sandbox.
func TestOnlyTheLibraryIsServed(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	write := func(path, executor, more string) {
		a.h.write(".ai/tools/"+path+".yaml", "version: \"1.0.0\"\ntool_type: agent\nexecutor_id: "+executor+"\ncategory: "+filepath.ToSlash(filepath.Dir(path))+"\ndescription: harmless\n"+more)
	}
	write("acme/function", "rye/core/primitives/builtin", "config: {function: threads/cancel}\n")
	write("acme/above", "rye/agent/threads/cancel", "")
	write("acme/both", "rye/agent/threads/cancel", "config: {function: threads/cancel}\n")
	a.h.rye("sign", "--all")
	for _, name := range []string{"function", "above", "both"} {
		out, stderr, exit := a.run("execute", "tool:acme/"+name)
		if exit != 16 || !strings.Contains(stderr, "not in the standard library") {
			t.Errorf("tool:acme/%s: exit %d %s%s", name, exit, out, stderr)
		}
	}
	r, got := a.asked("tries", `<permissions><execute><tool>acme.*</tool></execute></permissions>`,
		executes("tool", "acme/function", map[string]any{}), executes("tool", "acme/above", map[string]any{}), executes("tool", "acme/both", map[string]any{}))
	if r.allowed() != "---" || r.status != "completed" {
		t.Errorf("%s %s %v\n%s", r.allowed(), r.status, got, r.story())
	}

	a.h.write(".ai/tools/rye/agent/threads/status.sh", `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: rye/agent/threads
# description: not what it seems
echo "mine, $RYE_ITEM_ID"
`)
	a.h.rye("trust", "override", "tool:rye/agent/threads/status", "--yes")
	a.h.rye("sign", "tool:rye/agent/threads/status")
	out, stderr, exit := a.run("execute", "tool:rye/agent/threads/status", "--json")
	if exit != 0 || !strings.Contains(out, "mine, ") || !strings.Contains(out, `"sandbox":"S`) {
		t.Errorf("the project's own: exit %d %s%s", exit, out, stderr)
	}
	a.h.write(".ai/tools/rye/agent/threads/status.sh", "")
	os.Remove(filepath.Join(a.h.dir, ".ai/tools/rye/agent/threads/status.sh"))
	write("rye/agent/threads/status", "rye/core/primitives/builtin", "config: {function: threads/cancel}\n")
	a.h.rye("sign", "tool:rye/agent/threads/status")
	if out, stderr, exit := a.run("execute", "tool:rye/agent/threads/status"); exit != 16 || !strings.Contains(stderr, "not in the standard library") {
		t.Errorf("the project's own that names the function: exit %d %s%s", exit, out, stderr)
	}
}

// TestClientLooksAfterItsThreads: what an MCP client started it can see, wait for, read, cancel
// and resume; of others it finds nothing, and limits are a person's.
func TestClientLooksAfterItsThreads(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("two", []any{map[string]any{"say": "one swordfish", "calls": []any{item("status", nil)}}, map[string]any{"say": "two"}})
	a.script("slow", []any{map[string]any{"say": "late", "wait": "10m"}})
	a.directive("two", "two", lookAfter)
	a.directive("short", "two", `<limits turns="1"/>`+lookAfter)
	a.directive("slow", "slow", "")
	persons := a.start("two")
	a.h.lists("test")
	s, _ := a.h.connect(&mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	}})
	tool := func(name string, params map[string]any) (map[string]any, bool) {
		return call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "rye/agent/threads/" + name, "parameters": params})
	}
	start := func(name string, wait int) string {
		got, _ := call(t, s, "execute", map[string]any{"item_type": "directive", "item_id": "acme/" + name, "thread": true, "wait_seconds": wait})
		data, ok := got["data"].(map[string]any)
		if !ok {
			t.Fatalf("start %s: %v", name, got)
		}
		return fmt.Sprint(data["thread_id"])
	}
	is := func(name string, params map[string]any, want string) map[string]any {
		t.Helper()
		got, failed := tool(name, params)
		data, _ := got["data"].(map[string]any)
		raw, _ := json.Marshal(got)
		if failed && fmt.Sprint(got["code"]) != want || !failed && !strings.Contains(string(raw), want) {
			t.Errorf("%s %v: %s, want %s", name, params, raw, want)
		}
		return data
	}
	if got, failed := tool("status", map[string]any{}); failed || len(got["data"].(map[string]any)["threads"].([]any)) != 0 {
		t.Errorf("a client that started nothing sees %v", got)
	}
	for _, id := range []string{persons.id, persons.id[:8], strings.ToUpper(persons.id), "0"} {
		for _, name := range []string{"status", "wait", "read_transcript", "cancel", "resume"} {
			is(name, map[string]any{"thread_id": id}, "not_found")
		}
		is("search", map[string]any{"thread_id": id, "words": "swordfish"}, "not_found")
	}
	is("wait", map[string]any{}, "usage")
	is("cancel", map[string]any{}, "usage")

	done := start("two", 50)
	is("status", map[string]any{}, done)
	if got := is("status", map[string]any{"thread_id": done[:20]}, `"status":"completed"`); got["text"] != "two" {
		t.Errorf("status: %v", got)
	}
	is("read_transcript", map[string]any{"thread_id": done}, "one swordfish")
	is("search", map[string]any{"thread_id": done, "words": "SWORD one"}, `"excerpt":"one swordfish"`)
	is("cancel", map[string]any{"thread_id": done}, "conflict")
	is("resume", map[string]any{"thread_id": done}, "conflict")

	slow := start("slow", 0)
	is("wait", map[string]any{"thread_id": slow, "seconds": 0.1}, `"status":"running"`)
	is("resume", map[string]any{"thread_id": slow}, "conflict")
	is("cancel", map[string]any{"thread_id": slow}, `"status":"cancelled"`)

	short := start("short", 50)
	is("status", map[string]any{"thread_id": short}, `"status":"suspended"`)
	for _, more := range []map[string]any{{"loop": true}, {"accept": true}, {"limits": map[string]any{"turns": 9}}} {
		more["thread_id"] = short
		is("resume", more, "usage")
	}
	is("resume", map[string]any{"thread_id": short, "message": "go on"}, short)
	is("wait", map[string]any{"thread_id": short}, `"status":"suspended"`) // its limit is what it was
	a.h.rye("thread", "send", short, "--turns", "3")
	is("resume", map[string]any{"thread_id": short}, short)
	is("wait", map[string]any{"thread_id": short}, `"status":"completed"`)
	is("search", map[string]any{"thread_id": short, "words": "message from mcp go on"}, `"event_type":"cognition_in"`)
}

// TestLogOfALongAnswer: what is too long for a record is shown all the same, and --events shows
// the record as it is kept.
func TestLogOfALongAnswer(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("long", []any{map[string]any{"say": "begin " + strings.Repeat("word ", 30_000) + "the very end"}})
	a.directive("long", "long", "")
	r := a.start("long")
	out := a.h.rye("thread", "log", r.id)
	if !strings.Contains(out, "begin word") || !strings.Contains(out, "word the very end") {
		t.Errorf("the log has %d bytes: %.300s", len(out), out)
	}
	if strings.Contains(r.raw, "the very end") || !strings.Contains(r.raw, `"text_artifact":`) {
		t.Errorf("the records: %.2000s", r.raw)
	}
	if shown := a.h.rye("thread", "log", r.id, "--json"); shown != r.raw {
		t.Error("--json shows other records than --events")
	}
}
