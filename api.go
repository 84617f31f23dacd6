package rye

import (
	"encoding/json"

	"github.com/rye-os/rye/fault"
)

// InitRequest makes or completes a project.
type InitRequest struct {
	Dir       string
	Namespace string // "" is "local"
}

// InitReport says what Init made and what it found.
type InitReport struct {
	Dir       string   `json:"dir"`
	Project   string   `json:"project"`
	Namespace string   `json:"namespace"`
	Key       string   `json:"key"`
	NewKey    bool     `json:"new_key"`
	Created   []string `json:"created"`
	Completed []string `json:"completed,omitempty"` // files that got what a newer rye puts there
	Legacy    []string `json:"legacy,omitempty"`
	Adopted   int      `json:"adopted"`
}

// NewRequest scaffolds an item.
type NewRequest struct {
	Kind, ID    string
	Lang        string // tools: python (default), python-script, bash, sh, node, yaml, runtime
	Description string
}

// NewReport is the file that New wrote.
type NewReport struct {
	Ref  string     `json:"ref"`
	Path string     `json:"path"`
	Next fault.Hint `json:"next"`
}

// AddRequest takes files into the project: a path below .ai is recorded where it
// is, another is copied in under As and Kind.
type AddRequest struct {
	Path   string
	Kind   string
	As     string // id; "" derives it from the namespace and the file's name
	DryRun bool
	Force  bool
}

// AddFromRequest takes the items of another git repository into the project.
type AddFromRequest struct {
	URL    string // and #<branch or tag>; without it what HEAD names there
	DryRun bool
	Force  bool // replace what is there; a copy stays in history
}

// AddReport says what came in.
type AddReport struct {
	Ref      string     `json:"ref"`
	Path     string     `json:"path"`
	SHA256   string     `json:"sha256"`
	State    State      `json:"state"`
	Commit   string     `json:"commit,omitempty"`
	Next     fault.Hint `json:"next,omitzero"`
	Problems []any      `json:"problems,omitempty"`
}

// SignRequest signs working items, recorded in one commit.
type SignRequest struct {
	Targets []string // refs, paths or patterns (* and ? over refs); "*" is all
	All     bool
	Check   bool // sign nothing; fail when something would be signed
	Upgrade bool // also items with the ancestor's line
	DryRun  bool
	Space   string // project (default) or user
}

// SignResult is one item's outcome. Error is set when it was not signed.
type SignResult struct {
	Ref      string     `json:"ref"`
	Status   string     `json:"status"` // signed, unchanged, would-sign, failed
	Path     string     `json:"path"`
	SHA256   string     `json:"sha256,omitempty"`
	Key      string     `json:"key,omitempty"`
	SignedAt string     `json:"signed_at,omitempty"`
	Error    string     `json:"error,omitempty"`
	Code     fault.Code `json:"code,omitempty"`
	Hint     fault.Hint `json:"hint,omitzero"`
	Issues   []string   `json:"issues,omitempty"`
	Mistakes []Mistake  `json:"mistakes,omitempty"` // what has to be mended in the file
	Paste    string     `json:"paste,omitempty"`    // metadata to begin with, when the file has none
	Replaces *Replaced  `json:"replaces,omitempty"` // the ancestor's line that went
}

// Mistake is one thing wrong with a file, for the person who wrote it.
type Mistake struct {
	Path   string `json:"path"`           // below the project
	Line   int    `json:"line,omitempty"` // 1-based; 0 when it is about no one line
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"`
	Rule   string `json:"rule"`
	Mend   string `json:"mend,omitempty"` // what to write instead
	Text   string `json:"text,omitempty"` // the line itself
}

// Replaced tells what a signature of the ancestor was worth, before it is replaced
// by one that covers everything.
type Replaced struct {
	Key       string   `json:"key,omitempty"`       // 16 hexadecimal digits; "" when the line was no signature
	SignedAt  string   `json:"signed_at,omitempty"` // never signed
	Covers    string   `json:"covers"`
	Held      bool     `json:"held"`                // genuine, by a key that is known here
	Why       string   `json:"why,omitempty"`       // it did not hold
	Uncovered []string `json:"uncovered,omitempty"` // lines of the file that it did not cover, numbered
}

// SignReport is the whole of a Sign.
type SignReport struct {
	Results []SignResult `json:"results"`
	Signed  int          `json:"signed"`
	Failed  int          `json:"failed"`
	Commit  string       `json:"commit,omitempty"` // that holds what was signed, or was signed already
	// PassedOver are files that are no items, when every item was to be signed: foreign
	// names, links.
	PassedOver []string `json:"passed_over,omitempty"`
}

// VerifyResult is one item's verification.
type VerifyResult struct {
	ItemInfo
	OK     bool       `json:"ok"`
	Code   fault.Code `json:"code,omitempty"`
	Error  string     `json:"error,omitempty"`
	Hint   fault.Hint `json:"hint,omitzero"`
	Checks []Check    `json:"checks,omitempty"`

	Mistakes []Mistake `json:"mistakes,omitempty"` // in the text of an own item; they refuse nothing
}

// Check is one step of a verification, for --explain.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Skipped says that an earlier check refused, so this one was not asked.
	Skipped bool   `json:"skipped,omitempty"`
	Text    string `json:"text"`
}

// LoadRequest reads one verified item.
type LoadRequest struct {
	Ref         string
	Space       string // "" cascades project, user, system
	Destination string // "project" or "user" to copy it there; "" only reads
}

// LoadResult is the item's bytes and what is known of it.
type LoadResult struct {
	ItemInfo
	Content     string `json:"content"`
	Body        string `json:"body,omitempty"` // prose without metadata
	CopiedTo    string `json:"copied_to,omitempty"`
	Destination string `json:"destination_path,omitempty"`
}

// SearchRequest is a query over the catalogue.
type SearchRequest struct {
	Query  string
	Kind   string // "" is every kind
	Space  string // "" or "all" is every space
	Scope  string // capability form: tool.acme.*
	Limit  int    // 0 is 10
	Offset int
}

// Hit is one found item. Score is between 0 and 1.
type Hit struct {
	ItemInfo
	Score float64  `json:"score"`
	Match []string `json:"match,omitempty"` // fields that matched
}

// SearchResult is the page asked for, and how many there are in all.
type SearchResult struct {
	Results []Hit  `json:"results"`
	Total   int    `json:"total"`
	Query   string `json:"query"`
	Limit   int    `json:"limit"`
	Offset  int    `json:"offset"`
}

// ExecuteRequest runs a tool, or returns a directive's or knowledge entry's text.
type ExecuteRequest struct {
	Ref    string
	Params json.RawMessage // a JSON object; nil is {}
	DryRun bool
	Locked bool         // refuse drift from the lock
	Frozen bool         // locked, and never touch the network
	Pinned bool         // run the bytes that the lock pins, whatever stands in the working tree
	Stdout func([]byte) // live output; nil collects only
	Stderr func([]byte)
}

// ExecuteResult has the shape that the ancestor's clients know.
type ExecuteResult struct {
	Status       string          `json:"status"` // success, error, validation_passed
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	Data         json.RawMessage `json:"data,omitempty"`
	Inputs       map[string]any  `json:"inputs,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Error        string          `json:"error,omitempty"`
	Exit         int             `json:"exit"`
	Chain        []ChainLink     `json:"chain,omitempty"`
	Metadata     ExecuteMeta     `json:"metadata"`
}

// ChainLink is one verified element of what ran.
type ChainLink struct {
	ItemID    string `json:"item_id"`
	Space     string `json:"space"`
	ToolType  string `json:"tool_type,omitempty"`
	Executor  string `json:"executor_id,omitempty"`
	Integrity string `json:"integrity"` // sha256 of the file
	Signer    string `json:"signer,omitempty"`
}

// ExecuteMeta says how it ran. Limits that did not bind are named in Unbound.
type ExecuteMeta struct {
	DurationMS float64  `json:"duration_ms"`
	Timings    *Timings `json:"timings,omitempty"`
	Sandbox    string   `json:"sandbox,omitempty"`
	Unbound    []string `json:"unbound,omitempty"`
	Locked     bool     `json:"locked"`
	Truncated  bool     `json:"truncated,omitempty"`
	Verified   string   `json:"verified,omitempty"`
	Verdict    *Verdict `json:"verdict,omitempty"` // of the policy; nil for what does not execute
}

// Timings are the parts of ExecuteMeta.DurationMS, in milliseconds. None is below
// zero, and together they are the whole up to rounding. The start of the process is
// in none of them.
type Timings struct {
	Verify      float64 `json:"verify"`      // open the spaces, find the item, verify its chain
	Gate        float64 `json:"gate"`        // parameters, lock, policy, consent
	Materialise float64 `json:"materialise"` // clear what killed runs left, write the verified bytes
	Sandbox     float64 `json:"sandbox"`     // make the rules and put them on
	Spawn       float64 `json:"spawn"`       // start the program
	Run         float64 `json:"run"`         // the program, until all that it started is gone; the exchange of an HTTP tool
	Rest        float64 `json:"rest"`        // wait for a turn, prepare the call, read the answer, clear up
}

// LockReport says what the lock holds after the call.
type LockReport struct {
	Path  string   `json:"path"`
	Items int      `json:"items"`
	Added []string `json:"added,omitempty"`
	Drift []string `json:"drift,omitempty"`
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

// PushRequest publishes items of one namespace.
type PushRequest struct {
	Targets  []string
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

// LogEntry is one commit that changed an item or a space.
type LogEntry struct {
	Commit  string `json:"commit"`
	When    string `json:"when"`
	Author  string `json:"author"`
	Subject string `json:"subject"`
}

// AdoptRequest records working items as they are, under consent.
type AdoptRequest struct {
	Targets []string
	All     bool
}

// AdoptReport says whose signatures were taken as the baseline.
type AdoptReport struct {
	Adopted  []string            `json:"adopted"`
	Refused  []SignResult        `json:"refused,omitempty"`
	Unpinned []string            `json:"unpinned,omitempty"` // no longer what the lock brought
	Signers  map[string][]string `json:"signers"`
	Commit   string              `json:"commit,omitempty"`
}

// DoctorCheck is one finding of Doctor.
type DoctorCheck struct {
	Name string     `json:"name"`
	OK   bool       `json:"ok"`
	Text string     `json:"text"`
	Mend fault.Hint `json:"mend,omitzero"`
}

// PolicyReport is what the policy says about running an item.
type PolicyReport struct {
	Ref     string `json:"ref"`
	SHA256  string `json:"sha256"`
	Tier    string `json:"tier"` // t0 to t4
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Verdict string `json:"verdict"` // for the person at the terminal: allow, ask, deny
	Client  string `json:"client"`  // for an MCP client
	Sandbox string `json:"sandbox"`
}

// PolicyConsentRequest names a tool and which of the unsigned things that it would
// use are meant.
type PolicyConsentRequest struct {
	Ref         string
	Env         bool // .env files
	Interpreter bool // an interpreter in the project
	Secrets     bool // variables of the environment, for a tool that somebody else signed
	Forget      bool // take the agreement back
}

// ConsentReport is one thing that nobody signed and the user agreed to, or no
// longer does. Values of variables are in none of its fields.
type ConsentReport struct {
	Ref     string   `json:"ref"`
	What    string   `json:"what"` // env, interpreter or secrets
	Path    string   `json:"path"`
	SHA256  string   `json:"sha256"`
	Status  string   `json:"status"` // allowed or forgotten
	Names   []string `json:"names"`  // variables, files of the interpreter, or variables and items
	Changed []string `json:"changed,omitempty"`
}

// ItemDiff is what changed in an item: since it was last recorded, or between two
// versions. Lines are hunks in the unified format, without the names of files.
type ItemDiff struct {
	Ref      string   `json:"ref"`
	Path     string   `json:"path"`
	From     string   `json:"from,omitempty"` // commit, as it was asked for
	To       string   `json:"to,omitempty"`
	Recorded bool     `json:"recorded"` // something was recorded, so this is a change
	Deleted  bool     `json:"deleted,omitempty"`
	Lines    []string `json:"lines"`
}

// MoveReport says where an item's file went, and what is left to do.
type MoveReport struct {
	From     string     `json:"from"`
	Ref      string     `json:"ref"`
	Path     string     `json:"path"`
	Problems []any      `json:"problems,omitempty"` // what its new name makes wrong in its text
	Commit   string     `json:"commit,omitempty"`
	Next     fault.Hint `json:"next"`
	DryRun   bool       `json:"dry_run,omitempty"`
}

// CopyRequest copies a verified item into a space, as it is or under another id.
type CopyRequest struct {
	Ref    string
	To     string // project or user
	As     string // id; "" keeps it, and with it the signature
	DryRun bool
}

// CopyReport says what the copy is worth where it lies.
type CopyReport struct {
	From      string     `json:"from"`
	FromSpace string     `json:"from_space"`
	Ref       string     `json:"ref"`
	Space     string     `json:"space"`
	Path      string     `json:"path"`
	SHA256    string     `json:"sha256"`
	State     State      `json:"state"`
	Why       string     `json:"why,omitempty"`
	Commit    string     `json:"commit,omitempty"`
	Next      fault.Hint `json:"next,omitzero"`
	DryRun    bool       `json:"dry_run,omitempty"`
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
