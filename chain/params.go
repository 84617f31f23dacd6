package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// MaxParams bounds the parameters of one call, in bytes of JSON.
const MaxParams = 8 << 20

// Params are parameters that were checked against a tool's schema. Numbers keep their original
// digits.
type Params struct {
	JSON   []byte         // one object, with the schema's defaults filled in
	Values map[string]any // the same; numbers are json.Number
}

// Check validates parameters against the tool's schema and fills in its defaults. Empty raw is
// {}. Errors are Usage for parameters that do not fit, with their names, and Malformed for an
// invalid schema.
func (p *Plan) Check(raw []byte) (Params, error) {
	ref := p.Links[0].Ref()
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	var plain map[string]any
	if err := strict.Decode(raw, MaxParams, &plain); err != nil {
		return Params{}, fault.New(fault.Usage, "parameters of %s: %w", ref, err)
	}
	if plain == nil {
		return Params{}, fault.New(fault.Usage, "parameters of %s: want a JSON object", ref)
	}
	exact, err := strict.Value(raw, MaxParams)
	values, _ := exact.(map[string]any)
	if err != nil {
		return Params{}, fault.New(fault.Usage, "parameters of %s: %w", ref, err)
	}
	for _, m := range []map[string]any{plain, values} {
		if err := rename(m, p.Tool()); err != nil {
			return Params{}, err
		}
	}
	if err := p.fit(plain, values); err != nil {
		return Params{}, err
	}
	out, err := encodeJSON(values)
	return Params{JSON: out, Values: values}, err
}

// aliasesKey is the key in a parameter's schema that lists other names for it, such as the names
// in RYE OS's tools.
const aliasesKey = "x-aliases"

// rename replaces aliases by the parameter's own name. A parameter given under two names is
// Usage.
func rename(values map[string]any, it *objects.Item) error {
	properties, _ := it.Meta.Schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		schema, _ := properties[name].(map[string]any)
		others, _ := schema[aliasesKey].([]any)
		for _, other := range others {
			alias, _ := other.(string)
			v, given := values[alias]
			if _, own := properties[alias]; !given || own {
				continue
			}
			if _, twice := values[name]; twice {
				return fault.New(fault.Usage, "parameters of %s: %s and %s name the same parameter", it.Ref, name, alias)
			}
			values[name] = v
			delete(values, alias)
		}
	}
	return nil
}

// fit validates plain and adds to values the defaults that plain received.
func (p *Plan) fit(plain, values map[string]any) error {
	it := p.Tool()
	if it.Meta.Schema == nil {
		return nil
	}
	bad := func(err error) error {
		return fault.New(fault.Malformed, "schema of %s: %w", it.Ref, err).Advise("correct config_schema, then rye sign %s", it.Ref)
	}
	text, err := json.Marshal(it.Meta.Schema)
	if err != nil {
		return bad(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return bad(err)
	}
	// Without a loader a schema cannot refer to anything outside itself.
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return bad(err)
	}
	if err := resolved.ApplyDefaults(&plain); err != nil {
		return bad(err)
	}
	if err := resolved.Validate(plain); err != nil {
		if names := misnamed(it.Meta.Schema, plain); names != "" {
			err = errors.New(names)
		}
		return fault.New(fault.Usage, "parameters of %s: %w", it.Ref, err).Advise("rye show %s", it.Ref)
	}
	for k, v := range plain {
		if _, ok := values[k]; !ok {
			values[k] = v
		}
	}
	return nil
}

// misnamed reports, in the caller's words, which parameters are missing, unknown, or of another
// type. For any other mistake it returns "", and the validator's own message is used.
func misnamed(schema, given map[string]any) string {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var wrong []string
	for _, r := range required {
		if name, _ := r.(string); name != "" && given[name] == nil {
			wrong = append(wrong, words.Brief(name)+" is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		property, known := properties[name].(map[string]any)
		want, _ := property["type"].(string)
		switch have := objects.JSONType(given[name]); {
		case !known && schema["additionalProperties"] == false:
			wrong = append(wrong, fmt.Sprintf("%q is unknown", words.Brief(name)))
		case known && want != "" && have != want && (want != "number" || have != "integer"):
			wrong = append(wrong, fmt.Sprintf("%s is of the type %s, want %s", words.Brief(name), have, want))
		}
	}
	return strings.Join(wrong[:min(len(wrong), 8)], "; ")
}

// encodeJSON writes compact, sorted JSON. It leaves <, > and & unescaped, because tools read it
// and browsers do not.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fault.New(fault.Malformed, "encode parameters: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// scalarText writes a scalar as an argument or variable. It returns false for lists, mappings and
// nil.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// paramText writes any parameter value: a scalar plainly, nil as "", anything else as JSON.
func paramText(v any) string {
	if v == nil {
		return ""
	}
	if s, ok := scalarText(v); ok {
		return s
	}
	b, err := encodeJSON(v)
	if err != nil {
		return ""
	}
	return string(b)
}
