package main_test

import (
	"os"
	"strings"
	"testing"
)

// TestPolicyIsAcceptedByAPerson shows the question about a policy that allows more, and both answers.
func TestPolicyIsAcceptedByAPerson(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(".ai/policy.yaml", "policy: 1\nrequire_origin: true\napproval_timeout_secs: 20\n")
	h.write(".ai/knowledge/acme/notes.md", "---\ntitle: Notes\nversion: 1.0.0\nentry_type: reference\n---\nOwn words.\n")
	h.rye("sign", "--all")
	h.rye("run", "knowledge:acme/notes")
	h.write(".ai/policy.yaml", "policy: 1\napproval_timeout_secs: 600\n")
	h.fails(16, "run", "knowledge:acme/notes")
	shown, exit := terminal(t, h, "[y/N]", "n\n", "policy", "accept")
	if exit != 16 || !strings.Contains(shown, "require_origin no longer holds") || !strings.Contains(shown, "approval_timeout_secs was 20") {
		t.Errorf("exit %d, shown:\n%s", exit, shown)
	}
	h.fails(16, "run", "knowledge:acme/notes")
	if shown, exit = terminal(t, h, "[y/N]", "y\n", "policy", "accept"); exit != 0 || !strings.Contains(shown, "accepted") {
		t.Fatalf("exit %d, shown:\n%s", exit, shown)
	}
	h.rye("run", "knowledge:acme/notes")
	// What was agreed to is compared from now on, and so is its removal.
	if err := os.Remove(h.dir + "/.ai/policy.yaml"); err != nil {
		t.Fatal(err)
	}
	if said := h.fails(16, "run", "knowledge:acme/notes"); !strings.Contains(said, "approval_timeout_secs was 600") {
		t.Errorf("after the removal: %s", said)
	}
	if shown, exit = terminal(t, h, "[y/N]", "y\n", "policy", "accept"); exit != 0 {
		t.Fatalf("exit %d, shown:\n%s", exit, shown)
	}
	h.rye("run", "knowledge:acme/notes")
}
