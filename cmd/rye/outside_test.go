package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOutsideTextIsBounded: every parser of text from outside, a library's or ours,
// reads its worst cases of the largest size that is accepted, and one byte more, as
// commands in a clone would, in two seconds of processor time and 256 MiB. So none
// of them needs a process of its own.
func TestOutsideTextIsBounded(t *testing.T) {
	t.Parallel()
	const item, meta = 8 << 20, 256 << 10
	fill := func(n int, before, unit, after string) string {
		return before + strings.Repeat(unit, (n-len(before)-len(after))/len(unit)) + after
	}
	keys := func(n int, line string) string {
		var b strings.Builder
		for i := 0; b.Len() < n-40; i++ {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	rows := []struct{ name, path, text string }{
		{"YAML of brackets", "tools/eve/x.yaml", fill(meta, "a: ", "[", "")},
		{"YAML of brackets within brackets", "tools/eve/x.yaml", fill(meta, "a: "+strings.Repeat("[", 50), "[],", strings.Repeat("]", 50))},
		{"YAML of dashes", "tools/eve/x.yaml", fill(meta, "a:\n", "- ", "x")},
		{"YAML of keys", "tools/eve/x.yaml", keys(meta, "k%d: v\n")},
		{"YAML of keys in a flow", "tools/eve/x.yaml", "{" + keys(meta, "k%d: v, ") + "}"},
		{"YAML of question marks", "tools/eve/x.yaml", fill(meta, "", "? ", "x")},
		{"YAML of comments", "tools/eve/x.yaml", fill(meta, "a: 1\n", "#\n", "")},
		{"YAML of anchors", "tools/eve/x.yaml", keys(meta, "k%d: &a *a\n")},
		{"YAML of one quoted text", "tools/eve/x.yaml", fill(meta, `a: "`, `\u0041`, `"`)},
		{"YAML of one folded text", "tools/eve/x.yaml", fill(meta, "a: >\n", "  x\n\n", "")},
		{"YAML of numbers", "tools/eve/x.yaml", keys(meta, "- 1e%d\n")},
		{"YAML of documents", "tools/eve/x.yaml", fill(meta, "", "---\n", "")},
		{"YAML of tabs", "tools/eve/x.yaml", fill(meta, "a:\n", "\t", "x")},
		{"8 MiB of YAML", "tools/eve/x.yaml", keys(item, "k%d: v\n")},
		{"front matter that does not end", "knowledge/eve/x.md", fill(item, "---\n", "a\n", "")},
		{"front matter of keys", "knowledge/eve/x.md", "---\n" + keys(meta, "k%d: v\n") + "---\nx\n"},
		{"XML of elements within each other", "directives/eve/x.md", fill(item, "```xml\n<directive name=\"x\" version=\"1.0.0\">", "<a>", "\n```\n")},
		{"XML of elements after each other", "directives/eve/x.md", fill(item, "```xml\n<directive name=\"x\" version=\"1.0.0\">", "<a/>", "</directive>\n```\n")},
		{"XML of attributes", "directives/eve/x.md", "```xml\n<directive " + keys(item, "a%d=\"v\" ") + "></directive>\n```\n"},
		{"XML of comments", "directives/eve/x.md", fill(item, "```xml\n<directive name=\"x\" version=\"1.0.0\">", "<!---->", "</directive>\n```\n")},
		{"XML of entities", "directives/eve/x.md", fill(item, "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata>", "&amp;", "</metadata></directive>\n```\n")},
		{"fences", "directives/eve/x.md", fill(item, "", "```xml\n", "")},
		{"Python of brackets", "tools/eve/x.py", fill(item, "__version__ = ", "[", "\n")},
		{"Python of quotes", "tools/eve/x.py", fill(item, "__version__ = ", `"`, "\n")},
		{"Python of assignments", "tools/eve/x.py", keys(item, "__version__ = '%d'\n")},
		{"Python of backslashes", "tools/eve/x.py", fill(item, "__version__ = 'x", `\\`, "'\n")},
		{"shell of comments", "tools/eve/x.sh", fill(item, "#!/bin/sh\n", "# a\n", "")},
		{"shell of metadata", "tools/eve/x.sh", "#!/bin/sh\n" + keys(item, "# k%d: v\n")},
		{"JavaScript of a comment of lines", "tools/eve/x.js", fill(item, "/*", "\n", "*/")},
		{"JavaScript of comments", "tools/eve/x.js", fill(item, "", "/**/", "")},
		{"signature lines", "tools/eve/x.py", fill(item, "", "# rye:signed:v2:x\n", "")},
		{"RYE OS's signature lines", "tools/eve/x.py", fill(item, "", "# rye:validated:x\n", "")},
		{"one long line", "tools/eve/x.js", fill(item, "//", "x", "")},
		{"one byte more", "tools/eve/x.py", fill(item+1, "", "x", "")},
		{"the lock", "rye.lock", keys(item, "k%d: v\n")},
		{"the lock, of brackets", "rye.lock", fill(item, "a: ", "[", "")},
		{"the project's file", "rye.yaml", keys(item, "k%d: v\n")},
		{"the project's file, of brackets", "rye.yaml", fill(meta, "a: ", "[", "")},
		{"the project's policy", "policy.yaml", fill(meta, "a: ", "[", "")},
	}
	commands := [][]string{{"status"}, {"execute", "tool:eve/x"}}
	if os.Getenv("RYE_SOAK") != "" {
		commands = append(commands, []string{"verify", "--json"})
	}
	h := newHome(t)
	project := h.read(".ai/rye.yaml")
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h.write(".ai/"+row.path, row.text)
			defer h.write(".ai/rye.yaml", project)
			defer os.Remove(filepath.Join(h.dir, ".ai", filepath.FromSlash(row.path)))
			for _, args := range commands {
				out, exit, u := measured(t, h.command(args...))
				if strings.Contains(string(out), "goroutine ") || args[0] == "execute" && exit == 0 {
					t.Fatalf("rye %s: status %d\n%.2000s", args[0], exit, out)
				}
				if u.cpu > 2*time.Second || u.rss > 256<<20 {
					t.Errorf("rye %s took %v of processor time and %d MiB", args[0], u.cpu, u.rss>>20)
				}
				t.Logf("rye %s: %v, %d MiB", args[0], u.cpu.Round(time.Millisecond), u.rss>>20)
			}
		})
	}
}
