package fulltext

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Stem returns the English stem of a folded word, after Porter: deploying and deploys are
// deploy. Other languages are found by their words as they stand.
func (x *Index) Stem(word string) string {
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}
