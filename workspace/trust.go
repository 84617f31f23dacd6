package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Trust are the verbs that are about what the user believes.
type Trust struct{ *rooms }

// Trust returns the verbs that are about what the user believes.
func (w *Workspace) Trust() Trust { return Trust{&w.rooms} }

// List tells everything that the trust store believes or denies.
func (g Trust) List(ctx context.Context, c rye.Caller) ([]rye.TrustEntry, error) {
	if err := g.host.Permit(c, "trust.list"); err != nil {
		return nil, err
	}
	return custody.Beliefs(g.host)
}

// Pin believes another person's key for namespaces: in the user space and, when there is
// one here, in this project, beside what it counted for before. The fingerprint is shown
// and agreed to first. A flag may stand for that agreement only when the fingerprint was
// given, too: then a person compared it before.
func (g Trust) Pin(ctx context.Context, c rye.Caller, q rye.TrustPinRequest) (*rye.TrustChange, error) {
	if err := g.host.Permit(c, "trust.pin"); err != nil {
		return nil, err
	}
	return custody.Pin(ctx, g.host, q)
}

// Unpin takes a pin back, or some of its namespaces.
func (g Trust) Unpin(ctx context.Context, c rye.Caller, q rye.TrustUnpinRequest) (*rye.TrustChange, error) {
	if err := g.host.Permit(c, "trust.unpin"); err != nil {
		return nil, err
	}
	return custody.Unpin(g.host, q)
}

// Deny refuses a key, or the file with a digest, from now on and wherever it comes from.
// With q.Share a signed line in .ai/denied takes a file back for everybody.
func (g Trust) Deny(ctx context.Context, c rye.Caller, q rye.TrustDenyRequest) (*rye.TrustChange, error) {
	if err := g.host.Permit(c, "trust.deny"); err != nil {
		return nil, err
	}
	if q.Share {
		return do(ctx, c, "trust.deny", in(g.project, g.author), author.DenyShared, q)
	}
	return custody.Deny(g.host, q)
}

// Allow takes a denial back.
func (g Trust) Allow(ctx context.Context, c rye.Caller, q rye.TrustAllowRequest) (*rye.TrustChange, error) {
	if err := g.host.Permit(c, "trust.allow"); err != nil {
		return nil, err
	}
	return custody.Allow(ctx, g.host, q)
}

// Override lets this project replace an item of a reserved or bound namespace by its
// own. Only the user's trust store can say so.
func (g Trust) Override(ctx context.Context, c rye.Caller, q rye.TrustOverrideRequest) (*rye.TrustChange, error) {
	s, err := g.project(c, "trust.override")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return custody.Override(s, q)
}

// Forget takes back that a project was accepted, with its overrides and what keys were
// pinned for there.
func (g Trust) Forget(ctx context.Context, c rye.Caller, q rye.TrustForgetRequest) (*rye.TrustChange, error) {
	if err := g.host.Permit(c, "trust.forget"); err != nil {
		return nil, err
	}
	return custody.Forget(g.host, q)
}

// Import takes over keys that RYE OS trusted. Each is shown and agreed to.
func (g Trust) Import(ctx context.Context, c rye.Caller, q rye.TrustImportRequest) (*rye.TrustImport, error) {
	if err := g.host.Permit(c, "trust.import"); err != nil {
		return nil, err
	}
	return custody.ImportPins(ctx, g.host, q)
}

// Explain says, for each space that holds an item, which checks stand between it and its
// use there, and how each went. The error is that of the one that would be used, so its
// code says what kind it was; the explanations are complete.
func (g Trust) Explain(ctx context.Context, c rye.Caller, q rye.ItemRequest) ([]rye.TrustExplanation, error) {
	return do(ctx, c, "trust.explain", g.enter, look.ExplainTrust, q)
}

// Adopt accepts the project and its signers, after they were shown and agreed to, and
// records working items as they are.
func (g Trust) Adopt(ctx context.Context, c rye.Caller, q rye.AdoptRequest) (*rye.AdoptReport, error) {
	return do(ctx, c, "adopt", in(g.project, g.author), author.Adopt, q)
}

// AllowedSigners returns the text for git's gpg.ssh.allowedSignersFile: every key that
// this machine believes, so that git verify-commit agrees with rye.
func (g Trust) AllowedSigners(ctx context.Context, c rye.Caller) (string, error) {
	if err := g.host.Permit(c, "trust.list"); err != nil {
		return "", err
	}
	return custody.AllowedSigners(g.host)
}
