package rye

import (
	"time"

	"github.com/rye-os/rye/fault"
)

// RegistryInitRequest makes the root of a registry in an empty repository.
type RegistryInitRequest struct {
	URL        string   // of a git repository, or a directory, which is made
	Name       string   // what this project calls it; "" is "main"
	Open       bool     // anyone may claim a free namespace
	Tags       bool     // publishers push a tag for each version, for hosts that serve only what a ref names
	Namespaces []string // that the user's key owns; nil is the project's, unless that is "local"
}

// RegistryAddRequest pins a registry for this project.
type RegistryAddRequest struct {
	URL, Name string   // Name is what this project calls it; "" is "main"
	ID        string   // out-of-band pin, "sha256:..."; "" asks the person
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
	Seen    map[string]uint64 `json:"seen,omitempty"`   // namespace -> last position of its log that was seen here
	Pinned  bool              `json:"pinned"`           // in the user's trust store

	Skipped     []SkippedOperation `json:"skipped,omitempty"`      // operations of its namespaces that have no effect, and were not voided
	SkippedMore uint64             `json:"skipped_more,omitempty"` // that are not listed

	Checked  []RegistryCheck `json:"checked,omitempty"`  // by Verify
	Warnings []string        `json:"warnings,omitempty"` // how far the registry may be believed to be the newest
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

// RegistryCheck is what became of asking a registry for everything that the log of a
// namespace names.
type RegistryCheck struct {
	Namespace  string   `json:"namespace"`
	Operations uint64   `json:"operations"`          // replayed, with everything that they wrote
	Versions   uint64   `json:"versions"`            // published so far
	Threshold  int      `json:"threshold,omitempty"` // keys that must agree to what changes owners or cannot be taken back; 0 is one
	Fetched    int      `json:"fetched"`             // versions that were had and compared now
	Redacted   int      `json:"redacted,omitempty"`  // versions whose bytes are to go
	Pruned     int      `json:"pruned,omitempty"`    // old states that the host need not keep
	Missing    []string `json:"missing,omitempty"`
}

// CatalogueRequest brings what registries offer, so that it can be searched and browsed.
type CatalogueRequest struct {
	Registry   string   // what this project calls it; "" is all
	Namespaces []string // none is all that the registries grant
	MaxBytes   int64    // received at most; 0 is 512 MiB
}

// CatalogueInfo is what of the catalogue of one namespace is here now.
type CatalogueInfo struct {
	Registry  string     `json:"registry"`
	Namespace string     `json:"namespace"`
	Seq       uint64     `json:"seq"`             // position of its log
	Dated     string     `json:"dated,omitempty"` // when its last operation was signed
	Versions  uint64     `json:"versions"`        // published so far
	Items     int        `json:"items"`
	Parts     int        `json:"parts"`     // files of the catalogue
	Have      int        `json:"have"`      // of these, here
	Received  int64      `json:"received"`  // bytes
	Complete  bool       `json:"complete"`  // nothing is missing
	Accepted  bool       `json:"accepted"`  // the user agreed that this registry says whose it is
	Contacted bool       `json:"contacted"` // the registry was asked just now
	Error     string     `json:"error,omitempty"`
	Code      fault.Code `json:"code,omitempty"`
	Hint      fault.Hint `json:"hint,omitzero"`
}

// Offer is what a registry says of an item that it offers.
type Offer struct {
	Item      string `json:"item"` // published name, as rye add takes it
	Registry  string `json:"registry"`
	Status    string `json:"status"`            // of the version: ok, deprecated, yanked, revoked, redacted
	Reason    string `json:"reason,omitempty"`  // of the status, as its publisher says
	Published string `json:"published"`         // when that version was
	Versions  int    `json:"versions"`          // published so far
	AsOf      string `json:"as_of,omitempty"`   // when the catalogue was brought that says so
	Partial   bool   `json:"partial,omitempty"` // of that catalogue something is missing here
	Locked    string `json:"locked,omitempty"`  // the version that this project uses
	Accepted  bool   `json:"accepted"`          // the user agreed that this registry says whose the namespace is
}

// Offered is the state of an item that a registry offers. It is not installed.
const Offered State = "offered"

// SpaceRegistry is, as the space of a search, what registries offer.
const SpaceRegistry = "registry"

// PublishedRequest asks what registries say of an item, a namespace or themselves.
type PublishedRequest struct {
	Name     string // acme/tool/hello[@range], a namespace, or what this project calls a registry
	Registry string // what this project calls it; "" is where the namespace comes from
}

// Published is what a registry says, as far as it was verified.
type Published struct {
	Registry  string   `json:"registry"` // what this project calls it
	URL       string   `json:"url"`
	ID        string   `json:"id"`
	Namespace string   `json:"namespace,omitempty"`
	Item      string   `json:"item,omitempty"`
	Accepted  bool     `json:"accepted"`           // the user agreed that the registry says whose the namespace is
	Contacted bool     `json:"contacted"`          // it was asked just now
	Verified  string   `json:"verified,omitempty"` // when what is told here was last seen to be the newest
	Seq       uint64   `json:"seq"`                // position of the log of the namespace, or of the root
	Dated     string   `json:"dated,omitempty"`    // when the operation there was signed
	Fresh     string   `json:"fresh_until,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`

	// Of an item.
	Range    string             `json:"range,omitempty"`  // that rye.yaml asks for
	Locked   string             `json:"locked,omitempty"` // the version that the lock pins
	Versions []PublishedVersion `json:"versions,omitempty"`

	// Of a namespace.
	Items    []PublishedItem `json:"items,omitempty"`
	Members  []Member        `json:"members,omitempty"`
	Complete bool            `json:"complete"` // every item is listed

	// Of a registry.
	Claims     string               `json:"claims,omitempty"` // granted or open
	Threshold  int                  `json:"threshold,omitempty"`
	Roots      []string             `json:"roots,omitempty"`
	Namespaces []PublishedNamespace `json:"namespaces,omitempty"`
}

// PublishedVersion is one version of an item, as its catalogue has it.
type PublishedVersion struct {
	Version     string            `json:"version"`
	Status      string            `json:"status"`
	Reason      string            `json:"reason,omitempty"`
	Time        string            `json:"time"`
	Description string            `json:"description,omitempty"`
	Author      string            `json:"author"`    // fingerprint of the key that signed the item
	Publisher   string            `json:"publisher"` // fingerprint of the key that published it
	Seq         uint64            `json:"seq"`       // the operation that did
	Size        int64             `json:"size"`      // bytes
	SHA256      string            `json:"sha256"`
	Commit      string            `json:"commit"`
	Needs       string            `json:"needs,omitempty"`        // digest of what a tool asks of the sandbox
	Caps        string            `json:"capabilities,omitempty"` // digest of what a directive asks for
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
	Items     int    `json:"items"`    // of the catalogue that is here
	Complete  bool   `json:"complete"` // that catalogue lacks nothing
	Verified  string `json:"verified,omitempty"`
}

// RegistryVerifyRequest names a registry of the project to be verified.
type RegistryVerifyRequest struct {
	Registry string // as in RegistryRequest
	Whole    bool   // ask again for what was had before
}

// RebuildRequest makes the branch that keeps a namespace's content anew.
type RebuildRequest struct {
	Registry  string // as in MembersRequest
	Namespace string
	DryRun    bool
}

// RegistryRequest names a registry of the project.
type RegistryRequest struct {
	Registry string // what this project calls it; "" is all, or the only one
}

// RegistryLogRequest names the log of a namespace.
type RegistryLogRequest struct {
	Registry  string // "" is where the namespace comes from
	Namespace string // "" is the project's
}

// PushRequest publishes items of one namespace.
type PushRequest struct {
	Targets  []Target
	All      bool   // every item and package of the project's namespace
	Registry string // what this project calls it; "" is where the namespace comes from
	To       string // the address of it to write to; "" is where the namespace lies
	DryRun   bool
}

// PushReport is what was published.
type PushReport struct {
	Registry   string   `json:"registry"`
	Namespace  string   `json:"namespace"`
	Seq        uint64   `json:"seq"`                   // position in the log of the namespace
	Tip        string   `json:"tip,omitempty"`         // the commit there
	Published  []string `json:"published"`             // names
	Unchanged  []string `json:"unchanged,omitempty"`   // published already, byte for byte
	PassedOver []string `json:"passed_over,omitempty"` // by All: refs of bundles that are no packages
	Granted    bool     `json:"granted,omitempty"`     // the root granted the namespace on the way
	Warning    string   `json:"warning,omitempty"`     // it is published, and this went wrong afterwards
	DryRun     bool     `json:"dry_run,omitempty"`
}

// InstallRequest adds or brings registry items: acme/tool/hello[@range].
// No names means everything that rye.yaml asks for.
type InstallRequest struct {
	Names  []string
	DryRun bool
	Update bool // take the newest version of the range; otherwise the lock decides
	Diff   bool // show what changed of each text

	// AcceptNeeds and AcceptSigner say yes, where nobody is asked, to what asks for more than
	// before and to what others signed.
	AcceptNeeds  bool
	AcceptSigner bool
}

// InstallReport is what the lock now holds of them.
type InstallReport struct {
	Installed []Installed `json:"installed"`
	Unchanged []Installed `json:"unchanged,omitempty"`
	Changes   []Change    `json:"changes,omitempty"` // what is new or moved, and why it is agreed to
	DryRun    bool        `json:"dry_run,omitempty"`
	Bytes     int64       `json:"bytes"` // received
	Warnings  []string    `json:"warnings,omitempty"`
}

// Change is what an installation changes of one item of the lock.
type Change struct {
	Name     string   `json:"name"`
	Was      string   `json:"was,omitempty"`       // version before; "" for what is new
	Version  string   `json:"version,omitempty"`   // "" for what nobody wants any more, and goes
	WantedBy []string `json:"wanted_by,omitempty"` // "your rye.yaml wants ^1", "acme/tool/x@1.2.0 wants ^2"
	Direct   bool     `json:"direct"`              // asked for by name, or listed in rye.yaml

	Added   int      `json:"added"`   // lines
	Removed int      `json:"removed"` // lines
	Diff    []string `json:"diff,omitempty"`

	Needs           string            `json:"needs,omitempty"` // of a tool, in words
	NeedsWas        string            `json:"needs_was,omitempty"`
	Capabilities    []string          `json:"capabilities,omitempty"` // that a directive asks for
	CapabilitiesWas []string          `json:"capabilities_was,omitempty"`
	Wider           []string          `json:"wider,omitempty"` // what it may, and was not agreed to before
	Deps            map[string]string `json:"deps,omitempty"`
	DepsGone        []string          `json:"deps_gone,omitempty"`

	Author       string `json:"author,omitempty"`
	AuthorWas    string `json:"author_was,omitempty"` // where it is another
	Publisher    string `json:"publisher,omitempty"`
	PublisherWas string `json:"publisher_was,omitempty"` // where it is another
}

// Installed is one registry item in the lock.
type Installed struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Was       string `json:"was,omitempty"` // the version that the lock had before
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
	Reason string   // shown to every user who meets them; none for unyank
	Out    string   // file for the proposal of a revoke or redact that other keys must agree to; "" names one
}

// MarkReport is what was marked.
type MarkReport struct {
	Registry  string   `json:"registry"`
	Namespace string   `json:"namespace"`
	Done      string   `json:"done"` // as MarkRequest.Do
	Names     []string `json:"names"`
	Reason    string   `json:"reason,omitempty"`

	Proposal *RootChange `json:"proposal,omitempty"` // where others must agree: nothing is marked yet
}

// RootInfo says which keys hold the root of a registry.
type RootInfo struct {
	Registry  string    `json:"registry"` // what this project calls it
	URL       string    `json:"url"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`      // what it calls itself
	Seq       uint64    `json:"seq"`       // position in the root's log
	Claims    string    `json:"claims"`    // who may claim a free namespace: granted or open
	Threshold int       `json:"threshold"` // root keys that must agree to a change
	Keys      []RootKey `json:"keys"`
}

// RootKey is a key that holds the root of a registry.
type RootKey struct {
	Fingerprint string `json:"fingerprint"`
	SSH         string `json:"ssh"`           // as an authorized_keys line
	Own         bool   `json:"own,omitempty"` // it is one of the user's
}

// RootChangeRequest changes which keys hold the root of a registry.
type RootChangeRequest struct {
	Registry  string   // its name in this project; "" where there is one
	Add       []string // authorized_keys lines, or SHA256:... of keys known here
	Remove    []string // the same, of root keys
	Threshold int      // how many root keys must agree from then on; 0 leaves it
	Out       string   // file for the proposal where others must agree; "" names one
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
	Have      int      `json:"have"`                // keys that agreed of those that may, this one included
	Want      int      `json:"want"`
	Complete  bool     `json:"complete"` // only the commit is missing
	Agreed    []string `json:"agreed,omitempty"`
	Waiting   []string `json:"waiting,omitempty"`   // keys that may agree and have not yet
	Newcomers []string `json:"newcomers,omitempty"` // keys that become root keys and have to agree
	File      string   `json:"file,omitempty"`      // where the proposal lies
}

// GrantRequest says whose a namespace of a registry is.
type GrantRequest struct {
	Registry  string // its name in this project; "" where there is one
	Namespace string
	Keys      []string // authorized_keys lines, or SHA256:... of keys known here; none leaves them, with Repository
	Located   string   // the repository that it lies in; "" leaves that, "-" is the registry's own
	Out       string   // file for the proposal where others must agree; "" names one
	DryRun    bool
}

// CheckpointRequest lets the root of a registry vouch for how far its namespaces are.
type CheckpointRequest struct {
	Registry   string        // as in GrantRequest
	Namespaces []string      // none is all that the root granted and somebody claimed
	Fresh      time.Duration // how long a reader may take it for the newest; 0 says nothing
	Out        string
	DryRun     bool
}

// MembersRequest lists the keys of a namespace, or changes which there are. Add and Retire
// go together, all or nothing; Join and Transfer stand alone.
type MembersRequest struct {
	Registry  string   // what this project calls it; "" is where the namespace comes from
	Namespace string   // "" is the project's
	Add       []string // requests of their owners, as Join gives them; or the own key that the root granted the namespace to
	Retire    []string // SHA256:..., or authorized_keys lines: they sign no more, what they signed stays
	Join      bool     // the signing key asks to become a member
	Transfer  []string // requests of new owners, as in Add, who take the place of all present members
	Threshold int      // how many keys must agree from then on; 0 leaves it, with Transfer it is one
	Out       string   // file for the proposal where others must agree; "" names one
	DryRun    bool
}

// MembersReport says whose keys sign for a namespace.
type MembersReport struct {
	Registry  string   `json:"registry"`
	ID        string   `json:"id"`
	Namespace string   `json:"namespace"`
	Status    string   `json:"status"`              // listed, changed, joined, requested, proposed; and would-change, would-join, would-propose
	Seq       uint64   `json:"seq"`                 // position of its log
	Threshold int      `json:"threshold,omitempty"` // keys that must agree to what changes owners or cannot be taken back
	Granted   []string `json:"granted,omitempty"`
	Members   []Member `json:"members,omitempty"`
	Request   string   `json:"request,omitempty"` // what a member is sent: the key, and the proof that its owner agrees
	Command   []string `json:"command,omitempty"` // what that member runs
	Changes   []string `json:"changes,omitempty"`
	DryRun    bool     `json:"dry_run,omitempty"`

	Proposal *RootChange `json:"proposal,omitempty"` // where others must agree: nothing is changed yet
}

// Member is a key of a namespace.
type Member struct {
	Fingerprint string `json:"fingerprint"`
	SSH         string `json:"ssh"`   // as an authorized_keys line
	State       string `json:"state"` // active, retired, revoked
	Added       uint64 `json:"added"` // the operation that added it
	By          string `json:"by"`    // who signed that
	Reason      string `json:"reason,omitempty"`
	Own         bool   `json:"own,omitempty"` // it is one of the user's
}

// RevokeKeyRequest takes back what stolen keys signed for a namespace: of all of them, or of none.
type RevokeKeyRequest struct {
	Registry  string // as in MembersRequest
	Namespace string
	Keys      []string // each SHA256:..., or an authorized_keys line; at least one
	From      uint64   // the first operation by each that does not count; 0 is the next one
	Reason    string
	Drop      bool   // drops what the keys wrote and can be read, where it has to
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
	Name       string // what the project calls it; with Everywhere its identity will do
	Everywhere bool   // and what the user believes of it, in every project
	DryRun     bool
}

// RegistryRemoveReport is what was taken away.
type RegistryRemoveReport struct {
	Status     string   `json:"status"` // removed, would-remove
	Name       string   `json:"name,omitempty"`
	ID         string   `json:"id"`
	URL        string   `json:"url,omitempty"`
	Scopes     []string `json:"scopes,omitempty"`     // of the project
	Namespaces []string `json:"namespaces,omitempty"` // that were bound to it, with Everywhere
	Everywhere bool     `json:"everywhere,omitempty"`
	DryRun     bool     `json:"dry_run,omitempty"`
}

// ReceiveRequest is a push that a host asks about before it makes it.
type ReceiveRequest struct {
	Repository string // the bare repository
	Objects    string // where git keeps the objects that were sent
	Moves      string // "<old> <new> <ref>" lines, as git gives them to a pre-receive hook
}

// ReceiveReport says what may move.
type ReceiveReport struct {
	Refs []string `json:"refs"`
}

// MirrorRequest names a further address of a registry.
type MirrorRequest struct {
	Registry string // what this project calls it; "" where there is one
	URL      string // PushMirrors: "" is every address of it

	Namespaces []string // PushMirrors: these, and nothing else, to the one address
	DryRun     bool
}

// MirrorReport says at which addresses a registry is asked.
type MirrorReport struct {
	Registry  string            `json:"registry"` // what this project calls it
	ID        string            `json:"id"`
	Status    string            `json:"status"`    // listed, added, removed, pushed; and would-add, would-remove, would-push
	Addresses []RegistryAddress `json:"addresses"` // of the registry afterwards, that which is written to first; of PushMirrors those that were looked at
	DryRun    bool              `json:"dry_run,omitempty"`
}

// RegistryAddress is one address of a registry.
type RegistryAddress struct {
	URL     string   `json:"url"`
	Agreed  bool     `json:"agreed"`            // the user agreed to ask it
	Problem string   `json:"problem,omitempty"` // it was not reached, or is behind
	Moved   []string `json:"moved,omitempty"`   // the branches and tags that it was brought
}
