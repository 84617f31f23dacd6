package workspace

import (
	"context"

	"github.com/rye-os/rye"
)

// Keys are the verbs about the user's own keys.
type Keys struct{ *rooms }

// Keys returns the verbs about the user's own keys.
func (w *Workspace) Keys() Keys { return Keys{&w.rooms} }

// New makes a key, keeps it under its name and trusts it as the user's own. The trust is for
// the given namespace or, when that is empty, for every free one.
func (g Keys) New(ctx context.Context, c rye.Caller, q rye.KeyNewRequest) (*rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.new"); err != nil {
		return nil, err
	}
	return g.keys.Generate(q)
}

// List describes the user's keys, in the key directory and in an agent or a key service.
func (g Keys) List(ctx context.Context, c rye.Caller) ([]rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.list"); err != nil {
		return nil, err
	}
	return g.keys.List()
}

// Show describes one key.
func (g Keys) Show(ctx context.Context, c rye.Caller, q rye.KeyRequest) (*rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.show"); err != nil {
		return nil, err
	}
	return g.keys.Find(ctx, q.Name)
}

// Import takes over a private key that was made elsewhere and trusts it as the user's own. A
// file is copied below rye's keys, with its passphrase. A key of an agent or a service stays
// where it is, and has to sign something before it is accepted.
func (g Keys) Import(ctx context.Context, c rye.Caller, q rye.KeyImportRequest) (*rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.import"); err != nil {
		return nil, err
	}
	return g.keys.Import(ctx, q)
}

// Export returns a key in a form for other programs. The private half needs a person's
// consent.
func (g Keys) Export(ctx context.Context, c rye.Caller, q rye.KeyExportRequest) (*rye.KeyExport, error) {
	if err := g.host.Permit(c, "key.export"); err != nil {
		return nil, err
	}
	return g.keys.Export(ctx, q)
}

// SetPassphrase changes or removes the passphrase of a key.
func (g Keys) SetPassphrase(ctx context.Context, c rye.Caller, q rye.KeyPassphraseRequest) (*rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.passphrase"); err != nil {
		return nil, err
	}
	return g.keys.SetPassphrase(ctx, q)
}
