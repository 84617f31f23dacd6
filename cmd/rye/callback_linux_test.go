package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCallbackAsksNobody: what needs a yes is refused with its question, at a terminal and for a
// client; once a person has answered, the same call is made.
func TestCallbackAsksNobody(t *testing.T) {
	t.Parallel()
	h := calling(t)
	h.bash("risky", "{read: [/etc]}", "echo risked\n")
	h.bash("asks", "{read: [.], rye: [rye.execute.tool.acme.*, rye.sign.tool.acme.*]}", "rye run tool:acme/risky\necho \"status $?\"\nrye sign tool:acme/risky 2>&1 | grep -c denied\nexit 0\n")
	h.write(".ai/tools/acme/loose.sh", failingTool)
	out, err := h.command("execute", "tool:acme/asks", "--yes").CombinedOutput()
	id := regexp.MustCompile(`rye approve ([0-9a-z]{26})`).FindStringSubmatch(string(out))
	if err != nil || id == nil || !strings.Contains(string(out), "status 16") || strings.Contains(string(out), "risked") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, exit := terminal(t, h, "[y/N]", "y\n", "approve", id[1]); exit != 0 || !strings.Contains(out, "asked by     run") {
		t.Fatalf("approve: %d %s", exit, out)
	}
	if out := h.rye("execute", "tool:acme/asks"); !strings.Contains(out, "risked\nstatus 0") {
		t.Errorf("after the answer: %s", out)
	}
	if out := h.rye("execute", "tool:acme/asks"); strings.Contains(out, "risked") {
		t.Errorf("one answer for two calls: %s", out)
	}
	h.lists("test")
	asked := 0
	s, _ := h.connect(&mcp.ClientOptions{ElicitationHandler: approveAll(&asked)})
	got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/asks"})
	if text := fmt.Sprint(got); asked != 0 || strings.Contains(text, "risked") || !strings.Contains(text, "status 16") {
		t.Errorf("a client was asked %d times: %v", asked, got)
	}
}
