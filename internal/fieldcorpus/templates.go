package fieldcorpus

import "embed"

//go:embed templates/*.txt
var templates embed.FS

// The files of a client or a standard, as archives for the method archive.
var (
	agentMCP           = template("agent-mcp")
	agentsFile         = template("agents-file")
	antigravityProject = template("antigravity-project")
	badMCP             = template("bad-mcp")
	claudeMCP          = template("claude-mcp")
	claudeParts        = template("claude-parts")
	claudePlugin       = template("claude-plugin")
	claudeProject      = template("claude-project")
	codexMarket        = template("codex-market")
	codexProject       = agentsFile + template("codex-project")
	commonFiles        = template("common-files")
	copilotProject     = template("copilot-project")
	cursorProject      = template("cursor-project")
	discovery          = template("discovery")
	geminiExtension    = template("gemini-extension")
	geminiProject      = template("gemini-project")
	gitFiles           = template("git-files")
	kiroProject        = template("kiro-project")
	opencodeProject    = template("opencode-project")
)

func template(name string) string {
	text, err := templates.ReadFile("templates/" + name + ".txt")
	if err != nil {
		panic(err) // it is compiled in
	}
	return string(text)
}
