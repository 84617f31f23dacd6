package objects

import (
	"slices"
	"strings"
	"testing"
)

// TestNeedsRye: with what a tool calls rye back is the four verbs of items, spelled out, in every
// form of a tool.
func TestNeedsRye(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("rye.load.tool.a, ", maxCallsBack+1), ", ")
	for list, want := range map[string]bool{
		"": true, "rye.execute.tool.acme.*": true, "rye.search.*, rye.load.tool.acme.x, rye.execute.*, rye.sign.tool.acme.x": true,
		"rye.*": false, "rye.*.tool.acme.x": false, "*": false, "rye.execute*": false, "rye.thread.start": false, "rye.policy.allow": false,
		"rye.key.new": false, "rye.trust": false, "rye.execute.tool.acme/x": false, "execute": false, "7": false, many: false,
	} {
		for path, text := range map[string]string{
			"tools/acme/x.sh":   "# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: X.\n# needs: {rye: [" + list + "]}\ntrue\n",
			"tools/acme/x.yaml": "version: 1.0.0\ntool_type: t\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: X.\nneeds: {rye: [" + list + "]}\n",
			"tools/acme/x.py": "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"rye/core/runtimes/python_script_runtime\"\n" +
				"__tool_description__ = \"X.\"\n__needs__ = {\"rye\": [" + quotedList(list) + "]}\n",
		} {
			it, err := Parse(path, []byte(text))
			if (err == nil) != want {
				t.Errorf("%s, rye: [%s]: %v", path, list, err)
			} else if want && list != "" && (!it.Meta.Needs.Declared || !slices.Equal(it.Meta.Needs.Rye, strings.Split(list, ", ")) ||
				!strings.HasSuffix(it.Meta.Needs.String(), "net nothing; rye "+strings.ReplaceAll(list, ",", ""))) {
				t.Errorf("%s, rye: [%s]: %+v", path, list, it.Meta.Needs)
			}
		}
	}
}

// quotedList is a list as Python writes it.
func quotedList(list string) string {
	if list == "" || list == "7" {
		return list
	}
	return `"` + strings.ReplaceAll(list, ", ", `", "`) + `"`
}
