package objects

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestExamples: the questions that an item answers are read in every form of file, and bounded.
func TestExamples(t *testing.T) {
	many := strings.Repeat("  - question\n", MaxExamples+1)
	for _, c := range []struct {
		name, path, text, want string
		part                   bool
		problem                string
	}{
		{"front matter", "knowledge/a/x.md", "---\nid: x\ntitle: X\nversion: 1.0.0\nentry_type: r\ncategory: a\nexamples: [how do I x, \"why  x?\"]\n---\nx\n", "how do I x|why x?", false, ""},
		{"one text", "knowledge/a/x.md", "---\nid: x\ntitle: X\nversion: 1.0.0\nentry_type: r\ncategory: a\nexamples: |\n  how do I x\n  why x?\n---\nx\n", "how do I x|why x?", false, ""},
		{"comment block", "tools/a/x.sh", "#!/bin/bash\n# version: 1.0.0\n# description: x\n# examples: [show the disks]\ndf\n", "show the disks", false, ""},
		{"python", "tools/a/x.py", "__version__ = \"1.0.0\"\n__executor_id__ = \"python\"\n__examples__ = [\n    \"show the disks\",\n]\n", "show the disks", false, ""},
		{"python module", "tools/a/x.py", "__version__ = \"1.0.0\"\n__examples__ = [\"a b\"]\n", "a b", true, ""},
		{"data file", "tools/a/x.yaml", "examples:\n  - {in: 1}\n", "", true, ""},
		{"directive", "directives/a/x.md", "# x\n\n```xml\n<directive name=\"x\" version=\"1.0.0\">\n  <metadata>\n    <description>x</description>\n    <category>a</category>\n    <examples>\n      ship it\n      bring a release out\n    </examples>\n  </metadata>\n</directive>\n```\n", "ship it|bring a release out", false, ""},
		{"too many", "knowledge/a/x.md", "---\nid: x\ntitle: X\nversion: 1.0.0\nentry_type: r\ncategory: a\nexamples:\n" + many + "---\nx\n", strings.Repeat("question|", MaxExamples-1) + "question", false, "more than 16"},
		{"too long", "knowledge/a/x.md", "---\nid: x\ntitle: X\nversion: 1.0.0\nentry_type: r\ncategory: a\nexamples: [" + strings.Repeat("x", MaxExample+1) + ", short]\n---\nx\n", "short", false, "201 bytes"},
		{"invisible", "knowledge/a/x.md", "---\nid: x\ntitle: X\nversion: 1.0.0\nentry_type: r\ncategory: a\nexamples: [\"a\\u200bb\"]\n---\nx\n", "a\u200bb", false, "U+200B"},
	} {
		it, err := Parse(c.path, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := strings.ReplaceAll(it.Meta.Questions(), "\n", "|"); got != c.want || it.Meta.Part != c.part {
			t.Errorf("%s: %q, part %v; want %q, %v", c.name, got, it.Meta.Part, c.want, c.part)
		}
		if slices.Contains(it.Meta.Unknown, "examples") {
			t.Errorf("%s: the field is unknown", c.name)
		}
		found := false
		for _, p := range it.Validate() {
			if p.Field == "examples" {
				found = true
				if c.problem == "" || !strings.Contains(fmt.Sprint(p), c.problem) {
					t.Errorf("%s: %v, want %q", c.name, p, c.problem)
				}
			}
		}
		if !found && c.problem != "" {
			t.Errorf("%s: no problem, want %q", c.name, c.problem)
		}
	}
}
