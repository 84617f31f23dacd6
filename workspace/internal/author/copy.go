package author

import (
	"bytes"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
)

// CopyLoaded puts what was loaded into the space called to, byte for byte.
func CopyLoaded(ctx context.Context, s *Desk, c rye.Caller, f *look.Loaded, to string) (*rye.LoadResult, error) {
	if !c.IsPerson() {
		return nil, fault.New(fault.Denied, "load %s: copying into a space needs a person", f.Ref).Mend("rye load %s --to %s", f.Ref, to)
	}
	if err := look.StandsAlone(f.Finding); err != nil {
		return nil, err
	}
	sp, err := objects.ParseSpace(to)
	if err != nil {
		return nil, err
	}
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	res := f.Result
	res.CopiedTo, res.Destination = to, f.Verified.Item().Path
	_, err = CopyTo(ctx, s, l, f.Verified.Item())
	return res, err
}

// CopyTo puts an item into a space under the id it has, and returns the commit. A
// different file that is there stays.
func CopyTo(ctx context.Context, s *Desk, l *space.Layer, it *objects.Item) (string, error) {
	if err := l.Create(); err != nil {
		return "", err
	}
	if have, err := l.Read(it.Path); err == nil && !bytes.Equal(have, it.Raw) {
		return "", fault.New(fault.Conflict, "copy %s: the %s space holds another one", it.Ref, l.Space).Mend("rye show --all %s", it.Ref)
	}
	if err := l.Write(it.Path, it.Raw, true); err != nil {
		return "", err
	}
	return record(ctx, s, l, "copy", []objects.Ref{it.Ref}, []store.Change{{Path: it.Path, Data: it.Raw}})
}
