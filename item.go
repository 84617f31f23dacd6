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

	// Warning says in one line what the registry says against this version of a dependency,
	// and what to take instead, or what a bundle's directory holds beside its manifest; ""
	// for nothing.
	Warning string `json:"warning,omitempty"`

	// Fields are further ones that an extractor of the project or the user asks for.
	Fields map[string]string `json:"fields,omitempty"`

	// Set by Show and Load, and Params by a search that asks for it.
	Executor string      `json:"executor_id,omitempty"`
	Needs    string      `json:"needs,omitempty"`  // what a tool declares that it reaches: "read .; write nothing; net api.example.com"
	Limits   string      `json:"limits,omitempty"` // what one run may use up, as the item states: "memory 512MiB, time 30s"
	Params   []ParamInfo `json:"parameters,omitempty"`

	Origin string   `json:"origin,omitempty"`  // of a dependency: its registry, and the name there
	Range  string   `json:"range,omitempty"`   // that rye.yaml asks for
	UsedBy []string `json:"used_by,omitempty"` // tools that the lock runs through it

	Published []string `json:"published,omitempty"` // other versions of a dependency, as far as they are known here, the newest first

	// The same, of a directive.
	Outputs     []ParamInfo `json:"outputs,omitempty"`     // what it is to return
	Model       string      `json:"model,omitempty"`       // that it asks for: "fallback general, tier fast"
	Permissions []string    `json:"permissions,omitempty"` // capabilities of a thread that follows it
	Hooks       []string    `json:"hooks,omitempty"`       // "slow: at limit, ask"
}

// Survey is how many items of a project are in each state, and which of them are more than
// signed, recorded and alone at their name.
type Survey struct {
	Count map[State]int // of all items; without the states that no item is in
	Items []ItemInfo    // sorted by ref

	// Outdated and Warned count the dependencies of which a newer good version is known, and
	// those that are deprecated or yanked, as registries were last seen to say.
	Outdated, Warned int

	Ignored   []string // lines against keys that have no effect here, and why
	OldRecord string   // the directory of a record as rye 0.1 kept it, which is ignored; "" for none
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

// WordlessError is why a search for words was refused by a program that has no index for it.
type WordlessError struct{}

func (WordlessError) Error() string { return "this program searches no words" }

// SearchRequest is a query over all that items say. Only what the caller may search is found.
type SearchRequest struct {
	Query string // words, as docs/format/search.md has them; "" finds every item
	Kind  string // "" is every kind of items; KindThread the transcripts of threads, and nothing else
	Space string // "" or "all" is every space; SpaceRegistry what registries offer, and nothing else
	Scope string // capability form: tool.acme.*

	Registry string // of SpaceRegistry: what this project calls it; "" is all
	Limit    int    // the most results of a page; 0 is 10
	Offset   int    // of the first result; 0 is the best
	Explain  bool   // tell how each word was understood

	// Params asks what the first MaxSearchParams results of a page take: each is read for it.
	Params bool
}

// MaxSearchParams bounds how many results of a search say which parameters they take.
const MaxSearchParams = 50

// Hit is one found item. Score is above 0 and at most 1; the best comes first.
type Hit struct {
	ItemInfo
	Score  float64  `json:"score"`
	Match  []string `json:"match,omitempty"`  // fields that matched
	Lines  []Line   `json:"lines,omitempty"`  // of the text, that say most of the words
	Guess  bool     `json:"guess,omitempty"`  // found by words that are near those of the query
	Partly bool     `json:"partly,omitempty"` // only the beginning of its text is searched
	Why    *HitWhy  `json:"why,omitempty"`    // what the score is made of, where that was asked for

	Offer *Offer `json:"offer,omitempty"` // of what a registry offers
}

// HitWhy is what a score is made of: the words' amounts, times Share, and Whole; times Behind and
// each of 1 + Fit, 1 + Pairs and 1 + Aim; divided by Most.
type HitWhy struct {
	Words  []WordWhy `json:"words"`
	Share  float64   `json:"share"`           // of the query's words that the item has, weighed
	Whole  float64   `json:"whole,omitempty"` // for a name, a title or an id that is the whole query
	Behind float64   `json:"behind"`          // below 1 for what is there to run others
	Fit    float64   `json:"fit,omitempty"`   // because all words of its title are meant
	Pairs  float64   `json:"pairs,omitempty"` // because words stand together in both
	Aim    float64   `json:"aim,omitempty"`   // because of its kind
	Most   float64   `json:"most"`
}

// WordWhy is what one word of the query adds.
type WordWhy struct {
	Word   string  `json:"word"`
	Form   string  `json:"form"` // by which it was found
	Kind   string  `json:"kind"`
	Amount float64 `json:"amount"`
}

// Line is a line of an item's file.
type Line struct {
	Number int    `json:"line"` // from 1
	Text   string `json:"text"` // cut where it is long
}

// SearchResult is the page asked for, and how many there are in all.
type SearchResult struct {
	Results []Hit     `json:"results"`
	Turns   []TurnHit `json:"turns,omitempty"` // instead, of a search among transcripts
	Total   int       `json:"total"`
	AtLeast bool      `json:"at_least,omitempty"` // there may be more: a bound was met
	Query   string    `json:"query"`
	Limit   int       `json:"limit"`
	Offset  int       `json:"offset"`

	Nearest []string     `json:"nearest,omitempty"` // words that were taken for those that occur nowhere
	Words   []SearchWord `json:"words,omitempty"`   // how each was understood, where that was asked for
	Notes   []string     `json:"notes,omitempty"`   // what a person should know of the index
	Hint    fault.Hint   `json:"hint,omitzero"`     // when nothing was found: what to do instead
}

// SearchWord is a word of a query with all that counts as it.
type SearchWord struct {
	Word   string       `json:"word"`
	Items  int          `json:"items"`  // that have one of the forms
	Rarity float64      `json:"rarity"` // what it counts for: the more, the fewer items have it
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
	Ref   Ref    // the zero Ref is the whole project
	Limit int    // at most this many, the newest; 0 is 50
	Patch bool   // tell what changed in each file, line by line; of one item, in its own file
	Space string // "project" or "user"; "" is project
}

// LogEntry is one commit that changed an item or a space, or one operation of a registry's
// log.
type LogEntry struct {
	Commit  string `json:"commit"`
	When    string `json:"when"`
	Author  string `json:"author"`
	Subject string `json:"subject"`

	// Of the log of a registry.
	Seq     uint64 `json:"seq,omitempty"`     // position
	Skipped string `json:"skipped,omitempty"` // why the operation has no effect
	Dropped uint64 `json:"dropped,omitempty"` // the operation that dropped what this one wrote, with its key
	Voided  uint64 `json:"voided,omitempty"`  // the operation that voided it

	Changes []FileChange `json:"changes,omitempty"` // where that was asked for
}

// FileChange is what one commit changed in one file. Lines are hunks in the unified format,
// without the names of files.
type FileChange struct {
	From  string   `json:"from,omitempty"` // its path below the project before; "" where it is new
	To    string   `json:"to,omitempty"`   // after; "" where it was removed, another where it was renamed
	Lines []string `json:"lines"`
}

// BlameRequest asks who signed each line of an item.
type BlameRequest struct {
	Ref Ref
	At  string // the version recorded at a commit, at least four digits; "" is the newest
}

// BlameLine is one line of an item, and the recorded version that it came with.
type BlameLine struct {
	Line    int    `json:"line"` // from 1
	Text    string `json:"text"`
	Commit  string `json:"commit"`
	When    string `json:"when"`
	Author  string `json:"author"` // as the commit says
	Subject string `json:"subject"`

	Version string `json:"version,omitempty"` // of the item in that commit; "" where its file had another name then

	// Who answers for the line: the first whose signature, of that version or of a later one,
	// holds now.
	Signer   string `json:"signer,omitempty"`    // fingerprint
	SignedIn string `json:"signed_in,omitempty"` // the commit with that signature
	State    State  `json:"state,omitempty"`     // of the signature as it is judged now; "" where there is none

	RecordedBy string `json:"recorded_by,omitempty"` // fingerprint of the key that signed the commit; "" where none did
}

// DiffRequest says what to compare with what.
type DiffRequest struct {
	Targets []Target // none is all that differ from what was recorded
	From    string   // a commit of the record, at least four digits, for one target; "" is what was recorded last
	To      string   // a commit; "" is the working file
	Space   string   // "project" or "user"; "" is project
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
