// Package fulltext keeps the index for package search: one immutable index for each layer,
// below the cache directory, in the segment format of bleve.
//
// An index is two files, <key>.zap with the terms and <key>.rows with their items. They
// are built beside and renamed in, the rows last; opened read-only by any number of
// processes; and never changed. The key is a digest of the whole listing. Later changes
// are searched from memory until they are many: then they and the newest index are merged
// into the next. Everything may be deleted at any time, and a damaged index is deleted.
// docs/format/search.md describes the files.
//
// # Reasons
//
// bleve keeps an index that changes: scorch has a root file in bolt, goroutines, and locks
// that block for ever where two processes open one. Our indexes never change, so zapx, the
// layer below, is enough: an FST as dictionary, roaring bitmaps as postings,
// memory-mapped. It costs 2 MB of the engine and no measurable start (scorch 4 ms). To
// leave it, write a segment behind search.Source, which has three methods; an old index is
// simply not found. v17.2.3 belongs to bleve v2.6.1; v17.2.5 does not resolve.
//
// A damaged segment makes zapx panic, and a mapped file that is cut off raises a signal.
// Every byte is checked when an index is opened; beyond that, readers run with
// SetPanicOnFault and recover, except for the callbacks of the ranking.
//
// The next index is merged, not built: after 200 changes in 10,000 items half a second
// instead of 7, with no file read. It happens beside the search that found it necessary;
// `rye search` waits for it after the answer.
package fulltext
