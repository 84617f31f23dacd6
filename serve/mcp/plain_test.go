package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzPlain: without its escapes a document says the same.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a<b>&c", `\u003c`, `\\u003c`, `\`, "\u003c\u2028", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var before, after any
		if err := json.Unmarshal(raw, &before); err != nil {
			t.Fatal(err)
		}
		text := plain(raw)
		if err := json.Unmarshal(text, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q: %v", s, text, err)
		}
		if strings.Contains(s, "<") != strings.Contains(string(text), "<") {
			t.Errorf("%q is escaped: %s", s, text)
		}
	})
}
