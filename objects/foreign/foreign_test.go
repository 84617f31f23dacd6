package foreign_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
)

// TestTwoOfOneName: two skills that would have one id are refused, not merged.
func TestTwoOfOneName(t *testing.T) {
	skill := []byte("---\nname: pdf\ndescription: x\n---\n")
	tree := foreign.Tree{Name: "all", Files: []foreign.File{{Path: "a/pdf/SKILL.md", Data: skill}, {Path: "b/pdf/SKILL.md", Data: skill}}}
	if found, _, err := foreign.Read(tree, foreign.Wish{Namespace: "acme"}); err == nil {
		t.Errorf("found %v, want a conflict", found)
	}
}

// FuzzRead: whatever a folder holds, what comes of it lies in its place below .ai, parses,
// and is one each; a skill's bytes are as they were.
func FuzzRead(f *testing.F) {
	f.Add("pdf/SKILL.md", "---\nname: pdf\ndescription: x\n---\n", "pdf/scripts/x.sh", "#!/bin/sh\n")
	f.Add(".claude/commands/a.md", "---\ndescription: >\n  x\n---\n$ARGUMENTS $1", ".cursor/rules/x.mdc", "---\nglobs: *.ts\n---\nx")
	f.Add("w/skill.toml", "command = \"x\"\ninput_schema_json = \"{}\"", "main.py", "from __future__ import x")
	f.Add("p/.claude-plugin/plugin.json", "{\"name\": \"P\"}", "p/agents/x.md", "x")
	f.Add(".ai/tools/a/x.sh", "# version: 1.0.0\n", "run", "#!/usr/bin/env -S bash -e\n")
	f.Fuzz(func(t *testing.T, p1, text1, p2, text2 string) {
		if !fs.ValidPath(p1) || !fs.ValidPath(p2) || p1 == p2 {
			return
		}
		had := map[string]bool{text1: true, text2: true}
		tree := foreign.Tree{Name: "folder", Files: []foreign.File{{Path: p1, Data: []byte(text1)}, {Path: p2, Data: []byte(text2)}}}
		found, _, err := foreign.Read(tree, foreign.Wish{Namespace: "acme"})
		if err != nil {
			return
		}
		for _, one := range found {
			entry := false
			for _, file := range one.Files {
				if err := objects.CheckPath(file.Path); err != nil || one.Dir != "" && !strings.HasPrefix(file.Path, one.Dir+"/") {
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
