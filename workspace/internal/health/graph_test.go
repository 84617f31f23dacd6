package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// edgesOf reads "a>b c>d".
func edgesOf(text string) (all []edge) {
	for _, f := range strings.Fields(text) {
		from, to, _ := strings.Cut(f, ">")
		all = append(all, edge{from, to, "uses"})
	}
	return all
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

// Twenty diamonds in a row are a million ways; the answer is bounded and says so.
func TestManyWaysAreBounded(t *testing.T) {
	var edges []edge
	at := "r"
	for i := range 20 {
		l, r, end := fmt.Sprint("l", i), fmt.Sprint("m", i), fmt.Sprint("n", i)
		edges = append(edges, edge{at, l, ""}, edge{at, r, ""}, edge{l, end, ""}, edge{r, end, ""})
		at = end
	}
	g := graphOf(edges, []string{"r"})
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

// FuzzGraph: whatever the edges, each line below another is joined to it by one of them, and an
// item is expanded once.
func FuzzGraph(f *testing.F) {
	f.Add("r>a a>b b>a r>b", "b", false)
	f.Add("a>a", "a", true)
	f.Fuzz(func(t *testing.T, text, from string, invert bool) {
		edges := edgesOf(text)
		if len(edges) > 200 {
			return
		}
		lines, _ := graphOf(slices.Clone(edges), []string{"r"}).tree([]string{from}, invert, 0)
		var above []string
		expanded := map[string]bool{}
		for i, l := range lines {
			above = append(above[:l.Depth:l.Depth], l.Name)
			if l.Depth > 0 {
				e := edge{above[l.Depth-1], l.Name, "uses"}
				if invert {
					e.from, e.to = e.to, e.from
				}
				if !slices.Contains(edges, e) {
					t.Fatalf("%v is no edge of %q", e, text)
				}
			}
			if i+1 < len(lines) && lines[i+1].Depth > l.Depth {
				if expanded[l.Name] {
					t.Fatalf("%s is expanded twice in %q", l.Name, text)
				}
				expanded[l.Name] = true
			}
		}
	})
}
