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

// Caller identifies the caller of a verb and holds its permissions. Functions such as
// Terminal, Client and Program make one; every verb refuses the zero Caller with
// fault.Denied. A Caller does not change, and is safe for concurrent use.
//
// Search, Load, Execute and Sign need a capability that names the item, such as
// rye.execute.tool.acme.hello, which the user's policy may narrow or deny. Every other verb
// needs one with its own name, such as rye.add or rye.key.list. Without it each verb of
// workspace.Workspace fails with fault.Denied before it reads anything.
//
// Operations on agent threads need rye.thread.<act>, such as rye.thread.start.
type Caller struct {
	name   string
	itself string
	token  string // the name of an MCP client's token; "" for other callers
	caps   []string
	person bool

	thread  string // the caller's thread id; "" for other callers
	parent  string
	deny    []string
	expires time.Time // the zero time is never
}

// Terminal is the person at the terminal: the owner of the keys, with every capability.
func Terminal() Caller { return Caller{name: "terminal", caps: []string{"rye.*"}, person: true} }

// Client is an MCP client: it may search, load and execute, sign what a person approves, and
// look after the threads that it started.
func Client() Caller {
	return Program("mcp", "rye.search.*", "rye.load.*", "rye.execute.*", "rye.sign.*",
		"rye.thread.start", "rye.thread.list", "rye.thread.show", "rye.thread.follow", "rye.thread.wait", "rye.thread.cancel", "rye.thread.resume")
}

// ClientNamed is Client for the holder of the token with this name. Clients with different
// names do not see each other's threads and questions.
func ClientNamed(token string) Caller {
	c := Client()
	c.token = token
	return c
}

// Inside is a rye that was started within a run, for example by a tool. The person typed the
// tool's name and did not choose the tool's actions. It may search, load and execute. The
// policy for clients applies to it, too. It is never a person: it signs nothing, approves
// nothing, and changes neither policy nor trust.
func Inside() Caller {
	return Program(insideName, "rye.search.*", "rye.load.*", "rye.execute.*")
}

const insideName = "run"

// IsInside reports whether c is Inside.
func (c Caller) IsInside() bool { return c.name == insideName }

// Program is a program that calls on its own behalf. It holds exactly these capabilities
// (docs/format/capability.md), and without any it may do nothing. A malformed capability is
// refused when a verb is called (fault.Malformed). The caller is never a person. name appears
// in questions, in the log of verdicts and in the policy, which may narrow its use of items.
// An empty name gives the zero Caller.
func Program(name string, capabilities ...string) Caller {
	return Caller{name: name, caps: slices.Clone(capabilities)}
}

// ThreadToken is a verified token of an agent thread: token.Verified of
// objects/trust/token. Any other implementation has to verify the token itself.
type ThreadToken interface {
	Thread() string     // the thread's id; "" is no thread
	Parent() string     // the thread that started it; "" for none
	Do() []string       // capabilities
	Deny() []string     // denied capabilities, even where Do lists them
	Expires() time.Time // every verb refuses the token from then on
}

const threadName = "thread"

// Thread is an agent thread, with exactly the permissions in its token. It is never a person.
// Questions and the policy treat it as an MCP client. The rules for clients and for "thread"
// both apply, and sub_agent_policy too if another thread started it. Its token may deny
// capabilities. Besides Search, Load, Execute and Sign it has only the verbs about threads
// that its token names. A nil token, or one without a thread, gives the zero Caller.
func Thread(v ThreadToken) Caller {
	if v == nil || v.Thread() == "" {
		return Caller{}
	}
	return Caller{name: threadName, thread: v.Thread(), parent: v.Parent(), caps: slices.Clone(v.Do()), deny: slices.Clone(v.Deny()), expires: v.Expires()}
}

// Calling returns the caller with the name that it gives itself, such as "claude-code 1.0".
// rye cannot check that name: questions show it beside Name, and no decision depends on it.
func (c Caller) Calling(itself string) Caller {
	c.itself = itself
	return c
}

// Itself is the name given to Calling.
func (c Caller) Itself() string { return c.itself }

// Name is "terminal", "mcp", "run", "thread" or the name that Program was given; "" for the
// zero Caller.
func (c Caller) Name() string { return c.name }

// Thread is the caller's thread id; "" for callers that are no thread.
func (c Caller) Thread() string { return c.thread }

// Parent is the id of the thread that started the caller's thread; "" where no thread did.
func (c Caller) Parent() string { return c.parent }

// Who is Name followed by the id of a thread or the name of a client's token. It is shown to
// people, and tells callers apart.
func (c Caller) Who() string {
	if which := c.thread + c.token; which != "" { // a caller has at most one of them
		return c.name + " " + which
	}
	return c.name
}

// Denied returns a copy of the denied patterns, which override Capabilities.
func (c Caller) Denied() []string { return slices.Clone(c.deny) }

// Capabilities returns a copy of the patterns that the caller holds.
func (c Caller) Capabilities() []string { return slices.Clone(c.caps) }

// IsPerson reports whether a person typed the command. Such a caller is not asked about its
// own command, such as its own signature.
func (c Caller) IsPerson() bool { return c.person }

// IsZero reports whether c is the Caller that every verb refuses.
func (c Caller) IsZero() bool { return c.name == "" }

// May returns nil when the caller may use the verb, such as "add", "key.list" or
// "thread.start", at a time. It is for verbs with the capability rye.<verb>; the policy also
// judges verbs that name an item. It refuses with fault.Denied the zero Caller, an expired
// one, and one that lacks the capability or is denied it. It also refuses a thread for every
// verb that is not about threads. A malformed entry in the caller's lists is fault.Malformed.
func (c Caller) May(verb string, now time.Time) error {
	if err := c.Check(verb, now); err != nil {
		return err
	}
	need := "rye." + verb
	switch {
	case c.thread != "" && !objects.AboutThreads(need):
		return fault.New(fault.Denied, "%s: agent threads may not do this, and %s is one", verb, c.Who())
	case slices.ContainsFunc(c.deny, func(d string) bool { return objects.Covers(d, need) }):
		return fault.New(fault.Denied, "%s: the caller %s is denied the capability %s", verb, c.Who(), need)
	case !slices.ContainsFunc(c.caps, func(held string) bool {
		// In a directive, rye.* covers operations on items, not on threads.
		return objects.Covers(held, need) && (c.thread == "" || objects.AboutThreads(held))
	}):
		return fault.New(fault.Denied, "%s: the caller %s does not hold the capability %s", verb, c.Who(), need)
	}
	return nil
}

// Check refuses callers that no verb accepts: the zero Caller, an expired one, and one whose
// lists hold a malformed entry. verb is for the message.
func (c Caller) Check(verb string, now time.Time) error {
	if c.IsZero() {
		return fault.New(fault.Denied, "%s: no caller: pass rye.Terminal(), rye.Client() or rye.Program(...)", verb)
	}
	if !c.expires.IsZero() && !now.Before(c.expires) {
		return fault.New(fault.Denied, "%s: the permissions of %s expired at %s", verb, c.Who(), c.expires.UTC().Format(time.RFC3339))
	}
	for _, one := range slices.Concat(c.caps, c.deny) {
		if why := objects.CheckCapability(one); why != "" && (c.thread != "" || !namesVerb(one)) {
			return fault.New(fault.Malformed, "capability %q: %s", one[:min(len(one), objects.MaxCapability)], why).
				Advise("write rye.<verb>.<kind>.<id with dots>, for example rye.execute.tool.acme.*")
		}
	}
	return nil
}

// namesVerb reports whether text is rye. and a full verb: words with dots between them.
func namesVerb(text string) bool {
	verb, ok := strings.CutPrefix(text, "rye.")
	return ok && !slices.ContainsFunc(strings.Split(verb, "."), func(word string) bool {
		return word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != ""
	})
}

// Verbs are the four operations of a model on items. workspace.Workspace implements them.
// Servers and agents see only this interface of a workspace. It is safe for concurrent use.
type Verbs interface {
	Search(context.Context, Caller, SearchRequest) (*SearchResult, error)
	Load(context.Context, Caller, LoadRequest) (*LoadResult, error)
	Execute(context.Context, Caller, ExecuteRequest) (*ExecuteResult, error)
	Sign(context.Context, Caller, SignRequest) (*SignReport, error)
}

// Bounds of a Question. A person does not read more than this before an answer.
const (
	MaxQuestionLines = 600
	MaxQuestionBytes = 64 << 10 // of its text and lines together
	MaxLineBytes     = 4 << 10  // of one line; no screen shows a longer one
)

// AcceptOwner is the flag that lets a registry's keys own a namespace, before its name.
const AcceptOwner = "--accept-owner"

// Question is a decision for a person, or for a flag in a person's place. Questions passed to
// workspace.Options.Consent are within the bounds above.
type Question struct {
	Topic string     // the subject in a few words: "pin registry", "accept project", "run"
	Text  string     // one line
	Lines []string   // the facts to agree to: fingerprints, a diff, capabilities
	Mend  fault.Hint // the flag or command that answers yes without a terminal; may be zero

	// ID names the record of the question, for rye approve; "" where there is none.
	ID string

	// Clients are the MCP clients that the user listed as showing questions to a person. An
	// answer from any other client is a program's answer.
	Clients []string

	// Wait is how long the asking verb waits for the answer; 0 waits without a limit.
	Wait time.Duration

	// Person is set when only a person who reads the question may answer. A yes makes something
	// trusted for the first time, and --yes does not answer it.
	Person bool

	// Rights is set when a yes lets a caller do more than the policy does by itself. --yes answers it,
	// except where an agent left its mark.
	Rights bool

	// Always is called before a yes that the person gives for later times, too. Only a terminal offers
	// that answer; nil offers none. Standing says in one line what it would cover.
	Always   func()
	Standing string

	// Typed is set where only a typed answer counts: the end of the input, as of a terminal that was
	// closed, is no answer, but an error (fault.Interrupt).
	Typed bool

	// Flags say yes without a person, as they are typed: "--accept-owner acme". Where there are
	// any, Person is set: new owners, new signers and wider needs are agreed to by name. A flag
	// that the request already has is not listed.
	Flags []string
}

// Check refuses a question beyond the bounds with fault.Limit.
func (q Question) Check() error {
	size := len(q.Text)
	for _, line := range q.Lines {
		if len(line) > MaxLineBytes {
			return fault.New(fault.Limit, "%s: a line has %d bytes, and a question shows at most %d", q.Topic, len(line), MaxLineBytes).With(q.Mend)
		}
		size += len(line)
	}
	if len(q.Lines) > MaxQuestionLines {
		return fault.New(fault.Limit, "%s: %d lines to review, and a question shows at most %d", q.Topic, len(q.Lines), MaxQuestionLines).With(q.Mend)
	}
	if size > MaxQuestionBytes {
		return fault.New(fault.Limit, "%s: %d bytes to review, and a question shows at most %d", q.Topic, size, MaxQuestionBytes).With(q.Mend)
	}
	return nil
}

// OpenQuestion is a question that waits for a person's answer.
type OpenQuestion struct {
	ID        string   `json:"id"`
	Asked     string   `json:"asked"`   // RFC 3339, UTC
	Expires   string   `json:"expires"` // later answers are refused
	Caller    string   `json:"caller"`
	Directory string   `json:"directory,omitempty"` // of the project
	Topic     string   `json:"topic"`
	Text      string   `json:"text"`
	Lines     []string `json:"lines"`
	Digest    string   `json:"digest"`           // identifies the exact question that an answer is for
	Answer    string   `json:"answer,omitempty"` // yes or no; "" while it is open
}

// Unanswered is a refusal (fault.Denied) that a person may still lift. The question stays
// open, and the same call after the answer finds it.
type Unanswered struct {
	ID    string
	Until time.Time
	Err   error // why no one could be asked
}

func (e *Unanswered) Error() string {
	return fmt.Sprintf("%v; question %s is open until %s", e.Err, e.ID, e.Until.UTC().Format(time.RFC3339))
}

func (e *Unanswered) Unwrap() error { return e.Err }

// Unagreed is a refusal (fault.Denied) for lack of a person's agreement, with no question
// left open.
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
	Late     Answered = "late"     // no one answered in time
	NoWay    Answered = "no_way"   // no one can be asked
)

// AnswerRequest answers one question.
type AnswerRequest struct {
	ID string // of the question's record; a unique prefix is enough
	No bool   // false is yes, which the person has to confirm
}
