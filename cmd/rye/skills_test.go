package main_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// skillFolder is the files of one Agent Skill.
type skillFolder map[string]string

const longest = "abcdefghij-abcdefghij-abcdefghij-abcdefghij-abcdefghij-abcdefghi" // 64 characters

// skillFolders are folders that together have every field and layout of the Agent Skills
// specification (agentskills.io/specification), and what its examples and the skills of
// others do beside. Each description holds a word of its own: "zorb" and the number.
func skillFolders(n int) map[string]skillFolder {
	all := map[string]skillFolder{}
	for i := range n {
		name, front, body := fmt.Sprintf("skill-%03d", i), "", fmt.Sprintf("# Skill %d\n\nDo it in steps.\n", i)
		about := fmt.Sprintf("Does zorb%d and says when to use it.", i)
		files, crlf := skillFolder{}, false
		switch i % 30 {
		case 1:
			front = "license: Apache-2.0\n"
		case 2:
			front = "license: Complete terms in LICENSE.txt\n"
			files["LICENSE.txt"] = "terms\n"
		case 3:
			front = "compatibility: Requires git, docker, jq, and access to the internet\n"
		case 4:
			front = "compatibility: " + strings.Repeat("é", 500) + "\n"
		case 5:
			front = "metadata:\n  author: example-org\n  version: \"1.0\"\n"
		case 6:
			front = "metadata: {author: x, version: 1.2.3}\n"
		case 7:
			front = "allowed-tools: Bash(git:*) Bash(jq:*) Read\n"
		case 8:
			front = "license: MIT\ncompatibility: any\nmetadata:\n  a: b\nallowed-tools: Read\n"
		case 9:
			about = ">-\n  Does zorb" + fmt.Sprint(i) + "\n  and more: of it"
		case 10:
			about = "|\n  Does zorb" + fmt.Sprint(i) + "\n\n  in lines"
		case 11:
			about = fmt.Sprintf("\"Does zorb%d: quoted\"", i)
		case 12:
			about = fmt.Sprintf("'It''s zorb%d #1'", i)
		case 13:
			about = fmt.Sprintf("Prüft zorb%d 漢字 🙂", i)
		case 14:
			about = fmt.Sprintf("zorb%d ", i) + strings.Repeat("x", 1000)
		case 15:
			name = fmt.Sprintf("%s%03d", longest[:61], i)
		case 16:
			name = fmt.Sprintf("%d", i)
		case 17:
			files["scripts/extract.py"] = "#!/usr/bin/env python3\nprint(1)\n"
			files["scripts/run.sh"] = "#!/bin/sh\necho hi\n"
			files["scripts/lib/helper.js"] = "exports.x = 1\n"
		case 18:
			files["references/REFERENCE.md"] = "# Reference\n"
			files["references/api/v1/errors.md"] = "see [it](../../REFERENCE.md)\n"
		case 19:
			files["assets/logo.png"] = "\x89PNG\r\n\x1a\n\x00\xff\xfe"
			files["assets/empty"] = ""
			files["assets/Data.CSV"] = "a,b\r\n1,2\r\n"
		case 20:
			crlf = true
		case 21:
			body = "no line feed at the end"
		case 22:
			body = ""
		case 23:
			body = "---\n\n```yaml\nname: other\n```\n\n~~~\n# rye:signed:v2:example\n~~~\n---\n"
		case 24:
			files["Makefile"] = "all:\n\techo x\n"
			files["requirements.txt"] = "x==1\n"
			files["package.json"] = "{\"name\": \"x\"}\n"
			files["schemas/a.xsd"] = "<x/>"
		case 25:
			files["main.py"] = "print('no tool')\n"
			files["tools/x.py"] = "# rye:signed:v2:nothing\n"
			files["knowledge/x.md"] = "text\n"
		case 26:
			files["templates/inner/SKILL.md"] = "---\nname: NAME\n---\n"
		case 27:
			files["a/b/c/d/e/f/g/h/deep.txt"] = "deep\n"
		case 28:
			files["assets/big.bin"] = string(randomBytes(uint64(i), 1<<20))
		case 29:
			front = "# a comment\nversion: 2.0.0\ntags: [a, b]\n"
		}
		text := "---\nname: " + name + "\ndescription: " + about + "\n" + front + "---\n\n" + body
		if crlf {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		files["SKILL.md"] = text
		all[name] = files
	}
	return all
}

func randomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func writeSkills(t *testing.T, dir string, skills map[string]skillFolder) {
	t.Helper()
	for name, files := range skills {
		for rel, text := range files {
			testkit.WriteFile(t, filepath.Join(dir, name, filepath.FromSlash(rel)), text, 0o644)
		}
	}
}

// sameTree compares two folders, file by file.
func sameTree(t *testing.T, want, got string) {
	t.Helper()
	a, b := treeOf(t, want), treeOf(t, got)
	for p := range a {
		if text, there := b[p]; !there || !bytes.Equal(text, a[p]) {
			t.Errorf("%s: %s is missing or other bytes", got, p)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%s has %d files, want %d", got, len(b), len(a))
	}
}

func treeOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		all[rel] = raw
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSkillsInAndOut: skills of every form come in, are signed, are found by what they say,
// and go out byte for byte. RYE_SOAK asks for every one of the hundred.
func TestSkillsInAndOut(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	skills := skillFolders(100)
	src := filepath.Join(t.TempDir(), "skills")
	writeSkills(t, src, skills)
	added := h.rye("add", src, "--json")
	for name := range skills {
		if !strings.Contains(added, `"ref":"knowledge:acme/`+name+`"`) {
			t.Errorf("%s did not come in", name)
		}
	}
	for line := range strings.Lines(added) {
		if strings.Contains(line, `"ref":""`) && !strings.Contains(line, "a text of the skill around it") {
			t.Error(line)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	sign := []string{"sign"}
	for name := range skills {
		sign = append(sign, ".ai/bundles/acme/"+name)
	}
	// A batch leaves out those with scripts, and names the command for each.
	for line := range strings.Lines(h.rye(sign...)) {
		if ref, left := strings.CutPrefix(line, "skipped  "); left {
			ref, _, _ = strings.Cut(ref, ": it has ")
			h.rye("sign", ref, "--yes")
		}
	}
	if out := h.rye("status"); strings.Contains(out, "acme/") {
		t.Errorf("status: %s", out)
	}
	some := skillFolders(30)
	if os.Getenv("RYE_SOAK") != "" {
		some = skills
	}
	out := t.TempDir()
	for name, files := range some {
		_, word, _ := strings.Cut(files["SKILL.md"], "zorb")
		word = "zorb" + word[:strings.IndexFunc(word, func(c rune) bool { return c < '0' || c > '9' })]
		if found := h.rye("search", word); !strings.Contains(found, "knowledge:acme/"+name+" ") {
			t.Errorf("search %s: %s, want %s", word, found, name)
		}
		h.rye("export", "skill", "knowledge:acme/"+name, filepath.Join(out, name))
		sameTree(t, filepath.Join(src, name), filepath.Join(out, name))
	}
	// What went out comes in again as what is there.
	if again := h.rye("add", src); strings.Contains(again, "unsigned") {
		t.Errorf("again: %s", again)
	}
}
