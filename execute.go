package rye

import (
	"encoding/json"
	"io"
	"time"
)

// ExecuteRequest runs a tool, or returns a directive's or knowledge entry's text.
type ExecuteRequest struct {
	Ref    Ref
	Params json.RawMessage // a JSON object; nil is {}
	Args   []string        // arguments of a program of a bundle, in place of its parameter args
	Stdin  io.Reader       // standard input of a program of a bundle; nil is empty. It may be read beyond what the program takes, and after the call
	Texts  bool            // values of Params are texts, each read as a value of its input's type; for directives only
	DryRun bool            // pass every gate but the last, and run nothing
	Locked bool            // refuse differences from the lock (fault.Drift)
	Frozen bool            // Locked, and never use the network
	Pinned bool            // run the bytes that the lock pins, even if the working tree differs
	Pins   Pins            // refuse differences from these digests (fault.Drift); nil has no effect

	// Begin is called after every gate has let a tool pass and before the run, with the facts
	// known by then. An error cancels the run. nil is not called.
	Begin func(*ExecuteResult) error

	// Callback controls the calls that the tool makes to rye while it runs. With nil the tool
	// calls as the caller, narrowed to its needs; an agent thread's tool then may not call.
	Callback Callback

	Stdout func([]byte) // gets output as it arrives; nil only collects it
	Stderr func([]byte) // the same for standard error
}

// ParamError explains why parameters do not fit (fault.Usage), and lists all parameters of
// the item, so that the caller need not ask for them.
type ParamError struct {
	Params []ParamInfo
	Err    error
}

func (e *ParamError) Error() string { return e.Err.Error() }
func (e *ParamError) Unwrap() error { return e.Err }

// Pins are the required digests (SHA256) of items, by ref. An item without an entry is
// refused, too.
type Pins map[string]string

// ExecuteResult has the shape that RYE OS's clients know.
type ExecuteResult struct {
	Status       string          `json:"status"` // success, error, validation_passed
	Type         string          `json:"type"`
	ItemID       string          `json:"item_id"`
	Data         json.RawMessage `json:"data,omitempty"`
	Inputs       map[string]any  `json:"inputs,omitempty"`
	Instructions string          `json:"instructions,omitempty"`
	Error        string          `json:"error,omitempty"`
	Exit         int             `json:"exit"`            // the program's exit status
	Chain        []ChainLink     `json:"chain,omitempty"` // from the tool to the primitive
	Metadata     ExecuteMeta     `json:"metadata"`
}

// ChainLink is one verified element of what ran.
type ChainLink struct {
	ItemID    string `json:"item_id"`
	Space     string `json:"space"`
	ToolType  string `json:"tool_type,omitempty"`
	Executor  string `json:"executor_id,omitempty"`
	Integrity string `json:"integrity"` // SHA256 of the file
	Signer    string `json:"signer,omitempty"`
	State     State  `json:"state,omitempty"` // "patched" for a signature by no owner of the namespace, "older" or "returned" for a link behind its record, "legacy" for a signature of RYE OS that the policy allows; else ""
}

// ExecuteMeta describes the run. Unbound names limits that were not enforced.
type ExecuteMeta struct {
	DurationMS float64  `json:"duration_ms"`
	Timings    *Timings `json:"timings,omitempty"`
	Sandbox    string   `json:"sandbox,omitempty"`
	Limits     string   `json:"limits,omitempty"` // the combined limits of the chain's items
	Unbound    []string `json:"unbound,omitempty"`
	Denied     []Denial `json:"denied,omitempty"` // accesses that were refused, or seem to have been

	// Hosts are the hosts that the run reached over connections that rye carried, at most 100. nil
	// for a run that dials by itself.
	Hosts []HostUse `json:"hosts,omitempty"`

	Reach *Reach `json:"reach,omitempty"` // set in a dry run

	// Taken lists things that appeared in the project during the run, and that other programs would
	// run by themselves. They were moved away, and nothing is lost. Left lists those that stay,
	// because another run of the same time may write them.
	Taken     []TakenInfo `json:"taken,omitempty"`
	Left      []LeftInfo  `json:"left,omitempty"`
	Warnings  []string    `json:"warnings,omitempty"` // from registries, about versions that ran
	Locked    bool        `json:"locked"`
	Drift     string      `json:"drift,omitempty"`   // the difference from the lock's pins; it ran because nothing required the lock
	Patched   []string    `json:"patched,omitempty"` // items and files of the run that no owner of their namespace signed
	Truncated bool        `json:"truncated,omitempty"`
	Verdict   *Verdict    `json:"verdict,omitempty"` // of the policy; nil when nothing is executed
	Reads     bool        `json:"-"`                 // a function of rye that only reads, and may be repeated
}

// TakenInfo is one thing that was moved out of the project after a run.
type TakenInfo struct {
	Path  string `json:"path"`            // its former path in the project
	Kind  string `json:"kind"`            // the program that runs it: "git directory", "VS Code"
	How   string `json:"how"`             // "new", "moved" or "changed"
	Where string `json:"where,omitempty"` // its present path; "" for something empty
	Need  string `json:"need,omitempty"`  // the entry of needs.write that allows it; "" where none does
}

// LeftInfo is one thing that was not moved, because another run may write it.
type LeftInfo struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	By   string `json:"by"` // the tool of the other run
}

// HostUse is the traffic of a run with one host.
type HostUse struct {
	Host     string `json:"host"`
	Port     uint16 `json:"port"`
	Conns    int    `json:"connections"`
	Sent     int64  `json:"sent"` // bytes from the program to the host
	Received int64  `json:"received"`
}

// Denial is one access that was refused: a host that rye did not reach for the run, or something that
// the sandbox seems to have refused by the run's own error messages. Both fields are for people; no
// decision depends on them.
type Denial struct {
	What string `json:"what"`           // "writing build/a.o: read-only for this tool"
	Need string `json:"need,omitempty"` // the declaration that the item lacks: "needs: {read: [.], write: [build]}"
}

// Timings are the parts of ExecuteMeta.DurationMS, in milliseconds. None is negative, and
// their sum is the total up to rounding. They exclude the start of rye itself.
type Timings struct {
	Verify      float64 `json:"verify"`      // open the spaces, find the item, verify its chain
	Gate        float64 `json:"gate"`        // parameters, lock, policy, consent
	Materialise float64 `json:"materialise"` // remove leftovers of killed runs, write the verified bytes
	Sandbox     float64 `json:"sandbox"`     // make and apply the rules
	Spawn       float64 `json:"spawn"`       // start the program
	Run         float64 `json:"run"`         // the program, until every process that it started is gone; for an HTTP tool, the exchange
	Rest        float64 `json:"rest"`        // wait for a turn, prepare the call, read the answer, clean up
}

// Verdict is one decision of the policy, as an event. It holds no parameters and no commands,
// which may be secret.
type Verdict struct {
	Time     string   `json:"time"` // RFC 3339, UTC
	Caller   string   `json:"caller"`
	Thread   string   `json:"thread,omitempty"` // the agent thread that called
	Verb     string   `json:"verb"`
	Ref      string   `json:"ref"`
	SHA256   string   `json:"sha256,omitempty"`   // of the item's file; "" when the capability alone decided
	Verdict  string   `json:"verdict"`            // allow or deny
	Tier     string   `json:"tier,omitempty"`     // t0 to t4
	Rule     string   `json:"rule"`               // the rule that decided
	Findings []string `json:"findings,omitempty"` // labels from the command analysis
	Asked    bool     `json:"asked,omitempty"`    // a person decided, or a flag in a person's place
	Project  string   `json:"project,omitempty"`

	// Hosts are the hosts that the run reached over connections that rye carried. Verb is then "reach",
	// and the decision is the one that allowed the run. The log has them; the verdict of a result does not.
	Hosts []HostUse `json:"hosts,omitempty"`
}

// PolicyReport is the policy's decision about running an item.
//
// For items other than tools only Ref, Rule, Reason, Verdict and Client are set: executing
// one returns its text.
type PolicyReport struct {
	Ref     string `json:"ref"`
	SHA256  string `json:"sha256"`
	Tier    string `json:"tier"` // t0 to t4
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Verdict string `json:"verdict"` // for the person at the terminal: allow, ask, deny
	Client  string `json:"client"`  // for an MCP client
	Reach

	Demands []string `json:"demands,omitempty"` // what the policy demands of items
	Refused string   `json:"refused,omitempty"` // why this item does not meet the demands, or why the policy is not accepted
}

// Reach is what a run may read, write, contact and use up on this machine, as far as rye knows
// before the run.
type Reach struct {
	Needs   string   `json:"needs,omitempty"`       // "read .; write build; net nothing"
	Limits  string   `json:"limits,omitempty"`      // "memory 512MiB, time 30s"
	Sandbox string   `json:"sandbox,omitempty"`     // S0 to S3; "" where nothing is started
	Unbound []string `json:"not_limited,omitempty"` // limits that will not be enforced, in words
}

// ElicitationRequest names an MCP client, by its own name for itself, that shows questions
// from servers to a person. Forget removes it from the list of such clients.
type ElicitationRequest struct {
	Client string
	Forget bool
}

// ElicitationReport says whether the client is on the list, and whether that is new.
type ElicitationReport struct {
	Client  string `json:"client"`
	Listed  bool   `json:"listed"`
	Changed bool   `json:"changed"`
}

// AllowRequest names a tool and the parameters with which it may run without a question.
type AllowRequest struct {
	Ref    Ref
	Params json.RawMessage // exactly these; nil is {}
	Any    bool            // any parameters
}

// ForgetRequest names the approvals to take back.
type ForgetRequest struct {
	Ref        Ref
	Everywhere bool // not only the approvals of this project
}

// ApprovalInfo is one approval that the policy remembers.
type ApprovalInfo struct {
	Ref       string   `json:"ref"`
	Plan      string   `json:"plan"`             // digest of everything that runs
	Params    string   `json:"params,omitempty"` // digest of the parameters, or any
	Tier      string   `json:"tier,omitempty"`   // the highest tier that it covers
	Host      string   `json:"host,omitempty"`   // that the tool connects to, or "*"; then it covers neither parameters nor a tier
	Directory string   `json:"directory,omitempty"`
	Status    string   `json:"status"`                // allowed, forgotten, elsewhere, or lapsed (another directory has this path now)
	Uncovered []string `json:"not_covered,omitempty"` // cases that the approval does not cover
}

// PolicyConsentRequest names a tool and selects the unsigned things in its use that the
// request is about.
type PolicyConsentRequest struct {
	Ref         Ref
	Env         bool     // .env files
	Interpreter bool     // an interpreter in the project
	Secrets     bool     // variables of the environment, for a tool that another person signed
	Patched     bool     // patches that it uses, for callers that are no person
	Hosts       []string // hosts that requests of this project, or this tool, may contact: a name, with or without port
	Forget      bool     // take the agreement back
}

// ConsentReport is one unsigned thing that the user agreed to, or no longer agrees to. It
// never holds the value of a variable.
type ConsentReport struct {
	Ref     string   `json:"ref"`
	What    string   `json:"what"` // env, interpreter, secrets, host, connect or patched
	Path    string   `json:"path"`
	SHA256  string   `json:"sha256"`            // "" for patches that are forgotten
	Status  string   `json:"status"`            // allowed or forgotten
	Names   []string `json:"names"`             // variables, files of the interpreter, variables and items, or patches
	Changed []string `json:"changed,omitempty"` // names whose content differs from the last agreement
}

// LockRequest names what to pin.
type LockRequest struct {
	Targets []Target // empty is every item that may be used
}

// LockReport says what the lock holds after the call.
type LockReport struct {
	Path  string   `json:"path"`
	Items int      `json:"items"` // number of pinned items
	Added []string `json:"added,omitempty"`
	Drift []string `json:"drift,omitempty"` // items that differ from their pins

	Changed []LockChange `json:"changed,omitempty"` // items with a new pin
	Removed []string     `json:"removed,omitempty"` // items that lost their pin
	Kept    []LockKept   `json:"kept,omitempty"`    // refused items, which keep their old pins

	Warnings []string `json:"warnings,omitempty"` // from registries, about pinned versions; and about .ai/vendor
}

// VendorRequest copies what the lock pins from registries into .ai/vendor.
type VendorRequest struct {
	DryRun bool
}

// VendorReport says what .ai/vendor holds after the call. Paths begin with .ai/.
type VendorReport struct {
	Path    string   `json:"path"`
	Files   int      `json:"files"`
	Added   []string `json:"added,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"` // files and folders that the lock does not name
	DryRun  bool     `json:"dry_run,omitempty"`
}

// LockChange is an item whose pin changed.
type LockChange struct {
	Ref  string `json:"ref"`
	From string `json:"from,omitempty"` // version
	To   string `json:"to,omitempty"`
	Why  string `json:"why"` // the changed part: from, version, path, content, chain, or files around it
}

// LockKept is a pinned item that is present and refused. Its pin stays as it was.
type LockKept struct {
	Ref string `json:"ref"`
	Why string `json:"why"`
}

// LockImportRequest imports lock files of RYE OS.
type LockImportRequest struct {
	Paths  []string // files, or directories of them
	DryRun bool
}

// LockImport is the outcome of an import of RYE OS's lock files.
type LockImport struct {
	Path   string         `json:"path"`
	Items  int            `json:"items"` // number of items in the lock afterwards
	Files  []ImportedLock `json:"files"`
	DryRun bool           `json:"dry_run,omitempty"`
}

// ImportedLock is one lock file of RYE OS.
type ImportedLock struct {
	File   string `json:"file"`
	Ref    string `json:"ref,omitempty"`
	Status string `json:"status"` // locked, drift, refused
	Error  string `json:"error,omitempty"`
}

// LockMergeRequest holds the locks to merge.
type LockMergeRequest struct {
	Base, Ours, Theirs []byte // the text of each; an empty one stands for no lock
	Path               string // of the result; "" is the project's lock
	Prefer             string // "ours" or "theirs" for conflicts; "" refuses them
	DryRun             bool
}

// LockMergeReport is the outcome of a merge. A merge with conflicts returns it beside a
// fault.Drift error, and the file at Path holds both sides between git's markers.
type LockMergeReport struct {
	Path      string   `json:"path"`
	Items     int      `json:"items"`
	Conflicts []string `json:"conflicts,omitempty"` // pins that the rules do not decide
}

// PolicyLogRequest bounds the number of verdicts returned.
type PolicyLogRequest struct {
	Limit int // the newest this many; 0 is all that are kept
}

// ServedCall is a call of a function that the serving process carries out itself, through
// rye's own verbs. Every gate has let the call pass (docs/format/builtin.md).
type ServedCall struct {
	Function string          `json:"function"` // "threads/status"
	Params   json.RawMessage `json:"params"`   // one object, as the schema of the function's tool wants it
	Progress func([]byte)    `json:"-"`        // gets progress messages, in lines; nil for none
}

// WebPage is a web page whose text is to be extracted.
type WebPage struct {
	Body     []byte
	Charset  string // as the server states it; "" where it does not
	Base     string // its address, to resolve links
	Markdown bool   // extract Markdown, not plain text
}

// Callback controls the calls that a tool makes to rye while it runs (docs/format/callback.md).
// It serves callers for which a narrowed Caller is not enough: an agent thread has a token
// narrowed, and records each call. It is safe for concurrent use.
type Callback interface {
	// Grant returns the caller for a tool's calls. It holds at most the tool's needs, until a
	// time by which the run has ended; the zero time sets no end.
	Grant(tool Ref, needs []string, until time.Time) (*CallbackGrant, error)

	// Begin is called before any work for a call; an error refuses the call. The returned
	// Callback controls the items that the call executes.
	Begin(CalledBack) (Callback, error)

	// End is called when a call that began has ended, with its outcome.
	End(c CalledBack, took time.Duration, result error) error
}

// CallbackGrant is a tool's permission to call rye.
type CallbackGrant struct {
	Caller Caller
	Token  string   // for information; "" for none
	Denied []string // declared needs that are not granted
}

// CalledBack is one call to rye by a running tool.
type CalledBack struct {
	Index  int    // number of the call in its run, from 1
	Verb   string // search, load, execute or sign
	Item   string // a ref; "" for a search
	Params string // their SHA-256, as 64 hexadecimal digits
}

// NoPolicy stands for the digest of a policy that is not there.
const NoPolicy = "none"

// AcceptPolicyRequest names a policy of the project to compare later ones with. From is a branch, a tag or a
// commit whose .ai/policy.yaml is meant, in place of the file as it is. SHA256, with or without "sha256:", is the
// digest that it must have, or NoPolicy.
type AcceptPolicyRequest struct {
	From   string
	SHA256 string
}

// ProjectPolicy is the state of a project's .ai/policy.yaml for this user.
type ProjectPolicy struct {
	State    string   `json:"state"`              // none, new, accepted, looser, removed
	SHA256   string   `json:"sha256"`             // of the file, or NoPolicy
	Accepted string   `json:"accepted,omitempty"` // the digest that was accepted here, or NoPolicy; "" if none was seen yet
	Looser   []string `json:"looser,omitempty"`   // how the file allows more than the accepted one
	Demands  []string `json:"demands"`            // what every policy together demands of items
}
