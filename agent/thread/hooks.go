package thread

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// A hook says how a thread goes on at an event, never what it is allowed. Directives have some,
// and so has a configuration; what counts for a thread is settled when it starts.

// hooksName is the configuration of hooks.
const hooksName = configName + "/hooks"

// hook is what is to happen at an event, when a condition holds, as thread.json has it.
type hook struct {
	ID        string          `json:"id"`
	Event     string          `json:"event"`
	Condition json.RawMessage `json:"condition,omitempty"`
	Action    does            `json:"action"`
	From      string          `json:"from"` // the item that states it

	when expr.Condition
}

// does is the action of a hook.
type does struct {
	Action string `json:"action"`
	Text   string `json:"text,omitempty"`
	Tier   string `json:"tier,omitempty"`
	Code   string `json:"code,omitempty"`
}

// Bounds of hooks.
const (
	maxHooks     = 16   // of one event, of one item
	maxHookWords = 8000 // bytes of a text
)

// events are those of the library's loop. Another loop may have others, with a slash in them.
var events = []string{"thread_started", "error", "limit", "context_window_pressure", "loop_detected", "no_calls", "after_step", "directive_return", "after_complete"}

// actions says which members an action has besides its name.
var actions = map[string][]string{"note": {"text"}, "ask": {"text"}, "done": {"text"}, "fail": {"text", "code"}, "retry": {"tier"}, "continue": nil}

// controls are words of RYE OS for some of them.
var controls = map[string]string{"abort": "fail", "escalate": "ask", "suspend": "ask", "skip": "continue"}

var (
	ownEvent = regexp.MustCompile(`^[a-z0-9_-]+(/[a-z0-9_-]+)+$`)
	failCode = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
)

// readHooks reads the hooks that an item states.
func readHooks(from string, v any) (hooks []hook, err error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fault.New(fault.Malformed, "%s: hooks: want a list of {id, event, condition, action}", from)
	}
	seen, count := map[string]bool{}, map[string]int{}
	for i, e := range list {
		h, err := readHook(strconv.Itoa(i+1), e)
		if err == nil && seen[h.ID] {
			err = fault.New(fault.Malformed, "its id is given twice")
		}
		if count[h.Event]++; err == nil && count[h.Event] > maxHooks {
			err = fault.New(fault.Limit, "more than %d hooks for %s", maxHooks, h.Event)
		}
		if err != nil {
			return nil, fault.Wrap(err, "%s: hook %s", from, words.Brief(h.ID))
		}
		seen[h.ID] = true
		h.From = from
		hooks = append(hooks, h)
	}
	return hooks, nil
}

// readHook reads one hook; number is its place, for one without an id.
func readHook(number string, v any) (h hook, err error) {
	h.ID = number
	m, ok := v.(map[string]any)
	if !ok {
		return h, fault.New(fault.Malformed, "want {id, event, condition, action}")
	}
	if m["id"] != nil {
		if h.ID, ok = m["id"].(string); !ok || h.ID == "" || len(h.ID) > 100 {
			h.ID = number
			return h, fault.New(fault.Malformed, "id: want a text of at most 100 bytes")
		}
	}
	for name := range m {
		if !slices.Contains([]string{"id", "event", "condition", "action", "description"}, name) {
			return h, fault.New(fault.Malformed, "unknown member %q", words.Brief(name))
		}
	}
	if h.Event, _ = m["event"].(string); !slices.Contains(events, h.Event) && !ownEvent.MatchString(h.Event) {
		return h, fault.New(fault.Malformed, "event %q: want one of %s, or one of another loop, with a slash", words.Brief(h.Event), strings.Join(events, ", "))
	}
	if h.Action, err = readAction(m["action"]); err != nil {
		return h, err
	}
	if h.Action.Action == "retry" && h.Event != "error" && !ownEvent.MatchString(h.Event) {
		return h, fault.New(fault.Malformed, "action retry is for the event error")
	}
	if h.when, err = expr.ParseCondition(m["condition"]); err == nil && m["condition"] != nil {
		h.Condition, err = json.Marshal(m["condition"])
	}
	return h, err
}

// readAction reads what a hook does, in the words of today.
func readAction(v any) (d does, err error) {
	m, ok := v.(map[string]any)
	if !ok {
		return d, fault.New(fault.Malformed, "action: want a mapping with an action: %s", strings.Join(slices.Sorted(maps.Keys(actions)), ", "))
	}
	if m["primary"] != nil || m["item_id"] != nil {
		return d, fault.New(fault.Malformed, "action: a hook cannot execute an item; it decides how the thread continues")
	}
	m = maps.Clone(m)
	word, _ := m["action"].(string)
	if now := controls[word]; now != "" {
		d.Action = now
	} else {
		d.Action = word
	}
	members, known := actions[d.Action]
	if !known {
		return d, fault.New(fault.Malformed, "action %q: want one of %s", words.Brief(word), strings.Join(slices.Sorted(maps.Keys(actions)), ", "))
	}
	for name, into := range map[string]*string{"text": &d.Text, "tier": &d.Tier, "code": &d.Code} {
		if v, there := m[name]; there {
			if *into, ok = v.(string); !ok || !slices.Contains(members, name) || len(*into) > maxHookWords {
				return d, fault.New(fault.Malformed, "action %s: %s: want a text of at most %d bytes, and only where the action has one", d.Action, name, maxHookWords)
			}
		}
		delete(m, name)
	}
	if len(m) > 1 {
		return d, fault.New(fault.Malformed, "action %s: it has unknown members", d.Action)
	}
	switch {
	case d.Action == "note" && d.Text == "":
		return d, fault.New(fault.Malformed, "action note: want a text")
	case d.Action == "fail" && d.Code == "" && word == "abort":
		d.Code = "aborted"
	case d.Code != "" && !failCode.MatchString(d.Code):
		return d, fault.New(fault.Malformed, "action fail: code %q: want 1 to 64 of a-z, 0-9 and _", words.Brief(d.Code))
	}
	return d, nil
}

// configured reads the hooks of a configuration. Each has an id, by which a project takes the
// place of one of the user's; an entry with nothing else switches it off.
func configured(doc map[string]any) (hooks []hook, err error) {
	const from = "config:" + hooksName
	var on []any
	for name, v := range doc {
		switch name {
		case "version", "description", "category", "author", "title", "name", "tags":
		case "hooks":
			list, _ := v.([]any)
			for i, e := range list {
				m, _ := e.(map[string]any)
				if m["id"] == nil {
					return nil, fault.New(fault.Malformed, "%s: hook %d has no id", from, i+1)
				}
				if m["event"] != nil || m["action"] != nil || m["condition"] != nil {
					on = append(on, e)
				}
			}
			if _, isList := v.([]any); !isList && v != nil {
				return nil, fault.New(fault.Malformed, "%s: hooks: want a list", from)
			}
		default:
			return nil, fault.New(fault.Malformed, "%s: unknown member %q", from, words.Brief(name))
		}
	}
	return readHooks(from, on)
}

// hooks are those that a thread has, in the order in which they are looked at: its parent's,
// its directive's, those of the configuration.
func (s *starter) hooks(ctx context.Context, d *Description, pin *rye.Pinned, src *source) (json.RawMessage, error) {
	own, err := readHooks(d.Directive, pin.Fields["hooks"])
	if err != nil {
		return nil, err
	}
	shared, err := s.sharedHooks(ctx, src)
	if err != nil {
		return nil, err
	}
	parents, err := s.hooksAbove(ctx, d)
	if err != nil {
		return nil, err
	}
	all := inherited(parents, append(own, shared...))
	if err := answerable(all, src); err != nil || len(all) == 0 {
		return nil, err
	}
	return json.Marshal(all)
}

// sharedHooks are those of the configuration.
func (s *starter) sharedHooks(ctx context.Context, src *source) ([]hook, error) {
	res, err := s.o.Record.Config(ctx, recorder, hooksName)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	shared, err := configured(res.Value)
	if err == nil {
		err = answerable(shared, src)
	}
	if err != nil {
		return nil, fault.Wrap(err, "start a thread").Advise("rye show config:%s --resolved shows the merged hooks", hooksName)
	}
	return shared, nil
}

// answerable refuses hooks that try again with a model that there is none of.
func answerable(hooks []hook, src *source) error {
	for _, h := range hooks {
		if h.Action.Tier == "" {
			continue
		}
		if _, err := src.Model(h.Action.Tier); err != nil {
			return fault.Wrap(err, "%s: hook %s", h.From, h.ID)
		}
	}
	return nil
}

// hooksAbove are those of the thread that starts another.
func (s *starter) hooksAbove(ctx context.Context, d *Description) ([]hook, error) {
	if d.Parent == "" {
		return nil, nil
	}
	dir, err := s.o.Record.Threads(ctx, recorder)
	if err != nil {
		return nil, err
	}
	parent, err := readDescription(ctx, s.o.Record, filepath.Join(dir, d.Parent))
	if err != nil {
		return nil, err
	}
	return parent.hooks()
}

// inherited are the hooks of a thread below another. The parent's come first, so nothing that
// the thread brings, whatever it is called, takes one away or decides before it. What both have
// is there once.
func inherited(parent, own []hook) []hook {
	all := slices.Clip(parent)
	for _, h := range own {
		if !slices.ContainsFunc(parent, h.same) {
			all = append(all, h)
		}
	}
	return all
}

func (h hook) same(o hook) bool {
	return h.ID == o.ID && h.Event == o.Event && h.From == o.From && h.Action == o.Action && bytes.Equal(compact(h.Condition), compact(o.Condition))
}

// compact takes out the spaces that a file has for people.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// hooks reads the hooks of a description.
func (d *Description) hooks() (hooks []hook, err error) {
	if len(d.Hooks) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(d.Hooks, &hooks); err != nil {
		return nil, fault.New(fault.Malformed, "thread.json: hooks: %w", err)
	}
	for i := range hooks {
		var condition any
		if len(hooks[i].Condition) > 0 {
			if err := json.Unmarshal(hooks[i].Condition, &condition); err != nil {
				return nil, fault.New(fault.Malformed, "thread.json: hooks: %w", err)
			}
		}
		if hooks[i].when, err = expr.ParseCondition(condition); err != nil {
			return nil, fault.Wrap(err, "thread.json: hook %s", hooks[i].ID)
		}
	}
	return hooks, nil
}

// decides finds the first hook of an event whose condition holds; nil for none.
func (p *process) decides(event string, data map[string]any) *hook {
	scope := map[string]any{"event": event, "limits": p.limits(), "directive": p.d.Directive}
	if event == "directive_return" || event == "after_complete" {
		outputs := map[string]any{}
		for name, v := range p.h.returned() {
			outputs[name] = v
		}
		scope["outputs"] = outputs
	}
	maps.Copy(scope, data)
	scope["error"] = data
	look := expr.Of(scope)
	for i := range p.hooks {
		if h := &p.hooks[i]; h.Event == event && h.when.Holds(look) {
			return h
		}
	}
	return nil
}

// fired records that a hook decided.
func (p *thread) fired(h *hook) error {
	return p.append("hook_fired", map[string]any{"event": h.Event, "hook": h.ID, "action": h.Action.Action, "detail": map[string]any{"from": h.From}}, false)
}

// hook tells the loop what the first hook of an event wants.
func (h *host) hook(event string, data any) (any, error) {
	m, _ := data.(map[string]any)
	one := h.p.decides(event, m)
	if one == nil {
		return nil, nil
	}
	if err := h.p.fired(one); err != nil {
		return nil, err
	}
	out := map[string]any{"action": one.Action.Action}
	for name, v := range map[string]string{"text": one.Action.Text, "tier": one.Action.Tier, "code": one.Action.Code} {
		if v != "" {
			out[name] = v
		}
	}
	return out, nil
}

// atLimit lets a hook say how a thread ends that reached a limit; beyond it none can lead. It
// reports whether the thread has ended.
func (p *process) atLimit(ctx context.Context, s *stop) (bool, error) {
	h := p.decides("limit", map[string]any{"name": limitCode(s.detail), "used": s.used, "limit": s.most, "reached": true})
	if h == nil {
		return false, nil
	}
	if err := p.fired(h); err != nil {
		return true, err
	}
	text := p.black.text(h.Action.Text)
	switch h.Action.Action {
	case "note":
		return false, p.tellOnce("A note of rye's: " + text)
	case "ask":
		s.detail = strings.TrimSuffix(s.detail+"; "+text, "; ")
	case "fail":
		return true, p.finish(ctx, failing(cmp.Or(h.Action.Code, "limit"), cmp.Or(text, s.detail)))
	case "done":
		if missing := p.missing(); len(missing) > 0 {
			return true, p.finish(ctx, withoutOutputs(missing))
		}
		return true, p.finish(ctx, ending(text))
	}
	return false, nil
}

// tellOnce tells the model something when the thread goes on, and nothing twice in a row.
func (p *thread) tellOnce(text string) error {
	if n := len(p.h.said); n > 0 && len(p.h.said[n-1].parts) == 1 && p.h.said[n-1].parts[0].Text == text {
		return nil
	}
	return p.append("cognition_in", map[string]any{"text": text, "role": "user", "source": "hook"}, false)
}
