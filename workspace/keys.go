package workspace

import (
	"context"

	"github.com/rye-os/rye"
)

// Keys are the verbs that are about the user's own keys.
type Keys struct{ *rooms }

// Keys returns the verbs that are about the user's own keys.
func (w *Workspace) Keys() Keys { return Keys{&w.rooms} }

// New makes a key, keeps it under its name and believes it as the user's own, for the
// given namespace or, when that is empty, for every free one.
func (g Keys) New(ctx context.Context, c rye.Caller, q rye.KeyNewRequest) (*rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.new"); err != nil {
		return nil, err
	}
	return g.keys.Generate(q)
}

// List describes the user's keys: those in the key directory, and those that an agent or
// a key service holds.
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

// Import takes over a private key that was made elsewhere and believes it as the
// user's own. A file is copied below rye's keys, with the passphrase that it has; a key
// of an agent or a service stays where it is and has to sign something before it counts.
func (g Keys) Import(ctx context.Context, c rye.Caller, q rye.KeyImportRequest) (*rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.import"); err != nil {
		return nil, err
	}
	return g.keys.Import(ctx, q)
}

// Export gives a key in a form for other programs. Its private half needs a person's
// consent.
func (g Keys) Export(ctx context.Context, c rye.Caller, q rye.KeyExportRequest) (*rye.KeyExport, error) {
	if err := g.host.Permit(c, "key.export"); err != nil {
		return nil, err
	}
	return g.keys.Export(ctx, q)
}

// SetPassphrase protects a key anew.
func (g Keys) SetPassphrase(ctx context.Context, c rye.Caller, q rye.KeyPassphraseRequest) (*rye.KeyInfo, error) {
	if err := g.host.Permit(c, "key.passphrase"); err != nil {
		return nil, err
	}
	return g.keys.SetPassphrase(ctx, q)
}
