package objects

import (
	"encoding/json"
	"testing"
)

func TestInputFit(t *testing.T) {
	for _, c := range []struct {
		kind, value string
		fits        bool
	}{
		{"string", `"x"`, true}, {"string", `3`, false}, {"string", `null`, false}, {"path", `"a/b"`, true},
		{"integer", `3`, true}, {"integer", `3.0`, true}, {"integer", `3.5`, false}, {"integer", `"3"`, false}, {"int", `true`, false},
		{"number", `3`, true}, {"float", `3.5`, true}, {"number", `"3.5"`, false},
		{"boolean", `true`, true}, {"bool", `"true"`, false}, {"boolean", `0`, false},
		{"array", `[]`, true}, {"list", `{}`, false}, {"object", `{}`, true}, {"dict", `[]`, false},
		{"any", `[1]`, true}, {"json", `null`, true}, {"made-up", `3`, true},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.value), &v); err != nil {
			t.Fatal(err)
		}
		if wrong := (Input{Type: c.kind}).Fit(v); (wrong == "") != c.fits {
			t.Errorf("Fit(%s) of %s = %q, want fits %v", c.value, c.kind, wrong, c.fits)
		}
	}
}

func TestInputDefaultValue(t *testing.T) {
	for _, c := range []struct {
		kind, def string
		want      string // as JSON; "" for none
	}{
		{"string", "3", `"3"`}, {"string", "", `""`}, {"integer", "3", `3`}, {"integer", "x", ""}, {"integer", "3.5", ""}, {"number", "3.5", `3.5`},
		{"boolean", "true", `true`}, {"boolean", "yes", ""}, {"array", `["a"]`, `["a"]`}, {"array", "a", ""}, {"object", `{"a":1,"a":2}`, ""},
		{"any", "free", `"free"`}, {"any", "[1]", `[1]`}, {"made-up", "x", `"x"`},
	} {
		v, ok := (Input{Type: c.kind, Default: c.def, HasDefault: true}).DefaultValue()
		got, err := json.Marshal(v)
		if err != nil || ok != (c.want != "") || ok && string(got) != c.want {
			t.Errorf("default %q of %s = %s, %v; want %s", c.def, c.kind, got, ok, c.want)
		}
	}
	if v, ok := (Input{Type: "integer"}).DefaultValue(); ok {
		t.Errorf("without a default it is %v", v)
	}
}
