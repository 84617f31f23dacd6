package main_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// updates is one person who follows a repository: each case has its own.
type updates struct {
	*origin
	h     *home
	first string // the commit that came in
}

const fiveLines = "line one\nline two\nline three\nline four\nline five"

// theirs writes a file of the skill pdf upstream; mine one of the bundle here.
func (u *updates) theirs(name, text string) { u.t.Helper(); u.file("skills/pdf/"+name, text) }
func (u *updates) mine(name, text string) {
	u.t.Helper()
	u.h.write(".ai/bundles/acme/pdf/"+name, text)
}
func (u *updates) lines(change ...string) string {
	return "---\nname: pdf\ndescription: Work with pdf.\n---\n\n" + strings.NewReplacer(change...).Replace(fiveLines) + "\n"
}
func (u *updates) mode(name string, mode os.FileMode) {
	u.t.Helper()
	if err := os.Chmod(filepath.Join(u.work, "skills/pdf", name), mode); err != nil {
		u.t.Fatal(err)
	}
}
func (u *updates) drop(name string) {
	u.t.Helper()
	if err := os.Remove(filepath.Join(u.h.dir, ".ai/bundles/acme/pdf", name)); err != nil {
		u.t.Fatal(err)
	}
}
func (u *updates) pushTo(refs ...string) {
	u.t.Helper()
	u.git(append([]string{"push", "-q", "-f", u.bare}, refs...)...)
}

// signing makes a key that signs the commits upstream from now on.
func (u *updates) signing(name string) {
	u.t.Helper()
	file := filepath.Join(u.t.TempDir(), name)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", file).CombinedOutput(); err != nil {
		u.t.Fatalf("%v\n%s", err, out)
	}
	u.git("config", "gpg.format", "ssh")
	u.git("config", "user.signingkey", file)
	u.git("config", "commit.gpgsign", "true")
}

// bundles returns every file below .ai/bundles with its mode.
func (u *updates) bundles() string {
	u.t.Helper()
	var b strings.Builder
	root := filepath.Join(u.h.dir, ".ai/bundles")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		st, _ := d.Info()
		fmt.Fprintf(&b, "%s %v %q\n", p[len(root):], st.Mode(), raw)
		return err
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return b.String()
}

// updateCase is one thing that happens between two versions, and the documented decision about it.
type updateCase struct {
	name   string
	http   bool   // the source is asked over HTTP, and not on the disk
	from   string // behind the address: #ref or //folder
	before func(u *updates)
	happen func(u *updates)
	state  string   // in the answer of rye outdated
	flags  []string // beside --yes
	status int
	says   []string
	asks   []string          // parts of the question, which is shown where nobody said yes
	files  map[string]string // of the bundle afterwards, as regular expressions; "" is absent
	signed string            // "no" where the bundle is not signed afterwards
	then   func(u *updates)
}

// TestUpdates: what happens upstream and here between two versions, and the decision about each.
// A refused update changes no file.
func TestUpdates(t *testing.T) {
	t.Parallel()
	needGit(t)
	for _, c := range updateCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
	if n := len(updateCases); n < 40 {
		t.Errorf("%d cases, want at least 40", n)
	}
}

func (c *updateCase) run(t *testing.T) {
	u := &updates{origin: newOrigin(t, "uploadpack.allowAnySHA1InWant=true")}
	u.h = u.person()
	u.theirs("SKILL.md", u.lines())
	u.theirs("notes.md", "Notes\n")
	u.theirs("logo.bin", "logo\x00one")
	u.theirs("run.sh", "#!/bin/sh\necho one\n")
	u.mode("run.sh", 0o755)
	if c.before != nil {
		c.before(u)
	}
	u.first = u.push("base")
	u.pushTo("main:refs/tags/v1")
	source := u.bare
	if c.http {
		source = u.url
	}
	u.h.rye("add", source+strings.ReplaceAll(c.from, "FIRST", u.first), "--yes")
	if c.signed != "never" {
		u.h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
		u.h.rye("sign", "--all")
	}
	c.happen(u)
	if c.state != "" {
		out, _ := u.h.status("outdated")
		wants(t, out, "acme/bundle/pdf .*"+c.state)
	}
	before := u.bundles()
	if len(c.asks) > 0 {
		wants(t, u.h.fails(16, append([]string{"update", "acme/pdf"}, c.flags...)...), c.asks...)
		if u.bundles() != before {
			t.Error("a file changed before the answer")
		}
	}
	out, status := u.h.status(append([]string{"update", "acme/pdf", "--yes"}, c.flags...)...)
	if status != c.status {
		t.Fatalf("status %d, want %d\n%s", status, c.status, out)
	}
	wants(t, out, c.says...)
	if status != 0 && status != 4 && u.bundles() != before {
		t.Errorf("a refused update changed a file\n%s", out)
	}
	for name, want := range c.files {
		file := filepath.Join(u.h.dir, ".ai/bundles/acme/pdf", name)
		raw, err := os.ReadFile(file)
		switch {
		case want == "":
			if err == nil {
				t.Errorf("%s is there", name)
			}
		case !regexp.MustCompile(want).Match(raw):
			t.Errorf("%s is %q, want %s (%v)", name, raw, want, err)
		}
	}
	if status == 0 && c.signed == "" {
		u.h.rye("verify", "bundle:acme/pdf")
	}
	if status == 4 {
		u.h.fails(11, "load", "knowledge:acme/pdf")
	}
	if c.then != nil {
		c.then(u)
	}
}

var upToDate = []string{"acme/bundle/pdf is up to date"}

var updateCases = []updateCase{
	{name: "nothing new", happen: func(u *updates) {}, state: "ok", says: upToDate},
	{name: "a text is new", happen: func(u *updates) { u.theirs("SKILL.md", u.lines("five", "5")); u.push("two") },
		state: "outdated", says: []string{"updated +acme/bundle/pdf"}, asks: []string{"signed before", "to be signed"}, files: map[string]string{"SKILL.md": "line 5"}},
	{name: "a commit without a change of it", happen: func(u *updates) { u.file("README.md", "x\n"); u.push("two") }, state: "ok", says: upToDate},
	{name: "edited elsewhere in the file", happen: func(u *updates) {
		u.theirs("SKILL.md", u.lines("five", "5"))
		u.push("two")
		u.mine("SKILL.md", u.lines("one", "1"))
	}, asks: []string{"your edit stays: SKILL.md", "NOT SIGNED YET SKILL.md"}, files: map[string]string{"SKILL.md": "(?s)line 1.*line 5"}},
	{name: "both made the same edit", happen: func(u *updates) {
		u.theirs("SKILL.md", u.lines("five", "5"))
		u.push("two")
		u.mine("SKILL.md", u.lines("five", "5"))
	}, files: map[string]string{"SKILL.md": "line 5"}},
	{name: "both edited one line", happen: func(u *updates) {
		u.theirs("SKILL.md", u.lines("one", "uno"))
		u.push("two")
		u.mine("SKILL.md", u.lines("one", "1"))
	}, status: 4, says: []string{"conflict: SKILL.md"}, files: map[string]string{"SKILL.md": "(?s)<<<<<<< yours\nline 1\n=======\nline uno\n>>>>>>> upstream"}},
	{name: "a conflict was decided", happen: func(u *updates) {
		u.theirs("SKILL.md", u.lines("one", "uno"))
		u.push("two")
		u.mine("SKILL.md", u.lines("one", "1"))
		u.h.fails(4, "update", "acme/pdf", "--yes")
		u.mine("SKILL.md", u.lines("one", "1"))
		u.h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
		u.theirs("SKILL.md", u.lines("one", "uno", "five", "5"))
		u.push("three")
	}, state: "outdated", files: map[string]string{"SKILL.md": "(?s)line 1.*line 5"}},
	{name: "a conflict was left in the file", happen: func(u *updates) {
		u.theirs("SKILL.md", u.lines("one", "uno"))
		u.push("two")
		u.mine("SKILL.md", u.lines("one", "1"))
		u.h.fails(4, "update", "acme/pdf", "--yes")
	}, says: upToDate, signed: "no", files: map[string]string{"SKILL.md": "<<<<<<< yours"}, then: func(u *updates) { u.h.fails(11, "load", "knowledge:acme/pdf") }},
	{name: "a file that is no text is new", happen: func(u *updates) { u.theirs("logo.bin", "logo\x00two"); u.push("two") }, files: map[string]string{"logo.bin": "two$"}, asks: []string{"no text: 8 bytes -> 8 bytes"}},
	{name: "both changed a file that is no text", happen: func(u *updates) {
		u.theirs("logo.bin", "logo\x00two")
		u.push("two")
		u.mine("logo.bin", "logo\x00mine")
	}, status: 4, says: []string{"conflict: logo.bin: both changed it, and it is no text"}, files: map[string]string{"logo.bin": "mine$"}},
	{name: "a program is new", happen: func(u *updates) { u.theirs("go.py", "#!/usr/bin/env python3\n"); u.push("two") },
		status: 16, says: []string{`NEW PROGRAM go.py`, "--accept-needs"}, files: map[string]string{"go.py": ""},
		then: func(u *updates) { u.h.rye("update", "acme/pdf", "--yes", "--accept-needs") }},
	{name: "a program changed", happen: func(u *updates) { u.theirs("run.sh", "#!/bin/sh\necho two\n"); u.push("two") },
		asks: []string{`\+echo two`}, files: map[string]string{"run.sh": "echo two"}},
	{name: "a text becomes a program", happen: func(u *updates) {
		u.theirs("notes.md", "#!/bin/sh\necho notes\n")
		u.mode("notes.md", 0o755)
		u.push("two")
	},
		status: 16, says: []string{`NEW PROGRAM notes.md`}},
	{name: "a program runs no more", happen: func(u *updates) { u.mode("run.sh", 0o644); u.push("two") }, asks: []string{"run.sh  \\(runs no more\\)"},
		then: func(u *updates) {
			if st, err := os.Stat(filepath.Join(u.h.dir, ".ai/bundles/acme/pdf/run.sh")); err != nil || st.Mode()&0o100 != 0 {
				u.t.Errorf("run.sh: %v, %v", st, err)
			}
		}},
	{name: "a host is new in a text", happen: func(u *updates) { u.theirs("notes.md", "See https://evil.example.org/x\n"); u.push("two") },
		asks: []string{"NEW HOST in a text: evil.example.org"}},
	{name: "a tool needs a new host", before: func(u *updates) {
		u.file("skills/pdf/tools/fetch.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# description: Fetch.\n# needs: {net: [example.org:443]}\n")
	}, happen: func(u *updates) {
		u.file("skills/pdf/tools/fetch.sh", "#!/usr/bin/env bash\n# version: 1.0.1\n# description: Fetch.\n# needs: {net: [example.org:443, evil.example.org:443]}\n")
		u.push("two")
	}, status: 16, says: []string{"NOW ALSO tools/fetch.sh .*evil.example.org"}},
	{name: "a tag moved", from: "#v1", happen: func(u *updates) {
		u.theirs("notes.md", "Moved\n")
		u.push("two")
		u.pushTo("main:refs/tags/v1")
	}, state: "moved", status: 13, says: []string{"the tag names another commit", "--accept-tag"},
		then: func(u *updates) { u.h.rye("update", "acme/pdf", "--yes", "--accept-tag") }},
	{name: "a tag is gone", from: "#v1", happen: func(u *updates) { u.pushTo(":refs/tags/v1") }, state: "gone", status: 3, says: []string{"refs/tags/v1 is not there any more"}},
	{name: "a tag is new", happen: func(u *updates) { u.pushTo("main:refs/tags/v2") }, state: "ok", says: upToDate},
	{name: "a tag has the branch's name now", happen: func(u *updates) {
		u.theirs("notes.md", "Tag\n")
		u.git("add", "-A")
		u.git("commit", "-qm", "two")
		u.pushTo("main:refs/tags/main")
	}, state: "ok", says: upToDate},
	{name: "a branch was rewritten", happen: func(u *updates) { u.theirs("notes.md", "Rewritten\n"); u.push("two", "--amend") },
		state: "rewritten", status: 13, says: []string{"the branch no longer has the commit", "--accept-rewrite"},
		then: func(u *updates) { u.h.rye("update", "acme/pdf", "--yes", "--accept-rewrite") }},
	{name: "a branch went back", happen: func(u *updates) { u.pushTo("HEAD~1:refs/heads/main") }, state: "rewritten", status: 13, says: []string{"--accept-rewrite"}},
	{name: "the branch is gone", from: "#main", happen: func(u *updates) {
		u.gitAt(u.bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
		u.pushTo("main:refs/heads/trunk", ":refs/heads/main")
	}, state: "gone", status: 3, says: []string{"refs/heads/main is not there any more", "another #<branch or tag>"},
		then: func(u *updates) { u.h.rye("update", "--yes") }},
	{name: "the default branch has another name", happen: func(u *updates) {
		u.gitAt(u.bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
		u.theirs("notes.md", "Trunk\n")
		u.push("two")
		u.pushTo("main:refs/heads/trunk", "HEAD~1:refs/heads/main")
	}, state: "ok", says: upToDate},
	{name: "a commit was named", from: "#FIRST", happen: func(u *updates) { u.theirs("notes.md", "Two\n"); u.push("two") }, state: "pinned", says: []string{"it is pinned to a commit"}, files: map[string]string{"notes.md": "^Notes"}},
	{name: "a file is gone there", happen: func(u *updates) { u.git("rm", "-q", "skills/pdf/notes.md"); u.push("two") }, asks: []string{"notes.md  \\(removed\\)"}, files: map[string]string{"notes.md": ""}},
	{name: "a file is gone here", happen: func(u *updates) { u.drop("notes.md"); u.theirs("SKILL.md", u.lines("five", "5")); u.push("two") }, files: map[string]string{"notes.md": "", "SKILL.md": "line 5"}},
	{name: "a file is gone there and here", happen: func(u *updates) { u.drop("notes.md"); u.git("rm", "-q", "skills/pdf/notes.md"); u.push("two") }, files: map[string]string{"notes.md": ""}},
	{name: "a file is gone there and edited here", happen: func(u *updates) {
		u.mine("notes.md", "Mine\n")
		u.git("rm", "-q", "skills/pdf/notes.md")
		u.push("two")
	}, status: 4, says: []string{"conflict: notes.md: upstream removed it"}, files: map[string]string{"notes.md": "Mine"}},
	{name: "a file is gone here and changed there", happen: func(u *updates) { u.drop("notes.md"); u.theirs("notes.md", "Two\n"); u.push("two") },
		status: 4, says: []string{"conflict: notes.md: you removed it"}, files: map[string]string{"notes.md": "Two"}},
	{name: "a file has another name", happen: func(u *updates) {
		u.git("mv", "skills/pdf/notes.md", "skills/pdf/more.md")
		u.push("two")
	}, files: map[string]string{"notes.md": "", "more.md": "Notes"}},
	{name: "a file has another name and was edited here", happen: func(u *updates) {
		u.mine("notes.md", "Mine\n")
		u.git("mv", "skills/pdf/notes.md", "skills/pdf/more.md")
		u.push("two")
	}, status: 4, files: map[string]string{"notes.md": "Mine", "more.md": "Notes"}},
	{name: "a file of one's own", happen: func(u *updates) { u.mine("own.md", "Own\n"); u.theirs("notes.md", "Two\n"); u.push("two") },
		asks: []string{"NOT SIGNED YET own.md"}, files: map[string]string{"own.md": "Own", "notes.md": "Two"}},
	{name: "both made one file", happen: func(u *updates) { u.mine("new.md", "Mine\n"); u.theirs("new.md", "Theirs\n"); u.push("two") },
		status: 4, says: []string{"conflict: new.md"}, files: map[string]string{"new.md": "(?s)Mine.*Theirs"}},
	{name: "the skill has another name", happen: func(u *updates) { u.git("mv", "skills/pdf", "skills/paper"); u.push("two") }, state: "renamed", says: []string{"its folder is now skills/paper"}, files: map[string]string{"rye.bundle.yaml": `path: "skills/paper"`}},
	{name: "the skill lies elsewhere and changed", happen: func(u *updates) {
		u.file("more/x", "x")
		u.git("mv", "skills/pdf", "more/pdf")
		u.file("more/pdf/notes.md", "Two\n")
		u.push("two")
	}, state: "renamed", says: []string{"its folder is now more/pdf"}, files: map[string]string{"notes.md": "Two"}},
	{name: "the skill is gone", happen: func(u *updates) { u.git("rm", "-rq", "skills/pdf"); u.push("two") }, state: "removed", status: 3, says: []string{"rye remove bundle:acme/pdf"},
		then: func(u *updates) { u.h.rye("update", "--yes"); u.h.rye("verify") }},
	{name: "all of it is gone", happen: func(u *updates) { u.git("rm", "-rq", "."); u.push("two") }, state: "removed", status: 3},
	{name: "the skill is broken", happen: func(u *updates) { u.theirs("SKILL.md", "no front matter\n"); u.push("two") }, status: 19, says: []string{"skills/pdf.*a skill begins with front matter"}},
	{name: "a checkout made CR LF", happen: func(u *updates) {
		u.mine("SKILL.md", strings.ReplaceAll(u.lines(), "\n", "\r\n"))
		u.theirs("SKILL.md", u.lines("five", "5"))
		u.push("two")
	}, files: map[string]string{"SKILL.md": "line one\nline two\n(?s).*line 5\n"}},
	{name: "upstream has CR LF", happen: func(u *updates) {
		u.theirs("SKILL.md", strings.ReplaceAll(u.lines(), "\n", "\r\n"))
		u.push("two")
	}, files: map[string]string{"SKILL.md": "line one\r\nline two\r\n"}},
	{name: "one of two skills changed", happen: func(u *updates) { u.skill("csv", "two"); u.push("two") }, state: "ok", says: upToDate,
		then: func(u *updates) { wants(u.t, u.h.rye("outdated"), "acme/bundle/csv .*outdated") }},
	{name: "it was never signed", signed: "never", happen: func(u *updates) { u.theirs("notes.md", "Two\n"); u.push("two") },
		asks: []string{"not signed before", "stays unsigned: rye sign"}, files: map[string]string{"notes.md": "Two"}, then: func(u *updates) { u.h.fails(11, "load", "knowledge:acme/pdf") }},
	{name: "upstream signs from now on", happen: func(u *updates) { u.signing("ada"); u.theirs("notes.md", "Two\n"); u.push("two") }, asks: []string{"upstream signed by SHA256:"},
		then: func(u *updates) {
			u.signing("eve")
			u.theirs("notes.md", "Three\n")
			u.push("three")
			u.h.fails(11, "update", "acme/pdf", "--yes")
		}},
	{name: "another key signs", before: func(u *updates) { u.signing("ada") }, happen: func(u *updates) { u.signing("eve"); u.theirs("notes.md", "Two\n"); u.push("two") },
		state: "signer", status: 11, says: []string{"--accept-upstream-signer"}},
	{name: "nobody signs any more", before: func(u *updates) { u.signing("ada") }, happen: func(u *updates) {
		u.git("config", "commit.gpgsign", "false")
		u.theirs("notes.md", "Two\n")
		u.push("two")
	}, state: "signer", status: 11, says: []string{"not signed"}, flags: []string{"--accept-rewrite", "--accept-tag", "--accept-needs"}},
	{name: "a dry run", happen: func(u *updates) { u.theirs("notes.md", "Two\n"); u.push("two") }, flags: []string{"--dry-run", "--diff"},
		says: []string{"would update +acme/bundle/pdf", `\+Two`}, files: map[string]string{"notes.md": "Notes"}},
	{name: "as JSON", happen: func(u *updates) { u.theirs("notes.md", "Two\n"); u.push("two") }, flags: []string{"--dry-run", "--json"}, says: []string{`"name":"acme/bundle/pdf","state":"updated"`, `"files":\["notes.md"\]`},
		then: func(u *updates) {
			for line := range strings.Lines(u.h.rye("update", "acme/pdf", "--yes", "--json")) {
				if !json.Valid([]byte(line)) {
					u.t.Errorf("no JSON: %s", line)
				}
			}
		}},
	{name: "nobody answers", happen: func(u *updates) {
		u.theirs("notes.md", "Two\n")
		u.push("two")
		before := u.bundles()
		wants(u.t, u.h.fails(16, "update", "acme/pdf"), "rye update acme/pdf --yes")
		if u.bundles() != before {
			u.t.Error("without a yes a file changed")
		}
	}, files: map[string]string{"notes.md": "Two"}},
	{name: "offline", http: true, happen: func(u *updates) { u.theirs("notes.md", "Two\n"); u.push("two") }, flags: []string{"--offline"}, status: 17},
	{name: "the host fails", http: true, happen: func(u *updates) { u.answer(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 503) }) }, status: 5},
	{name: "the host hangs up", http: true, happen: func(u *updates) {
		u.answer(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	}, status: 5},
	{name: "the repository is gone", http: true, happen: func(u *updates) { u.answer(http.NotFound) }, state: "gone", status: 3},
	{name: "the repository has another name", http: true, happen: func(u *updates) {
		u.theirs("notes.md", "Two\n")
		u.push("two")
		if err := os.Rename(u.bare, filepath.Join(filepath.Dir(u.bare), "renamed.git")); err != nil {
			u.t.Fatal(err)
		}
		serve := u.serve
		u.answer(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/skills.git/") {
				http.Redirect(w, r, strings.Replace(r.URL.String(), "/skills.git/", "/renamed.git/", 1), http.StatusMovedPermanently)
				return
			}
			serve.ServeHTTP(w, r)
		})
	}, files: map[string]string{"notes.md": "Two"}},
	{name: "killed in the midst", happen: func(u *updates) {
		u.theirs("notes.md", "Two\n")
		u.push("two")
		for range 6 {
			u.h.killWithin(2, "update", "acme/pdf", "--yes")
		}
	}, files: map[string]string{"notes.md": "Two"}},
	{name: "git keeps only the manifest", http: true, from: "//skills/pdf", happen: func(u *updates) {
		u.h.rye("add", u.url+"//skills/pdf", "--no-vendor", "--yes", "--force")
		u.h.rye("sign", ".ai/bundles/acme/pdf", "--yes")
		u.theirs("notes.md", "Two\n")
		u.push("two")
	}, state: "outdated", files: map[string]string{"notes.md": "Two"}, then: func(u *updates) { wants(u.t, u.h.read(".ai/.gitignore"), "/bundles/acme/pdf/") }},
	{name: "a plugin with commands", before: func(u *updates) {
		u.file("kit/.claude-plugin/plugin.json", `{"name": "kit"}`)
		u.file("kit/commands/go.md", "Go there\n")
	}, happen: func(u *updates) {
		u.file("kit/commands/go.md", "Go elsewhere\n")
		u.push("two")
		u.h.rye("update", "acme/kit", "--yes")
		wants(u.t, u.h.read(".ai/bundles/acme/kit/directives/go.md"), "Go elsewhere")
		wants(u.t, u.h.rye("run", "directive:acme/kit/go"), "Go elsewhere")
	}, says: upToDate},
	{name: "a file is too large", happen: func(u *updates) {
		u.theirs("big.bin", strings.Repeat("x\x00", 5<<20))
		u.theirs("notes.md", "Two\n")
		u.push("two")
	},
		says: []string{"without big.bin: more than [0-9]+ bytes"}, files: map[string]string{"big.bin": "", "notes.md": "Two"}},
	{name: "a link appears", happen: func(u *updates) {
		u.link("notes.md", "more.md")
		u.link("../../../../etc/passwd", "out.md")
		u.push("two")
	}, says: []string{"without out.md: .*leaves the source"}, files: map[string]string{"more.md": "Notes", "out.md": ""}},
	{name: "a file becomes a link out", happen: func(u *updates) {
		u.git("rm", "-q", "skills/pdf/notes.md")
		u.link("/etc/passwd", "notes.md")
		u.push("two")
	}, says: []string{"without notes.md: .*leaves the source"}, files: map[string]string{"notes.md": ""}},
	{name: "a submodule appears", http: true, happen: func(u *updates) {
		u.git("update-index", "--add", "--cacheinfo", "160000,"+u.first+",skills/pdf/sub")
		u.file(".gitmodules", "[submodule \"sub\"]\n\tpath = skills/pdf/sub\n\turl = https://evil.example.org/x.git\n")
		u.git("add", ".gitmodules")
		u.git("commit", "-qm", "two")
		u.pushTo("main")
	}, says: []string{"without sub: "}, files: map[string]string{"sub": ""}},
	{name: "a twin by case appears", happen: func(u *updates) { u.theirs("Notes.md", "Twin\n"); u.push("two") }, says: []string{"without notes.md: .*one name on some systems"}, status: 0},
	{name: "a pointer of Git LFS appears", happen: func(u *updates) {
		u.theirs("logo.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("ab", 32)+"\nsize 5\n")
		u.push("two")
	}, says: []string{"logo.bin is a pointer of Git LFS"}, files: map[string]string{"logo.bin": "^version https://git-lfs"}},
	{name: "another project stays", happen: func(u *updates) {
		u.theirs("notes.md", "Two\n")
		u.push("two")
		other := *u.h
		other.dir = filepath.Join(u.t.TempDir(), "other")
		if err := os.Mkdir(other.dir, 0o755); err != nil {
			u.t.Fatal(err)
		}
		other.rye("init", "--namespace", "acme")
		other.rye("add", u.bare+"#v1//skills/pdf", "--yes")
		u.h.rye("update", "acme/pdf", "--yes")
		wants(u.t, other.read(".ai/bundles/acme/pdf/notes.md"), "Notes")
	}, says: upToDate},
	{name: "on a second machine", http: true, happen: func(u *updates) {
		u.theirs("notes.md", "Two\n")
		u.push("two")
		other := u.person()
		for _, f := range []string{"SKILL.md", "notes.md", "logo.bin", "run.sh", "rye.bundle.yaml"} {
			other.write(".ai/bundles/acme/pdf/"+f, u.h.read(".ai/bundles/acme/pdf/"+f))
		}
		if err := os.Chmod(filepath.Join(other.dir, ".ai/bundles/acme/pdf/run.sh"), 0o755); err != nil {
			u.t.Fatal(err)
		}
		wants(u.t, other.rye("outdated"), "acme/bundle/pdf .*not asked")
		other.fails(16, "update", "acme/pdf", "--yes")
		other.rye("update", "acme/pdf", "--yes", "--accept-source", u.url)
		wants(u.t, other.read(".ai/bundles/acme/pdf/notes.md"), "Two")
	}, state: "outdated", files: map[string]string{"notes.md": "Two"}},
	{name: "it changes while the question is open", happen: func(u *updates) {
		u.theirs("notes.md", "Two\n")
		u.push("two")
		u.h.rye("update", "acme/pdf", "--dry-run")
		u.theirs("notes.md", "Three\n")
		u.push("three")
	}, files: map[string]string{"notes.md": "Three"}},
}

// answer lets the host answer by f from now on.
func (o *origin) answer(f http.HandlerFunc) { o.lie.Store(&f) }

func (u *updates) link(target, name string) {
	u.t.Helper()
	if err := os.Symlink(target, filepath.Join(u.work, "skills/pdf", name)); err != nil {
		u.t.Fatal(err)
	}
}
