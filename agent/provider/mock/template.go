package mock

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects/expr"
)

// roots are the first parts of the names in templates.
var roots = []string{"turn", "model", "format", "digest", "max_output", "system", "prompt", "last", "tools", "result"}

// checkTemplate checks the form of a template and the first part of its names.
func checkTemplate(n node) *problem {
	s, _ := n.v.(string)
	var p *problem
	_, err := expr.Expand(s, func(name string) (any, bool) {
		root, _, _ := strings.Cut(name, ".")
		if p == nil && !slices.Contains(roots, root) {
			p = n.bad("${%s}: a template begins with one of %s", name, strings.Join(roots, ", "))
		}
		return nil, false
	})
	if err != nil {
		return n.bad("%v", err)
	}
	return p
}

// values returns the values that templates can name.
func (p *prompt) values() expr.Lookup {
	last := p.last()
	results := make([]any, len(last.results))
	for i, r := range last.results {
		results[i] = map[string]any{"id": r.id, "name": r.name, "text": r.text, "failed": r.failed}
	}
	tools := make([]any, len(p.tools))
	for i, t := range p.tools {
		tools[i] = t
	}
	data := map[string]any{
		"turn": p.turn(), "model": p.model, "format": p.format, "digest": p.digest, "max_output": p.maxOutput,
		"system": p.system, "prompt": p.first(), "last": last.text, "tools": tools, "result": results,
	}
	decoded := false
	return func(name string) (any, bool) {
		if !decoded && strings.Contains(name, ".json") {
			decoded = true // results are large, and few scripts read their JSON
			for i, r := range last.results {
				results[i].(map[string]any)["json"] = jsonOf(r.text)
			}
		}
		return expr.Get(data, name)
	}
}

// jsonOf decodes a text as JSON; nil when it is not JSON.
func jsonOf(text string) any {
	v, err := decodeJSON([]byte(text))
	if err != nil {
		return nil
	}
	return v
}

// decodeJSON decodes strictly, and keeps numbers unchanged.
func decodeJSON(raw []byte) (any, error) { return strict.Value(raw, maxRequest) }
