package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// origin is a repository of another person, on a host that can be made to lie.
type origin struct {
	t     *testing.T
	work  string // the person's working tree
	bare  string // what the host serves
	url   string
	serve http.Handler
	lie   atomic.Pointer[http.HandlerFunc] // answers first; nil serves
	asked atomic.Int64                     // requests
	auth  atomic.Pointer[string]           // the last Authorization that came
}

// newOrigin serves a repository with two skills by git http-backend.
func newOrigin(t *testing.T, settings ...string) *origin {
	t.Helper()
	root := t.TempDir()
	o := &origin{t: t, work: filepath.Join(t.TempDir(), "work"), bare: bareRepo(t, root, "skills.git", settings...)}
	serve := backend(t, root, false)
	o.serve = serve
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked.Add(1)
		if a := r.Header.Get("Authorization"); a != "" {
			o.auth.Store(&a)
		}
		if lie := o.lie.Load(); lie != nil {
			(*lie)(w, r)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	o.url = s.URL + "/skills.git"
	o.gitAt("", "init", "-q", "-b", "main", o.work)
	o.skill("pdf", "one")
	o.skill("csv", "one")
	o.push("one")
	return o
}

func (o *origin) gitAt(dir string, args ...string) string {
	o.t.Helper()
	if dir != "" {
		args = append([]string{"-C", dir}, args...)
	}
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C", "GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@e", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@e")
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (o *origin) git(args ...string) string { o.t.Helper(); return o.gitAt(o.work, args...) }

func (o *origin) file(p, text string) {
	o.t.Helper()
	p = filepath.Join(o.work, filepath.FromSlash(p))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		o.t.Fatal(err)
	}
}

func (o *origin) skill(name, text string) {
	o.file("skills/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Work with "+name+".\n---\n\n"+text+"\n")
}

// push commits everything and publishes the branch; it returns the commit.
func (o *origin) push(message string, flags ...string) string {
	o.t.Helper()
	o.git("add", "-A")
	o.git(append([]string{"commit", "-q", "--allow-empty", "-m", message}, flags...)...)
	o.git("push", "-q", "-f", o.bare, "main")
	return o.git("rev-parse", "HEAD")
}

// commit commits a person's project.
func (o *origin) commit(h *home) {
	o.t.Helper()
	if !exists(filepath.Join(h.dir, ".git")) {
		o.gitAt("", "init", "-q", "-b", "main", h.dir)
	}
	o.gitAt(h.dir, "add", "-A")
	o.gitAt(h.dir, "commit", "-q", "--allow-empty", "-m", "project")
}

// clone is the same person with a clone of the project, which is accepted.
func (o *origin) clone(h *home) *home {
	o.t.Helper()
	c := *h
	c.dir = filepath.Join(o.t.TempDir(), "clone")
	o.gitAt("", "clone", "-q", h.dir, c.dir)
	var statement struct{ Digest string }
	if err := json.Unmarshal([]byte(c.rye("trust", "--dry-run", "--json")), &statement); err != nil {
		o.t.Fatal(err)
	}
	c.rye("trust", "--accept", statement.Digest)
	return &c
}

// person is somebody with a project who can reach the host.
func (o *origin) person() *home {
	return (&gitHost{url: o.url}).person(o.t, "acme")
}

func wants(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !regexp.MustCompile(p).MatchString(out) {
			t.Errorf("no %q in\n%s", p, out)
		}
	}
}

// TestOriginReachable: a commit that a person gives by its id has to be in a branch or a tag. A
// forge serves the commits of all forks by their ids; they are refused.
func TestOriginReachable(t *testing.T) {
	t.Parallel()
	needGit(t)
	for name, settings := range map[string][]string{
		"with filters":    {"uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true"},
		"without filters": {"uploadpack.allowFilter=false", "uploadpack.allowAnySHA1InWant=true"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t, settings...)
			first := o.git("rev-parse", "HEAD")
			o.skill("pdf", "two")
			second := o.push("two")
			// A fork's commit: the host has it, and no ref reaches it.
			o.skill("pdf", "evil")
			o.git("add", "-A")
			o.git("commit", "-q", "-m", "evil")
			fork := o.git("rev-parse", "HEAD")
			o.git("push", "-q", o.bare, fork+":refs/pull/1/head")
			o.git("reset", "-q", "--hard", second)
			// A branch whose name is the id of the fork's commit, and a ref of another kind.
			o.git("push", "-q", o.bare, second+":refs/heads/"+fork)
			h := o.person()
			before := h.read(".ai/rye.yaml")
			wants(t, h.fails(10, "add", o.url+"#"+fork, "--yes"), "in no branch and no tag", "fork")
			wants(t, h.fails(2, "add", o.url+"#refs/pull/1/head", "--yes"), "no branch and no tag")
			wants(t, h.fails(2, "add", o.url+"#refs/heads/"+fork, "--yes"), "id of a commit")
			if h.read(".ai/rye.yaml") != before || strings.Contains(h.trustFile(), "origin") {
				t.Error("a refusal changed the project or granted the source")
			}
			h.rye("add", o.url+"#"+first+"//skills/pdf", "--yes")
			wants(t, h.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), `commit: "`+first+`"`, `path: "skills/pdf"`)
			wants(t, h.rye("outdated"), "acme/bundle/pdf .*pinned")
			// A tag alone is enough.
			o.git("push", "-q", o.bare, fork+":refs/tags/v9")
			h.rye("add", o.url+"#"+fork+"//skills/csv", "--yes")
		})
	}
}

// TestOriginTags: a moved tag stops (13), with a flag of its own; a name that is both a branch and a
// tag is refused.
func TestOriginTags(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	o.git("tag", "-a", "-m", "v1", "v1")
	o.git("push", "-q", o.bare, "v1")
	h := o.person()
	h.rye("add", o.url+"#v1", "--yes")
	h.rye("sign", "--all")
	wants(t, h.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), `ref: "refs/tags/v1"`, "format: 2")
	if out, code := h.status("update", "--yes"); code != 0 {
		t.Errorf("update: %d\n%s", code, out)
	} else {
		wants(t, out, "up to date")
	}
	o.skill("pdf", "moved")
	o.push("two")
	o.git("tag", "-f", "-a", "-m", "v1", "v1")
	o.git("push", "-q", "-f", o.bare, "v1")
	wants(t, h.rye("outdated"), "acme/bundle/pdf .*moved")
	before := h.read(".ai/bundles/acme/pdf/SKILL.md")
	for _, flags := range [][]string{{"--yes"}, {"--yes", "--accept-rewrite", "--accept-upstream-signer", "--accept-needs"}} {
		wants(t, h.fails(13, append([]string{"update", "acme/pdf"}, flags...)...), "the tag names another commit", "rye update acme/pdf --accept-tag")
	}
	if h.read(".ai/bundles/acme/pdf/SKILL.md") != before {
		t.Error("a moved tag changed the file")
	}
	wants(t, h.rye("update", "--yes", "--accept-tag"), "updated +acme/bundle/pdf")
	wants(t, h.read(".ai/bundles/acme/pdf/SKILL.md"), "moved")
	h.rye("verify")

	o.git("push", "-q", o.bare, "main:refs/heads/v1")
	wants(t, h.fails(4, "add", o.url+"#v1", "--yes"), "both a branch and a tag", "refs/tags/v1")
	h.rye("add", o.url+"#refs/tags/v1", "--yes")
	h.fails(3, "add", o.url+"#nothing", "--yes")
	h.fails(3, "add", o.url+"#main//nothing", "--yes")
	h.fails(3, "add", o.url+"#main//skills/pdf/SKILL.md", "--yes")
}

// TestOriginSigner: the key of an SSH signature is shown and pinned at first use. Another key, or
// none, stops an update and another add (11); a signature that is not valid is refused (10).
func TestOriginSigner(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	key := func(name string) string {
		file := filepath.Join(t.TempDir(), name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		o.git("config", "gpg.format", "ssh")
		return file
	}
	fingerprint := func(file string) string {
		out, err := exec.Command("ssh-keygen", "-l", "-f", file+".pub").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))[1]
	}
	ada, eve := key("ada"), key("eve")
	o.git("config", "user.signingkey", ada)
	o.skill("pdf", "signed")
	o.push("signed", "-S")
	h := o.person()
	wants(t, h.fails(16, "add", o.url), "upstream signed by "+regexp.QuoteMeta(fingerprint(ada)))
	h.rye("add", o.url, "--yes")
	h.rye("sign", "--all")
	o.skill("pdf", "again")
	o.push("again", "-S")
	h.rye("update", "--yes")
	for _, row := range []struct {
		what   string
		change func()
	}{
		{"another key", func() { o.git("config", "user.signingkey", eve); o.push("eve", "-S") }},
		{"no signature", func() { o.push("plain", "--no-gpg-sign", "--amend") }}, // of eve's commit
	} {
		o.skill("pdf", row.what)
		row.change()
		wants(t, h.rye("outdated"), "acme/bundle/pdf .*signer")
		wants(t, h.fails(11, "update", "acme/pdf", "--yes", "--accept-needs", "--accept-rewrite", "--accept-tag"), "rye update acme/pdf --accept-upstream-signer")
		wants(t, h.fails(11, "add", o.url, "--yes", "--force"), "--accept-upstream-signer")
	}
	wants(t, h.read(".ai/bundles/acme/pdf/SKILL.md"), "again")
	o.git("config", "user.signingkey", eve)
	o.push("eve", "-S", "--amend")
	h.rye("update", "--yes", "--accept-upstream-signer")
	o.skill("pdf", "by eve")
	o.push("eve", "-S")
	h.rye("update", "--yes") // eve's key is pinned now
	h.rye("verify")

	// A signature of other bytes: the host's own change of a signed commit.
	raw := o.git("cat-file", "commit", "HEAD") + "\n"
	forged := filepath.Join(t.TempDir(), "forged")
	if err := os.WriteFile(forged, []byte(strings.Replace(raw, "\neve\n", "\nevE\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	id := o.git("hash-object", "-t", "commit", "-w", forged)
	o.git("push", "-q", "-f", o.bare, id+":refs/heads/main")
	wants(t, h.fails(10, "add", o.url, "--yes", "--accept-upstream-signer"), "not a signature of these bytes")
}

// TestOriginGrants: a clone's manifest leads nowhere before a person agreed, and never inside.
func TestOriginGrants(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	h := o.person()
	h.rye("add", o.url, "--yes")
	h.rye("sign", "--all")
	wants(t, h.trustFile(), "kind: origin", regexp.QuoteMeta(o.url))
	// The same directory's files in another project: no grant, no contact.
	other := o.person()
	for _, f := range []string{"SKILL.md", "rye.bundle.yaml"} {
		other.write(".ai/bundles/acme/pdf/"+f, h.read(".ai/bundles/acme/pdf/"+f))
	}
	asked := o.asked.Load()
	wants(t, other.rye("outdated"), "acme/bundle/pdf .*not asked")
	wants(t, other.fails(16, "update", "--yes"), "not public", "--accept-source")
	if o.asked.Load() != asked {
		t.Error("the source was asked without a grant")
	}
	other.fails(16, "update", "--yes", "--accept-source", "https://git.example.org/x")
	if o.asked.Load() != asked {
		t.Error("the source was asked by the flag for another")
	}
	other.rye("update", "--yes", "--accept-source", o.url)
	if o.asked.Load() == asked {
		t.Error("the source was not asked with its flag")
	}
	// A manifest that leads to the cloud's metadata, or to a port of this machine.
	for _, address := range []string{"http://169.254.169.254/latest", "https://10.0.0.7/x.git", "https://localhost/x.git", "https://metadata.google.internal/x"} {
		m := strings.Replace(h.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), o.url, address, 1)
		other.write(".ai/bundles/acme/pdf/rye.bundle.yaml", m[strings.Index(m, "format:"):])
		wants(t, other.fails(16, "update", "acme/pdf", "--yes"), "not public")
	}
	h.rye("trust", "forget")
	wants(t, h.rye("outdated"), "acme/bundle/pdf")
}

// TestOriginHostLies: a host that redirects inward, changes between two requests, or sends another
// tree, gains nothing, and no file changes.
func TestOriginHostLies(t *testing.T) {
	t.Parallel()
	needGit(t)
	o, victim := newOrigin(t), newOrigin(t)
	h := o.person().with("RYE_TOKEN_127_0_0_1=secret")
	h.rye("add", o.url, "--yes")
	h.rye("sign", "--all")
	before := h.read(".ai/bundles/acme/pdf/SKILL.md")
	o.skill("pdf", "two")
	o.push("two")
	lie := func(f http.HandlerFunc) { o.lie.Store(&f) }
	// The answer about refs names a commit that the host then does not send.
	asked := victim.asked.Load()
	lie(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(victim.url, "127.0.0.1", "localhost", 1)+"/info/refs?service=git-upload-pack", http.StatusFound)
	})
	h.status("update", "--yes") // from loopback to loopback: followed, but never with the token
	if a := victim.auth.Load(); a != nil {
		t.Errorf("the token went to another host: %s", *a)
	}
	_ = asked
	for name, f := range map[string]http.HandlerFunc{
		"500":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) },
		"a page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"to a file": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd/info/refs?service=git-upload-pack", 302)
		},
	} {
		lie(f)
		if out, code := h.status("update", "--yes"); code == 0 {
			t.Errorf("%s: update says\n%s", name, out)
		}
	}
	o.lie.Store(nil)
	if got := h.read(".ai/bundles/acme/pdf/SKILL.md"); got != before {
		t.Errorf("a lie changed the file:\n%s", got)
	}
	h.rye("update", "--yes")
	h.rye("verify")
}

// TestOriginNoVendor: git keeps only the signed manifest, and rye pull fetches the files in a clone,
// each as the manifest lists it.
func TestOriginNoVendor(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t, "uploadpack.allowAnySHA1InWant=true")
	o.file("skills/pdf/scripts/run.sh", "#!/bin/sh\necho pdf\n")
	if err := os.Chmod(filepath.Join(o.work, "skills/pdf/scripts/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	o.push("run")
	h := o.person()
	h.fails(2, "add", o.bare, "--no-vendor", "--yes")
	h.rye("add", o.url+"//skills/pdf", "--no-vendor", "--yes")
	h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
	h.rye("verify")
	commit := func() string {
		o.commit(h)
		return o.gitAt(h.dir, "ls-files", ".ai/bundles")
	}
	if got := commit(); got != ".ai/bundles/acme/pdf/rye.bundle.yaml" {
		t.Fatalf("git keeps\n%s", got)
	}
	clone := func() *home { return o.clone(h) }
	c := clone()
	wants(t, c.fails(10, "verify", "bundle:acme/pdf"), "missing", "rye pull")
	wants(t, c.fails(3, "load", "acme/pdf"), "only its manifest", "rye pull")
	wants(t, c.fails(10, "run", "acme/pdf/scripts/run.sh"), "rye pull")
	c.fails(17, "pull", "--offline")
	wants(t, c.fails(16, "pull", "--yes"), "--accept-source")
	wants(t, c.rye("pull", "--dry-run", "--accept-source", o.url), "would fetch +acme/bundle/pdf")
	wants(t, c.rye("pull", "--accept-source", o.url), "fetched +acme/bundle/pdf +2 files")
	c.rye("verify")
	for _, f := range []string{"SKILL.md", "scripts/run.sh"} {
		if got, want := c.read(".ai/bundles/acme/pdf/"+f), h.read(".ai/bundles/acme/pdf/"+f); got != want {
			t.Errorf("%s came as %q, want %q", f, got, want)
		}
	}
	if st, err := os.Stat(filepath.Join(c.dir, ".ai/bundles/acme/pdf/scripts/run.sh")); err != nil || st.Mode()&0o100 == 0 {
		t.Errorf("run.sh: %v, %v", st, err)
	}
	c.rye("pull")
	// Upstream goes on, and even rewrites: the pinned commit is enough as long as the host has it.
	o.skill("pdf", "rewritten")
	o.push("rewritten", "--amend")
	c = clone()
	c.rye("pull", "--accept-source", o.url)
	c.rye("verify")
	// A signer changed a file, so the source does not have it: nothing is written.
	h.write(".ai/bundles/acme/pdf/SKILL.md", h.read(".ai/bundles/acme/pdf/SKILL.md")+"mine\n")
	h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
	commit()
	c = clone()
	wants(t, c.fails(10, "pull", "--accept-source", o.url), "SKILL.md is not at its source as the manifest lists it")
	if _, err := os.Stat(filepath.Join(c.dir, ".ai/bundles/acme/pdf/scripts")); err == nil {
		t.Error("a refused pull wrote a file")
	}
	// A manifest that nobody signed leads nowhere.
	m := c.read(".ai/bundles/acme/pdf/rye.bundle.yaml")
	c.write(".ai/bundles/acme/pdf/rye.bundle.yaml", m[strings.Index(m, "format:"):])
	asked := o.asked.Load()
	c.fails(11, "pull", "--accept-source", o.url)
	if o.asked.Load() != asked {
		t.Error("an unsigned manifest led to its source")
	}
}

// TestOriginShown: show and tree know where a bundle came from, and what uses a source.
func TestOriginShown(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	h := o.person()
	h.rye("add", o.url+"#main//skills/pdf", "--yes")
	h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
	from := regexp.QuoteMeta(o.url + "#main//skills/pdf at " + o.git("rev-parse", "HEAD")[:12])
	wants(t, h.rye("show", "knowledge:acme/pdf"), "origin +"+from)
	wants(t, h.rye("show", "bundle:acme/pdf"), "origin +"+from)
	wants(t, h.rye("show", "bundle:acme/pdf", "--json"), `"origin":\{"source":"`+regexp.QuoteMeta(o.url))
	wants(t, h.rye("tree", "bundle:acme/pdf"), "bundle:acme/pdf 0", from, "knowledge:acme/pdf")
	wants(t, h.rye("trust", "list"), "origin .*"+regexp.QuoteMeta(o.url))
	h.rye("remove", "bundle:acme/pdf")
	if out := h.rye("outdated"); strings.Contains(out, "acme/bundle/pdf") {
		t.Errorf("a removed bundle is shown:\n%s", out)
	}
	h.rye("restore", "bundle:acme/pdf")
	wants(t, h.rye("outdated"), "acme/bundle/pdf .* ok ")
}
