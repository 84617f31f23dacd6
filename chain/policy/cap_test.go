package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

func TestParseCap(t *testing.T) {
	for _, s := range []string{"rye.*", "rye.execute.*", "rye.execute.tool.acme.hello", "rye.search.tool", "rye.*.tool.acme.*", "rye.load.knowledge.a-b.c_d", "rye.exec*"} {
		if c, err := ParseCap(s); err != nil || string(c) != s {
			t.Errorf("ParseCap(%q) = %q, %v", s, c, err)
		}
	}
	for _, s := range []string{"", "*", "rye", "rye.", "rye.execute.", "rye..x", "rye.execute.tool.a?b", "rye.execute.tool.[ab]", "rye.execute.tool.a/b",
		"rye.execute.tool.A", "rye.push.tool", "rye.**", "rye.execute.tool..x", "Rye.*", "rye.execute.tool.ü", " rye.*", "rye.execute\n", "rye." + strings.Repeat("a", 600)} {
		if c, err := ParseCap(s); !fault.Is(err, fault.Malformed) {
			t.Errorf("ParseCap(%q) = %q, %v, want malformed", s, c, err)
		}
	}
	ref := objects.Ref{Kind: objects.Tool, ID: "acme/sub/hello"}
	if Need("execute", ref) != "rye.execute.tool.acme.sub.hello" || Need("search", ref) != "rye.search.tool" {
		t.Error("Need")
	}
}

func TestContains(t *testing.T) {
	for _, r := range []struct {
		c, need Cap
		want    bool
	}{
		{"rye.*", "rye.execute.tool.a", true},
		{"rye.execute.*", "rye.execute.tool.a.b", true},
		{"rye.execute.tool.*", "rye.execute.tool", false},
		{"rye.execute.tool.acme.*", "rye.execute.tool.acmeevil.x", false},
		{"rye.execute.tool.*.x", "rye.execute.tool.a.b.x", true},
		{"rye.execute.tool.*.x", "rye.execute.tool.*", false},
		{"rye.execute.tool.*", "rye.execute.tool.*.x", true},
		{"rye.execute.tool.a*c", "rye.execute.tool.a*b*c", true},
		{"rye.execute.tool.a*b*c", "rye.execute.tool.a*c", false},
		{"rye.execute.tool.a*a", "rye.execute.tool.a", false},
		{"rye.execute.tool.a", "rye.execute.tool.*", false},
		{"rye.execute.tool.a.*", "rye.execute.tool.a*", false},
		{"rye.execute.tool.*b*", "rye.execute.tool.abc", true},
		{"rye.search.tool", "rye.search.tool", true},
	} {
		if got := r.c.Contains(r.need); got != r.want {
			t.Errorf("%s contains %s = %v", r.c, r.need, got)
		}
	}
}

// words lists every text over a small alphabet up to a length: what patterns are
// compared on by brute force. "z" stands for every letter that no pattern has.
func allWords(letters string, n int) []string {
	out, last := []string{""}, []string{""}
	for range n {
		var next []string
		for _, w := range last {
			for _, l := range letters {
				next = append(next, w+string(l))
			}
		}
		out, last = append(out, next...), next
	}
	return out
}

func match(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return match(pattern[1:], text) || text != "" && match(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && match(pattern[1:], text[1:])
}

func TestContainsIsExact(t *testing.T) {
	words := allWords("abz", 6)
	rapid.Check(t, func(rt *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,4}`)
		p, q := pattern.Draw(rt, "p"), pattern.Draw(rt, "q")
		included := true
		for _, w := range words {
			if match(q, w) && !match(p, w) {
				included = false
				break
			}
		}
		if got := Cap(p).Contains(Cap(q)); got != included {
			rt.Fatalf("%q contains %q = %v, by brute force %v", p, q, got, included)
		}
	})
}

func TestAttenuateNeverWidens(t *testing.T) {
	words := allWords("abz", 5)
	held := func(cs Caps, w string) bool {
		for _, c := range cs {
			if match(string(c), w) {
				return true
			}
		}
		return false
	}
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) Cap { return Cap(rapid.StringMatching(`[ab*]{1,4}`).Draw(rt, "cap")) }), 0, 4)
		parent, want := list.Draw(rt, "parent"), list.Draw(rt, "want")
		narrowed := Narrow(parent, want)
		child, err := Attenuate(parent, want)
		for _, w := range words {
			if held(narrowed, w) && !(held(parent, w) && held(want, w)) {
				rt.Fatalf("Narrow(%q, %q) = %q holds %q", parent, want, narrowed, w)
			}
			if err == nil && held(child, w) != held(want, w) {
				rt.Fatalf("Attenuate(%q, %q) = %q, about %q", parent, want, child, w)
			}
			if err == nil && held(child, w) && !held(parent, w) {
				rt.Fatalf("Attenuate(%q, %q) = %q holds %q", parent, want, child, w)
			}
		}
		if grand, err := Attenuate(child, parent); err == nil {
			for _, w := range words {
				if held(grand, w) && !held(child, w) {
					rt.Fatalf("a grandchild holds %q", w)
				}
			}
		}
	})
	if _, err := Attenuate(nil, Caps{"rye.search.tool"}); !fault.Is(err, fault.Denied) {
		t.Errorf("Attenuate of nothing = %v", err)
	}
	if got := Narrow(Caps{"rye.search.tool", "rye.load.*"}, Caps{"rye.*"}); len(got) != 2 {
		t.Errorf("Narrow = %q", got)
	}
}
