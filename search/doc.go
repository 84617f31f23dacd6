// Package search finds items: it parses a query, takes the searched words from an item,
// and ranks the matches. It reads nothing; callers hand it sources of terms (an index, or
// Mem) and the texts of the few items that need a second look.
//
//	Parse     a query, in RYE OS's language
//	Analyzer  the terms of an item, by which it is found
//	Source    the terms of many: an index, or Mem
//	Rank      which items a query means, best first, and why
//
// docs/format/search.md has the rules and the order.
//
// # Reasons
//
// Ranking is ours and the index is bleve's. bleve scores each index by its own statistics:
// one item would count differently by layer or by age, and scores would reveal items that
// the caller may not see. So this package scores the visible items over all layers, from
// an index or from memory.
//
// A query demands none of its words. RYE OS demanded all, and seven of 36 questions on the
// library would find nothing. The share of the words that an item has multiplies their
// worth, so two words still mean both.
//
// Words are the lever, not formulas. Each constant was tried in both directions on the
// golden lists and moved hardly a hundredth; synonyms, verb forms and stop words moved a
// fifth. So constants are round and config:rye/search is long. Its lists describe the
// language: a word added for one query makes the list wrong for the next. The shape of a
// question counts a fifth ("find files" wants a tool, "which files are found" a page).
//
// The fifty best are read again, in half a millisecond: an index without positions does
// not know that two words stand together, and positions would double it.
//
// A broken list of synonyms refuses no search, unlike other configuration: the answer
// reports it, and that list can still be found. Scopes compare whole segments: RYE OS's
// rye.core also found rye/core2, and a scope can be a capability.
package search
