package health

import (
	"cmp"
	"slices"

	"github.com/rye-os/rye"
)

// An edge says that one thing leads to another.
type edge struct {
	from, to string
	how      string // "runs through"; read from the left to the right
}

// graph holds edges by both of their ends, sorted, without duplicates.
type graph struct {
	down, up map[string][]edge
	roots    []string // that need no edge to them, sorted
	isRoot   map[string]bool
}

// graphOf returns the graph of edges; roots are the items that are there or asked for directly.
func graphOf(edges []edge, roots []string) graph {
	g := graph{down: map[string][]edge{}, up: map[string][]edge{}, isRoot: map[string]bool{}}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.how, b.how))
	})
	for _, e := range slices.Compact(edges) {
		g.down[e.from] = append(g.down[e.from], e)
		g.up[e.to] = append(g.up[e.to], e)
	}
	g.roots = slices.Compact(slices.Sorted(slices.Values(roots)))
	for _, r := range g.roots {
		g.isRoot[r] = true
	}
	return g
}

// The bounds of reports.
const (
	maxLines = 20_000
	maxDepth = 64
)

// tree returns the items below some names, as lines. An item that was listed before is not
// expanded again, and an item below itself is not followed.
func (g graph) tree(from []string, invert bool, depth int) (lines []rye.TreeLine, more bool) {
	if depth <= 0 || depth > maxDepth {
		depth = maxDepth
	}
	told := map[string]bool{}
	above := map[string]bool{}
	var walk func(name, how string, at int)
	walk = func(name, how string, at int) {
		if len(lines) >= maxLines {
			more = true
			return
		}
		next := g.down[name]
		if invert {
			next = g.up[name]
		}
		line := rye.TreeLine{Depth: at, Name: name, How: how, Cycle: above[name], Again: told[name] && !above[name] && len(next) > 0}
		lines = append(lines, line)
		if line.Cycle || line.Again {
			return
		}
		if at == depth {
			more = more || len(next) > 0
			return
		}
		told[name], above[name] = true, true
		for _, e := range next {
			if invert {
				walk(e.from, e.how, at+1)
			} else {
				walk(e.to, e.how, at+1)
			}
		}
		above[name] = false
	}
	for _, name := range from {
		walk(name, "", 0)
	}
	return lines, more
}
