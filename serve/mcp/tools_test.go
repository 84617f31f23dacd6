package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// TestToolsLoadAtOnce: each tool asks clients not to hide it, in both eras.
func TestToolsLoadAtOnce(t *testing.T) {
	for name, params := range map[string]string{"with a session": "{}", "without": "{" + fmt.Sprintf(modern, "{}") + "}"} {
		t.Run(name, func(t *testing.T) {
			r := newRaw(t, options(t, &verbs{}))
			if params == "{}" {
				r.initialize("{}")
			}
			r.send(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":` + params + `}`)
			r.receive()
			var got struct {
				Result struct {
					Tools []struct {
						Name string         `json:"name"`
						Meta map[string]any `json:"_meta"`
					} `json:"tools"`
				} `json:"result"`
			}
			if err := json.Unmarshal(r.out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			at := map[string]any{}
			for _, tool := range got.Result.Tools {
				at[tool.Name] = tool.Meta["anthropic/alwaysLoad"]
			}
			if want := []string{"execute", "load", "search", "sign"}; !slices.Equal(slices.Sorted(maps.Keys(at)), want) {
				t.Fatalf("tools/list has %v, want %q: %s", at, want, r.out.Text())
			}
			for tool, is := range at {
				if is != true {
					t.Errorf("%s: anthropic/alwaysLoad is %v, want true", tool, is)
				}
			}
		})
	}
}
