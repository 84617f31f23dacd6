package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// webSite serves an index of skills, and lies as a test wants.
type webSite struct {
	t     *testing.T
	url   string
	mu    sync.Mutex
	files map[string][]byte
	lies  map[string]http.HandlerFunc // by path; answer instead of a file
	asked []string
	auth  []string
}

const wellKnown = "/.well-known/agent-skills/"

func newSite(t *testing.T) *webSite {
	s := &webSite{t: t, files: map[string][]byte{}, lies: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		for _, h := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
			s.auth = append(s.auth, r.Header[h]...)
		}
		lie, body, ok := s.lies[r.URL.Path], s.files[r.URL.Path], false
		_, ok = s.files[r.URL.Path]
		s.mu.Unlock()
		switch {
		case lie != nil:
			lie(w, r)
		case ok:
			w.Write(body)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

type siteLine struct{ Name, Type, Description, URL, Digest string }

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// index publishes an index of these skills.
func (s *webSite) index(all ...siteLine) {
	var entries []map[string]string
	for _, l := range all {
		entries = append(entries, map[string]string{"name": l.Name, "type": l.Type, "description": l.Description, "url": l.URL, "digest": l.Digest})
	}
	raw, err := json.Marshal(map[string]any{"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": entries})
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(wellKnown+"index.json", raw)
}

func (s *webSite) put(path string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = data
}

// skill publishes a skill as an archive, and returns its line of the index.
func (s *webSite) skill(name string, more ...tar.Header) siteLine {
	raw := siteArchive(name, more...)
	s.put(wellKnown+name+".tar.gz", raw)
	return siteLine{name, "archive", "Work with " + name + ".", name + ".tar.gz", digestOf(raw)}
}

func siteArchive(name string, more ...tar.Header) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	add := func(h tar.Header, data string) {
		h.Size = int64(len(data))
		if h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeLink {
			h.Size, data = 0, ""
		}
		w.WriteHeader(&h)
		w.Write([]byte(data))
	}
	add(tar.Header{Name: "SKILL.md", Typeflag: tar.TypeReg, Mode: 0o644}, "---\nname: "+name+"\ndescription: Work with "+name+".\n---\n\nOne\n")
	add(tar.Header{Name: "scripts/run.sh", Typeflag: tar.TypeReg, Mode: 0o755}, "#!/bin/sh\necho "+name+"\n")
	for _, h := range more {
		add(h, "x")
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// requests returns the paths that were asked for since the last call.
func (s *webSite) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// TestSite: skills come in from a site with an index, byte for byte, with their origin.
func TestSite(t *testing.T) {
	t.Parallel()
	s, h := newSite(t), newHome(t)
	md := []byte("---\nname: note\ndescription: Take notes.\n---\n\nNote\n")
	s.put("/elsewhere/SKILL.md", md)
	s.index(s.skill("tide"), s.skill("pdf"), siteLine{"note", "skill-md", "Take notes.", "/elsewhere/SKILL.md", digestOf(md)}, siteLine{"later", "bundle", "x", "x", digestOf(nil)})

	wants(t, h.rye("add", s.url, "--list"), "(?m)^tide  Work with tide", "(?m)^note  Take notes")
	if got := s.requests(); !slices.Equal(got, []string{wellKnown + "index.json"}) {
		t.Errorf("--list asked for %q", got)
	}
	wants(t, h.fails(3, "add", s.url, "--skill", "none"), "no skill none there", "--list")
	wants(t, h.rye("add", s.url, "--dry-run"), "would add knowledge:acme/tide", "would add knowledge:acme/note")
	if exists(filepath.Join(h.dir, ".ai/bundles")) {
		t.Fatal("--dry-run wrote something")
	}
	wants(t, h.fails(16, "add", s.url, "--skill", "tide"), "add from "+s.url, "--yes")
	if exists(filepath.Join(h.dir, ".ai/bundles")) || strings.Contains(h.trustFile(), "origin") {
		t.Fatal("without a yes something was written")
	}
	s.requests()
	h.rye("add", s.url, "--skill", "tide", "--yes")
	if got := s.requests(); !slices.Equal(got, []string{wellKnown + "index.json", wellKnown + "tide.tar.gz"}) {
		t.Errorf("--skill tide asked for %q", got)
	}
	wants(t, h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), `source: "`+s.url+wellKnown+`index.json"`, `path: "tide"`, `tree: "[0-9a-f]{40}"`, `scripts/run.sh", mode: "0755"`)
	if strings.Contains(h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), "commit:") {
		t.Error("a site has no commits")
	}
	wants(t, h.read(".ai/bundles/acme/tide/scripts/run.sh"), "echo tide")
	wants(t, h.trustFile(), "kind: origin")
	out := h.rye("add", s.url, "--yes")
	wants(t, out, "added knowledge:acme/pdf", "added knowledge:acme/note")
	if got := h.read(".ai/bundles/acme/note/SKILL.md"); got != string(md) {
		t.Errorf("the note came as %q", got)
	}
	// The site moves on.
	wants(t, h.rye("outdated"), "acme/bundle/tide .*ok", "acme/bundle/note .*ok")
	s.index(s.skill("tide", tar.Header{Name: "new.md", Typeflag: tar.TypeReg, Mode: 0o644}), s.skill("pdf"))
	wants(t, h.rye("outdated"), "acme/bundle/tide .*outdated", "acme/bundle/pdf .*ok", "acme/bundle/note .*removed")
	h.write(".ai/bundles/acme/tide/SKILL.md", strings.Replace(h.read(".ai/bundles/acme/tide/SKILL.md"), "One", "Uno", 1))
	wants(t, h.fails(16, "update", "bundle:acme/tide"), "content  sha256:[0-9a-f]{64} -> sha256:", "your edit stays: SKILL.md", "new.md  .new.")
	wants(t, h.rye("update", "bundle:acme/tide", "--yes"), "updated +acme/bundle/tide")
	wants(t, h.rye("outdated"), "acme/bundle/tide .*ok")
	wants(t, h.read(".ai/bundles/acme/tide/new.md"), "x")
	wants(t, h.read(".ai/bundles/acme/tide/SKILL.md"), "Uno")
	wants(t, h.rye("update", "bundle:acme/pdf"), "")
	wants(t, h.fails(3, "update", "bundle:acme/note"), "the index does not name the skill")
	h.fails(17, "update", "bundle:acme/tide", "--offline")
	h.rye("add", s.url, "--skill", "tide", "--force", "--yes")
	wants(t, h.rye("outdated"), "acme/bundle/tide .*ok")
	s.mu.Lock()
	if len(s.auth) > 0 {
		t.Errorf("credentials were sent: %q", s.auth)
	}
	s.mu.Unlock()
}

// TestSiteFirst: an index of discovery 0.1.0, at its own place and at the new one.
func TestSiteFirst(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"/.well-known/skills/", wellKnown} {
		s, h := newSite(t), newHome(t)
		s.put(place+"index.json", []byte(`{"skills":[{"name":"tide","description":"Tides.","files":["SKILL.md","scripts/run me.sh"]},{"name":"half","description":"x","files":["SKILL.md","gone.md"]},{"name":"up","description":"x","files":["SKILL.md","../../../etc/passwd"]}]}`))
		s.put(place+"tide/SKILL.md", []byte("---\nname: tide\ndescription: Tides.\n---\n"))
		s.put(place+"tide/scripts/run me.sh", []byte("#!/bin/sh\n"))
		s.put(place+"half/SKILL.md", []byte("---\nname: half\ndescription: x\n---\n"))
		cmd := h.command("add", s.url, "--yes")
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 19 {
			t.Errorf("exit %d, want 19", cmd.ProcessState.ExitCode())
		}
		wants(t, string(out), "added knowledge:acme/tide", "no digests", "not added half: .*404", "not added up: .*cannot be fetched")
		wants(t, h.read(".ai/bundles/acme/tide/rye.bundle.yaml"), `source: "`+s.url+place+`index.json"`, `run me.sh", mode: "0755"`)
		// Without digests the content itself is compared.
		wants(t, h.rye("outdated"), "acme/bundle/tide .*ok")
		s.put(place+"tide/SKILL.md", []byte("---\nname: tide\ndescription: Tides.\n---\n\nNew\n"))
		wants(t, h.rye("outdated"), "acme/bundle/tide .*outdated")
		h.rye("update", "--yes")
		wants(t, h.read(".ai/bundles/acme/tide/SKILL.md"), "New")
		wants(t, h.rye("outdated"), "acme/bundle/tide .*ok")
		if exists(filepath.Join(h.dir, ".ai/bundles/acme/half")) || exists(filepath.Join(h.dir, ".ai/bundles/acme/up")) {
			t.Error("a part of a skill came in")
		}
	}
}

// TestSiteLies: whatever a site does, one skill that is not what the index promised does not come in,
// stops no other, and decides the status.
func TestSiteLies(t *testing.T) {
	t.Parallel()
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for range 200 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	secret := []byte("the secret of this machine")
	inner := newSite(t)
	inner.put("/secret", secret)
	for _, c := range []struct {
		name   string
		lie    func(s *webSite) siteLine
		status int
		says   string
	}{
		{"wrong digest", func(s *webSite) siteLine {
			l := s.skill("evil")
			l.Digest = digestOf(nil)
			return l
		}, 10, "digest differs: expected sha256:.*, found sha256:"},
		{"changes between two requests", func(s *webSite) siteLine {
			l := s.skill("evil")
			s.skill("evil", tar.Header{Name: "more", Typeflag: tar.TypeReg, Mode: 0o644})
			return l
		}, 10, "digest differs"},
		{"gone", func(s *webSite) siteLine { return siteLine{"evil", "archive", "x", "gone.zip", digestOf(nil)} }, 3, "404"},
		{"failing", func(s *webSite) siteLine {
			s.lies["/x"] = func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }
			return siteLine{"evil", "archive", "x", "/x", digestOf(nil)}
		}, 5, "500"},
		{"endless", func(s *webSite) siteLine {
			s.lies["/x"] = endless
			return siteLine{"evil", "archive", "x", "/x", digestOf(nil)}
		}, 20, "more than 52428800 bytes"},
		{"redirect to the cloud's metadata", func(s *webSite) siteLine {
			s.lies["/x"] = redirect("http://169.254.169.254/latest/meta-data")
			return siteLine{"evil", "archive", "x", "/x", digestOf(nil)}
		}, 16, "169.254.169.254"},
		{"redirect into the network", func(s *webSite) siteLine {
			s.lies["/x"] = redirect("https://10.0.0.1/x")
			return siteLine{"evil", "archive", "x", "/x", digestOf(nil)}
		}, 16, "10.0.0.1"},
		{"redirect to another port here", func(s *webSite) siteLine {
			s.lies["/x"] = redirect(inner.url + "/secret")
			return siteLine{"evil", "archive", "x", "/x", digestOf(secret)}
		}, 16, "redirects to"},
		{"redirect to a file", func(s *webSite) siteLine {
			s.lies["/x"] = redirect("file:///etc/passwd")
			return siteLine{"evil", "archive", "x", "/x", digestOf(nil)}
		}, 16, "not https"},
		{"redirects in a circle", func(s *webSite) siteLine {
			s.lies["/x"] = redirect("/x")
			return siteLine{"evil", "archive", "x", "/x", digestOf(nil)}
		}, 20, "more than 5 redirects"},
		{"the url of the cloud's metadata", func(s *webSite) siteLine {
			return siteLine{"evil", "archive", "x", "http://169.254.169.254/x", digestOf(nil)}
		}, 16, "not a public host"},
		{"the url of another port here", func(s *webSite) siteLine {
			return siteLine{"evil", "archive", "x", inner.url + "/secret", digestOf(secret)}
		}, 16, "not a public host"},
		{"the url of a file", func(s *webSite) siteLine {
			return siteLine{"evil", "archive", "x", "file:///etc/passwd", digestOf(nil)}
		}, 19, "scheme file"},
		{"a url with credentials", func(s *webSite) siteLine {
			return siteLine{"evil", "archive", "x", strings.Replace(s.url, "http://", "http://u:hunter2@", 1) + "/x", digestOf(nil)}
		}, 19, "credentials"},
		{"a page instead of an archive", func(s *webSite) siteLine {
			page := []byte("<!doctype html><p>moved")
			s.put("/x", page)
			return siteLine{"evil", "archive", "x", "/x", digestOf(page)}
		}, 19, "neither zip nor tar"},
		{"bomb", func(s *webSite) siteLine {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			w := tar.NewWriter(z)
			w.WriteHeader(&tar.Header{Name: "SKILL.md", Typeflag: tar.TypeReg, Size: 200 << 20, Mode: 0o644})
			w.Write(make([]byte, 200<<20))
			w.Close()
			z.Close()
			s.put("/x", b.Bytes())
			return siteLine{"evil", "archive", "x", "/x", digestOf(b.Bytes())}
		}, 20, "more than 26214400 bytes"},
		{"link", func(s *webSite) siteLine {
			return s.skill("evil", tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})
		}, 19, "is a link"},
		{"hard link", func(s *webSite) siteLine {
			return s.skill("evil", tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "SKILL.md"})
		}, 19, "hard link"},
		{"up", func(s *webSite) siteLine {
			return s.skill("evil", tar.Header{Name: "../planted", Typeflag: tar.TypeReg, Mode: 0o644})
		}, 19, "leads out"},
		{"absolute", func(s *webSite) siteLine {
			return s.skill("evil", tar.Header{Name: "/tmp/rye-planted", Typeflag: tar.TypeReg, Mode: 0o644})
		}, 19, "absolute"},
		{"case twins", func(s *webSite) siteLine {
			return s.skill("evil", tar.Header{Name: "skill.MD", Typeflag: tar.TypeReg, Mode: 0o644})
		}, 19, "same name on some systems"},
		{"escape sequences in a name", func(s *webSite) siteLine {
			return siteLine{"evil\x1b[31m", "archive", "x", "x", digestOf(nil)}
		}, 19, "its name is none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, h := newSite(t), newHome(t)
			s.index(s.skill("good"), c.lie(s))
			begun := time.Now()
			cmd := h.command("add", s.url, "--yes")
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.status {
				t.Errorf("exit %d, want %d", got, c.status)
			}
			wants(t, string(out), "added knowledge:acme/good", c.says)
			if bytes.ContainsRune(out, 0x1b) || bytes.Contains(out, []byte("hunter2")) {
				t.Errorf("it prints what it must not: %q", out)
			}
			if exists(filepath.Join(h.dir, ".ai/bundles/acme/evil")) || exists("/tmp/rye-planted") || exists(filepath.Join(h.dir, ".ai/bundles/acme/planted")) {
				t.Errorf("something of it came in: %s", out)
			}
			if d := time.Since(begun); d > time.Minute {
				t.Errorf("it took %s", d)
			}
		})
	}
	if got := inner.requests(); len(got) > 0 {
		t.Errorf("another server of this machine was asked for %q", got)
	}
}

// TestSiteIndexLies: an index that no reader can trust changes nothing.
func TestSiteIndexLies(t *testing.T) {
	t.Parallel()
	const schema = `{"$schema":"https://schemas.agentskills.io/discovery/0.2.0/schema.json","skills":[`
	for _, c := range []struct {
		name   string
		lie    func(s *webSite)
		status int
		says   string
	}{
		{"none", func(s *webSite) {}, 3, "no index of skills there"},
		{"a page", func(s *webSite) { s.put(wellKnown+"index.json", []byte("<!doctype html>")) }, 19, ""},
		{"unknown schema", func(s *webSite) { s.put(wellKnown+"index.json", []byte(`{"$schema":"https://x/0.9","skills":[]}`)) }, 19, "has the schema https://x/0.9"},
		{"a million entries", func(s *webSite) {
			s.put(wellKnown+"index.json", []byte(schema+strings.TrimSuffix(strings.Repeat("{},", 1_000_000), ",")+"]}"))
		}, 20, "at most 5000"},
		{"four mebibytes", func(s *webSite) { s.put(wellKnown+"index.json", bytes.Repeat([]byte(" "), 5<<20)) }, 20, "more than 4194304 bytes"},
		{"a bomb by Content-Encoding", func(s *webSite) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(make([]byte, 100<<20))
			z.Close()
			s.lies[wellKnown+"index.json"] = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				w.Write(b.Bytes())
			}
		}, 20, "more than 4194304 bytes"},
		{"duplicate names", func(s *webSite) { s.index(s.skill("tide"), s.skill("tide")) }, 4, "more than one skill of this name"},
		{"redirect inward", func(s *webSite) {
			s.lies[wellKnown+"index.json"] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://10.0.0.1/", 302) }
		}, 16, "redirects to 10.0.0.1"},
		{"redirect to another host", func(s *webSite) {
			s.lies[wellKnown+"index.json"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://skills.example.org/", 301)
			}
		}, 16, "redirects to skills.example.org"},
		{"forbidden", func(s *webSite) {
			s.lies[wellKnown+"index.json"] = func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }
		}, 6, "403"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, h := newSite(t), newHome(t)
			c.lie(s)
			before := h.trustFile()
			wants(t, h.fails(c.status, "add", s.url, "--yes"), c.says)
			if exists(filepath.Join(h.dir, ".ai/bundles")) || h.trustFile() != before {
				t.Error("something was written")
			}
		})
	}
	h := newHome(t)
	wants(t, h.fails(16, "add", "http://skills.example.org", "--yes"), "not encrypted")
	wants(t, h.fails(17, "--offline", "add", "https://skills.example.org", "--yes"), "offline")
	wants(t, h.fails(2, "add", "https://u:hunter2@skills.example.org", "--yes"), "credentials")
	if os.Getenv("CI") == "" && strings.Contains(h.trustFile(), "origin") {
		t.Error("a refusal granted a source")
	}
}

// TestSiteRoundTrip: what one person exports as a site, another person adds from it, byte for byte and
// with its modes.
func TestSiteRoundTrip(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.file("skills/pdf/scripts/run.sh", "#!/bin/sh\necho pdf\n")
	o.file("skills/pdf/résumé.md", "é\n")
	o.file("skills/pdf/.hidden", "h\r\n")
	if err := os.Chmod(filepath.Join(o.work, "skills/pdf/scripts/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	h.rye("add", o.work)
	h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
	h.rye("sign", ".ai/bundles/acme/csv")
	www := filepath.Join(t.TempDir(), "www")
	h.rye("export", "--site", www)
	server := httptest.NewServer(http.FileServer(http.Dir(www)))
	t.Cleanup(server.Close)
	other := newHome(t)
	wants(t, other.rye("add", server.URL, "--yes"), "added knowledge:acme/pdf", "added knowledge:acme/csv")
	for _, p := range []string{"pdf/SKILL.md", "pdf/scripts/run.sh", "pdf/résumé.md", "pdf/.hidden", "csv/SKILL.md"} {
		if got, want := other.read(".ai/bundles/acme/"+p), h.read(".ai/bundles/acme/"+p); got != want {
			t.Errorf("%s came as %q, want %q", p, got, want)
		}
	}
	wants(t, other.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), `scripts/run.sh", mode: "0755"`, `tree: "[0-9a-f]{40}"`)
	tree := func(h *home) string {
		_, text, _ := strings.Cut(h.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), "tree: ")
		return text[:42]
	}
	if tree(h) != tree(other) {
		t.Errorf("another git tree: %s and %s", tree(h), tree(other))
	}
}
