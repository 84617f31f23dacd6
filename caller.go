package rye

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rye-os/rye/fault"
)

// Caller is on whose behalf a verb is called, and what it may do. Terminal, Client and
// Program make one; every verb refuses the zero Caller with fault.Denied. A Caller does not
// change, and is safe for concurrent use.
//
// Search, Load, Execute and Sign take a capability that names the item, such as
// rye.execute.tool.acme.hello, which the user's policy may narrow or deny. Every other verb
// takes one with its own name, such as rye.add or rye.key.list; each verb of
// workspace.Workspace that lacks it is refused with fault.Denied before it reads anything.
type Caller struct {
	name   string
	itself string
	caps   []string
	person bool
}

// Terminal is the person at the terminal, who owns the keys and holds every
// capability.
func Terminal() Caller { return Caller{name: "terminal", caps: []string{"rye.*"}, person: true} }

// Client is an MCP client: it may search, load and execute, and sign what a person
// approves.
func Client() Caller {
	return Program("mcp", "rye.search.*", "rye.load.*", "rye.execute.*", "rye.sign.*")
}

// Inside is a rye that was started within a run, for example by a tool: the person who typed
// the tool's name did not type what the tool does. It may search, load and execute, as an MCP client,
// under the policy for clients too, and it is never a person: it signs nothing, approves
// nothing, and changes neither policy nor trust.
func Inside() Caller {
	return Program(insideName, "rye.search.*", "rye.load.*", "rye.execute.*")
}

const insideName = "run"

// IsInside reports whether c is Inside.
func (c Caller) IsInside() bool { return c.name == insideName }

// Program is a program that calls on its own behalf, with exactly these capabilities
// (docs/format/capability.md); without any it may do nothing. One that is malformed is
// refused when a verb is called (fault.Malformed). It is never a person. name appears in
// questions, in the log of verdicts and in the policy, which may narrow what it does to
// items; with the name "" it is the zero Caller.
func Program(name string, capabilities ...string) Caller {
	return Caller{name: name, caps: slices.Clone(capabilities)}
}

// Calling returns the caller as it calls itself, such as "claude-code 1.0". That is its own
// word: a person who is asked sees it beside the name, and nothing is decided by it.
func (c Caller) Calling(itself string) Caller {
	c.itself = itself
	return c
}

// Itself is what Calling was given.
func (c Caller) Itself() string { return c.itself }

// Name is "terminal", "mcp", "run" or the name that Program was given; "" for the zero Caller.
func (c Caller) Name() string { return c.name }

// Capabilities returns a copy of the patterns that the caller holds.
func (c Caller) Capabilities() []string { return slices.Clone(c.caps) }

// IsPerson reports whether a person typed the command. Such a caller is not asked about what
// it typed itself: its own signature, say.
func (c Caller) IsPerson() bool { return c.person }

// IsZero reports whether c is the Caller that every verb refuses.
func (c Caller) IsZero() bool { return c.name == "" }

// Verbs are the four things that a model does with items. A workspace.Workspace has them;
// servers and agents take them as this interface, and see nothing else of it. They are
// safe for concurrent use.
type Verbs interface {
	Search(context.Context, Caller, SearchRequest) (*SearchResult, error)
	Load(context.Context, Caller, LoadRequest) (*LoadResult, error)
	Execute(context.Context, Caller, ExecuteRequest) (*ExecuteResult, error)
	Sign(context.Context, Caller, SignRequest) (*SignReport, error)
}

// Bounds of a Question. A person answers what they have read, and more than this is not
// read.
const (
	MaxQuestionLines = 600
	MaxQuestionBytes = 64 << 10 // of its text and lines together
	MaxLineBytes     = 4 << 10  // of one line; no screen shows a longer one
)

// Question is a decision that only a person may take, or a flag that stands for one. What
// is put to workspace.Options.Consent is within the bounds above.
type Question struct {
	Topic string     // what is asked about, in a few words: "pin registry", "accept project", "run"
	Text  string     // one line
	Lines []string   // what is being agreed to: fingerprints, a diff, capabilities
	Mend  fault.Hint // the flag or command that answers yes without a terminal; may be zero

	// ID names the record of the question, which rye approve answers too; "" where there is
	// none.
	ID string

	// Clients are the MCP clients that the user listed as showing a question to a person.
	// The answer of another is that of a program.
	Clients []string

	// Wait is how long whoever asks waits for the answer; 0 is as long as it takes.
	Wait time.Duration

	// Person is set for what only a person who looks at it may answer: a yes makes
	// something trusted that was not, so no flag may stand for one.
	Person bool
}

// Check refuses a question beyond the bounds with fault.Limit.
func (q Question) Check() error {
	size := len(q.Text)
	for _, line := range q.Lines {
		if len(line) > MaxLineBytes {
			return fault.New(fault.Limit, "%s: a line of %d bytes to judge, at most %d are shown to a person", q.Topic, len(line), MaxLineBytes).With(q.Mend)
		}
		size += len(line)
	}
	if len(q.Lines) > MaxQuestionLines {
		return fault.New(fault.Limit, "%s: %d lines to judge, at most %d are shown to a person at once", q.Topic, len(q.Lines), MaxQuestionLines).With(q.Mend)
	}
	if size > MaxQuestionBytes {
		return fault.New(fault.Limit, "%s: %d bytes to judge, at most %d are shown to a person at once", q.Topic, size, MaxQuestionBytes).With(q.Mend)
	}
	return nil
}

// OpenQuestion is a question that waits for a person's answer.
type OpenQuestion struct {
	ID        string   `json:"id"`
	Asked     string   `json:"asked"`   // RFC 3339, UTC
	Expires   string   `json:"expires"` // from then on no answer counts
	Caller    string   `json:"caller"`
	Directory string   `json:"directory,omitempty"` // of the project
	Topic     string   `json:"topic"`
	Text      string   `json:"text"`
	Lines     []string `json:"lines"`
	Digest    string   `json:"digest"`           // what an answer is for
	Answer    string   `json:"answer,omitempty"` // yes or no; "" while it is open
}

// Unanswered is why something was refused (fault.Denied) that a person may still say yes to:
// the question stays open, and the same call made after the answer finds it.
type Unanswered struct {
	ID    string
	Until time.Time
	Err   error // why nobody could be asked
}

func (e *Unanswered) Error() string {
	return fmt.Sprintf("%v; question %s is open until %s", e.Err, e.ID, e.Until.UTC().Format(time.RFC3339))
}

func (e *Unanswered) Unwrap() error { return e.Err }

// AnswerRequest answers one question.
type AnswerRequest struct {
	ID string // of the record; the beginning is enough where it is one question's
	No bool   // else yes, which the person is asked for
}
