package main_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// raw stores an object as it is, without git's checks, and returns its id.
func (o *origin) raw(kind, data string) string {
	o.t.Helper()
	cmd := exec.Command("git", "-C", o.work, "hash-object", "-t", kind, "-w", "--stdin", "--literally")
	cmd.Stdin = strings.NewReader(data)
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("git hash-object: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// publish makes a commit of a tree the tip of the branch main.
func (o *origin) publish(tree string) {
	o.t.Helper()
	id := o.git("commit-tree", "-m", "raw", "-p", "HEAD", tree)
	o.git("push", "-q", "-f", o.bare, id+":refs/heads/main")
}

// refused adds a source that has to be refused with a status, or in part, and compares everything
// that the person has.
func (o *origin) refused(h *home, status int, source string, says ...string) {
	o.t.Helper()
	project, trusted := filesBelow(o.t, h.dir), h.trustFile()
	out := h.fails(status, "add", source, "--yes")
	wants(o.t, out, says...)
	if filesBelow(o.t, h.dir) != project || h.trustFile() != trusted {
		o.t.Errorf("a refusal changed the project or the trust\n%s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(h.dir), "home", ".cache", "rye", "rye-add-*")); len(left) > 0 {
		o.t.Errorf("it left %q", left)
	}
}

// filesBelow returns the files of a folder with their content.
func filesBelow(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(p string, st os.FileInfo, err error) error {
		if err != nil || st.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		fmt.Fprintf(&b, "%s %v %x\n", p, st.Mode(), raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestOriginTrees: a tree that no honest repository has is refused whole: names that lead elsewhere or
// into git's own files, and bombs.
func TestOriginTrees(t *testing.T) {
	t.Parallel()
	needGit(t)
	skill := "---\nname: x\ndescription: x\n---\n"
	for _, c := range []struct {
		name   string
		make   func(o *origin) string // the tree
		status int
		says   string
		large  bool
	}{
		{"into git's own files", func(o *origin) string {
			return o.raw("tree", treeEntry("40000", ".git", o.raw("tree", treeEntry("100755", "post-checkout", o.raw("blob", "#!/bin/sh\n")))))
		}, 19, "invalid name", false},
		{"into git's own files by a short name", func(o *origin) string {
			return o.raw("tree", treeEntry("40000", ".GIT ", o.raw("tree", treeEntry("100644", "config", o.raw("blob", "")))))
		}, 19, "invalid name", false},
		{"up", func(o *origin) string {
			return o.raw("tree", treeEntry("40000", "..", o.raw("tree", treeEntry("100644", "SKILL.md", o.raw("blob", skill)))))
		}, 19, "name", false},
		{"a slash in a name", func(o *origin) string {
			return o.raw("tree", treeEntry("100644", "../../x", o.raw("blob", skill)))
		}, 19, "name", false},
		{"two files of one name", func(o *origin) string {
			id := o.raw("blob", skill)
			return o.raw("tree", treeEntry("100644", "SKILL.md", id)+treeEntry("100644", "SKILL.md", id))
		}, 19, "", false},
		{"a deep tree", func(o *origin) string {
			id := o.raw("tree", treeEntry("100644", "SKILL.md", o.raw("blob", skill)))
			for range 100 {
				id = o.raw("tree", treeEntry("40000", "a", id))
			}
			return id
		}, 20, "levels", false},
		{"a tree of ten thousand million files", func(o *origin) string {
			id, name := o.raw("blob", "x"), "100644"
			for range 10 {
				all := ""
				for i := range 10 {
					all += treeEntry(name, fmt.Sprint("f", i), id)
				}
				id, name = o.raw("tree", all), "40000"
			}
			return id
		}, 20, "files and folders", false},
		{"many files", func(o *origin) string {
			id := o.raw("blob", "x")
			var all strings.Builder
			for i := range 21_000 {
				all.WriteString(treeEntry("100644", fmt.Sprintf("f%06d", i), id))
			}
			return o.raw("tree", all.String())
		}, 20, "files and folders", true},
		{"a packed blob of 70 MiB", func(o *origin) string {
			return o.raw("tree", treeEntry("100644", "SKILL.md", o.raw("blob", strings.Repeat("\x00", 70<<20))))
		}, 20, "", true},
		{"an unknown mode", func(o *origin) string {
			return o.raw("tree", treeEntry("107777", "SKILL.md", o.raw("blob", skill)))
		}, 19, "mode", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t)
			o.t = t
			o.publish(c.make(o))
			h := o.person()
			o.refused(h, c.status, o.url, regexp.QuoteMeta(c.says))
			if c.large {
				return
			}
			// An update meets the same.
			o.git("push", "-q", "-f", o.bare, "main:refs/heads/main")
			h.rye("add", o.url, "--yes")
			h.rye("sign", "--all")
			o.publish(c.make(o))
			before := filesBelow(t, h.dir)
			want := c.status
			if want == 20 {
				want = 3 // then the bundle's folder alone is fetched, and it is not there
			}
			if out, status := h.status("update", "acme/pdf", "--yes"); status != want || filesBelow(t, h.dir) != before {
				t.Errorf("update ends with %d, want %d\n%s", status, want, out)
			}
			// A path is served by this very process, and refused alike.
			o.refused(o.person(), c.status, o.bare, "")
		})
	}
}

// TestOriginAttributes: nothing in a repository makes git or rye change a byte or run a command:
// filters, export-ignore and export-subst, line ends, hooks, submodules, pointers of Git LFS.
func TestOriginAttributes(t *testing.T) {
	t.Parallel()
	needGit(t)
	o, sub := newOrigin(t), newOrigin(t)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 5\n"
	o.file("skills/pdf/subst.md", "at $Format:%H$ $Id$\n")
	o.file("skills/pdf/ignored.md", "ignored\n")
	o.file("skills/pdf/ends.md", "one\r\ntwo\n")
	o.file("skills/pdf/wide.md", "w\x00i\x00d\x00e\x00")
	o.file("skills/pdf/big.bin", pointer)
	o.file("skills/pdf/.lfsconfig", "[lfs]\n\turl = "+sub.url+"\n")
	o.file("skills/pdf/.gitmodules", "[submodule \"sub\"]\n\tpath = skills/pdf/sub\n\turl = "+sub.url+"\n\tupdate = !touch pwned\n")
	o.git("add", "-A")
	o.git("update-index", "--add", "--cacheinfo", "160000,"+sub.git("rev-parse", "HEAD")+",skills/pdf/sub")
	o.git("commit", "-qm", "files")
	// The attributes come last, so that the objects above have these bytes.
	o.file("skills/pdf/.gitattributes", "*.md filter=evil text eol=lf ident export-subst\nignored.md export-ignore\nwide.md working-tree-encoding=UTF-16LE\n*.bin filter=lfs diff=lfs merge=lfs -text\n")
	o.git("add", "skills/pdf/.gitattributes")
	o.git("commit", "-qm", "attributes")
	o.git("push", "-q", o.bare, "main")

	h := o.person()
	mark := filepath.Join(t.TempDir(), "pwned")
	config := filepath.Join(filepath.Dir(h.trustPath()), "..", "..", ".gitconfig")
	if err := os.WriteFile(config, []byte("[filter \"evil\"]\n\tsmudge = touch "+mark+"\n\tclean = touch "+mark+"\n\trequired = true\n[filter \"lfs\"]\n\tsmudge = touch "+mark+"\n[core]\n\tautocrlf = true\n\thooksPath = skills\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, status := h.status("add", o.url+"//skills/pdf", "--yes")
	if status != 3 { // the submodule did not come in
		t.Fatalf("%d\n%s", status, out)
	}
	wants(t, out, "not added sub: another repository", "big.bin is a pointer of Git LFS")
	for _, f := range []string{"subst.md", "ignored.md", "ends.md", "wide.md", "big.bin", ".gitattributes", ".lfsconfig", ".gitmodules"} {
		raw := o.git("rev-parse", "HEAD:skills/pdf/"+f)
		if got := o.raw("blob", h.read(".ai/bundles/acme/pdf/"+f)); got != raw {
			t.Errorf("%s has other bytes: %q", f, h.read(".ai/bundles/acme/pdf/"+f))
		}
	}
	if exists(filepath.Join(h.dir, ".ai/bundles/acme/pdf/sub")) || sub.asked.Load() != 0 {
		t.Error("a submodule or the store of Git LFS was contacted")
	}
	if exists(mark) {
		t.Error("a filter ran")
	}
	wants(t, h.fails(3, "add", o.url+"//skills/pdf/sub", "--yes"), "is another repository there")
}

// TestOriginTwins: two names that are one on some systems, by case or by Unicode's forms, are named,
// and neither file overwrites the other.
func TestOriginTwins(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	o.file("skills/pdf/Notes.md", "first\n")
	o.file("skills/pdf/notes.md", "second\n")
	o.file("skills/pdf/caf\u00e9.md", "first\n")
	o.file("skills/pdf/cafe\u0301.md", "second\n")
	o.file("skills/pdf/sub/x.md", "x\n")
	o.file("skills/pdf/Sub/y.md", "y\n")
	o.push("twins")
	h := o.person()
	out := h.fails(4, "add", o.url, "--yes")
	wants(t, out, "added knowledge:acme/csv", "not added skills/pdf/.*otes.md: .* are one name on some systems", "not added skills/pdf/.*ub/.*one name")
	if n := strings.Count(out, "not added "); n != 3 {
		t.Errorf("%d twins are named, want 3\n%s", n, out)
	}
	h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
	h.rye("verify", "bundle:acme/pdf")
}

// TestOriginArchives: an archive that unpacks to far more than it holds, or whose names lead
// elsewhere, is refused whole.
func TestOriginArchives(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := &origin{t: t}
	packed := func(fill func(w *tar.Writer)) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		fill(w)
		w.Close()
		z.Close()
		return b.Bytes()
	}
	file := func(w *tar.Writer, name string, size int64) {
		w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size})
		io.CopyN(w, zeroBytes{}, size)
	}
	s.put("/zeros.tar.gz", packed(func(w *tar.Writer) { file(w, "a/SKILL.md", 100<<20) }))
	s.put("/many.tar.gz", packed(func(w *tar.Writer) {
		for i := range 60_000 {
			file(w, fmt.Sprintf("a/%d", i), 0)
		}
	}))
	s.put("/up.tar.gz", packed(func(w *tar.Writer) { file(w, "../../x/SKILL.md", 3) }))
	s.put("/deep.tar.gz", packed(func(w *tar.Writer) { file(w, strings.Repeat("a/", 200)+"SKILL.md", 3) }))
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	f, err := w.Create("a/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	io.CopyN(f, zeroBytes{}, 100<<20)
	w.Close()
	s.put("/zeros.zip", z.Bytes())
	s.lies["/endless.zip"] = func(w http.ResponseWriter, r *http.Request) { io.CopyN(w, zeroBytes{}, 70<<20) }
	h := newHome(t)
	for name, status := range map[string]int{"zeros.tar.gz": 20, "many.tar.gz": 20, "up.tar.gz": 19, "deep.tar.gz": 20, "zeros.zip": 20, "endless.zip": 20} {
		o.refused(h, status, s.url+"/"+name)
	}
}

// zeroBytes reads as zeros without end.
type zeroBytes struct{}

func (zeroBytes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestOriginHostChanges: a host that answers the second request from another repository, or moves its
// branch in between, gives nothing else than the commit that it named.
func TestOriginHostChanges(t *testing.T) {
	t.Parallel()
	needGit(t)
	o, other := newOrigin(t), newOrigin(t)
	other.skill("pdf", "evil")
	other.push("evil")
	h := o.person()
	h.rye("add", o.url, "--yes")
	h.rye("sign", "--all")
	o.skill("pdf", "two")
	o.push("two")
	before := filesBelow(t, h.dir)
	// The list of refs is one repository's, and the objects another's.
	o.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if !bytes.Contains(body, []byte("command=ls-refs")) {
				other.serve.ServeHTTP(w, r)
				return
			}
		}
		o.serve.ServeHTTP(w, r)
	})
	if out, status := h.status("update", "acme/pdf", "--yes"); status == 0 || filesBelow(t, h.dir) != before {
		t.Errorf("objects of another repository: %d\n%s", status, out)
	}
	o.refused(o.person(), 3, o.url, "not our ref")
	// The branch moves after it was named: what was named comes, or nothing does.
	moved := false
	o.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("command=fetch")) && !moved {
				moved = true
				o.skill("pdf", "three")
				o.push("three")
			}
		}
		o.serve.ServeHTTP(w, r)
	})
	if out, status := h.status("update", "acme/pdf", "--yes"); status == 0 {
		wants(t, h.read(".ai/bundles/acme/pdf/SKILL.md"), "two")
		h.rye("verify")
	} else if filesBelow(t, h.dir) != before {
		t.Errorf("a moved branch: %d\n%s", status, out)
	}
}

// TestOriginRefNames: the name of a branch never stands for another thing, whatever a host calls its
// refs.
func TestOriginRefNames(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	good := o.git("rev-parse", "HEAD")
	o.skill("pdf", "evil")
	o.git("commit", "-qam", "evil")
	evil := o.git("rev-parse", "HEAD")
	for _, ref := range []string{"refs/heads/refs/heads/main", "refs/tags/refs/heads/main", "refs/heads/" + good[:12], "refs/heads/HEAD", "refs/heads/heads/main", "refs/remotes/origin/main", "refs/pull/7/head", "refs/notes/main"} {
		o.git("push", "-q", o.bare, evil+":"+ref)
	}
	h := o.person()
	for source, status := range map[string]int{
		"#refs/main": 2, "#refs/remotes/origin/main": 2, "#refs/pull/7/head": 2, "#refs/notes/main": 2, "#refs/stash": 2, "#main~1": 2, "#main^{tree}": 2, "#main@{1}": 2,
		"#:/evil": 2, "#--upload-pack=id": 2, "#none": 3, "#refs/heads/none": 3, "#" + good[:39]: 3, "#" + strings.Repeat("0", 40): 19, "#" + strings.Repeat("1", 40): 3,
	} {
		out, got := h.status("add", o.url+source, "--yes")
		if got != status || exists(filepath.Join(h.dir, ".ai/bundles")) {
			t.Errorf("%s: %d, want %d\n%s", source, got, status, out)
		}
	}
	for source, want := range map[string]string{"": good, "#main": good, "#HEAD": good, "#refs/heads/main": good, "#heads/main": evil, "#" + good[:12]: evil} {
		h := o.person()
		h.rye("add", o.url+source+"//skills/pdf", "--yes")
		wants(t, h.read(".ai/bundles/acme/pdf/rye.bundle.yaml"), `commit: "`+want+`"`)
	}
}

// TestOriginCredentials: a source with a password in it is refused without repeating it, typed or in
// a manifest, and nobody is contacted.
func TestOriginCredentials(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	h := o.person()
	host := strings.TrimSuffix(strings.TrimPrefix(o.url, "http://"), "/skills.git")
	for _, source := range []string{
		"http://me:hunter2@" + host + "/skills.git", "http://hunter2@" + host + "/skills.git", "https://me:hunter2@example.org/x.git", "ssh://git:hunter2@example.org/x.git",
		o.url + "?token=hunter2", "https://example.org/x.zip?token=hunter2", "https://me:hunter2@example.org", "me:hunter2@example.org:x.git", "http://me:hunter2@" + host + "/%zz",
	} {
		out, status := h.status("add", source, "--yes")
		if status != 2 || strings.Contains(out, "hunter2") {
			t.Errorf("%s: %d\n%s", source, status, out)
		}
	}
	h.rye("add", o.url, "--yes")
	asked := o.asked.Load()
	m := h.read(".ai/bundles/acme/pdf/rye.bundle.yaml")
	h.write(".ai/bundles/acme/pdf/rye.bundle.yaml", strings.Replace(m, o.url, "http://me:hunter2@"+host+"/skills.git", 1))
	out, _ := h.status("update", "acme/pdf", "--yes")
	more, _ := h.status("pull")
	if strings.Contains(out+more, "hunter2") || o.asked.Load() != asked {
		t.Errorf("a manifest with a password:\n%s%s", out, more)
	}
}
