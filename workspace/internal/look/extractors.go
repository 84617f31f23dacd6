package look

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// extractors returns the rules by which items are listed here: the project's, else
// the user's; nil when those of the standard library hold for every kind.
func extractors(ctx context.Context, s *session.Session) (*extract.Set, error) {
	return s.Stack.Extractors(ctx, objects.Project)
}

// Problems returns what keeps an item of the space from being signed there: what the
// rules of its kind have against it, and what the space's extractors ask besides. An
// extractor is held against the format of extractors, and against no extractor:
// whatever is wrong with one can be mended.
func Problems(ctx context.Context, s *session.Session, in objects.Space, it *objects.Item) ([]objects.Problem, error) {
	have := objects.Validate(it)
	if _, is := extract.KindOf(it.Ref); is {
		return extract.Merge(have, extract.Check(it)), nil
	}
	set, err := s.Stack.Extractors(ctx, in)
	if err != nil {
		return have, err
	}
	return extract.Merge(have, set.For(it.Ref.Kind).Validate(it)), nil
}

// mistakes returns what is wrong with a working item of the project or the user;
// nothing for what others made, which nobody here can mend.
func mistakes(ctx context.Context, s *session.Session, f space.Finding) []rye.Mistake {
	if f.Item == nil || f.Space == objects.System || f.Registry != "" {
		return nil
	}
	problems, _ := Problems(ctx, s, f.Space, f.Item) // extractors that cannot be used are told once
	return Invalid(f.Item, problems)
}

// weights returns how much each field of a kind counts in a search, and the fields
// that may be asked for by name besides the usual.
func weights(ctx context.Context, s *session.Session) (map[objects.Kind]search.Weights, []string, error) {
	set, err := extractors(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	all, more := map[objects.Kind]search.Weights{}, []string(nil)
	for _, k := range objects.Kinds {
		r := set.For(k)
		if r == nil || r.Weights == nil {
			if r, err = s.Stack.Shipped(k); err != nil {
				return nil, nil, err
			}
		}
		for _, w := range r.Weights {
			if w.Field == "content" || w.Field == "body" {
				continue // of the text itself, which the catalogue does not have
			}
			all[k] = append(all[k], search.Weight{Field: w.Field, Weight: w.Weight})
			more = append(more, w.Field)
		}
	}
	return all, more, nil
}
