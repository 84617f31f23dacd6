package install

import (
	"context"
	"maps"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/share"
)

// vendored is the installation of a project whose .ai/vendor, or store, has all that its lock names:
// it contacts nobody. nil where the registries have to be asked.
func (in *installation) vendored(ctx context.Context) (*rye.InstallReport, error) {
	for name := range in.Project.Deps {
		if ref, err := objects.ParseRef(name); err != nil {
			return nil, err
		} else if _, pinned := in.fromRegistry(ref); !pinned {
			return nil, nil
		}
	}
	here, err := share.TakeVendored(ctx, &in.Desk)
	if err == nil && here {
		err = in.usable()
	}
	switch {
	case err == nil && !here:
		return nil, nil
	case err != nil && (in.Offline || fault.Is(err, fault.Fork) || ctx.Err() != nil):
		return nil, err
	case err != nil:
		in.Tell("asking the registries: " + err.Error())
		return nil, nil
	}
	rep := &rye.InstallReport{}
	for _, ref := range slices.SortedFunc(maps.Keys(in.Lock.Items), byPublished) {
		if pin, ok := in.fromRegistry(ref); ok {
			rep.Unchanged = append(rep.Unchanged, rye.Installed{Name: ref.Published(), Version: pin.Version, Registry: pin.From, SHA256: pin.SHA256.String(),
				Commit: pin.Commit, Author: pin.Author.String(), Publisher: pin.Publisher.String()})
		}
	}
	rep.Warnings = append(rep.Warnings, "all of it is in .ai/vendor; rye fetch asks the registries what was revoked since")
	return rep, nil
}

// usable returns the first reason why an item that the lock has from a registry may not be used.
func (in *installation) usable() error {
	for _, ref := range slices.SortedFunc(maps.Keys(in.Lock.Items), byPublished) {
		if _, ok := in.fromRegistry(ref); !ok {
			continue
		}
		if p := in.Stack.LockedPackage(ref); p != nil {
			if err := p.Check(); p.Err == nil && err != nil {
				return err
			}
			if p.Err != nil {
				return p.Err
			}
			continue
		}
		if _, err := in.Stack.FromLock(ref); err != nil {
			return err
		}
	}
	return nil
}
