//go:build unix

package thread

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rye-os/rye/agent/ledger"
)

// fallbackScript is one in which the first model never has room, and the one after it answers.
const fallbackScript = `
version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: Models that answer from a script
config:
  models:
    - {id: big, tiers: [general], context: 200000, max_output: 8000, prices: {input: "3", output: "15"}}
    - {id: narrow, context: 1000, prices: {input: "1", output: "1"}}
    - {id: small, aliases: [cheap], tiers: [fast], context: 200000, max_output: 4000, prices: {input: "1", output: "5"}}
  fallback:
    overloaded: [big, narrow, cheap, small]
  retry: {attempts: 2, base: 0.001, max: 1, elapsed: 5}
  mock:
    turns:
      - {when: {model: big, turn: 1}, error: {status: 529}}
      - {when: {model: small, turn: 1}, say: "I begin.", calls: [{name: rye_execute, args: {item_type: tool, item_id: acme/once, parameters: {text: first}}}]}
      - {when: {turn: 2}, calls: [{name: rye_execute, args: {item_type: tool, item_id: acme/once, parameters: {text: second}}}]}
      - {when: {turn: 3}, calls: [{name: directive_return, args: {verdict: "good"}}]}
`

// asked lists the models of a thread's questions, one after the other, those of one that was
// open when its process died left out.
func (c crashSite) asked(t *testing.T, id string) (models []string) {
	open := ""
	for _, r := range crashRecords(t, c.threadDir(t, id)) {
		switch r.Type {
		case "model_intent":
			models, open = append(models, crashMember[string](t, r, "model")), crashMember[string](t, r, "key")
		case "error_classified":
			if crashMember[string](t, r, "error_code") == "interrupted" && crashMember[string](t, r, "key") == open {
				models = models[:len(models)-1]
			}
		}
	}
	return models
}

// A thread that is killed while others are asked instead of its model goes on with the one whose
// turn it was, and no money appears or vanishes.
func TestKilledInFallback(t *testing.T) {
	c := newCrashSite(t, fallbackScript)
	c.Log = filepath.Join(c.Home, "steps")
	first := c.run(t)
	if first.Status != Completed {
		t.Fatalf("the thread ended as %s: %s", first.Status, first.Why)
	}
	c.checkEnded(t, first)
	want := []string{"big", "big", "small", "big", "big"}
	if got := c.asked(t, first.ID); !slices.Equal(got, want) {
		t.Fatalf("asked %v, want %v", got, want)
	}
	canonical := c.export(t, first.ID)
	c.Spent = first.Spent
	from, to := c.stepOf(t, "before budget_held", 1), c.stepOf(t, "after budget_settled", 1)
	every := 5
	if os.Getenv("RYE_SOAK") == "1" {
		every = 1
	}
	raw, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	steps := strings.Split(string(raw), "\n")
	t.Logf("steps %d to %d", from, to)
	for n := from; n <= to; n += every {
		t.Run(steps[n-1], func(t *testing.T) {
			c := *c
			c.forget(t)
			c.Log, c.Step = filepath.Join(t.TempDir(), "steps"), n
			i := c.run(t)
			if _, state := crashEnd(t); state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %s", state)
			}
			c.goesOn(t, i, canonical)
			// An attempt that was open is made anew, and is not one of those that failed.
			if got := c.asked(t, i.ID); !slices.Equal(slices.Compact(slices.Clone(got)), slices.Compact(slices.Clone(want))) || len(got) > len(want) {
				t.Errorf("asked %v, want %v", got, want)
			}
			billed := c.billed(t, i.ID)
			for _, r := range crashRecords(t, c.threadDir(t, i.ID)) {
				if key := crashMember[string](t, r, "key"); r.Type == "model_intent" && billed[key] != "" && billed[key] != crashMember[string](t, r, "model") {
					t.Errorf("the bill of %s names %s: %s", key, billed[key], r.Data)
				}
			}
			if len(billed) < 3 {
				t.Errorf("%d bills", len(billed))
			}
		})
	}
}

// billed says which model each bill of a thread names, by its key.
func (c crashSite) billed(t *testing.T, id string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := c.book(t).Bills(t.Context(), ledger.Filter{Node: id}, func(l ledger.Line) error {
		all[l.Key] = l.Model
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
