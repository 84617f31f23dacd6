package mcp

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// The tools as clients see them. Output schemas name the fields of answers and
// of errors alike, and require only what both have, because some clients check
// errors against them, too. docs/format/mcp.md is normative.

const kindSchema = `{"type":"string","enum":["directive","tool","knowledge","config"],"description":"What kind of item it is"}`

const projectSchema = `{"type":"string","description":"Directory of a rye project (default: the one the server was started in)"}`

const failureFields = `
  "code":{"type":"string","description":"On failure: what class of failure, e.g. not_found, integrity, untrusted, denied"},
  "message":{"type":"string","description":"On failure: what was refused, and why"},
  "hint":{"type":"string","description":"On failure: a command that mends it, for a person"}`

func searchTool() mcp.Tool {
	return mcp.Tool{
		Name: "search", Title: "Search items",
		Description: "Find directives, tools and knowledge by name, description, category and tags.\n" +
			"The query takes words, \"phrases\", AND, OR, NOT, parentheses, wild* and field:value; * alone lists everything.\n" +
			"Narrow it with scope (tool, or tool.acme.*), item_type or space. Results say how far each item can be trusted (state).",
		RawInputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
  "query":{"type":"string","description":"What to look for"},
  "scope":{"type":"string","description":"Kind and namespace in capability form: directive, tool, knowledge, tool.acme.*"},
  "item_type":` + kindSchema + `,
  "space":{"type":"string","enum":["project","user","system","all"],"description":"Where to look (default: all)"},
  "limit":{"type":"integer","minimum":1,"maximum":1000,"description":"How many results (default: 10)"},
  "offset":{"type":"integer","minimum":0,"description":"How many results to leave out first"},
  "project_path":` + projectSchema + `
},"required":["query"]}`),
		RawOutputSchema: json.RawMessage(`{"type":"object","properties":{
  "results":{"type":"array","items":{"type":"object","properties":{
    "id":{"type":"string"},"type":{"type":"string"},"name":{"type":"string"},"title":{"type":"string"},
    "description":{"type":"string"},"source":{"type":"string"},"path":{"type":"string"},
    "score":{"type":"number"},"match":{"type":"array","items":{"type":"string"}},
    "state":{"type":"string"},"signed":{"type":"boolean"},"metadata":{"type":"object"}
  },"required":["id","type","source","score","state"]}},
  "total":{"type":"integer"},"query":{"type":"string"},"scope":{"type":"string"},"space":{"type":"string"},
  "limit":{"type":"integer"},"offset":{"type":"integer"},"status":{"type":"string"},` + failureFields + `
}}`),
		Annotations: hints("Search items", true, false, true, false),
	}
}

func loadTool() mcp.Tool {
	return mcp.Tool{
		Name: "load", Title: "Load an item",
		Description: "Read one item's text. It is verified first; what was altered or is not trusted is refused.\n" +
			"Without source the project's item comes before the user's, and that before the standard library's.",
		RawInputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
  "item_type":` + kindSchema + `,
  "item_id":{"type":"string","description":"The id, such as acme/hello"},
  "source":{"type":"string","enum":["project","user","system"],"description":"Only from this space"},
  "destination":{"type":"string","enum":["project","user"],"description":"Copy it to this space; a person has to do that: rye load --to"},
  "project_path":` + projectSchema + `
},"required":["item_type","item_id"]}`),
		RawOutputSchema: json.RawMessage(`{"type":"object","properties":{
  "status":{"type":"string"},"item_type":{"type":"string"},"item_id":{"type":"string"},
  "content":{"type":"string","description":"The file, byte for byte, with its signature line"},
  "source":{"type":"string"},"path":{"type":"string"},"metadata":{"type":"object"},
  "copied_to":{"type":"string"},"destination_path":{"type":"string"},` + failureFields + `
},"required":["status"]}`),
		Annotations: hints("Load an item", true, false, true, false),
	}
}

func executeTool() mcp.Tool {
	return mcp.Tool{
		Name: "execute", Title: "Execute an item",
		Description: "Run a tool and return its result; or return a directive with its inputs filled in, for you to follow; or a knowledge entry to use.\n" +
			"Everything that runs is verified, down to the runtime, and confined. dry_run checks all of it and runs nothing.",
		RawInputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
  "item_type":` + kindSchema + `,
  "item_id":{"type":"string","description":"The id, such as acme/hello"},
  "parameters":{"type":"object","description":"The tool's parameters, or the directive's inputs","additionalProperties":true},
  "dry_run":{"type":"boolean","description":"Check everything, run nothing (default: false)"},
  "thread":{"type":"boolean","description":"Let another model carry out the directive, as a thread; a person approves it (default: false)"},
  "thread_id":{"type":"string","description":"Wait for this thread instead, which was started before"},
  "wait_seconds":{"type":"number","minimum":0,"maximum":600,"description":"How long to wait for a thread to end (default: 50); its id is returned in any case"},
  "project_path":` + projectSchema + `
},"required":["item_type","item_id"]}`),
		RawOutputSchema: json.RawMessage(`{"type":"object","properties":{
  "status":{"type":"string","enum":["success","error","validation_passed"]},
  "type":{"type":"string"},"item_id":{"type":"string"},
  "data":{"description":"What the tool answered; a directive's or entry's fields, its text in body"},
  "inputs":{"type":"object"},"instructions":{"type":"string"},"error":{"type":"string"},"exit":{"type":"integer"},
  "chain":{"type":"array","items":{"type":"object"},"description":"Each verified element of what ran"},
  "metadata":{"type":"object"},` + failureFields + `
},"required":["status"]}`),
		Annotations: hints("Execute an item", false, true, false, true),
	}
}

func signTool() mcp.Tool {
	return mcp.Tool{
		Name: "sign", Title: "Sign items",
		Description: "Sign an item that was written or edited, so that it can be used. A person is shown the change and has to approve it.\n" +
			"item_id may be a pattern with * and ?.",
		RawInputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
  "item_type":` + kindSchema + `,
  "item_id":{"type":"string","description":"The id, such as acme/hello, or a pattern, such as acme/*"},
  "source":{"type":"string","enum":["project","user"],"description":"The space to sign in (default: project)"},
  "project_path":` + projectSchema + `
},"required":["item_type","item_id"]}`),
		RawOutputSchema: json.RawMessage(`{"type":"object","properties":{
  "status":{"type":"string","enum":["signed","unchanged","completed","error"]},
  "item_id":{"type":"string"},"path":{"type":"string"},"location":{"type":"string"},
  "signature":{"type":"object","properties":{"timestamp":{"type":"string"},"hash":{"type":"string"},"pubkey_fp":{"type":"string"}}},
  "signed":{"type":"array","items":{"type":"string"}},"failed":{"type":"array","items":{"type":"object"}},
  "total":{"type":"integer"},"summary":{"type":"string"},"commit":{"type":"string"},` + failureFields + `
},"required":["status"]}`),
		Annotations: hints("Sign items", false, false, true, false),
	}
}

// hints tell a client how careful to be. Without them the protocol's defaults
// call every tool destructive and open to the world.
func hints(title string, readOnly, destructive, idempotent, openWorld bool) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{
		Title: title, ReadOnlyHint: &readOnly, DestructiveHint: &destructive,
		IdempotentHint: &idempotent, OpenWorldHint: &openWorld,
	}
}
