package loop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// param is one parameter of a function of the host.
type param struct {
	name     string
	kind     string // string, int, dict, list
	optional bool   // None means left out
}

// hostFunctions are the functions of the host and their parameters.
var hostFunctions = map[string][]param{
	"limits":    {},
	"now":       {},
	"prompt":    {{"view", "dict", true}},
	"model":     {{"prompt", "string", false}, {"tier", "string", true}, {"max_output", "int", true}},
	"calls":     {{"ids", "list", false}},
	"summarize": {{"first", "int", false}, {"until", "int", false}, {"summary", "string", true}},
	"hook":      {{"event", "string", false}, {"data", "dict", true}},
	"ask":       {{"text", "string", false}},
	"note":      {{"text", "string", false}, {"to", "string", true}},
	"done":      {{"outputs", "dict", true}},
}

// hostValue is the host as the program sees it, for one turn.
type hostValue struct{ r *run }

var _ starlark.HasAttrs = hostValue{}

func (hostValue) String() string        { return "host" }
func (hostValue) Type() string          { return "host" }
func (hostValue) Freeze()               {}
func (hostValue) Truth() starlark.Bool  { return true }
func (hostValue) Hash() (uint32, error) { return 0, fmt.Errorf("a host cannot be a key") }
func (hostValue) AttrNames() []string   { return slices.Sorted(maps.Keys(hostFunctions)) }

func (h hostValue) Attr(name string) (starlark.Value, error) {
	params, ok := hostFunctions[name]
	if !ok {
		return nil, fmt.Errorf("host has no %s; it has %s", name, strings.Join(h.AttrNames(), ", "))
	}
	return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		given, err := arguments("host."+name, params, args, kwargs)
		if err != nil {
			return nil, err
		}
		return h.r.call(name, given)
	}), nil
}

// arguments names the given arguments, and refuses undeclared ones.
func arguments(who string, params []param, args starlark.Tuple, kwargs []starlark.Tuple) (*starlark.Dict, error) {
	if len(args) > len(params) {
		return nil, fmt.Errorf("%s: %d arguments, want %s", who, len(args), wanted(params))
	}
	given := starlark.NewDict(len(params))
	put := func(p param, v starlark.Value) error {
		if v == starlark.None && p.optional {
			return nil
		}
		if kindOf(v) != p.kind {
			return fmt.Errorf("%s: %s: want a %s, got %s", who, p.name, p.kind, v.Type())
		}
		return given.SetKey(starlark.String(p.name), v)
	}
	for i, v := range args {
		if err := put(params[i], v); err != nil {
			return nil, err
		}
	}
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		if i < 0 || i < len(args) {
			return nil, fmt.Errorf("%s: %s is unknown or given twice; want %s", who, name, wanted(params))
		}
		if err := put(params[i], kv[1]); err != nil {
			return nil, err
		}
	}
	for _, p := range params {
		if _, ok, _ := given.Get(starlark.String(p.name)); !ok && !p.optional {
			return nil, fmt.Errorf("%s: %s is missing", who, p.name)
		}
	}
	return given, nil
}

func wanted(params []param) string {
	if len(params) == 0 {
		return "none"
	}
	var names []string
	for _, p := range params {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

func kindOf(v starlark.Value) string {
	if _, ok := v.(starlark.Tuple); ok {
		return "list"
	}
	return v.Type()
}
