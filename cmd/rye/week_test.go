//go:build unix

package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rye-os/rye/internal/testkit"
)

// forge is git's own http-backend over bare repositories, on loopback.
type forge struct {
	*httptest.Server
	dir string
}

func newForge(t *testing.T, names ...string) *forge {
	t.Helper()
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("no git on PATH")
	}
	backend := filepath.Join(strings.TrimSpace(string(where)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git http-backend is not installed")
	}
	f := &forge{dir: t.TempDir()}
	for _, name := range names {
		cmd := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", filepath.Join(f.dir, name))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git init: %v\n%s", err, out)
		}
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		env := []string{"GIT_PROJECT_ROOT=" + f.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + f.dir,
			"GIT_PROTOCOL=" + r.Header.Get("Git-Protocol")}
		r.TransferEncoding = nil
		testkit.GitBackend(w, r, backend, "/", env)
	}))
	t.Cleanup(f.Close)
	return f
}

// mate is a person, or a machine, with a home and a clone of the project.
type mate struct {
	*home
	name string
}

// newMate makes a home and clones the project into it; url "" begins an empty directory.
func newMate(t *testing.T, name, url string) *mate {
	t.Helper()
	top := t.TempDir()
	m := &mate{&home{t: t, dir: filepath.Join(top, "work")}, name}
	user := filepath.Join(top, "home")
	if err := os.Mkdir(user, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		if key, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(key, "RYE_") && !strings.HasPrefix(key, "XDG_") && !strings.HasPrefix(key, "GIT_") && key != "USER_SPACE" {
			m.env = append(m.env, kv)
		}
	}
	m.env = append(m.env, "HOME="+user, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME="+name, "GIT_COMMITTER_NAME="+name, "GIT_AUTHOR_EMAIL="+name+"@example.org", "GIT_COMMITTER_EMAIL="+name+"@example.org")
	if url == "" {
		if err := os.Mkdir(m.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		m.git("init", "--quiet", "--initial-branch=main")
		return m
	}
	cmd := exec.Command("git", "clone", "--quiet", url, m.dir)
	cmd.Env = m.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: git clone: %v\n%s", name, err, out)
	}
	return m
}

// git runs plain git, which must succeed.
func (m *mate) git(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = m.dir, m.env, m.as
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: git %s: %v\n%s", m.name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// save commits everything and pushes the branch.
func (m *mate) save(message string) {
	m.t.Helper()
	m.git("add", "--all")
	m.git("commit", "--quiet", "-m", message)
	m.git("push", "--quiet", "origin", "HEAD")
}

// says runs a tool and wants these words in what it printed.
func (m *mate) says(ref, want string, flags ...string) {
	m.t.Helper()
	if out := m.rye(append([]string{"execute", ref}, flags...)...); !strings.Contains(out, want) {
		m.t.Errorf("%s: %s printed %q, want %q", m.name, ref, out, want)
	}
}

// edit writes a tool that says a word, and signs it.
func (m *mate) edit(id, version, word, more string) {
	m.t.Helper()
	m.write(".ai/tools/"+id+".sh", fmt.Sprintf("#!/usr/bin/env bash\n# version: %s\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n"+
		"# category: %s\n# description: Says a word.\n%secho %s\n", version, path.Dir(id), more, word))
	m.rye("sign", "tool:"+id)
}

// state returns what rye status says of one item.
func (m *mate) state(ref string) string {
	m.t.Helper()
	for line := range strings.Lines(m.rye("status", "--all", "--json")) {
		var s struct{ Ref, State string }
		if json.Unmarshal([]byte(line), &s) == nil && s.Ref == ref {
			return s.State
		}
	}
	return ""
}

// asked returns the digest of what the directory asks its user to believe.
func (m *mate) asked() string {
	m.t.Helper()
	var s struct{ Digest string }
	if err := json.Unmarshal([]byte(m.rye("trust", "--json", "--dry-run")), &s); err != nil || s.Digest == "" {
		m.t.Fatalf("%s: rye trust --json: %v", m.name, err)
	}
	return s.Digest
}

// TestWeek: two people, three branches, a forge, and a build machine, by the commands that
// they would type. A git user meets no refusal that git would not make them expect, and
// each that security needs.
func TestWeek(t *testing.T) {
	t.Parallel()
	f := newForge(t, "project.git", "registry.git")
	project := f.URL + "/project.git"

	// Monday. Ann begins, and puts the project on the forge.
	ann := newMate(t, "ann", "")
	ann.rye("init", "--namespace", "acme")
	ann.edit("acme/greet", "1.0.0", "hello", "")
	ann.edit("acme/report", "1.0.0", "nothing new", "")
	ann.rye("lock", "tool:acme/greet")
	ann.git("remote", "add", "origin", project)
	ann.save("begin")
	digest := ann.asked() // Ann tells Bob, and whoever sets up the build machine

	// Bob clones. Nothing counts before his one act of trust, and then everything does.
	bob := newMate(t, "bob", project)
	bob.rye("key", "new")
	bob.fails(11, "execute", "tool:acme/greet")
	bob.rye("trust", "--accept", digest)
	bob.says("tool:acme/greet", "hello", "--locked")
	if s := bob.git("status", "--short"); s != "" {
		t.Errorf("trusting changed the checkout:\n%s", s)
	}

	// The build machine has no key, and believes what it was told and nothing else.
	ci := newMate(t, "ci", project)
	ci.rye("trust", "--accept", digest)
	ci.builds()

	// Tuesday. Bob works on a branch; Ann fixes main meanwhile.
	bob.git("switch", "--quiet", "-c", "bob/report")
	bob.edit("acme/report", "1.1.0", "all is well", "")
	bob.save("report says something")
	ann.edit("acme/greet", "1.0.1", "good morning", "")
	ann.says("tool:acme/greet", "good morning")
	ann.rye("execute", "tool:acme/greet", "--locked") // the lock follows her signature
	ann.save("greet by the time of day")

	// Ann tries Bob's branch: his key is new here, so she is asked about it and nothing else.
	ann.git("fetch", "--quiet")
	ann.git("switch", "--quiet", "bob/report")
	ann.fails(11, "execute", "tool:acme/report")
	ann.says("tool:acme/greet", "hello") // the branch is behind main, and that is daily work
	if s := ann.state("tool:acme/greet"); s != "older" {
		t.Errorf("an item of a branch that is behind is %q, want older", s)
	}
	ann.rye("trust", "--accept", statement(ann.home))
	ann.says("tool:acme/report", "all is well")
	ann.git("switch", "--quiet", "main")
	ann.says("tool:acme/greet", "good morning")
	ann.says("tool:acme/report", "nothing new")

	// Wednesday. Merge, rebase, cherry-pick, stash, bisect, revert, worktree.
	ann.git("merge", "--quiet", "--no-edit", "origin/bob/report")
	ann.says("tool:acme/report", "all is well")
	ann.git("push", "--quiet", "origin", "main")
	ann.git("switch", "--quiet", "-c", "ann/fix")
	ann.edit("acme/greet", "1.0.2", "good evening", "")
	ann.git("stash", "--quiet")
	ann.says("tool:acme/greet", "good morning")
	ann.git("stash", "pop", "--quiet")
	ann.says("tool:acme/greet", "good evening")
	ann.save("evenings too")
	bob.git("fetch", "--quiet")
	bob.git("rebase", "--quiet", "origin/main")
	bob.says("tool:acme/greet", "good morning")
	bob.git("cherry-pick", "origin/ann/fix")
	bob.says("tool:acme/greet", "good evening")
	bob.git("revert", "--no-edit", "HEAD")
	bob.says("tool:acme/greet", "good morning")
	bob.git("checkout", "--quiet", strings.TrimSpace(bob.git("rev-list", "--max-parents=0", "HEAD")))
	bob.says("tool:acme/greet", "hello")
	bob.git("checkout", "--quiet", "-")
	ann.git("switch", "--quiet", "main")
	ann.git("merge", "--quiet", "--no-edit", "ann/fix")
	ann.rye("lock")
	ann.save("lock what was merged")
	ann.git("bisect", "start", "HEAD", "HEAD~2")
	ann.rye("execute", "tool:acme/greet")
	ann.git("bisect", "reset")
	ann.git("worktree", "add", "--quiet", filepath.Join(filepath.Dir(ann.dir), "tree"), "ann/fix")
	tree := &mate{ann.with(), "ann's worktree"}
	tree.dir = filepath.Join(filepath.Dir(ann.dir), "tree")
	tree.fails(11, "execute", "tool:acme/greet") // nothing was granted to it
	tree.rye("trust", "--accept", tree.asked())
	tree.says("tool:acme/greet", "good evening")

	// The build machine follows main. Bob's key is new to it, and that has to be said from
	// outside: what the checkout says of itself grants nothing.
	ci.git("pull", "--quiet")
	ci.fails(11, "verify")
	ci.fails(11, "trust", "--accept", digest)
	digest = ann.asked()
	ci.rye("trust", "--accept", digest)
	ci.builds()

	// Thursday. A bad version is taken back for good, on every branch.
	bob.git("fetch", "--quiet")
	bob.git("switch", "--quiet", "-C", "bob/danger", "origin/main")
	bob.edit("acme/report", "1.2.0", "oops", "")
	bob.save("a report that should not be")
	ann.git("fetch", "--quiet")
	ann.git("switch", "--quiet", "bob/danger")
	ann.says("tool:acme/report", "oops")
	digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(bob.read(".ai/tools/acme/report.sh"))))
	bob.rye("trust", "deny", digest, "--share", "--reason", "says oops")
	bob.git("switch", "--quiet", "-C", "main", "origin/main") // .ai/denied comes along
	bob.save("take a report back")
	ann.git("switch", "--quiet", "main")
	ann.git("pull", "--quiet", "origin", "main")
	ann.says("tool:acme/report", "all is well")
	ann.git("switch", "--quiet", "bob/danger")
	ann.fails(12, "execute", "tool:acme/report")
	ann.git("switch", "--quiet", "main")

	// Rolled back to one with wider needs: a person would be asked, and nobody is there.
	ann.edit("acme/probe", "1.0.0", "wide", "# needs:\n#   net: [\"*\"]\n")
	ann.save("probe")
	ann.edit("acme/probe", "1.0.1", "narrow", "# needs:\n#   net: []\n")
	ann.save("narrow the probe")
	ann.git("checkout", "--quiet", "HEAD~1")
	ann.fails(13, "execute", "tool:acme/probe")
	ann.git("checkout", "--quiet", "main")
	ann.says("tool:acme/probe", "narrow")

	// An MCP client gets what HEAD holds, and no older bytes that something put there.
	old := ann.git("show", "HEAD~5:.ai/tools/acme/greet.sh")
	s, _ := ann.connect(&mcp.ClientOptions{})
	if res, failed := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/greet"}); failed {
		t.Errorf("an MCP client and HEAD's bytes: %v", res)
	}
	ann.write(".ai/tools/acme/greet.sh", old)
	if res, failed := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/greet"}); !failed || fmt.Sprint(res["code"]) != "rollback" {
		t.Errorf("an MCP client and bytes that are not HEAD's: %v", res)
	}
	ann.git("checkout", "--quiet", ".")

	// Friday. Ann opens a registry on the forge and lets Bob in.
	registry := f.URL + "/registry.git"
	ann.rye("registry", "init", registry, "--name", "main", "--yes")
	ann.rye("push", "tool:acme/greet", "--yes")
	ann.save("publish")
	bob.git("pull", "--quiet", "origin", "main")
	bob.fails(11, "fetch") // another registry is another question
	bob.rye("trust", "--accept", statement(bob.home))
	bob.fails(11, "fetch", "--yes") // he signed an item in acme/, which the registry gives to ann
	bob.rye("fetch", "--accept-owner", "acme")
	ann.rye("registry", "grant", "bobs", bob.key("default").SSH, "--yes")
	bob.rye("registry", "add", registry, "--name", "main", "--scope", "bobs", "--yes")
	bob.edit("bobs/hello", "1.0.0", "from bob", "")
	bob.rye("push", "tool:bobs/hello", "--yes")
	bob.git("add", ".ai/rye.yaml")
	bob.git("commit", "--quiet", "-m", "a namespace for bob")
	bob.git("push", "--quiet", "origin", "HEAD:main")
	ann.git("pull", "--quiet", "origin", "main")
	ann.fails(11, "add", "bobs/tool/hello", "--yes") // a namespace from a registry is another question
	ann.rye("trust", "--accept", statement(ann.home))
	ann.rye("add", "bobs/tool/hello", "--yes")
	ann.says("tool:bobs/hello", "from bob")
	ann.save("use what bob published")

	// The build machine is told once more, and fetches what the lock names.
	ci.git("pull", "--quiet")
	ci.rye("trust", "--accept", ann.asked())
	ci.rye("pull")
	ci.builds()
	ci.says("tool:bobs/hello", "from bob", "--locked")
	for _, m := range []*mate{ann, bob, ci} {
		m.rye("fsck")
	}
}

// builds runs what a build machine runs.
func (m *mate) builds() {
	m.t.Helper()
	m.rye("verify")
	m.rye("sign", "--all", "--check")
	m.rye("lock", "verify")
	m.rye("execute", "tool:acme/greet", "--locked")
}
