package look

import "testing"

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"*", "tool:a/b", true}, {"tool:*", "tool:a/b", true}, {"tool:*", "knowledge:a", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"*/b*", "a/bc", true}, {"a*b*c", "axbxbxc", true}, {"a*b", "axbx", false},
		{"", "", true}, {"", "a", false}, {"**", "x", true}, {"a**", "a", true},
	} {
		if got := glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v, want %v", c.pattern, c.s, got, c.want)
		}
	}
}
