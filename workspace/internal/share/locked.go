package share

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/locks"
)

// VerifyLock compares the lock's pins with the items here, and its positions of namespaces with
// their logs as this machine last verified them. It uses no network. The error is the first
// drift; the report lists all.
func VerifyLock(ctx context.Context, s *custody.Desk) (*rye.LockReport, error) {
	rep, first := locks.Verify(ctx, s.Session)
	if rep == nil {
		return nil, first
	}
	for _, name := range slices.Sorted(maps.Keys(s.Lock.Registries)) {
		if err := logsInLock(ctx, s, name); err != nil {
			rep.Drift = append(rep.Drift, strings.Split(err.Error(), "\n")...)
			if first == nil {
				first = fault.New(fault.Drift, "%w", err).With(fault.HintOf(err))
			}
		}
	}
	lines, err := CheckVendor(ctx, s.Session)
	rep.Drift = append(rep.Drift, lines...)
	if first == nil {
		first = err
	}
	return rep, first
}

// logsInLock compares the lock's positions for the namespaces of one registry.
func logsInLock(ctx context.Context, s *custody.Desk, name string) error {
	cache, state := s.Registries()
	reg, err := registry.Open(registry.Options{ID: s.Lock.Registries[name].ID, CacheDir: cache, StateDir: state, Offline: true, Now: s.Now})
	if err != nil {
		return err
	}
	defer reg.Close()
	return LockFault(ctx, s, reg, slices.Sorted(maps.Keys(s.Lock.Namespaces))...)
}

// PinOf returns the pin of an item in a lock, which may be nil.
func PinOf(l *chain.Lock, ref objects.Ref) (chain.Pin, bool) {
	if l == nil {
		return chain.Pin{}, false
	}
	pin, ok := l.Items[ref]
	return pin, ok
}
