package objects_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye/objects"
)

func TestCheckCapability(t *testing.T) {
	for _, s := range []string{"rye.*", "rye.execute.tool.acme.hello", "rye.search.tool", "rye.thread.start", "rye.thread.*", "rye.t*"} {
		if why := objects.CheckCapability(s); why != "" {
			t.Errorf("CheckCapability(%q) = %q", s, why)
		}
	}
	for _, s := range []string{"rye.threads.start", "rye.trust.add", "rye.add", "rye.thread.", "rye.thread.a/b", "rye.thread..start"} {
		if objects.CheckCapability(s) == "" {
			t.Errorf("CheckCapability(%q) accepts it", s)
		}
	}
	for s, want := range map[string]bool{"rye.thread.start": true, "rye.thread": true, "rye.thread.*": true, "rye.threads.x": false, "rye.*": false, "rye.execute.tool.thread": false} {
		if got := objects.AboutThreads(s); got != want {
			t.Errorf("AboutThreads(%q) = %v", s, got)
		}
	}
}

// textsOf are all texts over an alphabet up to a length; z stands for every letter that no
// pattern has.
func textsOf(letters string, most int) []string {
	all := []string{""}
	for from, n := 0, 0; n < most; n++ {
		to := len(all)
		for ; from < to; from++ {
			for _, l := range letters {
				all = append(all, all[from]+string(l))
			}
		}
	}
	return all
}

// matches is what a pattern means, letter by letter.
func matches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return matches(pattern[1:], text) || text != "" && matches(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && matches(pattern[1:], text[1:])
}

func TestPatternsByBruteForce(t *testing.T) {
	texts := textsOf("abz", 6)
	pattern := rapid.StringMatching(`[ab*]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := pattern.Draw(t, "a"), pattern.Draw(t, "b")
		covers, overlap := true, false
		for _, x := range texts {
			covers = covers && (matches(a, x) || !matches(b, x))
			overlap = overlap || matches(a, x) && matches(b, x)
		}
		if got := objects.Covers(a, b); got != covers {
			t.Errorf("Covers(%q, %q) = %v, by brute force %v", a, b, got, covers)
		}
		if got := objects.Overlap(a, b); got != overlap {
			t.Errorf("Overlap(%q, %q) = %v, by brute force %v", a, b, got, overlap)
		}
	})
}

func TestWithinNeverWidens(t *testing.T) {
	texts := textsOf("abz", 5)
	pattern := rapid.StringMatching(`[ab*]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		list, asked := rapid.SliceOfN(pattern, 0, 4).Draw(t, "list"), pattern.Draw(t, "asked")
		got := objects.Within(list, asked)
		held := func(list []string, x string) bool {
			return slices.ContainsFunc(list, func(p string) bool { return matches(p, x) })
		}
		for _, x := range texts {
			if held(got, x) && !(held(list, x) && matches(asked, x)) {
				t.Fatalf("Within(%q, %q) = %q, which allows %q", list, asked, got, x)
			}
		}
		if slices.Contains(list, asked) && !slices.Equal(got, []string{asked}) {
			t.Fatalf("Within(%q, %q) = %q", list, asked, got)
		}
	})
}
