// Package extract says what an extractor item may say about the items of a kind:
// from which of their fields they are listed, what else they must say to be signed,
// and how much each field counts in a search.
//
// An extractor is the tool rye/core/extractors/<kind>/<kind>_extractor; the standard
// library has one for each kind, and a project may put its own before it.
// docs/format/extractor.md is its format. What an extractor can never say, wherever
// it comes from, is what the law needs: where the signature line stands and what it
// covers, who executes, what is permitted, needed and limited, which version it is.
// Those are read by package objects, which has no way to ask an extractor; Parse
// refuses one that tries. Rules of validation are added to those of Item.Validate
// and cannot take any away.
//
// Nothing here reads files or remembers anything between calls.
package extract

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Dir is the directory below .ai that holds the extractors of a space.
const Dir = "tools/rye/core/extractors"

// Bounds of what one extractor may say.
const (
	MaxRules   = 512  // entries of all its mappings together
	MaxNesting = 8    // of validation_schema, and keys on a path
	MaxValues  = 256  // that a field may be one of
	MaxPattern = 512  // bytes
	MaxWeight  = 1000 // of a field in a search
	MaxText    = 4096 // bytes of a text that is listed from another field
)

// Ref returns the id of the extractor for a kind.
func Ref(k objects.Kind) objects.Ref {
	name := string(k)
	return objects.Ref{Kind: objects.Tool, ID: objects.ID("rye/core/extractors/" + name + "/" + name + "_extractor")}
}

// KindOf returns the kind that ref is the extractor of.
func KindOf(ref objects.Ref) (objects.Kind, bool) {
	if ref.Kind != objects.Tool || !strings.HasPrefix(string(ref.ID), "rye/core/extractors/") {
		return "", false
	}
	for _, k := range objects.Kinds {
		if Ref(k) == ref {
			return k, true
		}
	}
	return "", false
}

// Rules is what one extractor says. It is never modified after Parse and may be
// shared between goroutines.
type Rules struct {
	Kind objects.Kind
	Sum  objects.Digest // of the extractor's file

	// Weights says how much a field counts in a search, heaviest first; nil when the
	// extractor is silent about it.
	Weights []Weight

	sources    map[string][]string // field → keys of the value; none is the file's name
	extensions []string            // nil: whatever rye reads
	schema     []rule
	more       []string // fields that lists know only because of this extractor, sorted
}

// Weight is a field and how much it counts, above 0 and at most MaxWeight.
type Weight struct {
	Field  string
	Weight float64
}

// Parse reads an extractor. It is Malformed, with the place, for anything that
// docs/format/extractor.md does not allow; Check tells all of it.
func Parse(it *objects.Item) (*Rules, error) {
	r, problems := read(it)
	if len(problems) > 0 {
		p := problems[0]
		return nil, fault.New(fault.Malformed, "%s:%s", it.Path, p).Advise("%s", p.Mend)
	}
	return r, nil
}

// Check returns all that Parse has against an extractor, in the order of the file.
func Check(it *objects.Item) []objects.Problem {
	_, problems := read(it)
	return problems
}

// Set is the extractors that stand before those of the standard library. nil is
// none. It may be shared between goroutines.
type Set struct {
	rules map[objects.Kind]*Rules
}

// NewSet returns the set of rules, nil when there are none. Of two for one kind the
// first counts.
func NewSet(all ...*Rules) *Set {
	s := &Set{rules: map[objects.Kind]*Rules{}}
	for _, r := range all {
		if s.rules[r.Kind] == nil {
			s.rules[r.Kind] = r
		}
	}
	if len(s.rules) == 0 {
		return nil
	}
	return s
}

// For returns the rules for a kind; nil when those of the standard library hold,
// which say what rye does without asking.
func (s *Set) For(k objects.Kind) *Rules {
	if s == nil {
		return nil
	}
	return s.rules[k]
}

// Digest is of everything that the set says; zero for nil.
func (s *Set) Digest() objects.Digest {
	if s == nil {
		return objects.Digest{}
	}
	var b strings.Builder
	for _, k := range objects.Kinds {
		if r := s.rules[k]; r != nil {
			b.WriteString(string(k) + " " + r.Sum.String() + "\n")
		}
	}
	return objects.DigestOf([]byte(b.String()))
}
