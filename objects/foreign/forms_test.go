package foreign_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/foreign"
)

// from reads a tree: a line "-- path --" stands before the text of each file, and a text "-> path" is
// a link.
func from(text string) foreign.Tree {
	t := foreign.Tree{Name: "kit"}
	for part := range strings.SplitSeq("\n"+strings.TrimPrefix(text, "\n"), "\n-- ") {
		name, data, ok := strings.Cut(part, " --\n")
		if !ok {
			continue
		}
		data += "\n"
		if strings.HasSuffix(data, "\n\n") {
			data = data[:len(data)-1]
		}
		if link, is := strings.CutPrefix(data, "-> "); is {
			t.Links = append(t.Links, foreign.Link{Path: name, Target: strings.TrimSpace(link)})
			continue
		}
		t.Files = append(t.Files, foreign.File{Path: name, Data: []byte(data)})
	}
	return t
}

func mustRead(t *testing.T, tree foreign.Tree) ([]foreign.Found, []foreign.Passed) {
	t.Helper()
	found, passed, err := foreign.Read(tree, foreign.Wish{Namespace: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	return found, passed
}

// TestForms: what each form of another program becomes. "found" is every ref, with the items that a
// bundle holds in brackets; "passed" is a part of the reason of one thing that is skipped.
func TestForms(t *testing.T) {
	for _, c := range []struct{ name, tree, found, passed string }{
		{"an Agent Plugin has its skills and nothing else", `
-- plugin.json --
{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "ops", "colour": "blue"}
-- mcp.json --
{"$schema": "x", "mcpServers": {"tide": {}, "moon": {}}}
-- skills/tide/SKILL.md --
---
name: tide
description: x
---
-- other/moon/SKILL.md --
---
name: moon
description: x
---
-- commands/x.md --
Do it.
`, "knowledge:acme/ops-tide", "its MCP servers do not come in: moon, tide"},
		{"a plugin of Claude Code is its skills and one bundle", `
-- .claude-plugin/plugin.json --
{"name": "Ops", "version": "1.2.0"}
-- skills/tide/SKILL.md --
---
name: tide
description: x
---
-- skills/ops-moon/SKILL.md --
---
name: ops-moon
description: x
---
-- commands/deploy/now.md --
Run scripts/x.sh $1
-- agents/now.md --
You deploy.
-- scripts/x.sh --
echo
-- .mcp.json --
{"mcpServers": {"tide": {}}}
-- CLAUDE.md --
# For those who work on it
`, "bundle:acme/ops [directive:acme/ops/now directive:acme/ops/deploy/now] knowledge:acme/ops-moon knowledge:acme/ops-tide", "instructions for work on these plugins"},
		{"a plugin whose manifest names its commands", `
-- .claude-plugin/plugin.json --
{"name": "ops", "commands": ["./do/one.md"], "agents": "./who", "skills": ["./more"]}
-- do/one.md --
One.
-- commands/two.md --
Two.
-- who/it.md --
It.
-- more/tide/SKILL.md --
---
name: tide
description: x
---
`, "bundle:acme/ops [directive:acme/ops/one directive:acme/ops/it] knowledge:acme/ops-tide", ""},
		{"a plugin whose manifest leads out of it", `
-- .claude-plugin/plugin.json --
{"name": "ops", "commands": ["../../etc/passwd"]}
-- skills/tide/SKILL.md --
---
name: tide
description: x
---
`, "knowledge:acme/tide", "does not lie below the plugin"},
		{"a plugin of Codex", `
-- .codex-plugin/plugin.json --
{"name": "ops"}
-- skills/tide/SKILL.md --
---
description: x
---
-- .codex/prompts/go.md --
Go.
-- .codex/agents/who.toml --
name = "who"
description = "Knows who"
developer_instructions = "Say who."
`, "bundle:acme/ops [directive:acme/ops/who directive:acme/ops/go] knowledge:acme/ops-tide", ""},
		{"an extension of Gemini", `
-- gemini-extension.json --
{"name": "ops", "version": "1.0.0", "mcpServers": {"tide": {"command": "x"}}}
-- commands/git/go.toml --
description = "Go"
prompt = """
Go {{args}} with !{ls}
"""
-- commands/bad.toml --
description = "no prompt"
-- GEMINI.md --
# Ops
-- skills/tide/SKILL.md --
---
name: tide
description: x
---
`, "bundle:acme/ops [knowledge:acme/ops/gemini directive:acme/ops/git/go] knowledge:acme/ops-tide", "field prompt is missing"},
		{"Cursor", `
-- .cursor/rules/Tabs.mdc --
---
description: Use tabs
globs: *.ts
---
Tabs.
-- .cursor/commands/go.md --
Go.
-- .cursor/agents/who.md --
Who.
-- .cursor/skills/tide/SKILL.md --
---
name: tide
description: x
---
-- .cursor/mcp.json --
{"mcpServers": {"tide": {}}}
`, "bundle:acme/kit [directive:acme/kit/who directive:acme/kit/go knowledge:acme/kit/tabs] knowledge:acme/tide", "its MCP servers do not come in: tide"},
		{"Copilot", `
-- .github/copilot-instructions.md --
# All
-- .github/instructions/go.instructions.md --
---
applyTo: "**/*.go"
---
Use tabs.
-- .github/prompts/go.prompt.md --
---
agent: x
---
Go.
-- .github/agents/who.agent.md --
Who.
-- .github/skills/tide/SKILL.md --
---
name: tide
description: x
---
-- .vscode/mcp.json --
{"servers": {"tide": {}}, "inputs": []}
`, "bundle:acme/kit [directive:acme/kit/who knowledge:acme/kit/github/copilot-instructions knowledge:acme/kit/go directive:acme/kit/go] knowledge:acme/tide", "its MCP servers do not come in: tide"},
		{"opencode", `
-- .opencode/commands/go.md --
Go $ARGUMENTS
-- .opencode/agents/who.md --
Who.
-- .opencode/skills/tide/SKILL.md --
---
name: tide
description: x
---
-- opencode.json --
{"mcp": {"tide": {}}}
`, "bundle:acme/kit [directive:acme/kit/who directive:acme/kit/go] knowledge:acme/tide", "its MCP servers do not come in: tide"},
		{"instructions in folders", `
-- AGENTS.md --
# All
-- web/CLAUDE.md --
# Web
-- CLAUDE.md --
-> AGENTS.md
`, "bundle:acme/kit [knowledge:acme/kit/agents knowledge:acme/kit/web/claude]", ""},
		{"commands of one name", `
-- .claude/commands/go.md --
Go.
-- .cursor/commands/go.md --
Go.
-- .opencode/commands/go.md --
Go otherwise.
`, "bundle:acme/kit [directive:acme/kit/go directive:acme/kit/opencode/commands/go]", ""},
		{"a marketplace", `
-- .claude-plugin/marketplace.json --
{"name": "m", "plugins": [
 {"name": "ops", "source": "./plugins/ops"},
 {"name": "docs", "source": "./", "strict": false, "skills": ["./skills/pdf"]},
 {"name": "npm", "source": {"source": "npm", "package": "x"}},
 {"name": "run", "source": {"source": "command", "command": "x"}},
 {"name": "out", "source": "../x"},
 {"name": "gone", "source": "./gone"},
 {"name": "hub", "source": {"source": "github", "repo": "ada/hub", "ref": "v1", "sha": "0123456789012345678901234567890123456789"}}
]}
-- plugins/ops/skills/tide/SKILL.md --
---
name: tide
description: x
---
-- plugins/ops/commands/go.md --
Go.
-- skills/pdf/SKILL.md --
---
name: pdf
description: x
---
-- skills/alone/SKILL.md --
---
name: alone
description: x
---
`, "bundle:acme/ops [directive:acme/ops/go] knowledge:acme/alone knowledge:acme/docs-pdf knowledge:acme/ops-tide", "it comes from npm"},
		{"a marketplace of Codex", `
-- .agents/plugins/marketplace.json --
{"name": "m", "plugins": [{"name": "ops", "source": {"source": "local", "path": "./plugins/ops"}}, {"name": "bad"}]}
-- plugins/ops/.codex-plugin/plugin.json --
{"name": "ops"}
-- plugins/ops/skills/tide/SKILL.md --
---
name: tide
description: x
---
`, "knowledge:acme/ops-tide", "field source is missing"},
		{"a skill with the name of its plugin", `
-- .claude-plugin/plugin.json --
{"name": "ops"}
-- skills/ops/SKILL.md --
---
name: ops
description: x
---
-- commands/go.md --
Go.
`, "bundle:acme/ops-plugin [directive:acme/ops-plugin/go] knowledge:acme/ops", ""},
		{"names that no id can hold", `
-- skills/潮汐/SKILL.md --
---
name: 潮汐
description: x
---
-- skills/con/SKILL.md --
---
name: con
description: x
---
`, "knowledge:acme/x-con knowledge:acme/x-e2f38e1d", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, passed := mustRead(t, from(c.tree))
			var got []string
			for _, f := range found {
				text := f.Ref.String()
				var holds []string
				for _, ref := range f.Holds {
					holds = append(holds, ref.String())
				}
				if len(holds) > 0 {
					text += " [" + strings.Join(holds, " ") + "]"
				}
				got = append(got, text)
			}
			if got := strings.Join(got, " "); got != c.found {
				t.Errorf("found %s, want %s", got, c.found)
			}
			if !slices.ContainsFunc(passed, func(p foreign.Passed) bool { return strings.Contains(p.Why, c.passed) }) && c.passed != "" {
				t.Errorf("skipped %+v, want %q", passed, c.passed)
			}
		})
	}
}

// TestOriginalsStay: a bundle of commands holds the originals byte for byte, at their paths.
func TestOriginalsStay(t *testing.T) {
	tree := from("-- p/.claude-plugin/plugin.json --\n{\"name\": \"ops\"}\n-- p/commands/go.md --\nGo $1\r\n-- p/scripts/x.sh --\necho\n-- p/.mcp.json --\n{}\n")
	tree.Files[2].Executable = true
	found, _ := mustRead(t, tree)
	if len(found) != 1 {
		t.Fatalf("found %v", refs(found))
	}
	have := map[string]foreign.File{}
	for _, f := range found[0].Files {
		have[strings.TrimPrefix(f.Path, found[0].Dir+"/")] = f
	}
	for _, f := range tree.Files[:3] {
		got := have[strings.TrimPrefix(f.Path, "p/")]
		if string(got.Data) != string(f.Data) || got.Executable != f.Executable {
			t.Errorf("%s is %+v", f.Path, got)
		}
	}
	if _, in := have[".mcp.json"]; in || len(have) != 4 || !strings.Contains(string(have["directives/go.md"].Data), "{input:arg1?}") {
		t.Errorf("the bundle holds %v", have)
	}
}

// TestElsewhere: a plugin in another place is named with the source that rye add takes, and a source
// that is none, or holds a password, is refused.
func TestElsewhere(t *testing.T) {
	const sha = "0123456789012345678901234567890123456789"
	for _, c := range []struct{ source, want string }{
		{`{"source": "github", "repo": "ada/hub"}`, "https://github.com/ada/hub"},
		{`{"source": "github", "repo": "ada/hub", "ref": "v1", "sha": "` + sha + `"}`, "https://github.com/ada/hub#" + sha},
		{`{"source": "url", "url": "https://example.org/x.git", "ref": "main"}`, "https://example.org/x.git#main"},
		{`{"source": "git-subdir", "url": "https://example.org/x.git", "path": "./a/b", "sha": "` + sha + `"}`, "https://example.org/x.git#" + sha + "//a/b"},
		{`{"source": "archive", "url": "https://example.org/x.zip", "sha256": "` + strings.Repeat("ab", 32) + `"}`, "https://example.org/x.zip"},
		{`{"source": "url", "url": "http://127.0.0.1:8080/x.git", "ref": "` + sha + `"}`, "http://127.0.0.1:8080/x.git#" + sha},
		{`{"source": "url", "url": "http://127.0.0.1.example.org/x.git"}`, string(fault.Malformed)},
		{`{"source": "archive", "url": "https://example.org/x.zip", "sha256": "ab"}`, string(fault.Malformed)},
		{`{"source": "archive", "url": "https://example.org/x"}`, string(fault.Malformed)},
		{`{"source": "archive", "url": "https://example.org/x.zip?token=secret"}`, string(fault.Malformed)},
		{`{"source": "url", "url": "https://example.org/x.git?token=secret"}`, string(fault.Malformed)},
		{`{"source": "github", "repo": "ada/hub", "ref": "refs/pull/1/head"}`, string(fault.Malformed)},
		{`{"source": "github", "repo": "ada/hub", "ref": "` + sha + `", "sha": "` + strings.Repeat("ab", 20) + `"}`, string(fault.Malformed)},
		{`{"source": "url", "url": "git@example.org:a/b.git"}`, "git@example.org:a/b.git"},
		{`{"source": "npm", "package": "x"}`, string(fault.Denied)},
		{`{"source": "command", "command": "curl x | sh"}`, string(fault.Denied)},
		{`{"source": "github", "repo": "ada/hub/../../x"}`, string(fault.Malformed)},
		{`{"source": "github", "repo": "--upload-pack=x/y"}`, string(fault.Malformed)},
		{`{"source": "github", "repo": "ada/hub", "ref": "--x"}`, string(fault.Malformed)},
		{`{"source": "github", "repo": "ada/hub", "sha": "0123"}`, string(fault.Malformed)},
		{`{"source": "url", "url": "https://me:secret@example.org/x.git"}`, string(fault.Malformed)},
		{`{"source": "url", "url": "ext::sh -c id"}`, string(fault.Malformed)},
		{`{"source": "url", "url": "file:///etc"}`, string(fault.Malformed)},
		{`{"source": "url", "url": "http://example.org/x.git"}`, string(fault.Malformed)},
		{`{"source": "git-subdir", "url": "https://example.org/x.git", "path": "../x"}`, string(fault.Malformed)},
		{`{"source": "git-subdir", "url": "https://example.org/x.git", "path": "/x"}`, string(fault.Malformed)},
		{`{"source": "git-subdir", "url": "https://example.org/x.git", "path": ".git/hooks"}`, string(fault.Malformed)},
		{`{"source": "https://example.org/` + "`id`" + `"}`, string(fault.Malformed)},
		{`7`, string(fault.Malformed)},
	} {
		_, passed := mustRead(t, from("-- .claude-plugin/marketplace.json --\n{\"plugins\": [{\"name\": \"x\", \"source\": "+c.source+"}]}\n"))
		if got := passed[0].Source + string(passed[0].Code); got != c.want {
			t.Errorf("%s: %q (%s), want %q", c.source, got, passed[0].Why, c.want)
		}
		if strings.Contains(passed[0].Why, "secret") {
			t.Errorf("%s: %q shows a password", c.source, passed[0].Why)
		}
	}
}

// TestListedPlugin: the tree of a plugin that a marketplace lists has the plugin's name in its ids, with
// what the entry lists, and its own marketplaces are not followed.
func TestListedPlugin(t *testing.T) {
	market := from(`-- .claude-plugin/marketplace.json --
{"plugins": [
 {"name": "hub", "source": {"source": "url", "url": "https://example.org/hub.git", "ref": "v1", "sha": "0123456789012345678901234567890123456789"}, "commands": ["./extra/go.md"], "author": {"name": "x"}},
 {"name": "own", "source": "./own"},
 {"name": "npm", "source": {"source": "npm", "package": "x"}}
]}
-- .agents/plugins/marketplace.json --
{"plugins": [{"name": "hub", "source": {"source": "url", "url": "https://example.org/hub.git", "ref": "v1", "sha": "0123456789012345678901234567890123456789"}}]}
-- own/skills/tide/SKILL.md --
---
name: tide
description: x
---
`)
	all := foreign.Elsewhere(market)
	if len(all) != 1 || all[0].Name != "hub" || all[0].Source.Ref != "v1" || all[0].Commit == "" || all[0].Entry != `{"commands":["./extra/go.md"],"name":"hub"}` {
		t.Fatalf("elsewhere %+v", all)
	}
	_, passed, err := foreign.Read(market, foreign.Wish{Namespace: "acme", Elsewhere: []string{"hub"}})
	named := slices.ContainsFunc(passed, func(p foreign.Passed) bool { return p.Source != "" })
	if err != nil || named || !slices.ContainsFunc(passed, func(p foreign.Passed) bool { return p.Code == fault.Denied }) {
		t.Errorf("beside a plugin that comes in: %+v, %v", passed, err)
	}
	tree := from(`-- skills/tide/SKILL.md --
---
name: tide
description: x
---
-- extra/go.md --
Go.
-- .claude-plugin/marketplace.json --
{"plugins": [{"name": "next", "source": {"source": "url", "url": "https://example.org/next.git"}}]}
`)
	tree.Listed = all[0].Entry
	if more := foreign.Elsewhere(tree); len(more) != 0 {
		t.Errorf("a plugin leads on to %+v", more)
	}
	found, passed := mustRead(t, tree)
	if got := refs(found); got != "bundle:acme/hub knowledge:acme/hub-tide" || len(found[0].Holds) != 1 {
		t.Errorf("found %s", got)
	}
	if len(passed) != 1 || passed[0].Source != "" || !strings.Contains(passed[0].Why, "is not followed") {
		t.Errorf("passed %+v", passed)
	}
}

// TestLinks: links inside the source are followed, one folder is one skill, and a link that leaves the
// source, leads to itself or stands in place of a SKILL.md is refused by name.
func TestLinks(t *testing.T) {
	const skill = "---\nname: x\ndescription: x\n---\n"
	for _, c := range []struct{ name, tree, found, passed string }{
		{"a linked folder", "-- shared/tide/SKILL.md --\n" + skill + "-- .claude/skills/tide --\n-> ../../shared/tide\n", "knowledge:acme/tide", "a link to shared/tide, which is read once"},
		{"a linked folder of skills", "-- skills/tide/SKILL.md --\n" + skill + "-- .claude/skills --\n-> ../skills\n", "knowledge:acme/tide", "a link to skills, which is read once"},
		{"a folder that only a link reaches", "-- a/b/c/d/e/f/g/tide/SKILL.md --\n" + skill + "-- skills/tide --\n-> ../a/b/c/d/e/f/g/tide\n", "knowledge:acme/tide", ""},
		{"links to links", "-- z/tide/SKILL.md --\n" + skill + "-- y --\n-> z\n-- skills --\n-> y\n", "knowledge:acme/tide", ""},
		{"out of the source", "-- skills/tide --\n-> ../../tide\n", "", "leaves the source"},
		{"out and in again", "-- skills/tide --\n-> ../../kit/tide\n-- tide/SKILL.md --\n" + skill, "knowledge:acme/tide", "leaves the source"},
		{"absolute", "-- skills/tide --\n-> /etc\n", "", "leaves the source"},
		{"a drive", "-- skills/tide --\n-> C:/x\n", "", "leaves the source"},
		{"to itself", "-- skills/tide --\n-> tide\n", "", "leads to itself"},
		{"a loop of two", "-- skills/a --\n-> b\n-- skills/b --\n-> a\n", "", "leads to itself"},
		{"to a folder that holds it", "-- skills/tide/SKILL.md --\n" + skill + "-- skills/tide/up --\n-> ..\n", "knowledge:acme/tide", "a folder that holds it"},
		{"to the root", "-- skills/tide/SKILL.md --\n" + skill + "-- skills/all --\n-> ..\n", "knowledge:acme/tide", "a folder that holds it"},
		{"to nothing", "-- skills/tide --\n-> ../none\n", "", "leads to nothing"},
		{"a linked SKILL.md", "-- skills/tide/SKILL.md --\n-> ../../x.md\n-- x.md --\n" + skill, "", "in place of a SKILL.md"},
		{"a link through a file", "-- skills/tide --\n-> ../x.md/y\n-- x.md --\n" + skill, "", "leads to nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, passed := mustRead(t, from(c.tree))
			if got := refs(found); got != c.found {
				t.Errorf("found %s, want %s", got, c.found)
			}
			if !slices.ContainsFunc(passed, func(p foreign.Passed) bool { return strings.Contains(p.Why, c.passed) }) && c.passed != "" {
				t.Errorf("skipped %+v, want %q", passed, c.passed)
			}
		})
	}
}

// TestLinksInside: what lies behind a link in a skill comes in as files, with a note.
func TestLinksInside(t *testing.T) {
	tree := from("-- skills/tide/SKILL.md --\n---\nname: tide\ndescription: x\n---\n-- shared/a/b.md --\nb\n-- skills/tide/assets --\n-> ../../shared/a\n-- skills/tide/c.md --\n-> ../../shared/a/b.md\n")
	found, _ := mustRead(t, tree)
	var got []string
	for _, f := range found[0].Files {
		got = append(got, strings.TrimPrefix(f.Path, found[0].Dir+"/"))
	}
	if want := "SKILL.md assets/b.md c.md"; strings.Join(got, " ") != want {
		t.Errorf("files %v, want %s", got, want)
	}
	if !slices.ContainsFunc(found[0].Lost, func(s string) bool { return strings.Contains(s, "assets/b.md is behind a link there") }) {
		t.Errorf("notes %q", found[0].Lost)
	}
}

// TestLinkBomb: links that make many paths out of few files end.
func TestLinkBomb(t *testing.T) {
	var tree foreign.Tree
	tree.Name = "kit"
	for _, a := range "abcdefghijkl" {
		tree.Files = append(tree.Files, foreign.File{Path: string(a) + "/SKILL.md", Data: []byte("---\ndescription: x\n---\n")})
		for _, b := range "abcdefghijkl" {
			tree.Links = append(tree.Links, foreign.Link{Path: string(a) + "/to-" + string(b), Target: "../" + string(b)})
		}
	}
	_, passed := mustRead(t, tree)
	if !slices.ContainsFunc(passed, func(p foreign.Passed) bool { return p.Code == fault.Limit }) {
		t.Error("no bound was reached")
	}
}

// TestHash: the digests of a folder are git's and OpenAPM's.
func TestHash(t *testing.T) {
	tree := foreign.Tree{Files: []foreign.File{
		{Path: "s/a.md", Data: []byte("a\n")}, {Path: "s/a/x", Data: []byte("x")}, {Path: "s/a-b", Data: nil, Executable: true}, {Path: "other", Data: []byte("o")},
	}, Links: []foreign.Link{{Path: "s/l", Target: "a.md"}}}
	id, sum, err := foreign.Hash(tree, "s")
	if err != nil {
		t.Fatal(err)
	}
	// git init; git add .; git write-tree --prefix=s/
	if want := "ec9b3aebaa51694068c5a6ab15069bb199a6dc4d"; id != want {
		t.Errorf("tree %s, want %s", id, want)
	}
	if want := "46f61afd38c85a458c747bf285bce7d62d533cad9b1aabaadb2ad7baf529d6aa"; sum.Hex() != want {
		t.Errorf("tree_sha256 %s, want %s", sum.Hex(), want)
	}
	if _, _, err := foreign.Hash(tree, "none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestChoice: names choose, and a name that nothing has is an error that lists the names.
func TestChoice(t *testing.T) {
	tree := from("-- skills/tide/SKILL.md --\n---\nname: tide-table\ndescription: x\n---\n-- skills/moon/SKILL.md --\n---\nname: moon\ndescription: x\n---\n-- skills/bad/SKILL.md --\nx\n-- commands.md --\n")
	for name, want := range map[string]string{"tide": "knowledge:acme/tide", "tide-table": "knowledge:acme/tide", "moon": "knowledge:acme/moon", "acme/moon": "knowledge:acme/moon"} {
		found, passed, err := foreign.Read(tree, foreign.Wish{Namespace: "acme", Skills: []string{name}})
		if err != nil || refs(found) != want || len(passed) != 0 {
			t.Errorf("%s: %s, %v, %v", name, refs(found), passed, err)
		}
	}
	if _, _, err := foreign.Read(tree, foreign.Wish{Namespace: "acme", Skills: []string{"sun"}}); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "moon, tide-table") {
		t.Errorf("sun: %v", err)
	}
	if found, passed, err := foreign.Read(tree, foreign.Wish{Namespace: "acme", Skills: []string{"bad"}}); err != nil || len(found) != 0 || len(passed) != 1 {
		t.Errorf("bad: %v, %v, %v", found, passed, err)
	}
}

// TestBadNames: a file with a name that no bundle can hold is named, and its skill comes in.
func TestBadNames(t *testing.T) {
	tree := from("-- skills/tide/SKILL.md --\n---\nname: tide\ndescription: x\n---\n")
	for _, name := range []string{"a\nb", "a\\b", "\xff", ".git", "rye.bundle.yaml", "skill\u202e.md", "Case.md", "case.md", "u\u0308.md"} {
		tree.Files = append(tree.Files, foreign.File{Path: "skills/tide/" + name, Data: []byte(name)})
	}
	found, passed := mustRead(t, tree)
	n := 0
	for _, p := range passed {
		if p.Code != "" {
			n++
		}
	}
	if len(found) != 1 || len(found[0].Files) != 3 || n != 7 {
		t.Errorf("%d files, %d named: %+v", len(found[0].Files), n, passed)
	}
	if last := found[0].Files[2].Path; filepath.Base(last) != "\u00fc.md" {
		t.Errorf("%q, want NFC", last)
	}
}
