package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramForOtherCallers: a program of a bundle is a tool for a model, too: under every form of its
// name, with its capability, its tier and a line in the log; and nothing of it goes past a refusal.
func TestProgramForOtherCallers(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the program here is for Python")
	}
	h := newHome(t)
	h.write(".ai/bundles/acme/tide/SKILL.md", "---\nname: tide\ndescription: Tell the tide.\n---\nRun it.\n")
	h.write(".ai/bundles/acme/tide/scripts/tide.py", "import sys\nprint(sys.argv[1:], sys.stdin.read())\n")
	h.write(".ai/bundles/acme/tide/scripts/other.py", "print('other')\n")
	h.write(".ai/bundles/acme/flood/SKILL.md", "---\nname: flood\ndescription: Tell the flood.\n---\nRun it.\n")
	h.write(".ai/bundles/acme/flood/run.py", "print('unsigned')\n")
	h.rye("sign", "acme/tide", "--yes")
	policy := filepath.Join(strings.TrimSpace(h.rye("where", "config")), "policy.yaml")
	if err := os.WriteFile(policy, []byte("policy: 1\ndeny: [rye.execute.tool.acme.tide.scripts.other_*]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := h.connect(nil)
	params := map[string]any{"args": []any{"--port", "Bergen"}, "stdin": "text"}
	for _, c := range []struct {
		name string
		args map[string]any
		code string // "" for success
		want string
	}{
		{"path", map[string]any{"item_type": "tool", "item_id": "acme/tide/scripts/tide.py", "parameters": params}, "", "['--port', 'Bergen'] text"},
		{"path without a kind", map[string]any{"item_id": "acme/tide/scripts/tide.py", "parameters": params}, "", "['--port', 'Bergen'] text"},
		{"id", map[string]any{"item_type": "tool", "item_id": "acme/tide/scripts/tide_py"}, "", `"data":[]`},
		{"unknown parameter", map[string]any{"item_type": "tool", "item_id": "acme/tide/scripts/tide.py", "parameters": map[string]any{"port": 1}}, "usage", "port"},
		{"denied capability", map[string]any{"item_type": "tool", "item_id": "acme/tide/scripts/other.py"}, "denied", "rye.execute.tool.acme.tide.scripts.other_"},
		{"unsigned", map[string]any{"item_type": "tool", "item_id": "acme/flood/run.py"}, "untrusted", "not signed"},
		{"dots", map[string]any{"item_type": "tool", "item_id": "acme/tide/../../../etc/passwd"}, "usage", "id"},
		{"none", map[string]any{"item_type": "tool", "item_id": "acme/tide/scripts/none.py"}, "not_found", "none_py"},
		{"dangerous arguments", map[string]any{"item_type": "tool", "item_id": "acme/tide/scripts/tide.py", "parameters": map[string]any{"args": []any{".env"}}}, "denied", "rye approve"},
	} {
		got, isError := call(t, s, "execute", c.args)
		raw, _ := json.Marshal(got)
		code, _ := got["code"].(string)
		text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\n`, "").Replace(string(raw))
		if code != c.code || isError != (c.code != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, error %v; want code %q and %q", c.name, raw, isError, c.code, c.want)
		}
	}
	log := h.rye("policy", "log", "--json")
	for _, want := range []string{`"caller":"mcp"`, `"ref":"tool:acme/tide/scripts/tide_py"`, `"ref":"tool:acme/tide/scripts/other_py"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s: %s", want, log)
		}
	}
	if strings.Contains(log, "Bergen") {
		t.Errorf("the log has arguments: %s", log)
	}
}
