package main_test

import (
	"fmt"
	"testing"
)

// TestHooksAsk: what a hook asks a person stops the thread until there is an answer; a yes lets
// it go on from there, also beyond its last turn, and is asked for again where the event is.
func TestHooksAsk(t *testing.T) {
	t.Parallel()
	a := hookedArena(t)
	asked := map[string]int{"after_step": 1, "error": 1}
	for i, w := range hooked {
		if fmt.Sprint(w.condition) != fmt.Sprint(reached(true)) {
			a.hookedDirective(fmt.Sprintf("asks%d", i), w, map[string]any{"action": "ask", "text": "is it worth it?"})
		}
	}
	a.h.rye("sign", "--all")
	for i, w := range hooked {
		if fmt.Sprint(w.condition) == fmt.Sprint(reached(true)) {
			continue
		}
		t.Run(fmt.Sprintf("%s-%d", w.event, i), func(t *testing.T) {
			a.in(t)
			r := a.start(fmt.Sprintf("asks%d", i))
			n := 0
			a.answered(r, func(question string) {
				n++
				if shown, exit := terminal(t, a.h, "[y/N]", "y\n", "approve", question); exit != 0 {
					t.Fatalf("approve: %s", shown)
				}
			})
			status := w.status
			if w.event == "error" {
				status = "completed"
			}
			if r.status != status || n != max(asked[w.event], 1) {
				t.Errorf("%s: %s, after %d questions\n%s", r.status, r.why, n, r.story())
			}
		})
	}
}
