package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// The tools as clients see them, at the start of every conversation: all of them pay for each word
// here. docs/format/mcp.md is normative and has the details.

const (
	kindSchema    = `{"type":"string","enum":["directive","tool","knowledge","config"]}`
	idSchema      = `{"type":"string","description":"such as acme/hello"}`
	projectSchema = `{"type":"string","description":"another project's directory"}`
	detailSchema  = `{"type":"boolean","description":"more detail"}`
)

func searchTool() mcp.Tool {
	return tool("search", "Find directives, tools and knowledge by words or a question. A result has its parameters and, unless it is signed, its state.",
		`"query":{"type":"string","description":"words, \"phrases\", AND, OR, NOT, (), wild*, field:value; * is all"},
		"scope":{"type":"string","description":"kind and namespace: tool.acme.*"},
		"item_type":{"type":"string","enum":["directive","tool","knowledge","config","thread"]},
		"space":{"type":"string","enum":["project","user","system","all","registry"]},
		"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"default 5"},
		"offset":{"type":"integer","minimum":0},
		"detail":`+detailSchema+`,
		"project_path":`+projectSchema, `"query"`, readOnly)
}

func loadTool() mcp.Tool {
	return tool("load", "Read an item's verified text and its signer.",
		`"item_type":`+kindSchema+`,
		"item_id":{"type":"string","description":"such as acme/hello, or a rye:// address"},
		"source":{"type":"string","enum":["project","user","system"],"description":"only from there"},
		"destination":{"type":"string","enum":["project","user"],"description":"copy it there; only a person may"},
		"detail":`+detailSchema+`,
		"project_path":`+projectSchema, `"item_id"`, readOnly)
}

func executeTool() mcp.Tool {
	return tool("execute", "Run a tool, verified and confined; or get a directive to follow, its inputs filled in; or a knowledge entry.",
		`"item_type":`+kindSchema+`,
		"item_id":`+idSchema+`,
		"parameters":{"type":"object","description":"the tool's parameters, or the directive's inputs"},
		"dry_run":{"type":"boolean","description":"check everything, run nothing"},
		"detail":{"type":"boolean","description":"say what ran"},
		"thread":{"type":"boolean","description":"another model follows the directive; a person approves it"},
		"thread_id":{"type":"string","description":"wait for this thread instead"},
		"wait_seconds":{"type":"number","minimum":0,"maximum":600,"description":"for a thread to end (default 50)"},
		"project_path":`+projectSchema, `"item_type","item_id"`, mcp.ToolAnnotation{})
}

func signTool() mcp.Tool {
	return tool("sign", "Make a written or edited item usable: a person is shown the change and approves. With content it is written, too.",
		`"item_type":`+kindSchema+`,
		"item_id":{"type":"string","description":"such as acme/hello; without content also a pattern, such as acme/*"},
		"content":{"type":"string","description":"the whole text of its file, metadata first, as load shows it"},
		"extension":{"type":"string","description":"of a tool's file where content does not tell, like .py"},
		"source":{"type":"string","enum":["project","user"],"description":"the space (default project)"},
		"project_path":`+projectSchema, `"item_type","item_id"`, mcp.ToolAnnotation{DestructiveHint: &no, OpenWorldHint: &no})
}

func tool(name, says, properties, required string, hints mcp.ToolAnnotation) mcp.Tool {
	var schema bytes.Buffer
	raw := `{"type":"object","additionalProperties":false,"properties":{` + properties + `},"required":[` + required + `]}`
	if err := json.Compact(&schema, []byte(raw)); err != nil {
		panic("schema of " + name + ": " + err.Error())
	}
	return mcp.Tool{Meta: atOnce, Name: name, Description: says, RawInputSchema: schema.Bytes(), Annotations: hints}
}

// atOnce asks clients that hide tools behind a search of their own to offer these at once. Claude
// Code 2.1.332 and Qwen Code 0.24.4 do so.
var atOnce = &mcp.Meta{AdditionalFields: map[string]any{"anthropic/alwaysLoad": true}}

// Annotations tell a client how careful to be. Unset ones have the protocol's defaults: destructive
// and open to the world, as execute is.
var (
	yes, no  = true, false
	readOnly = mcp.ToolAnnotation{ReadOnlyHint: &yes, OpenWorldHint: &no}
)

// argumentsOf lists the arguments of a tool.
func argumentsOf(name string) string {
	for _, t := range []mcp.Tool{searchTool(), loadTool(), executeTool(), signTool()} {
		var schema struct{ Properties map[string]json.RawMessage }
		if t.Name == name && json.Unmarshal(t.RawInputSchema, &schema) == nil {
			return strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")
		}
	}
	return "nothing"
}
