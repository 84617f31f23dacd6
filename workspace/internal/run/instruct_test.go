package run

import (
	"strings"
	"testing"
)

func TestInterpolate(t *testing.T) {
	in := map[string]any{"a": "x", "n": 3.0, "t": "{input:a}", "empty": ""}
	for text, want := range map[string]string{
		"":                               "",
		"{input:a}":                      "x",
		"{input:a}{input:n}":             "x3",
		"{input:t}":                      "{input:a}", // a value is never a template
		"{input:none}":                   "{input:none}",
		"{input:none?}":                  "",
		"{input:none:else}":              "else",
		"{input:a:else}":                 "x",
		"{input:empty:else}":             "",
		"{input:none:a:b}":               "a:b",
		"{input:":                        "{input:",
		"{input:}":                       "{input:}",
		"{ input:a}":                     "{ input:a}",
		"before {input:a} {other} after": "before x {other} after",
	} {
		if got := interpolate(text, in); got != want {
			t.Errorf("interpolate(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzInterpolate(f *testing.F) {
	f.Add("{input:a} {input:b?} {input:c:d} {input:", "{input:a}")
	f.Fuzz(func(t *testing.T, text, value string) {
		got := interpolate(text, map[string]any{"a": value})
		if !strings.Contains(text, "{input:") && got != text {
			t.Errorf("interpolate(%q) = %q", text, got)
		}
	})
}
