package fieldcorpus

import "fmt"

// manifest is a plugin.json of Agent Plugins 1.0 with further members.
func manifest(name, more string) string {
	return fmt.Sprintf("{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json\", \"name\": %q, \"version\": \"1.0.0\"%s}\n", name, more)
}

// pluginRecipes are plugins and catalogues of them.
var pluginRecipes = []recipe{
	{form: "agent-plugin", roots: []string{"skills"}, files: "-- plugin.json --\n" + manifest("{name}", `, "description": "A press", "author": {"name": "Acme", "email": "press@acme.example"}, "keywords": ["press"], "license": "MIT", "extensions": {"com.acme.press": {"colour": "blue"}}`) + agentMCP,
		notes: []string{"An Agent Plugin 1.0 has plugin.json, mcp.json and skills/."}},
	{form: "agent-plugin", roots: []string{"skills"}, more: nestedInPlugin, files: "-- plugin.json --\n" + manifest("{name}", "") + "-- com.github.copilot/agents/reader.agent.md --\nRead.\n-- com.github.copilot/commands/weekly.md --\nWrite.\n-- com.github.copilot/rules/style.md --\nShort.\n",
		notes: []string{"Parts of one client lie in a directory named by its domain.", "Agent Plugins has only the immediate children of skills/."}},
	{form: "agent-plugin", roots: []string{"skills"}, files: "-- plugin.json --\n" + manifest("{name}", `, "colour": "blue", "extensions": {"com.acme.press": "not an object"}`) + badMCP,
		notes: []string{"plugin.json has an unknown field, and an extension that is not an object: both are ignored.", "Servers of mcp.json break its rules and are skipped alone."}},
	{form: "agent-plugin", roots: []string{"skills"}, files: "-- plugin.json --\n{\"$schema\": \"https://agent-plugins.org/schemas/9.0.0/plugin.schema.json\", \"name\": \"{name}\"}\n",
		notes: []string{"plugin.json names a schema that nobody supports, so the plugin is refused and its skills stand alone."}},
	{form: "agent-plugin", roots: []string{"skills"}, files: "-- plugin.json --\n{\"$schema\": \"https://agent-plugins.org/schemas/1.1.0/plugin.schema.json\", \"name\": \"{name}\", \"displayName\": \"The Press\", \"icon\": \"./icon.svg\"}\n-- icon.svg --\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n-- mcp.json --\n{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json\", \"mcpServers\": {}}\n",
		notes: []string{"plugin.json is of the draft 1.1.0 and mcp.json of 1.0.0, which disables MCP."}},
	{form: "agent-plugin", roots: []string{"skills"}, files: "-- plugin.json --\n" + manifest("{name}", "") + agentMCP + "-- .claude-plugin/plugin.json --\n{\"name\": \"{name}\"}\n-- .codex-plugin/plugin.json --\n{\"name\": \"{name}\"}\n" + claudeMCP,
		notes: []string{"The forms of Agent Plugins, Claude Code and Codex lie side by side."}},
	{form: "agent-plugin", roots: []string{"skills"}, files: "-- plugin.json --\n{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json\", \"name\": \"Bad--Name..x\", \"keywords\": \"press\"}\n",
		notes: []string{"plugin.json has a name against the rules and a field of the wrong type, which are fatal."}},

	{form: "claude-plugin", roots: []string{"skills"}, files: claudePlugin + claudeParts + claudeMCP, more: pluginHook, notes: []string{"A Claude plugin has a manifest with user settings, and every kind of part."}},
	{form: "claude-plugin", roots: []string{"skills"}, files: claudeParts, more: pluginHook, notes: []string{"A Claude plugin has no manifest."}},
	{form: "claude-plugin", roots: []string{"skills", "more/skills"}, each: 4, files: "-- .claude-plugin/plugin.json --\n{\"name\": \"{name}\", \"skills\": [\"./more/skills\"], \"commands\": [\"./orders/weekly.md\"], \"agents\": \"./staff\"}\n-- orders/weekly.md --\nWrite the week up.\n-- commands/unused.md --\nReplaced.\n-- staff/reader.md --\n---\nname: reader\nhooks: {}\npermissionMode: plan\n---\nRead.\n",
		notes: []string{"The manifest adds a directory of skills, and replaces those of commands and agents.", "An agent of a plugin has hooks and permissionMode, which are ignored."}},
	{form: "claude-plugin", roots: []string{"skills"}, files: "-- .claude-plugin/plugin.json --\n{\"name\": \"{name}\", \"keywords\": \"press\", \"author\": 7}\n", notes: []string{"The manifest has fields of the wrong type, which is fatal."}},
	{form: "claude-plugin", roots: []string{"skills"}, files: "-- .claude-plugin/plugin.json --\n{\"name\": \"{name}\", \"version\": \"2.0.0\", \"dependencies\": [\"base\", {\"name\": \"press\", \"version\": \"^1.2\", \"marketplace\": \"acme\"}], \"colour\": \"blue\", \"mcpServers\": {\"desk\": {\"command\": \"${CLAUDE_PLUGIN_ROOT}/bin/desk\"}}}\n-- bin/desk --\nnot a program\n",
		notes: []string{"The manifest has dependencies with ranges, an unknown field, and MCP servers."}},
	{form: "claude-plugin", roots: []string{".claude/skills"}, more: skillIsPlugin, notes: []string{"The directory of a skill holds .claude-plugin/plugin.json and loads as a plugin of skills-dir."}},

	{form: "claude-marketplace", roots: []string{"plugins/press/skills", "plugins/desk/skills"}, files: market(`{"name": "press", "source": "./plugins/press", "category": "work", "tags": ["press"]}, {"name": "desk", "source": "./plugins/desk", "strict": false, "skills": ["./skills"]}`) + "-- plugins/press/.claude-plugin/plugin.json --\n{\"name\": \"press\"}\n-- plugins/press/commands/proof.md --\nRead $1.\n",
		notes: []string{"A marketplace has plugins in its own repository; one has no manifest and is not strict."}},
	{form: "claude-marketplace", roots: []string{"plugins/press/skills"}, files: market(allSources) + "-- plugins/press/.claude-plugin/plugin.json --\n{\"name\": \"press\"}\n",
		notes: []string{"A marketplace has every kind of source: path, github, url, git-subdir, npm, archive and command.", "An entry has sha and ref, and sha wins."}},
	{form: "claude-marketplace", roots: []string{"nested/plugins/press/skills", "nested/plugins/desk/skills", "skills"}, each: 3, files: "-- .claude-plugin/marketplace.json --\n{\"name\": \"acme\", \"owner\": {\"name\": \"Acme\"}, \"metadata\": {\"pluginRoot\": \"./nested/plugins\"}, \"renames\": {\"old-press\": \"press\"}, \"allowCrossMarketplaceDependenciesOn\": [\"other\"], \"plugins\": [{\"name\": \"press\", \"source\": \"press\"}, {\"name\": \"desk\", \"source\": \"./desk\"}, {\"name\": \"whole\", \"source\": \"./\"}]}\n",
		notes: []string{"metadata.pluginRoot stands before the sources, and renames has an old name."}},
	{form: "claude-marketplace", roots: []string{"plugins/a/skills", "plugins/b/skills"}, each: 4, more: sharedByLink, files: market(`{"name": "a", "source": "./plugins/a"}, {"name": "b", "source": "./plugins/b"}, {"name": "b", "source": "./plugins/b"}, {"name": "gone", "source": "./plugins/gone"}, {"name": "up", "source": "../up"}, {"source": "./plugins/a"}`),
		notes: []string{"A marketplace has an entry twice, one without a name, one whose directory is absent and one outside.", "A plugin has a link into the marketplace, which is followed, and one outside, which is skipped."}},
	{form: "claude-marketplace", roots: []string{"deep/er/plugins/x/skills"}, files: "-- .claude-plugin/marketplace.json --\n{\"name\": \"acme\", \"owner\": {\"name\": \"Acme\"}, \"plugins\": [{\"name\": \"x\", \"source\": \"./deep/er/plugins/x\"},]}\n",
		notes: []string{"marketplace.json has a comma too many and is not JSON."}},

	{form: "codex-plugin", roots: []string{"skills"}, more: openaiFiles, files: "-- .codex-plugin/plugin.json --\n{\"name\": \"{name}\", \"version\": \"0.3.0\", \"colour\": \"blue\"}\n-- .app.json --\n{\"apps\": {}}\n-- hooks/hooks.json --\n{\"hooks\": {}}\n-- .mcp.json --\n{\"mcpServers\": {\"desk\": {\"command\": \"./bin/desk\", \"cwd\": \".\"}}}\n",
		notes: []string{"A Codex plugin has skills, hooks, .app.json and .mcp.json without variables."}},
	{form: "codex-plugin", roots: []string{"skills"}, files: "-- .codex-plugin/plugin.json --\n{\"name\": \"{name}\"}\n" + claudeMCP, notes: []string{"A Codex plugin has a variable of Claude Code in .mcp.json, which is passed on literally."}},
	{form: "codex-marketplace", roots: []string{"plugins/press/skills", "plugins/desk/skills"}, each: 4, files: codexMarket, notes: []string{"A Codex marketplace has the sources local, url, git-subdir and npm; a bad entry is dropped."}},
	{form: "codex-marketplace", roots: []string{"plugins/press/skills"}, files: codexMarket + market(`{"name": "press", "source": "./plugins/press"}`), notes: []string{"The catalogues of Codex and Claude Code lie side by side."}},
}

func market(plugins string) string {
	return "-- .claude-plugin/marketplace.json --\n{\"name\": \"{name}\", \"owner\": {\"name\": \"Acme\", \"email\": \"press@acme.example\"}, \"version\": \"1.0.0\", \"plugins\": [" + plugins + "]}\n"
}

func nestedInPlugin(b *builder) {
	for range 2 {
		b.skill("skills/group")
		b.last().Why = "it is not an immediate child of skills/ in an Agent Plugin"
	}
}

func pluginHook(b *builder) {
	b.program("hooks/after.sh", "#!/bin/sh\n# after an edit\nexec make fmt\n", true)
	b.program("bin/desk", string(head("\x7fELF\x02\x01\x01", 57)(b.dice)), true)
}

func skillIsPlugin(b *builder) {
	b.put(join(b.plain[0], ".claude-plugin/plugin.json"), "{\"name\": \"press\"}\n")
	b.put(join(b.plain[0], "commands/proof.md"), "Read $1.\n")
}

func sharedByLink(b *builder) {
	shared := b.skill("shared")
	b.link("plugins/a/skills/borrowed", "../../../"+shared)
	b.link("plugins/b/skills/foreign", "../../../../elsewhere/skills/foreign")
	b.add(Skill{Dir: "plugins/b/skills/foreign", Why: "its directory is a link out of the repository"})
	b.link("plugins/b/lib", "skills")
}

const allSources = `{"name": "press", "source": "./plugins/press"},
 {"name": "p2", "source": {"source": "github", "repo": "acme/p2", "ref": "v1"}},
 {"name": "p3", "source": {"source": "url", "url": "https://git.acme.example/p3.git", "ref": "main", "sha": "0123456789abcdef0123456789abcdef01234567"}},
 {"name": "p4", "source": {"source": "git-subdir", "url": "https://git.acme.example/all.git", "path": "plugins/p4"}},
 {"name": "p5", "source": {"source": "npm", "package": "@acme/p5", "version": "^2.0.0", "registry": "https://packages.acme.example/"}},
 {"name": "p6", "source": {"source": "archive", "url": "https://files.acme.example/p6.zip", "sha256": "9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b9b"}},
 {"name": "p7", "source": {"source": "command", "command": "fetch-p7"}},
 {"name": "p8", "source": {"source": "balloon", "to": "p8"}}`
