package rye

// RegistryInitRequest makes the root of a registry in an empty repository.
type RegistryInitRequest struct {
	URL        string
	Name       string // how this project calls it; "" is "main"
	Open       bool   // anybody may claim a free namespace
	Namespaces []string
	DryRun     bool
}

// RegistryAddRequest pins a registry for this project.
type RegistryAddRequest struct {
	URL, Name string
	ID        string   // out-of-band pin, "sha256:..."; "" asks the person
	Scopes    []string // namespaces (or "*") that come from it; nil is "*"
}

// RegistryInfo describes a registry.
type RegistryInfo struct {
	Name   string            `json:"name"`
	URL    string            `json:"url"`
	ID     string            `json:"id"`
	Roots  []string          `json:"roots"`
	Claims string            `json:"claims,omitempty"`
	Scopes []string          `json:"scopes,omitempty"`
	Seen   map[string]uint64 `json:"seen,omitempty"` // namespace -> sequence
	Pinned bool              `json:"pinned"`
}

// RegistryRequest names a registry of the project.
type RegistryRequest struct {
	Registry string // how this project calls it; "" is all, or the only one
}

// RegistryLogRequest names the log of a namespace.
type RegistryLogRequest struct {
	Registry  string // "" is where the namespace comes from
	Namespace string // "" is the project's
}

// PushRequest publishes items of one namespace.
type PushRequest struct {
	Targets  []Target
	All      bool
	Registry string
	DryRun   bool
}

// PushReport is what was published.
type PushReport struct {
	Registry  string   `json:"registry"`
	Namespace string   `json:"namespace"`
	Seq       uint64   `json:"seq"`
	Tip       string   `json:"tip,omitempty"`
	Published []string `json:"published"`
	Unchanged []string `json:"unchanged,omitempty"`
	DryRun    bool     `json:"dry_run,omitempty"`
}

// InstallRequest adds or brings registry items: acme/tool/hello[@range].
// No names means everything that rye.yaml asks for.
type InstallRequest struct {
	Names  []string
	DryRun bool
	Update bool // move within the range; otherwise the lock decides
}

// InstallReport is what the lock now holds of them.
type InstallReport struct {
	Installed []Installed `json:"installed"`
	Unchanged []Installed `json:"unchanged,omitempty"`
	DryRun    bool        `json:"dry_run,omitempty"`
	Bytes     int64       `json:"bytes"` // received
}

// Installed is one registry item in the lock.
type Installed struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Registry  string `json:"registry"`
	SHA256    string `json:"sha256"`
	Commit    string `json:"commit"`
	Author    string `json:"author"`
	Publisher string `json:"publisher"`
	Seq       uint64 `json:"seq"`
}

// MarkRequest changes the status of published versions, all of one namespace.
type MarkRequest struct {
	Do     string   // deprecate, yank, unyank, revoke
	Names  []string // acme/tool/hello@1.0.0
	Reason string   // shown to everybody who meets them; none for unyank
}

// MarkReport is what was marked.
type MarkReport struct {
	Registry  string   `json:"registry"`
	Namespace string   `json:"namespace"`
	Done      string   `json:"done"`
	Names     []string `json:"names"`
	Reason    string   `json:"reason,omitempty"`
}

// RootInfo says who holds the root of a registry.
type RootInfo struct {
	Registry  string    `json:"registry"` // how this project calls it
	URL       string    `json:"url"`
	ID        string    `json:"id"`
	Name      string    `json:"name"` // what it calls itself
	Seq       uint64    `json:"seq"`
	Claims    string    `json:"claims"`
	Threshold int       `json:"threshold"` // root keys that must agree to a change
	Keys      []RootKey `json:"keys"`
}

// RootKey is a key that holds the root of a registry.
type RootKey struct {
	Fingerprint string `json:"fingerprint"`
	SSH         string `json:"ssh"`
	Own         bool   `json:"own,omitempty"`
}

// RootChangeRequest changes who holds the root of a registry.
type RootChangeRequest struct {
	Registry  string   // its name in this project; "" where there is one
	Add       []string // authorized_keys lines, or SHA256:... of keys known here
	Remove    []string // the same, of root keys
	Threshold int      // root keys that must agree from then on; 0 leaves it
	Out       string   // file for the proposal where others must agree; "" names one
	DryRun    bool
}

// RootProposalRequest approves or commits a proposal.
type RootProposalRequest struct {
	Registry string
	File     string
	DryRun   bool
}

// RootChange is an operation of a registry's root, proposed or done.
type RootChange struct {
	Status    string   `json:"status"` // proposed, approved, committed, and would-propose, would-approve, would-commit
	Registry  string   `json:"registry"`
	ID        string   `json:"id"`
	Seq       uint64   `json:"seq"` // its position in the root's log
	Changes   []string `json:"changes"`
	Keys      []string `json:"keys,omitempty"`      // the root keys after it
	Threshold int      `json:"threshold,omitempty"` // after it
	Have      int      `json:"have"`                // root keys that agreed, this one included
	Want      int      `json:"want"`
	Complete  bool     `json:"complete"` // nothing is missing but the commit
	Agreed    []string `json:"agreed,omitempty"`
	Waiting   []string `json:"waiting,omitempty"`   // root keys that did not agree yet
	Newcomers []string `json:"newcomers,omitempty"` // keys that become root keys and have to agree
	File      string   `json:"file,omitempty"`      // where the proposal lies
}
