package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// A text that people learn from is a program, too: every block marked "sh tour" is
// run, in order, in an empty home, and what stands behind "#>" has to be printed.
// A command that a text shows as refused says so itself: cmd || test $? = 11.
var tourBlock = regexp.MustCompile("(?ms)^```sh tour\n(.*?)^```$")

// TestTours runs the tours of the pages, and those of the reference knowledge with
// the items that each entry shows in its project.
func TestTours(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs")
	}
	for _, p := range []string{"bash", "git", "python3"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("the tours use %s: %v", p, err)
		}
	}
	bin := built(t)
	for _, page := range []string{"README.md", "docs/guide.md", "docs/tools.md", "docs/keys.md", "docs/migrating.md", "docs/threads.md"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../..", page))
			if err != nil {
				t.Fatal(err)
			}
			tour(t, bin, t.TempDir(), string(text), 5)
		})
	}
	t.Run("one after the other", func(t *testing.T) { // as somebody who reads on does it, in one home
		var all strings.Builder
		for _, page := range []string{"README.md", "docs/guide.md"} {
			text, err := os.ReadFile(filepath.Join("../../..", page))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		tour(t, bin, t.TempDir(), all.String(), 10)
	})
	const reference = "../../../stdlib/system/knowledge/rye/reference"
	entries, err := os.ReadDir(reference)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(reference, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if e.Name() == "sandbox-and-needs.md" && runtime.GOOS != "linux" {
				t.Skip("what it shows is refused by Linux")
			}
			home := t.TempDir()
			head := "mkdir project && cd project && rye init --namespace acme\n"
			if writeExamples(t, filepath.Join(home, "examples"), string(text)) {
				head += "cp -R ../examples/. . && rye sign --all\n"
			}
			least := 2 // the head, and what the entry shows
			if e.Name() == "terminology.md" {
				least = 1 // words only
			}
			tour(t, bin, home, "```sh tour\n"+head+"```\n"+string(text), least)
		})
	}
}

// tour runs the blocks of a text in home, which is also the user's home directory.
func tour(t *testing.T, bin, home, text string, atLeast int) {
	t.Helper()
	blocks := tourBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) < atLeast {
		t.Fatalf("%d blocks are marked \"sh tour\", want at least %d", len(blocks), atLeast)
	}
	script, wants := "set -eu -o pipefail\n", []string{}
	for _, b := range blocks {
		script += b[1]
		for line := range strings.SplitSeq(b[1], "\n") {
			if _, want, ok := strings.Cut(line, "#> "); ok {
				wants = append(wants, strings.TrimSpace(want))
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the tour stopped: %v\n%s", err, out)
	}
	for _, want := range wants {
		if !strings.Contains(string(out), want) {
			t.Errorf("the tour never shows %q\n%s", want, out)
		}
	}
}

// writeExamples puts the items that an entry shows where it says that they lie: a
// paragraph begins with the path, and the fence behind it holds the file.
func writeExamples(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	for p := range strings.SplitSeq(text, "\n`.ai/") {
		path, rest, _ := strings.Cut(p, "`")
		_, rest, ok := strings.Cut(rest, "\n\n```")
		if !ok || strings.HasPrefix(p, "---\n") {
			continue
		}
		fence := "```" + rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
		_, rest, _ = strings.Cut(rest, "\n")
		content, _, ok := strings.Cut(rest, "\n"+fence+"\n")
		if !ok {
			t.Fatalf("the fence of .ai/%s does not end", path)
		}
		file := filepath.Join(dir, ".ai", filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		found = true
	}
	return found
}

// TestReferenceIsFound asks what a model would ask, in the few words that it would
// use, and wants the page that answers among the first three.
func TestReferenceIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs")
	}
	bin, home := built(t), t.TempDir()
	for query, want := range map[string]string{
		"parameters":         "parameters",
		"json arguments":     "parameters",
		"write bash tool":    "tools-bash",
		"python import":      "tools-python",
		"yaml command":       "tools-yaml",
		"web api":            "tools-http",
		"rest request":       "tools-http",
		"new language":       "runtimes",
		"interpreter":        "runtimes",
		"directive inputs":   "directives",
		"front matter":       "knowledge-entries",
		"executor_id":        "executor-chain",
		"lock drift":         "locks",
		"publish":            "registries",
		"install dependency": "registries",
		"refused why":        "exit-codes",
		"exit code":          "exit-codes",
		"network access":     "sandbox-and-needs",
		"permission denied":  "sandbox-and-needs",
		"approval":           "policy-and-tiers",
		"dangerous command":  "policy-and-tiers",
		"unsigned":           "signing",
		"whose key":          "trust",
		"colleague clone":    "trust",
		"wildcard query":     "search-language",
		"mcp":                "mcp-tools",
		"migrate":            "migrating-from-rye-os",
		"manifest":           "bundles",
		"modified":           "spaces",
		"capabilities":       "capabilities",
		"glossary":           "terminology",
		"complete example":   "items",
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "rye"), "search", query, "--kind", "knowledge", "--limit", "3", "--json")
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home, "APPDATA=" + home, "LOCALAPPDATA=" + home}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("search %q: %v", query, err)
		}
		if !strings.Contains(string(out), `"id":"rye/reference/`+want+`"`) {
			t.Errorf("search %q does not find %s:\n%s", query, want, out)
		}
	}
}

// TestSecurityNamesTests keeps docs/security.md honest: a test that it names exists.
func TestSecurityNamesTests(t *testing.T) {
	text, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	err = filepath.WalkDir("../../..", func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(p)
		sources.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*)(\\*?)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 50 {
		t.Fatalf("the page names %d tests", len(names))
	}
	for _, n := range names {
		want := "func " + n[1]
		if n[2] == "" {
			want += "("
		}
		if !strings.Contains(sources.String(), want) {
			t.Errorf("%s does not exist", n[1])
		}
	}
}
