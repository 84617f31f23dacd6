package rye

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Caller is on whose behalf a verb is called, and what it may do. Terminal, Client and
// Program make one; every verb refuses the zero Caller with fault.Denied. A Caller does not
// change, and is safe for concurrent use.
//
// Search, Load, Execute and Sign take a capability that names the item, such as
// rye.execute.tool.acme.hello, which the user's policy may narrow or deny. Every other verb
// takes one with its own name, such as rye.add or rye.key.list; each verb of
// workspace.Workspace that lacks it is refused with fault.Denied before it reads anything.
//
// What is done with agent threads takes rye.thread.<act>, such as rye.thread.start.
type Caller struct {
	name   string
	itself string
	token  string // the name of an MCP client's token; "" for every other
	caps   []string
	person bool

	thread  string // id of the thread that it is; "" for every other
	parent  string
	deny    []string
	expires time.Time // zero is never
}

// Terminal is the person at the terminal, who owns the keys and holds every
// capability.
func Terminal() Caller { return Caller{name: "terminal", caps: []string{"rye.*"}, person: true} }

// Client is an MCP client: it may search, load and execute, sign what a person approves, and
// look after the threads that it started.
func Client() Caller {
	return Program("mcp", "rye.search.*", "rye.load.*", "rye.execute.*", "rye.sign.*",
		"rye.thread.start", "rye.thread.list", "rye.thread.show", "rye.thread.follow", "rye.thread.wait", "rye.thread.cancel", "rye.thread.resume")
}

// ClientNamed is the MCP client that holds a token of this name: Client, told apart from
// every other. What one does, another does not see: its threads, its questions.
func ClientNamed(token string) Caller {
	c := Client()
	c.token = token
	return c
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

// ThreadToken is a verified token of an agent thread: token.Verified of
// objects/trust/token. Whoever makes another answers for it.
type ThreadToken interface {
	Thread() string     // its id; "" is no thread
	Parent() string     // the thread that started it; "" for none
	Do() []string       // capabilities
	Deny() []string     // capabilities that it has not, whatever Do says
	Expires() time.Time // from then on every verb refuses it
}

const threadName = "thread"

// Thread is an agent thread: what it may do its token says, and nothing else. It is never a
// person, and is asked about as an MCP client is, under the policy for clients and for
// "thread" both; one that another thread started is held to sub_agent_policy, too. A
// capability that its token denies it has not. Of verbs other than Search, Load, Execute and
// Sign it has none but those about threads that its token names. A token that is nil or of
// no thread gives the zero Caller.
func Thread(v ThreadToken) Caller {
	if v == nil || v.Thread() == "" {
		return Caller{}
	}
	return Caller{name: threadName, thread: v.Thread(), parent: v.Parent(), caps: slices.Clone(v.Do()), deny: slices.Clone(v.Deny()), expires: v.Expires()}
}

// Calling returns the caller as it calls itself, such as "claude-code 1.0". That is its own
// word: a person who is asked sees it beside the name, and nothing is decided by it.
func (c Caller) Calling(itself string) Caller {
	c.itself = itself
	return c
}

// Itself is what Calling was given.
func (c Caller) Itself() string { return c.itself }

// Name is "terminal", "mcp", "run", "thread" or the name that Program was given; "" for the
// zero Caller.
func (c Caller) Name() string { return c.name }

// Thread is the id of the thread that the caller is; "" for every other caller.
func (c Caller) Thread() string { return c.thread }

// Parent is the thread that started the one that the caller is; "" where no thread did.
func (c Caller) Parent() string { return c.parent }

// Who is Name, and behind it the id of a thread or the name of a client's token: for people,
// and for telling callers apart.
func (c Caller) Who() string {
	if which := c.thread + c.token; which != "" { // a caller has one of them at most
		return c.name + " " + which
	}
	return c.name
}

// Denied returns a copy of the patterns that win over those of Capabilities.
func (c Caller) Denied() []string { return slices.Clone(c.deny) }

// Capabilities returns a copy of the patterns that the caller holds.
func (c Caller) Capabilities() []string { return slices.Clone(c.caps) }

// IsPerson reports whether a person typed the command. Such a caller is not asked about what
// it typed itself: its own signature, say.
func (c Caller) IsPerson() bool { return c.person }

// IsZero reports whether c is the Caller that every verb refuses.
func (c Caller) IsZero() bool { return c.name == "" }

// May returns nil when the caller may use the verb, such as "add", "key.list" or
// "thread.start", at a time. It is for the verbs whose capability is rye.<verb>; those that
// name an item are judged by the policy, too. It refuses with fault.Denied the zero Caller,
// an expired one, one that does not hold the capability or is denied it, and a thread for
// every verb that is not about threads; with fault.Malformed one whose lists have an entry
// that is no capability.
func (c Caller) May(verb string, now time.Time) error {
	if err := c.Check(verb, now); err != nil {
		return err
	}
	need := "rye." + verb
	switch {
	case c.thread != "" && !objects.AboutThreads(need):
		return fault.New(fault.Denied, "%s: no agent thread does this, and %s is one", verb, c.Who())
	case slices.ContainsFunc(c.deny, func(d string) bool { return objects.Covers(d, need) }):
		return fault.New(fault.Denied, "%s: the caller %s is denied the capability %s", verb, c.Who(), need)
	case !slices.ContainsFunc(c.caps, func(held string) bool {
		// rye.* of a directive means what is done with items, and not the threads themselves.
		return objects.Covers(held, need) && (c.thread == "" || objects.AboutThreads(held))
	}):
		return fault.New(fault.Denied, "%s: the caller %s does not hold the capability %s", verb, c.Who(), need)
	}
	return nil
}

// Check refuses what no verb takes, whatever it is about: the zero Caller, one that expired,
// and one whose lists have an entry that is no capability. verb is for the message.
func (c Caller) Check(verb string, now time.Time) error {
	if c.IsZero() {
		return fault.New(fault.Denied, "%s: no caller was named: pass rye.Terminal(), rye.Client() or rye.Program(...)", verb)
	}
	if !c.expires.IsZero() && !now.Before(c.expires) {
		return fault.New(fault.Denied, "%s: what %s may do ended at %s", verb, c.Who(), c.expires.UTC().Format(time.RFC3339))
	}
	for _, one := range slices.Concat(c.caps, c.deny) {
		if why := objects.CheckCapability(one); why != "" && (c.thread != "" || !namesVerb(one)) {
			return fault.New(fault.Malformed, "capability %q: %s", one[:min(len(one), objects.MaxCapability)], why).
				Advise("write rye.<verb>.<kind>.<id with dots>, for example rye.execute.tool.acme.*")
		}
	}
	return nil
}

// namesVerb reports whether text is rye. and a verb, spelled out: words with dots between.
func namesVerb(text string) bool {
	verb, ok := strings.CutPrefix(text, "rye.")
	return ok && !slices.ContainsFunc(strings.Split(verb, "."), func(word string) bool {
		return word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != ""
	})
}

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

// AcceptOwner is the flag that lets a registry's keys own a namespace, before its name.
const AcceptOwner = "--accept-owner"

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

	// Flags are what says yes without a person, as it is typed: "--accept-owner acme". Where
	// there are any, Person is set and --yes answers nothing: new owners, new signers and wider
	// needs are agreed to by name. A flag that the request itself has is not listed.
	Flags []string
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

// Unagreed is why something was refused (fault.Denied) that a person had to agree to, where
// no question stays open.
type Unagreed struct {
	How Answered
	Err error
}

func (e *Unagreed) Error() string { return e.Err.Error() }
func (e *Unagreed) Unwrap() error { return e.Err }

// Answered is how a question to a person ended without a yes.
type Answered string

// The ways in which a question ends without a yes.
const (
	Declined Answered = "declined" // a person said no
	Late     Answered = "late"     // nobody answered in time
	NoWay    Answered = "no_way"   // nobody can be asked
)

// AnswerRequest answers one question.
type AnswerRequest struct {
	ID string // of the record; the beginning is enough where it is one question's
	No bool   // else yes, which the person is asked for
}
