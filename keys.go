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
	Namespaces  []string `json:"namespaces,omitempty"` // claimed on this machine; none is every free one
	Protected   bool     `json:"protected,omitempty"`  // by a passphrase
	Retired     bool     `json:"retired,omitempty"`    // kept because of its signatures
	State       string   `json:"state,omitempty"`      // "denied", "unknown" to the trust store, or "damaged"; "" is fine
}

// KeyAnswer is the answer of a key service: its public key as an authorized_keys line, and a
// signature if one was requested.
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

// KeyImportRequest imports a key that was made elsewhere.
type KeyImportRequest struct {
	From      string // a file; or agent, agent:SHA256:..., kms:<address>
	Name      string // its name here; "" is "default" for a file
	Namespace string // claimed for it on this machine
	Identity  string // the private key's file that opens a file made with KeyExportRequest.For

	// Open decrypts such a file with the text of Identity; ask returns the passphrase of that key.
	// nil opens none.
	Open func(file, identity []byte, ask func() ([]byte, error)) ([]byte, error)

	DryRun bool
}

// KeyExportRequest exports a key for other programs.
type KeyExportRequest struct {
	Name   string // as in KeyRequest
	PEM    bool   // as RYE OS keeps keys: PKCS#8, or SubjectPublicKeyInfo
	Public bool   // the public half, which needs no consent
	Out    string // file to write, which must not exist; "" returns the text

	// For is the file of a public key: an SSH key, or a recipient of age. The export is encrypted to
	// its holder by Seal, in age's format. "" encrypts to nobody.
	For  string
	Seal func(text, recipient []byte) ([]byte, error)

	// Encrypt returns the passphrase for the exported file, in place of the key's own. It needs
	// Out, and a person who agrees. nil exports the key as it is.
	Encrypt func() ([]byte, error)
}

// KeyExport is the exported key.
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
	Resign  bool                   // let the new key sign the old key's files again
	Also    []string               // directories of further projects with signatures by the old key
	Protect bool                   // protect the new key even where the old one was not
	Ask     func() ([]byte, error) // returns the new key's passphrase; nil when the user cannot be asked
}

// KeyRotation is the outcome of a rotation. It is returned beside an error, too, and shows
// which steps were completed.
type KeyRotation struct {
	Name       string           `json:"name"`
	Old        string           `json:"old"`
	New        string           `json:"new,omitempty"`
	Path       string           `json:"path"`
	Retired    string           `json:"retired"` // where the old key is kept
	Namespaces []RotatedBinding `json:"namespaces,omitempty"`
	Roots      []string         `json:"roots,omitempty"`      // registries that the old key still holds a root key of
	SignAgain  []string         `json:"sign_again,omitempty"` // patterns whose working files need the new key
	Kept       int              `json:"kept"`                 // number of files that the old key still signs
	Places     []string         `json:"places"`               // spaces that were searched for them
	Elsewhere  int              `json:"elsewhere,omitempty"`  // number of accepted projects that were not searched
	Resigned   int              `json:"resigned,omitempty"`   // number of files that the new key signed
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

// TrustEntry is one entry of the trust store.
type TrustEntry struct {
	Kind       string   `json:"kind"` // own, key, registry, namespace, deny; of a grant: project, signer, registry, scope, override, owner
	Subject    string   `json:"subject"`
	Namespaces []string `json:"namespaces,omitempty"`
	Detail     string   `json:"detail,omitempty"`
	Place      string   `json:"place,omitempty"`   // of a grant: the key of the directory's record
	Path       string   `json:"path,omitempty"`    // of a grant: the directory, where its record names it
	Project    string   `json:"project,omitempty"` // of a grant: the id of its project
}

// TrustRequest shows everything for which a project's directory asks trust. It grants this
// after a person agreed, or exactly the parts that Accept names.
type TrustRequest struct {
	Accept []string // sha256:... of the statement or of its parts; nil asks a person about everything
	Here   bool     // the caller named this directory; it was not found by a search upwards
	DryRun bool     // only show it
}

// TrustStatement is everything for which a directory asks trust, and the outcome; see
// docs/format/statement.md. It is returned beside an error where a requested part remains
// ungranted.
type TrustStatement struct {
	Dir     string      `json:"dir"`
	Project string      `json:"project"`
	Digest  string      `json:"digest"` // of the whole statement
	Parts   []TrustPart `json:"parts"`

	First      []string         `json:"first,omitempty"`      // warnings to read first: another owner, another project at this path
	Ignored    []string         `json:"ignored,omitempty"`    // lines against keys that have no effect here, with the reasons
	Undeclared []UntrustedItems `json:"undeclared,omitempty"` // items whose signers are not declared for them, so that no grant can cover them
	Unknown    []string         `json:"unknown,omitempty"`    // given digests that match nothing here

	Granted  int    `json:"granted"`  // parts that this call granted
	Missing  int    `json:"missing"`  // parts that remain ungranted
	Recorded int    `json:"recorded"` // items that this call recorded
	Note     string `json:"note,omitempty"`
	DryRun   bool   `json:"dry_run,omitempty"`
}

// TrustPart is one thing that can be granted alone.
type TrustPart struct {
	Digest string `json:"digest"`
	Kind   string `json:"kind"`   // project, signer, registry, override
	Status string `json:"status"` // asked, granted (before), accepted (now)

	Removed string `json:"removed,omitempty"` // the day on which the signer was removed, and by which key; not granted since

	Signer    string   `json:"signer,omitempty"` // fingerprint, of a signer or an override
	Namespace string   `json:"namespace,omitempty"`
	Ref       string   `json:"ref,omitempty"`      // of an override
	Registry  string   `json:"registry,omitempty"` // identity
	Addresses []string `json:"addresses,omitempty"`
	RootKeys  []string `json:"root_keys,omitempty"`
	Scopes    []string `json:"scopes,omitempty"`

	You   bool     `json:"you,omitempty"`   // one of the user's own keys
	Name  string   `json:"name,omitempty"`  // the user's name for the key
	Items int      `json:"items,omitempty"` // number of items with this signer's line in this namespace
	Paths []string `json:"paths,omitempty"` // some of them
}

// UntrustedItems are items by a signer that the directory does not declare for them.
type UntrustedItems struct {
	Signer    string   `json:"signer"`
	Namespace string   `json:"namespace"`
	Items     int      `json:"items"`
	Paths     []string `json:"paths"` // some of them
}

// TrustPinRequest trusts another person's key.
type TrustPinRequest struct {
	Key         string   // an authorized_keys line, or the SHA256:... of a key that is known here
	Fingerprint string   // as the owner reported it; must match the key
	Namespaces  []string // at least one
	Name        string   // the owner's name, for people
	Space       string   // user, project, or "" for both
	DryRun      bool
}

// TrustUnpinRequest takes a pin back, or some of its namespaces, and removes the signer from
// the project.
type TrustUnpinRequest struct {
	Subject    string   // the key, its fingerprint, or its name in the trust store
	Namespaces []string // nil is all of them
	DryRun     bool
}

// TrustDenyRequest denies a key or a file from now on, from any source.
type TrustDenyRequest struct {
	Subject    string   // a key's SHA256:... or a file's sha256:...
	Reason     string   // shown with each refusal
	Share      bool     // also for everyone, by a signed line in .ai/denied or .ai/denied-keys
	Namespaces []string // of a shared denial of a key; nil is every namespace of the key here
	DryRun     bool
}

// TrustAllowRequest takes a denial back.
type TrustAllowRequest struct {
	Subject string // as it was denied
	DryRun  bool
}

// TrustPatchRequest names an item whose working file a contributor signed.
type TrustPatchRequest struct {
	Ref    Ref
	Key    string // the contributor's public key, if it is not known here
	Digest string // SHA256 of the whole file, if the user compared it before; another file is refused
	Remove bool   // take the grants for the item back
	DryRun bool
}

// TrustOverrideRequest lets this project replace an item of a reserved or bound
// namespace by its own.
type TrustOverrideRequest struct {
	Ref    Ref
	Remove bool // remove the override
	DryRun bool
}

// TrustForgetRequest takes grants back.
type TrustForgetRequest struct {
	Subject string // a key's SHA256:...; sha256:... of a part of this directory's statement; a project's id or directory; "" for this project
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

// TrustImportRequest imports keys that RYE OS trusted.
type TrustImportRequest struct {
	From         string   // a .pem or .toml file, or a directory of them
	Namespaces   []string // at least one
	Fingerprints []string // SHA256:..., as their owners reported them; all of them, or none
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

// TrustBackupRequest writes the user's decisions about trust into a signed file.
type TrustBackupRequest struct {
	Out string // the file, which must not exist
}

// TrustBackup describes a backup.
type TrustBackup struct {
	Out        string `json:"out"`
	Signer     string `json:"signer"` // fingerprint of the key that signed it
	Denials    int    `json:"denials"`
	Retired    int    `json:"retired"` // own keys that are retired
	Grants     int    `json:"grants"`
	Registries int    `json:"registries"` // whose verified states it holds
	Projects   int    `json:"projects"`   // whose signed lines it holds
}

// TrustRestoreRequest merges a backup into the user's decisions.
type TrustRestoreRequest struct {
	File        string
	Fingerprint string // of the key that signed it; needed where that key is not the user's own here
	Grants      bool   // also ask about the permissions for this directory and the user space
	DryRun      bool
}

// TrustRestore is the outcome of a restore. It is returned beside an error, too.
type TrustRestore struct {
	File    string          `json:"file"`
	Signer  string          `json:"signer"`
	Made    string          `json:"made"`
	Changes []RestoredTrust `json:"changes"`
	Asked   int             `json:"asked,omitempty"` // permissions that --grants asks about here
	Left    int             `json:"left,omitempty"`  // grants for other directories
	DryRun  bool            `json:"dry_run,omitempty"`
}

// RestoredTrust is one change by a restore.
type RestoredTrust struct {
	Status  string `json:"status"` // restricted, granted, asked, skipped
	Kind    string `json:"kind"`   // deny, retired, legacy, key, registry, project; of a permission: pin, or the kind of a grant
	Subject string `json:"subject"`
	Detail  string `json:"detail,omitempty"`
}

// TrustExplanation lists every check between an item and its use, in one space.
type TrustExplanation struct {
	Ref    string     `json:"ref"`
	Space  string     `json:"space"`
	Path   string     `json:"path,omitempty"`
	Used   bool       `json:"used"` // the ref resolves to this item
	OK     bool       `json:"ok"`   // every check passed
	Signer string     `json:"signer,omitempty"`
	Code   fault.Code `json:"code,omitempty"`
	Hint   fault.Hint `json:"hint,omitzero"`
	Checks []Check    `json:"checks"`
}
