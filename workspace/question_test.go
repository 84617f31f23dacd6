package workspace_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye"
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
rm -rf src
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
	for _, want := range []string{"recursive delete: rm -rf src", "rm -rf src", "force push"} {
		if n := strings.Count(all, want); n != 1 {
			t.Errorf("%q stands %d times in the question:\n%s", want, n, all)
		}
	}
}

// The offer to sign an item shows the item, within the bounds of every question: what
// stands behind the end of a long line is on no screen.
func TestOfferToSignShowsOnlyWhatCanBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"a long line": greet + ": " + strings.Repeat(" ", rye.MaxLineBytes) + "; touch hidden\n",
		"many lines":  greet + strings.Repeat(":\n", rye.MaxQuestionLines),
		"many bytes":  greet + strings.Repeat(": "+strings.Repeat("x", rye.MaxLineBytes/2)+"\n", 2*rye.MaxQuestionBytes/rye.MaxLineBytes),
	} {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			p.write("tools/acme/greet.sh", text)
			p.asks, p.looks = nil, true
			_, err := p.run("tool:acme/greet", nil)
			wantCode(t, "what cannot be judged", err, fault.Untrusted)
			if len(p.asks) != 0 {
				t.Errorf("asked %d questions, the first of %d lines", len(p.asks), len(p.asks[0].Lines))
			}
			if got := p.read("tools/acme/greet.sh"); got != text {
				t.Error("the item was signed")
			}
		})
	}
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.asks, p.looks = nil, false
	_, err := p.run("tool:acme/greet", nil)
	wantCode(t, "an offer that is refused", err, fault.Untrusted)
	if len(p.asks) != 1 || p.asks[0].Topic != "sign it and run it" {
		t.Errorf("asked %+v, want one offer", p.asks)
	}
}
