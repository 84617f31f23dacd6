package foreign

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/rye-os/rye/internal/words"
)

// serverFiles are the files in which clients keep MCP servers, with the field that holds them. A
// path with a slash is matched at its end.
var serverFiles = map[string][]string{
	".mcp.json":             {"mcpServers", ""},
	"mcp.json":              {"mcpServers", "servers"},
	".gemini/settings.json": {"mcpServers"},
	"opencode.json":         {"mcp"},
	"mcp_config.json":       {"mcpServers"},
	".codex/config.toml":    {"mcp_servers"},
}

// servers names the MCP servers of a client's file. ok is false for another file.
func servers(f File) (why string, ok bool) {
	keys, ok := serverFiles[path.Base(f.Path)]
	if !ok {
		if keys, ok = serverFiles[path.Join(path.Base(path.Dir(f.Path)), path.Base(f.Path))]; !ok {
			return "", false
		}
	}
	if len(f.Data) > maxManifest {
		return "its MCP servers do not come in; it is too large to name them", true
	}
	var names []string
	if path.Ext(f.Path) == ".toml" {
		var m map[string]any
		if toml.Unmarshal(f.Data, &m) == nil {
			if in, is := m[keys[0]].(map[string]any); is {
				names = slices.Collect(maps.Keys(in))
			}
		}
	} else if m, err := readFields(f.Data); err == nil {
		for _, key := range keys {
			if key == "" && m["mcpServers"] == nil {
				names = slices.Collect(maps.Keys(m)) // without a field around them
			} else {
				names = append(names, serverNames(m[key])...)
			}
		}
	}
	slices.Sort(names)
	for i := range names {
		names[i] = words.Quote(words.Brief(names[i]))
	}
	if len(names) == 0 {
		return "it names no MCP servers that rye can read, and none come in", true
	}
	return "its MCP servers do not come in: " + strings.Join(names, ", "), true
}

// serverNames returns the names in an object of servers, as they can be printed.
func serverNames(raw json.RawMessage) (names []string) {
	var m map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		names = append(names, words.Quote(words.Brief(name)))
	}
	return names
}
