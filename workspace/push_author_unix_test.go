//go:build unix

package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace"
)

// TestAuthorOfAPush: a person is asked about the name that git knows. Where no person can be
// reached, git is not even started, and nothing is remembered as an answer.
func TestAuthorOfAPush(t *testing.T) {
	alice, _, _ := published(t)
	dir := t.TempDir()
	git, calls := filepath.Join(dir, "git"), filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$@\" >> '" + calls + "'\nprintf 'user.name\\nAda\\0user.email\\nada@example.org\\0'\n"
	if err := os.WriteFile(git, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var asked []string
	push := func(version string, noPerson bool) {
		t.Helper()
		asked = nil
		o := alice.o
		o.Git, o.NoPerson = func() string { return git }, noPerson
		o.Consent = func(_ context.Context, q rye.Question) (bool, error) {
			asked = append(asked, q.Topic)
			return false, nil
		}
		alice.Workspace = workspace.Open(o)
		alice.release(version)
	}

	push("1.1.0", true)
	if raw, err := os.ReadFile(calls); err == nil || len(asked) > 0 {
		t.Errorf("without a person: git ran for %q, asked %q", raw, asked)
	}
	push("1.2.0", false)
	if got := strings.Join(asked, ", "); got != "publish as ada@example.org" {
		t.Errorf("with a person: asked %q", got)
	}
	push("1.3.0", false)
	if len(asked) > 0 {
		t.Errorf("asked again: %q", asked)
	}
}
