package fieldcorpus

import "strings"

// clientRecipes are repositories of plain skills and of each client's own directories.
var clientRecipes = []recipe{
	{form: "agent-skills", roots: []string{"skills"}, notes: []string{"Skills lie in skills/."}},
	{form: "agent-skills", roots: []string{"."}, notes: []string{"Skills are children of the root."}},
	{form: "agent-skills", roots: []string{"tools"}, each: 2, clean: true, more: rootSkill, notes: []string{"SKILL.md lies in the root, and its directory is the whole repository.", "Other skills lie below the skill of the root."}},
	{form: "agent-skills", roots: []string{"."}, each: 1, clean: true, more: rootSkill, notes: []string{"SKILL.md lies in the root beside one child."}},
	{form: "agent-skills", roots: []string{"skills/.curated", "skills/.experimental", "skills/.system", "skills"}, each: 3, notes: []string{"Skills lie in skills/.curated, skills/.experimental and skills/.system."}},
	{form: "agent-skills", roots: []string{".agents/skills"}, more: linkedForClaude, notes: []string{"Skills lie in .agents/skills, with a link to each directory in .claude/skills."}},
	{form: "agent-skills", roots: []string{"packages/web/.agents/skills", "packages/api/.agents/skills", "apps/desk/.claude/skills"}, each: 3, notes: []string{"A repository of several packages has skills in each."}},
	{form: "agent-skills", roots: []string{"catalog/one/two"}, files: discovery, notes: []string{"A site offers its skills in .well-known/agent-skills/index.json.", "Skills lie in no known directory and are found by depth."}},

	{form: "claude", roots: []string{".claude/skills"}, files: claudeProject, notes: []string{"Claude Code reads .claude/skills, commands, agents and rules."}},
	{form: "claude", roots: []string{".claude/skills", "apps/web/.claude/skills"}, each: 4, files: claudeProject, more: claudeFields, notes: []string{"Claude Code reads nested .claude/skills when it touches a file there."}},
	{form: "codex", roots: []string{".agents/skills", ".codex/skills", "service/.agents/skills"}, each: 3, files: codexProject, more: openaiFiles, notes: []string{"Codex reads .agents/skills of each directory and .codex/skills.", "A skill has agents/openai.yaml for Codex."}},
	{form: "cursor", roots: []string{".cursor/skills"}, files: cursorProject, notes: []string{"Cursor reads .cursor/skills, rules in .mdc files, commands, agents and hooks."}},
	{form: "cursor", roots: []string{".cursor/skills", ".agents/skills", ".codex/skills"}, each: 3, files: cursorProject + agentsFile, notes: []string{"Cursor reads four directories of skills."}},
	{form: "copilot", roots: []string{".github/skills"}, files: copilotProject, notes: []string{"Copilot reads .github/skills, agents, instructions and prompts."}},
	{form: "copilot", roots: []string{".github/skills", ".claude/skills"}, each: 4, files: copilotProject + agentsFile, notes: []string{"Copilot reads .claude/skills too; the MCP file of VS Code has the key servers."}},
	{form: "gemini", roots: []string{".gemini/skills", ".agents/skills"}, each: 4, files: geminiProject, notes: []string{"Gemini CLI reads .gemini/skills, and commands in TOML."}},
	{form: "gemini", roots: []string{"skills"}, files: geminiExtension, notes: []string{"A Gemini extension has its manifest in gemini-extension.json, with the MCP servers."}},
	{form: "opencode", roots: []string{".opencode/skills"}, files: opencodeProject, notes: []string{"opencode reads .opencode/skills, commands and agents, and opencode.json."}},
	{form: "opencode", roots: []string{".opencode/skills", ".claude/skills", ".agents/skills"}, each: 3, files: opencodeProject + agentsFile, notes: []string{"opencode reads three directories of skills."}},
	{form: "antigravity", roots: []string{".agents/skills"}, files: antigravityProject, notes: []string{"Antigravity keeps workflows, agents, rules, hooks and MCP servers in .agents."}},
	{form: "windsurf", roots: []string{".windsurf/skills", ".devin/skills"}, each: 4, files: "-- .windsurf/workflows/release.md --\n# Release\n\n1. Run the tests.\n-- .windsurf/rules/style.md --\nShort sentences.\n-- .devin/agents/reader.md --\n---\nname: reader\n---\nRead first.\n" + agentsFile, notes: []string{"Windsurf and Devin read .windsurf/skills and .devin/skills."}},
	{form: "goose", roots: []string{".goose/skills"}, files: "-- .goosehints --\nUse the skills.\n-- .goose/recipes/weekly.yaml --\nversion: 1.0.0\ntitle: Weekly\nprompt: Write the week up.\n-- .goose/agents/clerk.md --\n---\nname: clerk\n---\nFile it.\n-- .agents/plugins/press/plugin.json --\n" + manifest("press", ""), notes: []string{"Goose reads .goose/skills, recipes, agents, .goosehints and .agents/plugins."}},
	{form: "crush", roots: []string{".crush/skills", "extra/skills"}, each: 4, files: "-- CRUSH.md --\n# {name}\n\nKeep it small.\n-- crush.json --\n{\"options\": {\"skills_paths\": [\"./extra/skills\"]}}\n" + agentsFile, notes: []string{"Crush reads .crush/skills and the paths of options.skills_paths."}},
	{form: "amp", roots: []string{".agents/skills"}, files: "-- .amp/settings.json --\n{\"amp.mcpServers\": {\"desk\": {\"command\": \"desk-mcp\"}}}\n-- .amp/plugins/desk/README.md --\nA plugin.\n" + agentsFile, notes: []string{"Amp reads .agents/skills, .amp/plugins and .amp/settings.json."}},
	{form: "cline", roots: []string{".cline/skills"}, files: "-- .clinerules/style.md --\nShort sentences.\n-- .clinerules/workflows/tidy.md --\n# Tidy\n\nSort the imports.\n-- .cline/agents/tidy.md --\n---\nname: tidy\n---\nSort.\n", notes: []string{"Cline reads .cline/skills, .clinerules and its workflows."}},
	{form: "kiro", roots: []string{".kiro/skills"}, files: kiroProject, notes: []string{"Kiro reads .kiro/skills, steering files, prompts and agents."}},
	{form: "zed", roots: []string{".agents/skills"}, files: "-- .rules --\nShort sentences.\n-- .zed/settings.json --\n// comments are allowed here\n{\"context_servers\": {\"desk\": {\"command\": \"desk-mcp\", \"args\": []}}}\n", notes: []string{"Zed reads .agents/skills, .rules and context_servers."}},
	{form: "warp", roots: []string{".warp/skills", ".agents/skills"}, each: 4, files: "-- .mcp.json --\n{\"mcpServers\": {\"desk\": {\"command\": \"desk-mcp\", \"args\": [\"--stdio\"], \"env\": {\"DESK_KEY\": \"${DESK_KEY:-none}\"}}}}\n" + agentsFile, notes: []string{"Warp reads .warp/skills and .agents/skills, and .mcp.json."}},
	{form: "agents-md", roots: []string{".agents/skills"}, each: 3, files: agentsFile, more: func(b *builder) { b.link("CLAUDE.md", "AGENTS.md"); b.link("GEMINI.md", "AGENTS.md") }, notes: []string{"CLAUDE.md and GEMINI.md are links to AGENTS.md."}},
	{form: "agents-md", roots: []string{".agents/skills"}, each: 3, files: agentsFile + "-- CLAUDE.md --\n@AGENTS.md\n-- GEMINI.md --\n# {name}\n\nSee AGENTS.md.\n-- service/AGENTS.md --\nThe service has its own rules.\n-- service/deep/AGENTS.md --\nSo has this.\n", notes: []string{"CLAUDE.md imports AGENTS.md with @, and directories have their own AGENTS.md."}},
	{form: "agents-md", roots: []string{".agents/skills", ".kiro/skills"}, each: 3, files: "-- agents.md --\nLower case.\n-- docs/AGENTS.md --\n---\ndescription: front matter, which the form does not have\n---\nText.\n", notes: []string{"AGENTS.md is written in lower case, and another has front matter."}},
}

// rootSkill puts a skill into the root, so that its directory is the whole repository.
func rootSkill(b *builder) {
	_, theme, craft := b.name()
	b.skillAt(".", b.project(), theme, craft)
}

func linkedForClaude(b *builder) {
	for _, dir := range b.plain {
		b.link(".claude/skills/"+strings.TrimPrefix(dir, ".agents/skills/"), "../../"+dir)
	}
}

func openaiFiles(b *builder) {
	for i, dir := range b.plain {
		text := "interface:\n  display_name: Desk\n  short_description: A desk\n  brand_color: \"#0a7\"\n  icon_small: assets/small.png\n  default_prompt: Make the table\npolicy:\n  allow_implicit_invocation: false\ndependencies:\n  tools: []\n"
		if i == 1 {
			text = "interface: [broken\n"
			b.note("%s: agents/openai.yaml is broken, which Codex ignores.", dir)
		}
		b.put(join(dir, "agents/openai.yaml"), text)
	}
}

// claudeFields adds the fields that only Claude Code knows, and a hook.
func claudeFields(b *builder) {
	b.put(".claude/skills/press-run/SKILL.md", "---\nname: press-run\ndescription: Runs the press. Use when a page is ready.\ndisable-model-invocation: true\nargument-hint: \"[page]\"\nmodel: haiku\ncontext: fork\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./scripts/ask.sh\n---\n\nPrint $ARGUMENTS.\n")
	b.program(".claude/skills/press-run/scripts/ask.sh", "#!/bin/sh\nexit 0\n", true)
	b.add(Skill{Name: "press-run", Dir: ".claude/skills/press-run", Warn: "it has fields of Claude Code, which the format does not know"})
}
