package objects_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

type inlined struct {
	Deep string
	List []struct{ X int }
}

// fields are all the shapes that rye's files have.
type fields struct {
	Format  int                 `yaml:"format"`
	Names   map[string]fieldsIn `yaml:"names,omitempty"`
	Rows    []fieldsIn          `yaml:"rows"`
	Ptr     *fieldsIn           `yaml:"ptr"`
	Any     any                 `yaml:"any"`
	Inlined inlined             `yaml:",inline"`
	hidden  string
}

type fieldsIn struct {
	A, B string
	Sub  map[string][]map[string]string `yaml:"sub"`
	Skip string                         `yaml:"-"`
}

// texts are documents that fit, and such that do not.
var fieldTexts = []string{
	"format: 1\n", "\"\":\n", "Format: 1\n", "formats: 1\n", "hidden: x\n", "inlined: {}\n", "deep: x\nlist: [{x: 1}, {x: 2}]\n", "list: [{y: 1}]\n", "list: [{X: 1}]\n",
	"names: {one: {a: x, b: y}}\n", "names: {one: {a: x, c: y}}\n", "names: {one: }\n", "names: [a]\n", "names: {one: [a]}\n",
	"rows: [{a: x}, {b: y}]\n", "rows:\n  - a: x\n  - c: y\n", "rows: {a: x}\n", "rows: [[{a: x}]]\n", "rows: null\n", "rows: []\n",
	"ptr: {a: x}\n", "ptr: {q: x}\n", "ptr: null\n", "any: {whatever: [1, {x: y}]}\n", "any: [a]\n", "- format: 1\n", "format\n", "1: x\n", "true: x\n",
	"rows: [{sub: {k: [{any: thing}]}}]\n", "rows: [{sub: {k: {any: thing}}}]\n", "ptr: {Skip: x}\n", "ptr: {skip: x}\n", "ptr: {\"-\": x}\n",
	"format: x\n", "format: {a: b}\n", "format: [1]\n", "? [a, b]\n: c\n", "{}\n", "[]\n", "~\n", "", "# nothing\n", "\"format\": 1\n", "format: 0x1f\n",
}

// What the library refuses as unknown DecodeYAML does, and what both take they read alike.
func TestFieldsAsTheLibraryHasThem(t *testing.T) {
	for _, text := range fieldTexts {
		compareFields(t, text)
	}
}

func compareFields(t *testing.T, text string) {
	t.Helper()
	var ours, theirs fields
	err := objects.DecodeYAML([]byte(text), 1<<16, &ours)
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	dec.KnownFields(true)
	want := dec.Decode(&theirs)
	if want != nil && want.Error() == "EOF" {
		want = nil
	}
	if (err == nil) != (want == nil) {
		t.Errorf("%q: %v; the library: %v", text, err, want)
	}
	if err == nil && !reflect.DeepEqual(ours, theirs) {
		t.Errorf("%q: %+v; the library: %+v", text, ours, theirs)
	}
}

func TestUnknownFieldIsNamed(t *testing.T) {
	var f fields
	err := objects.DecodeYAML([]byte("format: 1\nrows:\n  - a: x\n    colour: red\n"), 1<<16, &f)
	if !fault.Is(err, fault.Malformed) || !strings.Contains(fmt.Sprint(err), `4`) || !strings.Contains(fmt.Sprint(err), `"colour"`) {
		t.Errorf("%v", err)
	}
}

// What the strict rules let through the library reads the same.
func FuzzFields(f *testing.F) {
	for _, text := range fieldTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var ours fields
		if objects.DecodeYAML([]byte(text), 1<<16, &ours) == nil {
			compareFields(t, text)
		}
	})
}
