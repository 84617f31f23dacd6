package search

import (
	"bytes"
	"context"
	"crypto/sha256"
)

// Listing lists the present entries of a layer, which an index must cover.
type Listing struct {
	Name string // of the layer, for people: "the project space"
	Key  string // identifies the layer and, besides texts, everything that its terms depend on
	Len  int

	// At returns the path of entry i and the SHA-256 of its bytes. Entries are sorted by
	// CompareEntries, and paths are unique. The caller does not keep the path.
	At func(i int) (path []byte, sum [sha256.Size]byte)

	// Terms returns the terms of entry i. whole is false if these are not all terms of its bytes;
	// such terms are used now and not kept. Several goroutines may call it.
	Terms func(i int) (terms []Term, whole bool, err error)

	Say func(text string) // reports slow steps; may be nil

	// Same identifies the entries: listings with equal, non-nil values list the same.
	Same any
}

// CompareEntries orders two entries of a listing by their paths: first without the extension, so
// that items have the same order as in lists of items, then as a whole.
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

// Index returns the terms of listings, without asking again for entries that it knows.
type Index interface {
	// Open returns sources for all entries of l as it is now. The caller must close them.
	Open(ctx context.Context, l *Listing) (*Opened, error)

	// Rest releases the memory kept for the next search. It may be called at any time.
	Rest()

	// Stem returns the stem of a folded word. It is safe for concurrent use.
	Stem(word string) string
}

// Opened holds the sources of a listing.
type Opened struct {
	Parts []Part
	Notes []string // for people: there was no place for an index, it was damaged
	Close func()
}

// Part is a source with entries of a listing as its documents.
type Part struct {
	Source Source
	Entry  []int32 // by document: its entry; below 0 if it is no longer listed
}

// DamagedError reports that an index turned out to be damaged while it was read. Open again to get
// a sound one.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string { return e.Err.Error() }
func (e *DamagedError) Unwrap() error { return e.Err }
