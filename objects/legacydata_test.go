package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// TestDataKeepsItsOwnFields: in a tool that nothing executes, fields that are called like a
// limit are data. In an executable tool they are refused, or reported.
func TestDataKeepsItsOwnFields(t *testing.T) {
	const head = "version: \"1.0.0\"\ncategory: acme\ndescription: x\n"
	const limits = "limits:\n  defaults:\n    turns: 10\n"
	const data = "tool_type: config\nexecutor_id: null\n"
	it, err := objects.Parse("tools/acme/bounds.yaml", []byte(head+data+limits))
	if err != nil || it.Meta.Limits != (objects.Limits{}) {
		t.Errorf("data with limits of its own: %v, limits %v; want none", err, it)
	}
	for name, text := range map[string]string{
		"executable":          "tool_type: bash\nexecutor_id: rye/core/runtimes/bash_runtime\n",
		"primitive":           "tool_type: primitive\nexecutor_id: null\n",
		"no executor written": "tool_type: config\n",
	} {
		if _, err := objects.Parse("tools/acme/bounds.yaml", []byte(head+text+limits)); !fault.Is(err, fault.Malformed) || !strings.Contains(err.Error(), `"defaults" is not known`) {
			t.Errorf("%s: %v, want a refusal of limits", name, err)
		}
	}
}
