package main_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// TestNeedsRaiseTheTier: a tool that may read everything and reach every host was run for a
// client unasked, and so was one whose runtime asked for it.
func TestNeedsRaiseTheTier(t *testing.T) {
	t.Parallel()
	needBash(t)
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere every process is t2")
	}
	h := newHome(t)
	tool := func(name, more string) {
		h.write(".ai/tools/acme/"+name+".sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: X.\n"+more+"echo ran\n")
	}
	tool("small", "# needs: {read: [.], net: [a.example]}\n")
	tool("silent", "")
	tool("reads", "# needs: {read: [/]}\n")
	tool("reaches", "# needs: {read: [.], net: true}\n")
	tool("writes", "# needs: {write: [/tmp]}\n")
	h.write(".ai/tools/acme/wide_runtime.yaml", "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ncategory: acme\ndescription: Wide.\n"+
		"needs: {read: [/]}\nconfig: {command: /bin/bash, args: [\"{tool_path}\"]}\n")
	h.write(".ai/tools/acme/innocent.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: acme/wide_runtime\n# description: X.\n# needs: {read: [.], net: []}\necho ran\n")
	h.write(".ai/tools/acme/risky_runtime.yaml", "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ncategory: acme\ndescription: Risky.\n"+
		"tier: t2\nconfig: {command: /bin/bash, args: [\"{tool_path}\"]}\n")
	h.write(".ai/tools/acme/dressed.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: acme/risky_runtime\n# description: X.\necho ran\n")
	h.rye("sign", "--all")
	s, _ := h.connect(nil)
	for name, want := range map[string]string{
		"small": "", "silent": "", "reads": "it reads /", "reaches": "it reaches every host", "writes": "it writes /tmp", "innocent": "it reads /", "dressed": "t2 by declared",
	} {
		got, isError := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/" + name})
		raw, _ := json.Marshal(got)
		if isError != (want != "") || want != "" && got["code"] != "denied" {
			t.Errorf("%s: %s, want %q", name, raw, want)
		}
		if out := h.rye("execute", "tool:acme/"+name); out != "ran\n" {
			t.Errorf("%s, typed by a person: %q", name, out)
		}
		if out := h.rye("policy", "explain", "tool:acme/"+name); !strings.Contains(out, want) {
			t.Errorf("%s, explained: %s", name, out)
		}
	}
}
