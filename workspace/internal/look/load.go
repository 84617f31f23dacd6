package look

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

func ReadBounded(path string) ([]byte, error) {
	return place.Read(path, space.MaxItem)
}

// Loaded is an item that was found, verified and permitted to the caller.
type Loaded struct {
	space.Finding
	Result *rye.LoadResult
}

// Load returns one verified item, from the highest space that holds it or from
// the one named.
func Load(ctx context.Context, s *session.Session, c rye.Caller, q rye.LoadRequest) (*Loaded, error) {
	f, err := loadFrom(ctx, s, q.Space, q.Ref)
	if err != nil {
		return nil, err
	}
	if err := s.Allow(c, "load", q.Ref); err != nil {
		return nil, err
	}
	it := f.Verified.Item()
	return &Loaded{Finding: f, Result: &rye.LoadResult{ItemInfo: info(f), Content: string(it.Raw), Body: it.Meta.Prose}}, nil
}

// StandsAlone refuses to take a file out of the bundle that answers for it.
func StandsAlone(f space.Finding) error {
	if f.Verified.IsZero() || f.Space == objects.System || f.Level() != trust.Manifest {
		return nil
	}
	return fault.New(fault.Untrusted, "copy %s: bundle %s answers for it, and would not in another place", f.Ref, f.Bundle).
		Advise("copy the directory of the bundle")
}

func loadFrom(ctx context.Context, s *session.Session, name string, ref objects.Ref) (space.Finding, error) {
	if name == "" {
		f, err := Finding(ctx, s, ref)
		if err == nil {
			err = f.Err
		}
		return f, err
	}
	sp, err := objects.ParseSpace(name)
	if err != nil {
		return space.Finding{}, err
	}
	f, ok, err := s.Stack.In(ctx, sp, ref)
	switch {
	case err != nil:
		return f, err
	case !ok:
		return f, fault.New(fault.NotFound, "%s: not in the %s space", ref, sp).Mend("rye show --all %s", ref)
	}
	return f, f.Err
}
