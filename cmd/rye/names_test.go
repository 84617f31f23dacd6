package main_test

import (
	"strings"
	"testing"
)

// TestNamesInEveryCommand runs each command that takes an item with every form of one item's name.
// The answers have to be the same.
func TestNamesInEveryCommand(t *testing.T) {
	t.Parallel()
	needBash(t)
	h := newHome(t)
	h.write(".ai/tools/acme/hello.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: Says hello.\necho hello\n")
	h.rye("sign", "--all")
	h.rye("lock")
	h.write(".ai/tools/acme/hello.sh", strings.Replace(h.read(".ai/tools/acme/hello.sh"), "echo hello", "echo  hello", 1))
	h.rye("sign", "tool:acme/hello")
	const full = "tool:acme/hello"
	forms := []string{"acme/hello", "acme/tool/hello", "hello", ".ai/tools/acme/hello.sh", "./.ai/tools/acme/hello.sh"}
	for _, command := range []string{
		"show NAME", "show NAME --all", "show NAME --json", "load NAME", "verify NAME", "sign NAME --check",
		"diff NAME", "log NAME --json", "blame NAME --json", "run NAME --dry-run", "run NAME", "lock NAME", "lock verify", "tree NAME", "tree NAME --invert",
		"policy explain NAME", "review NAME", "remove NAME --dry-run", "remove NAME --dry-run --json", "restore NAME --dry-run", "mv NAME acme/greet --dry-run",
		"add NAME --space user --dry-run", "push NAME --dry-run", "sign NAME --dry-run",
	} {
		words := strings.Fields(command)
		run := func(name string) (string, int) {
			args := make([]string, len(words))
			for i, w := range words {
				if args[i] = w; w == "NAME" {
					args[i] = name
				}
			}
			out, status := h.status(args...)
			return plain(out), status
		}
		want, status := run(full)
		if status == 2 {
			t.Errorf("%s with %s: exit 2\n%s", command, full, want)
		}
		for _, form := range forms {
			if strings.HasPrefix(command, "add ") && strings.HasPrefix(form, ".") {
				continue // to rye add, a path is a file to copy
			}
			got, is := run(form)
			if got != want || is != status {
				t.Errorf("%s with %s: exit %d\n%s\nwith %s: exit %d\n%s", command, form, is, got, full, status, want)
			}
		}
	}
}

// plain returns output without the lines that have a time, or tell of this machine.
func plain(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "duration") && !strings.Contains(line, "not limited here") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
