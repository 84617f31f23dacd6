package search

import (
	"slices"
	"strings"
	"testing"
)

// TestCompounds: a compound is found as one word and as two, in the query and in the item.
func TestCompounds(t *testing.T) {
	docs := []*Doc{
		doc("tool:a/one", "Merge a lockfile", "", ""),
		doc("tool:a/two", "Merge a lock file", "", ""),
		doc("tool:a/many", "Lock files", "", ""),
		doc("tool:a/far", "Lock the door of the house and file a report", "", ""), // both words, apart
		doc("tool:a/body", "Other", "", "Open the lock file first"),
		doc("tool:a/page", "Fetch webpages", "", ""),
		doc("tool:a/read", "Write a read-me", "", ""),
		doc("tool:a/limit", "The rate limit", "", ""),
		doc("tool:a/forget", "For you to get", "", ""),
	}
	listed := Options{Stem: stem, Words: NewVocabulary(stem, Words{Compounds: []string{"lock file", "web page", "read me"}, Common: []string{"for", "the", "a"}})}
	plain := Options{Stem: stem, Words: NewVocabulary(stem, Words{Common: []string{"for", "the", "a"}})}
	for _, c := range []struct {
		o               Options
		query, has, not string
	}{
		{listed, "lockfile", "one two many body", "page"},
		{listed, "lockfiles", "one two body", "page"},
		{listed, "lock file", "one two many body far", "page"},
		{listed, "lock-file", "one two many body far", "page"},
		{listed, "file", "one two many body far", "page"},
		{listed, "webpage", "page", "one"},
		{listed, "web page", "page", "one"},
		{listed, "web-page", "page", "one"},
		{listed, "page", "page", "one"},
		{listed, "readme", "read", "one"},
		{listed, "read me", "read", "one"},
		{plain, "lockfile", "one two", "far body page"}, // only where they are neighbours
		{plain, "lock file", "one two many body far", "page"},
		{plain, "ratelimit", "limit", "one"},
		{plain, "limitrate", "limit", "one"}, // no item has the word: its halves
		{plain, "forget", "", "limit"},
		{plain, "zzzlimit", "", "one"},
	} {
		r := rank(t, c.query, c.o, layerOf(docs, 0))
		var got []string
		for _, h := range r.Hits {
			got = append(got, short(docs[h.Doc].ID))
		}
		for _, want := range strings.Fields(c.has) {
			if !slices.Contains(got, want) {
				t.Errorf("%q: %v, want %s in it", c.query, got, want)
			}
		}
		for _, not := range strings.Fields(c.not) {
			if slices.Contains(got, not) {
				t.Errorf("%q: %v, want no %s in it", c.query, got, not)
			}
		}
	}
	r := rank(t, "lockfile", listed, layerOf(docs, 0))
	if first := short(docs[r.Hits[0].Doc].ID); first != "one" && first != "two" {
		t.Errorf("lockfile: %s is first", first)
	}
	if got := short(docs[r.Hits[len(r.Hits)-1].Doc].ID); got != "body" && got != "far" {
		t.Errorf("lockfile: %s is last, want one in whose title it does not stand", got)
	}
}
