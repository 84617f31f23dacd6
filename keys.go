package rye

import (
	"github.com/rye-os/rye/fault"
)

// KeyInfo describes a key on this machine.
type KeyInfo struct {
	Name        string   `json:"name"`
	Fingerprint string   `json:"fingerprint"`
	Path        string   `json:"path,omitempty"`       // "" when an agent or a key service holds it
	SSH         string   `json:"ssh"`                  // the public half, as an authorized_keys line
	Namespaces  []string `json:"namespaces,omitempty"` // that it claims on this machine; none is every free one
	Protected   bool     `json:"protected,omitempty"`  // by a passphrase
	Retired     bool     `json:"retired,omitempty"`    // kept for what it signed
	State       string   `json:"state,omitempty"`      // "denied", "unknown" to the trust store, or "damaged"; "" is fine
}

// KeyAnswer is what a key service says: its public key as an authorized_keys line,
// and a signature when it was asked for one.
type KeyAnswer struct {
	Public    string
	Signature []byte
}

// KeyRequest names a key.
type KeyRequest struct {
	Name string // its name, path or fingerprint, or its holder (agent, kms:<address>); "" is the signing key
}

// KeyNewRequest makes a key.
type KeyNewRequest struct {
	Name       string // "" is the signing key's
	Namespace  string // claimed for it on this machine; "" is every free one
	Passphrase []byte // nil for none
}

// KeyImportRequest takes a key over that was made elsewhere.
type KeyImportRequest struct {
	From      string // a file; or agent, agent:SHA256:..., kms:<address>
	Name      string // under which it is kept; "" is "default" for a file
	Namespace string // claimed for it on this machine
	DryRun    bool
}

// KeyExportRequest asks for a key in a form for other programs.
type KeyExportRequest struct {
	Name   string // as in KeyRequest
	PEM    bool   // as RYE OS keeps keys: PKCS#8, or SubjectPublicKeyInfo
	Public bool   // the public half, which needs no consent
	Out    string // file to write, which must not exist; "" returns the text
}

// KeyExport is the key in the form asked for.
type KeyExport struct {
	KeyInfo
	Private bool   `json:"private"`
	Out     string `json:"out,omitempty"`
	Text    string `json:"text,omitempty"` // unless it was written to Out
}

// KeyPassphraseRequest gives a key file another passphrase, or none.
type KeyPassphraseRequest struct {
	Name string                 // as in KeyRequest
	Ask  func() ([]byte, error) // returns the new passphrase; nil, or an empty one, leaves the key unprotected
}

// KeyRotateRequest replaces a key by a new one.
type KeyRotateRequest struct {
	Name    string // as in KeyRequest
	DryRun  bool
	Local   bool                   // do not tell the registries
	Resign  bool                   // let the new key sign what the old one signed
	Also    []string               // directories of further projects where the old key signed
	Protect bool                   // protect the new key even where the old one was not
	Ask     func() ([]byte, error) // returns the new key's passphrase; nil when the user cannot be asked
}

// KeyRotation is the outcome of a rotation. It is returned beside an error, too, and says
// how far the rotation came.
type KeyRotation struct {
	Name       string           `json:"name"`
	Old        string           `json:"old"`
	New        string           `json:"new,omitempty"`
	Path       string           `json:"path"`
	Retired    string           `json:"retired"` // where the old key is kept
	Namespaces []RotatedBinding `json:"namespaces,omitempty"`
	Roots      []string         `json:"roots,omitempty"`      // registries whose root the old key still is
	SignAgain  []string         `json:"sign_again,omitempty"` // patterns whose working files need the new key
	Kept       int              `json:"kept"`                 // how many files still count by the old key
	Places     []string         `json:"places"`               // spaces that were searched for them
	Elsewhere  int              `json:"elsewhere,omitempty"`  // how many accepted projects were not searched
	Resigned   int              `json:"resigned,omitempty"`   // how many files the new key signed
	DryRun     bool             `json:"dry_run,omitempty"`
}

// RotatedBinding is a namespace of a registry where the old key was current.
type RotatedBinding struct {
	Namespace string `json:"namespace"`
	Registry  string `json:"registry"`
	URL       string `json:"url"`
	Status    string `json:"status"` // rotated, would-rotate, left
	Text      string `json:"text"`
}

// TrustEntry is one belief of the trust store.
type TrustEntry struct {
	Kind       string   `json:"kind"` // own, key, registry, namespace, deny; of a grant: project, signer, registry, scope, override, owner
	Subject    string   `json:"subject"`
	Namespaces []string `json:"namespaces,omitempty"`
	Detail     string   `json:"detail,omitempty"`
	Place      string   `json:"place,omitempty"`   // of a grant: the key of the directory's record
	Path       string   `json:"path,omitempty"`    // of a grant: the directory, where its record says it
	Project    string   `json:"project,omitempty"` // of a grant: the id that it belongs to, too
}

// TrustRequest shows everything that a project's directory asks its user to believe, and
// grants it after a person agreed, or exactly what Accept names.
type TrustRequest struct {
	Accept []string // sha256:... of the statement or of its parts; nil asks a person about everything
	Here   bool     // the project is the directory that the caller named, not one found above it
	DryRun bool     // only show it
}

// TrustStatement is what a directory asks its user to believe, and what became of that; see
// docs/format/statement.md. It is returned beside an error where something that is asked
// remains ungranted.
type TrustStatement struct {
	Dir     string      `json:"dir"`
	Project string      `json:"project"`
	Digest  string      `json:"digest"` // of the whole statement
	Parts   []TrustPart `json:"parts"`

	First      []string         `json:"first,omitempty"`      // what has to be known before: another owner, another project at this path
	Ignored    []string         `json:"ignored,omitempty"`    // lines against keys that have no effect here, and why
	Undeclared []UntrustedItems `json:"undeclared,omitempty"` // what stands in items and is not asked for, so that nothing can grant it
	Unknown    []string         `json:"unknown,omitempty"`    // digests that were given and match nothing here

	Granted  int    `json:"granted"`  // now
	Missing  int    `json:"missing"`  // parts that are not granted
	Recorded int    `json:"recorded"` // items that were taken into the record
	Note     string `json:"note,omitempty"`
	DryRun   bool   `json:"dry_run,omitempty"`
}

// TrustPart is one thing that can be granted alone.
type TrustPart struct {
	Digest string `json:"digest"`
	Kind   string `json:"kind"`   // project, signer, registry, override
	Status string `json:"status"` // asked, granted (before), accepted (now)

	Removed string `json:"removed,omitempty"` // the day on which the signer was taken out, and by which key; not granted since

	Signer    string   `json:"signer,omitempty"` // fingerprint, of a signer or an override
	Namespace string   `json:"namespace,omitempty"`
	Ref       string   `json:"ref,omitempty"`      // of an override
	Registry  string   `json:"registry,omitempty"` // identity
	Addresses []string `json:"addresses,omitempty"`
	RootKeys  []string `json:"root_keys,omitempty"`
	Scopes    []string `json:"scopes,omitempty"`

	You   bool     `json:"you,omitempty"`   // one of the user's own keys
	Name  string   `json:"name,omitempty"`  // that the user knows the key by
	Items int      `json:"items,omitempty"` // that carry this signer's line in this namespace
	Paths []string `json:"paths,omitempty"` // some of them
}

// UntrustedItems are items by a signer that the directory does not declare for them.
type UntrustedItems struct {
	Signer    string   `json:"signer"`
	Namespace string   `json:"namespace"`
	Items     int      `json:"items"`
	Paths     []string `json:"paths"` // some of them
}

// TrustPinRequest believes another person's key.
type TrustPinRequest struct {
	Key         string   // an authorized_keys line, or the SHA256:... of a key that is known here
	Fingerprint string   // what the owner said; must be the key's
	Namespaces  []string // at least one
	Name        string   // whose it is, for people
	Space       string   // user, project, or "" for both
	DryRun      bool
}

// TrustUnpinRequest takes a pin back, or some of its namespaces, and removes the signer from
// the project.
type TrustUnpinRequest struct {
	Subject    string   // the key, its fingerprint, or the name that it was pinned under
	Namespaces []string // nil is all of them
	DryRun     bool
}

// TrustDenyRequest refuses a key or a file from now on, wherever it comes from.
type TrustDenyRequest struct {
	Subject    string   // a key's SHA256:... or a file's sha256:...
	Reason     string   // shown where it is refused
	Share      bool     // also for everybody, by a signed line in .ai/denied or .ai/denied-keys
	Namespaces []string // of a shared denial of a key; nil is all that the key counts for here
	DryRun     bool
}

// TrustAllowRequest takes a denial back.
type TrustAllowRequest struct {
	Subject string // as it was denied
	DryRun  bool
}

// TrustOverrideRequest lets this project replace an item of a reserved or bound
// namespace by its own.
type TrustOverrideRequest struct {
	Ref    Ref
	Remove bool // take that back
	DryRun bool
}

// TrustForgetRequest takes grants back.
type TrustForgetRequest struct {
	Subject string // a key's SHA256:...; sha256:... of a part of what this directory asks for; a project's id or directory; "" for this project
	DryRun  bool
}

// TrustChange says what a command changed, or would change, in the trust store.
type TrustChange struct {
	Status     string   `json:"status"` // pinned, unpinned, denied, allowed, overridden, forgotten
	Subject    string   `json:"subject"`
	Name       string   `json:"name,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Where      []string `json:"where,omitempty"`
	Detail     string   `json:"detail,omitempty"`
	DryRun     bool     `json:"dry_run,omitempty"`
}

// TrustImportRequest takes over keys that RYE OS trusted.
type TrustImportRequest struct {
	From         string   // a .pem or .toml file, or a directory of them
	Namespaces   []string // at least one
	Fingerprints []string // SHA256:..., as their owners said; all of them, or none
	Space        string   // as in TrustPinRequest
	DryRun       bool
}

// TrustImport lists the keys that were found, and the outcome of each. It is returned beside
// an error when keys were refused.
type TrustImport struct {
	Keys   []ImportedKey `json:"keys"`
	Pinned int           `json:"pinned"`
	DryRun bool          `json:"dry_run,omitempty"`
}

// ImportedKey is one file of RYE OS's trust store.
type ImportedKey struct {
	File        string     `json:"file"`
	Status      string     `json:"status"` // pinned, would-pin, own, repeated, refused
	Fingerprint string     `json:"fingerprint,omitempty"`
	Legacy      string     `json:"legacy,omitempty"` // RYE OS's fingerprint
	Owner       string     `json:"owner,omitempty"`
	Error       string     `json:"error,omitempty"`
	Code        fault.Code `json:"code,omitempty"`
}

// TrustExplanation is every check between an item and its use, in one space.
type TrustExplanation struct {
	Ref    string     `json:"ref"`
	Space  string     `json:"space"`
	Path   string     `json:"path,omitempty"`
	Used   bool       `json:"used"` // the ref resolves to this one
	OK     bool       `json:"ok"`   // every check passed
	Signer string     `json:"signer,omitempty"`
	Code   fault.Code `json:"code,omitempty"`
	Hint   fault.Hint `json:"hint,omitzero"`
	Checks []Check    `json:"checks"`
}
