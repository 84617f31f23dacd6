package look

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
)

// Declared adds to i an item's declarations about its use, and its limits.
func Declared(i *rye.ItemInfo, it *objects.Item) {
	m := &it.Meta
	i.Part = m.Part
	i.Executor, i.Needs, i.Limits, i.Params = string(m.Executor), m.Needs.String(), m.Limits.String(), Parameters(it)
	if it.Ref.Kind != objects.Directive {
		return
	}
	i.Limits, i.Permissions, i.Model = budget(m.Budget), m.Permissions, model(m.Model)
	i.Outputs, i.Hooks = Outputs(it), hooks(m.Fields["hooks"])
}

// Outputs lists a directive's declared outputs.
func Outputs(it *objects.Item) (all []rye.ParamInfo) {
	for _, o := range it.Meta.Outputs {
		all = append(all, rye.ParamInfo{Name: o.Name, Type: o.Type, Required: o.Required, Description: o.Description})
	}
	return all
}

// budget spells a directive's limits: "spend 0.5, spend_currency USD, turns 8".
func budget(limits map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		parts = append(parts, name+" "+InputText(limits[name]))
	}
	return strings.Join(parts, ", ")
}

// model spells a directive's requested model: "tier fast, fallback general".
func model(m map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if m[name] != "" {
			parts = append(parts, name+" "+m[name])
		}
	}
	return strings.Join(parts, ", ")
}

// hooks describes each hook in a few words: "slow: at limit, ask".
func hooks(declared any) (all []string) {
	list, _ := declared.([]any)
	for n, e := range list {
		h, _ := e.(map[string]any)
		does, _ := h["action"].(map[string]any)
		id := h["id"]
		if id == nil {
			id = n + 1
		}
		all = append(all, fmt.Sprintf("%s: at %s, %s", InputText(id), InputText(h["event"]), InputText(does["action"])))
	}
	return all
}
