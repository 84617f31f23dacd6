package rye

import (
	"bytes"
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// Load returns one verified item, from the highest space that holds it or from
// the one named, and with q.Destination copies it there byte for byte.
func (r *Rye) Load(ctx context.Context, c Caller, q LoadRequest) (*LoadResult, error) {
	s, ref, err := r.openFor(q.Ref)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f, err := s.loadFrom(ctx, q.Space, ref)
	if err != nil {
		return nil, err
	}
	if err := s.allow(c, "load", ref); err != nil {
		return nil, err
	}
	it := f.Verified.Item()
	res := &LoadResult{ItemInfo: info(f), Content: string(it.Raw), Body: it.Meta.Prose}
	if q.Destination == "" {
		return res, nil
	}
	if c.Name != Terminal.Name {
		return nil, fault.New(fault.Denied, "load %s: copying into a space needs a person", ref).Mend("rye load %s --to %s", ref, q.Destination)
	}
	if err := standsAlone(f); err != nil {
		return nil, err
	}
	sp, err := objects.ParseSpace(q.Destination)
	if err != nil {
		return nil, err
	}
	l, err := s.stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	res.CopiedTo, res.Destination = q.Destination, it.Path
	_, err = s.copyTo(ctx, l, it)
	return res, err
}

// standsAlone refuses to take a file out of the bundle that answers for it.
func standsAlone(f space.Finding) error {
	if f.Verified.IsZero() || f.Space == objects.System || f.Level() != trust.Manifest {
		return nil
	}
	return fault.New(fault.Untrusted, "copy %s: bundle %s answers for it, and would not in another place", f.Ref, f.Bundle).
		Advise("copy the directory of the bundle")
}

func (s *session) loadFrom(ctx context.Context, name string, ref objects.Ref) (space.Finding, error) {
	if name == "" {
		f, err := s.finding(ctx, ref)
		if err == nil {
			err = f.Err
		}
		return f, err
	}
	sp, err := objects.ParseSpace(name)
	if err != nil {
		return space.Finding{}, err
	}
	f, ok, err := s.stack.In(ctx, sp, ref)
	switch {
	case err != nil:
		return f, err
	case !ok:
		return f, fault.New(fault.NotFound, "%s: not in the %s space", ref, sp).Mend("rye show --all %s", ref)
	}
	return f, f.Err
}

// copyTo puts an item into a space under the id it has, and returns the commit. A
// different file that is there stays.
func (s *session) copyTo(ctx context.Context, l *space.Layer, it *objects.Item) (string, error) {
	if err := l.Create(); err != nil {
		return "", err
	}
	if have, err := l.Read(it.Path); err == nil && !bytes.Equal(have, it.Raw) {
		return "", fault.New(fault.Conflict, "copy %s: the %s space holds another one", it.Ref, l.Space).Mend("rye show --all %s", it.Ref)
	}
	if err := l.Write(it.Path, it.Raw, true); err != nil {
		return "", err
	}
	return s.record(ctx, l, "copy", []objects.Ref{it.Ref}, []store.Change{{Path: it.Path, Data: it.Raw}})
}
