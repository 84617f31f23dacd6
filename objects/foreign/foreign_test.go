package foreign_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
)

// TestOneName: of two skills with one name and the same files one comes in, and the other is named. A
// different one gets the name of its folder in front.
func TestOneName(t *testing.T) {
	skill := func(p, about string) foreign.File {
		return foreign.File{Path: p, Data: []byte("---\nname: pdf\ndescription: " + about + "\n---\n")}
	}
	tree := foreign.Tree{Name: "all", Files: []foreign.File{skill("a/pdf/SKILL.md", "x"), skill("b/pdf/SKILL.md", "x"), skill("c/pdf/SKILL.md", "y"), skill("d/c/pdf/SKILL.md", "z")}}
	found, passed, err := foreign.Read(tree, foreign.Wish{Namespace: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := refs(found), "knowledge:acme/c-pdf knowledge:acme/d-c-pdf knowledge:acme/pdf"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if len(passed) != 1 || passed[0].Path != "b/pdf" || passed[0].Code != "" || !strings.Contains(passed[0].Why, "the same files as a/pdf") {
		t.Errorf("skipped %+v, want b/pdf", passed)
	}
}

func refs(found []foreign.Found) string {
	var all []string
	for _, f := range found {
		all = append(all, f.Ref.String())
	}
	return strings.Join(all, " ")
}

// FuzzRead: whatever a folder holds, what comes of it lies in its place below .ai, parses,
// and is one each; a skill's bytes are as they were.
func FuzzRead(f *testing.F) {
	f.Add("pdf/SKILL.md", "---\nname: pdf\ndescription: x\n---\n", "pdf/scripts/x.sh", "#!/bin/sh\n")
	f.Add(".claude/commands/a.md", "---\ndescription: >\n  x\n---\n$ARGUMENTS $1", ".cursor/rules/x.mdc", "---\nglobs: *.ts\n---\nx")
	f.Add("plugin.json", `{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"p","keywords":[]}`, "skills/a/skill.md", "\ufeff---\nname: &a x\ndescription: *a\n---\n")
	f.Add(".claude-plugin/marketplace.json", `{"plugins":[{"name":"x","source":"./x","skills":["./a"]},{"name":"y","source":{"source":"github","repo":"a/b"}}]}`, "x/a/SKILL.md", "---\ndescription: a: b\n---\n")
	f.Add(".claude-plugin/marketplace.json", `{"plugins":[{"name":"y","commands":["./a.md"],"source":{"source":"git-subdir","url":"a/b","path":"./c/","ref":"v1","sha":"0123456789012345678901234567890123456789"}},{"name":"z","source":{"source":"archive","url":"https://example.org/z.zip"}}]}`, "a.md", "x")
	f.Add("gemini-extension.json", `{"name":"g","version":"1","mcpServers":{"a":{}}}`, "commands/x.toml", "prompt = \"{{args}} !{ls}\"")
	f.Add(".agents/plugins/marketplace.json", `{"plugins":[{"name":"x","source":{"source":"local","path":"./p"}}]}`, "p/.mcp.json", `{"mcpServers":{"tide":{}}}`)
	f.Add(".github/prompts/a.prompt.md", "---\nagent: x\n---\nDo.", "AGENTS.md", "# Work\n")
	f.Add("w/skill.toml", "command = \"x\"\ninput_schema_json = \"{}\"", "main.py", "from __future__ import x")
	f.Add("p/.claude-plugin/plugin.json", "{\"name\": \"P\"}", "p/agents/x.md", "x")
	f.Add(".ai/tools/a/x.sh", "# version: 1.0.0\n", "run", "#!/usr/bin/env -S bash -e\n")
	f.Fuzz(func(t *testing.T, p1, text1, p2, text2 string) {
		if !fs.ValidPath(p1) || !fs.ValidPath(p2) || p1 == p2 {
			return
		}
		had := map[string]bool{text1: true, text2: true}
		tree := foreign.Tree{Name: "folder", Files: []foreign.File{{Path: p1, Data: []byte(text1)}, {Path: p2, Data: []byte(text2)}}}
		for _, m := range foreign.Elsewhere(tree) {
			src, err := objects.ParseSource(m.String())
			if err != nil || src.Address != m.Source.Address || src.Local() || src.Short {
				t.Fatalf("%q leads to %+v: %v", m.Name, src, err)
			}
			listed := tree
			listed.Listed = m.Entry
			if more := foreign.Elsewhere(listed); len(more) > 0 {
				t.Fatalf("%q leads on to %v", m.Name, more)
			}
		}
		found, _, err := foreign.Read(tree, foreign.Wish{Namespace: "acme"})
		if err != nil {
			return
		}
		for _, one := range found {
			entry := one.Ref.Kind == objects.Bundle && len(one.Holds) > 0
			for _, file := range one.Files {
				check := objects.CheckPath
				if one.Dir != "" {
					check = objects.CheckMember
				}
				if err := check(file.Path); err != nil || one.Dir != "" && !strings.HasPrefix(file.Path, one.Dir+"/") {
					t.Fatalf("%q: %v", file.Path, err)
				}
				if objects.IsSkill(file.Path) && !had[string(file.Data)] {
					t.Fatalf("%q has other bytes", file.Path)
				}
				if ref, _, err := objects.RefOfPath(file.Path); err == nil && ref == one.Ref {
					if _, err := objects.Parse(file.Path, file.Data); err != nil {
						t.Fatalf("%s: %v", ref, err)
					}
					entry = true
				}
			}
			if !entry {
				t.Fatalf("%s is in none of its files", one.Ref)
			}
		}
	})
}
