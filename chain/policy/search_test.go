package policy

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
)

// What a capability for searching covers, and what a policy takes away from it.
func TestSearching(t *testing.T) {
	ids := []objects.ID{"acme/hello", "acme/sub/x", "acmeevil/x", "other/y"}
	const none = "(refused)"
	for _, tc := range []struct{ caps, policy, want string }{
		{"rye.*", "", "acme/hello acme/sub/x acmeevil/x other/y"},
		{"rye.search.tool", "", "acme/hello acme/sub/x acmeevil/x other/y"},
		{"rye.search.tool.*", "", "acme/hello acme/sub/x acmeevil/x other/y"},
		{"rye.search.tool.acme.*", "", "acme/hello acme/sub/x"},
		{"rye.*.tool.*.x", "", "acme/sub/x acmeevil/x"},
		{"rye.search.tool.acme.hello rye.search.tool.other.*", "", "acme/hello other/y"},
		{"rye.search.knowledge", "", none},
		{"rye.load.tool.*", "", none},
		{"rye.search.toolbox.*", "", none},
		{"", "", none},
		{"rye.*", "deny: [rye.search.tool]", none},
		{"rye.*", "deny: [rye.search.tool.*]", none},
		{"rye.*", "deny: [rye.search.*]", none},
		{"rye.*", "deny: [rye.search.tool.acme.*]", "acmeevil/x other/y"},
		{"rye.search.tool.acme.*", "deny: [rye.search.tool.acme.sub.*]", "acme/hello"},
		{"rye.*", "callers: {mcp: [rye.search.tool.other.*]}", "other/y"},
		{"rye.*", "callers: {mcp: [rye.load.*]}", none},
	} {
		text := ""
		if tc.policy != "" {
			text = "policy: 1\n" + tc.policy + "\n"
		}
		caps, err := ParseCaps(strings.Fields(tc.caps))
		if err != nil {
			t.Fatal(err)
		}
		q := Request{Verb: "search", Ref: objects.Ref{Kind: objects.Tool}, Caller: "mcp", Caps: caps}
		may, d := rules(t, text).Searching(q)
		got := none
		if d.Verdict == Allow {
			var found []string
			for _, id := range ids {
				if may == nil || may(id) {
					found = append(found, string(id))
				}
			}
			got = strings.Join(found, " ")
		} else if err := d.Err(q); err == nil || tc.policy == "" && !strings.Contains(err.Error(), "rye.search.tool") {
			t.Errorf("%q: the refusal does not say what to hold: %v", tc.caps, err)
		}
		if got != tc.want {
			t.Errorf("[%s] under %q may search %q, want %q", tc.caps, tc.policy, got, tc.want)
		}
	}
}
