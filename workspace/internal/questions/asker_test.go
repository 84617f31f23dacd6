package questions

import "testing"

// TestSameAsker: a thread cannot ask more by way of its tools, and no other caller is held for it.
func TestSameAsker(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"thread 01k", "thread 01k", true}, {"thread 01k", "thread 01k/tool:acme/a", true}, {"thread 01k/tool:acme/a", "thread 01k/tool:acme/b/tool:acme/c", true},
		{"thread 01k", "thread 01m/tool:acme/a", false}, {"run", "thread 01k", false}, {"mcp", "run", false},
	} {
		if sameAsker(c.a, c.b) != c.want || sameAsker(c.b, c.a) != c.want {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
}
