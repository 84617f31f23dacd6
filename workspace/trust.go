package workspace

import (
	"cmp"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Trust are the verbs about the user's trust.
type Trust struct{ *rooms }

// Trust returns the verbs about the user's trust.
func (w *Workspace) Trust() Trust { return Trust{&w.rooms} }

// List returns every entry of the trust store.
func (g Trust) List(ctx context.Context, c rye.Caller) ([]rye.TrustEntry, error) {
	if err := g.host.Permit(c, "trust.list"); err != nil {
		return nil, err
	}
	return custody.Beliefs(g.host)
}

// Pin trusts another person's key for namespaces, in addition to its present ones: in the
// user space and, when there is one, in this project. The fingerprint is shown and agreed to
// first. A flag may replace that consent only when the fingerprint was given, too: then a
// person compared it before.
func (g Trust) Pin(ctx context.Context, c rye.Caller, q rye.TrustPinRequest) (*rye.TrustChange, error) {
	return do(ctx, c, "trust.pin", g.enter, custody.Pin, q)
}

// Unpin takes back a key's pins in the user space and its grants in this project, for all or
// some namespaces. In a project it also removes the signer for everyone, by signed lines in
// .ai/allowed_signers, as far as the user's key owns the namespaces.
func (g Trust) Unpin(ctx context.Context, c rye.Caller, q rye.TrustUnpinRequest) (*rye.TrustChange, error) {
	return do(ctx, c, "trust.unpin", g.working(g.enter), author.Unpin, q)
}

// Deny denies a key, or the file with a digest, from now on and from any source. With q.Share
// a signed line in .ai/denied takes a file back for everyone. One in .ai/denied-keys denies a
// key in namespaces that the user's key owns.
func (g Trust) Deny(ctx context.Context, c rye.Caller, q rye.TrustDenyRequest) (*rye.TrustChange, error) {
	if err := g.host.Permit(c, "trust.deny"); err != nil {
		return nil, err
	}
	if q.Share {
		return do(ctx, c, "trust.deny", g.working(g.project), author.DenyShared, q)
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

// Override lets this project replace an item of a reserved or bound namespace by one of the
// user's own, and declares it in rye.yaml. Only the user's trust store can grant this.
func (g Trust) Override(ctx context.Context, c rye.Caller, q rye.TrustOverrideRequest) (*rye.TrustChange, error) {
	return do(ctx, c, "trust.override", g.project, custody.Override, q)
}

// Patch lets exactly the bytes that a contributor signed count for one item in this directory.
// Only an owner of the item's namespace grants that.
func (g Trust) Patch(ctx context.Context, c rye.Caller, q rye.TrustPatchRequest) (*rye.TrustChange, error) {
	return do(ctx, c, "trust.patch", g.working(g.project), share.GrantPatch, q)
}

// Forget takes grants back: to a key, to a part of this directory's statement, or to a
// project.
func (g Trust) Forget(ctx context.Context, c rye.Caller, q rye.TrustForgetRequest) (*rye.TrustChange, error) {
	if err := g.host.Permit(c, "trust.forget"); err != nil {
		return nil, err
	}
	return custody.Forget(g.host, q)
}

// Import takes over keys that RYE OS trusted. Each is shown and agreed to.
func (g Trust) Import(ctx context.Context, c rye.Caller, q rye.TrustImportRequest) (*rye.TrustImport, error) {
	return do(ctx, c, "trust.import", g.enter, custody.ImportPins, q)
}

// Backup writes the user's decisions about trust, and what this user has seen of registries and
// signers, into a new file that the signing key signs.
func (g Trust) Backup(ctx context.Context, c rye.Caller, q rye.TrustBackupRequest) (*rye.TrustBackup, error) {
	if err := g.host.Permit(c, "trust.backup"); err != nil {
		return nil, err
	}
	return g.keys.Backup(ctx, q)
}

// Restore merges a backup: its restrictions at once, and its permissions after a person agreed.
// Nothing that is refused here becomes trusted, and no key becomes the user's own. The report is
// returned beside an error, too.
func (g Trust) Restore(ctx context.Context, c rye.Caller, q rye.TrustRestoreRequest) (*rye.TrustRestore, error) {
	return do(ctx, c, "trust.restore", g.enter, custody.Restore, q)
}

// Explain lists, for each space that holds an item, the checks before its use there, and
// their outcomes. The error is from the item that would be used, so its code shows the kind;
// the explanations are complete.
func (g Trust) Explain(ctx context.Context, c rye.Caller, q rye.ItemRequest) ([]rye.TrustExplanation, error) {
	return do(ctx, c, "trust.explain", g.enter, look.ExplainTrust, q)
}

// Statement shows everything for which the project's directory asks trust, and grants it:
// after one question, or exactly the parts in q.Accept. Then it records the trusted items.
// The report is returned beside an error where something remains ungranted.
func (g Trust) Statement(ctx context.Context, c rye.Caller, q rye.TrustRequest) (*rye.TrustStatement, error) {
	return do(ctx, c, "trust", g.working(g.foreign), func(ctx context.Context, s *custody.Desk, q rye.TrustRequest) (*rye.TrustStatement, error) {
		return g.statement(ctx, c, s, q)
	}, q)
}

// statement lists the signatures for the question, and records the items trusted after it.
func (g Trust) statement(ctx context.Context, c rye.Caller, s *custody.Desk, q rye.TrustRequest) (*rye.TrustStatement, error) {
	files, err := look.Signatures(ctx, s.Session)
	if err != nil {
		return nil, err
	}
	rep, err := custody.Trust(ctx, s.Session, q, files)
	if rep == nil || q.DryRun || err != nil && rep.Granted == 0 {
		return rep, err
	}
	if c.IsPerson() {
		author.SetUpDriver(s.Host)
	}
	return rep, cmp.Or(author.Baseline(ctx, s, rep), err)
}

// AllowedSigners returns the text for git's gpg.ssh.allowedSignersFile: every key that this
// machine trusts, so that git verify-commit agrees with rye.
func (g Trust) AllowedSigners(ctx context.Context, c rye.Caller) (string, error) {
	if err := g.host.Permit(c, "trust.list"); err != nil {
		return "", err
	}
	return custody.AllowedSigners(g.host)
}
