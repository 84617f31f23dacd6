package main_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestDenialsOverMCP: a model reads what was refused and which need would give it, and does
// not learn by guessing paths what there is on the machine.
func TestDenialsOverMCP(t *testing.T) {
	t.Parallel()
	needBash(t)
	if !namespaces() {
		t.Skip("no namespaces here")
	}
	h := newHome(t)
	const there = "/var/log" // on every system, and out of view; what tests make lies in /tmp, which runs have for themselves
	if _, err := os.Stat(there); err != nil {
		t.Skip(err)
	}
	h.write(".ai/tools/acme/reads.sh", attackTool+"cat "+there+"\n")
	h.write(".ai/tools/acme/guesses.sh", attackTool+"cat "+there+".not\n")
	h.write(".ai/tools/acme/writes.sh", strings.Replace(attackTool, "# description", "# needs: {read: [.]}\n# description", 1)+"mkdir build\n")
	h.rye("sign", "--all")
	s, _ := h.connect(nil)
	denied := func(id string) string {
		got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": id, "parameters": map[string]any{}})
		if got["denied"] == nil {
			t.Fatalf("nothing is said to be denied: %v", got)
		}
		raw, _ := json.Marshal(got["denied"])
		return string(raw)
	}
	const want = `[{"need":"needs: {read: [.], write: [.]}","what":"writing build: read-only for this tool"}]`
	if got := denied("acme/writes"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	found, guessed := denied("acme/reads"), denied("acme/guesses")
	if strings.ReplaceAll(guessed, ".not", "") != found {
		t.Errorf("what is there: %s; what is not: %s", found, guessed)
	}
}
