package rye

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// InitRequest makes or completes a project.
type InitRequest struct {
	Dir       string // "" is the current directory
	Namespace string // "" is "local"
	Project   string // the id that a project here had before its rye.yaml was lost; "" makes another
}

// InitReport says what Init made and what it found.
type InitReport struct {
	Dir       string   `json:"dir"`
	Project   string   `json:"project"`
	Namespace string   `json:"namespace"`
	Key       string   `json:"key"`
	NewKey    bool     `json:"new_key"`          // Init made it
	Record    string   `json:"record,omitempty"` // the git repository that remembers its items; "" when there is none
	Created   []string `json:"created"`
	Completed []string `json:"completed,omitempty"` // files from elsewhere that got what they lacked
	Legacy    []string `json:"legacy,omitempty"`    // refs of items with RYE OS's signature
	// Next is rye trust where what lies there asks for something that Init does not grant.
	Next fault.Hint `json:"next,omitzero"`
}

// NewRequest scaffolds an item.
type NewRequest struct {
	Kind, ID    string
	Space       string // "project" or "user"; "" is project
	Lang        string // tools: python (default), python-script, bash, sh, node, yaml, runtime
	Description string
}

// NewReport is the file that New wrote.
type NewReport struct {
	Ref  string     `json:"ref"`
	Path string     `json:"path"`
	Next fault.Hint `json:"next"` // what to do with it
}

// AddRequest takes items into the project: a path below .ai is recorded where it
// is, another is copied in under As and Kind, and of a git repository every item
// below its .ai comes in. Either Path or URL is set.
type AddRequest struct {
	Path   string // a file, a folder or an archive
	Text   []byte // of a file that lies nowhere yet, and for which Path is a name; nil reads Path
	URL    string // instead of Path: of a git repository, and #<branch or tag>; without it what HEAD names there
	Kind   string // of a file from elsewhere; "" where its extension tells
	As     string // id of one thing from elsewhere, or a namespace for many; "" derives it from the project's namespace and the name
	Entry  string // of a folder of programs: the file that is executed, below the folder; "" is the one called main
	Space  string // "project" or "user", for a path; "" is project
	DryRun bool
	Force  bool // replace what is there, which the history keeps
}

// AddReport says what was added, removed or restored.
type AddReport struct {
	Ref      string            `json:"ref"`
	Path     string            `json:"path"`
	SHA256   string            `json:"sha256"`
	State    State             `json:"state"`
	Commit   string            `json:"commit,omitempty"`
	Next     fault.Hint        `json:"next,omitzero"`
	Problems []objects.Problem `json:"problems,omitempty"`
	Signer   string            `json:"signer,omitempty"` // that its own line names
	What     string            `json:"what,omitempty"`   // it was, before it came: "Agent Skill"
	Lost     []string          `json:"lost,omitempty"`   // of it, on the way
	Why      string            `json:"why,omitempty"`    // Path was passed over; then there is no Ref
}

// RemoveRequest takes a working item, a bundle or a dependency out of the project.
type RemoveRequest struct {
	Target Target
	Space  string // "project" or "user"; "" is project
	DryRun bool
}

// RestoreRequest brings back a recorded version.
type RestoreRequest struct {
	Target Target
	Space  string // "project" or "user"; "" is project
	At     string // a commit of the record, at least four digits; "" is the newest version
	DryRun bool
}

// SignRequest signs working items, recorded in one commit.
type SignRequest struct {
	Targets []Target // "*" is all
	All     bool     // the same as the target "*"
	Check   bool     // sign nothing; fail when something would be signed
	Upgrade bool     // also items with RYE OS's line
	DryRun  bool
	Space   string // "project" or "user"; "" is project

	// Content is the whole text of the one target, which is written below .ai when all is
	// agreed to; a signature line in it counts for nothing. Ext is the extension of its file,
	// such as .sh, where neither the file that it replaces nor its text tells. "" signs what
	// is there.
	Content string
	Ext     string
}

// SignReport is the outcome of Sign. It is returned beside an error when items failed.
type SignReport struct {
	Results []SignResult `json:"results"`
	Signed  int          `json:"signed"`
	Failed  int          `json:"failed"`
	Commit  string       `json:"commit,omitempty"` // that holds what was signed, or was signed already
	// PassedOver are files that cannot be items, because of their name or because they are
	// links. They are listed when every item was to be signed.
	PassedOver []string `json:"passed_over,omitempty"`
}

// SignResult is one item's outcome. Error is set when it failed. An item with the status
// "passed over" carries a signature that is not the user's, and is signed when it is the
// one target of a request.
type SignResult struct {
	Ref      string                 `json:"ref"`
	Status   string                 `json:"status"`              // signed, unchanged, would-sign, passed over, failed; older or returned: left as it is
	SignedBy string                 `json:"signed_by,omitempty"` // the other key whose signature it carries, or carried
	Path     string                 `json:"path"`
	SHA256   string                 `json:"sha256,omitempty"`
	Digest   string                 `json:"digest,omitempty"` // SHA256 without the signature line: what is signed, and a question shows
	Key      string                 `json:"key,omitempty"`
	SignedAt string                 `json:"signed_at,omitempty"`
	Error    string                 `json:"error,omitempty"`
	Code     fault.Code             `json:"code,omitempty"`
	Hint     fault.Hint             `json:"hint,omitzero"`
	Issues   []string               `json:"issues,omitempty"`
	Mistakes []Mistake              `json:"mistakes,omitempty"` // what has to be mended in the file
	Paste    string                 `json:"paste,omitempty"`    // metadata to begin with, when the file has none
	Replaces *Replaced              `json:"replaces,omitempty"` // RYE OS's line that went
	Members  []objects.MemberChange `json:"members,omitempty"`  // of a bundle: the files that are not as they were signed before
	Why      string                 `json:"why,omitempty"`      // it was passed over, where its signer is not the reason
}

// Mistake is one thing wrong with a file, for the person who wrote it.
type Mistake struct {
	Path   string `json:"path"`             // below the project
	Line   int    `json:"line,omitempty"`   // from 1; 0 when it is about the whole file
	Column int    `json:"column,omitempty"` // from 1; 0 when it is about the whole line
	Field  string `json:"field,omitempty"`
	Rule   string `json:"rule"`
	Mend   string `json:"mend,omitempty"` // what to write instead
	Text   string `json:"text,omitempty"` // the line itself
}

// Replaced tells what a signature of RYE OS was worth that was replaced by one that covers
// every byte.
type Replaced struct {
	Key       string   `json:"key,omitempty"`       // 16 hexadecimal digits; "" when the line was no signature
	SignedAt  string   `json:"signed_at,omitempty"` // a claim: that signature does not cover it
	Covers    string   `json:"covers"`
	Held      bool     `json:"held"`                // genuine, by a key that is known here
	Why       string   `json:"why,omitempty"`       // why it did not hold
	Uncovered []string `json:"uncovered,omitempty"` // lines of the file that it did not cover, numbered
}

// MoveRequest gives an item of the project another id.
type MoveRequest struct {
	From   Target
	To     string // an id, or a ref of the same kind
	Space  string // "project" or "user"; "" is project
	DryRun bool
}

// MoveReport says where an item's file went, and what is left to do.
type MoveReport struct {
	From     string            `json:"from"`
	Ref      string            `json:"ref"`
	Path     string            `json:"path"`
	Problems []objects.Problem `json:"problems,omitempty"` // what its new name makes wrong in its text
	Commit   string            `json:"commit,omitempty"`
	Next     fault.Hint        `json:"next"`
	DryRun   bool              `json:"dry_run,omitempty"`
}

// CopyRequest copies a verified item into a space, as it is or under another id.
type CopyRequest struct {
	Ref    Ref
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
	Replaces  bool       `json:"replaces,omitempty"` // another item of this ref
}

// SkillExport asks for the files of a skill in a folder that does not exist yet.
type SkillExport struct {
	Ref Ref
	Dir string // of the host; "" is refused
}

// SkillExported says what was written.
type SkillExported struct {
	Ref   string   `json:"ref"`
	Dir   string   `json:"dir"`
	Files []string `json:"files"` // below Dir, sorted
}

// BundleVerifyRequest names a bundle: its id, its directory or its manifest, which may
// lie outside .ai.
type BundleVerifyRequest struct {
	Target Target
}

// BundleInfo describes a bundle.
type BundleInfo struct {
	ID       string       `json:"id"`
	Version  string       `json:"version"`
	Space    string       `json:"space,omitempty"` // "" for a directory outside every space
	Path     string       `json:"path"`            // of the manifest
	State    State        `json:"state"`
	Recorded bool         `json:"recorded"`
	SHA256   string       `json:"sha256,omitempty"` // of the manifest
	Signer   string       `json:"signer,omitempty"`
	SignedAt string       `json:"signed_at,omitempty"`
	Bytes    int64        `json:"bytes"` // of the files together
	Files    []BundleFile `json:"files"`
	Commit   string       `json:"commit,omitempty"`

	Code    fault.Code `json:"code,omitempty"` // why it may not be used
	Error   string     `json:"error,omitempty"`
	Hint    fault.Hint `json:"hint,omitzero"`
	Changed []string   `json:"changed,omitempty"` // files that differ from the manifest
	Missing []string   `json:"missing,omitempty"` // files of the manifest that are not there
	Extra   []string   `json:"extra,omitempty"`   // files that are not in the manifest
}

// BundleFile is an entry of a manifest.
type BundleFile struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"` // bytes
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
	Signed     bool   `json:"signed"` // it also carries a signature line of its own
}
