package main

import (
	"crypto/sha256"
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
	toured := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !tourBlock.Match(text) {
			continue
		}
		toured++
		t.Run(strings.TrimPrefix(filepath.ToSlash(page), "../../../"), func(t *testing.T) { tour(t, bin, t.TempDir(), string(text), 1) })
	}
	if toured < 10 {
		t.Errorf("%d pages have blocks that run", toured)
	}
	t.Run("keys of a reader", func(t *testing.T) { keysOfAReader(t, bin) })
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

// pages are those that people read, where commands may stand. docs/cli is
// written from the commands' help, whose examples TestHelpExamples types.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"../../../README.md", "../../../CONTRIBUTING.md", "../../../SECURITY.md"}
	for _, pattern := range []string{"../../../docs/*.md", "../../../docs/format/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

var (
	fenceLine   = regexp.MustCompile("^`{3,}(.*)$")
	commandLine = regexp.MustCompile(`^(\$ )?([A-Z_]+=\S* )*(rye|rye-engine|make|git|go|ssh|ssh-add|ssh-keygen|curl|export|claude|npx|pip) \S`)
	notRun      = regexp.MustCompile(`^sh not run: .{15,}$`)
)

// TestCommandBlocksRun: a command that a page shows is run by TestTours, or its fence says why
// not: "sh not run: needs a network host". Nothing is shown without one of these.
func TestCommandBlocksRun(t *testing.T) {
	exceptions := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		info, open := "", false
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			line = strings.TrimRight(line, "\n")
			if m := fenceLine.FindStringSubmatch(line); m != nil {
				if open = !open; open {
					info = m[1]
					if notRun.MatchString(info) {
						exceptions++
					} else if strings.HasPrefix(info, "sh") && info != "sh tour" {
						t.Errorf("%s:%d: the fence %q is neither run nor says why not", page, n, info)
					}
				}
				continue
			}
			code, indented := strings.CutPrefix(line, "    ")
			switch {
			case open && (info == "sh tour" || info == "text" || info == "mermaid" || notRun.MatchString(info)):
			case open && (info == "" || info == "console" || info == "bash") && commandLine.MatchString(line), !open && indented && commandLine.MatchString(code):
				t.Errorf("%s:%d: %q is not run: put it into a fence \"sh tour\", or \"sh not run: <why>\"", page, n, line)
			}
		}
	}
	if exceptions > 11 {
		t.Errorf("%d blocks are not run", exceptions)
	}
}

// keysOfAReader types keys.md in a home that has a key, and finds every file of it as it was.
func keysOfAReader(t *testing.T, bin string) {
	text, err := os.ReadFile("../../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	tour(t, bin, home, "```sh tour\nrye init mine --namespace mine\n```\n", 1)
	before := hashes(t, home)
	tour(t, bin, home, string(text), 5)
	after := hashes(t, home)
	keys := 0
	for name, sum := range before {
		if after[name] != sum {
			t.Errorf("keys.md changed %s", name)
		}
		if strings.Contains(name, "/keys/") {
			keys++
		}
	}
	if keys == 0 {
		t.Error("the reader had no key")
	}
	for name := range after {
		if _, was := before[name]; !was && strings.Contains(name, ".config") {
			t.Errorf("keys.md made %s", name)
		}
	}
}

// hashes are the digests of all files below dir, but what belongs to a page of its own.
func hashes(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(p, "keys-demo") || strings.Contains(p, "/.cache/") {
			return err
		}
		raw, err := os.ReadFile(p)
		all[filepath.ToSlash(p)] = sha256.Sum256(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestConceptsIsOnePage: who reads it needs no other page, and has the words of all others.
func TestConceptsIsOnePage(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/concepts.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if n := strings.Count(text, "\n"); n > 60 {
		t.Errorf("docs/concepts.md has %d lines, at most 60", n)
	}
	if strings.Contains(text, "](") {
		t.Error("docs/concepts.md sends its reader elsewhere")
	}
	for _, word := range []string{"Directive", "Tool", "Knowledge", "Space", "Signature", "Trust", "Lock", "Registry", "Capability", "Tier", "Sandbox", "Thread"} {
		if !strings.Contains(text, "\n**"+word+".** ") {
			t.Errorf("docs/concepts.md does not explain %q", word)
		}
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil || !strings.Contains(string(readme), "](docs/concepts.md)") {
		t.Errorf("README.md does not link docs/concepts.md (%v)", err)
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
