package thread

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
)

// answer is what a model said.
type answer struct {
	seq   int64
	key   string
	parts []provider.Part
	calls []call
	text  string
	stop  string
	usage rye.Usage
	cost  rye.Micros
	known bool

	unlikely *implausible // what it is charged instead; nil for what it says
}

// call is one call of an answer. Its id is the thread's own; the provider's may be anything.
type call struct {
	ID       string          `json:"id"`
	Provider string          `json:"provider_id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Bad      string          `json:"bad,omitempty"` // why the arguments cannot be read
}

// storedPart is a provider.Part in a record. What the record has besides is not said again: a
// call is its id, and the only text of an answer is a part without members.
type storedPart struct {
	Text   string           `json:"text,omitempty"`
	Call   string           `json:"call,omitempty"`
	Opaque *provider.Opaque `json:"opaque,omitempty"`
}

// store turns the parts of an answer into what a record holds: its text, its calls with ids
// of the thread's own, and the order of all.
func store(step string, parts []provider.Part) (text string, calls []call, stored []storedPart) {
	stored, calls = []storedPart{}, []call{} // in a record, none is an empty list
	texts := 0
	for _, p := range parts {
		switch {
		case p.Call != nil:
			c := call{ID: fmt.Sprintf("c%s.%d", step, len(calls)+1), Provider: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args, Bad: p.Call.Bad}
			calls = append(calls, c)
			stored = append(stored, storedPart{Call: c.ID})
		case p.Opaque != nil:
			stored = append(stored, storedPart{Opaque: p.Opaque})
		case p.Text != "":
			text, texts = text+p.Text, texts+1
			stored = append(stored, storedPart{Text: p.Text})
		}
	}
	if texts == 1 {
		i := slices.IndexFunc(stored, func(s storedPart) bool { return s.Text != "" })
		stored[i].Text = ""
	}
	return text, calls, stored
}

// restore is the other way.
func (a *answer) restore(stored []storedPart) (parts []provider.Part) {
	for _, s := range stored {
		switch {
		case s.Call != "":
			if i := slices.IndexFunc(a.calls, func(c call) bool { return c.ID == s.Call }); i >= 0 {
				c := a.calls[i]
				parts = append(parts, provider.Part{Call: &provider.Call{ID: c.Provider, Name: c.Name, Args: c.Args, Bad: c.Bad}})
			}
		case s.Opaque != nil:
			parts = append(parts, provider.Part{Opaque: s.Opaque})
		default:
			parts = append(parts, provider.Part{Text: cmp.Or(s.Text, a.text)})
		}
	}
	return parts
}

// reference is what a host call of model records of an answer, which has a record of its own.
type reference struct {
	Step string `json:"answer"`
}

// outcome is what a loop is told of an answer.
func (a *answer) outcome() map[string]any {
	calls := []any{}
	for _, c := range a.calls {
		sum := sha256.Sum256(c.Args)
		calls = append(calls, map[string]any{"id": c.ID, "name": c.Name, "args": hex.EncodeToString(sum[:])})
	}
	return map[string]any{"text": a.text, "calls": calls, "stop": a.stop, "error": nil,
		"usage": map[string]any{"input": a.usage.Input + a.usage.CacheRead + a.usage.CacheWrite + a.usage.CacheLong, "output": a.usage.Output + a.usage.Reasoning}}
}
