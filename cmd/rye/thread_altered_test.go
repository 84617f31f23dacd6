package main_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestAlteredSinceTheStart: a thread goes on with what it began with. A loop, a provider or a
// tool that somebody changed and signed meanwhile does not take part, unless a person says so.
func TestAlteredSinceTheStart(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	const plain = "def init(ctx):\n    return {\"turn\": 0}\n\ndef turn(host, state):\n    a = host.model(host.prompt()[\"id\"])\n    host.calls([c[\"id\"] for c in a[\"calls\"]])\n    return state, next.again()\n"
	turns := func(say string) []any {
		var all []any
		for range 4 {
			all = append(all, map[string]any{"say": say, "calls": []any{executes("tool", "acme/echo", map[string]any{}), calls("rye_load", map[string]any{"item_type": "tool", "item_id": "acme/echo"}),
				executes("tool", "acme/late", map[string]any{})}})
		}
		return all
	}
	a.tool("echo", "", "echo as it was\n")
	rows := []struct {
		name   string
		alter  func(provider string)
		flags  []string
		exit   int
		result string // of the tool, after the resume
	}{
		{"nothing", func(string) {}, nil, 0, "as it was"},
		{"the loop", func(string) { a.loop("plain", strings.Replace(plain, "state, next.again()", "state, next.done()", 1)) }, nil, 18, ""},
		{"the loop, and a person wants that", func(string) { a.loop("plain", strings.Replace(plain, "\"turn\": 0", "\"turn\": 1", 1)) }, []string{"--loop"}, 0, "as it was"},
		{"the provider", func(p string) { a.script(p, turns("another")) }, nil, 18, ""},
		{"a tool", func(string) { a.tool("echo", "", "echo as it is now\n") }, nil, 0, "drift: "},
	}
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a.in(t)
			name := fmt.Sprintf("p%d", i)
			a.loop("plain", plain)
			a.script(name, turns("go"))
			a.directive(name, name, `<permissions>*</permissions><limits turns="9"/>`)
			r := a.start(name, "--turns", "1")
			a.gone(r.id)
			if r.status != "suspended" {
				t.Fatalf("%s: %s\n%s", r.status, r.why, r.story())
			}
			was := len(r.results())
			row.alter(name)
			a.tool("late", "", "echo later\n")
			a.h.rye("thread", "send", r.id, "--turns", "1")
			out, stderr, exit := a.run(append([]string{"thread", "resume", r.id}, row.flags...)...)
			t.Logf("%-40s exit %d %.140s", row.name, exit, strings.TrimSpace(out+stderr))
			if exit != row.exit {
				t.Fatalf("resume: exit %d, want %d: %s%s", exit, row.exit, out, stderr)
			}
			if exit != 0 {
				return
			}
			a.run("thread", "wait", r.id)
			a.read(r)
			after := r.results()[was:]
			if len(after) != 3 {
				t.Fatalf("%d results\n%s", len(after), r.story())
			}
			if got := fmt.Sprint(after[0]["output"], after[0]["error"]); !strings.Contains(got, row.result) || strings.Contains(got, "as it is now") {
				t.Errorf("the tool said %q, want %q", got, row.result)
			}
			if row.result == "drift: " && !strings.HasPrefix(fmt.Sprint(after[1]["error"]), "drift: ") {
				t.Errorf("it was loaded: %v", after[1])
			}
			if i == 0 && !strings.HasPrefix(fmt.Sprint(after[2]["error"]), "drift: ") {
				t.Errorf("a tool that came later: %v", after[2])
			}
		})
	}
}
