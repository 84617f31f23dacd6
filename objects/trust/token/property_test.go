package token

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// texts are what the patterns of these tests are compared on, one by one: z stands for every
// letter that no pattern has.
func texts() []string {
	all := []string{""}
	for from, n := 0, 0; n < 5; n++ {
		to := len(all)
		for ; from < to; from++ {
			all = append(all, all[from]+"a", all[from]+"b", all[from]+"z")
		}
	}
	return all
}

const stem = "rye.load."

func matches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return matches(pattern[1:], text) || text != "" && matches(pattern, text[1:])
	}
	return text != "" && pattern[0] == text[0] && matches(pattern[1:], text[1:])
}

func anyMatches(list []string, text string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return matches(strings.TrimPrefix(p, stem), text) })
}

var lists = rapid.SliceOfN(rapid.Map(rapid.StringMatching(`[ab]{0,2}\*?[ab]{1,2}|\*`), func(s string) string { return stem + s }), 0, 4)

// Whatever is asked, a grandchild may do nothing that one above it may not delegate, nothing
// that it did not ask for, and is told when something is missing.
func TestNarrowNeverWidens(t *testing.T) {
	all := texts()
	rapid.Check(t, func(t *rapid.T) {
		var g Grant
		var may [][]string // delegated by each above
		for i, thread := range []string{"t1", "t2", "t3"} {
			b := block(thread)
			b.Do, b.Delegate, b.Deny = lists.Draw(t, "do"), lists.Draw(t, "delegate"), lists.Draw(t, "deny")
			var err error
			if i == 0 {
				g, err = Mint(rootKey(), b, seed(1))
			} else {
				g, err = g.Token.Narrow(g.Key, b, seed(byte(i)))
			}
			if err != nil {
				t.Fatal(err)
			}
			is := g.Token.last()
			for _, text := range all {
				for _, l := range [][]string{is.Do, is.Delegate} {
					if anyMatches(l, text) && slices.ContainsFunc(may, func(m []string) bool { return !anyMatches(m, text) }) {
						t.Fatalf("%s has %q, under %q", text, l, may)
					}
				}
				if anyMatches(is.Do, text) && !anyMatches(b.Do, text) {
					t.Fatalf("%s is granted and was not asked for", text)
				}
				lost := anyMatches(b.Do, text) && !(anyMatches(is.Do, text) && !anyMatches(g.Token.all().deny, text))
				own := i == 0 || anyMatches(b.Deny, text)
				if lost && !own && !slices.ContainsFunc(g.Taken, func(x Taken) bool { return x.Of == "do" && anyMatches([]string{x.Asked}, text) }) {
					t.Fatalf("%s was taken away and nobody said so: %v", text, g.Taken)
				}
			}
			may = append(may, is.Delegate)
			if _, err := Verify(g.Token, want0(g)); err != nil {
				t.Fatalf("what Narrow made does not verify: %v", err)
			}
		}
	})
}

// A block that somebody signed past our rules verifies only where it is no wider.
func TestForgedBlocksNeverWiden(t *testing.T) {
	all := texts()
	rapid.Check(t, func(t *rapid.T) {
		b := block("t1")
		b.Delegate = slices.Compact(slices.Sorted(slices.Values(lists.Draw(t, "may"))))
		g, err := Mint(rootKey(), b, seed(1))
		if err != nil {
			t.Fatal(err)
		}
		n := block("t2")
		n.Parent = "t1"
		n.Do = slices.Compact(slices.Sorted(slices.Values(lists.Draw(t, "do"))))
		n.Delegate = slices.Compact(slices.Sorted(slices.Values(lists.Draw(t, "delegate"))))
		f := forge(g.Token, g.Key, n)
		if _, err := Verify(f.Token, want0(f)); err != nil {
			return
		}
		for _, text := range all {
			if anyMatches(append(n.Do, n.Delegate...), text) && !anyMatches(b.Delegate, text) {
				t.Fatalf("%q and %q verify under %q: %s", n.Do, n.Delegate, b.Delegate, text)
			}
		}
	})
}

func want0(g Grant) Want {
	proof, _ := g.Token.Prove(g.Key, nonce)
	last := g.Token.last()
	return Want{Root: isRoot, Now: during, Thread: last.Thread, Parent: last.Parent, Project: "p1", Audience: "rye", Nonce: nonce, Proof: proof}
}

// BenchmarkVerify is an ordinary chain of three, and the slowest of 64 KiB that we know:
// every capability is compared with every one, and no letter decides early.
func BenchmarkVerify(b *testing.B) {
	usual := child(b, parent(b))
	var may, do []string
	for i := range 60 {
		tail := "c" + strings.Repeat("a", i+1)
		may = append(may, "rye.load.*"+strings.Repeat("a", 200)+"b"+tail, "rye.load.*"+strings.Repeat("a", 200)+"d"+tail)
		do = append(do, "rye.load."+strings.Repeat("a", 400)+tail)
	}
	w := block("t1")
	w.Delegate = slices.Sorted(slices.Values(append(may, "rye.load.a*c*")))
	slow, err := Mint(rootKey(), w, seed(1))
	if err != nil {
		b.Fatal(err)
	}
	n := block("t2")
	n.Parent, n.Do = "t1", slices.Sorted(slices.Values(do))
	hostile := forge(slow.Token, slow.Key, n)
	for name, g := range map[string]Grant{"usual": usual, "hostile": hostile} {
		b.Run(name, func(b *testing.B) {
			raw, w := g.Token.Encode(), want0(g)
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				tok, err := Parse(raw)
				if err == nil {
					_, err = Verify(tok, w)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
