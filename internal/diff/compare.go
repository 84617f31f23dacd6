package diff

import "math"

// A hunk says that lines [a, a+an) of one text became lines [b, b+bn) of another.
type hunk struct{ a, an, b, bn int }

// Bounds of the search, as git has them: beyond them it takes a good path instead of the
// shortest. Another number gives other hunks than git's, and so other merges.
const (
	leastCost  = 256  // a search of this cost is always complete
	longSnake  = 20   // equal lines that make a path a good one
	snakeScore = 4    // times the cost that a good path has gained
	manyEqual  = 1024 // a line with so many equals in the other text says little about the place
	lookAround = 100  // lines
	fewNumbers = 4    // lines without an equal for each line with many
)

// compare returns the differences between two texts, whose lines are numbers below kinds. They
// are the hunks of git diff --no-indent-heuristic, which git merges by. The algorithm is that
// of Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), in linear space, with
// the reductions of GNU diff. Each step takes one from steps; when none is left, compare gives
// up.
func compare(a, b []int32, kinds int, steps *int) (list []hunk, ok bool) {
	ca, cb := make(marks, len(a)), make(marks, len(b))
	s := search{ca: ca, cb: cb, steps: steps}
	s.sift(a, b, kinds)
	s.forward = make([]int, len(s.a)+len(s.b)+3)
	s.backward = make([]int, len(s.a)+len(s.b)+3)
	s.zero = len(s.b) + 1
	s.cost = max(leastCost, roughRoot(len(s.a)+len(s.b)+3))
	if s.run(0, len(s.a), 0, len(s.b), false); *steps < 0 {
		return nil, false
	}
	slide(a, ca, cb)
	slide(b, cb, ca)
	return hunks(ca, cb), true
}

// marks tell which lines of a text changed.
type marks []bool

func (m marks) at(i int) bool { return i >= 0 && i < len(m) && m[i] }

// hunks collects the marked lines of both texts.
func hunks(ca, cb marks) (list []hunk) {
	for i, j := 0, 0; i < len(ca) || j < len(cb); i, j = i+1, j+1 {
		h := hunk{a: i, b: j}
		for ; ca.at(i); i++ {
			h.an++
		}
		for ; cb.at(j); j++ {
			h.bn++
		}
		if h.an+h.bn > 0 {
			list = append(list, h)
		}
	}
	return list
}

// roughRoot is about the square root of n: a power of two.
func roughRoot(n int) int {
	r := 1
	for ; n > 0; n >>= 2 {
		r <<= 1
	}
	return r
}

// A search finds the lines that two texts have in common.
type search struct {
	a, b              []int32 // the lines that are compared
	ai, bi            []int   // their places in the texts
	ca, cb            marks
	forward, backward []int // the furthest line of a on each diagonal
	zero              int   // the place of diagonal 0 in them
	cost              int   // where a search gives up the shortest path
	steps             *int  // that are left
}

// sift selects the lines that are compared. Equal lines at both ends are left out, and lines
// without an equal in the other text are marked at once. So are lines with very many equals,
// if most lines around them have none.
func (s *search) sift(a, b []int32, kinds int) {
	first, lastA, lastB := 0, len(a), len(b)
	for first < lastA && first < lastB && a[first] == b[first] {
		first++
	}
	for lastA > first && lastB > first && a[lastA-1] == b[lastB-1] {
		lastA, lastB = lastA-1, lastB-1
	}
	inA, inB := tally(a, kinds), tally(b, kinds)
	s.a, s.ai = siftOne(a, inB, first, lastA, s.ca)
	s.b, s.bi = siftOne(b, inA, first, lastB, s.cb)
}

func tally(lines []int32, kinds int) []int32 {
	n := make([]int32, kinds)
	for _, l := range lines {
		n[l]++
	}
	return n
}

// How many equals a line has in the other text.
const (
	none = iota
	some
	many
)

func siftOne(lines, equals []int32, first, last int, changed marks) (kept []int32, places []int) {
	limit := int32(min(roughRoot(len(lines)), manyEqual))
	class := make([]byte, last)
	for i := first; i < last; i++ {
		switch n := equals[lines[i]]; {
		case n >= limit:
			class[i] = many
		case n > 0:
			class[i] = some
		}
	}
	for i := first; i < last; i++ {
		if class[i] == some || class[i] == many && !lost(class, first, i) {
			kept, places = append(kept, lines[i]), append(places, i)
		} else {
			changed[i] = true
		}
	}
	return kept, places
}

// lost reports whether a line with many equals stands among lines that mostly have none.
func lost(class []byte, first, at int) bool {
	count := func(step int) (without, with int) {
		for i, n := at+step, 0; i >= first && i < len(class) && n < lookAround && class[i] != some; i, n = i+step, n+1 {
			if class[i] == none {
				without++
			} else {
				with++
			}
		}
		return without, with
	}
	noBefore, before := count(-1)
	noAfter, after := count(1)
	if noBefore == 0 || noAfter == 0 {
		return false
	}
	with := before + after + 2 // the line itself, once in each direction
	return with*fewNumbers < with+noBefore+noAfter
}

// run marks the changed lines of a[a0:a1] and b[b0:b1]. If they are known to cost little, it
// takes the shortest path.
func (s *search) run(a0, a1, b0, b1 int, shortest bool) {
	for {
		for a0 < a1 && b0 < b1 && s.a[a0] == s.b[b0] {
			a0, b0 = a0+1, b0+1
		}
		for a0 < a1 && b0 < b1 && s.a[a1-1] == s.b[b1-1] {
			a1, b1 = a1-1, b1-1
		}
		if a0 == a1 || b0 == b1 {
			break
		}
		m := s.middle(a0, a1, b0, b1, shortest)
		if *s.steps < 0 {
			return
		}
		s.run(a0, m.a, b0, m.b, m.before)
		a0, b0, shortest = m.a, m.b, m.after
	}
	for ; a0 < a1; a0++ {
		s.ca[s.ai[a0]] = true
	}
	for ; b0 < b1; b0++ {
		s.cb[s.bi[b0]] = true
	}
}

// A point divides the work. It tells for each part whether the search came through it, so that
// its shortest path costs no more than the search.
type point struct {
	a, b          int
	before, after bool
}

// A front is one end of the two searches that meet in the middle. Diagonal d holds the points
// (i, i-d). All other values are diagonals, too.
type front struct {
	reach            []int
	start, low, high int
}

// widen adds a diagonal at each end, or, at the border, leaves one out.
func (f *front) widen(zero, least, most, unreached int) {
	if f.low > least {
		f.low--
		f.reach[zero+f.low-1] = unreached
	} else {
		f.low++
	}
	if f.high < most {
		f.high++
		f.reach[zero+f.high+1] = unreached
	} else {
		f.high--
	}
}

// middle returns a point on a path through both texts.
func (s *search) middle(a0, a1, b0, b1 int, shortest bool) point {
	least, most := a0-b1, a1-b0
	f := front{s.forward, a0 - b0, a0 - b0, a0 - b0}
	r := front{s.backward, a1 - b1, a1 - b1, a1 - b1}
	odd := (f.start-r.start)&1 != 0
	f.reach[s.zero+f.start], r.reach[s.zero+r.start] = a0, a1
	for cost := 1; ; cost++ {
		good := false
		f.widen(s.zero, least, most, -1)
		for d := f.high; d >= f.low; d -= 2 {
			at := f.reach[s.zero+d-1 : s.zero+d+2]
			i := max(at[0]+1, at[2])
			from := i
			for i < a1 && i-d < b1 && s.a[i] == s.b[i-d] {
				i++
			}
			good = good || i-from > longSnake
			at[1], *s.steps = i, *s.steps-1-(i-from)
			if odd && r.low <= d && d <= r.high && r.reach[s.zero+d] <= i {
				return point{i, i - d, true, true}
			}
		}
		r.widen(s.zero, least, most, math.MaxInt)
		for d := r.high; d >= r.low; d -= 2 {
			at := r.reach[s.zero+d-1 : s.zero+d+2]
			i := min(at[0], at[2]-1)
			from := i
			for i > a0 && i-d > b0 && s.a[i-1] == s.b[i-d-1] {
				i--
			}
			good = good || from-i > longSnake
			at[1], *s.steps = i, *s.steps-1-(from-i)
			if !odd && f.low <= d && d <= f.high && i <= f.reach[s.zero+d] {
				return point{i, i - d, true, true}
			}
		}
		if *s.steps < 0 {
			return point{}
		}
		if shortest {
			continue
		}
		if good && cost > leastCost {
			if p, ok := s.promising(f, r, cost, a0, a1, b0, b1); ok {
				return p
			}
		}
		if cost >= s.cost {
			return s.furthest(f, r, a0, a1, b0, b1)
		}
	}
}

// promising returns the end of a path that came far for its cost and ends in equal lines.
func (s *search) promising(f, r front, cost, a0, a1, b0, b1 int) (p point, ok bool) {
	best := snakeScore * cost
	for d := f.high; d >= f.low; d -= 2 {
		x := f.reach[s.zero+d]
		y := x - d
		score := x - a0 + y - b0 - distance(d, f.start)
		if score > best && a0+longSnake <= x && x < a1 && b0+longSnake <= y && y < b1 && s.equal(x-longSnake, y-longSnake) {
			best, p, ok = score, point{x, y, true, false}, true
		}
	}
	if ok {
		return p, true
	}
	for d := r.high; d >= r.low; d -= 2 {
		x := r.reach[s.zero+d]
		y := x - d
		score := a1 - x + b1 - y - distance(d, r.start)
		if score > best && a0 < x && x <= a1-longSnake && b0 < y && y <= b1-longSnake && s.equal(x, y) {
			best, p, ok = score, point{x, y, false, true}, true
		}
	}
	return p, ok
}

// equal reports whether the next lines of both texts are equal, as many as a long snake has.
func (s *search) equal(i, j int) bool {
	for k := range longSnake {
		if s.a[i+k] != s.b[j+k] {
			return false
		}
	}
	return true
}

func distance(a, b int) int { return max(a-b, b-a) }

// furthest ends a search that costs too much at the point that came furthest.
func (s *search) furthest(f, r front, a0, a1, b0, b1 int) point {
	sum, from := -1, -1
	for d := f.high; d >= f.low; d -= 2 {
		i := min(f.reach[s.zero+d], a1, b1+d)
		if i+i-d > sum {
			sum, from = i+i-d, i
		}
	}
	least, to := math.MaxInt, math.MaxInt
	for d := r.high; d >= r.low; d -= 2 {
		i := max(r.reach[s.zero+d], a0, b0+d)
		if i+i-d < least {
			least, to = i+i-d, i
		}
	}
	if a1+b1-least < sum-a0-b0 {
		return point{from, sum - from, true, false}
	}
	return point{to, least - to, false, true}
}

// A group is a run of changed lines, perhaps empty, between two lines that did not change.
type group struct{ start, end int }

func firstGroup(m marks) (g group) {
	for m.at(g.end) {
		g.end++
	}
	return g
}

// next moves to the group behind the next unchanged line.
func (g *group) next(m marks) bool {
	if g.end == len(m) {
		return false
	}
	g.start, g.end = g.end+1, g.end+1
	for m.at(g.end) {
		g.end++
	}
	return true
}

func (g *group) previous(m marks) {
	g.start, g.end = g.start-1, g.start-1
	for m.at(g.start - 1) {
		g.start--
	}
}

// down moves a group by one line, if the line behind it equals its first.
func (g *group) down(lines []int32, m marks) bool {
	if g.end == len(lines) || lines[g.start] != lines[g.end] {
		return false
	}
	m[g.start], m[g.end] = false, true
	g.start, g.end = g.start+1, g.end+1
	for m.at(g.end) { // it meets the next one
		g.end++
	}
	return true
}

func (g *group) up(lines []int32, m marks) bool {
	if g.start == 0 || lines[g.start-1] != lines[g.end-1] {
		return false
	}
	g.start, g.end = g.start-1, g.end-1
	m[g.start], m[g.end] = true, false
	for m.at(g.start - 1) {
		g.start--
	}
	return true
}

// slide moves each group of changed lines down as far as it goes, or up to the last place
// where the other text changed, too. Groups that meet become one.
func slide(lines []int32, own, other marks) {
	g, o := firstGroup(own), firstGroup(other)
	for {
		for g.start < g.end {
			size := g.end - g.start
			for g.up(lines, own) {
				o.previous(other)
			}
			top, aligned := g.end, o.start < o.end
			for g.down(lines, own) {
				o.next(other)
				aligned = aligned || o.start < o.end
			}
			if size != g.end-g.start {
				continue
			}
			for g.end > top && aligned && o.start == o.end {
				g.up(lines, own)
				o.previous(other)
			}
			break
		}
		if !g.next(own) {
			return
		}
		o.next(other)
	}
}
