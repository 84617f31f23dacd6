package space

import (
	"context"
	"errors"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/extract"
	"github.com/rye-os/rye/store"
)

// Extractors returns the extractors that take precedence over the standard library's, for the
// space from and the spaces below it; nil for none. They are items like any other: verified,
// and the highest space with one decides. An unusable or invalid extractor is an error that
// names it. The result is cached for the life of the Stack.
func (s *Stack) Extractors(ctx context.Context, from objects.Space) (*extract.Set, error) {
	s.extractors.Lock()
	defer s.extractors.Unlock()
	if f, ok := s.extractors.found[from]; ok {
		return f.set, f.err
	}
	set, err := s.findExtractors(ctx, from)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.extractors.found == nil {
		s.extractors.found = map[objects.Space]extractors{}
	}
	s.extractors.found[from] = extractors{set, err}
	return set, err
}

// extractors is a cached result of findExtractors.
type extractors struct {
	set *extract.Set
	err error
}

func (s *Stack) findExtractors(ctx context.Context, from objects.Space) (*extract.Set, error) {
	var all []*extract.Rules
	decided := map[objects.Kind]bool{} // by a higher space
	for _, l := range s.Layers() {
		if l.Space > from {
			continue
		}
		if some, err := l.mayHold(extract.Dir); err != nil || !some {
			if err != nil {
				return nil, err
			}
			continue
		}
		for _, k := range objects.Kinds {
			if decided[k] {
				continue
			}
			f, ok, err := s.In(ctx, l.Space, extract.Ref(k))
			if ok && err == nil {
				f, ok, err = s.Settle(ctx, f)
			}
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if f.Err == nil { // an older one may be used if the rule allows it as a companion; no question is asked
				f = admit(ctx, s, f, true)
			}
			r, err := rulesOf(f)
			if err != nil {
				return nil, err
			}
			all, decided[k] = append(all, r), true
		}
	}
	return extract.NewSet(all...), nil
}

// keepShipped caches an extractor that was found while listing the standard library.
func (s *Stack) keepShipped(f Finding) {
	k, ok := extract.KindOf(f.Ref)
	if !ok {
		return
	}
	s.extractors.Lock()
	defer s.extractors.Unlock()
	if s.extractors.shipped == nil {
		s.extractors.shipped = map[objects.Kind]Finding{}
	}
	s.extractors.shipped[k] = f
}

// Shipped returns the standard library's extractor for a kind.
func (s *Stack) Shipped(k objects.Kind) (*extract.Rules, error) {
	s.extractors.Lock()
	f, ok := s.extractors.shipped[k]
	s.extractors.Unlock()
	var err error
	if !ok {
		f, ok, err = s.inSystem(extract.Ref(k))
	}
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.NotFound, "the standard library has no %s", extract.Ref(k)).Advise("install rye again")
	}
	return rulesOf(f)
}

// rulesOf reads the extractor that was chosen. There is no other to fall back to.
func rulesOf(f Finding) (*extract.Rules, error) {
	err := f.Err
	if err == nil {
		r, bad := extract.Parse(f.Verified.Item())
		if bad == nil {
			return r, nil
		}
		err = bad
	}
	e := fault.Wrap(err, "the extractor %s of the %s space cannot be used", f.Ref, f.Space)
	if fault.HintOf(err).IsZero() {
		e = e.Advise("fix it, or remove it: rye rm %s", f.Ref)
	}
	return nil, e
}

// mayHold reports whether the working tree or the record has an entry at dir: a cheap test
// before the full one.
func (l *Layer) mayHold(dir string) (bool, error) {
	if err := l.load(); err != nil {
		return false, err
	}
	if l.root != nil {
		if _, err := l.root.Lstat(dir); err == nil {
			return true, nil
		}
	}
	c, err := l.tip()
	if c == nil || err != nil {
		return false, err
	}
	_, err = l.repo.Lookup(c.Tree, dir)
	if errors.Is(err, store.ErrNotExist) {
		return false, nil
	}
	return err == nil, l.damaged(err)
}
