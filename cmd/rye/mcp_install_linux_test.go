package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallAsksOfQuestions: whether a client shows questions to a person is asked at a
// terminal only, answered by no flag, and taken back with the entry.
func TestInstallAsksOfQuestions(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := filepath.Join(h.variable("HOME"), ".config", "rye", "policy.yaml")
	policy := func() string {
		raw, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, tc := range []struct {
		what, typed string
		args        []string
		listed      bool
	}{
		{"a no", "n\n", nil, false},
		{"an end", "\x04", nil, false},
		{"no terminal, and --yes", "", []string{"--yes"}, false},
		{"a no to what --yes would answer", "n\n", []string{"--yes"}, false},
		{"a dry run", "", []string{"--dry-run"}, false},
		{"a yes", "y\n", nil, true},
	} {
		args := append([]string{"mcp", "install", "claude-code"}, tc.args...)
		if tc.typed == "" {
			h.rye(args...)
		} else if shown, exit := terminal(t, h, "[y/N]", tc.typed, args...); exit != 0 || !strings.Contains(shown, "does claude-code show you the questions of MCP servers") {
			t.Errorf("%s: exit %d\n%s", tc.what, exit, shown)
		}
		if got := policy(); strings.Contains(got, "elicitation: ['claude-code']") != tc.listed {
			t.Errorf("%s: %q", tc.what, got)
		}
	}
	if err := os.WriteFile(path, []byte("# mine\n"+policy()), 0o600); err != nil {
		t.Fatal(err)
	}
	if shown, _ := terminal(t, h, "[y/N]", "n\n", "mcp", "install", "claude-code"); strings.Contains(shown, "[y/N]") {
		t.Errorf("asked again: %s", shown)
	}
	h.rye("mcp", "uninstall", "claude-code")
	if got := policy(); got != "# mine\npolicy: 1\n" {
		t.Errorf("left: %q", got)
	}
}
