// Package places knows in which directories clients read skills, commands, agents and rules, and
// in which form.
//
// The table is compiled in: no file of a project decides where rye writes. A client is marked as
// tried if its own program listed exported skills; the others are known from their
// documentation and from tables of other tools, which the field facts of 2026-11 name.
package places

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Form is the form in which a client reads a command or a rule.
type Form string

// The forms.
const (
	Markdown     Form = "markdown"     // front matter with a description, and text
	TOML         Form = "toml"         // prompt and description, as Gemini CLI reads commands
	Skill        Form = "skill"        // a skill of its own, where commands are no longer read
	MDC          Form = "mdc"          // Cursor's rules: description, globs, alwaysApply
	Paths        Form = "paths"        // Claude Code's rules: paths
	Instructions Form = "instructions" // Copilot's: description, applyTo
	Steering     Form = "steering"     // Kiro's: inclusion
	Plain        Form = "plain"        // Markdown without front matter
)

// Dir is a directory of a client: a slash path below the project, or with ~ or @xdg in front below
// the user's home or configuration. "" is none.
type Dir struct {
	Path string
	Form Form
}

// Trial is a version of a client that listed files that rye exported, and the command that did.
// The peer tests repeat it.
type Trial struct{ Version, Command string }

// String is the version and the command, "" for no trial.
func (t Trial) String() string {
	if t.Version == "" {
		return ""
	}
	return t.Version + ": " + t.Command
}

// Client is a program that reads skills.
type Client struct {
	Name  string // as people type it: "claude-code"
	Title string // its name for people
	Tried Trial  // how its own program was seen to read exported files; by documents only if empty

	Skills   string // for a project
	Commands Dir
	Agents   string // Markdown with front matter; "" where it has another form
	Rules    Dir

	UserSkills   string
	UserCommands Dir

	Session string // the folder of a plugin that acts when a session starts; "" where rye writes none
}

// SessionSkill is the name of that folder. No skill gets it.
const SessionSkill = "rye-session"

// Shared is the directory of skills that most clients read.
const Shared = ".agents/skills"

const userShared = "~/.agents/skills"

// all is the table, sorted by name.
var all = []Client{
	{Name: "agents", Title: "every client that reads .agents/skills", Skills: Shared, Commands: Dir{Shared, Skill}, UserSkills: userShared, UserCommands: Dir{userShared, Skill}},
	{Name: "amp", Title: "Amp", Skills: Shared, Commands: Dir{Shared, Skill}, UserSkills: "@xdg/agents/skills", UserCommands: Dir{"@xdg/agents/skills", Skill}},
	{Name: "antigravity", Title: "Antigravity", Skills: Shared, Commands: Dir{".agents/workflows", Plain}, Agents: ".agents/agents", Rules: Dir{".agents/rules", Plain}},
	{Name: "claude-code", Title: "Claude Code", Tried: Trial{"2.1.329", "claude -p --output-format stream-json"}, Skills: ".claude/skills", Commands: Dir{".claude/commands", Markdown}, Agents: ".claude/agents",
		Rules: Dir{".claude/rules", Paths}, Session: ".claude/skills/" + SessionSkill, UserSkills: "~/.claude/skills", UserCommands: Dir{"~/.claude/commands", Markdown}},
	{Name: "cline", Title: "Cline", Skills: Shared, Commands: Dir{".clinerules/workflows", Plain}, Agents: ".cline/agents", Rules: Dir{".clinerules", Plain}},
	{Name: "codex", Title: "Codex", Tried: Trial{"0.169.0", "codex debug prompt-input"}, Skills: Shared, Commands: Dir{Shared, Skill}, UserSkills: userShared, UserCommands: Dir{userShared, Skill}},
	{Name: "copilot", Title: "VS Code and GitHub Copilot", Tried: Trial{"1.0.102", "copilot skill list"}, Skills: Shared, Commands: Dir{Shared, Skill}, Agents: ".github/agents",
		Rules: Dir{".github/instructions", Instructions}, UserSkills: userShared, UserCommands: Dir{userShared, Skill}},
	{Name: "crush", Title: "Crush", Skills: Shared, Commands: Dir{Shared, Skill}, UserSkills: userShared, UserCommands: Dir{userShared, Skill}},
	{Name: "cursor", Title: "Cursor", Skills: Shared, Commands: Dir{".cursor/commands", Markdown}, Agents: ".cursor/agents",
		Rules: Dir{".cursor/rules", MDC}, UserSkills: "~/.cursor/skills"},
	{Name: "gemini-cli", Title: "Gemini CLI", Tried: Trial{"0.61.0", "gemini skills list"}, Skills: Shared, Commands: Dir{".gemini/commands", TOML}, Agents: ".gemini/agents",
		UserSkills: userShared, UserCommands: Dir{"~/.gemini/commands", TOML}},
	{Name: "goose", Title: "Goose", Skills: Shared, Commands: Dir{Shared, Skill}, Agents: ".goose/agents", UserSkills: "@xdg/agents/skills", UserCommands: Dir{"@xdg/agents/skills", Skill}},
	{Name: "kiro", Title: "Kiro", Skills: ".kiro/skills", Commands: Dir{".kiro/prompts", Markdown}, Agents: ".kiro/agents",
		Rules: Dir{".kiro/steering", Steering}, UserSkills: "~/.kiro/skills", UserCommands: Dir{"~/.kiro/prompts", Markdown}},
	{Name: "opencode", Title: "opencode", Tried: Trial{"1.18.33", "opencode debug skill"}, Skills: Shared, Commands: Dir{".opencode/commands", Markdown}, Agents: ".opencode/agents",
		UserSkills: userShared, UserCommands: Dir{"@xdg/opencode/commands", Markdown}},
	{Name: "warp", Title: "Warp", Skills: Shared, Commands: Dir{Shared, Skill}, UserSkills: userShared, UserCommands: Dir{userShared, Skill}},
	{Name: "windsurf", Title: "Windsurf", Skills: Shared, Commands: Dir{".windsurf/workflows", Plain}, Agents: ".devin/agents",
		Rules: Dir{".windsurf/rules", Plain}, UserSkills: "~/.codeium/windsurf/skills"},
	{Name: "zed", Title: "Zed", Skills: Shared, Commands: Dir{Shared, Skill}, UserSkills: userShared, UserCommands: Dir{userShared, Skill}},
}

// All returns the table.
func All() []Client { return slices.Clone(all) }

// Names returns the names of all clients.
func Names() (names []string) {
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// Find returns the client with a name. An unknown name is fault.NotFound.
func Find(name string) (Client, error) {
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
	}
	err := fault.New(fault.NotFound, "export: no client %q is known", words.Brief(name))
	for _, c := range all {
		if n, ok := words.Near(name, c.Name); ok && n <= 2 {
			return Client{}, err.Advise("%s?", c.Name)
		}
	}
	return Client{}, err.Advise("one of %s", strings.Join(Names(), ", "))
}

// Reserved reports whether a client refuses a name for a skill, or rye has another use for it there.
func (c Client) Reserved(skill string) bool {
	return c.Name == "claude-code" && skill == "synced" || c.Session != "" && skill == SessionSkill
}

// Base separates a directory of the table into the directory that holds it, "" for the project,
// "~" for the home, "@xdg" for the configuration, and the slash path below.
func Base(dir string) (base, rest string) {
	for _, b := range []string{"~", "@xdg"} {
		if rest, ok := strings.CutPrefix(dir, b+"/"); ok {
			return b, rest
		}
	}
	return "", dir
}
