package workspace_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// A question that says the same thing twice is read half.
func TestQuestionNamesEachFindingOnce(t *testing.T) {
	p := project(t)
	p.write("tools/acme/clean.sh", `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Clean up
rm -rf build
git push --force origin main
`)
	p.sign("tool:acme/clean")
	p.asks, p.yes = nil, false
	_, err := p.run("tool:acme/clean", nil)
	wantCode(t, "a dangerous command, not agreed to", err, fault.Denied)
	if len(p.asks) != 1 {
		t.Fatalf("asked %d questions: %+v", len(p.asks), p.asks)
	}
	all := strings.Join(p.asks[0].Lines, "\n")
	for _, want := range []string{"recursive delete: rm -rf build", "rm -rf build", "force push"} {
		if n := strings.Count(all, want); n != 1 {
			t.Errorf("%q stands %d times in the question:\n%s", want, n, all)
		}
	}
}
