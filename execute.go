package rye

import (
	"encoding/json"
	"time"
)

// ExecuteRequest runs a tool, or returns a directive's or knowledge entry's text.
type ExecuteRequest struct {
	Ref    Ref
	Params json.RawMessage // a JSON object; nil is {}
	Texts  bool            // values of Params are texts, each to be read as a value of its input's type; of a directive only
	DryRun bool            // pass every gate but the last, and run nothing
	Locked bool            // refuse what differs from the lock (fault.Drift)
	Frozen bool            // Locked, and never use the network
	Pinned bool            // run the bytes that the lock pins, whatever is in the working tree
	Pins   Pins            // refuse what differs from these (fault.Drift); nil demands nothing

	// Begin is called once every gate has let a tool pass and before it runs, with what is
	// known by then; an error ends it without a run. nil is told nothing.
	Begin func(*ExecuteResult) error

	// Callback holds what the tool asks of rye while it runs. nil lets it ask as the caller
	// narrowed to what it needs; an agent thread without one lets it ask nothing.
	Callback Callback

	Stdout func([]byte) // gets output as it comes; nil only collects it
	Stderr func([]byte) // the same for standard error
}

// ParamError is why parameters do not fit (fault.Usage), with all that the item takes: who
// called it does not have to ask for that.
type ParamError struct {
	Params []ParamInfo
	Err    error
}

func (e *ParamError) Error() string { return e.Err.Error() }
func (e *ParamError) Unwrap() error { return e.Err }

// Pins are the digests (SHA256) that items have to have, by ref. An item that is not among
// them is refused, too.
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
	State     State  `json:"state,omitempty"` // "older" or "returned" for what stands behind its record, "legacy" for a signature of RYE OS that the policy allows; else ""
}

// ExecuteMeta says how it ran. Limits that did not bind are named in Unbound.
type ExecuteMeta struct {
	DurationMS float64  `json:"duration_ms"`
	Timings    *Timings `json:"timings,omitempty"`
	Sandbox    string   `json:"sandbox,omitempty"`
	Limits     string   `json:"limits,omitempty"` // that the items of the chain state together
	Unbound    []string `json:"unbound,omitempty"`
	Denied     []Denial `json:"denied,omitempty"` // what the sandbox seems to have refused
	Reach      *Reach   `json:"reach,omitempty"`  // of a dry run

	// Taken is what the run made in the project that other programs would run by themselves:
	// it was moved away, and nothing is lost.
	Taken     []TakenInfo `json:"taken,omitempty"`
	Warnings  []string    `json:"warnings,omitempty"` // what registries say against versions that ran
	Locked    bool        `json:"locked"`
	Drift     string      `json:"drift,omitempty"` // what the lock pins otherwise; it ran because nothing demanded the lock
	Truncated bool        `json:"truncated,omitempty"`
	Verdict   *Verdict    `json:"verdict,omitempty"` // of the policy; nil for what does not execute
	Reads     bool        `json:"-"`                 // a function of rye's that only reads: it may be done again
}

// TakenInfo is one thing that was moved out of the project after a run.
type TakenInfo struct {
	Path  string `json:"path"`            // it had in the project
	Kind  string `json:"kind"`            // what runs it: "git directory", "VS Code"
	How   string `json:"how"`             // "new", "moved" or "changed"
	Where string `json:"where,omitempty"` // it is now; "" for what held nothing
	Need  string `json:"need,omitempty"`  // of needs.write, which allows it; "" where nothing does
}

// Denial is one thing that the sandbox seems to have refused to a run, by the words in which
// the run complained of it. Both are texts to read; nothing is decided by them.
type Denial struct {
	What string `json:"what"`           // "writing build/a.o: read-only for this tool"
	Need string `json:"need,omitempty"` // what the item would have to state: "needs: {read: [.], write: [build]}"
}

// Timings are the parts of ExecuteMeta.DurationMS, in milliseconds. None is negative, and
// their sum is the whole up to rounding. The start of rye itself is not counted.
type Timings struct {
	Verify      float64 `json:"verify"`      // open the spaces, find the item, verify its chain
	Gate        float64 `json:"gate"`        // parameters, lock, policy, consent
	Materialise float64 `json:"materialise"` // clear what killed runs left, write the verified bytes
	Sandbox     float64 `json:"sandbox"`     // make the rules and put them on
	Spawn       float64 `json:"spawn"`       // start the program
	Run         float64 `json:"run"`         // the program, until all that it started is gone; the exchange of an HTTP tool
	Rest        float64 `json:"rest"`        // wait for a turn, prepare the call, read the answer, clear up
}

// Verdict is one decision of the policy, as an event. It does not hold parameters and
// commands, which may be secret.
type Verdict struct {
	Time     string   `json:"time"` // RFC 3339, UTC
	Caller   string   `json:"caller"`
	Thread   string   `json:"thread,omitempty"` // the agent thread that called
	Verb     string   `json:"verb"`
	Ref      string   `json:"ref"`
	SHA256   string   `json:"sha256,omitempty"`   // of the item's file; "" when the capability alone decided
	Verdict  string   `json:"verdict"`            // allow or deny
	Tier     string   `json:"tier,omitempty"`     // t0 to t4
	Rule     string   `json:"rule"`               // that decided
	Findings []string `json:"findings,omitempty"` // labels of what command analysis found
	Asked    bool     `json:"asked,omitempty"`    // a person decided, or a flag that stands for one
	Project  string   `json:"project,omitempty"`
}

// PolicyReport is what the policy says about running an item.
//
// For what is no tool only Ref, Rule, Reason, Verdict and Client are set: executing it
// returns its text.
type PolicyReport struct {
	Ref     string `json:"ref"`
	SHA256  string `json:"sha256"`
	Tier    string `json:"tier"` // t0 to t4
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Verdict string `json:"verdict"` // for the person at the terminal: allow, ask, deny
	Client  string `json:"client"`  // for an MCP client
	Reach
}

// Reach is what a run may reach and use up on this machine, as far as that is known before
// it.
type Reach struct {
	Needs   string   `json:"needs,omitempty"`       // "read .; write build; net nothing"
	Limits  string   `json:"limits,omitempty"`      // "memory 512MiB, time 30s"
	Sandbox string   `json:"sandbox,omitempty"`     // S0 to S3; "" where nothing is started
	Unbound []string `json:"not_limited,omitempty"` // what will not bind, in words
}

// ElicitationRequest names an MCP client, by the name with which it introduces itself, that
// shows the questions of servers to a person; Forget takes it off the list of those.
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

// AllowRequest names a tool and the parameters with which it may run without being asked.
type AllowRequest struct {
	Ref    Ref
	Params json.RawMessage // exactly these; nil is {}
	Any    bool            // any parameters
}

// ForgetRequest names the approvals to take back.
type ForgetRequest struct {
	Ref        Ref
	Everywhere bool // not only those of this project
}

// ApprovalInfo is one approval that the policy remembers.
type ApprovalInfo struct {
	Ref       string   `json:"ref"`
	Plan      string   `json:"plan"`   // digest of everything that runs
	Params    string   `json:"params"` // digest of the parameters, or any
	Tier      string   `json:"tier"`   // up to which it holds
	Directory string   `json:"directory,omitempty"`
	Status    string   `json:"status"`                // allowed, forgotten, lapsed (the directory is another one), or elsewhere
	Uncovered []string `json:"not_covered,omitempty"` // what it does not cover
}

// PolicyConsentRequest names a tool and which of the unsigned things that it would
// use are meant.
type PolicyConsentRequest struct {
	Ref         Ref
	Env         bool     // .env files
	Interpreter bool     // an interpreter in the project
	Secrets     bool     // variables of the environment, for a tool that another person signed
	Hosts       []string // that requests of this project may go to: a name, with or without port
	Forget      bool     // take the agreement back
}

// ConsentReport is one unsigned thing that the user agreed to, or no longer agrees to. It
// never holds the value of a variable.
type ConsentReport struct {
	Ref     string   `json:"ref"`
	What    string   `json:"what"` // env, interpreter, secrets or host
	Path    string   `json:"path"`
	SHA256  string   `json:"sha256"`
	Status  string   `json:"status"`            // allowed or forgotten
	Names   []string `json:"names"`             // variables, files of the interpreter, or variables and items
	Changed []string `json:"changed,omitempty"` // names whose content is not what was agreed to before
}

// LockRequest names what to pin.
type LockRequest struct {
	Targets []Target // none is every item that may be used
}

// LockReport says what the lock holds after the call.
type LockReport struct {
	Path  string   `json:"path"`
	Items int      `json:"items"` // that it pins
	Added []string `json:"added,omitempty"`
	Drift []string `json:"drift,omitempty"` // what is not as the lock pins it

	Changed []LockChange `json:"changed,omitempty"` // pinned otherwise than before
	Removed []string     `json:"removed,omitempty"` // pinned before
	Kept    []LockKept   `json:"kept,omitempty"`    // refused, so their old pins stay

	Warnings []string `json:"warnings,omitempty"` // what registries say against versions that it pins
}

// LockChange is an item that a lock pins otherwise than before.
type LockChange struct {
	Ref  string `json:"ref"`
	From string `json:"from,omitempty"` // version
	To   string `json:"to,omitempty"`
	Why  string `json:"why"` // from, version, path, content, chain, or files around it
}

// LockKept is a pinned item that is there and refused. Its pin stays as it was.
type LockKept struct {
	Ref string `json:"ref"`
	Why string `json:"why"`
}

// LockImportRequest takes over lock files of RYE OS.
type LockImportRequest struct {
	Paths  []string // files, or directories of them
	DryRun bool
}

// LockImport says what became of RYE OS's lock files.
type LockImport struct {
	Path   string         `json:"path"`
	Items  int            `json:"items"` // in the lock afterwards
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
	Prefer             string // "ours" or "theirs" for what the rules leave open; "" refuses
	DryRun             bool
}

// LockMergeReport is the outcome of a merge. With conflicts it is returned beside a
// fault.Drift error, and the file at Path holds both sides between git's markers.
type LockMergeReport struct {
	Path      string   `json:"path"`
	Items     int      `json:"items"`
	Conflicts []string `json:"conflicts,omitempty"` // what the rules leave open
}

// PolicyLogRequest bounds how many verdicts are told.
type PolicyLogRequest struct {
	Limit int // at most this many, the newest; 0 is all that are kept
}

// ServedCall is a call of a function that acts in the process that was asked, through rye's own
// doors, once every gate has let it pass (docs/format/builtin.md).
type ServedCall struct {
	Function string          `json:"function"` // "threads/status"
	Params   json.RawMessage `json:"params"`   // one object, as the schema of the function's tool wants it
	Progress func([]byte)    `json:"-"`        // told what goes on meanwhile, in lines; nil for nobody
}

// WebPage is a page of the web that shall become what it says.
type WebPage struct {
	Body     []byte
	Charset  string // as the server said it; "" where it did not
	Base     string // its address, against which links are resolved
	Markdown bool   // and not plain text
}

// Callback is how whoever executes a tool holds what the tool asks of rye while it runs
// (docs/format/callback.md), where a narrowed Caller does not say all: an agent thread has a
// token narrowed, and records each call. It is safe for concurrent use.
type Callback interface {
	// Grant returns on whose behalf a tool calls: at most what it needs, until a time at
	// which its run has ended; zero is no such time.
	Grant(tool Ref, needs []string, until time.Time) (*CallbackGrant, error)

	// Begin is called before anything is done for a call; an error refuses the call. What
	// it returns holds what is executed by it.
	Begin(CalledBack) (Callback, error)

	// End is called when a call that began has ended, with what came of it.
	End(c CalledBack, took time.Duration, result error) error
}

// CallbackGrant is what a tool may ask of rye.
type CallbackGrant struct {
	Caller Caller
	Token  string   // for information; "" for none
	Denied []string // what it declares and is not given
}

// CalledBack is one call of a tool that runs.
type CalledBack struct {
	Index  int    // from 1 on, in its run
	Verb   string // search, load, execute or sign
	Item   string // a ref; "" of a search
	Params string // their SHA-256, as 64 hexadecimal digits
}
