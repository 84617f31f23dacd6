package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// kept compares the bundles of a clone with those of the project that it was made from.
func kept(t *testing.T, h, c *home, names ...string) {
	t.Helper()
	for _, name := range names {
		dir := ".ai/bundles/acme/" + name
		want := strings.ReplaceAll(filesBelow(t, filepath.Join(h.dir, dir)), h.dir, "")
		if got := strings.ReplaceAll(filesBelow(t, filepath.Join(c.dir, dir)), c.dir, ""); got != want || strings.Count(got, "\n") < 2 {
			t.Errorf("%s came as\n%s\nwant\n%s", name, got, want)
		}
	}
}

// deepArchive packs a skill in each folder of a SKILL.md, and other files.
func deepArchive(files ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range files {
		h, text := tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, "x\n"
		switch {
		case path.Ext(name) == ".sh":
			h.Mode, text = 0o755, "#!/bin/sh\necho x\n"
		case path.Base(name) == "ebb.md":
			text = "x" // no front matter, and no end of a line
		case path.Ext(name) == ".md":
			text = "---\nname: " + path.Base(path.Dir(name)) + "\ndescription: x\n---\n"
		}
		h.Size = int64(len(text))
		w.WriteHeader(&h)
		w.Write([]byte(text))
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// TestPullListed: git keeps only the manifests of the plugins that a marketplace lists elsewhere, and
// rye pull completes them in a clone: their commands and skills stand in the marketplace's entry, which
// the clone does not have.
func TestPullListed(t *testing.T) {
	t.Parallel()
	needGit(t)
	m, hub, site := newOrigin(t), newOrigin(t, "uploadpack.allowAnySHA1InWant=true"), newSite(t)
	hub.file("plug/extra/go.md", "Go there\n")
	hub.file("plug/more/tide/SKILL.md", "---\nname: tide\ndescription: x\n---\n")
	hub.file("other/more/tide/SKILL.md", "---\nname: tide\ndescription: x\n---\n") // a twin elsewhere
	hub.push("plugin")
	packed := deepArchive("skills/tide/SKILL.md", "skills/tide/scripts/run.sh", "extra/ebb.md")
	site.put("/kit.tar.gz", packed)
	m.market(
		fmt.Sprintf(`{"name": "hub", "source": {"source": "git-subdir", "url": %q, "path": "plug", "ref": "main"}, "commands": ["./extra/go.md"], "skills": ["./more/tide"], "description": "Ünïcode"}`, hub.url),
		fmt.Sprintf(`{"name": "kit", "source": {"source": "archive", "url": "%s/kit.tar.gz", "sha256": %q}, "commands": ["./extra/ebb.md"]}`, site.url, strings.TrimPrefix(digestOf(packed), "sha256:")),
	)
	m.push("market")
	h := m.person()
	accept := []string{"--accept-source", hub.url, "--accept-source", site.url + "/kit.tar.gz"}
	h.rye(append([]string{"add", m.url, "--skill", "hub", "--skill", "kit", "--no-vendor", "--yes"}, accept...)...)
	h.rye("sign", "--all", "--yes")
	for _, name := range []string{"hub", "hub-tide", "kit", "kit-tide"} {
		h.rye("sign", ".ai/bundles/acme/"+name, "--yes")
	}
	wants(t, h.read(".ai/bundles/acme/hub/rye.bundle.yaml"), `root: "plug"`, `listed: "\{.*commands.*go.md`)
	m.commit(h)
	if got := m.gitAt(h.dir, "ls-files", ".ai/bundles"); strings.Count(got, "\n") != 3 || strings.Count(got, "rye.bundle.yaml") != 4 {
		t.Fatalf("git keeps\n%s", got)
	}
	c := m.clone(h)
	wants(t, c.rye(append([]string{"pull"}, accept...)...), "fetched +acme/bundle/hub +2 files", "fetched +acme/bundle/hub-tide", "fetched +acme/bundle/kit +2 files", "fetched +acme/bundle/kit-tide")
	kept(t, h, c, "hub", "hub-tide", "kit", "kit-tide")
	c.rye("verify")
	wants(t, c.rye("outdated"), "acme/bundle/hub .* ok ", "acme/bundle/kit .* ok ")
	// From then on an update in the clone reads the entry, too.
	hub.file("plug/extra/go.md", "Go elsewhere\n")
	hub.push("two")
	wants(t, m.clone(h).fails(3, append([]string{"update", "acme/hub", "--yes"}, accept...)...), "only its manifest is here", "rye pull")
	wants(t, c.rye("update", "acme/hub", "--yes"), "updated +acme/bundle/hub ")
	wants(t, c.read(".ai/bundles/acme/hub/directives/go.md"), "Go elsewhere")
}

// TestPullStill: archives and sites keep no history. rye pull completes their bundles in a clone as
// long as they have the content that the manifest names, and writes nothing else.
func TestPullStill(t *testing.T) {
	t.Parallel()
	needGit(t)
	s, o := newSite(t), newOrigin(t)
	h := o.person()
	deep := deepArchive("skills/tide/SKILL.md", "skills/tide/scripts/run.sh", "notes.md")
	s.put("/kit.tar.gz", deep)
	ebb := s.skill("ebb")
	s.index(ebb)
	kit := s.url + "/kit.tar.gz"
	h.fails(3, "add", kit+"//skills/none", "--sha256", digestOf(deep), "--yes")
	h.fails(3, "add", kit+"//notes.md", "--sha256", digestOf(deep), "--yes")
	h.fails(2, "add", kit+"//../x", "--sha256", digestOf(deep), "--yes")
	h.rye("add", kit+"//skills", "--sha256", digestOf(deep), "--no-vendor", "--yes")
	h.rye("add", s.url, "--no-vendor", "--yes")
	wants(t, h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), `source: "`+kit+`"`, `path: "skills/tide"`, `root: "skills"`)
	for _, name := range []string{"tide", "ebb"} {
		h.rye("sign", ".ai/bundles/acme/"+name, "--yes")
	}
	wants(t, h.rye("outdated"), "acme/bundle/tide .* ok ", "acme/bundle/ebb .* ok ")
	o.commit(h)
	if got := o.gitAt(h.dir, "ls-files", ".ai/bundles"); strings.Count(got, "\n") != 1 {
		t.Fatalf("git keeps\n%s", got)
	}
	accept := []string{"--accept-source", kit, "--accept-source", s.url + "/.well-known/agent-skills/index.json"}
	c := o.clone(h)
	wants(t, c.fails(16, "pull", "--yes"), "--accept-source")
	c.fails(17, append([]string{"pull", "--offline"}, accept...)...)
	wants(t, c.rye(append([]string{"pull", "--dry-run"}, accept...)...), "would fetch +acme/bundle/ebb", "would fetch +acme/bundle/tide")
	if exists(filepath.Join(c.dir, ".ai/bundles/acme/tide/SKILL.md")) {
		t.Fatal("a dry run wrote")
	}
	c.rye(append([]string{"pull"}, accept...)...)
	kept(t, h, c, "tide", "ebb")
	c.rye("verify")
	// A file that its user removed is fetched again, although the archive has nothing new.
	if err := os.Remove(filepath.Join(c.dir, ".ai/bundles/acme/tide/SKILL.md")); err != nil {
		t.Fatal(err)
	}
	wants(t, c.rye("pull"), "fetched +acme/bundle/tide +1 file")
	// Packed again is the same content; other content is refused, and no file of it is written.
	s.put("/kit.tar.gz", append(deep, make([]byte, 512)...))
	c = o.clone(h)
	c.rye(append([]string{"pull"}, accept...)...)
	kept(t, h, c, "tide", "ebb")
	s.put("/kit.tar.gz", deepArchive("skills/tide/SKILL.md", "skills/tide/scripts/run.sh", "skills/tide/evil.md", "notes.md"))
	c = o.clone(h)
	wants(t, c.fails(10, append([]string{"pull"}, accept...)...), "fetched +acme/bundle/ebb", "no longer has the content that the manifest names")
	if exists(filepath.Join(c.dir, ".ai/bundles/acme/tide/SKILL.md")) || exists(filepath.Join(c.dir, ".ai/bundles/acme/tide/evil.md")) {
		t.Error("a refused pull wrote a file")
	}
	// The folder of an archive on this machine.
	h.write("deep.tar.gz", string(deep))
	h.rye("add", "deep.tar.gz//skills", "--as", "acme/local")
	wants(t, h.read(".ai/bundles/acme/local/rye.bundle.yaml"), `source: "file:deep.tar.gz"`, `path: "skills/tide"`)
	wants(t, h.rye("outdated"), "acme/bundle/local .* ok ")
	h.fails(3, "add", "deep.tar.gz//none")
	h.fails(2, "add", "deep.tar.gz", "--no-vendor")
	h.write("plain.zip", "no archive")
	h.fails(2, "add", "plain.zip//skills")
}
