package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/govern"
	"github.com/rye-os/rye/workspace/internal/install"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Registry are the verbs that share items through registries.
type Registry struct{ *rooms }

// Registry returns the verbs that share items through registries.
func (w *Workspace) Registry() Registry { return Registry{&w.rooms} }

// Init makes the root of a registry in an empty repository and pins it for this project.
// The user's key becomes its root key and owns the namespaces named.
func (g Registry) Init(ctx context.Context, c rye.Caller, q rye.RegistryInitRequest) (*rye.RegistryInfo, error) {
	return do(ctx, c, "registry.init", g.working(g.project), share.CreateRegistry, q)
}

// Add pins a registry for this project. Its identity and root keys are shown and agreed to
// once, or given beforehand, and never change unnoticed.
func (g Registry) Add(ctx context.Context, c rye.Caller, q rye.RegistryAddRequest) (*rye.RegistryInfo, error) {
	return do(ctx, c, "registry.add", g.working(g.project), share.AddRegistry, q)
}

// List describes the registries of the project, without the network.
func (g Registry) List(ctx context.Context, c rye.Caller) ([]rye.RegistryInfo, error) {
	s, err := g.project(c, "registry.list")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return share.ListRegistries(g.desk(s)), nil
}

// Log lists the operations of a namespace, newest first.
func (g Registry) Log(ctx context.Context, c rye.Caller, q rye.RegistryLogRequest) ([]rye.LogEntry, error) {
	return do(ctx, c, "registry.log", g.working(g.project), share.NamespaceLog, q)
}

// Fetch updates and verifies this machine's knowledge of the project's registries, and
// changes nothing in the project.
func (g Registry) Fetch(ctx context.Context, c rye.Caller) ([]rye.RegistryInfo, error) {
	s, err := g.project(c, "fetch")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.SweepStale()
	return share.Sync(ctx, g.desk(s), rye.RegistryRequest{})
}

// Verify fetches one registry, or all, replays the logs of their namespaces from the claims,
// and asks for every object that the logs name. An invalid operation or a missing object is
// an error.
func (g Registry) Verify(ctx context.Context, c rye.Caller, q rye.RegistryVerifyRequest) ([]rye.RegistryInfo, error) {
	return do(ctx, c, "registry.verify", g.working(g.project), govern.Verify, q)
}

// Rebuild rebuilds the branch that keeps a namespace's content, without redacted bytes and
// old states.
func (g Registry) Rebuild(ctx context.Context, c rye.Caller, q rye.RebuildRequest) (*rye.RegistryCheck, error) {
	return do(ctx, c, "registry.rebuild", g.working(g.project), govern.Rebuild, q)
}

// Push publishes items of one namespace: verified here, one signed operation, one update of
// the log. It skips items that are published already, byte for byte.
func (g Registry) Push(ctx context.Context, c rye.Caller, q rye.PushRequest) (*rye.PushReport, error) {
	return do(ctx, c, "push", g.working(g.project), share.Push, q)
}

// Of returns the name of the registry that a namespace comes from here, with the user's consent; ""
// for none. It asks no one.
func (g Registry) Of(ctx context.Context, c rye.Caller, namespace string) (string, error) {
	return do(ctx, c, "add", g.working(g.project), share.RegistryOf, namespace)
}

// Install brings registry items into the project. It selects a version, verifies it through
// its namespace's log, keeps its content in the project's store and pins it in the lock.
// Without names it installs everything that rye.yaml asks for, at the lock's versions. A new
// or changed item is shown and agreed to first.
func (g Registry) Install(ctx context.Context, c rye.Caller, q rye.InstallRequest) (*rye.InstallReport, error) {
	rep, err := do(ctx, c, "install", g.working(g.project), install.Bring, q)
	if rep != nil && !q.DryRun && len(rep.Installed) > 0 {
		rep.Warnings = append(rep.Warnings, g.vendorWarnings(ctx, c, "install")...)
	}
	return rep, err
}

// Mark changes the status of published versions. "deprecate" warns of them, "yank" takes them
// out of new selections, and "unyank" takes both back. "revoke" forbids them for good, even
// where they are locked, and "redact" also demands that their bytes be deleted. It is a
// signed operation in the namespace's log; nothing published is ever deleted.
func (g Registry) Mark(ctx context.Context, c rye.Caller, q rye.MarkRequest) (*rye.MarkReport, error) {
	return do(ctx, c, "mark", g.working(g.project), govern.Mark, q)
}

// Root lists the keys that hold the root of a registry, as last verified or, unless offline,
// as they are now.
func (g Registry) Root(ctx context.Context, c rye.Caller, q rye.RegistryRequest) (*rye.RootInfo, error) {
	return do(ctx, c, "registry.root", g.working(g.project), govern.Root, q)
}

// ChangeRoot changes the keys that hold the root of a registry, or how many must agree. Where
// the signing key is enough, it makes the change. Otherwise it writes a proposal to a file,
// which the others approve and one of them commits.
func (g Registry) ChangeRoot(ctx context.Context, c rye.Caller, q rye.RootChangeRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.root.change", g.working(g.project), govern.ChangeRoot, q)
}

// ApproveRoot adds the signing key's approval to a proposal, in its file.
func (g Registry) ApproveRoot(ctx context.Context, c rye.Caller, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.root.change", g.working(g.project), govern.ApproveRoot, q)
}

// CommitRoot signs and publishes a proposal that enough keys approved.
func (g Registry) CommitRoot(ctx context.Context, c rye.Caller, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.root.change", g.working(g.project), govern.CommitRoot, q)
}

// Grant sets the owners of a namespace in a registry, as a change by its root like ChangeRoot.
func (g Registry) Grant(ctx context.Context, c rye.Caller, q rye.GrantRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.grant", g.working(g.project), govern.Grant, q)
}

// Checkpoint lets the root of a registry sign the positions of its namespaces. Readers refuse
// older positions, and new readers need not replay the operations before them.
func (g Registry) Checkpoint(ctx context.Context, c rye.Caller, q rye.CheckpointRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.checkpoint", g.working(g.project), govern.Checkpoint, q)
}

// Members lists or changes the keys that sign for a namespace: a member adds others, who
// sent a request, and removes them.
func (g Registry) Members(ctx context.Context, c rye.Caller, q rye.MembersRequest) (*rye.MembersReport, error) {
	return do(ctx, c, "registry.members", g.working(g.project), govern.Members, q)
}

// RevokeKey revokes the signatures of keys in a namespace from a position on, for every
// reader.
func (g Registry) RevokeKey(ctx context.Context, c rye.Caller, q rye.RevokeKeyRequest) (*rye.MembersReport, error) {
	return do(ctx, c, "registry.revokekey", g.working(g.project), govern.RevokeKey, q)
}

// Void marks a malformed operation of a namespace as known: readers report it no more.
func (g Registry) Void(ctx context.Context, c rye.Caller, q rye.VoidRequest) (*rye.MembersReport, error) {
	return do(ctx, c, "registry.void", g.working(g.project), govern.Void, q)
}

// Remove takes a registry from the project and, if asked, the user's trust in it. The last
// seen state of the registry is kept, so that a later meeting is no first contact.
func (g Registry) Remove(ctx context.Context, c rye.Caller, q rye.RegistryRemoveRequest) (*rye.RegistryRemoveReport, error) {
	return do(ctx, c, "registry.remove", g.working(g.enter), share.RemoveRegistry, q)
}

// Receive checks a push to a repository that holds a registry, before its host accepts it. It
// needs no project, no key and no trust: a host trusts its own repository.
func (g Registry) Receive(ctx context.Context, c rye.Caller, q rye.ReceiveRequest) (*rye.ReceiveReport, error) {
	if err := g.host.Permit(c, "registry.receive"); err != nil {
		return nil, err
	}
	return govern.Receive(ctx, g.host.Now(), q)
}
