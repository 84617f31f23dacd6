// Command schemas writes the JSON Schemas of docs/schema, for editors and other readers of rye's files. `make docs`
// runs it, in the module's root.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/workspace"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

// write brings docs/schema of the module at root up to date.
func write(root string) error {
	all, err := files()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "docs", "schema")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// address is where the schemas are published.
const address = "https://rye-os.github.io/rye/schema/"

// A form is one of rye's files.
type form struct {
	name, title string
	typ         reflect.Type
	notes       map[string]note // by path: fields joined by dots, "*" for the values of a map or a list
}

var forms = []form{
	{"rye.yaml", "A project of rye: docs/format/project.md", workspace.ProjectFileType(), projectNotes},
	{"rye.lock", "The lock of a project of rye: docs/format/lock.md", chain.LockFileType(), lockNotes},
	{"policy.yaml", "A policy of rye, the user's or a project's: docs/format/policy.md", policy.FileType(), policyNotes},
	{"rye.bundle.yaml", "The manifest of a bundle: docs/format/bundle.md", reflect.TypeFor[manifestFile](), manifestNotes},
}

// files returns the text of each schema.
func files() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, f := range forms {
		s, err := f.schema()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return nil, err
		}
		all[f.name+".schema.json"] = append(text, '\n')
	}
	return all, nil
}

func (f form) schema() (*jsonschema.Schema, error) {
	used := map[string]bool{}
	s, err := (&writer{notes: f.notes, used: used}).of(f.typ, "")
	if err != nil {
		return nil, err
	}
	for path := range f.notes {
		if !used[path] {
			return nil, fmt.Errorf("a note about %q, which the file does not have", path)
		}
	}
	s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", address+f.name+".schema.json", f.title
	return s, nil
}

// writer turns a type into a schema.
type writer struct {
	notes map[string]note
	used  map[string]bool
}

func (w *writer) of(t reflect.Type, path string) (s *jsonschema.Schema, err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s = &jsonschema.Schema{}
	n, noted := w.notes[path]
	w.used[path] = noted
	switch {
	case n.as != "":
		s.Type = n.as
	case t.Kind() == reflect.Struct:
		s.Type, s.AdditionalProperties, s.Properties = "object", never(), map[string]*jsonschema.Schema{}
		if err := w.fields(s, t, path); err != nil {
			return nil, err
		}
	case t.Kind() == reflect.Map:
		s.Type = "object"
		if s.AdditionalProperties, err = w.of(t.Elem(), path+".*"); err != nil {
			return nil, err
		}
	case t.Kind() == reflect.Slice:
		s.Type = "array"
		if s.Items, err = w.of(t.Elem(), path+".*"); err != nil {
			return nil, err
		}
	case t.Kind() == reflect.String:
		s.Type = "string"
	case t.Kind() == reflect.Bool:
		s.Type = "boolean"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		s.Type = "integer"
	default:
		return nil, fmt.Errorf("%s: no form for %s", path, t)
	}
	n.apply(s)
	return s, nil
}

// fields describes the fields of a struct. Each has a note, so that a new one is described.
func (w *writer) fields(s *jsonschema.Schema, t reflect.Type, path string) error {
	for i := range t.NumField() {
		field := t.Field(i)
		name, optional, inline := nameOf(field)
		if inline {
			if err := w.fields(s, field.Type, path); err != nil {
				return err
			}
			continue
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		sub, err := w.of(field.Type, at)
		if err != nil {
			return err
		}
		if w.notes[at].says == "" {
			return fmt.Errorf("the field %s has no description", at)
		}
		s.Properties[name] = sub
		s.PropertyOrder = append(s.PropertyOrder, name)
		if (!optional || w.notes[at].must) && !w.notes[at].may {
			s.Required = append(s.Required, name)
		}
	}
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
	return nil
}

// never is the schema that nothing meets: there are no other fields.
func never() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }
