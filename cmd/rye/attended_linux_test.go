package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMarkedTerminalIsNobodys: in a terminal that an agent started, nobody answers for a person. The
// question stays open for one.
func TestMarkedTerminalIsNobodys(t *testing.T) {
	t.Parallel()
	h := risky(t)
	s := h.asking(func(string) bool { return false }) // not listed as showing questions to a person
	got, _ := call(t, s, "execute", riskyCall(map[string]any{"to": "staging"}))
	id := question(t, got)
	for _, mark := range []string{"CLAUDECODE=1", "CODEX_SANDBOX=seatbelt", "CODEX_THREAD_ID=7", "CURSOR_AGENT=1", "GEMINI_CLI=1", "AI_AGENT=acme", "OPENCODE="} {
		name, _, _ := strings.Cut(mark, "=")
		shown, exit := terminal(t, h.with(mark), "[y/N]", "y\n", "approve", id)
		if flat := strings.Join(strings.Fields(shown), " "); exit != 16 || strings.Contains(shown, "[y/N]") ||
			!strings.Contains(flat, "the variable "+name+" is set") || !strings.Contains(flat, "in a terminal that no agent started, run: rye -C "+h.dir+" approve "+id) {
			t.Errorf("%s: exit %d, shown:\n%s", mark, exit, shown)
		}
	}
	if listed := h.rye("approve"); !strings.Contains(listed, id) {
		t.Errorf("no longer open: %s", listed)
	}
	settings := []string{"CODEX_HOME=/x", "GEMINI_API_KEY=x", "CURSOR_TRACE_ID=x"}
	if shown, exit := terminal(t, h.with(settings...), "[y/N]", "y\n", "approve", id); exit != 0 {
		t.Errorf("a person with settings of agents: exit %d, shown:\n%s", exit, shown)
	}
}

// TestMarkedTerminalAsksOthers: each other question that only a person may answer is refused there.
// A question that a flag could answer is asked as before.
func TestMarkedTerminalAsksOthers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	url := t.TempDir() + "/registry.git"
	h.rye("registry", "init", url, "--yes", "--name", "mine")
	marked := h.with("CLAUDECODE=1")
	for _, args := range [][]string{
		{"key", "export", "--encrypt", "-o", filepath.Join(t.TempDir(), "k")},
		{"mcp", "install", "claude-code"},
	} {
		shown, exit := terminal(t, marked, "[y/N]", "y\n", args...)
		if strings.Contains(shown, "[y/N]") || !strings.Contains(shown, "CLAUDECODE") || args[0] == "key" && exit != 16 {
			t.Errorf("%s: exit %d, shown:\n%s", args, exit, shown)
		}
	}
	if policy, err := os.ReadFile(filepath.Join(h.variable("HOME"), ".config", "rye", "policy.yaml")); err == nil && strings.Contains(string(policy), "elicitation") {
		t.Errorf("a client's answers are accepted: %s", policy)
	}
	bob := newHome(t).with("CLAUDECODE=1")
	if shown, exit := terminal(t, bob, "[y/N]", "y\n", "registry", "add", url); exit != 0 || !strings.Contains(shown, "[y/N]") {
		t.Errorf("what --yes answers: exit %d, shown:\n%s", exit, shown)
	}
}

// TestMarksOfTheUser: a file adds marks, and cannot remove one. A file that is broken or that others
// could have written refuses.
func TestMarksOfTheUser(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := filepath.Join(strings.TrimSpace(h.rye("where", "config")), "marks.yaml")
	for _, c := range []struct {
		name, file, env string
		mode            os.FileMode
		exit            int
		says            string
	}{
		{"a name", "marks: [ACME_AGENT]\n", "ACME_AGENT=1", 0o600, 16, "the variable ACME_AGENT is set"},
		{"a beginning", "marks: [ACME_*]\n", "ACME_BOT=1", 0o600, 16, "the variable ACME_BOT is set"},
		{"nothing removes one", "marks: []\n", "GEMINI_CLI=1", 0o600, 16, "the variable GEMINI_CLI is set"},
		{"an unknown member", "without: [GEMINI_CLI]\n", "ACME=1", 0o600, 19, "marks.yaml"},
		{"every variable", "marks: ['*']\n", "ACME=1", 0o600, 19, "want the name of a variable"},
		{"writable by others", "marks: []\n", "ACME=1", 0o666, 6, "marks.yaml"},
		{"no mark is set", "marks: [ACME_AGENT]\n", "ACME=1", 0o600, 16, "[y/N]"},
	} {
		if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		shown, exit := terminal(t, h.with(c.env), "[y/N]", "n\n", "key", "export", "--encrypt", "-o", filepath.Join(t.TempDir(), "k"))
		if flat := strings.Join(strings.Fields(shown), " "); exit != c.exit || !strings.Contains(flat, c.says) || c.says != "[y/N]" && strings.Contains(shown, "[y/N]") {
			t.Errorf("%s: exit %d, want %d; shown:\n%s", c.name, exit, c.exit, shown)
		}
	}
}

// ends runs a command and returns its output and status.
func (h *home) ends(args ...string) (out string, exit int) {
	cmd := h.command(args...)
	raw, _ := cmd.CombinedOutput()
	return string(raw), cmd.ProcessState.ExitCode()
}

// TestMarksCoverRights: where an agent left its mark, no command and no flag widens what it may do, with
// a terminal or without. What gives no rights works, and so does each of them on a build machine.
func TestMarksCoverRights(t *testing.T) {
	t.Parallel()
	h := risky(t)
	bob := newHome(t).key("")
	places := []string{"pipe", "terminal"}
	for i, args := range [][]string{
		{"run", riskyRef, "--yes"},
		{"policy", "allow", riskyRef, "--any"},
		{"fetch", "--accept-owner", "bob"},
		{"policy", "accept", "--sha256", "none"}, // from here on one place is enough
		{"trust", "pin", bob.SSH, "--namespace", "bob", "--fingerprint", bob.Fingerprint, "--yes"},
		{"trust", "override", "tool:rye/bash/bash"},
		{"trust", "allow", bob.Fingerprint},
		{"trust", "--accept", "sha256:00"},
		{"update", "--yes", "--accept-needs"},
		{"update", "--yes", "--accept-signer"},
	} {
		if i == 3 {
			places = places[:1]
		}
		for _, place := range places {
			var said string
			var exit int
			if marked := h.with("CLAUDECODE=1"); place == "pipe" {
				said, exit = marked.ends(args...)
			} else {
				said, exit = terminal(t, marked, "[y/", "y\n", args...)
			}
			if exit != 16 || !strings.Contains(said, "CLAUDECODE") || strings.Contains(said, "[y/") || strings.Contains(said, "it ran") {
				t.Errorf("%s at a %s: exit %d:\n%s", args, place, exit, said)
			}
		}
	}
	marked := h.with("CLAUDECODE=1")
	marked.write(".ai/tools/acme/own.sh", netTool("Own", "{read: [.]}", "echo it ran\n"))
	for _, args := range [][]string{
		{"sign", "tool:acme/own"},
		{"run", "tool:acme/own", "--yes"},
		{"policy", "list"},
		{"trust", "deny", bob.Fingerprint},
		{"trust", "list"},
	} {
		marked.rye(args...)
	}
	h.rye("trust", "allow", bob.Fingerprint)
	h.rye("trust", "pin", bob.SSH, "--namespace", "bob", "--fingerprint", bob.Fingerprint, "--yes")
	h.rye("run", riskyRef, "--yes")
	h.rye("policy", "allow", riskyRef, "--any")
	marked.rye("run", riskyRef) // a person allowed it
	marked.rye("policy", "forget", riskyRef)
}
