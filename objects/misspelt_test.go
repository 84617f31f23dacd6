package objects_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// problems returns what keeps a tool from being signed, in words.
func problems(t *testing.T, path, text string) string {
	t.Helper()
	it, err := objects.Parse(path, []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var all []string
	for _, p := range it.Validate() {
		all = append(all, p.String()+" ("+p.Mend+")")
	}
	return strings.Join(all, "; ")
}

// A limit under another name binds nothing: it is never signed in silence.
func TestMisspeltLimits(t *testing.T) {
	for field, write := range map[string]string{
		"tiers: t3": "tier", "teir: t3": "tier", "Tier: t3": "tier", "tier_: t3": "tier", "need: {net: []}": "needs", "nedes: {net: []}": "needs",
		"needs_net: []": "net", "limit: {memory: 1}": "limits", "limts: {memory: 1}": "limits", "limits_memory: 5": "limits", "sandbx: S3": "sandbox in needs",
		"sandbox: S3": "sandbox in needs", "capabilites: [rye.load.*]": "needs", "capabilities: []": "needs", "permission: []": "needs", "permisions: []": "needs",
		"net: []": "net in needs", "memory: 512MiB": "memory in limits", "timeout: 5": "time in limits", "TIMEOUT: 5": "time in limits",
	} {
		got := problems(t, "tools/acme/x.sh", "# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: X.\n# "+field+"\n\necho\n")
		if !strings.Contains(got, "so it limits nothing") || !strings.HasPrefix(got, "4:") || !strings.Contains(got, "("+write) && !strings.Contains(write, "net") {
			t.Errorf("%s: %q, want %q", field, got, write)
		}
	}
	for _, field := range []string{"feeds: [a]", "team: x", "time: noon", "title: X", "level: 3", "links: []", "lines: 5", "file: x", "output: y",
		"permits_parking: true", "node: 1", "network_name: x", "context: {}", "units: []"} {
		if got := problems(t, "tools/acme/x.sh", "# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: X.\n# "+field+"\n\necho\n"); got != "" {
			t.Errorf("%s: %q", field, got)
		}
	}
}

func TestMisspeltLimitsInPython(t *testing.T) {
	const head = "__version__ = '1.0.0'\n__tool_type__ = 'python'\n__tool_description__ = 'X.'\n"
	for _, line := range []string{
		"__tiers__ = 't3'", "__Tier__ = 't3'", "__TIER__ = 't3'", "__need__ = {\n 'net': []}", "__NEEDS__ = compute()", "__limit__ = {'memory': 5}", "__sandbox__ = 'S3'",
		"__capabilities__ = []", "__permissions__ = ['rye.load.*']", "__timeout__ = 5", "__net__: list = []", "__config__ = {'timeout': 5}", "__verify_deps__ = {}",
	} {
		got := problems(t, "tools/acme/x.py", head+line+"\n")
		if !strings.HasPrefix(got, "4:1: ") || !strings.Contains(got, "limits nothing") && !strings.Contains(got, "is not read") {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, line := range []string{"__team__ = 'x'", "__all__ = []", "LIMITS = {'memory': 5}", "TIER = 't3'", "__file__ = 'x'", "__path__ = []", "x = '''\n__tiers__ = 1\n'''", "def f():\n    __tiers__ = 1"} {
		if got := problems(t, "tools/acme/x.py", head+line+"\n"); got != "" {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, line := range []string{"__tier__ = 'high'", "__tier__ = 3", "__tier__ = 't5'"} {
		if got := problems(t, "tools/acme/x.py", head+line+"\n"); !strings.HasPrefix(got, "4:1: tier: want t0 to t4") {
			t.Errorf("%s: %q", line, got)
		}
	}
	it, err := objects.Parse("tools/acme/x.py", []byte(head+"__tier__ = 't3'\n"))
	if err != nil || it.Meta.Fields["tier"] != "t3" || len(it.Validate()) > 0 {
		t.Errorf("__tier__ is dropped: %+v, %v", it, err)
	}
}

func TestMisspeltLimitsOfDirectives(t *testing.T) {
	const head = "---\nversion: 1.0.0\ndescription: X.\n"
	for _, line := range []string{"limit: {turns: 3}", "permission: []", "capabilities: []"} {
		if got := problems(t, "directives/acme/x.md", head+line+"\n---\nText.\n"); !strings.HasPrefix(got, "4:") || !strings.Contains(got, "limits nothing") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// What nothing runs, nothing limits: such a field in it is data.
func TestDataMayUseTheWordsOfLimits(t *testing.T) {
	for text, want := range map[string]bool{
		"tool_type: config\nexecutor_id: null":                true,
		"tool_type: config":                                   false, // it might be run by what its language says
		"tool_type: primitive\nexecutor_id: null":             false,
		"tool_type: config\nexecutor_id: rye/core/runtimes/x": false,
	} {
		got := problems(t, "tools/acme/x.yaml", "version: 1.0.0\ncategory: acme\ndescription: X.\ncapabilities: []\n"+text+"\n")
		if (got == "") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
