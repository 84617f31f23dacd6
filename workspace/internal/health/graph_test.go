package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

// edgesOf reads "a>b c>d".
func edgesOf(text string) (all []edge) {
	for _, f := range strings.Fields(text) {
		from, to, _ := strings.Cut(f, ">")
		all = append(all, edge{from, to, "uses"})
	}
	return all
}

func spelled(chains [][]rye.Step) (all []string) {
	for _, c := range chains {
		var names []string
		for _, s := range c {
			names = append(names, s.Name)
		}
		all = append(all, strings.Join(names, ">"))
	}
	return all
}

func TestChains(t *testing.T) {
	for _, c := range []struct{ name, edges, roots, to, want string }{
		{"one", "r>a a>b", "r", "b", "r>a>b"},
		{"two ways, the shorter first", "r>a a>b r>b", "r", "b", "r>b r>a>b"},
		{"a root on the way", "r>a a>b", "r a", "b", "a>b r>a>b"},
		{"a cycle is cut", "r>a a>b b>a b>c", "r", "c", "r>a>b>c"},
		{"a way from nowhere is none", "x>b r>a", "r", "b", ""},
		{"itself", "b>b r>b", "r", "b", "r>b"},
		{"nothing", "", "r", "b", ""},
	} {
		got, more := graphOf(edgesOf(c.edges), strings.Fields(c.roots)).chains(c.to)
		if s := strings.Join(spelled(got), " "); s != c.want || more {
			t.Errorf("%s: %q (more %v), want %q", c.name, s, more, c.want)
		}
	}
}

func TestTree(t *testing.T) {
	for _, c := range []struct {
		name, edges, from string
		invert            bool
		depth             int
		want              string
		more              bool
	}{
		{"down", "a>b b>c", "a", false, 0, "0a 1b 2c", false},
		{"up", "a>b b>c", "c", true, 0, "0c 1b 2a", false},
		{"told once", "a>b a>c b>d c>d d>e", "a", false, 0, "0a 1b 2d 3e 1c 2d*", false},
		{"a leaf is no repetition", "a>b a>c b>d c>d", "a", false, 0, "0a 1b 2d 1c 2d", false},
		{"a cycle is cut", "a>b b>a", "a", false, 0, "0a 1b 2a!", false},
		{"as deep as asked", "a>b b>c", "a", false, 1, "0a 1b", true},
	} {
		lines, more := graphOf(edgesOf(c.edges), nil).tree([]string{c.from}, c.invert, c.depth)
		var got []string
		for _, l := range lines {
			s := fmt.Sprint(l.Depth, l.Name)
			got = append(got, strings.ReplaceAll(s, " ", "")+map[bool]string{true: "*"}[l.Again]+map[bool]string{true: "!"}[l.Cycle])
		}
		if s := strings.Join(got, " "); s != c.want || more != c.more {
			t.Errorf("%s: %q (more %v), want %q", c.name, s, more, c.want)
		}
	}
}

// Twenty diamonds in a row are a million ways; both answers are bounded and say so.
func TestManyWaysAreBounded(t *testing.T) {
	var edges []edge
	at := "r"
	for i := range 20 {
		l, r, end := fmt.Sprint("l", i), fmt.Sprint("m", i), fmt.Sprint("n", i)
		edges = append(edges, edge{at, l, ""}, edge{at, r, ""}, edge{l, end, ""}, edge{r, end, ""})
		at = end
	}
	g := graphOf(edges, []string{"r"})
	if chains, more := g.chains(at); len(chains) > maxChains || !more {
		t.Errorf("%d chains, more %v", len(chains), more)
	}
	if lines, _ := g.tree([]string{"r"}, false, 0); len(lines) > 200 {
		t.Errorf("%d lines", len(lines))
	}
	var wide []edge
	for i := range maxLines + 10 {
		wide = append(wide, edge{"r", fmt.Sprint("x", i), ""})
	}
	if lines, more := graphOf(wide, nil).tree([]string{"r"}, false, 0); len(lines) != maxLines || !more {
		t.Errorf("%d lines, more %v", len(lines), more)
	}
}

// FuzzGraph: whatever the edges, chains are ways that exist, from a root, without repetition.
func FuzzGraph(f *testing.F) {
	f.Add("r>a a>b b>a r>b", "b")
	f.Add("a>a", "a")
	f.Fuzz(func(t *testing.T, text, to string) {
		edges := edgesOf(text)
		if len(edges) > 200 {
			return
		}
		g := graphOf(slices.Clone(edges), []string{"r"})
		chains, _ := g.chains(to)
		for _, c := range chains {
			seen := map[string]bool{}
			for i, s := range c {
				if seen[s.Name] || i == 0 && s.Name != "r" || i > 0 && !slices.Contains(edges, edge{c[i-1].Name, s.Name, "uses"}) {
					t.Fatalf("%v of %q", spelled(chains), text)
				}
				seen[s.Name] = true
			}
		}
		g.tree([]string{to, "r"}, len(text)%2 == 0, len(text)%7)
	})
}
