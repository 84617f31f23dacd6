package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// wantHooks is a directive of which every event of the library's loop happens to a thread, one
// way or the other: what drives it, and how it ends where no hook says anything.
type wantHooks struct {
	event     string
	condition any
	provider  string
	limits    map[string]any
	status    string // where nobody says anything
	why       string
}

// hooked lists those for the seven events, with that of a limit twice.
var hooked = []wantHooks{
	{event: "thread_started", provider: "works", status: "completed"},
	{event: "error", provider: "fails", status: "error", why: "model: invalid"},
	{event: "error", condition: map[string]any{"path": "error.class", "op": "eq", "value": "overloaded"}, provider: "busy", status: "suspended", why: "network: model: overloaded"},
	{event: "limit", condition: reached(false), provider: "endless", limits: map[string]any{"turns": 5}, status: "suspended", why: "limit: turns"},
	{event: "limit", condition: reached(true), provider: "endless", limits: map[string]any{"turns": 2}, status: "suspended", why: "limit: turns"},
	{event: "context_window_pressure", provider: "narrow", limits: map[string]any{"output": 500}, status: "error", why: "of the context window"},
	{event: "after_step", provider: "works", status: "completed"},
	{event: "directive_return", condition: map[string]any{"path": "outputs.verdict", "op": "eq", "value": "good"}, provider: "works", status: "completed"},
	{event: "after_complete", condition: map[string]any{"path": "times", "op": "eq", "value": 1}, provider: "works", status: "completed"},
}

func reached(is bool) any { return map[string]any{"path": "reached", "op": "eq", "value": is} }

// hookedArena has what drives those threads.
func hookedArena(t *testing.T) *threadArena {
	a := newThreadArena(t)
	a.tool("echo", "", "echo hello\n")
	a.tool("loud", "", "seq 1 3000\n")
	look := map[string]any{"say": "I look.", "calls": []any{executes("tool", "acme/echo", map[string]any{})}}
	good := map[string]any{"calls": []any{calls("directive_return", map[string]any{"verdict": "good"})}}
	better := map[string]any{"when": map[string]any{"last": "be thorough"}, "calls": []any{calls("directive_return", map[string]any{"verdict": "better"})}}
	works := []any{better, look, good, good, good}
	a.script("works", works)
	a.script("fails", append([]any{map[string]any{"times": 1, "error": map[string]any{"status": 400}}}, works...))
	once := map[string]any{"attempts": 1, "base": 0.001, "max": 1, "elapsed": 1}
	a.provider("busy", map[string]any{"retry": once, "mock": map[string]any{"turns": append([]any{map[string]any{"times": 1, "error": map[string]any{"status": 529}}}, works...)}})
	a.script("endless", slices.Repeat([]any{look}, 20))
	a.provider("narrow", map[string]any{
		"models": []any{map[string]any{"id": "small", "tiers": []any{"general"}, "context": 5000, "prices": map[string]any{"input": "1", "output": "1"}}},
		"mock":   map[string]any{"turns": []any{map[string]any{"say": "I look.", "calls": []any{executes("tool", "acme/loud", map[string]any{})}}, good, good}}})
	return a
}

// hookedDirective writes a directive with one hook; it is signed with all of them.
func (a *threadArena) hookedDirective(name string, w wantHooks, action any) {
	meta := map[string]any{"version": "1.0.0", "description": "d", "author": "ann", "model": map[string]any{"tier": "general", "provider": "acme/" + w.provider},
		"permissions": []any{"rye.execute.tool.acme.*"}, "outputs": []any{map[string]any{"name": "verdict", "required": false}}, "limits": w.limits}
	if action != nil {
		meta["hooks"] = []any{map[string]any{"id": "the one", "event": w.event, "condition": w.condition, "action": action}}
	}
	if w.limits == nil {
		delete(meta, "limits")
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		a.t.Fatal(err)
	}
	a.h.write(".ai/directives/acme/"+name+".md", "---\n"+string(raw)+"\n---\nDo the work.\n")
}

// answered answers what a thread asks a person, until it is over.
func (a *threadArena) answered(r *threadRun, answer func(question string)) {
	a.t.Helper()
	for range 10 {
		question, _ := r.info["question"].(string)
		if question == "" {
			return
		}
		answer(question)
		out, stderr, exit := a.run("thread", "wait", r.id, "--json")
		r.info = nil
		if err := json.Unmarshal([]byte(out), &r.info); err != nil {
			a.t.Fatalf("%v: %s%s", err, out, stderr)
		}
		r.exit, r.status = exit, fmt.Sprint(r.info["status"])
		r.why, _ = r.info["why"].(string)
		a.read(r)
	}
	a.t.Fatalf("it asks without end: %s", r.story())
}

// told reports whether the model was told something, in whose words.
func (r *threadRun) told(text string) bool {
	return slices.ContainsFunc(r.events, func(e told) bool {
		return e.Type == "cognition_in" && strings.Contains(fmt.Sprint(e.Payload["text"]), text)
	})
}

// fired lists the hooks that decided.
func (r *threadRun) fired() (all []string) {
	for _, e := range r.events {
		if e.Type == "hook_fired" {
			all = append(all, fmt.Sprintf("%v: %v %v of %v", e.Payload["event"], e.Payload["hook"], e.Payload["action"], e.Payload["detail"].(map[string]any)["from"]))
		}
	}
	return all
}

// TestHooks: each control counts at each event, and no hook leads beyond a limit.
func TestHooks(t *testing.T) {
	t.Parallel()
	a := hookedArena(t)
	actions := map[string]map[string]any{
		"none":     nil,
		"continue": {"action": "continue"},
		"note":     {"action": "note", "text": "be thorough"},
		"done":     {"action": "done", "text": "that is all"},
		"fail":     {"action": "fail", "code": "enough", "text": "it is enough"},
		"ask":      {"action": "ask", "text": "is it worth it?"},
		"retry":    {"action": "retry", "tier": "fast"},
	}
	type row struct {
		wantHooks
		name, action string
	}
	var rows []row
	for i, w := range hooked {
		for word, action := range actions {
			if word == "retry" && w.event != "error" {
				continue
			}
			name := fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(w.event, "_", "-"), i, word)
			var does any
			if action != nil {
				does = action
			}
			a.hookedDirective(name, w, does)
			rows = append(rows, row{w, name, word})
		}
	}
	slices.SortFunc(rows, func(x, y row) int { return strings.Compare(x.name, y.name) })
	a.h.rye("sign", "--all")
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := &threadArena{t: t, whole: a.whole, h: new(*a.h), hosts: a.hosts, bound: a.bound}
			a.in(t)
			r := a.start(row.name)
			a.answered(r, func(question string) { a.h.rye("deny", question) })
			status, why := row.status, row.why
			limit := row.event == "limit" && fmt.Sprint(row.condition) == fmt.Sprint(reached(true))
			switch row.action {
			case "note":
				if row.event == "error" {
					status, why = "completed", ""
				}
				if !r.told("A note of rye's: be thorough") {
					t.Error("the model is not told")
				}
			case "retry":
				status, why = "completed", ""
			case "done":
				status, why = "completed", ""
				if r.info["text"] != "that is all" {
					t.Errorf("it ends with %q", r.info["text"])
				}
			case "fail":
				status, why = "error", "it is enough"
				if last := r.events[len(r.events)-1]; last.Payload["error_code"] != "enough" {
					t.Errorf("it ends with %v", last.Payload)
				}
			case "ask":
				status, why = "error", "a person was asked whether to continue, and said no"
				if limit {
					status, why = row.status, "is it worth it?"
				}
			}
			if r.status != status || !strings.Contains(r.why, why) {
				t.Errorf("%s: %s; want %s: %s\n%s", r.status, r.why, status, why, r.story())
			}
			want := fmt.Sprintf("%s: the one %s of directive:acme/%s", row.event, row.action, row.name)
			if got := r.fired(); row.action != "none" && (len(got) == 0 || got[0] != want) || row.action == "none" && len(got) > 0 {
				t.Errorf("fired %q, want %q", got, want)
			}
			if most, ok := row.limits["turns"].(int); ok && r.count("cognition_out") > most {
				t.Errorf("%d answers, at most %d", r.count("cognition_out"), most)
			}
			if row.event == "directive_return" && row.action == "note" && fmt.Sprint(r.info["outputs"]) != "map[verdict:better]" {
				t.Errorf("it returned %v", r.info["outputs"])
			}
		})
	}
}

// TestHooksInherited: a configuration of the user's and the project's has hooks for every
// thread, by id; the directive's own are looked at first.
func TestHooksInherited(t *testing.T) {
	t.Parallel()
	a := hookedArena(t)
	a.h.rye("trust", "override", "config:rye/agent/hooks", "--yes")
	config := func(in string, hooks ...any) {
		raw, err := json.Marshal(map[string]any{"version": "1.0.0", "hooks": hooks})
		if err != nil {
			t.Fatal(err)
		}
		a.h.write(".ai/config/rye/agent/hooks.yaml", string(raw)+"\n")
		a.h.rye("sign", "config:rye/agent/hooks")
		if in == "user" {
			a.h.rye("copy", "config:rye/agent/hooks", "--to", "user")
			if err := os.Remove(a.h.dir + "/.ai/config/rye/agent/hooks.yaml"); err != nil {
				t.Fatal(err)
			}
			a.h.rye("rm", "config:rye/agent/hooks")
		}
	}
	note := func(id, event, text string) any {
		return map[string]any{"id": id, "event": event, "action": map[string]any{"action": "note", "text": text}}
	}
	w := wantHooks{event: "after_step", provider: "works"}
	a.hookedDirective("plain", w, nil)
	a.hookedDirective("own", w, map[string]any{"action": "note", "text": "the directive's"})
	a.h.rye("sign", "directive:acme/plain", "directive:acme/own")
	config("user", note("greet", "thread_started", "the user's greeting"), note("step", "after_step", "the user's step"))
	const of = " of config:rye/agent/hooks"
	check := func(directive string, want ...string) {
		t.Helper()
		r := a.start(directive)
		if got := r.fired(); r.status != "completed" || !slices.Equal(got, want) {
			t.Errorf("%s: %s, fired %q, want %q\n%s", r.status, r.why, got, want, r.stderr)
		}
	}
	check("plain", "thread_started: greet note"+of, "after_step: step note"+of)
	check("own", "thread_started: greet note"+of, "after_step: the one note of directive:acme/own")
	// A project takes the place of one, and switches another off.
	config("project", map[string]any{"id": "greet"}, note("step", "after_step", "the project's step"))
	check("plain", "after_step: step note"+of)
	if r := a.start("plain"); !r.told("the project's step") || r.told("the user's") {
		t.Error(r.story())
	}
	// What counts was settled at the start: it is in thread.json, and the loop cannot widen it.
	config("project")
	check("plain")
	// Hooks that cannot be read start nothing, and name the item.
	for name, hooks := range map[string]any{
		"no list":              "all",
		"no id":                []any{map[string]any{"event": "error", "action": map[string]any{"action": "fail"}}},
		"no such event":        []any{map[string]any{"id": "x", "event": "thread_start", "action": map[string]any{"action": "fail"}}},
		"no such action":       []any{map[string]any{"id": "x", "event": "error", "action": map[string]any{"action": "grant"}}},
		"no action":            []any{map[string]any{"id": "x", "event": "error"}},
		"no words":             []any{map[string]any{"id": "x", "event": "error", "action": map[string]any{"action": "note"}}},
		"no such member":       []any{map[string]any{"id": "x", "event": "error", "layer": 3, "action": map[string]any{"action": "fail"}}},
		"no such condition":    []any{map[string]any{"id": "x", "event": "error", "condition": map[string]any{"path": "a", "op": "is"}, "action": map[string]any{"action": "fail"}}},
		"no such model":        []any{map[string]any{"id": "x", "event": "error", "action": map[string]any{"action": "retry", "tier": "made-up"}}},
		"an item to execute":   []any{map[string]any{"id": "x", "event": "error", "action": map[string]any{"primary": "execute", "item_type": "tool", "item_id": "acme/loud"}}},
		"again where no error": []any{map[string]any{"id": "x", "event": "after_step", "action": map[string]any{"action": "retry"}}},
	} {
		raw, err := json.Marshal(map[string]any{"version": "1.0.0", "hooks": hooks})
		if err != nil {
			t.Fatal(err)
		}
		a.h.write(".ai/config/rye/agent/hooks.yaml", string(raw)+"\n")
		a.h.rye("sign", "config:rye/agent/hooks")
		_, stderr, exit := a.run("thread", "start", "directive:acme/plain", "--wait")
		if exit == 0 || !strings.Contains(stderr, "config:rye/agent/hooks") || !strings.Contains(stderr, "hint: rye show config:rye/agent/hooks --resolved") {
			t.Errorf("%s: exit %d: %s", name, exit, stderr)
		}
	}
	a.h.rye("show", "config:rye/agent/hooks", "--resolved")
	// So does a layer that may not be used: what it says would be missing.
	a.h.write(".ai/config/rye/agent/hooks.yaml", "version: \"1.0.0\"\n")
	if r := a.start("plain"); r.exit != 11 {
		t.Errorf("an unsigned configuration: exit %d, %s", r.exit, r.why)
	}
}
