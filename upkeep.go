package rye

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// DoctorCheck is one finding of Doctor or Fsck.
type DoctorCheck struct {
	Name string     `json:"name"`
	OK   bool       `json:"ok"`
	Text string     `json:"text"`
	Mend fault.Hint `json:"mend,omitzero"` // the fix; may be set when OK is
}

// FsckRequest selects Fsck's actions besides its checks.
type FsckRequest struct {
	Repair bool // move refs back to undamaged commits, after asking
	DryRun bool // with Repair: say what would be done, and do nothing
}

// FsckReport lists the repairs and checks of Fsck.
type FsckReport struct {
	Repairs []RefRepair   // with Repair: done, or with DryRun to be done
	Checks  []DoctorCheck // after the repairs; none with DryRun
}

// RefRepair is the repair of a ref that leads to something missing or damaged, or of a log
// that names such positions.
type RefRepair struct {
	Place  string     `json:"place"`          // "project space", "user space"
	Ref    string     `json:"ref"`            // its name, or "HEAD", where only the log is repaired
	From   string     `json:"from,omitempty"` // its present commit; "" when that cannot be read
	To     string     `json:"to,omitempty"`   // the newest undamaged commit in its log; "" when only the log is repaired
	Why    string     `json:"why"`            // the missing or damaged part
	Lost   []LostMove `json:"lost,omitempty"` // the entries removed from its log, oldest first
	DryRun bool       `json:"dry_run"`        // nothing was done
}

// LostMove is an earlier position of a ref that is damaged now.
type LostMove struct {
	Commit string `json:"commit"`
	At     string `json:"at"`  // when the ref moved there
	Why    string `json:"why"` // the reason in the log: "commit: sign tool:acme/hello"
}

// GCRequest says how to collect garbage.
type GCRequest struct {
	DryRun bool // say what would be done, and do nothing
	Gone   bool // remove the records of directories that are gone, after asking
}

// GCReport is the work of GC in one place; with DryRun, the planned work.
type GCReport struct {
	Place   string `json:"place"`   // "project space", "user space", "registry caches", "runs", "temporary files", "records"
	Dir     string `json:"dir"`     // where that is
	DryRun  bool   `json:"dry_run"` // nothing was done
	Loose   int    `json:"loose"`   // objects that were single files
	Packs   int    `json:"packs"`   // packs that were merged
	Objects int    `json:"objects"` // in the new pack; 0 when there was nothing to do
	Before  int64  `json:"bytes_before"`
	After   int64  `json:"bytes_after"` // 0 with DryRun
	Left    int    `json:"left"`        // loose objects without a ref, left as they are
	Moves   int    `json:"moves"`       // moves of refs older than 90 days, dropped from their logs
	Removed int    `json:"removed"`     // leftovers of dead processes
	Text    string `json:"text"`        // the same for people

	Gone []RecordInfo `json:"gone,omitempty"` // records whose directories are gone; Removed says how many were removed
}

// WhereRequest asks for the paths that rye uses.
type WhereRequest struct {
	All    bool   // every record of this user, not only this project's
	Move   string // take over a record for this directory, by the record's key or its former path
	DryRun bool   // with Move: say what would be done, and do nothing

	// AcceptDirectory, with Move, takes over a record without evidence that it was made for
	// this directory.
	AcceptDirectory bool
}

// WhereReport lists the paths that rye uses. A path is absolute, and may not exist yet; ""
// means none.
type WhereReport struct {
	Project    string       `json:"project,omitempty"` // the directory that holds .ai/rye.yaml
	Record     string       `json:"record,omitempty"`  // the git repository with the history of its items
	Key        string       `json:"key,omitempty"`     // of the project's place; grants name it
	User       string       `json:"user,omitempty"`    // the base of the user space
	UserRecord string       `json:"user_record,omitempty"`
	Config     string       `json:"config,omitempty"`     // keys, trust.yaml, policy.yaml
	Data       string       `json:"data,omitempty"`       // records
	State      string       `json:"state,omitempty"`      // the registries' remembered states
	Cache      string       `json:"cache,omitempty"`      // may be deleted at any time
	NoRecord   string       `json:"no_record,omitempty"`  // why there are no records
	Hint       fault.Hint   `json:"hint,omitzero"`        // the next command, for NoRecord or for another finding
	Replaced   bool         `json:"replaced,omitempty"`   // the record was made for another directory
	Old        string       `json:"old_record,omitempty"` // below .ai, from before the first release; ignored
	Records    []RecordInfo `json:"records,omitempty"`    // siblings: of the same project elsewhere; with All every one
	Moved      *RecordInfo  `json:"moved,omitempty"`      // the record that Move took over, or would
	Offer      *RecordInfo  `json:"offer,omitempty"`      // a record that this directory seems to have had elsewhere
	DryRun     bool         `json:"dry_run,omitempty"`
}

// RecordInfo is one record in the user's data directory.
type RecordInfo struct {
	Key     string `json:"key"`
	Path    string `json:"path,omitempty"`    // of the directory that it is about; "" when that is not known
	Project string `json:"project,omitempty"` // its id; "" for a user space
	Dir     string `json:"dir"`
	Gone    bool   `json:"gone"`    // there is no such directory now
	Foreign bool   `json:"foreign"` // made on another machine, or by another user
	Same    bool   `json:"same"`    // this same directory, by another path
	Made    string `json:"made,omitempty"`
	Used    string `json:"used,omitempty"` // the day when a command last wrote
	Bytes   int64  `json:"bytes"`
}

// UninstallRequest asks to remove what rye keeps outside of projects.
type UninstallRequest struct {
	Keys    bool // also the private keys, and secrets
	Records bool // also records, trust, policy and the verified states of registries
	DryRun  bool // say what would be done, and do nothing

	// Clients removes rye's entries from the user's own files of MCP clients, and only lists them
	// if dryRun is set. With a project it lists the entries in that project's files. nil has none.
	Clients func(ctx context.Context, project string, dryRun bool) []UninstallPart

	Programs []string // the files of rye's programs, for the report; a package manager may own them
}

// UninstallReport is what Uninstall did; with DryRun, what it would do.
type UninstallReport struct {
	Parts    []UninstallPart `json:"parts"`
	Programs []string        `json:"programs"` // stay; rye does not delete itself
	DryRun   bool            `json:"dry_run,omitempty"`
}

// Removes returns the number of parts that are removed.
func (r *UninstallReport) Removes() (n int) {
	for _, p := range r.Parts {
		if p.Status == PartRemoved {
			n++
		}
	}
	return n
}

// The states of a part.
const (
	PartRemoved = "removed"
	PartLeft    = "left"   // changed by somebody else, or out of reach
	PartKept    = "kept"   // not asked for
	PartFailed  = "failed" // Err says why
)

// UninstallPart is one thing that rye left on the machine.
type UninstallPart struct {
	What   string     `json:"what"` // client, merge driver, cache, keys, records, project, or file
	Name   string     `json:"name,omitempty"`
	Path   string     `json:"path"`
	Status string     `json:"status"`
	Text   string     `json:"text,omitempty"` // why it is left, kept or failed
	Hint   fault.Hint `json:"hint,omitzero"`  // how to remove it nevertheless
	Err    error      `json:"-"`
}

// Setting is one setting and its present value.
type Setting struct {
	Name   string     `json:"name"`
	Value  string     `json:"value"`  // "" for none
	Origin string     `json:"origin"` // a file, a variable, a space, or "default"
	Change fault.Hint `json:"change"` // how to set it
}

// SetRequest changes a setting of the project.
type SetRequest struct {
	Name  string // "namespace"
	Value string
}

// OutdatedReport compares the project's dependencies with their registries.
type OutdatedReport struct {
	Dependencies []Dependency `json:"dependencies"`
	Origins      []OriginInfo `json:"origins,omitempty"`
	Warnings     []string     `json:"warnings,omitempty"`
}

// OriginInfo is a bundle that came from another place than a registry, beside its source.
type OriginInfo struct {
	Name     string     `json:"name"`   // acme/bundle/pdf
	Source   string     `json:"source"` // an address
	Ref      string     `json:"ref,omitempty"`
	Path     string     `json:"path,omitempty"`
	Commit   string     `json:"commit,omitempty"`
	Now      string     `json:"now,omitempty"`     // the commit that the ref names there
	State    string     `json:"state"`             // ok, outdated, pinned, moved, rewritten, signer, removed, renamed, gone, unknown, not asked
	Renamed  string     `json:"renamed,omitempty"` // its path there now
	Reason   string     `json:"reason,omitempty"`
	Outdated bool       `json:"outdated,omitempty"` // rye update has something to decide
	Instead  fault.Hint `json:"instead,omitzero"`
	Known    string     `json:"known,omitempty"` // when the source was last asked, RFC 3339; "" for never
}

// OriginUpdateRequest brings the newest content of their sources into bundles.
type OriginUpdateRequest struct {
	Names  []string // of bundles; empty is every bundle with an origin
	DryRun bool
	Diff   bool // report upstream's whole change

	// What --yes does not agree to.
	AcceptTag            bool     // a tag that names another commit than before
	AcceptRewrite        bool     // a branch that lost the pinned commit
	AcceptUpstreamSigner bool     // a commit that another key signed than at first, or none
	AcceptNeeds          bool     // new programs, and tools with wider needs
	AcceptSource         []string // addresses that a manifest of a clone names
}

// OriginPullRequest fetches the files of bundles whose manifests are here alone.
type OriginPullRequest struct {
	DryRun       bool
	AcceptSource []string // addresses that a manifest of a clone names
}

// OriginUpdateReport lists what happened to each bundle.
type OriginUpdateReport struct {
	Updates []OriginUpdate `json:"updates"`
	Others  []string       `json:"-"` // names of the request that are no bundles with an origin
	DryRun  bool           `json:"dry_run"`
	Lock    []string       `json:"lock,omitempty"` // items whose pins in the lock were renewed

	// Before has the digests of the items by the user that the signatures replace.
	Before map[Ref]objects.Digest `json:"-"`
}

// OriginUpdate is the update of one bundle.
type OriginUpdate struct {
	Name      string     `json:"name"`
	State     string     `json:"state"` // updated, conflict, ok, pinned, unknown, gone, removed, failed; fetched
	Source    string     `json:"source"`
	Was       string     `json:"was,omitempty"` // commit
	Now       string     `json:"now,omitempty"`
	Renamed   string     `json:"renamed,omitempty"`   // the path of its folder now
	Files     []string   `json:"files,omitempty"`     // that upstream changed
	Edited    []string   `json:"edited,omitempty"`    // that keep edits of the user
	Conflicts []string   `json:"conflicts,omitempty"` // each with the reason
	Programs  []string   `json:"programs,omitempty"`  // new ones
	Hosts     []string   `json:"hosts,omitempty"`     // that its texts name now
	Wider     []string   `json:"wider,omitempty"`     // needs and permissions
	Left      []string   `json:"left,omitempty"`      // about files there that are not in the bundle, or otherwise than there
	SHA256Was string     `json:"sha256_was,omitempty"`
	SHA256    string     `json:"sha256,omitempty"` // of the manifest without its signature line
	Signed    bool       `json:"signed"`
	Diff      []string   `json:"diff,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Code      fault.Code `json:"code,omitempty"`
	Hint      fault.Hint `json:"hint,omitzero"`
}

// Dependency is an item that the project asks a registry for, or that its lock pins from one.
type Dependency struct {
	Name     string     `json:"name"` // acme/tool/hello
	Registry string     `json:"registry"`
	Range    string     `json:"range,omitempty"`    // the range in rye.yaml
	Pinned   string     `json:"pinned,omitempty"`   // version in the lock; "" for none
	InRange  string     `json:"in_range,omitempty"` // newest good version that the range allows
	Newest   string     `json:"newest,omitempty"`   // newest good version
	State    string     `json:"state"`              // of the pinned version: ok, deprecated, yanked, revoked, redacted; unknown
	Reason   string     `json:"reason,omitempty"`
	Outdated bool       `json:"outdated,omitempty"` // there is a newer good version
	Instead  fault.Hint `json:"instead,omitzero"`   // how to get it
	Known    string     `json:"known,omitempty"`    // when the registry was last asked, RFC 3339; "" for never
}

// TreeRequest asks for what an item uses, or for what uses it.
type TreeRequest struct {
	Ref    Ref  // the zero Ref is the project
	Invert bool // list its users instead
	Depth  int  // how far down; 0 is all
}

// TreeReport is a tree as lines; each belongs below the nearest earlier line of less depth.
type TreeReport struct {
	Lines []TreeLine `json:"lines"`
	More  bool       `json:"more,omitempty"` // there are more lines than listed
}

// TreeLine is one line of a tree.
type TreeLine struct {
	Depth   int    `json:"depth"` // 0 for a root
	Name    string `json:"name"`
	How     string `json:"how,omitempty"`
	Version string `json:"version,omitempty"`
	Space   string `json:"space,omitempty"`
	Again   bool   `json:"again,omitempty"` // it is listed above, with everything below it
	Cycle   bool   `json:"cycle,omitempty"` // it is its own ancestor
	Missing bool   `json:"missing,omitempty"`
}

// AuditRequest asks for a look at everything that a project has and locks.
type AuditRequest struct{}

// AuditReport lists the findings of an audit.
type AuditReport struct {
	Findings []AuditFinding `json:"findings"`           // the worst first
	Accepted []AuditFinding `json:"accepted,omitempty"` // accepted by a signer of the project
	Items    int            `json:"items"`
	Files    int            `json:"files"` // whose text was read
	Bytes    int64          `json:"bytes"`
}

// AuditFinding is one thing that needs attention.
type AuditFinding struct {
	Rule     string     `json:"rule"`
	Severity string     `json:"severity"`       // low, medium, high
	Item     string     `json:"item,omitempty"` // kind:id; "" for a file that is no item
	Path     string     `json:"path,omitempty"` // below the project; "" for an item in the record
	Line     int        `json:"line,omitempty"` // from 1
	Excerpt  string     `json:"excerpt,omitempty"`
	Says     string     `json:"says"`             // the problem
	Mend     fault.Hint `json:"mend,omitzero"`    // the fix
	SHA256   string     `json:"sha256,omitempty"` // of the text that was read
	Reason   string     `json:"reason,omitempty"` // why it was accepted
	By       string     `json:"by,omitempty"`     // who accepted it: a fingerprint
}
