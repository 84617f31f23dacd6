package main_test

import (
	"fmt"
	"strings"
	"testing"
)

// house is a provider of several models, of which the first has the tier general.
func (a *threadArena) house(name string, fallback map[string]any, turns []any) {
	model := func(id, price string, more map[string]any) map[string]any {
		m := map[string]any{"id": id, "context": 100_000, "max_output": 4000, "prices": map[string]any{"input": price, "output": price}}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	a.provider(name, map[string]any{
		"models": []any{model("large", "10", map[string]any{"tiers": []any{"general"}}), model("narrow", "1", map[string]any{"context": 500}),
			model("mute", "1", map[string]any{"supports": map[string]any{"tools": false}}), model("small", "1", map[string]any{"max_output": 900})},
		"fallback": fallback, "retry": map[string]any{"attempts": 2, "base": 0.001, "max": 20, "elapsed": 30},
		"mock": map[string]any{"turns": turns}})
}

// models lists who was asked, in order.
func (r *threadRun) models() string {
	var all []string
	for _, e := range r.events {
		if e.Type == "model_intent" {
			all = append(all, fmt.Sprint(e.Payload["model"]))
		}
	}
	return strings.Join(all, " ")
}

// TestThreadFallback: where a model fails, the others are asked that its provider's item names,
// and only for what the item names them; a limit is no such failure.
func TestThreadFallback(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.tool("echo", "", "echo hello\n")
	fails := func(model string, status int) map[string]any {
		return map[string]any{"when": map[string]any{"model": model}, "error": map[string]any{"status": status}}
	}
	busy := fails("large", 529)
	// Thinking that only the other model can read; it does not go to the first.
	answer := map[string]any{"when": map[string]any{"turn": 1}, "think": "hm", "say": "I look.", "calls": []any{executes("tool", "acme/echo", map[string]any{})}}
	end := map[string]any{"when": map[string]any{"turn": 2}, "say": "It says ${result.0.text}"}
	all := map[string]any{"overloaded": []any{"narrow", "mute", "small"}}
	const may = `<permissions><execute><tool>acme.*</tool></execute></permissions>`
	for _, row := range []struct {
		name     string
		fallback map[string]any
		turns    []any
		flags    []string
		status   string
		why      string
		models   string
	}{
		{"another answers", all, []any{busy, answer, end}, nil, "completed", "", "large large small large large small"},
		{"none is named for that", map[string]any{"quota": []any{"small"}}, []any{busy, answer, end}, nil, "suspended", "network: model: overloaded", "large large"},
		{"the others fail, too", all, []any{busy, fails("small", 500)}, nil, "suspended", "network: model: overloaded: large failed, and so did", "large large small"},
		{"the key is refused", map[string]any{"overloaded": []any{"small", "mute"}}, []any{busy, fails("small", 401)}, nil, "suspended", "auth: ", "large large small"},
		{"one that is dearer than the limit is not made cheaper", map[string]any{"overloaded": []any{"small"}}, []any{answer, end}, []string{"--spend", "0.004"}, "suspended", "limit: spend", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			a.in(t)
			name := strings.NewReplacer(" ", "-", ",", "").Replace(row.name)
			a.house(name, row.fallback, row.turns)
			a.directive(name, name, may+`<limits turns="6" spend="0.9"/>`)
			r := a.start(name, row.flags...)
			if r.status != row.status || !strings.HasPrefix(r.why, row.why) || r.models() != row.models {
				t.Errorf("%s: %s; asked %q, want %q\n%s", r.status, r.why, r.models(), row.models, r.story())
			}
			if row.name != "another answers" {
				return
			}
			paid := map[string]float64{}
			key := ""
			for _, e := range r.events {
				switch e.Type {
				case "model_intent":
					key = fmt.Sprint(e.Payload["model"])
					if key == "small" && e.Payload["max_output"] != 900.0 {
						t.Errorf("small is asked for %v tokens, and can write 900", e.Payload["max_output"])
					}
				case "budget_held":
					paid["held"] = e.Payload["money"].(float64)
				case "budget_settled":
					paid[key] += e.Payload["money"].(float64)
					if paid["held"] > 20_000 { // at the first one's prices it is more than twice that
						t.Errorf("%v was held for %s", paid["held"], key)
					}
				}
			}
			if paid["large"] != 0 || paid["small"] == 0 {
				t.Errorf("paid %v", paid)
			}
			log := a.h.rye("thread", "log", r.id)
			for _, want := range []string{"overloaded; small is used instead", "narrow was skipped as a fallback for large: its context window is too small", "mute was skipped as a fallback for large: it takes no tools"} {
				if !strings.Contains(log, want) {
					t.Errorf("the log does not say %q:\n%s", want, log)
				}
			}
			if branch := a.h.rye("thread", "show", r.id); !strings.Contains(branch, "large") {
				t.Errorf("shown as %s", branch)
			}
		})
	}
}
