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

// Add pins a registry for this project: its identity and root keys are shown and agreed to
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

// Fetch brings what this machine knows of the project's registries up to date, verified,
// and changes nothing in the project.
func (g Registry) Fetch(ctx context.Context, c rye.Caller) ([]rye.RegistryInfo, error) {
	s, err := g.project(c, "fetch")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return share.Sync(ctx, g.desk(s), rye.RegistryRequest{})
}

// Verify fetches one registry, or all, replays the logs of its namespaces from their claims
// with everything that was written, and asks for every object that they name. What does
// not follow, and what is missing, is an error.
func (g Registry) Verify(ctx context.Context, c rye.Caller, q rye.RegistryVerifyRequest) ([]rye.RegistryInfo, error) {
	return do(ctx, c, "registry.verify", g.working(g.project), govern.Verify, q)
}

// Rebuild makes the branch that keeps a namespace's content anew, without what was redacted
// and old states.
func (g Registry) Rebuild(ctx context.Context, c rye.Caller, q rye.RebuildRequest) (*rye.RegistryCheck, error) {
	return do(ctx, c, "registry.rebuild", g.working(g.project), govern.Rebuild, q)
}

// Push publishes items of one namespace: verified here, one signed operation, one
// update of the log. What is published already, byte for byte, is left.
func (g Registry) Push(ctx context.Context, c rye.Caller, q rye.PushRequest) (*rye.PushReport, error) {
	return do(ctx, c, "push", g.working(g.project), share.Push, q)
}

// Install brings registry items into the project: it selects a version, verifies it
// through its namespace's log, keeps its content in the project's store and pins it in the
// lock. Without names it brings everything that rye.yaml asks for to where the lock says.
// A new or changed item is shown and agreed to first.
func (g Registry) Install(ctx context.Context, c rye.Caller, q rye.InstallRequest) (*rye.InstallReport, error) {
	return do(ctx, c, "install", g.working(g.project), install.Bring, q)
}

// Mark changes what a registry says of published versions: "deprecate" warns of them,
// "yank" takes them out of new selections, "unyank" takes both back, "revoke" forbids
// them for good, even where they are locked, and "redact" says that their bytes are to go, too. It is a signed operation in the namespace's
// log; nothing published is ever deleted.
func (g Registry) Mark(ctx context.Context, c rye.Caller, q rye.MarkRequest) (*rye.MarkReport, error) {
	return do(ctx, c, "mark", g.working(g.project), govern.Mark, q)
}

// Root says who holds the root of a registry, as last verified or, unless this is
// offline, as it is now.
func (g Registry) Root(ctx context.Context, c rye.Caller, q rye.RegistryRequest) (*rye.RootInfo, error) {
	return do(ctx, c, "registry.root", g.working(g.project), govern.Root, q)
}

// ChangeRoot changes who holds the root of a registry, or how many must agree. Where the
// signing key's word is enough the change is made; otherwise it is written to a file,
// which the others approve and one of them commits.
func (g Registry) ChangeRoot(ctx context.Context, c rye.Caller, q rye.RootChangeRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.root.change", g.working(g.project), govern.ChangeRoot, q)
}

// ApproveRoot adds the signing key's agreement to a proposal, in its file.
func (g Registry) ApproveRoot(ctx context.Context, c rye.Caller, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.root.change", g.working(g.project), govern.ApproveRoot, q)
}

// CommitRoot signs a proposal that enough keys agreed to and publishes it.
func (g Registry) CommitRoot(ctx context.Context, c rye.Caller, q rye.RootProposalRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.root.change", g.working(g.project), govern.CommitRoot, q)
}

// Grant says whose a namespace of a registry is: the word of its root, as ChangeRoot is.
func (g Registry) Grant(ctx context.Context, c rye.Caller, q rye.GrantRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.grant", g.working(g.project), govern.Grant, q)
}

// Checkpoint lets the root of a registry vouch for how far its namespaces are: readers
// refuse to be shown less, and newcomers need not replay what lies before.
func (g Registry) Checkpoint(ctx context.Context, c rye.Caller, q rye.CheckpointRequest) (*rye.RootChange, error) {
	return do(ctx, c, "registry.checkpoint", g.working(g.project), govern.Checkpoint, q)
}

// Members lists the keys that sign for a namespace, or changes which there are: a member
// adds others, who sent a request, and removes them.
func (g Registry) Members(ctx context.Context, c rye.Caller, q rye.MembersRequest) (*rye.MembersReport, error) {
	return do(ctx, c, "registry.members", g.working(g.project), govern.Members, q)
}

// RevokeKey takes back what keys signed for a namespace from a position on, for every
// reader.
func (g Registry) RevokeKey(ctx context.Context, c rye.Caller, q rye.RevokeKeyRequest) (*rye.MembersReport, error) {
	return do(ctx, c, "registry.revokekey", g.working(g.project), govern.RevokeKey, q)
}

// Void says that a malformed operation of a namespace is known: readers report it no more.
func (g Registry) Void(ctx context.Context, c rye.Caller, q rye.VoidRequest) (*rye.MembersReport, error) {
	return do(ctx, c, "registry.void", g.working(g.project), govern.Void, q)
}

// Remove takes a registry from the project, and where that is asked for from what the user
// believes. What the registry was seen to say is kept, so that meeting it again is no
// first contact.
func (g Registry) Remove(ctx context.Context, c rye.Caller, q rye.RegistryRemoveRequest) (*rye.RegistryRemoveReport, error) {
	return do(ctx, c, "registry.remove", g.working(g.enter), share.RemoveRegistry, q)
}

// Receive judges a push to a repository that holds a registry, before its host makes it. It
// needs no project, no key and no trust: a host believes what it has.
func (g Registry) Receive(ctx context.Context, c rye.Caller, q rye.ReceiveRequest) (*rye.ReceiveReport, error) {
	if err := g.host.Permit(c, "registry.receive"); err != nil {
		return nil, err
	}
	return govern.Receive(ctx, g.host.Now(), q)
}
