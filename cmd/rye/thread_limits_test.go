package main_test

import (
	"maps"
	"strings"
	"testing"
)

// TestThreadLimits: each limit stops a thread before it is exceeded, whichever loop asks.
func TestThreadLimits(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.tool("echo", "", "echo hello\n")
	turns := []any{}
	for range 20 {
		turns = append(turns, map[string]any{"say": "again", "calls": []any{executes("tool", "acme/echo", map[string]any{"text": "${turn}"})}})
	}
	a.script("endless", turns)
	a.script("slow", []any{map[string]any{"say": "x", "wait": "1m"}})
	patient := []any{} // two seconds in all; a sum that grows with each turn has nine
	for i, turn := range turns[:8] {
		turn := maps.Clone(turn.(map[string]any))
		turn["wait"] = "250ms"
		if i == 7 {
			delete(turn, "calls")
		}
		patient = append(patient, turn)
	}
	a.script("patient", patient)
	a.script("long", []any{map[string]any{"bytes": 400_000}, map[string]any{"say": "done"}})
	const may = `<permissions><execute><tool>acme.*</tool></execute></permissions>`
	rows := []struct {
		name, provider, limits string
		flags                  []string
		why                    string // of the suspension
		holds                  func(r *threadRun) bool
	}{
		{"turns", "endless", `turns="3"`, nil, "limit: turns", func(r *threadRun) bool { return r.count("cognition_out") == 3 }},
		{"turns of the starter", "endless", `turns="9"`, []string{"--turns", "2"}, "limit: turns", func(r *threadRun) bool { return r.count("cognition_out") == 2 }},
		{"turns that the starter cannot widen", "endless", `turns="2"`, []string{"--turns", "9"}, "limit: turns", func(r *threadRun) bool { return r.count("cognition_out") == 2 }},
		{"tokens", "endless", `tokens="6000"`, nil, "limit: tokens", func(r *threadRun) bool { return r.used("tokens") <= 6000 && r.count("cognition_out") > 0 }},
		{"spend", "endless", `spend="0.01"`, nil, "limit: spend", func(r *threadRun) bool { return r.used("spend") <= 10_000 && r.count("cognition_out") > 0 }},
		{"spend of the starter", "endless", `spend="0.50"`, []string{"--spend", "0.01"}, "limit: spend", func(r *threadRun) bool { return r.used("spend") <= 10_000 }},
		{"spend below one call", "endless", `spend="0.000001"`, nil, "limit: spend", func(r *threadRun) bool { return r.count("model_intent") == 0 }},
		{"duration", "slow", `duration_seconds="1"`, nil, "limit: duration_seconds", func(r *threadRun) bool { return r.count("cognition_out") == 0 }},
		{"duration, of turns that take a while", "patient", `duration_seconds="5"`, nil, "", func(r *threadRun) bool { return r.status == "completed" && r.count("cognition_out") == 8 }},
		{"output, by the configuration", "long", `turns="9"`, nil, "limit: overdrawn", func(r *threadRun) bool { return r.asked("max_output") <= 300 && r.count("cognition_out") == 1 }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a.in(t)
			name := strings.ReplaceAll(row.name, " ", "-")
			name = strings.ReplaceAll(name, ",", "")
			if strings.Contains(name, "configuration") {
				a.config("limits: {output: 300}")
			}
			a.directive(name, row.provider, may+"<limits "+row.limits+"/>")
			r := a.start(name, row.flags...)
			t.Logf("%-40s %s: %s (%v tokens, %v µ$)", row.name, r.status, r.why, r.used("tokens"), r.used("spend"))
			if !strings.HasPrefix(r.why, row.why) || row.why != "" && (r.status != "suspended" || r.exit != 20) || !row.holds(r) {
				t.Errorf("%s (exit %d): %s\n%s", r.status, r.exit, r.why, r.story())
			}
			if row.why != "" && r.limitTold() <= 0 {
				t.Errorf("its transcript does not say what the limit was\n%s", r.story())
			}
		})
	}
}

// used sums what the ledger was told.
func (r *threadRun) used(what string) (n int64) {
	name := map[string]string{"tokens": "tokens", "spend": "money"}[what]
	for _, e := range r.events {
		if e.Type == "budget_settled" {
			n += int64(e.Payload[name].(float64))
		}
	}
	return n
}

// asked is the most that a model was asked for.
func (r *threadRun) asked(what string) (n int64) {
	for _, e := range r.events {
		if e.Type == "model_intent" {
			n = max(n, int64(e.Payload[what].(float64)))
		}
	}
	return n
}

// limitTold is the limit that the transcript says was reached; 0 for none.
func (r *threadRun) limitTold() (most int64) {
	for _, e := range r.events {
		if e.Type == "limit_escalation_requested" {
			most = int64(e.Payload["current_max"].(float64))
		}
	}
	return most
}
