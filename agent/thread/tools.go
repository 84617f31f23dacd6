package thread

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
)

// A model works through rye's own four verbs and, where its directive declares outputs, a
// fifth that returns them. What it may not do at all it is not offered.

// Names of the tools, which every provider's pattern allows.
const (
	toolPrefix  = "rye_"
	toolSearch  = toolPrefix + "search"
	toolLoad    = toolPrefix + "load"
	toolExecute = toolPrefix + "execute"
	toolSign    = toolPrefix + "sign"
	toolReturn  = "directive_return"
)

// returnID is the tool of RYE OS that its directives name to return their outputs.
const returnID = "rye/agent/threads/directive_return"

const kindSchema = `{"type":"string","enum":["directive","tool","knowledge","config"]}`

var verbTools = []provider.Tool{
	{Name: toolExecute, Description: "Run a tool and return its result, or return a directive or a knowledge entry to follow.",
		Schema: json.RawMessage(`{"type":"object","properties":{"item_type":` + kindSchema + `,"item_id":{"type":"string","description":"Such as acme/hello"},"parameters":{"type":"object","description":"The tool's parameters, or the directive's inputs"}},"required":["item_type","item_id"]}`)},
	{Name: toolLoad, Description: "Read one item's text.",
		Schema: json.RawMessage(`{"type":"object","properties":{"item_type":` + kindSchema + `,"item_id":{"type":"string"}},"required":["item_type","item_id"]}`)},
	{Name: toolSearch, Description: "Find directives, tools and knowledge by words.",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"scope":{"type":"string","description":"Kind and namespace: tool, tool.acme.*"},"limit":{"type":"integer"}},"required":["query"]}`)},
	{Name: toolSign, Description: "Ask a person to approve and sign an item that was written or edited.",
		Schema: json.RawMessage(`{"type":"object","properties":{"item_type":` + kindSchema + `,"item_id":{"type":"string"}},"required":["item_type","item_id"]}`)},
}

// offered returns the tools that a thread may call at all, sorted by name.
func offered(d *Description) (tools []provider.Tool) {
	for _, t := range verbTools {
		verb := strings.TrimPrefix(t.Name, toolPrefix)
		if slices.ContainsFunc(d.Capabilities, func(c string) bool {
			return c == "rye.*" || strings.HasPrefix(c, "rye."+verb+".") || c == "rye."+verb || strings.HasPrefix(c, "rye.*")
		}) {
			tools = append(tools, t)
		}
	}
	if len(d.Outputs) > 0 {
		tools = append(tools, returnTool(d))
	}
	slices.SortFunc(tools, func(a, b provider.Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

// returnTool takes the outputs of a directive.
func returnTool(d *Description) provider.Tool {
	props, required := map[string]any{}, []string{}
	for _, o := range d.Outputs {
		props[o.Name] = map[string]any{"type": "string", "description": o.Description}
		if o.Required {
			required = append(required, o.Name)
		}
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "properties": props, "required": required}) // strings only
	return provider.Tool{Name: toolReturn, Description: "Return what the directive asks for, and end.", Schema: schema}
}

// An act is one call of a model, read strictly: what a model misspells is told to it.
type act struct {
	verb    string // execute, load, search, sign or return
	ref     rye.Ref
	name    string // a short name of the item; the project's items decide its meaning
	params  json.RawMessage
	search  rye.SearchRequest
	returns map[string]string
}

// itemArgs are those of the calls that name an item.
type itemArgs struct {
	ItemType   string          `json:"item_type"`
	ItemID     string          `json:"item_id"`
	Parameters json.RawMessage `json:"parameters"`
}

// maxArgs bounds the arguments of one call in bytes.
const maxArgs = 1 << 20

// parseAct reads a call. An error is one for the model.
func parseAct(call *provider.Call) (a act, err error) {
	bad := func(err error) (act, error) {
		return act{}, fault.New(fault.Usage, "arguments of %s: %w", call.Name, err)
	}
	switch call.Name {
	case toolReturn:
		return parseReturn(call.Args)
	case toolSearch:
		var q struct {
			Query, Scope string
			Limit        int
		}
		if err := decodeArgs(call.Args, &q, "query", "scope", "limit"); err != nil {
			return bad(err)
		}
		if q.Limit < 0 || q.Limit > 100 {
			return bad(fmt.Errorf("limit %d: want 1 to 100", q.Limit))
		}
		return act{verb: "search", search: rye.SearchRequest{Query: q.Query, Scope: q.Scope, Limit: q.Limit, Params: true}}, nil
	case toolExecute, toolLoad, toolSign:
		var q itemArgs
		if err := strict.Decode(call.Args, maxArgs, &q); err != nil {
			return bad(err)
		}
		if q.ItemType == "" && objects.IsShort(q.ItemID) {
			a.name = q.ItemID
		}
		if a.ref, err = q.ref(); err != nil && a.name == "" {
			return bad(err)
		}
		err = nil
		a.verb, a.params = strings.TrimPrefix(call.Name, toolPrefix), q.Parameters
		if a.verb == "execute" && string(a.ref.ID) == returnID {
			return parseReturn(q.Parameters)
		}
		return a, nil
	}
	return a, fault.New(fault.Usage, "there is no tool %q", call.Name)
}

// decodeArgs is strict.Decode for a struct whose fields have these names.
func decodeArgs(raw json.RawMessage, into any, names ...string) error {
	var m map[string]json.RawMessage
	if err := strict.Decode(raw, maxArgs, &m); err != nil {
		return err
	}
	for name := range m {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown argument %q", name)
		}
	}
	return json.Unmarshal(raw, into)
}

// ref joins the two halves of a name; an item_id may be a whole ref.
func (q itemArgs) ref() (rye.Ref, error) {
	switch {
	case q.ItemID == "":
		return rye.Ref{}, fault.New(fault.Usage, "item_id is missing")
	case q.ItemType == "":
		return objects.ParseName(q.ItemID)
	}
	return objects.ParseName(q.ItemType + ":" + strings.TrimPrefix(q.ItemID, q.ItemType+":"))
}

func parseReturn(raw json.RawMessage) (act, error) {
	var m map[string]any
	if err := strict.Decode(raw, maxArgs, &m); err != nil {
		return act{}, fault.New(fault.Usage, "arguments of %s: %w", toolReturn, err)
	}
	a := act{verb: "return", returns: map[string]string{}}
	for name, v := range m {
		if s, ok := v.(string); ok {
			a.returns[name] = s
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return act{}, err
		}
		a.returns[name] = string(text)
	}
	return a, nil
}

// missing lists the outputs that were asked for and not returned.
func (a act) missing(d *Description) (names []string) {
	for _, name := range d.required() {
		if strings.TrimSpace(a.returns[name]) == "" {
			names = append(names, name)
		}
	}
	return names
}
