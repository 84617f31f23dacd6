package rye

import (
	"context"
	"slices"

	"github.com/rye-os/rye/fault"
)

// Caller is on whose behalf a verb is called, and what it may do. Only the functions
// of this package make one; every verb refuses the zero Caller.
type Caller struct {
	name   string
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

// Program is a program that calls on its own behalf, with exactly these capability
// patterns (docs/format/capability.md). It is never a person. name appears in
// questions, in the log of verdicts and in the policy, which may narrow it.
func Program(name string, capabilities ...string) Caller {
	return Caller{name: name, caps: slices.Clone(capabilities)}
}

// Name is "terminal", "mcp" or the name that Program was given; "" for the zero Caller.
func (c Caller) Name() string { return c.name }

// Capabilities returns a copy of the patterns that the caller holds.
func (c Caller) Capabilities() []string { return slices.Clone(c.caps) }

// IsPerson reports whether a person typed the command: then no question is needed
// for what only costs attention.
func (c Caller) IsPerson() bool { return c.person }

// IsZero reports whether c is the Caller that every verb refuses.
func (c Caller) IsZero() bool { return c.name == "" }

// Verbs are the four things that a model does with items. A Workspace has them; faces
// and agents take them, and see nothing else of it.
type Verbs interface {
	Search(context.Context, Caller, SearchRequest) (*SearchResult, error)
	Load(context.Context, Caller, LoadRequest) (*LoadResult, error)
	Execute(context.Context, Caller, ExecuteRequest) (*ExecuteResult, error)
	Sign(context.Context, Caller, SignRequest) (*SignReport, error)
}

// Bounds of a Question. A person answers what they have read; more than this is
// agreed to unread.
const (
	MaxQuestionLines = 600
	MaxQuestionBytes = 64 << 10 // of its text and lines together
	MaxLineBytes     = 4 << 10  // of one line: what stands behind more is off every screen
)

// Question is a decision that only a person may take, or a flag that stands for one.
// Ask makes one, within the bounds above.
type Question struct {
	Topic string     // "pin registry", "accept project", "run", ...
	Text  string     // one line
	Lines []string   // what is being agreed to: fingerprints, a diff, capabilities
	Mend  fault.Hint // the flag or command that answers yes without a terminal

	// Person is set for what only a person who looks at it may answer: a yes makes
	// something trusted that was not, so no flag may stand for one.
	Person bool
}

// Check refuses a question that is too long to be judged.
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
