package rye

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Ref is the name of one item: its kind and its id. workspace.Workspace.Ref parses a person's
// input, objects.ParseRef a program's. The zero Ref names no item.
type Ref = objects.Ref

// State is the state of a working item, compared with its signature and its record;
// package objects lists the states.
type State = objects.State

// Target names items as a person types them. It is a ref (tool:acme/hello), a published name
// (acme/tool/hello), the path of a file, or a bundle's id or directory. Where a request takes
// several, it may be a pattern of * and ? over refs.
type Target string

// NameRequest asks for the item that a name means to a caller who may use a verb on it.
type NameRequest struct {
	Name string // in any form
	Verb string // load, execute or sign
}

// ItemInfo describes one item of one space. A field is "" where an unreadable file does not
// show it.
type ItemInfo struct {
	Ref         string   `json:"ref"`
	Kind        string   `json:"kind"`
	ID          string   `json:"id"`
	Space       string   `json:"space"`
	State       State    `json:"state"`
	Why         string   `json:"why,omitempty"` // why the state is not signed
	Recorded    bool     `json:"recorded"`      // the record of the space holds exactly these bytes
	Path        string   `json:"path,omitempty"`
	Name        string   `json:"name,omitempty"`
	Title       string   `json:"title,omitempty"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	Category    string   `json:"category,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Examples    []string `json:"examples,omitempty"`  // questions that it answers, as its author says
	Signer      string   `json:"signer,omitempty"`    // fingerprint
	SignedAt    string   `json:"signed_at,omitempty"` // as the signer says
	SHA256      string   `json:"sha256,omitempty"`
	Locked      bool     `json:"locked,omitempty"`  // the lock pins it
	Covers      string   `json:"covers,omitempty"`  // the part of the file that a signature of RYE OS covers
	Bundle      string   `json:"bundle,omitempty"`  // the bundle that contains it, or that it is
	Shadows     []string `json:"shadows,omitempty"` // spaces below that hold the same ref

	// Warning is one line; "" for none. It is the registry's warning about this version of a
	// dependency, with the version to take instead, or the extra files in a bundle's directory.
	Warning string `json:"warning,omitempty"`

	// Fields are extra fields that an extractor of the project or the user asks for.
	Fields map[string]string `json:"fields,omitempty"`

	// Set by Show and Load, and Params by a search that asks for it.
	Part     bool        `json:"part,omitempty"` // a file that only other tools load
	Executor string      `json:"executor_id,omitempty"`
	Needs    string      `json:"needs,omitempty"`  // access that a tool declares: "read .; write nothing; net api.example.com"
	Limits   string      `json:"limits,omitempty"` // resources that one run may use, as the item states: "memory 512MiB, time 30s"
	Params   []ParamInfo `json:"parameters,omitempty"`

	Source   string          `json:"source,omitempty"`   // where its bundle came from, as the signed manifest says: an address, ref, folder and commit
	Programs []BundleProgram `json:"programs,omitempty"` // of the bundle whose entry it is

	Origin string   `json:"origin,omitempty"`  // for a dependency: its registry, and its name there
	Range  string   `json:"range,omitempty"`   // the range in rye.yaml
	UsedBy []string `json:"used_by,omitempty"` // tools whose locked chains use it

	Published []string `json:"published,omitempty"` // other versions of a dependency that are known here, the newest first

	// The same, for a directive.
	Outputs     []ParamInfo `json:"outputs,omitempty"`     // the outputs that it has to return
	Model       string      `json:"model,omitempty"`       // the model that it asks for: "fallback general, tier fast"
	Permissions []string    `json:"permissions,omitempty"` // capabilities of a thread that follows it
	Hooks       []string    `json:"hooks,omitempty"`       // "slow: at limit, ask"
}

// Survey counts the items of a project by state, and lists the items that need attention or
// have something to report.
type Survey struct {
	Count map[State]int // number of all items in each state; states without items are absent
	Items []ItemInfo    // sorted by ref

	// Outdated and Warned count dependencies by their registries' last known state: those with a
	// newer good version, and deprecated or yanked ones.
	Outdated, Warned int

	Accepted bool       // the user accepted this directory
	Next     fault.Hint // the command that comes first; zero for none

	Ignored   []string // lines against keys that have no effect here, with the reasons
	Staged    []string // signed files that are staged in git in an older form
	OldRecord string   // the directory of an ignored record in the form of rye 0.1; "" for none
}

// ParamInfo is a parameter of a tool or an input of a directive.
type ParamInfo struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Default     string `json:"default,omitempty"` // as text
	Description string `json:"description,omitempty"`

	Values []string `json:"values,omitempty"` // the only allowed values, as text; nil for any

	// Fields are the fields of an object, or of the objects in an array; nil where they are not
	// declared, and below the second level.
	Fields []ParamInfo `json:"fields,omitempty"`
}

// ItemRequest names the one item of a verb.
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
	All bool // the item in every space, not only the one that would be used
}

// LoadRequest reads one verified item.
type LoadRequest struct {
	Ref         Ref
	Space       string // "" cascades project, user, system
	Destination string // "project" or "user" to copy it there, byte for byte; "" only reads
}

// LoadResult is the item's bytes and its description.
type LoadResult struct {
	ItemInfo
	Content     string `json:"content"`
	Digest      string `json:"digest"`              // SHA256 of Content without its signature line: the signed digest
	Body        string `json:"body,omitempty"`      // prose without metadata
	CopiedTo    string `json:"copied_to,omitempty"` // the space
	Destination string `json:"destination_path,omitempty"`
}

// WordlessError is returned for a search for words by a program that has no index for it.
type WordlessError struct{}

func (WordlessError) Error() string { return "this program has no word search" }

// SearchRequest is a query over everything in items. It finds only items that the caller may
// search.
type SearchRequest struct {
	Query string // words, as docs/format/search.md has them; "" finds every item
	Kind  string // "" is every kind of items; KindThread searches only the transcripts of threads
	Space string // "" or "all" is every space; SpaceRegistry searches only what registries offer
	Scope string // capability form: tool.acme.*

	Registry string // for SpaceRegistry: the project's name for the registry; "" is all
	Limit    int    // the most results per page; 0 is 10
	Offset   int    // number of results to skip; 0 starts with the best
	Explain  bool   // explain how each word was understood

	// Params asks for the parameters of a page's first MaxSearchParams results, read one by one.
	Params bool
}

// MaxSearchParams bounds how many results of a search include their parameters.
const MaxSearchParams = 50

// Hit is one found item. Score is above 0 and at most 1; the best comes first.
type Hit struct {
	ItemInfo
	Score  float64  `json:"score"`
	Match  []string `json:"match,omitempty"`  // fields that matched
	Lines  []Line   `json:"lines,omitempty"`  // lines of the text with most of the words
	Guess  bool     `json:"guess,omitempty"`  // found by words that resemble the query's
	Partly bool     `json:"partly,omitempty"` // only the beginning of its text is searched
	Why    *HitWhy  `json:"why,omitempty"`    // the parts of the score, if asked for
	Loose  string   `json:"loose,omitempty"`  // as in SearchResult; the program prints it with each hit

	Offer *Offer `json:"offer,omitempty"` // for an item that a registry offers
}

// HitWhy explains a score. The sum of the words' amounts is multiplied by Share; Whole is
// added. The result times Behind, 1 + Fit, 1 + Pairs and 1 + Aim is divided by Most.
type HitWhy struct {
	Words  []WordWhy `json:"words"`
	Share  float64   `json:"share"`           // weighted share of the query's words that the item has
	Whole  float64   `json:"whole,omitempty"` // for a name, a title or an id that equals the whole query
	Behind float64   `json:"behind"`          // below 1 for items that are there to run others
	Fit    float64   `json:"fit,omitempty"`   // because the query has all words of its title
	Pairs  float64   `json:"pairs,omitempty"` // because words are adjacent in both
	Aim    float64   `json:"aim,omitempty"`   // because of its kind
	Most   float64   `json:"most"`
}

// WordWhy is the contribution of one query word.
type WordWhy struct {
	Word   string  `json:"word"`
	Form   string  `json:"form"` // the form that was found
	Kind   string  `json:"kind"`
	Amount float64 `json:"amount"`
}

// Line is a line of an item's file.
type Line struct {
	Number int    `json:"line"` // from 1
	Text   string `json:"text"` // shortened where it is long
}

// SearchResult is the requested page, and the total number of results.
type SearchResult struct {
	Results []Hit     `json:"results"`
	Turns   []TurnHit `json:"turns,omitempty"` // instead of Results, for a search in transcripts
	Total   int       `json:"total"`
	AtLeast bool      `json:"at_least,omitempty"` // a bound was met, so there may be more
	Query   string    `json:"query"`
	Limit   int       `json:"limit"`
	Offset  int       `json:"offset"`

	Loose   string       `json:"loose,omitempty"`   // why the query's words were searched, and not the query as it is written
	Nearest []string     `json:"nearest,omitempty"` // words used in place of query words that occur nowhere
	Words   []SearchWord `json:"words,omitempty"`   // how each was understood, if asked for
	Notes   []string     `json:"notes,omitempty"`   // remarks for people on the state of the index
	Hint    fault.Hint   `json:"hint,omitzero"`     // the next step, when nothing was found
}

// SearchWord is a query word with all forms that match it.
type SearchWord struct {
	Word   string       `json:"word"`
	Items  int          `json:"items"`  // number of items with one of the forms
	Rarity float64      `json:"rarity"` // weight of the word: the fewer items have it, the higher
	Forms  []SearchForm `json:"forms"`
}

// SearchForm is one form of a word: as it was typed, its stem, a synonym, ….
type SearchForm struct {
	Form   string  `json:"form"`
	Kind   string  `json:"kind"`
	Weight float64 `json:"weight"` // 1 for the word itself
}

// VerifyRequest names what to verify.
type VerifyRequest struct {
	Targets []Target // empty is all of the project
	Explain bool     // report every check, not only the outcome
}

// VerifyResult is one item's verification. Code, Error and Hint are set when it is not OK.
type VerifyResult struct {
	ItemInfo
	OK     bool       `json:"ok"`
	Code   fault.Code `json:"code,omitempty"`
	Error  string     `json:"error,omitempty"`
	Hint   fault.Hint `json:"hint,omitzero"`
	Checks []Check    `json:"checks,omitempty"`

	Mistakes []Mistake `json:"mistakes,omitempty"` // errors in the text of an own item; they do not fail the verification
}

// Check is one step of a verification, for --explain.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Skipped is set when an earlier check failed, so this one did not run.
	Skipped bool   `json:"skipped,omitempty"`
	Text    string `json:"text"`
}

// LogRequest asks for the history of an item, or of the project.
type LogRequest struct {
	Ref   Ref    // the zero Ref is the whole project
	Limit int    // at most this many, the newest; 0 is 50
	Patch bool   // include each file's changed lines; for one item, only its own file
	Space string // "project" or "user"; "" is project
}

// LogEntry is one commit that changed an item or a space, or one operation of a registry's
// log.
type LogEntry struct {
	Commit  string `json:"commit"`
	When    string `json:"when"`
	Author  string `json:"author"`
	Subject string `json:"subject"`

	// For a registry's log.
	Seq     uint64 `json:"seq,omitempty"`     // position
	Skipped string `json:"skipped,omitempty"` // why the operation has no effect
	Dropped uint64 `json:"dropped,omitempty"` // the operation that dropped this one's writes and its key
	Voided  uint64 `json:"voided,omitempty"`  // the operation that voided it

	Changes []FileChange `json:"changes,omitempty"` // set if asked for

	// Of a bundle's log: where this version came from, and whether its manifest has a signature line.
	Origin *BundleOrigin `json:"origin,omitempty"`
	Signed bool          `json:"signed,omitempty"`
}

// FileChange is what one commit changed in one file. Lines are hunks in the unified format,
// without the names of files.
type FileChange struct {
	From  string   `json:"from,omitempty"` // its old path below the project; "" for a new file
	To    string   `json:"to,omitempty"`   // its new path, which differs after a rename; "" for a removed file
	Lines []string `json:"lines"`
}

// BlameRequest asks who signed each line of an item.
type BlameRequest struct {
	Ref Ref
	At  string // the version recorded at a commit, at least four digits; "" is the newest
}

// BlameLine is one line of an item, and the recorded version that introduced it.
type BlameLine struct {
	Line    int    `json:"line"` // from 1
	Text    string `json:"text"`
	Commit  string `json:"commit"`
	When    string `json:"when"`
	Author  string `json:"author"` // as the commit says
	Subject string `json:"subject"`

	Version string `json:"version,omitempty"` // version of the item in that commit; "" where its file had another name

	// The signer of the line: the first whose signature, in that version or a later one, holds
	// now.
	Signer   string `json:"signer,omitempty"`    // fingerprint
	SignedIn string `json:"signed_in,omitempty"` // the commit with that signature
	State    State  `json:"state,omitempty"`     // of the signature as judged now; "" where there is none

	RecordedBy string `json:"recorded_by,omitempty"` // fingerprint of the key that signed the commit; "" for an unsigned commit
}

// DiffRequest names the two sides of a comparison.
type DiffRequest struct {
	Targets []Target // empty is every item that differs from its record
	From    string   // a commit of the record, at least four digits, for one target; "" is the last recorded version
	To      string   // a commit; "" is the working file
	Space   string   // "project" or "user"; "" is project
}

// ItemDiff is the change of an item since it was last recorded, or between two versions.
// Lines are hunks in the unified format, without the names of files.
type ItemDiff struct {
	Ref      string   `json:"ref"`
	Path     string   `json:"path"`
	From     string   `json:"from,omitempty"` // commit, as it was asked for
	To       string   `json:"to,omitempty"`
	Recorded bool     `json:"recorded"` // there was a recorded version, so this is a change
	Deleted  bool     `json:"deleted,omitempty"`
	Lines    []string `json:"lines"`
}
