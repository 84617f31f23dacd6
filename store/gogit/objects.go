package gogit

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// EncodedObject returns the object h after comparing its bytes with h. An object of another
// type is not found, as in go-git.
func (s *Storage) EncodedObject(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	if err := s.charge(1, 0); err != nil {
		return nil, err
	}
	typ, data, err := s.read(h)
	if err != nil {
		return nil, err
	}
	if t != plumbing.AnyObject && t != plumbing.ObjectType(typ) {
		return nil, plumbing.ErrObjectNotFound
	}
	if err := s.check(typ, data); err != nil {
		return nil, fault.Wrap(err, "%s %s", typ, h)
	}
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.ObjectType(typ))
	_, err = o.Write(data)
	return o, err
}

// read reads an object within the limits. It checks the size before inflating.
func (s *Storage) read(h plumbing.Hash) (store.Type, []byte, error) {
	id := oidOf(h)
	if id.IsZero() {
		return 0, nil, plumbing.ErrObjectNotFound
	}
	typ, size, err := s.repo.Stat(id)
	if err != nil {
		return 0, nil, missing(err)
	}
	if err := s.charge(0, size); err != nil {
		return 0, nil, err
	}
	typ, data, err := s.repo.Object(id, min(s.limits.Object, most(typ)))
	return typ, data, missing(err)
}

// check refuses trees that go-git would read and git would not write: names with slashes,
// repeated names, wrong order. It also bounds the lines of a blob, which may be compared.
func (s *Storage) check(t store.Type, data []byte) (err error) {
	switch {
	case t == store.TypeTree:
		_, err = store.ParseTree(store.SHA1, data)
	case t == store.TypeBlob && s.limits.Lines < int64(bytes.Count(data, []byte("\n"))):
		err = fault.New(fault.Limit, "more than %d lines", s.limits.Lines)
	}
	return err
}

// charge counts the next reads and refuses them beyond the limits.
func (s *Storage) charge(reads, bytes int64) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if s.reads.Add(reads) > s.limits.Reads || s.bytes.Add(bytes) > s.limits.Bytes {
		return fault.New(fault.Limit, "read %s with go-git: more than %d objects or %d MiB", s.repo.Dir(), s.limits.Reads, s.limits.Bytes>>20)
	}
	return nil
}

// most returns the size limit, in bytes, for objects of a type.
func most(t store.Type) int64 {
	switch t {
	case store.TypeTree:
		return store.MaxTreeSize
	case store.TypeBlob:
		return forEver
	}
	return store.MaxCommitSize
}

// missing turns the store's error for a missing object into go-git's, which callers compare.
func missing(err error) error {
	if errors.Is(err, store.ErrNotExist) {
		return plumbing.ErrObjectNotFound
	}
	return err
}

func oidOf(h plumbing.Hash) store.OID {
	id, _ := store.OIDFromBytes(h[:]) // 20 bytes are always an id
	return id
}

func hashOf(id store.OID) (h plumbing.Hash) {
	copy(h[:], id.Bytes())
	return h
}

// HasEncodedObject returns nil for an existing object, otherwise plumbing.ErrObjectNotFound.
func (s *Storage) HasEncodedObject(h plumbing.Hash) error {
	if id := oidOf(h); id.IsZero() || !s.repo.Has(id) {
		return plumbing.ErrObjectNotFound
	}
	return nil
}

// EncodedObjectSize returns the size of an object, in bytes, from its header.
func (s *Storage) EncodedObjectSize(h plumbing.Hash) (int64, error) {
	id := oidOf(h)
	if id.IsZero() {
		return 0, plumbing.ErrObjectNotFound
	}
	_, size, err := s.repo.Stat(id)
	return size, missing(err)
}

// NewEncodedObject returns an empty object in memory, for SetEncodedObject.
func (s *Storage) NewEncodedObject() plumbing.EncodedObject { return &plumbing.MemoryObject{} }

// SetEncodedObject writes an object durably. It refuses a tree that git would not write.
func (s *Storage) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	if err := s.fits(o.Type(), o.Size()); err != nil {
		return plumbing.ZeroHash, err
	}
	data, err := contentOf(o)
	if err == nil {
		err = s.check(store.Type(o.Type()), data)
	}
	if err != nil {
		return plumbing.ZeroHash, fault.Wrap(err, "write an object with go-git")
	}
	id, err := s.repo.Put(s.ctx, store.Type(o.Type()), data)
	return hashOf(id), err
}

// fits refuses invalid types, and objects that are too large to be read again.
func (s *Storage) fits(t plumbing.ObjectType, size int64) error {
	if !t.Valid() || t.IsDelta() {
		return plumbing.ErrInvalidType
	}
	if limit := min(s.limits.Object, most(store.Type(t))); size < 0 || size > limit {
		return fault.New(fault.Limit, "write a %s with go-git: %d bytes, at most %d", t, size, limit)
	}
	return nil
}

// contentOf reads exactly as many bytes of an object as its size.
func contentOf(o plumbing.EncodedObject) ([]byte, error) {
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, o.Size()+1))
	if err == nil && int64(len(data)) != o.Size() {
		err = fault.New(fault.Malformed, "it declares %d bytes, and has %d", o.Size(), len(data))
	}
	return data, err
}

// IterEncodedObjects iterates over all objects of a type, reachable or not.
func (s *Storage) IterEncodedObjects(t plumbing.ObjectType) (storer.EncodedObjectIter, error) {
	ids, err := s.repo.IDs(s.ctx)
	if err != nil {
		return nil, err
	}
	var hashes []plumbing.Hash
	for _, id := range ids {
		typ, _, err := s.repo.Stat(id)
		if err != nil {
			return nil, err
		}
		if t == plumbing.AnyObject || t == plumbing.ObjectType(typ) {
			hashes = append(hashes, hashOf(id))
		}
	}
	return storer.NewEncodedObjectLookupIter(s, t, hashes), nil
}

// AddAlternate is refused: a rye repository has all of its objects itself.
func (s *Storage) AddAlternate(remote string) error {
	return fault.New(fault.Usage, "objects of %q: a repository of rye borrows no objects", remote)
}
