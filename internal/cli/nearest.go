package cli

// nearest returns the candidate that name was probably meant to be, or "".
// Two slips are forgiven, one in short names.
func nearest(name string, candidates []string) string {
	if len(name) > 40 {
		return ""
	}
	limit := 2
	if len(name) <= 4 {
		limit = 1
	}
	best, at := "", limit+1
	for _, c := range candidates {
		if d := distance(name, c); d < at {
			best, at = c, d
		}
	}
	return best
}

// distance counts insertions, deletions, substitutions and swaps of neighbours
// (optimal string alignment) over bytes.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}
