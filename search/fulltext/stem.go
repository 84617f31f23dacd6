package fulltext

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Stem returns the English stem of a folded word, after Porter: deploy for deploying and deploys.
// Words of other languages are mostly found as they are.
func (x *Index) Stem(word string) string {
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}
