package rye

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// InitRequest makes or completes a project.
type InitRequest struct {
	Dir       string // "" is the current directory
	Namespace string // "" is "local"
	Project   string // the id of the project whose rye.yaml was lost; "" makes a new id
}

// InitReport lists what Init made and found.
type InitReport struct {
	Dir       string   `json:"dir"`
	Project   string   `json:"project"`
	Namespace string   `json:"namespace"`
	Key       string   `json:"key"`
	NewKey    bool     `json:"new_key"`          // Init made the key
	Record    string   `json:"record,omitempty"` // the git repository with the history of its items; "" when there is none
	Created   []string `json:"created"`
	Completed []string `json:"completed,omitempty"` // files of git that Init found and completed
	Legacy    []string `json:"legacy,omitempty"`    // refs of items with RYE OS's signature
	// Next is rye trust when the directory asks for something that Init does not grant.
	Next fault.Hint `json:"next,omitzero"`
}

// NewRequest scaffolds an item.
type NewRequest struct {
	Kind, ID    string
	Space       string // "project" or "user"; "" is project
	Lang        string // tools: python (default), python-script, bash, sh, node, typescript, yaml, http, native, runtime
	Description string
}

// NewReport is the file that New wrote.
type NewReport struct {
	Ref  string     `json:"ref"`
	Path string     `json:"path"`
	Next fault.Hint `json:"next"` // the command for the new file
}

// AddRequest takes items into the project. A path below .ai is recorded in place. Any other
// path is copied in under As and Kind. From a git repository every item below its .ai is
// added. Either Path or URL is set.
type AddRequest struct {
	Path   string // a file, a folder or an archive
	Text   []byte // the content of a file that is not on disk, with Path as its name; nil reads Path
	URL    string // a source instead of Path, as objects.ParseSource reads it
	Kind   string // for a file from outside .ai; "" derives it from the extension
	As     string // the id for one thing from outside .ai, or the namespace for many; "" derives it from the project's namespace and the name
	Entry  string // for a folder of programs: the file to execute, below the folder; "" is the one called main
	Space  string // "project" or "user", for a path; "" is project
	DryRun bool
	Force  bool // replace existing files, which the history keeps

	// Skills are the names of the skills and plugins to take from a folder, an archive or a
	// repository; empty is all. A name that nothing has is NotFound.
	Skills []string

	Folder       string   // slash path in an archive at Path: only this folder
	List         bool     // only list what the source offers; a site is asked for its index alone, and the plugins of a marketplace not at all
	AcceptSource []string // addresses that a lock file or a marketplace names and that may be contacted, also inside the network

	// For a URL.
	NoVendor             bool   // git keeps only the signed manifests; rye pull fetches the files
	AcceptUpstreamSigner bool   // another key than before signed the commit or the tag there
	SHA256               string // the digest of an archive by https, in hexadecimal digits; "" shows it in the question, and --yes is not enough

	Unpinned objects.Digest `json:"-"` // rye's own: the digest of an archive that SHA256 does not name
}

// AddReport describes one item that was added, removed or restored.
type AddReport struct {
	Ref      string            `json:"ref"`
	Path     string            `json:"path"`
	SHA256   string            `json:"sha256"`
	State    State             `json:"state"`
	Commit   string            `json:"commit,omitempty"`
	Next     fault.Hint        `json:"next,omitzero"`
	Problems []objects.Problem `json:"problems,omitempty"`
	Signer   string            `json:"signer,omitempty"` // as the item's own line names it
	Line     *Replaced         `json:"line,omitempty"`   // its line of RYE OS, which signs nothing here
	What     string            `json:"what,omitempty"`   // the form before the import: "Agent Skill"
	Lost     []string          `json:"lost,omitempty"`   // the parts that the import dropped
	Programs []BundleProgram   `json:"programs,omitempty"`
	Why      string            `json:"why,omitempty"`  // why Path was skipped; Ref is then ""
	Code     fault.Code        `json:"code,omitempty"` // of something skipped that should have come in; the first of them is the error of the whole

	// Of something that was imported:
	Name   string   `json:"name,omitempty"`   // as its author calls it, which is a name for AddRequest.Skills
	About  string   `json:"about,omitempty"`  // its author's description
	Plugin string   `json:"plugin,omitempty"` // the plugin that it belongs to
	From   string   `json:"from,omitempty"`   // its path in the source
	Holds  []string `json:"holds,omitempty"`  // the refs of the items in a bundle

	// Of content that is not what an index of skills or a lock file promised:
	Rule     string `json:"rule,omitempty"`     // the name of the hash there: "computedHash"
	Expected string `json:"expected,omitempty"` // the promised hash
	Found    string `json:"found,omitempty"`    // that of the content

	UsedBy []ItemUse `json:"used_by,omitempty"` // of something removed: the signed items that depend on it
}

// ItemUse says that a signed item depends on another.
type ItemUse struct {
	Ref    string `json:"ref"`
	How    string `json:"how"` // runs through, requires, extends, uses, may load
	On     string `json:"on"`  // the item or bundle that it depends on
	Space  string `json:"space"`
	Breaks bool   `json:"breaks,omitempty"` // it is of the project, and nothing else here has that name
}

// String returns the use as a sentence.
func (u ItemUse) String() string { return u.Ref + " " + u.How + " " + u.On }

// RemoveRequest takes working items, bundles or dependencies out of the project. A target may be a
// pattern. More than one item needs a yes, and so does one without which a signed item breaks.
type RemoveRequest struct {
	Targets []Target
	Space   string // "project" or "user"; "" is project
	DryRun  bool
}

// RestoreRequest brings back recorded versions. A target may be a pattern: it matches items that
// are gone. More than one item needs a yes.
type RestoreRequest struct {
	Targets []Target
	All     bool   // every item that the record has and whose file is gone
	Space   string // "project" or "user"; "" is project
	At      string // a commit of the record, at least four digits; "" is the newest version
	DryRun  bool
}

// SignRequest signs working items and records them in one commit.
type SignRequest struct {
	Targets []Target // "*" is all
	All     bool     // the same as the target "*"
	Check   bool     // sign nothing; fail when something would be signed
	Upgrade bool     // also items with RYE OS's line
	DryRun  bool
	Space   string // "project" or "user"; "" is project

	// Content is the whole text of the only target. It is written below .ai once everything is
	// agreed to, and a signature line in it is ignored. Ext is the extension of its file, such
	// as .sh, when neither the replaced file nor the text shows it. "" signs the file on disk.
	Content string
	Ext     string
}

// SignReport is the outcome of Sign. Sign returns it beside an error when items failed.
type SignReport struct {
	Results []SignResult `json:"results"`
	Signed  int          `json:"signed"`
	Failed  int          `json:"failed"`
	Commit  string       `json:"commit,omitempty"` // holds the items that were signed, now or before
	// PassedOver lists files that cannot be items, because of their names or because they are
	// links. It is set when every item was to be signed.
	PassedOver []string `json:"passed_over,omitempty"`

	// Lock lists the entries of rye.lock that were renewed with the signatures: items of the user
	// whose entries fitted the versions before. After a dry run it lists those that would be.
	Lock []string `json:"lock,omitempty"`

	// Staged lists files that are staged in git without their signatures: the next commit would
	// leave them out.
	Staged []string `json:"staged,omitempty"`

	// Before has the digests of the versions by the user that the signatures replace; nil
	// without a lock.
	Before map[Ref]objects.Digest `json:"-"`
}

// SignResult is one item's outcome. Error is set when it failed. An item with the status
// "passed over" carries another key's signature, and a request signs it only as its one target;
// or someone else can have written its text, and no person agreed to it ("would-ask" in a dry run).
type SignResult struct {
	Ref      string                 `json:"ref"`
	Status   string                 `json:"status"`              // signed, unchanged, would-sign, would-ask, passed over, failed; older or returned: left as it is
	SignedBy string                 `json:"signed_by,omitempty"` // the other key whose signature it carries, or carried
	Path     string                 `json:"path"`
	SHA256   string                 `json:"sha256,omitempty"`
	Digest   string                 `json:"digest,omitempty"` // SHA256 without the signature line: the signed digest, which a question shows
	Key      string                 `json:"key,omitempty"`
	SignedAt string                 `json:"signed_at,omitempty"`
	Error    string                 `json:"error,omitempty"`
	Code     fault.Code             `json:"code,omitempty"`
	Hint     fault.Hint             `json:"hint,omitzero"`
	Issues   []string               `json:"issues,omitempty"`
	Mistakes []Mistake              `json:"mistakes,omitempty"` // errors to fix in the file
	Paste    string                 `json:"paste,omitempty"`    // metadata to start with, when the file has none
	Replaces *Replaced              `json:"replaces,omitempty"` // the line of RYE OS that was replaced
	Members  []objects.MemberChange `json:"members,omitempty"`  // for a bundle: the files that differ from the last signature
	Programs []BundleProgram        `json:"programs,omitempty"` // for a bundle: its programs that are new or changed since the last signature
	Needs    string                 `json:"needs,omitempty"`    // the needs that signing wrote into the file, which stated none
	Part     bool                   `json:"part,omitempty"`     // a file that only other tools load
	Patched  bool                   `json:"patched,omitempty"`  // others own its namespace, so the signature is a patch
	Why      string                 `json:"why,omitempty"`      // why it was passed over, if not because of its signer
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

// Replaced describes a signature of RYE OS, which rye sign --upgrade replaces by one over
// every byte.
type Replaced struct {
	Key       string   `json:"key,omitempty"`       // 16 hexadecimal digits, or 64 from RyeOS 0.5; "" when the line was no signature
	SignedAt  string   `json:"signed_at,omitempty"` // a claim: that signature does not cover it
	Covers    string   `json:"covers"`
	Held      bool     `json:"held"`                // valid, by a key that is known here
	Standing  string   `json:"standing"`            // holds, unchecked, changed, forged, denied, unsigned or unread
	Why       string   `json:"why,omitempty"`       // why it is not known to be valid
	Uncovered []string `json:"uncovered,omitempty"` // numbered lines of the file outside that signature
}

// Unchecked reports whether nobody here has the key, so that only the digest was compared.
func (r *Replaced) Unchecked() bool { return r.Standing == "unchecked" }

// MoveRequest gives an item or a bundle of the project another id.
type MoveRequest struct {
	From   Target
	To     string // an id, a ref of the same kind, or a published name
	Space  string // "project" or "user"; "" is project
	DryRun bool
}

// MoveNamespaceRequest gives all items and bundles of one namespace another. It needs a yes.
type MoveNamespaceRequest struct {
	From, To string
	Space    string // "project" or "user"; "" is project
	DryRun   bool
}

// MoveNamespaceReport says what went where.
type MoveNamespaceReport struct {
	From     string       `json:"from"`
	To       string       `json:"to"`
	Moves    []MoveReport `json:"moves"`
	Declared bool         `json:"declared,omitempty"` // rye.yaml names the new namespace now
	Lock     []string     `json:"lock,omitempty"`     // entries of rye.lock with the new names
	Mentions []string     `json:"mentions,omitempty"` // files whose text names the old namespace still
	Commit   string       `json:"commit,omitempty"`
	DryRun   bool         `json:"dry_run,omitempty"`
}

// MoveReport says where an item's file went, or a bundle's directory, with the next command.
type MoveReport struct {
	From     string            `json:"from"`
	Ref      string            `json:"ref"`
	Path     string            `json:"path"`
	Problems []objects.Problem `json:"problems,omitempty"` // errors that the new name causes in the text
	Signed   bool              `json:"signed"`             // again, under the new id, because the user's signature covered it
	Patched  bool              `json:"patched,omitempty"`  // others own the new namespace
	Why      string            `json:"why,omitempty"`      // why it is not signed again
	Others   bool              `json:"-"`                  // someone else signed it
	Lock     []string          `json:"lock,omitempty"`     // entries of rye.lock with the new names
	Commit   string            `json:"commit,omitempty"`
	Next     fault.Hint        `json:"next,omitzero"`
	DryRun   bool              `json:"dry_run,omitempty"`
}

// CopyRequest copies a verified item into a space, as it is or under another id.
type CopyRequest struct {
	Ref    Ref
	To     string // project or user
	As     string // the new id; "" keeps the id, and so the signature
	DryRun bool
}

// CopyReport describes the copy and its state in the new space.
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
	Replaces  bool       `json:"replaces,omitempty"` // another item with this ref
	Unsigned  string     `json:"unsigned,omitempty"` // the signer whose line is left out: it signs the id before
}

// SkillExport asks for the files of a skill in a new folder.
type SkillExport struct {
	Ref Ref
	Dir string // a path of the operating system; "" is refused
}

// SkillExported lists the written files.
type SkillExported struct {
	Ref   string   `json:"ref"`
	Dir   string   `json:"dir"`
	Files []string `json:"files"` // below Dir, sorted
}

// PlainExport asks for the project's verified items without their signature lines.
type PlainExport struct {
	Dir string // a folder that does not exist yet or is empty
}

// PlainExported lists the written files, and the items that did not verify.
type PlainExported struct {
	Dir     string         `json:"dir"`
	Files   []string       `json:"files"` // below Dir, sorted
	Refused []PlainRefused `json:"refused,omitempty"`
}

// PlainRefused is an item that was not written, and the reason.
type PlainRefused struct {
	Path  string     `json:"path"` // below .ai
	Code  fault.Code `json:"code"`
	Error string     `json:"error"`
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
	Needs    string       `json:"needs,omitempty"` // of its programs; "" where the manifest has none, which gives none

	Programs []BundleProgram `json:"programs,omitempty"` // its files that can run

	Commit string `json:"commit,omitempty"`

	Origin *BundleOrigin     `json:"origin,omitempty"` // where its content came from, as the signer says
	Deps   map[string]string `json:"deps,omitempty"`   // published item to range

	Code    fault.Code `json:"code,omitempty"` // why it may not be used
	Error   string     `json:"error,omitempty"`
	Hint    fault.Hint `json:"hint,omitzero"`
	Changed []string   `json:"changed,omitempty"` // files that differ from the manifest
	Missing []string   `json:"missing,omitempty"` // files of the manifest that are not there
	Extra   []string   `json:"extra,omitempty"`   // files that are not in the manifest
}

// BundleOrigin is where the content of a bundle came from.
type BundleOrigin struct {
	Source     string `json:"source"`
	Ref        string `json:"ref,omitempty"`
	Commit     string `json:"commit,omitempty"`
	Path       string `json:"path,omitempty"`
	Root       string `json:"root,omitempty"`   // the folder that was added
	Entry      string `json:"entry,omitempty"`  // the main file that was named
	Listed     string `json:"listed,omitempty"` // what the marketplace says about the plugin, a JSON object
	Tree       string `json:"tree"`             // git tree id of the content as it came
	TreeSHA256 string `json:"tree_sha256"`      // the same, as OpenAPM defines it
}

// BundleFile is an entry of a manifest.
type BundleFile struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"` // bytes
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
	Signed     bool   `json:"signed"` // the file also has its own signature line
}
