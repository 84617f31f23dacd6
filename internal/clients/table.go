package clients

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Name is the name of the entry in every client.
const Name = "rye"

// Scope decides which file holds an entry.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // the user's file, for every directory
	Project Scope = "project" // the project's file, which colleagues share
)

// Scopes are all scopes, in the order for display.
var Scopes = []Scope{User, Project}

// Client is a program that starts, or calls, MCP servers.
type Client struct {
	Name    string // as people type it: "claude-code"
	Title   string // its name for people: "Claude Code"
	Calls   string // its name for servers (clientInfo.name); "" when not known
	Program string // its program on PATH; "" for none
	Follows bool   // it starts servers in the user's working directory

	format  format
	servers string // the member that holds the servers
	shape   shape
	ref     string // the reference to an environment variable in a text, %s being its name; "" for none

	user            []string // candidates for the user's file: the first that exists, or the first
	darwin, windows []string // the same on these systems, if different
	project         []string // the same in a project; nil when it reads none
}

// all are the clients that rye knows. Paths and shapes come from the clients' own output
// (claude, codex, gemini and opencode), from their documentation, or from add-mcp 2.4.0. ~ is
// the home directory; see Machine.path for the other beginnings.
var all = []Client{
	{Name: "claude-code", Title: "Claude Code", Calls: "claude-code", Program: "claude", Follows: true,
		format: strict, servers: "mcpServers", shape: claudeCode, ref: "${%s}",
		user: []string{"~/.claude.json"}, project: []string{".mcp.json"}},
	{Name: "claude-desktop", Title: "Claude Desktop", Calls: "claude-ai",
		format: strict, servers: "mcpServers", shape: shape{},
		user: []string{"@app/Claude/claude_desktop_config.json"}},
	{Name: "cursor", Title: "Cursor", Calls: "cursor-vscode", Program: "cursor",
		format: commented, servers: "mcpServers", shape: shape{url: "url"}, ref: "${env:%s}",
		user: []string{"~/.cursor/mcp.json"}, project: []string{".cursor/mcp.json"}},
	{Name: "windsurf", Title: "Windsurf", Program: "windsurf",
		format: strict, servers: "mcpServers", shape: shape{url: "serverUrl"}, ref: "${env:%s}",
		user: []string{"~/.codeium/windsurf/mcp_config.json"}},
	{Name: "vscode", Title: "VS Code", Calls: "Visual Studio Code", Program: "code",
		format: commented, servers: "servers", shape: typed, ref: "${env:%s}",
		user: []string{"@app/Code/User/mcp.json"}, project: []string{".vscode/mcp.json"}},
	{Name: "zed", Title: "Zed", Calls: "Zed", Program: "zed",
		format: commented, servers: "context_servers", shape: zed,
		user:   []string{"@xdg/zed/settings.json"},
		darwin: []string{"~/.config/zed/settings.json", "@app/Zed/settings.json"}, windows: []string{"@app/Zed/settings.json"},
		project: []string{".zed/settings.json"}},
	{Name: "codex", Title: "Codex", Calls: "codex-mcp-client", Program: "codex", Follows: true,
		format: tables, servers: "mcp_servers", shape: codex, ref: "%s",
		user: []string{"$CODEX_HOME:~/.codex/config.toml"}, project: []string{".codex/config.toml"}},
	{Name: "gemini-cli", Title: "Gemini CLI", Calls: "gemini-cli-mcp-client", Program: "gemini", Follows: true,
		format: commented, servers: "mcpServers", shape: shape{url: "url", remote: object{{name: "type", value: "http"}}}, ref: "${%s}",
		user: []string{"~/.gemini/settings.json"}, project: []string{".gemini/settings.json"}},
	{Name: "opencode", Title: "opencode", Calls: "opencode", Program: "opencode", Follows: true,
		format: commented, servers: "mcp", shape: opencode, ref: "{env:%s}",
		user:    []string{"@xdg/opencode/opencode.jsonc", "@xdg/opencode/opencode.json"},
		project: []string{"opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json"}},
	{Name: "goose", Title: "goose", Program: "goose", Follows: true,
		format: block, servers: "extensions", shape: goose,
		user: []string{"@xdg/goose/config.yaml"}, darwin: []string{"~/.config/goose/config.yaml"}, windows: []string{"@app/Block/goose/config/config.yaml"},
		project: []string{".goose/config.yaml"}},
	{Name: "crush", Title: "Crush", Program: "crush", Follows: true,
		format: strict, servers: "mcp", shape: typed, ref: "$%s",
		user: []string{"@xdg/crush/crush.json"}, windows: []string{"@local/crush/crush.json"},
		project: []string{".crush.json", "crush.json"}},
	{Name: "amp", Title: "Amp", Program: "amp", Follows: true,
		format: commented, servers: "amp.mcpServers", shape: shape{url: "url"}, ref: "${%s}",
		user: []string{"@xdg/amp/settings.json"}, project: []string{".amp/settings.json"}},
	{Name: "copilot-cli", Title: "GitHub Copilot CLI", Program: "copilot", Follows: true,
		format: strict, servers: "mcpServers", shape: copilot,
		user: []string{"$XDG_CONFIG_HOME:~/.copilot/mcp-config.json"}, project: []string{".mcp.json", ".github/mcp.json"}},
	{Name: "cline", Title: "Cline",
		format: strict, servers: "mcpServers", shape: cline,
		user: []string{"@app/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"}},
	{Name: "cline-cli", Title: "Cline CLI", Program: "cline", Follows: true,
		format: strict, servers: "mcpServers", shape: cline,
		user: []string{"$CLINE_DIR:~/.cline/data/settings/cline_mcp_settings.json"}},
	{Name: "kiro", Title: "Kiro", Program: "kiro-cli", Follows: true,
		format: strict, servers: "mcpServers", shape: shape{url: "url"}, ref: "${%s}",
		user: []string{"~/.kiro/settings/mcp.json"}, project: []string{".kiro/settings/mcp.json"}},
	{Name: "kimi", Title: "Kimi Code", Program: "kimi", Follows: true,
		format: strict, servers: "mcpServers", shape: kimi,
		user: []string{"$KIMI_CODE_HOME:~/.kimi-code/mcp.json"}, project: []string{".kimi-code/mcp.json"}},
	{Name: "antigravity", Title: "Antigravity", Program: "antigravity",
		format: strict, servers: "mcpServers", shape: shape{url: "serverUrl"},
		user: []string{"~/.gemini/config/mcp_config.json"}},
	{Name: "grok", Title: "Grok Build", Program: "grok", Follows: true,
		format: tables, servers: "mcp_servers", shape: shape{url: "url"},
		user: []string{"$GROK_HOME:~/.grok/config.toml"}, project: []string{".grok/config.toml"}},
	{Name: "kilo", Title: "Kilo Code", Program: "kilo", Follows: true,
		format: commented, servers: "mcp", shape: opencode, ref: "{env:%s}",
		user:    []string{"@xdg/kilo/kilo.json", "@xdg/kilo/kilo.jsonc"},
		project: []string{"kilo.json", "kilo.jsonc", ".kilo/kilo.json", ".kilo/kilo.jsonc"}},
}

// All returns every client that rye knows.
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
	err := fault.New(fault.NotFound, "no MCP client %q is known", words.Brief(name))
	for _, c := range all {
		if n, ok := words.Near(name, c.Name); ok && n <= 2 {
			return Client{}, err.Advise("%s?", c.Name)
		}
	}
	return Client{}, err.Advise("one of %s; configure any other client to start: rye mcp", strings.Join(Names(), ", "))
}

// Has reports whether the client reads a file of that scope.
func (c Client) Has(s Scope) bool { return s == User || c.project != nil }
