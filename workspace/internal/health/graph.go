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

// The bounds of reports. Ways can be as many as two to the power of the items.
const (
	maxChains = 64
	maxSteps  = 200_000 // examined to find the chains
	maxLines  = 20_000
	maxDepth  = 64
)

// chains returns the ways from a root to an item, the shortest first, and whether there are
// more. A way that passes through further roots is listed from each of them.
func (g graph) chains(to string) (all [][]rye.Step, more bool) {
	type way struct {
		at   string
		prev *way
		how  string // from at to prev
		n    int
	}
	steps := 0
	queue := []*way{{at: to}}
	for len(queue) > 0 && !more {
		w := queue[0]
		queue = queue[1:]
		if steps++; steps > maxSteps || w.n > maxDepth {
			more = true
			break
		}
		if g.isRoot[w.at] && w.prev != nil {
			if len(all) == maxChains {
				more = true
				break
			}
			var steps []rye.Step
			how := ""
			for at := w; at != nil; at = at.prev {
				steps = append(steps, rye.Step{Name: at.at, How: how})
				how = at.how
			}
			all = append(all, steps)
		}
		for _, e := range g.up[w.at] {
			cycle := false
			for at := w; at != nil; at = at.prev {
				cycle = cycle || at.at == e.from
			}
			if !cycle && len(queue) < maxSteps {
				queue = append(queue, &way{at: e.from, prev: w, how: e.how, n: w.n + 1})
			}
		}
	}
	return all, more
}

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
