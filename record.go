package rye

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"time"
)

// Record is the part of the project's record that threads need: their directory, the items
// that they may use, and their branches. A workspace.Workspace has it. It is safe for
// concurrent use.
type Record interface {
	// Threads returns the directory that holds one directory for each thread of the project,
	// beside the record. It may be missing: MakeThreads makes it, for its user alone. Without a
	// record there are no threads: fault.Denied.
	Threads(context.Context, Caller) (dir string, err error)
	MakeThreads(context.Context, Caller) (dir string, err error)

	// Pin verifies a directive and every item that its thread may reach.
	Pin(context.Context, Caller, PinRequest) (*Pinned, error)

	// Approve asks a person about a caller's request, through any available channel. subject is
	// the digest of everything that would happen: a yes is for exactly that, and is used once.
	Approve(ctx context.Context, c Caller, subject string, q Question) error

	// Vouch signs the description of a thread with this machine's key, which is trusted for
	// threads only; Vouched verifies the signature.
	Vouch(ctx context.Context, c Caller, doc []byte) (sig string, err error)
	Vouched(ctx context.Context, c Caller, doc []byte, sig string) error

	// Commit adds turns to the branch of a thread. It skips turns that are already there, so
	// it may be called again after a crash.
	Commit(context.Context, Caller, BranchCommit) (tip string, err error)

	// Branch reads the branch of a thread; fault.NotFound where there is none.
	Branch(ctx context.Context, c Caller, thread string) (*BranchInfo, error)

	// ReadTurn returns a file of one turn of that branch.
	ReadTurn(ctx context.Context, c Caller, thread string, turn int, path string) ([]byte, error)

	// Config returns a configuration, merged from every verified layer.
	Config(ctx context.Context, c Caller, name string) (*ConfigResult, error)
}

// PinRequest names the directive that a thread begins with.
type PinRequest struct {
	Ref          Ref
	Params       json.RawMessage
	Capabilities []string // the thread's capabilities; nil is those in the directive
}

// Pinned is a verified directive with its inputs, and the items that its thread may use.
type Pinned struct {
	Ref          Ref
	SHA256       string
	Signer       string
	Version      string
	Instructions string         // for the model, with the inputs filled in
	Fields       map[string]any // of the directive, as declared
	Permissions  []string       // as declared, in capability form
	Limits       map[string]any // as declared
	Model        map[string]string
	Outputs      []PinnedOutput
	Patched      bool // no owner of its namespace signed the directive

	Items []PinnedItem      // every item in use, sorted by ref
	Files map[string][]byte // files of the project and the user within the capabilities, by space and path
}

// PinnedOutput is a value that a directive has to return.
type PinnedOutput struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
}

// PinnedItem is one item, as it was when the thread began.
type PinnedItem struct {
	Ref    string `json:"ref"`
	Space  string `json:"space"`
	SHA256 string `json:"sha256"`
}

// BranchCommit are turns for the branch of a thread.
type BranchCommit struct {
	Thread string
	Key    ed25519.PrivateKey // of the thread; signs the turns
	Fence  func() error       // called under the branch's lock; an error stops without a change; nil is not called
	Turns  []TurnCommit
}

// TurnCommit is one turn, or the beginning or the end of a thread. Equal turns give equal
// commits.
type TurnCommit struct {
	Number   int // 0 is the beginning; each turn adds one
	Time     time.Time
	Subject  string
	Trailers [][2]string       // in their order
	Files    map[string][]byte // by slash path; the whole tree of the commit
	Parents  []string          // further parent commits: a parent thread's, or those made by child threads
}

// BranchInfo is the branch of a thread.
type BranchInfo struct {
	Ref   string
	Tip   string
	Turns int // number of turns, with the beginning
}

// ConfigResult is a configuration after its layers were merged.
type ConfigResult struct {
	Name    string         `json:"name"`
	Value   map[string]any `json:"value"`
	Sources []ConfigSource `json:"sources"` // weakest first
}

// ConfigSource is one layer of a configuration.
type ConfigSource struct {
	Ref    string `json:"ref"`
	Space  string `json:"space"`
	SHA256 string `json:"sha256"`
	State  State  `json:"state,omitempty"` // "patched" when no owner of its namespace signed it; else ""
}
