package main_test

import (
	"strings"
	"testing"
)

// TestLoopsThatEndTheirProcess: one step of a loop can ask for more memory than its process may
// have. The process dies, no other does, the journal is whole, and a second death suspends.
func TestLoopsThatEndTheirProcess(t *testing.T) {
	a := newThreadArena(t)
	a.script("willing", []any{map[string]any{"say": "go"}})
	const turn = "def init(ctx):\n    return {}\n\ndef turn(host, state):\n"
	const cause = "in its loop, which may take 512 MiB of memory"
	for _, row := range []struct {
		name, loop string
		ended      int // turns
	}{
		{"greedy", turn + "    host.now()\n    x = list(range(1 << 30))\n    return state, next.again()\n", 1},
		{"outermost", "X = [0] * (1 << 29)\n\n" + turn + "    return state, next.again()\n", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			a.in(t)
			a.loop(row.name, row.loop)
			a.directive(row.name, "willing", `<limits turns="4" spend="0.05"/>`)
			r := a.start(row.name)
			if r.status != "interrupted" || !strings.HasSuffix(r.why, cause) || r.count("turn_done") != row.ended {
				t.Fatalf("%s: %s\n%s%s", r.status, r.why, r.story(), r.stderr)
			}
			for range 2 {
				_, r.stderr, _ = a.run("thread", "resume", r.id, "--follow")
			}
			show, _, _ := a.run("thread", "show", r.id)
			if !strings.Contains(show, "suspended") || !strings.Contains(show, "crash: the process died 2 times in turn ") || !strings.Contains(show, cause) {
				t.Errorf("after two deaths:\n%s", show)
			}
			if !strings.Contains(r.stderr, cause) || !strings.Contains(r.stderr, "rye thread resume "+r.id) {
				t.Errorf("the second resume says: %s", r.stderr)
			}
			if a.read(r); r.count("turn_done") != row.ended || r.count("thread_resumed") != 2 || r.count("thread_suspended") != 1 {
				t.Errorf("the journal:\n%s", r.story())
			}
		})
	}
}
