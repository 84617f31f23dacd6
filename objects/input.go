package objects

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
)

// Input is a declared parameter of a directive.
type Input struct {
	Name        string
	Type        string // as declared; "string" when not given
	Required    bool
	Default     string
	HasDefault  bool
	Description string
}

// Output is a value that a directive has to return.
type Output struct {
	Name        string
	Type        string // as declared; "" when not given
	Required    bool   // true when not given
	Description string
}

// inputTypes maps the type of an input to the name in JSON Schema. It includes the other names
// that directives of RYE OS use. "any" is not checked.
var inputTypes = map[string]string{
	"string": "string", "str": "string", "text": "string", "path": "string", "file": "string", "url": "string", "enum": "string",
	"integer": "integer", "int": "integer", "number": "number", "float": "number",
	"boolean": "boolean", "bool": "boolean", "array": "array", "list": "array",
	"object": "object", "dict": "object", "map": "object", "json": "any", "any": "any",
}

// Takes returns the JSON Schema name of the input's type, or an unknown type as declared.
func (in Input) Takes() string { return cmp.Or(inputTypes[in.Type], in.Type) }

// Fit returns why a value does not have the input's type ("is of the type string, want
// integer"), or "" when it does. v is a decoded JSON value. An unknown type accepts any value.
func (in Input) Fit(v any) (wrong string) {
	want, known := inputTypes[in.Type]
	have := JSONType(v)
	if !known || want == "any" || have == want || want == "number" && have == "integer" {
		return ""
	}
	return "is of the type " + have + ", want " + want
}

// Read decodes v, a text in JSON, to a value of the input's type. ok is false when the result
// would not fit, and when the text itself already fits the type.
func (in Input) Read(v any) (meant any, ok bool) {
	s, is := v.(string)
	if !is || in.Fit(s) == "" || strict.Decode([]byte(s), MaxMetaSize, &meant) != nil {
		return nil, false
	}
	return meant, in.Fit(meant) == ""
}

// DefaultValue returns the default as a value of the input's type; ok is false when there is
// no default or it has another type.
func (in Input) DefaultValue() (v any, ok bool) {
	if !in.HasDefault {
		return nil, false
	}
	if want := inputTypes[in.Type]; want == "string" || want == "" {
		return in.Default, true
	}
	if err := strict.Decode([]byte(in.Default), MaxMetaSize, &v); err != nil {
		v = in.Default // a text, which fits only the type "any"
	}
	return v, in.Fit(v) == ""
}

// JSONType returns the JSON Schema name for the type of a decoded value.
func JSONType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v != math.Trunc(v) {
			return "number"
		}
	}
	return "integer"
}

// declaredInputs reads the list of inputs.
func (p *parser) declaredInputs(m *Meta) error {
	v := p.fields["inputs"]
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return p.badField("inputs", "want a list, have %s", Shape(v))
	}
	seen := map[string]bool{}
	for _, e := range list {
		in, err := p.input(e)
		if err != nil {
			return err
		}
		if in.Name == "" || seen[in.Name] {
			return p.badField("inputs", "name %q is empty or given twice", words.Brief(in.Name))
		}
		seen[in.Name] = true
		m.Inputs = append(m.Inputs, in)
	}
	return nil
}

func (p *parser) input(v any) (Input, error) {
	in := Input{Type: "string"}
	fields, ok := v.(map[string]any)
	if !ok {
		return in, p.badField("inputs", "want mappings with a name, have %s", Shape(v))
	}
	for _, f := range []struct {
		name string
		into *string
	}{{"name", &in.Name}, {"type", &in.Type}, {"default", &in.Default}, {"description", &in.Description}} {
		v, ok := fields[f.name]
		if !ok {
			continue
		}
		s, err := p.scalar("inputs", v)
		if err != nil {
			return in, err
		}
		*f.into = s
	}
	_, in.HasDefault = fields["default"]
	switch r := fields["required"].(type) {
	case nil:
	case bool:
		in.Required = r
	default:
		return in, p.badField("inputs", "required of %q: want true or false, have %s", words.Brief(in.Name), Shape(r))
	}
	return in, nil
}

// outputsOf reads the outputs of a directive. Only a list of mappings with names declares
// outputs, as in RYE OS; Validate reports any other shape.
func outputsOf(declared any) (all []Output) {
	list, _ := declared.([]any)
	for _, e := range list {
		fields, _ := e.(map[string]any)
		o := Output{Name: text(fields["name"]), Type: text(fields["type"]), Description: text(fields["description"]),
			Required: fields["required"] != false && !strings.EqualFold(text(fields["required"]), "false")}
		if o.Name != "" {
			all = append(all, o)
		}
	}
	return all
}

// placed adds a problem with one element of a list.
func (v *validator) placed(field string, i int, rule, mend string) {
	line, col := v.it.Place(field, strconv.Itoa(i))
	if m, ok := v.it.places[field+"."+strconv.Itoa(i)]; ok {
		line, col = m.line, m.col
	}
	v.problems = append(v.problems, Problem{Line: line, Column: col, Field: field, Rule: rule, Mend: mend})
}

// inputs checks that rye can enforce the declared inputs of a directive: each type is known,
// and each default has its input's type.
func (v *validator) inputs() {
	for i, in := range v.it.Meta.Inputs {
		name := words.Brief(in.Name)
		if inputTypes[in.Type] == "" {
			v.placed("inputs", i, fmt.Sprintf("input %q: unknown type %q", name, words.Brief(in.Type)), "string, integer, number, boolean, array, object or any")
			continue
		}
		if _, ok := in.DefaultValue(); in.HasDefault && !ok {
			v.placed("inputs", i, fmt.Sprintf("input %q: the default %q is not of type %s", name, words.Brief(in.Default), inputTypes[in.Type]), "a default of the type "+inputTypes[in.Type]+", as JSON")
		}
	}
}

// outputs checks that the outputs are a list of mappings, each with a unique name.
func (v *validator) outputs() {
	declared := v.it.Meta.Fields["outputs"]
	list, ok := declared.([]any)
	if declared != nil && !ok {
		v.add("outputs", "want a list of outputs, have "+Shape(declared), "outputs: [{name: summary, description: the findings}]")
	}
	seen := map[string]bool{}
	for i, e := range list {
		fields, _ := e.(map[string]any)
		switch name := text(fields["name"]); {
		case name == "":
			v.placed("outputs", i, "an output without a name", "{name: summary, description: the findings}")
		case seen[name]:
			v.placed("outputs", i, fmt.Sprintf("output %q is given twice", words.Brief(name)), "give each output a name of its own")
		default:
			seen[name] = true
		}
	}
}

// modelFields are the fields that the choice of a model reads. "content" is the text in the
// element, which RYE OS kept.
var modelFields = []string{"content", "fallback", "id", "parallel", "provider", "tier"}

func (v *validator) model() {
	m := v.it.Meta.Model
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(modelFields, k) {
			v.add("model", fmt.Sprintf("unknown field %q", words.Brief(k)), "tier, id, fallback, parallel or provider")
		}
	}
	if s := m["parallel"]; s != "" && s != "true" && s != "false" {
		v.add("model", "parallel is neither true nor false", `parallel="true"`)
	}
}

// hooksShape checks that hooks are a list, each with an event and an action. The loop checks
// the rest.
func (v *validator) hooksShape() {
	declared := v.it.Meta.Fields["hooks"]
	list, ok := declared.([]any)
	if declared != nil && !ok {
		v.add("hooks", "want a list of hooks, have "+Shape(declared), "hooks: [{event: limit, action: {action: ask}}]")
	}
	for i, e := range list {
		fields, ok := e.(map[string]any)
		if ok && text(fields["event"]) != "" && fields["action"] != nil {
			continue
		}
		v.placed("hooks", i, fmt.Sprintf("hook %d: want an event and an action", i+1), "{event: limit, action: {action: ask}}")
	}
}
