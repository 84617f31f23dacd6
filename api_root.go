package rye

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
