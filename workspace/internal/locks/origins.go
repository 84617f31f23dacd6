package locks

import (
	"context"
	"maps"
	"slices"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// originsHold reports whether the lock repeats the origins of its bundles as their manifests state
// them, and repeats no other.
func originsHold(ctx context.Context, s *session.Session) (bool, error) {
	stated, unknown, err := s.StatedOrigins(ctx, s.Lock)
	if err != nil {
		return false, err
	}
	now := maps.Clone(s.Lock.Origins)
	maps.DeleteFunc(now, func(ref objects.Ref, _ chain.OriginPin) bool { return unknown[ref] })
	return maps.Equal(now, stated), nil
}

// verifyOrigins compares the origins in the lock with the signed manifests, which decide. An origin
// that the lock does not repeat is no drift: the section is for other tools, and may be absent.
func verifyOrigins(ctx context.Context, s *session.Session) (all []error, err error) {
	if len(s.Lock.Origins) == 0 {
		return nil, nil
	}
	stated, unknown, err := s.StatedOrigins(ctx, s.Lock)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.SortedFunc(maps.Keys(s.Lock.Origins), byName) {
		is, known := stated[ref]
		switch field, found, want := is.Differs(s.Lock.Origins[ref]); {
		case unknown[ref]: // its members are refused, and so are their pins
		case !known:
			all = append(all, otherOrigin(ref, &chain.DriftError{Pin: ref, Field: "origin", Cause: "the lock states an origin that no signed manifest here has"}))
		case field != "":
			all = append(all, otherOrigin(ref, &chain.DriftError{Pin: ref, Field: "origin " + field, Want: want, Found: found, Cause: "its signed manifest decides"}))
		}
	}
	return all, nil
}

func otherOrigin(ref objects.Ref, d *chain.DriftError) error {
	return fault.New(fault.Drift, "%w", d).Advise("see rye show %s; rye lock, to take all origins from the manifests", ref)
}
