package search

import (
	"bytes"
	"context"
	"crypto/sha256"
)

// Listing is what a layer holds now: what an index has to answer for.
type Listing struct {
	Name string // of the layer, for people: the project space
	Key  string // tells the layer from all others, and what its terms depend on besides texts
	Len  int

	// At returns the path of entry i and the SHA-256 of its bytes. Entries are sorted by
	// CompareEntries, and each path stands there once. The path is not kept.
	At func(i int) (path []byte, sum [sha256.Size]byte)

	// Terms returns the terms of entry i; whole is false where they are not all there are of
	// these bytes: such terms are used now and not kept. It may be called by several at once.
	Terms func(i int) (terms []Term, whole bool, err error)

	Say func(text string) // what takes long; may be nil

	// Same is of what is listed: listings in which it is equal, and not nil, list the same.
	Same any
}

// CompareEntries orders two entries of a listing by their paths: by what stands before the
// ending, so that one item follows another as in lists of them, and then whole.
func CompareEntries(a, b []byte) int {
	if d := bytes.Compare(stemOf(a), stemOf(b)); d != 0 {
		return d
	}
	return bytes.Compare(a, b)
}

func stemOf(path []byte) []byte {
	if i := bytes.LastIndexByte(path, '.'); i > bytes.LastIndexByte(path, '/') {
		return path[:i]
	}
	return path
}

// Index finds the terms of listings without asking for those of entries that it knows.
type Index interface {
	// Open returns sources of all that l lists, as it is now. Whoever gets them closes them.
	Open(ctx context.Context, l *Listing) (*Opened, error)

	// Rest gives back what was kept for the next search. It may be called at any time.
	Rest()

	// Stem returns the stem of a folded word. It is safe for concurrent use.
	Stem(word string) string
}

// Opened are the sources of a listing.
type Opened struct {
	Parts []Part
	Notes []string // what a person should know: there was no place for an index, it was damaged
	Close func()
}

// Part is a source whose documents are entries of a listing.
type Part struct {
	Source Source
	Entry  []int32 // by document: which entry it is; below 0 for one that is not listed any more
}

// DamagedError is of an index that turned out to be damaged while it was read. Opened anew, it
// is another one.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }
