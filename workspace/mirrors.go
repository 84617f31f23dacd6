package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/govern"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Mirrors are the verbs about the addresses of a registry.
type Mirrors struct{ *rooms }

// Mirrors returns the verbs about the addresses of a registry.
func (g Registry) Mirrors() Mirrors { return Mirrors{g.rooms} }

// List names the addresses of a registry, without the network.
func (g Mirrors) List(ctx context.Context, c rye.Caller, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	return do(ctx, c, "registry.mirror.list", g.working(g.project), share.Mirrors, q)
}

// Add adds an address to a registry, after a comparison of identities and the user's
// consent.
func (g Mirrors) Add(ctx context.Context, c rye.Caller, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	return do(ctx, c, "registry.mirror.add", g.working(g.project), share.AddMirror, q)
}

// Remove takes an address of a registry from the project.
func (g Mirrors) Remove(ctx context.Context, c rye.Caller, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	return do(ctx, c, "registry.mirror.remove", g.working(g.project), share.RemoveMirror, q)
}

// Push brings addresses of a registry up to the newest state that any of them shows.
func (g Mirrors) Push(ctx context.Context, c rye.Caller, q rye.MirrorRequest) (*rye.MirrorReport, error) {
	return do(ctx, c, "registry.mirror.push", g.working(g.project), govern.PushMirrors, q)
}
