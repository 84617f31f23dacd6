package thread

import (
	"context"
	"encoding/json"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/expr"
)

// hook is what a directive wants to happen at an event, when a condition holds.
type hook struct {
	id     string
	event  string
	when   expr.Condition
	action map[string]any
}

// maxHooks bounds the hooks of one event.
const maxHooks = 16

// parseHooks reads the hooks of a directive: a list of {id, event, condition, action}, whose
// action is {action: retry|fail|note|done|continue, text, tier, code}.
func parseHooks(raw json.RawMessage) (hooks []hook, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []map[string]any
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fault.New(fault.Malformed, "hooks: want a list of {event, condition, action}")
	}
	count := map[string]int{}
	for i, m := range list {
		var h hook
		h.id, _ = m["id"].(string)
		h.event, _ = m["event"].(string)
		h.action, _ = m["action"].(map[string]any)
		if h.event == "" || h.action == nil {
			return nil, fault.New(fault.Malformed, "hook %d: want an event and an action", i+1)
		}
		if count[h.event]++; count[h.event] > maxHooks {
			return nil, fault.New(fault.Malformed, "more than %d hooks for %s", maxHooks, h.event)
		}
		if m["condition"] != nil {
			if h.when, err = expr.ParseCondition(m["condition"]); err != nil {
				return nil, fault.Wrap(err, "hook %d", i+1)
			}
		}
		hooks = append(hooks, h)
	}
	return hooks, nil
}

// hook says what the first hook of an event wants whose condition holds; nil for none. A hook
// says how to go on, never what is allowed.
func (h *host) hook(_ context.Context, event string, data any) (any, error) {
	p := h.p
	scope := map[string]any{"event": event, "limits": p.limits(), "directive": p.d.Directive}
	if m, ok := data.(map[string]any); ok {
		for k, v := range m {
			scope[k] = v
		}
		scope["error"] = m
	}
	for _, one := range p.hooks {
		if one.event != event || !one.holds(scope) {
			continue
		}
		action, _ := one.action["action"].(string)
		if err := p.append("hook_fired", map[string]any{"event": event, "hook": one.id, "action": action}, false); err != nil {
			return nil, err
		}
		return one.action, nil
	}
	return nil, nil
}

func (h hook) holds(scope map[string]any) bool {
	return h.when.Holds(expr.Of(scope))
}
