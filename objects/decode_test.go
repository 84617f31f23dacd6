package objects_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

type decoded struct {
	Name  string            `yaml:"name"`
	Count int               `yaml:"count"`
	Map   map[string]string `yaml:"map"`
	Inner *decodedInner     `yaml:"inner"`
	List  []decodedInner    `yaml:"list"`
	Any   any               `yaml:"any"`
}

type decodedInner struct {
	X int `yaml:"x"`
}

func TestYAMLValues(t *testing.T) {
	got, err := objects.YAMLValues([]byte("a: 1\nb: [x, 2.5, null, true]\nc: {d: 2026-01-02, 5: \"5\"}\n"), 100)
	want := map[string]any{"a": 1, "b": []any{"x", 2.5, nil, true}, "c": map[string]any{"d": "2026-01-02", "5": "5"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v, want %#v", got, err, want)
	}
	if got, err := objects.YAMLValues([]byte("# nothing\n"), 100); err != nil || got == nil || len(got) != 0 {
		t.Errorf("of nothing: %#v, %v", got, err)
	}
	for text, code := range map[string]fault.Code{"[a]": fault.Malformed, "a": fault.Malformed, "a: 1\na: 2": fault.Malformed, "a: &x 1": fault.Malformed, strings.Repeat(" ", 101): fault.Limit} {
		if _, err := objects.YAMLValues([]byte(text), 100); !fault.Is(err, code) {
			t.Errorf("%q: %v, want %s", text, err, code)
		}
	}
}

func TestDecodeYAML(t *testing.T) {
	nest := func(n int) string { return "any: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" }
	tests := []struct {
		name, text string
		line       int // of the error; 0 when there is none
		code       fault.Code
	}{
		{"plain", "name: a\ncount: 3\nmap: {k: v}\ninner: {x: 1}\nlist: [{x: 2}]\n", 0, ""},
		{"empty", "", 0, ""},
		{"only comments", "# x\n", 0, ""},
		{"document mark", "---\nname: a\n", 0, ""},
		{"quoted merge key", "map: {\"<<\": v}\n", 0, ""},
		{"deep enough", nest(62), 0, ""},
		{"unknown field", "name: a\nnome: b\n", 2, fault.Malformed},
		{"unknown field inside", "inner:\n  y: 1\n", 2, fault.Malformed},
		{"other case", "Name: a\n", 1, fault.Malformed},
		{"key twice", "name: a\ncount: 1\nname: b\n", 3, fault.Malformed},
		{"key twice in a map", "map:\n  k: v\n  k: w\n", 3, fault.Malformed},
		{"second document", "name: a\n---\nname: b\n", 2, fault.Malformed},
		{"second document, empty", "name: a\n---\n", 2, fault.Malformed},
		{"anchor", "name: &a x\n", 1, fault.Malformed},
		{"alias", "any: [&a x, *a]\n", 1, fault.Malformed},
		{"laughs", "any: &a [x]\nmap: {k: *a}\n", 1, fault.Malformed},
		{"merge", "map:\n  <<: {a: b}\n", 2, fault.Malformed},
		{"tag", "name: !!binary YQ==\n", 1, fault.Malformed},
		{"custom tag", "name: !x a\n", 1, fault.Malformed},
		{"tag handle", "%TAG ! tag:x,2000:\n---\nname: !y a\n", 3, fault.Malformed},
		{"wrong type", "count: many\n", 1, fault.Malformed},
		{"not a mapping", "- a\n", 1, fault.Malformed},
		{"too deep", "name: a\n" + nest(64), 2, fault.Malformed},
		{"much too deep", nest(20000), 1, fault.Malformed},
		{"byte order mark", "\ufeffname: a\n", 1, fault.Malformed},
		{"UTF-16", "\xff\xfen\x00", 1, fault.Malformed},
		{"not UTF-8", "name: a\ncount: \xff\n", 2, fault.Malformed},
		{"NUL", "name: \x00\n", 1, fault.Malformed},
		{"escape", "name: \x1b[31m\n", 1, fault.Malformed},
		{"C1 control", "name: \u0085\n", 1, fault.Malformed},
		{"direction mark", "name: \u202eevil\n", 1, fault.Malformed},
		{"tag characters", "name: \U000e0041\n", 1, fault.Malformed},
		{"tab for indent", "inner:\n\tx: 1\n", 2, fault.Malformed},
		{"too long", "name: " + strings.Repeat("a", 5000) + "\n", 0, fault.Limit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var into decoded
			limit := 4096
			if strings.Contains(tt.name, "much") {
				limit = 1 << 20
			}
			err := objects.DecodeYAML([]byte(tt.text), limit, &into)
			if fault.CodeOf(err) != tt.code {
				t.Fatalf("error %v (%s), want %q", err, fault.CodeOf(err), tt.code)
			}
			if tt.line > 0 {
				place(t, err, tt.line, 0)
			}
		})
	}
}

func TestEncodeYAML(t *testing.T) {
	v := map[string]any{"b": 1, "a": []string{"x: y", "2026-01-01"}, "c": map[string]any{"z": nil, "y": "true", "0": "0644"}}
	got, err := objects.EncodeYAML(v)
	want := "a:\n  - 'x: y'\n  - \"2026-01-01\"\nb: 1\nc:\n  \"0\": \"0644\"\n  \"y\": \"true\"\n  z: null\n"
	if err != nil || string(got) != want {
		t.Errorf("EncodeYAML = %q, %v, want %q", got, err, want)
	}
	if _, err := objects.EncodeYAML(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

// Depth in the metadata of items is bounded in every dialect.
func TestParseDepth(t *testing.T) {
	open, closing := strings.Repeat("[", 100000), strings.Repeat("]", 100000)
	for path, raw := range map[string]string{
		"tools/a/x.py":      "CONFIG = {'a': " + open + closing + "}\n",
		"tools/a/f.py":      "x = f'" + strings.Repeat("{f\"", 30000) + "\n",
		"tools/a/x.yaml":    "a: " + open + closing + "\n",
		"tools/a/x.json":    `{"a":` + open + closing + "}",
		"tools/a/x.sh":      "# version: " + open + closing + "\n",
		"directives/a/x.md": "```xml\n<directive>" + strings.Repeat("<a>", 80000) + "\n```\n",
	} {
		if _, err := objects.Parse(path, []byte(raw)); err == nil {
			t.Errorf("%s: accepted", path)
		}
	}
}

// The metadata of an item is bounded, its prose is not, up to the item's own bound.
func TestParseSize(t *testing.T) {
	long := strings.Repeat("x", objects.MaxMetaSize)
	for path, raw := range map[string]string{
		"tools/a/x.py":           "CONFIG = {'a': '" + long + "'}\n",
		"tools/a/x.yaml":         "a: " + long + "\n",
		"tools/a/x.json":         `{"a":"` + long + `"}`,
		"tools/a/x.sh":           "# version: " + long + "\n",
		"directives/a/x.md":      "```xml\n<directive a=\"" + long + "\"/>\n```\n",
		"knowledge/a/x.md":       "---\na: " + long + "\n---\n",
		"knowledge/a/fence.md":   "```yaml\na: " + long + "\n```\n",
		"knowledge/a/toolong.md": strings.Repeat("x", objects.MaxItemSize+1),
	} {
		if _, err := objects.Parse(path, []byte(raw)); err == nil {
			t.Errorf("%s: accepted", path)
		}
	}
	for path, raw := range map[string]string{
		"tools/a/x.py":     "__version__ = '1.0.0'\nx = '''\n" + strings.Repeat(long+"\n", 20) + "'''\n",
		"tools/a/x.sh":     "# version: 1.0.0\n" + strings.Repeat(long+"\n", 20),
		"knowledge/a/x.md": "---\nversion: 1.0.0\n---\n" + strings.Repeat(long+"\n", 20),
	} {
		if it, err := objects.Parse(path, []byte(raw)); err != nil || it.Meta.Version != "1.0.0" {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestParsePaths(t *testing.T) {
	for _, path := range []string{"", "x.py", "tools/x", "tools/X.py", "tools/../x.py", "tools//x.py", "/tools/x.py", "tools/a b.py",
		"tools/con.py", "other/x.py", "tools/x.py/y", "tools/.py", "tools/-x.py", "tools/é.py", "tools/a\\b.py", "threads/x.md"} {
		if _, err := objects.Parse(path, nil); !fault.Is(err, fault.Usage) {
			t.Errorf("Parse(%q): %v, want usage", path, err)
		}
	}
}

func ExampleSignature_Line() {
	fmt.Println(len(objects.Signature{SignedAt: noon}.Line()))
	// Output: 230
}
