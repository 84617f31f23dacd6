// Package thread is one agent thread: a directive at work. It starts threads, runs one in
// a process of its own, and shows others what a thread did and does.
//
// The package is the law around a loop that is data: limits, capabilities, the order in
// which things become durable, and money. A thread acts through the four verbs of the
// vocabulary, as a caller that holds exactly what its token says; so each of its acts
// passes the gates of every other caller.
//
//	Service   starts threads, lists, follows, stops and resumes them; any process
//	process   runs one thread; the process that holds its lease
//	history   one reading of a journal: what the thread did, and its open ends
//	step      one question to a model, or the calls of one answer, done once
//
// docs/format/thread.md, transcript.md and loop.md are normative.
package thread

import (
	"context"
	"net/http"
	"time"

	"github.com/rye-os/rye"
)

// Options are what the program around gives. It reads the environment; this package does not.
type Options struct {
	Verbs  rye.Verbs
	Record rye.Record

	Ledger string // path of the user's ledger
	Live   string // the project's .ai, for copies that people read; "" for none
	Cache  string // directory for what may be deleted at any time; "" for none
	Boot   string // id of this start of the machine; "" where there is none
	User   string // node of the user in the ledger

	HTTP   *http.Client                                                 // to providers
	Secret func(ctx context.Context, name, host string) (string, error) // a secret for a host; an error says how to give it
	Host   func(host string) error                                      // refuses a host ("name:port") that its user never named

	// Spawn starts the process of a thread; what it is handed is secret. The process answers
	// by one line when it runs, and goes on when Child.Go is called.
	Spawn func(ctx context.Context, id string, handed []byte) (Child, error)

	// Ahead starts such a process before its thread is made, so that both begin at once; nil
	// where Spawn does all.
	Ahead func(ctx context.Context) (Early, error)

	// Prompt is told how large each prompt is, in bytes, before it is asked: a process may take
	// no more memory than that needs. nil is nobody.
	Prompt func(size int)

	// Confine lets the kernel bound the writable memory of this process to more bytes than it has,
	// until lift is called. A loop runs within it. nil is for a process that runs other things, too.
	Confine func(more uint64) (lift func(), err error)

	// Answered tells whether a question has been answered, and its answer.
	Answered func(ctx context.Context, question string) (answered, yes bool, err error)

	Now func() time.Time // nil is time.Now
}

// Early is a process that was started ahead of its thread.
type Early interface {
	Child
	Hand(id string, handed []byte) error
	Drop() // ends it, where it was handed nothing
}

// Child is a process that was started.
type Child interface {
	Ready(context.Context) error // waits until it holds its lease, or says why it ended
	Go() error                   // lets it begin
	Pid() int
}

// Service is what faces do with threads. It is safe for concurrent use.
type Service struct{ o Options }

var _ rye.Threads = (*Service)(nil)

// New returns the threads of a project.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{o}
}

// Statuses of a thread.
const (
	Created     = "created"     // no process took it up yet
	Running     = "running"     //
	Waiting     = "waiting"     // for a person's answer, in its process
	Completed   = "completed"   // final, as the next three
	Failed      = "error"       //
	Cancelled   = "cancelled"   //
	Killed      = "killed"      //
	Suspended   = "suspended"   // a person can mend what stopped it, and resume it
	Interrupted = "interrupted" // its process is gone
)
