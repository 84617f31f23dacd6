package rye

import "github.com/rye-os/rye/fault"

// ReviewRequest asks for changes that no owner of their namespace signed. A person who owns the
// namespace looks at each, and signs it.
type ReviewRequest struct {
	Targets      []Target // empty is every item of the project that no owner signed as it is
	AcceptDenied bool     // also changes of a version that was denied
	DryRun       bool     // show, and ask and sign nothing
}

// ReviewReport is the outcome of a review. Review returns it beside an error when items failed.
type ReviewReport struct {
	Items  []ReviewItem `json:"items"`
	Signed int          `json:"signed"`
	Commit string       `json:"commit,omitempty"`
}

// ReviewItem is one change. Lines show all of it, folded and escaped for people.
type ReviewItem struct {
	Ref    string      `json:"ref"`
	Path   string      `json:"path"`
	State  State       `json:"state"`            // before the review
	Signer string      `json:"signer,omitempty"` // the key in its signature line
	Why    string      `json:"why,omitempty"`    // why that signature is not an owner's
	Digest string      `json:"digest"`           // SHA256 of the text without its signature line: the bytes to be signed
	Base   *ReviewBase `json:"base,omitempty"`   // the owner's version that it was compared with; nil for none
	Lines  []string    `json:"lines"`
	Status string      `json:"status"` // signed, would-sign, declined, asked (no one could answer), failed
	SHA256 string      `json:"sha256,omitempty"`
	Error  string      `json:"error,omitempty"`
	Code   fault.Code  `json:"code,omitempty"`
	Hint   fault.Hint  `json:"hint,omitzero"`
}

// ReviewBase is the version that a change was compared with.
type ReviewBase struct {
	From     string `json:"from"` // record, published or git
	SHA256   string `json:"sha256"`
	Signer   string `json:"signer"`
	SignedAt string `json:"signed_at"`
	Version  string `json:"version,omitempty"`
	Commit   string `json:"commit,omitempty"` // for git: one that has it
	Days     int    `json:"days"`             // whole days since the signature
	Denied   string `json:"denied,omitempty"` // why the version was denied
}
