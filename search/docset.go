package search

// docSet is a set of documents.
type docSet []uint64

func newDocSet(n int) docSet    { return make(docSet, (n+63)/64) }
func (b docSet) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b docSet) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b docSet) and(c docSet) {
	for i := range b {
		b[i] &= c[i]
	}
}
func (b docSet) or(c docSet) {
	for i := range b {
		b[i] |= c[i]
	}
}
func (b docSet) without(c docSet) {
	for i := range b {
		b[i] &^= c[i]
	}
}
