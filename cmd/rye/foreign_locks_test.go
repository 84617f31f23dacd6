package main_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vercelSum is computedHash of a skill that has a SKILL.md only, where the order means nothing.
func vercelSum(skill string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte("SKILL.md"+skill)))
}

func toolHiveSum(skill string) string {
	sum := sha256.Sum256([]byte(skill))
	return fmt.Sprintf("sha256:%x", sha256.Sum256(append(append([]byte("SKILL.md\x00"), sum[:]...), '\n')))
}

func (o *origin) text(name string) string {
	o.t.Helper()
	raw, err := os.ReadFile(filepath.Join(o.work, "skills", name, "SKILL.md"))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(raw)
}

func vercelLock(entries map[string]map[string]any) string {
	raw, _ := json.MarshalIndent(map[string]any{"version": 1, "skills": entries}, "", "  ")
	return string(raw) + "\n"
}

// TestLockVercel: skills-lock.json names a branch and no commit. What is there now comes in if its
// hash is the locked one; another one is shown, and stops nothing else.
func TestLockVercel(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	pdf, csv := vercelSum(o.text("pdf")), vercelSum(o.text("csv"))
	h := o.person()
	at := func(name, sum string) map[string]any {
		return map[string]any{"source": o.url, "sourceUrl": o.url, "sourceType": "git", "ref": "main", "skillPath": "skills/" + name + "/SKILL.md", "computedHash": sum, "extra": 1}
	}
	h.write("skills-lock.json", vercelLock(map[string]map[string]any{"pdf": at("pdf", pdf), "csv": at("csv", csv),
		"gone": at("gone", csv), "npm": {"source": "kit", "sourceType": "node_modules", "computedHash": "x"}}))

	wants(t, h.rye("add", "skills-lock.json", "--list"), "(?m)^pdf  "+o.url+"#main//skills/pdf", "(?m)^csv")
	// The addresses are the file's, which may be a stranger's: a host inside needs its own yes.
	asked := o.asked.Load()
	wants(t, h.fails(16, "add", "skills-lock.json", "--yes"), "not a public host", "--accept-source "+o.url)
	if o.asked.Load() != asked {
		t.Error("a host was contacted without a yes")
	}
	cmd := h.command("add", "skills-lock.json", "--yes", "--accept-source", o.url)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == 0 {
		t.Error("failures are not told by the status")
	}
	wants(t, string(out), "added knowledge:acme/pdf", "added knowledge:acme/csv", "not added gone: no folder", "not added npm: .*npm package", "3 fields of skills-lock.json are unknown")
	wants(t, h.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), `source: "`+o.url+`"`, `ref: "refs/heads/main"`, `commit: "`+o.git("rev-parse", "HEAD")+`"`, `path: "skills/pdf"`, `tree: "`+o.git("rev-parse", "HEAD:skills/pdf")+`"`)
	wants(t, h.rye("outdated"), "acme/bundle/pdf .*ok", "acme/bundle/csv .*ok")

	// Upstream moves on. For another person the lock does not fit any more.
	o.skill("pdf", "two")
	o.push("two")
	wants(t, h.rye("outdated"), "acme/bundle/pdf .*outdated")
	other := o.person()
	other.write("skills-lock.json", vercelLock(map[string]map[string]any{"pdf": at("pdf", pdf), "csv": at("csv", csv)}))
	cmd = other.command("add", "skills-lock.json", "--yes", "--accept-source", o.url)
	out, _ = cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != 10 {
		t.Errorf("exit %d, want 10", got)
	}
	wants(t, string(out), "added knowledge:acme/csv", "not added pdf: its computedHash differs: expected "+pdf[:24]+".*found "+vercelSum(o.text("pdf"))[:24])
	if exists(filepath.Join(other.dir, ".ai/bundles/acme/pdf")) {
		t.Error("what differs came in")
	}
	cmd = other.command("add", "skills-lock.json", "--skill", "pdf", "--yes", "--json")
	raw, _ := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != 10 {
		t.Errorf("exit %d, want 10", got)
	}
	wants(t, string(raw), `"rule":"computedHash","expected":"`+pdf+`","found":"`+vercelSum(o.text("pdf"))+`"`)
	before := h.read(".ai/rye.yaml")
	dry := o.person()
	dry.write("skills-lock.json", vercelLock(map[string]map[string]any{"csv": at("csv", csv)}))
	wants(t, dry.rye("add", "skills-lock.json", "--dry-run", "--accept-source", o.url), "would add knowledge:acme/csv")
	if exists(filepath.Join(dry.dir, ".ai/bundles")) || h.read(".ai/rye.yaml") != before {
		t.Error("--dry-run wrote something")
	}
}

// TestLockWithoutPath: older lock files name a skill and no path, and so do local ones.
func TestLockWithoutPath(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	h := o.person()
	skill := "---\nname: own\ndescription: Our own.\n---\n"
	h.write("kit/skills/own/SKILL.md", skill)
	h.write("kit/skills/other/SKILL.md", "---\nname: other\ndescription: Another.\n---\n")
	if err := os.Symlink(filepath.Dir(h.dir), filepath.Join(h.dir, "out")); err != nil {
		t.Skip(err)
	}
	h.write("skills-lock.json", vercelLock(map[string]map[string]any{
		"pdf":  {"source": o.url, "sourceUrl": o.url, "sourceType": "git", "computedHash": vercelSum(o.text("pdf"))},
		"own":  {"source": "./kit", "sourceType": "local", "computedHash": vercelSum(skill)},
		"bad":  {"source": "./kit", "sourceType": "local", "computedHash": vercelSum(skill)},
		"out":  {"source": "./out", "sourceType": "local"},
		"up":   {"source": "../..", "sourceType": "local"},
		"none": {"source": o.url, "sourceUrl": o.url, "sourceType": "git"},
	}))
	cmd := h.command("add", "skills-lock.json", "--yes", "--accept-source", o.url)
	out, _ := cmd.CombinedOutput()
	wants(t, string(out), "added knowledge:acme/pdf", "added knowledge:acme/own", "not added bad: ", "not added out: no folder", "not added up: its folder is not below", "not added none: ")
	if exists(filepath.Join(h.dir, ".ai/bundles/acme/csv")) || exists(filepath.Join(h.dir, ".ai/bundles/acme/other")) {
		t.Errorf("more came in than was locked:\n%s", out)
	}
	wants(t, h.read(".ai/bundles/acme/own/rye.bundle.yaml"), `source: "file:kit"`)
}

// TestLockCommit: APM and ToolHive lock a commit. It comes in although the branch moved on, and a
// commit that is not of the branch does not.
func TestLockCommit(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t, "uploadpack.allowAnySHA1InWant=true", "uploadpack.allowFilter=true")
	first, text := o.git("rev-parse", "HEAD"), o.text("pdf")
	o.skill("pdf", "two")
	o.push("two")
	o.git("tag", "v1", first)
	o.git("push", "-q", o.bare, "v1")
	o.skill("pdf", "evil")
	o.git("commit", "-qam", "evil")
	fork := o.git("rev-parse", "HEAD")
	o.git("push", "-q", o.bare, fork+":refs/pull/1/head")
	o.git("reset", "-q", "--hard", "HEAD~1")
	repo, host := "skills.git", strings.TrimPrefix(strings.TrimSuffix(o.url, "/skills.git"), "http://")
	apm := func(fields string) string {
		return "lockfile_version: '1'\ndependencies:\n- repo_url: http://" + host + "/" + repo + "\n  package_type: claude_skill\n" + fields
	}
	content := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("SKILL.md"+text)))
	for _, c := range []struct {
		name, file, text string
		status           int
		says             string
		commit           string
	}{
		{"apm", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_ref: main\n  resolved_commit: " + first + "\n  content_hash: " + content + "\n"), 0, "added knowledge:acme/pdf", first},
		{"apm, tag", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_ref: v1\n  resolved_commit: " + first + "\n"), 0, "added knowledge:acme/pdf", first},
		{"apm, tree", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_commit: " + first + "\n  tree_sha256: sha256:" + strings.Repeat("0", 64) + "\n"), 10, "its tree_sha256 differs", ""},
		{"apm, other bytes", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_ref: main\n  resolved_commit: " + first + "\n  content_hash: sha256:" + strings.Repeat("0", 64) + "\n"), 10, "its content_hash differs: expected sha256:000", ""},
		{"apm, moved tag", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_ref: v1\n  resolved_commit: " + o.git("rev-parse", "HEAD") + "\n"), 13, "the tag v1 names commit", ""},
		{"apm, a fork's commit", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_commit: " + fork + "\n"), 10, "in no branch and no tag", ""},
		{"apm, a fork's commit on a branch", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_ref: main\n  resolved_commit: " + fork + "\n"), 13, "no longer has commit", ""},
		{"apm, an unknown commit", "apm.lock.yaml", apm("  virtual_path: skills/pdf\n  resolved_ref: main\n  resolved_commit: '" + strings.Repeat("1", 40) + "'\n"), 13, "no longer has commit", ""},
		{"apm, some skills", "apm.lock.yaml", apm("  resolved_ref: main\n  resolved_commit: " + first + "\n  skill_subset: [pdf]\nmcp_servers: [x]\n"), 0, "mcp_servers of apm.lock.yaml is not taken over", first},
		{"toolhive over https only", "toolhive.lock.yaml", "version: 1\nskills:\n- name: pdf\n  source: git://" + host + "/ada/skills@main#skills/pdf\n  digest: " + first + "\n  contentDigest: " + toolHiveSum(text) + "\n", 16, "not a public host", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := o.person()
			h.write(c.file, c.text)
			cmd := h.command("add", c.file, "--yes", "--accept-source", o.url)
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.status {
				t.Errorf("exit %d, want %d", got, c.status)
			}
			wants(t, string(out), c.says)
			if c.commit == "" {
				if exists(filepath.Join(h.dir, ".ai/bundles")) {
					t.Errorf("it came in:\n%s", out)
				}
				return
			}
			wants(t, h.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), `commit: "`+c.commit+`"`)
			wants(t, h.read(".ai/bundles/acme/pdf/SKILL.md"), "one")
			if exists(filepath.Join(h.dir, ".ai/bundles/acme/csv")) {
				t.Error("more came in than was locked")
			}
		})
	}
}

// TestLockSite: a lock file of vercel's skills names a site and the digest of an artifact.
func TestLockSite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	tide, pdf := s.skill("tide"), s.skill("pdf")
	s.index(tide, pdf)
	h := newHome(t)
	h.write("skills-lock.json", vercelLock(map[string]map[string]any{
		"tide": {"source": "127.0.0.1", "sourceUrl": s.url, "sourceType": "well-known", "computedHash": "x", "wellKnownDigest": tide.Digest},
		"pdf":  {"source": "127.0.0.1", "sourceUrl": s.url, "sourceType": "well-known", "computedHash": "x", "wellKnownDigest": tide.Digest}}))
	cmd := h.command("add", "skills-lock.json", "--yes", "--accept-source", s.url+wellKnown+"index.json")
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != 10 {
		t.Errorf("exit %d, want 10", got)
	}
	wants(t, string(out), "added knowledge:acme/tide", "not added pdf: its wellKnownDigest differs")
	wants(t, h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), `source: "`+s.url+wellKnown+`index.json"`)
}

// TestLockLies: a lock file that came with a clone leads nowhere, and one that is malformed changes
// nothing.
func TestLockLies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, text string
		status           int
		says             string
	}{
		{"a stranger's host", "skills-lock.json", vercelLock(map[string]map[string]any{"a": {"source": "https://git.example.org/x.git", "sourceUrl": "https://git.example.org/x.git", "sourceType": "git"}, "b": {"source": "ada/skills", "sourceType": "github"}}), 16,
			"contact the sources in skills-lock.json: Contact 2 sources for this directory"},
		{"the cloud's metadata", "skills-lock.json", vercelLock(map[string]map[string]any{"a": {"source": "http://169.254.169.254/x.git", "sourceUrl": "http://169.254.169.254/x.git", "sourceType": "git"}}), 16, "not a public host"},
		{"credentials", "skills-lock.json", vercelLock(map[string]map[string]any{"a": {"source": "https://u:hunter2@example.org/x.git", "sourceUrl": "https://u:hunter2@example.org/x.git", "sourceType": "git"}}), 16, "credentials"},
		{"a remote helper", "skills-lock.json", vercelLock(map[string]map[string]any{"a": {"source": "ext::sh -c id", "sourceUrl": "ext::sh -c id", "sourceType": "git"}}), 16, "not added a|did not come in|remote helpers"},
		{"a newer version", "apm.lock.yaml", "lockfile_version: '9'\ndependencies: []\n", 19, "this rye reads 1 and 2"},
		{"no lock file", "toolhive.lock.yaml", "- a\n", 19, "want a mapping"},
		{"empty", "skills-lock.json", `{"version":1,"skills":{}}`, 3, "no entries"},
		{"escape sequences", "skills-lock.json", vercelLock(map[string]map[string]any{"a\x1b[31m": {"source": "x", "sourceType": "zip\x1b[31m"}}), 16, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			h.write(c.file, c.text)
			out := h.fails(c.status, "add", c.file)
			wants(t, out, c.says)
			if strings.Contains(out, "hunter2") || strings.Contains(out, "\x1b") || exists(filepath.Join(h.dir, ".ai/bundles")) || strings.Contains(h.trustFile(), "origin") {
				t.Errorf("it printed or wrote what it must not: %q", out)
			}
		})
	}
}
