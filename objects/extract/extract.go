// Package extract reads extractor items: from which fields items of a kind are listed,
// what else they must state to be signed, and how much each field counts in a search.
//
// An extractor is the tool rye/core/extractors/<kind>/<kind>_extractor; the standard
// library has one for each kind, and a project may put its own before it.
// docs/format/extractor.md is its format. No extractor can decide about the law: the place
// of the signature line and its cover, the executor, permissions, needs and limits, the
// version. Package objects reads these and has no way to ask an extractor; Parse refuses
// an extractor that tries. Rules of validation are added to those of Item.Validate and
// cannot take any away.
//
// Nothing here reads files or remembers anything between calls.
//
// # Reasons
//
// An extractor may describe and demand, never direct. Where a project's data decided about
// validation and the signature's place, the project would decide which of its items are
// verified. A rule that would have no effect is refused: its author believes that it has
// one. Unknown keys are refused for the same reason: `require: true` would be a demand
// without effect.
//
// The standard library's extractors repeat what the code does, so that there is something
// to copy, and a test holds them against every golden item. Only their weights are used.
// So the common case costs one lstat and one look into the record for each space (5 µs).
//
// Weights are kept by the digest of the extractors that they are made from. The extractors
// themselves are found and verified at every search.
//
// A list falls back to the field itself where a project's field is absent, or nothing
// would find the item. Validation does not fall back.
package extract

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Dir is the directory below .ai that holds the extractors of a space.
const Dir = "tools/rye/core/extractors"

// Bounds of one extractor.
const (
	MaxRules   = 512  // entries of all its mappings together
	MaxNesting = 8    // of validation_schema, and keys on a path
	MaxValues  = 256  // in a list, such as the values of an enum
	MaxPattern = 512  // bytes
	MaxWeight  = 1000 // of a field in a search
	MaxText    = 4096 // bytes of a text that lists take from another field
)

// Ref returns the id of the extractor for a kind.
func Ref(k objects.Kind) objects.Ref {
	name := string(k)
	return objects.Ref{Kind: objects.Tool, ID: objects.ID("rye/core/extractors/" + name + "/" + name + "_extractor")}
}

// KindOf returns the kind whose extractor ref is.
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

// Rules are the rules of one extractor. They never change after Parse, so
// goroutines may share them.
type Rules struct {
	Kind objects.Kind
	Sum  objects.Digest // of the extractor's file

	// Weights are the weights of fields in a search, the heaviest first; nil when the
	// extractor declares none.
	Weights []Weight

	sources    map[string][]string // field → keys of the value; no keys: the file's name
	extensions []string            // nil: every extension that rye reads
	schema     []rule
	more       []string // fields that only this extractor adds to lists, sorted
}

// Weight is a field and its weight, above 0 and at most MaxWeight.
type Weight struct {
	Field  string
	Weight float64
}

// Parse reads an extractor. Anything that docs/format/extractor.md does not allow is
// Malformed, with the place. The error has the first problem; Check returns all.
func Parse(it *objects.Item) (*Rules, error) {
	r, problems := read(it)
	if len(problems) > 0 {
		p := problems[0]
		return nil, fault.New(fault.Malformed, "%s:%s", it.Path, p).Advise("%s", p.Mend)
	}
	return r, nil
}

// Check returns all problems of an extractor, in the order of the file.
func Check(it *objects.Item) []objects.Problem {
	_, problems := read(it)
	return problems
}

// Set holds the extractors that take precedence over the standard library's. nil is
// the empty set. Goroutines may share it.
type Set struct {
	rules map[objects.Kind]*Rules
}

// NewSet returns the set of rules, or nil when there are none. For each kind it keeps
// the first.
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

// For returns the rules for a kind. nil means the rules of the standard library, which
// describe the built-in behaviour.
func (s *Set) For(k objects.Kind) *Rules {
	if s == nil {
		return nil
	}
	return s.rules[k]
}

// Digest returns a digest over all rules of the set; zero for nil.
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
