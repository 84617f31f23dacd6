package script

import (
	"slices"
	"strings"

	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects/expr"
)

// roots are the first parts of the names in templates.
var roots = []string{"turn", "model", "system", "prompt", "last", "tools", "result"}

// checkTemplate checks the form of a template and the first part of its names.
func checkTemplate(g *fields.Group, field, s string) {
	_, err := expr.Expand(s, func(name string) (any, bool) {
		if root, _, _ := strings.Cut(name, "."); !slices.Contains(roots, root) {
			g.Fail(field, "${%s}: a template begins with one of %s", name, strings.Join(roots, ", "))
		}
		return nil, false
	})
	if err != nil {
		g.Fail(field, "%v", err)
	}
}

// maxJSON is the most bytes of a result that are read as JSON.
const maxJSON = 32 << 20

// values returns the values that templates can name.
func (p *Prompt) values() expr.Lookup {
	last := p.last()
	results := make([]any, len(last.Results))
	for i, r := range last.Results {
		results[i] = map[string]any{"id": r.ID, "name": r.Name, "text": r.Text, "failed": r.Failed}
	}
	tools := make([]any, len(p.Tools))
	for i, t := range p.Tools {
		tools[i] = t
	}
	data := map[string]any{"turn": p.Turn(), "model": p.Model, "system": p.System, "prompt": p.first(), "last": last.Text, "tools": tools, "result": results}
	decoded := false
	return func(name string) (any, bool) {
		if !decoded && strings.Contains(name, ".json") {
			decoded = true // results are large, and few scripts read their JSON
			for i, r := range last.Results {
				v, _ := strict.Value([]byte(r.Text), maxJSON) // nil when it is no JSON
				results[i].(map[string]any)["json"] = v
			}
		}
		return expr.Get(data, name)
	}
}
