package policy

import (
	"slices"
	"testing"
)

// TestListed: a client comes onto the list and goes from it, and what a person wrote stays.
func TestListed(t *testing.T) {
	const full = "# mine\npolicy: 1 # one\nelicitation: ['a b', \"c\"] # who asks\nallow_legacy: true\n"
	for _, tc := range []struct {
		name, before, client string
		listed               bool
		want                 string
	}{
		{"no file", "", "claude-code", true, "policy: 1\nelicitation: ['claude-code']\n"},
		{"no list", "policy: 1\n# end", "it's", true, "policy: 1\n# end\nelicitation: ['it''s']\n"},
		{"another", full, "claude-code", true, "# mine\npolicy: 1 # one\nelicitation: ['a b', 'c', 'claude-code'] # who asks\nallow_legacy: true\n"},
		{"there already", full, "c", true, full},
		{"a block", "policy: 1\nelicitation:\n  - a # first\n  # why\n  - b\ndeny: []\n", "c", true, "policy: 1\nelicitation: ['a', 'b', 'c']\n  # why\ndeny: []\n"},
		{"off", full, "c", false, "# mine\npolicy: 1 # one\nelicitation: ['a b'] # who asks\nallow_legacy: true\n"},
		{"the last", "policy: 1\nelicitation: [a] # note\n", "a", false, "policy: 1\n# note\n"},
		{"not there", full, "d", false, full},
		{"one line", "{policy: 1, elicitation: [a]}\n", "b", true, "policy: 1\nelicitation:\n  - a\n  - b\n"},
	} {
		got, err := Listed([]byte(tc.before), tc.client, tc.listed)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tc.name, err, got, tc.want)
			continue
		}
		if r, err := ParseRules(got); err != nil || slices.Contains(r.Elicitation, tc.client) != tc.listed {
			t.Errorf("%s: %v: %q", tc.name, err, r.Elicitation)
		}
	}
	for _, name := range []string{"", "a\nb", "x\x00"} {
		if got, err := Listed(nil, name, true); err == nil {
			if r, err := ParseRules(got); err != nil || !slices.Contains(r.Elicitation, name) || name == "" {
				t.Errorf("%q became %q: %v", name, got, err)
			}
		}
	}
}
