package words

// Near reports how many typing mistakes lie between two words: letters that are missing,
// doubled, wrong, or exchanged with their neighbour. ok is false when they are more than a
// typing mistake apart: one in four letters, and never more than two.
func Near(a, b string) (mistakes int, ok bool) {
	most := min(2, max(len(a), len(b))/4+1)
	if len(a) > maxNear || len(b) > maxNear || len(a)-len(b) > most || len(b)-len(a) > most || len(a) < 3 {
		return 0, false
	}
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if before != nil && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		if before == nil {
			before = make([]int, len(b)+1)
		}
		before, last, row = last, row, before
	}
	return last[len(b)], last[len(b)] <= most
}

const maxNear = 100 // bytes of a word that is compared
