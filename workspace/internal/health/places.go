package health

// places are the files and directories below a project's root that agents, or their clients, read: the
// directories of items, the instructions of clients, and the configurations that start programs or servers.
var places = []string{
	".ai/directives", ".ai/tools", ".ai/knowledge", ".ai/config", ".ai/bundles",
	".mcp.json", ".vscode/mcp.json", ".vscode/settings.json", ".vscode/tasks.json", "opencode.json", "opencode.jsonc",
	".aider.conf.yml", "CONVENTIONS.md",
	".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/agents", ".github/chatmodes",
	".github/skills", ".github/hooks",
	"skills", ".claude-plugin", ".cursor-plugin", ".codex-plugin", "gemini-extension.json",
}

// clientDirs are directories of clients. Clients read those of a directory in which they work, so they are
// looked for in the whole project; names in small letters.
var clientDirs = set(".claude", ".agents", ".agent", ".cursor", ".codex", ".gemini", ".opencode", ".kiro", ".windsurf",
	".clinerules", ".roo", ".continue", ".amazonq", ".junie", ".augment", ".qwen", ".factory", ".trae", ".goose")

// inEachDir are the files that clients read in each directory, beside SKILL.md; names in small letters.
var inEachDir = set("agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "warp.md",
	".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".rules", ".mcp.json")

// skipped are directories in which no client looks on its own: they hold the work of other programs.
var skipped = set(".git", "node_modules", "worktrees", ".venv", "venv", ".rye", ".hg", ".svn")

func set(names ...string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, n := range names {
		all[n] = true
	}
	return all
}
