package main

import (
	"fmt"
	"math"
	"time"
)

// growth gathers the rows that were measured at several sizes.
type growth struct {
	names []string
	rows  map[string][]sized
}

type sized struct {
	n            int
	peer         string
	ours, theirs cost
}

func (g *growth) add(r row, ours, theirs cost) {
	if r.n == 0 {
		return
	}
	key := r.key()
	if g.rows == nil {
		g.rows = map[string][]sized{}
	}
	if g.rows[key] == nil {
		g.names = append(g.names, key)
	}
	g.rows[key] = append(g.rows[key], sized{r.n, r.peer, ours, theirs})
}

// print prints the exponent of each row: 0 is flat, 1 is twice the time for twice the
// items.
func (g *growth) print() {
	head := false
	for _, name := range g.names {
		at := g.rows[name]
		if len(at) < 2 {
			continue
		}
		if !head {
			fmt.Printf("\n%-72s %10s %10s   %10s %10s\n", "growth: x in time ~ items^x", "ours", "peer", "ours (cpu)", "peer (cpu)")
			head = true
		}
		fmt.Printf("%-72s %10s %10s   %10s %10s\n", name,
			exponent(at, func(s sized) time.Duration { return s.ours.wall }), exponent(at, func(s sized) time.Duration { return s.theirs.wall }),
			exponent(at, func(s sized) time.Duration { return s.ours.cpu }), exponent(at, func(s sized) time.Duration { return s.theirs.cpu }))
	}
}

// exponent returns the slope of the line through the logarithms, by least squares.
func exponent(at []sized, of func(sized) time.Duration) string {
	var n, sx, sy, sxx, sxy float64
	for _, s := range at {
		if of(s) <= 0 {
			return "-"
		}
		x, y := math.Log(float64(s.n)), math.Log(float64(of(s)))
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return fmt.Sprintf("%.2f", (n*sxy-sx*sy)/(n*sxx-sx*sx))
}
