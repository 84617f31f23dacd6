package gogit

import (
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// SetReference moves a ref from its current position, or creates it. If another process moves
// it at the same moment, the error is storage.ErrReferenceHasChanged, and nothing happens.
func (s *Storage) SetReference(r *plumbing.Reference) error { return s.CheckAndSetReference(r, nil) }

// CheckAndSetReference moves the ref of to if it is at old; a zero hash means that it must not
// exist. Without old it is SetReference. Symbolic refs and HEAD may only be set to their
// current value.
func (s *Storage) CheckAndSetReference(to, old *plumbing.Reference) error {
	if to == nil {
		return nil
	}
	if to.Type() != plumbing.HashReference || to.Name() == plumbing.HEAD {
		return s.asItIs(to)
	}
	if old == nil {
		was, err := s.current(to.Name())
		if err != nil || was == oidOf(to.Hash()) {
			return err
		}
		return s.swap(to.Name(), was, oidOf(to.Hash()))
	}
	if old.Name() != to.Name() || old.Type() != plumbing.HashReference {
		return fault.New(fault.Usage, "move ref %s with go-git: its old position is from another ref", to.Name())
	}
	return s.swap(to.Name(), oidOf(old.Hash()), oidOf(to.Hash()))
}

// asItIs accepts a reference that is already set this way, and refuses every other.
func (s *Storage) asItIs(to *plumbing.Reference) error {
	is, err := s.Reference(to.Name())
	if err == nil && is.Type() == to.Type() && is.Target() == to.Target() && is.Hash() == to.Hash() {
		return nil
	}
	return fault.New(fault.Usage, "move ref %s with go-git: HEAD and symbolic refs stay as they are", to.Name())
}

// current returns the target of a ref; zero if there is none.
func (s *Storage) current(name plumbing.ReferenceName) (store.OID, error) {
	id, err := s.repo.Ref(name.String())
	if errors.Is(err, store.ErrNotExist) {
		return store.OID{}, nil
	}
	return id, err
}

// swap makes all moves of refs in this package.
func (s *Storage) swap(name plumbing.ReferenceName, old, new store.OID) error {
	err := s.repo.Swap(s.ctx, name.String(), old, new, "go-git")
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		return storage.ErrReferenceHasChanged
	}
	if err == nil {
		s.held.release()
	}
	return err
}

// Reference returns a ref. HEAD names a branch; other symbolic refs are resolved.
func (s *Storage) Reference(name plumbing.ReferenceName) (*plumbing.Reference, error) {
	if name == plumbing.HEAD {
		target, err := s.repo.Head()
		if err != nil || target == "" { // detached, which no repository of rye is
			return nil, errors.Join(plumbing.ErrReferenceNotFound, err)
		}
		return plumbing.NewSymbolicReference(name, plumbing.ReferenceName(target)), nil
	}
	id, err := s.repo.Ref(name.String())
	switch {
	case errors.Is(err, store.ErrNotExist), fault.Is(err, fault.Usage): // go-git tries invalid names
		return nil, plumbing.ErrReferenceNotFound
	case err != nil:
		return nil, err
	}
	return plumbing.NewHashReference(name, hashOf(id)), nil
}

// IterReferences iterates over the refs, without HEAD.
func (s *Storage) IterReferences() (storer.ReferenceIter, error) {
	refs, err := s.repo.Refs("refs/")
	if err != nil {
		return nil, err
	}
	all := make([]*plumbing.Reference, len(refs))
	for i, r := range refs {
		all[i] = plumbing.NewHashReference(plumbing.ReferenceName(r.Name), hashOf(r.ID))
	}
	return storer.NewReferenceSliceIter(all), nil
}

// RemoveReference deletes a ref. A missing ref is no error.
func (s *Storage) RemoveReference(name plumbing.ReferenceName) error {
	was, err := s.current(name)
	if err != nil || was.IsZero() {
		return err
	}
	return s.swap(name, was, store.OID{})
}

// CountLooseRefs returns 0: only the store decides whether refs are packed.
func (s *Storage) CountLooseRefs() (int, error) { return 0, nil }

// PackRefs does nothing.
func (s *Storage) PackRefs() error { return nil }
