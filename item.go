package rye

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Ref is the name of one item: its kind and its id. workspace.Workspace.Ref reads what a
// person typed, objects.ParseRef what a program wrote. The zero Ref names no item.
type Ref = objects.Ref

// State is what a working item is, compared with its signature and its record;
// package objects lists the states.
type State = objects.State

// Target is what a person types to mean items: a ref (tool:acme/hello), a published
// name (acme/tool/hello), the path of a file, a bundle's id or directory, and where a
// request takes several a pattern of * and ? over refs.
type Target string

// ItemInfo describes one item of one space. What a file that cannot be read does not tell
// is "".
type ItemInfo struct {
	Ref         string   `json:"ref"`
	Kind        string   `json:"kind"`
	ID          string   `json:"id"`
	Space       string   `json:"space"`
	State       State    `json:"state"`
	Why         string   `json:"why,omitempty"` // the state is not signed
	Recorded    bool     `json:"recorded"`      // the record of the space holds exactly these bytes
	Path        string   `json:"path,omitempty"`
	Name        string   `json:"name,omitempty"`
	Title       string   `json:"title,omitempty"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	Category    string   `json:"category,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Signer      string   `json:"signer,omitempty"`    // fingerprint
	SignedAt    string   `json:"signed_at,omitempty"` // as the signer says
	SHA256      string   `json:"sha256,omitempty"`
	Locked      bool     `json:"locked,omitempty"`  // the lock pins it
	Covers      string   `json:"covers,omitempty"`  // what a signature of RYE OS covers
	Bundle      string   `json:"bundle,omitempty"`  // the bundle that it lies in, or is
	Shadows     []string `json:"shadows,omitempty"` // spaces below that hold the same ref

	// Fields are further ones that an extractor of the project or the user asks for.
	Fields map[string]string `json:"fields,omitempty"`

	// Set by Show, and Params by a search that asks for it.
	Executor string      `json:"executor_id,omitempty"`
	Needs    string      `json:"needs,omitempty"`  // what a tool declares that it reaches: "read .; write nothing; net api.example.com"
	Limits   string      `json:"limits,omitempty"` // what one run of a tool may use up, as it states: "memory 512MiB, time 30s"
	Params   []ParamInfo `json:"parameters,omitempty"`
}

// Survey is how many items of a project are in each state, and which of them are more than
// signed, recorded and alone at their name.
type Survey struct {
	Count map[State]int // of all items; without the states that no item is in
	Items []ItemInfo    // sorted by ref

	OldRecord string // the directory of a record as rye 0.1 kept it, which is ignored; "" for none
}

// ParamInfo is a parameter of a tool or an input of a directive.
type ParamInfo struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Default     string `json:"default,omitempty"` // as text
	Description string `json:"description,omitempty"`

	Values []string `json:"values,omitempty"` // the only ones that it may have, as text; nil for any

	// Fields are those of an object, or of the objects in an array; nil where they are not
	// declared, and below the second level.
	Fields []ParamInfo `json:"fields,omitempty"`
}

// ItemRequest names the one item that a verb is about.
type ItemRequest struct {
	Ref Ref
}

// ListRequest narrows a list; the zero value lists everything.
type ListRequest struct {
	Kind  string // "" is every kind
	Space string // "" is every space
}

// ShowRequest asks for the description of one item.
type ShowRequest struct {
	Ref Ref
	All bool // every space's, not only the one that would be used
}

// LoadRequest reads one verified item.
type LoadRequest struct {
	Ref         Ref
	Space       string // "" cascades project, user, system
	Destination string // "project" or "user" to copy it there, byte for byte; "" only reads
}

// LoadResult is the item's bytes and what is known of it.
type LoadResult struct {
	ItemInfo
	Content     string `json:"content"`
	Digest      string `json:"digest"`              // SHA256 of Content without its signature line: what was signed
	Body        string `json:"body,omitempty"`      // prose without metadata
	CopiedTo    string `json:"copied_to,omitempty"` // the space
	Destination string `json:"destination_path,omitempty"`
}

// SearchRequest is a query over the catalogue. Only what the caller may search is found.
type SearchRequest struct {
	Query  string // words; "" finds every item
	Kind   string // "" is every kind
	Space  string // "" or "all" is every space
	Scope  string // capability form: tool.acme.*
	Limit  int    // the most results of a page; 0 is 10
	Offset int    // of the first result; 0 is the best

	// Params asks what the first MaxSearchParams results of a page take: each is read for it.
	Params bool
}

// MaxSearchParams bounds how many results of a search say which parameters they take.
const MaxSearchParams = 50

// Hit is one found item. Score is between 0 and 1; the best comes first.
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

	Hint fault.Hint `json:"hint,omitzero"` // when nothing was found: what to search for instead
}

// VerifyRequest names what to verify.
type VerifyRequest struct {
	Targets []Target // none is all of the project
	Explain bool     // tell every check, not only the outcome
}

// VerifyResult is one item's verification. Code, Error and Hint are set when it is not OK.
type VerifyResult struct {
	ItemInfo
	OK     bool       `json:"ok"`
	Code   fault.Code `json:"code,omitempty"`
	Error  string     `json:"error,omitempty"`
	Hint   fault.Hint `json:"hint,omitzero"`
	Checks []Check    `json:"checks,omitempty"`

	Mistakes []Mistake `json:"mistakes,omitempty"` // in the text of an own item; none of them refuses it
}

// Check is one step of a verification, for --explain.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Skipped says that an earlier check refused, so this one was not asked.
	Skipped bool   `json:"skipped,omitempty"`
	Text    string `json:"text"`
}

// LogRequest asks for the history of an item, or of the project.
type LogRequest struct {
	Ref   Ref // the zero Ref is the whole project
	Limit int // at most this many, the newest; 0 is 50
}

// LogEntry is one commit that changed an item or a space, or one operation of a registry's
// log.
type LogEntry struct {
	Commit  string `json:"commit"`
	When    string `json:"when"`
	Author  string `json:"author"`
	Subject string `json:"subject"`
}

// DiffRequest says what to compare with what.
type DiffRequest struct {
	Targets []Target // none is all that differ from what was recorded
	From    string   // a commit of the record, at least four digits, for one target; "" is what was recorded last
	To      string   // a commit; "" is the working file
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
