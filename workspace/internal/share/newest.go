package share

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// Review is author.Review with the published versions of the project's registries.
func Review(ctx context.Context, s *custody.Desk, c rye.Caller, q rye.ReviewRequest) (*rye.ReviewReport, error) {
	return author.Review(ctx, s, c, q, publishedFor(s))
}

// GrantPatch is author.GrantPatch with the published versions of the project's registries.
func GrantPatch(ctx context.Context, s *custody.Desk, q rye.TrustPatchRequest) (*rye.TrustChange, error) {
	return author.GrantPatch(ctx, s, q, publishedFor(s))
}

func publishedFor(s *custody.Desk) author.Published {
	return func(ctx context.Context, ref objects.Ref) (*objects.Item, trust.Scope, error) {
		return newestPublished(ctx, s, ref)
	}
}

// newestPublished returns the newest published version of an item that this machine knows of, and
// the scope in which its signature counts; nil for none. Only the version's own bytes are fetched,
// if they are not here. Without them the error says why: an older version must not stand for it.
func newestPublished(ctx context.Context, s *custody.Desk, ref objects.Ref) (*objects.Item, trust.Scope, error) {
	ns := ref.ID.Namespace()
	name, c, err := s.Project.RegistryFor(ns)
	if err != nil || s.Site().RegistryOf(s.Trust, ns) != c.ID {
		return nil, trust.Scope{}, nil // no registry decides about it here
	}
	all, err := objects.ParseRange("*")
	if err != nil {
		return nil, trust.Scope{}, err
	}
	here, err := openHere(s, name)
	if err != nil {
		return nil, trust.Scope{}, err
	}
	defer here.Close()
	rel, err := here.Select(ref, all)
	switch fault.CodeOf(err) {
	case "":
	case fault.NotFound, fault.Offline, fault.Conflict, fault.Revoked:
		return nil, trust.Scope{}, nil // never asked, never published, or nothing good is left
	default:
		return nil, trust.Scope{}, err
	}
	got, err := here.Fetch(ctx, rel)
	if fault.Is(err, fault.Offline) && !s.Offline {
		got, err = fetchOne(ctx, s, name, rel)
	}
	if err != nil {
		return nil, trust.Scope{}, fault.Wrap(err, "read the published %s", rel.Name())
	}
	it, err := objects.ParsePublished(rel.Path, got.Raw)
	return it, trust.Scope{Space: objects.Project, Project: s.Stack.Genesis, Place: s.Stack.Place, Registry: c.ID, Pinned: rel.Sum}, err
}

// fetchOne fetches one version from a registry that the user agreed to ask.
func fetchOne(ctx context.Context, s *custody.Desk, name string, rel oplog.Release) (*registry.Fetched, error) {
	reg, err := Open(s, name, nil)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	return reg.Fetch(ctx, rel)
}
