package words

// Near returns the number of typos between two words: missing, extra, wrong and swapped
// letters. ok is false when there are too many: more than two, or more than one in four letters,
// plus one. It is also false when a has fewer than three letters.
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

const maxNear = 100 // bytes; longer words are not compared
