package main_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// ryeWords are the words that rye gives a meaning of its own, each with its forms on a screen. The
// keys are those that docs/concepts.md explains, and more.
var ryeWords = map[string]string{
	"bundle": `bundles?`, "capability": `capabilit(y|ies)`, "chain": `chains?`, "digest": `digests?`, "directive": `directives?`,
	"drift": `drift`, "grant": `grant(s|ed)?`, "item": `items?`, "key": `keys?`, "knowledge": `knowledge`, "lock": `lock(s|ed)?`,
	"namespace": `namespaces?`, "needs": `needs`, "patch": `patch(ed|es)?`, "primitive": `primitives?`, "record": `record(s|ed)?`,
	"registry": `registr(y|ies)`, "root": `roots?`, "runtime": `runtimes?`, "sandbox": `sandbox`, "scope": `scopes?`,
	"signature": `(un)?sign(s|ed|er|ers|ing|ature|atures)?`, "space": `spaces?`, "statement": `statements?`, "thread": `threads?`,
	"tier": `tiers?`, "tool": `tools?`, "trust": `(un)?trust(s|ed)?`, "user": `user`, "system": `system`,
}

// TestNewWords counts the words that newcomers meet on their screens and in the file that rye
// writes for them: before the first result, before they share it, and in a colleague's clone.
func TestNewWords(t *testing.T) {
	t.Parallel()
	page := testkit.ReadFile(t, filepath.Join("..", "..", "docs", "concepts.md"))
	for _, m := range regexp.MustCompile(`\*\*?([A-Za-z]+)\.?\*`).FindAllStringSubmatch(string(page), -1) {
		if ryeWords[strings.ToLower(m[1])] == "" {
			t.Errorf("docs/concepts.md explains %q, which this test does not count", m[1])
		}
	}
	h := emptyHome(t)
	met := map[string]bool{}
	h.wants(met, "key needs signature tool", 0, func() string { return h.read(".ai/tools/acme/hello.py") },
		"init --namespace acme", "new tool hello", "sign tool:acme/hello", "run hello")
	testkit.Git(t, h.dir, "init", "-q", "--bare", "../registry.git")
	h.wants(met, "registry root", 0, nil, "registry init ../registry.git", "push --all")
	testkit.Git(t, h.dir, "init", "-q")
	testkit.Git(t, h.dir, "add", ".")
	testkit.Git(t, h.dir, "commit", "-qm", "a tool")
	testkit.Git(t, h.dir, "clone", "-q", ".", "../clone")
	c := h.with("HOME=" + t.TempDir())
	c.dir = filepath.Join(filepath.Dir(h.dir), "clone")
	c.wants(met, "space trust", 11, nil, "run hello")
	asked, _ := c.status("trust")
	digest := regexp.MustCompile(`--accept (sha256:[0-9a-f]{64})`).FindStringSubmatch(asked)
	if digest == nil {
		t.Fatalf("rye trust says %s", asked)
	}
	c.wants(met, "digest item statement", 0, func() string { return asked }, "trust --accept "+digest[1], "run hello")
}

// wants runs commands, of which the last has the given status, and reports other new words than
// want on their screens and in more.
func (h *home) wants(met map[string]bool, want string, status int, more func() string, commands ...string) {
	h.t.Helper()
	var text strings.Builder
	for i, c := range commands {
		out, exit := h.status(strings.Fields(c)...)
		if i == len(commands)-1 && exit != status || i < len(commands)-1 && exit != 0 {
			h.t.Fatalf("rye %s: exit %d\n%s", c, exit, out)
		}
		text.WriteString(c + "\n" + plain(out))
	}
	if more != nil {
		text.WriteString(more())
	}
	var fresh []string
	for _, token := range strings.Fields(text.String()) {
		token = strings.ToLower(strings.Trim(token, `_.,;:()"'`))
		for word, forms := range ryeWords {
			if !met[word] && regexp.MustCompile(`^(`+forms+`)$`).MatchString(token) {
				met[word] = true
				fresh = append(fresh, word)
			}
		}
	}
	slices.Sort(fresh)
	if got := strings.Join(fresh, " "); got != want {
		h.t.Errorf("new words on the screens of %q: %s, want %s\n%s", commands, got, want, text.String())
	}
}
