package rye

import (
	"time"

	"github.com/rye-os/rye/fault"
)

// RegistryInitRequest makes the root of a registry in an empty repository.
type RegistryInitRequest struct {
	URL        string   // a git repository, or a directory, which is made
	Name       string   // the project's name for it; "" is "main"
	Open       bool     // anyone may claim a free namespace
	Tags       bool     // publishers push a tag for each version, for hosts that serve only objects under refs
	Namespaces []string // owned by the user's key; nil is the project's, unless that is "local"
}

// RegistryAddRequest pins a registry for this project.
type RegistryAddRequest struct {
	URL, Name string   // Name is the project's name for it; "" is "main"
	ID        string   // its identity from another channel, "sha256:..."; "" asks the person
	Scopes    []string // namespaces (or "*") that come from it; nil is "*"
}

// RegistryInfo describes a registry.
type RegistryInfo struct {
	Name    string            `json:"name"`
	URL     string            `json:"url"`
	Mirrors []string          `json:"mirrors,omitempty"` // further addresses
	ID      string            `json:"id"`
	Roots   []string          `json:"roots"`            // fingerprints of its root keys
	Claims  string            `json:"claims,omitempty"` // who may claim a free namespace: granted or open
	Scopes  []string          `json:"scopes,omitempty"` // namespaces that come from it
	Seen    map[string]uint64 `json:"seen,omitempty"`   // namespace -> position of the newest operation in its log that was seen here
	Pinned  bool              `json:"pinned"`           // in the user's trust store

	Skipped     []SkippedOperation `json:"skipped,omitempty"`      // operations of its namespaces that have no effect and were not voided
	SkippedMore uint64             `json:"skipped_more,omitempty"` // number of further ones that are not listed

	Checked  []RegistryCheck `json:"checked,omitempty"`  // by Verify
	Warnings []string        `json:"warnings,omitempty"` // doubts that this is the registry's newest state
}

// SkippedOperation is a malformed operation of a namespace: it has no effect.
type SkippedOperation struct {
	Namespace string `json:"namespace"`
	Seq       uint64 `json:"seq"` // position in the log
	Commit    string `json:"commit"`
	SHA256    string `json:"sha256"` // of the raw commit
	Author    string `json:"author"` // fingerprint of the key that signed it
	Why       string `json:"why"`
}

// RegistryCheck is the outcome of asking a registry for everything in the log of one
// namespace.
type RegistryCheck struct {
	Namespace  string   `json:"namespace"`
	Operations uint64   `json:"operations"`          // replayed, with all their writes
	Versions   uint64   `json:"versions"`            // published so far
	Threshold  int      `json:"threshold,omitempty"` // keys that must agree to irreversible changes and changes of owners; 0 is one
	Fetched    int      `json:"fetched"`             // versions fetched and compared by this call
	Redacted   int      `json:"redacted,omitempty"`  // versions whose bytes are to be deleted
	Pruned     int      `json:"pruned,omitempty"`    // old states that the host need not keep
	Missing    []string `json:"missing,omitempty"`
}

// CatalogueRequest fetches the catalogues of registries, for search and browsing.
type CatalogueRequest struct {
	Registry   string   // the project's name for it; "" is all
	Namespaces []string // empty is every namespace that the registries grant
	MaxBytes   int64    // received at most; 0 is 512 MiB
}

// CatalogueInfo describes the local copy of one namespace's catalogue.
type CatalogueInfo struct {
	Registry  string     `json:"registry"`
	Namespace string     `json:"namespace"`
	Seq       uint64     `json:"seq"`             // position of its log
	Dated     string     `json:"dated,omitempty"` // when its last operation was signed
	Versions  uint64     `json:"versions"`        // published so far
	Items     int        `json:"items"`
	Parts     int        `json:"parts"`     // files of the catalogue
	Have      int        `json:"have"`      // files that are here
	Received  int64      `json:"received"`  // bytes
	Complete  bool       `json:"complete"`  // nothing is missing
	Accepted  bool       `json:"accepted"`  // the user trusts this registry to name the namespace's owners
	Contacted bool       `json:"contacted"` // the registry was asked just now
	Error     string     `json:"error,omitempty"`
	Code      fault.Code `json:"code,omitempty"`
	Hint      fault.Hint `json:"hint,omitzero"`
}

// Offer is a registry's description of an item that it offers.
type Offer struct {
	Item      string `json:"item"` // published name, as rye add takes it
	Registry  string `json:"registry"`
	Status    string `json:"status"`            // of the version: ok, deprecated, yanked, revoked, redacted
	Reason    string `json:"reason,omitempty"`  // of the status, from its publisher
	Published string `json:"published"`         // when that version was published
	Versions  int    `json:"versions"`          // published so far
	AsOf      string `json:"as_of,omitempty"`   // when the catalogue with this entry was fetched
	Partial   bool   `json:"partial,omitempty"` // parts of that catalogue are missing here
	Locked    string `json:"locked,omitempty"`  // the version that this project uses
	Accepted  bool   `json:"accepted"`          // the user trusts this registry to name the namespace's owners
}

// Offered is the state of an item that a registry offers. It is not installed.
const Offered State = "offered"

// SpaceRegistry is the space of a search among the items that registries offer.
const SpaceRegistry = "registry"

// PublishedRequest asks registries about an item, a namespace or themselves.
type PublishedRequest struct {
	Name     string // acme/tool/hello[@range], a namespace, or the project's name for a registry
	Registry string // the project's name for it; "" is the namespace's registry
}

// Published is a registry's answer, as far as it was verified.
type Published struct {
	Registry  string   `json:"registry"` // the project's name for it
	URL       string   `json:"url"`
	ID        string   `json:"id"`
	Namespace string   `json:"namespace,omitempty"`
	Item      string   `json:"item,omitempty"`
	Accepted  bool     `json:"accepted"`           // the user trusts this registry to name the namespace's owners
	Contacted bool     `json:"contacted"`          // it was asked just now
	Verified  string   `json:"verified,omitempty"` // when this answer was last seen to be the newest
	Seq       uint64   `json:"seq"`                // position of the log of the namespace, or of the root
	Dated     string   `json:"dated,omitempty"`    // when the operation there was signed
	Fresh     string   `json:"fresh_until,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`

	// For an item.
	Range    string             `json:"range,omitempty"`  // the range in rye.yaml
	Locked   string             `json:"locked,omitempty"` // the version that the lock pins
	Versions []PublishedVersion `json:"versions,omitempty"`

	// For a namespace.
	Items    []PublishedItem `json:"items,omitempty"`
	Members  []Member        `json:"members,omitempty"`
	Complete bool            `json:"complete"` // every item is listed

	// For a registry.
	Claims     string               `json:"claims,omitempty"` // granted or open
	Threshold  int                  `json:"threshold,omitempty"`
	Roots      []string             `json:"roots,omitempty"`
	Namespaces []PublishedNamespace `json:"namespaces,omitempty"`
}

// PublishedVersion is one version of an item, as listed in its catalogue.
type PublishedVersion struct {
	Version     string            `json:"version"`
	Status      string            `json:"status"`
	Reason      string            `json:"reason,omitempty"`
	Time        string            `json:"time"`
	Description string            `json:"description,omitempty"`
	Author      string            `json:"author"`    // fingerprint of the key that signed the item
	Publisher   string            `json:"publisher"` // fingerprint of the key that published it
	Seq         uint64            `json:"seq"`       // the operation that published it
	Size        int64             `json:"size"`      // bytes
	SHA256      string            `json:"sha256"`
	Commit      string            `json:"commit"`
	Needs       string            `json:"needs,omitempty"`        // digest of a tool's sandbox needs
	Caps        string            `json:"capabilities,omitempty"` // digest of a directive's requested capabilities
	Deps        map[string]string `json:"deps,omitempty"`         // published item to range
	Locked      bool              `json:"locked,omitempty"`       // the lock pins it
	InRange     bool              `json:"in_range,omitempty"`     // the range of rye.yaml allows it
}

// PublishedItem is an item of a namespace with its newest version.
type PublishedItem struct {
	Item        string `json:"item"`
	Version     string `json:"version"`
	Status      string `json:"status"`
	Reason      string `json:"reason,omitempty"`
	Versions    int    `json:"versions"`
	Locked      string `json:"locked,omitempty"`
	Description string `json:"description,omitempty"`
}

// PublishedNamespace is a namespace that a registry grants, as it was last verified here.
type PublishedNamespace struct {
	Namespace string `json:"namespace"`
	Seq       uint64 `json:"seq"` // 0 where its log was never read here
	Accepted  bool   `json:"accepted"`
	Items     int    `json:"items"`    // in the local copy of its catalogue
	Complete  bool   `json:"complete"` // that copy is complete
	Verified  string `json:"verified,omitempty"`
}

// RegistryVerifyRequest names a registry of the project to be verified.
type RegistryVerifyRequest struct {
	Registry string // as in RegistryRequest
	Whole    bool   // also fetch again the versions that were checked before
}

// RebuildRequest rebuilds the branch that keeps a namespace's content.
type RebuildRequest struct {
	Registry  string // as in MembersRequest
	Namespace string
	DryRun    bool
}

// RegistryRequest names a registry of the project.
type RegistryRequest struct {
	Registry string // the project's name for it; "" is all, or the only one
}

// RegistryLogRequest names the log of a namespace.
type RegistryLogRequest struct {
	Registry  string // "" is the namespace's registry
	Namespace string // "" is the project's
}

// PushRequest publishes items of one namespace.
type PushRequest struct {
	Targets  []Target
	All      bool   // every item and bundle of the project's namespace
	Registry string // the project's name for it; "" is the namespace's registry
	To       string // the address to write to; "" is where the namespace lies
	DryRun   bool
}

// PushReport lists the published items.
type PushReport struct {
	Registry   string   `json:"registry"`
	Namespace  string   `json:"namespace"`
	Seq        uint64   `json:"seq"`                   // position in the log of the namespace
	Tip        string   `json:"tip,omitempty"`         // the commit there
	Published  []string `json:"published"`             // names
	Unchanged  []string `json:"unchanged,omitempty"`   // published already, byte for byte
	PassedOver []string `json:"passed_over,omitempty"` // with All: refs of bundles that cannot be published, and of tools of several files
	Granted    bool     `json:"granted,omitempty"`     // the root granted the namespace during this push
	Warning    string   `json:"warning,omitempty"`     // an error after the publication, which stands
	DryRun     bool     `json:"dry_run,omitempty"`
}

// InstallRequest adds or brings registry items: acme/tool/hello[@range].
// No names means everything that rye.yaml asks for.
type InstallRequest struct {
	Names  []string
	DryRun bool
	Update bool // take the newest version of the range; otherwise the lock decides
	Diff   bool // show the changes of each text

	// AcceptNeeds and AcceptSigner say yes where no one is asked: to wider needs than before,
	// and to items signed by others.
	AcceptNeeds  bool
	AcceptSigner bool
}

// InstallReport lists the installed items in the lock.
type InstallReport struct {
	Installed []Installed `json:"installed"`
	Unchanged []Installed `json:"unchanged,omitempty"`
	Changes   []Change    `json:"changes,omitempty"` // new, moved and removed items, with the facts to agree to
	DryRun    bool        `json:"dry_run,omitempty"`
	Bytes     int64       `json:"bytes"` // received
	Warnings  []string    `json:"warnings,omitempty"`
}

// Change is an installation's change of one item in the lock.
type Change struct {
	Name     string   `json:"name"`
	Was      string   `json:"was,omitempty"`       // version before; "" for a new item
	Version  string   `json:"version,omitempty"`   // "" for an item that is no longer wanted, and is removed
	WantedBy []string `json:"wanted_by,omitempty"` // "your rye.yaml wants ^1", "acme/tool/x@1.2.0 wants ^2"
	Direct   bool     `json:"direct"`              // asked for by name, or listed in rye.yaml

	Added   int      `json:"added"`   // lines
	Removed int      `json:"removed"` // lines
	Diff    []string `json:"diff,omitempty"`

	Needs           string            `json:"needs,omitempty"` // of a tool, in words
	NeedsWas        string            `json:"needs_was,omitempty"`
	Capabilities    []string          `json:"capabilities,omitempty"` // requested by a directive
	CapabilitiesWas []string          `json:"capabilities_was,omitempty"`
	Wider           []string          `json:"wider,omitempty"` // permissions that were not agreed to before
	Deps            map[string]string `json:"deps,omitempty"`
	DepsGone        []string          `json:"deps_gone,omitempty"`

	Author       string `json:"author,omitempty"`
	AuthorWas    string `json:"author_was,omitempty"` // set if it differs
	Publisher    string `json:"publisher,omitempty"`
	PublisherWas string `json:"publisher_was,omitempty"` // set if it differs
}

// Installed is one registry item in the lock.
type Installed struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Was       string `json:"was,omitempty"` // the previous version in the lock
	Registry  string `json:"registry"`
	SHA256    string `json:"sha256"`
	Commit    string `json:"commit"`
	Author    string `json:"author"`    // fingerprint of the key that signed the item
	Publisher string `json:"publisher"` // fingerprint of the key that published it
	Seq       uint64 `json:"seq"`       // position in the log of its namespace
}

// MarkRequest changes the status of published versions, all of one namespace.
type MarkRequest struct {
	Do     string   // deprecate, yank, unyank, revoke, redact
	Names  []string // acme/tool/hello@1.0.0
	Reason string   // shown to every user of the versions; none for unyank
	Out    string   // file for the proposal of a revoke or redact that needs other keys; "" picks a name
}

// MarkReport lists the marked versions.
type MarkReport struct {
	Registry  string   `json:"registry"`
	Namespace string   `json:"namespace"`
	Done      string   `json:"done"` // as MarkRequest.Do
	Names     []string `json:"names"`
	Reason    string   `json:"reason,omitempty"`

	Proposal *RootChange `json:"proposal,omitempty"` // set if other keys must agree: nothing is marked yet
}

// RootInfo says which keys hold the root of a registry.
type RootInfo struct {
	Registry  string    `json:"registry"` // the project's name for it
	URL       string    `json:"url"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`      // its own name for itself
	Seq       uint64    `json:"seq"`       // position in the root's log
	Claims    string    `json:"claims"`    // who may claim a free namespace: granted or open
	Threshold int       `json:"threshold"` // root keys that must agree to a change
	Keys      []RootKey `json:"keys"`
}

// RootKey is a key that holds the root of a registry.
type RootKey struct {
	Fingerprint string `json:"fingerprint"`
	SSH         string `json:"ssh"`           // as an authorized_keys line
	Own         bool   `json:"own,omitempty"` // one of the user's keys
}

// RootChangeRequest changes which keys hold the root of a registry.
type RootChangeRequest struct {
	Registry  string   // its name in this project; "" is the only one
	Add       []string // authorized_keys lines, or SHA256:... of keys known here
	Remove    []string // the same, of root keys
	Threshold int      // number of root keys that must agree to later changes; 0 keeps it
	Out       string   // file for the proposal if others must agree; "" picks a name
	DryRun    bool
}

// RootProposalRequest approves or commits a proposal, of the root or of a namespace.
type RootProposalRequest struct {
	Registry string // as in RootChangeRequest
	File     string // of the proposal
	DryRun   bool
}

// RootChange is an operation of a registry's root, or of a namespace, proposed or done.
type RootChange struct {
	Status    string   `json:"status"` // proposed, approved, committed, and would-propose, would-approve, would-commit
	Registry  string   `json:"registry"`
	ID        string   `json:"id"`
	Namespace string   `json:"namespace,omitempty"` // "" is the root
	Seq       uint64   `json:"seq"`                 // its position in the log
	Changes   []string `json:"changes"`
	Keys      []string `json:"keys,omitempty"`      // the root keys after it
	Threshold int      `json:"threshold,omitempty"` // after it
	Have      int      `json:"have"`                // eligible keys that have agreed, this one included
	Want      int      `json:"want"`
	Complete  bool     `json:"complete"` // only the commit is missing
	Agreed    []string `json:"agreed,omitempty"`
	Waiting   []string `json:"waiting,omitempty"`   // eligible keys that have not agreed yet
	Newcomers []string `json:"newcomers,omitempty"` // keys that become root keys, and have to agree
	File      string   `json:"file,omitempty"`      // path of the proposal
}

// GrantRequest sets the owners of a namespace in a registry.
type GrantRequest struct {
	Registry  string // its name in this project; "" is the only one
	Namespace string
	Keys      []string // authorized_keys lines, or SHA256:... of keys known here; none keeps the keys, with Located
	Located   string   // the repository of the namespace; "" keeps it, "-" is the registry's own
	Out       string   // file for the proposal if others must agree; "" picks a name
	DryRun    bool
}

// CheckpointRequest lets the root of a registry sign the present positions of its namespaces.
type CheckpointRequest struct {
	Registry   string        // as in GrantRequest
	Namespaces []string      // empty is every namespace that is granted and claimed
	Fresh      time.Duration // how long readers may take these positions for the newest; 0 sets no time
	Out        string
	DryRun     bool
}

// MembersRequest lists or changes the keys of a namespace. Add and Retire go together, all
// or nothing; Join and Transfer stand alone.
type MembersRequest struct {
	Registry  string   // the project's name for it; "" is the namespace's registry
	Namespace string   // "" is the project's
	Add       []string // requests that the keys' owners made with Join; or the user's own key that the root granted the namespace
	Retire    []string // SHA256:..., or authorized_keys lines: they sign no more, and their signatures stay
	Join      bool     // the signing key asks to become a member
	Transfer  []string // requests of new owners, as in Add, who replace all present members
	Threshold int      // number of keys that must agree to later changes; 0 keeps it, with Transfer it is one
	Out       string   // file for the proposal if others must agree; "" picks a name
	DryRun    bool
}

// MembersReport lists the keys that sign for a namespace.
type MembersReport struct {
	Registry  string   `json:"registry"`
	ID        string   `json:"id"`
	Namespace string   `json:"namespace"`
	Status    string   `json:"status"`              // listed, changed, joined, requested, proposed; and would-change, would-join, would-propose
	Seq       uint64   `json:"seq"`                 // position of its log
	Threshold int      `json:"threshold,omitempty"` // keys that must agree to irreversible changes and changes of owners; 0 is one
	Granted   []string `json:"granted,omitempty"`
	Members   []Member `json:"members,omitempty"`
	Request   string   `json:"request,omitempty"` // text to send to a member: the key, and the proof of its owner's consent
	Command   []string `json:"command,omitempty"` // the command for that member
	Changes   []string `json:"changes,omitempty"`
	DryRun    bool     `json:"dry_run,omitempty"`

	Proposal *RootChange `json:"proposal,omitempty"` // set if others must agree: nothing is changed yet
}

// Member is a key of a namespace.
type Member struct {
	Fingerprint string `json:"fingerprint"`
	SSH         string `json:"ssh"`   // as an authorized_keys line
	State       string `json:"state"` // active, retired, revoked
	Added       uint64 `json:"added"` // the operation that added it
	By          string `json:"by"`    // the signer of that operation
	Reason      string `json:"reason,omitempty"`
	Own         bool   `json:"own,omitempty"` // one of the user's keys
}

// RevokeKeyRequest revokes the signatures of stolen keys in a namespace: of all, or of none.
type RevokeKeyRequest struct {
	Registry  string // as in MembersRequest
	Namespace string
	Keys      []string // each SHA256:..., or an authorized_keys line; at least one
	From      uint64   // each key's first operation to revoke; 0 is the next one
	Reason    string
	Drop      bool   // drop the keys' readable writes, where that is necessary
	Out       string // as in MembersRequest
	DryRun    bool
}

// VoidRequest voids a malformed operation, so that it is reported no more.
type VoidRequest struct {
	Registry  string // as in MembersRequest
	Namespace string
	Seq       uint64 // its position
	Out       string // as in MembersRequest
	DryRun    bool
}

// RegistryRemoveRequest takes a registry from the project.
type RegistryRemoveRequest struct {
	Name       string // the project's name for it; with Everywhere also its identity
	Everywhere bool   // also remove the user's trust in it, in every project
	DryRun     bool
}

// RegistryRemoveReport lists the parts of a registry that were removed.
type RegistryRemoveReport struct {
	Status     string   `json:"status"` // removed, would-remove
	Name       string   `json:"name,omitempty"`
	ID         string   `json:"id"`
	URL        string   `json:"url,omitempty"`
	Scopes     []string `json:"scopes,omitempty"`     // of the project
	Namespaces []string `json:"namespaces,omitempty"` // bound to it before, with Everywhere
	Everywhere bool     `json:"everywhere,omitempty"`
	DryRun     bool     `json:"dry_run,omitempty"`
}

// ReceiveRequest is a push that a git host checks before it accepts it.
type ReceiveRequest struct {
	Repository string // the bare repository
	Objects    string // git's directory for the received objects
	Moves      string // "<old> <new> <ref>" lines, as git gives them to a pre-receive hook
}

// ReceiveReport lists the refs that may move.
type ReceiveReport struct {
	Refs []string `json:"refs"`
}

// MirrorRequest names a further address of a registry.
type MirrorRequest struct {
	Registry string // the project's name for it; "" is the only one
	URL      string // PushMirrors: "" is every address

	Namespaces []string // PushMirrors: only these, and only to that one address
	DryRun     bool
}

// MirrorReport lists the addresses of a registry.
type MirrorReport struct {
	Registry  string            `json:"registry"` // the project's name for it
	ID        string            `json:"id"`
	Status    string            `json:"status"`    // listed, added, removed, pushed; and would-add, would-remove, would-push
	Addresses []RegistryAddress `json:"addresses"` // afterwards, the address for writing first; of PushMirrors the checked ones
	DryRun    bool              `json:"dry_run,omitempty"`
}

// RegistryAddress is one address of a registry.
type RegistryAddress struct {
	URL     string   `json:"url"`
	Agreed  bool     `json:"agreed"`            // the user agreed to ask it
	Problem string   `json:"problem,omitempty"` // it was not reached, or is behind
	Moved   []string `json:"moved,omitempty"`   // the branches and tags that were pushed to it
}
