package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// market writes a marketplace with these entries, without publishing it.
func (o *origin) market(entries ...string) {
	o.t.Helper()
	o.file(".claude-plugin/marketplace.json", `{"name": "m", "owner": {"name": "x"}, "plugins": [`+strings.Join(entries, ",\n")+`]}`)
}

func listed(name, kind, url, more string) string {
	return fmt.Sprintf(`{"name": %q, "source": {"source": %q, "url": %q%s}}`, name, kind, url, more)
}

// TestMarketElsewhere: the plugins that a marketplace lists in repositories and archives come in with
// it, each after a yes for its source, at the commit and with the digest that are listed, with its
// name in the ids, and rye follows each at its own source afterwards.
func TestMarketElsewhere(t *testing.T) {
	t.Parallel()
	needGit(t)
	m, hub, site := newOrigin(t, "uploadpack.allowAnySHA1InWant=true"), newOrigin(t, "uploadpack.allowAnySHA1InWant=true"), newSite(t)
	first := hub.git("rev-parse", "HEAD")
	hub.file("extra/go.md", "Go there\n")
	hub.skill("pdf", "two")
	hub.push("two")
	packed := siteArchive("tide")
	site.put("/kit.tar.gz", packed)
	m.market(
		fmt.Sprintf(`{"name": "hub", "source": {"source": "url", "url": %q, "ref": "main"}, "commands": ["./extra/go.md"]}`, hub.url),
		listed("sub", "git-subdir", hub.url, `, "path": "skills/pdf", "ref": "main", "sha": "`+first+`"`),
		listed("kit", "archive", site.url+"/kit.tar.gz", `, "sha256": "`+strings.TrimPrefix(digestOf(packed), "sha256:")+`"`),
		`{"name": "npm", "source": {"source": "npm", "package": "x"}}`,
		`{"name": "run", "source": {"source": "command", "command": "touch /tmp/x"}}`,
		`{"name": "here", "source": "./"}`,
	)
	m.push("market")
	h := m.person()
	accept := []string{"--accept-source", hub.url, "--accept-source", site.url + "/kit.tar.gz"}

	// Nothing is contacted for a list, and a host inside the network needs its own yes.
	wants(t, h.rye("add", m.url, "--skill", "hub", "--list"), "(?m)^hub  "+regexp.QuoteMeta(hub.url+"#main"))
	wants(t, h.fails(16, "add", m.url, "--skill", "hub", "--yes"), "not a public host", "--accept-source "+regexp.QuoteMeta(hub.url))
	if hub.asked.Load() != 0 || len(site.requests()) != 0 || exists(filepath.Join(h.dir, ".ai/bundles")) {
		t.Fatal("a source was contacted, or something came in, without a yes")
	}
	// One by name, with its commands and with its name in front.
	h.rye(append([]string{"add", m.url, "--skill", "hub", "--yes"}, accept...)...)
	wants(t, h.read(".ai/bundles/acme/hub-pdf/rye.bundle.yaml"), `source: "`+regexp.QuoteMeta(hub.url)+`"`, `ref: "refs/heads/main"`, `path: "skills/pdf"`)
	wants(t, h.read(".ai/bundles/acme/hub/directives/go.md"), "Go there")
	if exists(filepath.Join(h.dir, ".ai/bundles/acme/here-pdf")) || exists(filepath.Join(h.dir, ".ai/bundles/acme/sub-pdf")) {
		t.Error("more came in than was chosen")
	}
	// All of it. The two that run programs are refused by name and decide the status.
	wants(t, h.fails(16, append([]string{"add", m.url, "--yes"}, accept...)...), "added knowledge:acme/here-pdf", "added knowledge:acme/sub-pdf", "added knowledge:acme/kit-tide",
		`npm: it comes from npm`, `run: it comes from a command`)
	wants(t, h.read(".ai/bundles/acme/sub-pdf/rye.bundle.yaml"), `commit: "`+first+`"`, `path: "skills/pdf"`)
	wants(t, h.read(".ai/bundles/acme/sub-pdf/SKILL.md"), "one")
	wants(t, h.read(".ai/bundles/acme/kit-tide/rye.bundle.yaml"), `source: "`+regexp.QuoteMeta(site.url)+`/kit.tar.gz"`)
	wants(t, h.trustFile(), regexp.QuoteMeta(hub.url), regexp.QuoteMeta(site.url+"/kit.tar.gz"))
	wants(t, h.rye("outdated"), "acme/bundle/sub-pdf .*outdated", "acme/bundle/hub-pdf .*ok")
	h.rye("sign", "--all")
	h.rye("sign", ".ai/bundles/acme/kit-tide", "--yes") // it has a program
	hub.file("extra/go.md", "Go elsewhere\n")
	hub.push("three")
	h.rye("update", "--yes")
	wants(t, h.read(".ai/bundles/acme/sub-pdf/SKILL.md"), "two")
	wants(t, h.read(".ai/bundles/acme/hub/directives/go.md"), "Go elsewhere")
	h.rye("verify")

	// The same from a folder: what is in it needs no yes, and comes in.
	other := m.person()
	out := other.fails(16, "add", m.work)
	wants(t, out, "added knowledge:acme/here-pdf", "not added hub: ", "not added kit: ")
	other.rye(append([]string{"add", m.work, "--skill", "hub:pdf", "--skill", "kit", "--yes"}, accept...)...)
	if !exists(filepath.Join(other.dir, ".ai/bundles/acme/hub-pdf")) || exists(filepath.Join(other.dir, ".ai/bundles/acme/hub-csv")) || !exists(filepath.Join(other.dir, ".ai/bundles/acme/kit-tide")) {
		t.Error("--skill <plugin>:<skill> chose something else")
	}
}

// TestMarketLies: a plugin elsewhere that is not what the marketplace lists, or that lies where nobody
// may be sent, does not come in, stops no other, and leaves no trace.
func TestMarketLies(t *testing.T) {
	t.Parallel()
	needGit(t)
	m, hub, site := newOrigin(t), newOrigin(t, "uploadpack.allowAnySHA1InWant=true"), newSite(t)
	first := hub.git("rev-parse", "HEAD")
	hub.skill("pdf", "evil")
	hub.git("commit", "-qam", "evil")
	fork := hub.git("rev-parse", "HEAD")
	hub.git("push", "-q", hub.bare, fork+":refs/pull/1/head")
	hub.git("reset", "-q", "--hard", first)
	// A plugin that is a marketplace itself.
	hub.market(listed("deep", "url", m.url, ""))
	hub.push("list")
	site.put("/kit.tar.gz", siteArchive("tide"))
	site.put("/bomb.tar.gz", []byte("\x1f\x8bnothing"))
	site.lies["/away.zip"] = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/x.zip", http.StatusFound)
	}
	accept := []string{"--accept-source", hub.url, "--accept-source", site.url + "/kit.tar.gz", "--accept-source", site.url + "/bomb.tar.gz", "--accept-source", site.url + "/away.zip"}
	for _, c := range []struct {
		name, entry string
		status      int
		says        string
	}{
		{"another digest", listed("x", "archive", site.url+"/kit.tar.gz", `, "sha256": "`+strings.Repeat("ab", 32)+`"`), 10, "its sha256 differs"},
		{"no archive", listed("x", "archive", site.url+"/bomb.tar.gz", ""), 19, "not added x"},
		{"an archive without a digest", listed("x", "archive", site.url+"/kit.tar.gz", ""), 16, "lists no digest of its archive, which is " + digestOf(siteArchive("tide"))},
		{"a redirect inward", listed("x", "archive", site.url+"/away.zip", ""), 16, "redirects to"},
		{"a fork's commit", listed("x", "url", hub.url, `, "sha": "`+fork+`"`), 10, "in no branch and no tag"},
		{"a fork's commit of a branch", listed("x", "url", hub.url, `, "ref": "main", "sha": "`+fork+`"`), 13, "no longer has commit"},
		{"no such branch", listed("x", "url", hub.url, `, "ref": "none"`), 3, "no branch and no tag"},
		{"no such folder", listed("x", "git-subdir", hub.url, `, "path": "none"`), 3, "no folder"},
		{"a pull request", listed("x", "url", hub.url, `, "ref": "refs/pull/1/head"`), 19, "is no branch and no tag"},
		{"another source inside", listed("x", "url", strings.Replace(hub.url, "127.0.0.1", "localhost", 1), ""), 16, "not a public host"},
		{"the cloud", listed("x", "url", "https://169.254.169.254/x.git", ""), 16, "not a public host"},
		{"a password", listed("x", "url", "https://me:secret@example.org/x.git", ""), 19, "user or a password"},
		{"a file", listed("x", "url", "file:///etc", ""), 19, "want https"},
		{"a helper", listed("x", "url", "ext::sh -c id", ""), 19, "want https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := m.person()
			h.write("kit/.claude-plugin/marketplace.json", `{"plugins": [`+c.entry+`, {"name": "own", "source": "./own"}]}`)
			h.write("kit/own/skills/moon/SKILL.md", "---\nname: moon\ndescription: x\n---\n")
			trusted := h.trustFile()
			out := h.fails(c.status, append([]string{"add", "./kit", "--yes"}, accept...)...)
			wants(t, out, regexp.QuoteMeta(c.says), "added knowledge:acme/own-moon")
			if strings.Contains(out, "secret") || h.trustFile() != trusted {
				t.Errorf("a refusal shows a password or trusts something:\n%s", out)
			}
			if exists(filepath.Join(h.dir, ".ai/bundles/acme/x-pdf")) || exists(filepath.Join(h.dir, ".ai/bundles/acme/x-tide")) {
				t.Error("it came in")
			}
		})
	}
	// An archive without a digest comes in with the one that the user pins, as with its own address.
	{
		h := m.person()
		h.write("kit/.claude-plugin/marketplace.json", `{"plugins": [`+listed("x", "archive", site.url+"/kit.tar.gz", "")+`]}`)
		take := append([]string{"add", "./kit", "--skill", "x", "--yes"}, accept...)
		wants(t, h.rye(append(take, "--dry-run")...), "would add knowledge:acme/x-tide")
		h.fails(16, append(take, "--sha256", "sha256:"+strings.Repeat("ab", 32))...)
		h.rye(append(take, "--sha256", digestOf(siteArchive("tide")))...)
		if !exists(filepath.Join(h.dir, ".ai/bundles/acme/x-tide/SKILL.md")) {
			t.Error("a pinned archive did not come in")
		}
	}
	// One level deep.
	h := m.person()
	h.write("kit/.claude-plugin/marketplace.json", `{"plugins": [`+listed("x", "url", hub.url, "")+`]}`)
	asked := m.asked.Load()
	out, _ := h.status(append([]string{"add", "./kit", "--yes", "--accept-source", m.url}, accept...)...)
	wants(t, out, "added knowledge:acme/x-pdf", "marketplace of a listed plugin is not followed")
	if m.asked.Load() != asked {
		t.Error("a listed plugin led on to another source")
	}
	// More than anybody reads.
	var many []string
	for i := range 210 {
		many = append(many, listed(fmt.Sprintf("p%d", i), "git-subdir", hub.url, fmt.Sprintf(`, "path": "none/%d"`, i)))
	}
	h.write("kit/.claude-plugin/marketplace.json", `{"plugins": [`+strings.Join(many, ",\n")+`]}`)
	wants(t, h.fails(20, append([]string{"add", "./kit", "--yes"}, accept...)...), "not added p209: more than 200 plugins lie elsewhere")
	wants(t, h.fails(17, append([]string{"--offline", "add", "./kit", "--skill", "p1", "--yes"}, accept...)...), "asked over the network")
}

// TestArchiveAddress: an archive by its address comes in with its digest in the question, and from no
// other host.
func TestArchiveAddress(t *testing.T) {
	t.Parallel()
	s, h := newSite(t), newHome(t)
	raw := siteArchive("tide")
	s.put("/a/kit.tar.gz", raw)
	s.lies["/b.zip"] = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.0.0.7/b.zip", http.StatusFound)
	}
	wants(t, h.fails(16, "add", s.url+"/a/kit.tar.gz"), regexp.QuoteMeta(digestOf(raw)))
	if exists(filepath.Join(h.dir, ".ai/bundles")) {
		t.Fatal("something came in without a yes")
	}
	h.rye("add", s.url+"/a/kit.tar.gz", "--sha256", digestOf(raw), "--yes")
	wants(t, h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), `source: "`+regexp.QuoteMeta(s.url)+`/a/kit.tar.gz"`)
	h.fails(3, "add", s.url+"/none.zip", "--yes")
	h.fails(16, "add", s.url+"/b.zip", "--yes")
	h.fails(3, "add", s.url+"/a/kit.tar.gz//tide", "--yes")
	h.fails(17, "--offline", "add", s.url+"/a/kit.tar.gz", "--yes")
}

// TestMarketUnanswered: without anybody to answer, the sources of a marketplace are not contacted, and
// what lies in it comes in.
func TestMarketUnanswered(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("kit/.claude-plugin/marketplace.json", `{"plugins": [{"name": "hub", "source": {"source": "github", "repo": "ada/hub", "ref": "v1"}}, {"name": "own", "source": "./own"}]}`)
	h.write("kit/own/skills/moon/SKILL.md", "---\nname: moon\ndescription: x\n---\n")
	wants(t, h.fails(16, "add", "./kit"), "added knowledge:acme/own-moon", "not added hub: it lies at https://github.com/ada/hub, and rye contacts no source without your yes", `rye add 'https://github.com/ada/hub#v1'`)
	if out, code := h.status("add", "./kit", "--dry-run"); code != 0 {
		t.Errorf("a dry run ends with %d\n%s", code, out)
	}
}

// TestShortName: ada/hub is a repository of GitHub where no registry is bound, and nobody contacts it
// unasked.
func TestShortName(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	wants(t, h.fails(16, "add", "ada/hub#v1"), "source +https://github.com/ada/hub#v1", "hint: rye add 'https://github.com/ada/hub#v1'")
	h.fails(17, "--offline", "add", "ada/hub", "--yes")
	h.fails(2, "add", "ada/hub@^1")
	if exists(filepath.Join(h.dir, ".ai/bundles")) {
		t.Error("something came in")
	}
}
