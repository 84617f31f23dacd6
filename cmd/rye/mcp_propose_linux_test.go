package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestProposalByApprove: a client that cannot ask gets the question's id; the person answers
// at a terminal, and the same call goes through, once, for exactly that text.
func TestProposalByApprove(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	w := h.speak(t, `{}`)
	before := h.tree()
	r := w.call("sign", proposal("acme/count", counter))
	id := regexp.MustCompile(`a person can run: rye approve (01[0-9a-z]{24}); then make the same call again`).FindStringSubmatch(r.facts)
	if id == nil || !strings.Contains(r.facts, `"approval":"waiting"`) {
		t.Fatalf("nobody was asked: %s", r.facts)
	}
	if after := h.tree(); after != before {
		t.Errorf("nobody agreed, yet there is\n%s", after)
	}
	time.Sleep(1100 * time.Millisecond) // a signature has its second in it, and the question has not
	if shown, exit := terminal(t, h, "[y/N]", "y\n", "approve", id[1]); exit != 0 || !strings.Contains(shown, "echo \"counted") {
		t.Fatalf("approve: %d, %s", exit, shown)
	}
	if r := w.call("sign", proposal("acme/count", counter+"rm -rf built\n")); !r.failed || !strings.Contains(r.facts, "waiting") {
		t.Errorf("another text goes through: %s", r.facts)
	}
	if r := w.call("sign", proposal("acme/count", counter)); r.failed {
		t.Fatalf("what was agreed to: %s", r.facts)
	}
	if r := w.call("execute", map[string]any{"item_type": "tool", "item_id": "acme/count", "parameters": map[string]any{"what": "2"}}); r.text != "counted 2\n" {
		t.Errorf("%s %s", r.facts, r.text)
	}
	// A yes counts once: what was removed does not come back by it, nor over another file.
	h.rye("rm", "tool:acme/count")
	if r := w.call("sign", proposal("acme/count", counter)); !r.failed || !strings.Contains(r.facts, "waiting") {
		t.Errorf("the same again: %s", r.facts)
	}
	h.write(".ai/tools/acme/count.sh", "#!/bin/bash\necho theirs\n")
	if r := w.call("sign", proposal("acme/count", counter)); !r.failed || !strings.Contains(r.facts, "waiting") {
		t.Errorf("over another file: %s", r.facts)
	}
	if got := h.read(".ai/tools/acme/count.sh"); !strings.Contains(got, "theirs") {
		t.Errorf("it was overwritten: %s", got)
	}
}
