package objects_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// Hostile repetition costs no more than its length. Nothing is timed: with
// RYE_SOAK each input is as large as an item may be, and what is not linear does
// not come back before the test's own timeout.
func TestParseLinear(t *testing.T) {
	size := 1 << 17
	if os.Getenv("RYE_SOAK") != "" {
		size = objects.MaxItemSize - 4096
	}
	tests := map[string]struct{ path, head, unit, tail string }{
		"signature words":       {"tools/a/x.py", "", "rye:signed:", ""},
		"signature words, wide": {"tools/a/x.py", "", "          rye:signed:x", ""},
		"legacy examples":       {"knowledge/a/x.md", angled, "\nrye:signed:x", ""},
		"open directives":       {"directives/a/x.md", angled, "<directive", ""},
		"fences":                {"knowledge/a/x.md", "", "```xml\n````\n", ""},
		"short fences":          {"directives/a/x.md", "", "```yaml\n", ""},
		"comment blocks":        {"tools/a/x.sh", "", "# a\n\n", ""},
		"open comments":         {"tools/a/x.js", "", "/*\n", ""},
		"quotes":                {"tools/a/x.py", "", "'a'\n", ""},
		"triple quotes":         {"tools/a/x.py", "", "\"\"\"", ""},
		"templates":             {"tools/a/x.py", "", "f'{a}'\n", ""},
		"brackets":              {"tools/a/x.py", "", "([{}])\n", ""},
		"open brackets":         {"tools/a/x.py", "", "(", ""},
		"assignments":           {"tools/a/x.py", "", "CONFIG = f(\n{})\n", ""},
		"annotations":           {"tools/a/x.py", "", "CONFIG: a\n", ""},
		"dict entries":          {"tools/a/x.py", "CONFIG = {", "1: [2, x(3)],", "}"},
		"elements":              {"directives/a/x.md", "```xml\n<directive>", "<a b='c'/>", "</directive>\n```\n"},
		"ampersands":            {"directives/a/x.md", "```xml\n<directive>", "&amp;", "</directive>\n```\n"},
		"templates in XML":      {"directives/a/x.md", "```xml\n<directive>", "<raw>a</raw>", "</directive>\n```\n"},
		"actions":               {"directives/a/x.md", "```xml\n<directive><a>", "<load x='y'/>", "</a></directive>\n```\n"},
		"YAML keys":             {"tools/a/x.yaml", "a:\n", "  - {b: c}\n", ""},
		"JSON":                  {"tools/a/x.json", `{"a":[0`, ",1", "]}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tt.head + strings.Repeat(tt.unit, size/len(tt.unit)) + tt.tail)
			if it, err := objects.Parse(tt.path, raw); err == nil {
				it.Validate()
			}
		})
	}
}
