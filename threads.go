package rye

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rye-os/rye/objects"
)

// Micros is money: millionths of a US dollar. It is never a fraction, so that sums are
// exact.
type Micros int64

// String writes m as dollars with as many digits as it has, at least two: "$0.25",
// "$0.000125".
func (m Micros) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	digits := strings.TrimRight(fmt.Sprintf("%06d", n%1e6), "0")
	return fmt.Sprintf("%s$%d.%s", sign, n/1e6, digits+"00"[min(2, len(digits)):])
}

// Usage counts the tokens of one or more calls of a model. The buckets do not overlap.
type Usage struct {
	Input      int64 `json:"input"`            // read anew
	CacheRead  int64 `json:"cache_read"`       // read from the provider's cache
	CacheWrite int64 `json:"cache_write"`      // read anew, and kept there for five minutes
	CacheLong  int64 `json:"cache_write_long"` // the same for an hour
	Output     int64 `json:"output"`           // visible text
	Reasoning  int64 `json:"reasoning"`        // before the visible text
}

// Total is the sum of all buckets.
func (u Usage) Total() int64 {
	return u.Input + u.CacheRead + u.CacheWrite + u.CacheLong + u.Output + u.Reasoning
}

// Plus returns the sum of two counts, bucket by bucket.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.CacheLong + v.CacheLong, u.Output + v.Output, u.Reasoning + v.Reasoning}
}

// ThreadLimits are the limits of a thread. Zero stands for the default
// (docs/format/thread.md). The smallest value from the directive, the starter and the policy
// applies, and a thread stops before it exceeds one.
type ThreadLimits struct {
	Turns    int64  `json:"turns"`
	Tokens   int64  `json:"tokens"`
	Spend    Micros `json:"spend"` // millionths of a US dollar
	Spawns   int64  `json:"spawns"`
	Depth    int64  `json:"depth"`
	Duration int64  `json:"duration_seconds"`
	Output   int64  `json:"output"` // tokens of one answer of the model
}

// StartRequest starts a thread.
type StartRequest struct {
	Ref      Ref             // a directive
	Params   json.RawMessage // its inputs, a JSON object; nil is {}
	Prompt   string          // for the model, besides the directive
	Model    string          // a tier or a model; "" is the directive's, then the configuration's
	Provider string          // a provider's id; "" is the directive's, then the configuration's
	Limits   *ThreadLimits   // only nonzero values narrow; nil narrows nothing
	Allow    []string        // capabilities to narrow the directive's to; nil narrows nothing
	Parent   string          // the thread that starts it; "" for none
	DryRun   bool            // say what would start, and its cap in money
}

// ThreadInfo is one thread.
type ThreadInfo struct {
	ID        string            `json:"thread_id"` // a ULID
	Directive string            `json:"directive"`
	Status    string            `json:"status"` // created, running, waiting, completed, error, cancelled, killed, suspended, interrupted
	Why       string            `json:"why,omitempty"`
	Parent    string            `json:"parent,omitempty"`
	Model     string            `json:"model"`
	Provider  string            `json:"provider"`
	Started   string            `json:"started"`         // RFC 3339, UTC
	Ended     string            `json:"ended,omitempty"` // the same; "" while it runs
	Turns     int64             `json:"turns"`
	Usage     Usage             `json:"usage"`
	Spent     Micros            `json:"spent"`     // settled and uncertain together
	Uncertain Micros            `json:"uncertain"` // part of Spent: calls of unknown cost
	Limits    ThreadLimits      `json:"limits"`
	Allowed   []string          `json:"capabilities"`
	Denied    []string          `json:"denied,omitempty"`   // requested and not granted
	Patched   []string          `json:"patched,omitempty"`  // refs of what drives it that no owner of its namespace signed
	Question  string            `json:"question,omitempty"` // id of the open question to a person
	Text      string            `json:"text,omitempty"`     // the model's last words
	Outputs   map[string]string `json:"outputs,omitempty"`
	Branch    string            `json:"branch,omitempty"` // ref in the project's record, once a turn is there
	Tip       string            `json:"tip,omitempty"`    // commit id
	Pid       int               `json:"pid,omitempty"`    // while it runs
	Seq       int64             `json:"seq"`              // of the newest record
}

// ThreadListRequest bounds a list of threads.
type ThreadListRequest struct {
	All   bool   // also threads that ended more than a day ago
	Under string // only this thread and those below it; "" is all
	Limit int    // the newest; 0 is 100
}

// Event is one record of a thread, in the words of docs/format/transcript.md.
type Event struct {
	Seq     int64           `json:"seq"` // of critical records; droppable ones have the number of the critical one before them
	Time    string          `json:"timestamp"`
	Thread  string          `json:"thread_id"`
	Turn    int             `json:"turn"`
	Type    string          `json:"event_type"`
	Payload json.RawMessage `json:"payload"`
	Live    bool            `json:"live,omitempty"` // droppable
}

// FollowRequest reads the past and new records of a thread.
type FollowRequest struct {
	ID     string
	From   int64 // the first sequence number
	Live   bool  // droppable records, too
	Follow bool  // wait for more until the thread ends
	Events bool  // records as stored; false puts the parts that lie in artifacts back in
}

// WaitRequest waits until a thread ends or waits for a person.
type WaitRequest struct {
	ID      string
	Seconds float64 // at most; 0 is as long as it takes
}

// SendRequest puts a message into a thread's inbox.
type SendRequest struct {
	ID     string
	Kind   string       // message, cancel, or raise
	Text   string       // of a message; the reason, for the others
	Limits ThreadLimits // of raise: the amounts to add
}

// StopRequest ends a thread.
type StopRequest struct {
	ID   string
	Kill bool // kill its process instead of asking it to stop
}

// ResumeRequest goes on with a thread that no process runs.
type ResumeRequest struct {
	ID      string
	Message string // for the model, first
	Loop    bool   // with today's loop instead of the original one
	Accept  bool   // accept unknown state after damage
}

// ExportRequest exports a thread in another form.
type ExportRequest struct {
	ID        string
	Form      string     // jsonl, markdown, or canonical
	Knowledge objects.ID // instead of Form: as the text of a knowledge entry with this id, for persons only
}

// CollectRequest removes the data of ended threads.
type CollectRequest struct {
	Older  int64 // seconds since they ended; 0 is thirty days
	DryRun bool
}

// CollectReport lists the removed data.
type CollectReport struct {
	Removed []string `json:"removed"` // ids
	Bytes   int64    `json:"bytes"`
	DryRun  bool     `json:"dry_run,omitempty"`
}

// TurnHit is a turn of a thread that a search found.
type TurnHit struct {
	Kind      string  `json:"kind"` // thread
	Thread    string  `json:"thread_id"`
	Turn      int     `json:"turn"`
	Seq       int64   `json:"seq"` // of its first record
	Directive string  `json:"directive"`
	Status    string  `json:"status"`    // of the thread
	Time      string  `json:"timestamp"` // of its last record; RFC 3339, UTC
	Score     float64 `json:"score"`
	Lines     []Line  `json:"lines,omitempty"`  // with most of the words, each with the number of its record
	Guess     bool    `json:"guess,omitempty"`  // found by words that resemble the query's
	Partly    bool    `json:"partly,omitempty"` // only the beginning of its text is searched
	Why       *HitWhy `json:"why,omitempty"`    // the parts of the score, if asked for
	Loose     string  `json:"loose,omitempty"`  // as in SearchResult; the program prints it with each hit
}

// KindThread selects a search in the transcripts of threads. It is no kind of items.
const KindThread = "thread"

// Threads are the operations on agent threads. They are safe for concurrent use.
type Threads interface {
	Start(context.Context, Caller, StartRequest) (*ThreadInfo, error)
	List(context.Context, Caller, ThreadListRequest) ([]ThreadInfo, error)
	Thread(ctx context.Context, c Caller, id string) (*ThreadInfo, error) // a unique prefix of an id is enough
	Follow(context.Context, Caller, FollowRequest, func(Event) error) error
	Wait(context.Context, Caller, WaitRequest) (*ThreadInfo, error)
	Send(context.Context, Caller, SendRequest) error
	Stop(context.Context, Caller, StopRequest) (*ThreadInfo, error)
	Resume(context.Context, Caller, ResumeRequest) (*ThreadInfo, error) // its state when it went on, with its process
	Export(context.Context, Caller, ExportRequest) ([]byte, error)
	Collect(context.Context, Caller, CollectRequest) (*CollectReport, error)
}
