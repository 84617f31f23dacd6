package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSwapBehindAQuestion is E5 at the terminal: while the question waits, what it is about
// is exchanged and signed anew. Then neither the old nor the new runs.
func TestSwapBehindAQuestion(t *testing.T) {
	t.Parallel()
	for _, sw := range exchanges() {
		t.Run(sw.name, func(t *testing.T) {
			h := risky(t)
			shown, exit := terminalWhile(t, h, "[y/N]", func() string { sw.do(h); return "y\n" }, "execute", riskyRef)
			if ran := strings.Contains(shown, " ran\r\n"); ran != sw.runs || (exit == 0) != sw.runs || !sw.runs && exit != 16 {
				t.Errorf("exit %d, ran %v:\n%s", exit, ran, shown)
			}
			if !sw.runs && sw.name != "the policy" && !strings.Contains(shown, "it has changed since you approved it") {
				t.Errorf("it does not say why:\n%s", shown)
			}
			if open := h.rye("approve"); strings.Contains(open, riskyRef) && exit == 0 {
				t.Errorf("the question is still open: %s", open)
			}
		})
	}
}

// TestSwapBehindAnApproval: the way of clients that cannot ask. A yes given by rye approve
// lets the same call through once, and what was exchanged since not at all.
func TestSwapBehindAnApproval(t *testing.T) {
	t.Parallel()
	for _, sw := range exchanges() {
		t.Run(sw.name, func(t *testing.T) {
			h := risky(t)
			s, _ := h.connect(nil)
			run := func() (map[string]any, string) {
				got, _ := call(t, s, "execute", riskyCall(map[string]any{"to": "staging"}))
				raw, _ := json.Marshal(got)
				return got, string(raw)
			}
			got, _ := run()
			id := question(t, got)
			if listed := h.rye("approve"); !strings.Contains(listed, id) || !strings.Contains(listed, riskyRef) {
				t.Errorf("not listed: %s", listed)
			}
			if shown, exit := terminal(t, h, "[y/N]", "n\n", "approve", id); exit != 16 || !strings.Contains(shown, `to = "staging"`) {
				t.Errorf("exit %d, shown:\n%s", exit, shown)
			}
			if got, _ := run(); question(t, got) != id {
				t.Errorf("looked at and not answered: %v", got)
			}
			if shown, exit := terminal(t, h, "[y/N]", "y\n", "approve", id); exit != 0 {
				t.Fatalf("exit %d, shown:\n%s", exit, shown)
			}
			sw.do(h)
			if _, raw := run(); strings.Contains(raw, "it ran") != sw.runs || strings.Contains(raw, "other bytes ran") {
				t.Errorf("after a yes: %s", raw)
			}
			if _, raw := run(); strings.Contains(raw, " ran") {
				t.Errorf("a yes counted twice: %s", raw)
			}
		})
	}
}

// TestQuestionAtATerminalEnds: a question that nobody answers there ends when the policy
// says so; until then another terminal can answer it.
func TestQuestionAtATerminalEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		by   func(h *home, id string)
		exit int
		says string
	}{
		{"unanswered", func(*home, string) {}, 16, "no answer within 1s"},
		{"answered elsewhere", func(h *home, id string) { terminal(h.t.(*testing.T), h, "[y/N]", "y\n", "approve", id) }, 0, "it ran"},
		{"refused elsewhere", func(h *home, id string) { h.rye("deny", id) }, 16, "a person refused it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := risky(t)
			policy := strings.TrimSpace(h.rye("where", "config")) + "/policy.yaml"
			wait := 4 // for an answer that comes; a busy machine takes its time
			if tc.name == "unanswered" {
				wait = 1
			}
			if err := os.WriteFile(policy, fmt.Appendf(nil, "policy: 1\napproval_timeout_secs: %d\n", wait), 0o600); err != nil {
				t.Fatal(err)
			}
			shown, exit := terminalWhile(t, h, "[y/N]", func() string {
				id, _, _ := strings.Cut(h.rye("approve"), " ")
				tc.by(h, id)
				return ""
			}, "execute", riskyRef)
			if exit != tc.exit || !strings.Contains(shown, tc.says) {
				t.Errorf("exit %d:\n%s", exit, shown)
			}
			if open := h.rye("approve"); open != "" {
				t.Errorf("still open: %s", open)
			}
		})
	}
}
