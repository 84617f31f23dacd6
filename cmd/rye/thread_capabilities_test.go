package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThreadCapabilities: a thread has what its directive declares, within what its starter
// allows, and of that only the four verbs. Without a capability everything is refused.
func TestThreadCapabilities(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.tool("echo", "", "echo hello\n")
	a.tool("other", "", "echo hello\n")
	a.h.write(".ai/tools/acme/loose.sh", attackTool)
	const returns = `<outputs><output name="verdict">v</output></outputs>`
	item := func(verb, id string) map[string]any {
		return calls("rye_"+verb, map[string]any{"item_type": "tool", "item_id": id})
	}
	asked := []map[string]any{executes("tool", "acme/echo", map[string]any{}), executes("tool", "acme/other", map[string]any{}), item("load", "acme/echo"),
		item("load", "rye/bash/bash"), item("sign", "acme/loose"), calls("rye_search", map[string]any{"query": "tool", "limit": 50}), executes("tool", "rye/file-system/ls", map[string]any{"path": "."})}
	list := []any{}
	for _, c := range asked {
		list = append(list, c)
	}
	a.script("asks", []any{map[string]any{"say": "go", "calls": list}, map[string]any{"say": "done"}})
	const one = `<permissions><execute><tool>acme.*</tool></execute></permissions>`
	rows := []struct {
		name, permissions string
		flags             []string
		capabilities      string
		allowed           string // which of the calls ran
	}{
		{"none", "", nil, "[]", "-------"},
		{"tools of acme", one, nil, "[rye.execute.tool.acme.*]", "xx-----"},
		{"everything", "<permissions>*</permissions>", nil, "[rye.execute.* rye.load.* rye.search.* rye.sign.*]", "xxxx-xx"},
		{"everything, allowed one", "<permissions>*</permissions>", []string{"--allow", "rye.execute.tool.acme.echo"}, "[rye.execute.tool.acme.echo]", "x------"},
		{"allowed more than declared", one, []string{"--allow", "rye.*"}, "[rye.execute.tool.acme.*]", "xx-----"},
		{"allowed another than declared", one, []string{"--allow", "rye.execute.tool.rye.*"}, "[]", "-------"},
		{"allowed another verb", one, []string{"--allow", "rye.load.tool.acme.*"}, "[]", "-------"},
		{"allowed a part", one, []string{"--allow", "rye.execute.tool.acme.other"}, "[rye.execute.tool.acme.other]", "-x-----"},
	}
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a.in(t)
			name := fmt.Sprintf("c%d", i)
			a.directive(name, "asks", row.permissions+returns)
			r := a.start(name, row.flags...)
			got := r.allowed()
			t.Logf("%-34s %s %s, %s", row.name, got, r.status, r.info["capabilities"])
			if fmt.Sprint(r.info["capabilities"]) != row.capabilities || got != row.allowed {
				t.Errorf("capabilities %v, want %s; %s ran, want %s\n%s", r.info["capabilities"], row.capabilities, got, row.allowed, r.story())
			}
		})
	}
	t.Run("allowed what no thread has", func(t *testing.T) {
		a.in(t)
		if r := a.start("c2", "--allow", "rye.key.*"); r.status != "malformed" {
			t.Errorf("%s\n%s", r.status, r.story())
		}
	})
	t.Run("refused by the policy", func(t *testing.T) {
		a.in(t)
		policy := "policy: 1\ndeny: [rye.execute.tool.acme.other]\n"
		if err := os.WriteFile(filepath.Join(strings.TrimSpace(a.h.rye("where", "config")), "policy.yaml"), []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := a.start("c1"); r.allowed() != "x------" {
			t.Errorf("%s ran\n%s", r.allowed(), r.story())
		}
	})
}

// allowed tells which calls were not refused.
func (r *threadRun) allowed() string {
	got := ""
	for _, res := range r.results() {
		failed, _ := res["error"].(string)
		if failed == "" {
			got += "x"
			continue
		}
		got += "-"
		if !strings.HasPrefix(failed, "denied: ") {
			got += "(" + failed + ")"
		}
	}
	return got
}
