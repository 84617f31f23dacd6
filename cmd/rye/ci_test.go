package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// TestCIWorkflow runs the workflow of docs/ci.md as it is written: its run lines, in a fresh
// clone, with an empty home, and the digest in the environment.
func TestCIWorkflow(t *testing.T) {
	t.Parallel()
	needBash(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("a build machine clones with git")
	}
	steps := workflow(t)
	alice := newHome(t)
	alice.write(".ai/tools/acme/hello.sh", strings.Replace(failingTool, "exit 3", "echo built", 1))
	alice.rye("sign", "--all")
	alice.rye("lock", "tool:acme/hello")
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-C", dir}, args...)...)
		cmd.Env = alice.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git(alice.dir, "init", "-q", "-b", "main")
	git(alice.dir, "add", ".")
	git(alice.dir, "commit", "-qm", "base")
	digest := statement(alice)

	build := func(digest string) (failed, said string) {
		t.Helper()
		top := t.TempDir()
		git(top, "clone", "-q", alice.dir, "checkout")
		home := filepath.Join(top, "home")
		if err := os.Mkdir(home, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, run := range steps {
			cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", run) // as GitHub starts them
			cmd.Dir = filepath.Join(top, "checkout")
			cmd.Env = append(alice.env, "HOME="+home, "USERPROFILE="+home, "RYE_STATEMENT="+digest,
				"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			said += string(out)
			if err != nil {
				return run, said
			}
		}
		if _, err := os.Stat(filepath.Join(home, ".config", "rye", "keys")); err == nil {
			t.Error("the build made a key")
		}
		return "", said
	}
	if failed, said := build(digest); failed != "" || !strings.Contains(said, "built") {
		t.Errorf("%q failed:\n%s", failed, said)
	}
	// The same digest after more items by the same signer.
	alice.write(".ai/tools/acme/more.sh", strings.Replace(failingTool, "exit 3", "echo more", 1))
	alice.rye("sign", "--all")
	git(alice.dir, "add", ".")
	git(alice.dir, "commit", "-qm", "more")
	if failed, said := build(digest); failed != "" {
		t.Errorf("more items: %q failed:\n%s", failed, said)
	}
	// A branch that takes away the policy of its base, and what it forbids.
	alice.write(".ai/policy.yaml", "policy: 1\nlocked_only: true\n")
	git(alice.dir, "add", ".")
	git(alice.dir, "commit", "-qm", "policy")
	if failed, said := build(digest); failed != "" {
		t.Errorf("with a policy: %q failed:\n%s", failed, said)
	}
	git(alice.dir, "checkout", "-qb", "looser")
	git(alice.dir, "rm", "-q", ".ai/policy.yaml")
	git(alice.dir, "commit", "-qm", "no policy")
	if failed, said := build(digest); !strings.HasPrefix(failed, "rye policy accept") || !strings.Contains(said, "locked_only no longer holds") {
		t.Errorf("a branch without the policy of its base: %q failed:\n%s", failed, said)
	}
	git(alice.dir, "checkout", "-q", "main")
	// A stranger's branch: the first line ends it, and names the digest that would not be believed.
	mallory := newHome(t)
	mallory.dir = alice.dir
	mallory.rye("trust", "--accept", statement(mallory))
	mallory.write(".ai/tools/mallory/evil.sh", strings.NewReplacer("exit 3", "echo evil", "category: acme", "category: mallory").Replace(failingTool))
	mallory.rye("sign", "tool:mallory/evil")
	git(alice.dir, "add", ".")
	git(alice.dir, "commit", "-qm", "evil")
	failed, said := build(digest)
	if !strings.HasPrefix(failed, "rye trust --accept") || !strings.Contains(said, "; the whole statement is sha256:") {
		t.Errorf("a stranger's branch: %q failed:\n%s", failed, said)
	}
	// Nothing in the settings is no digest.
	if failed, said := build(""); !strings.HasPrefix(failed, "rye trust --accept") {
		t.Errorf("without a digest: %q failed:\n%s", failed, said)
	}
}

// workflow returns the run lines of the page's workflow.
func workflow(t *testing.T) (runs []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok1 := strings.Cut(string(page), "```yaml\n")
	text, _, ok2 := strings.Cut(rest, "```\n")
	var w struct {
		Name        string
		On          map[string]any
		Permissions map[string]string
		Jobs        map[string]struct {
			RunsOn    string `yaml:"runs-on"`
			Container string
			Env       map[string]string
			Steps     []struct {
				Name, Uses, Run string
				With            map[string]any
			}
		}
	}
	if err := objects.DecodeYAML([]byte(text), 1<<16, &w); err != nil || !ok1 || !ok2 || len(w.Jobs) != 1 {
		t.Fatalf("docs/ci.md: no workflow with one job: %v", err)
	}
	for _, j := range w.Jobs {
		if j.Env["RYE_STATEMENT"] != "${{ vars.RYE_STATEMENT }}" {
			t.Errorf("the digest comes from %q, want the settings", j.Env["RYE_STATEMENT"])
		}
		for _, s := range j.Steps {
			if s.Run != "" {
				runs = append(runs, s.Run)
			}
		}
	}
	if len(runs) < 5 {
		t.Fatalf("docs/ci.md: %d run lines", len(runs))
	}
	return runs
}

// statement returns the digest of what the project asks for.
func statement(h *home) string {
	h.t.Helper()
	for line := range strings.Lines(h.rye("trust", "--dry-run")) {
		if d, ok := strings.CutPrefix(line, "statement "); ok {
			return strings.TrimSpace(d)
		}
	}
	h.t.Fatal("rye trust --dry-run prints no digest")
	return ""
}
